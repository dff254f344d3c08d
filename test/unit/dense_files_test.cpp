#include "bcsc/dense_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bcsc_config.h"
#include "test/unit/malformed_file.hpp"
#include "test/unit/npz_support.hpp"

/// Dense files: what is read, what is refused and where, and that reading undoes writing.
namespace bcsc {
namespace {

using test::malformed;
using test::npy;
using test::npy_values;
using test::npy_with_header;
using test::raw;
using test::temporary_folder;
using test::zipped;

#if BCSC_WITH_ARCHIVE
constexpr bool has_zip = true;
#else
constexpr bool has_zip = false;
#endif

/// [[1, 2, 3], [4, 5, 6]] by rows and by columns.
const std::vector<double> by_rows{1, 2, 3, 4, 5, 6}, by_cols{1, 4, 2, 5, 3, 6};

template <class S>
std::string raw_as(const std::vector<double>& values) {
  std::vector<S> cast;
  for (const double v : values) cast.push_back(static_cast<S>(static_cast<float>(v)));
  return raw(cast);
}

std::string big_endian(const std::vector<double>& values) {
  std::string bytes = raw(values);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at) + 8);
  }
  return bytes;
}

// --- What is read ---------------------------------------------------------------------------------------------------

struct accepted {
  std::string what, name, bytes;
  std::string_view format;
  layout order = layout::row_major;
  read_options options = {};
};
void PrintTo(const accepted& file, std::ostream* out) { *out << file.what; }

class DenseFile : public testing::TestWithParam<accepted> {};

template <value T>
void expect_two_by_three(const std::filesystem::path& path, const accepted& file) {
  const auto a = read_dense<T>(path, file.options);
  ASSERT_EQ(a.rows(), 2);
  ASSERT_EQ(a.cols(), 3);
  EXPECT_EQ(a.order(), file.order);
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_EQ(a(i, j), static_cast<T>(3 * i + j + 1)) << i << ", " << j;
  }
}

TEST_P(DenseFile, is_read_as_fp32_and_fp64) {
  const accepted& file = GetParam();
  if (file.format == "npz" && !has_zip) GTEST_SKIP() << "this build has no libarchive";
  const temporary_folder folder;
  const auto path = folder.file(file.name, file.bytes);
  expect_two_by_three<float>(path, file);
  expect_two_by_three<double>(path, file);
  const dense_file_info info = read_dense_info(path, file.options);
  EXPECT_EQ(info.format, file.format);
  EXPECT_EQ(info.rows, 2);
  EXPECT_EQ(info.cols, 3);
  EXPECT_EQ(info.order, file.order);
}

std::vector<accepted> accepted_files() {
  const std::string rows = npy("<f8", "(2, 3)", raw(by_rows)), other = npy_values({7});
  read_options named, real_part;
  named.member = "b";
  real_part.real_part = true;
  std::vector<double> complex;
  for (const double v : by_rows) complex.insert(complex.end(), {v, -v});
  return {
      {"fp64", "a.npy", rows, "npy"},
      {"fp64 by columns", "a.npy", npy("<f8", "(2, 3)", raw(by_cols), true), "npy", layout::col_major},
      {"fp32", "a.npy", npy("<f4", "(2, 3)", raw_as<float>(by_rows)), "npy"},
      {"fp16", "a.npy", npy("<f2", "(2, 3)", raw_as<half>(by_rows)), "npy"},
      {"big endian", "a.npy", npy(">f8", "(2, 3)", big_endian(by_rows)), "npy"},
      {"integers", "a.npy", npy("<i4", "(2, 3)", raw<std::int32_t>({1, 2, 3, 4, 5, 6})), "npy"},
      {"complex", "a.npy", npy("<c16", "(2, 3)", raw(complex)), "npy", layout::row_major, real_part},
      {"under another name", "a.dat", rows, "npy"},
      {"gzip", "a.npy.gz", test::gzipped(rows), "npy"},
      {"the only array", "a.npz", zipped({{"x.npy", rows, true}}), "npz"},
      {"a named array", "a.npz", zipped({{"a.npy", other}, {"b.npy", rows}, {"c.txt", "?"}}), "npz", layout::row_major,
       named},
      {"text", "a.mtx", "%%MatrixMarket matrix array real general\n2 3\n1\n4\n2\n5\n3\n6\n", "matrix-market",
       layout::col_major},
      {"integers as text", "a.mtx", "%%MatrixMarket matrix array integer general\n2 3\n1\n4\n2\n5\n3\n6\n",
       "matrix-market", layout::col_major},
  };
}
INSTANTIATE_TEST_SUITE_P(Kinds, DenseFile, testing::ValuesIn(accepted_files()));

TEST(DenseFiles, a_list_is_one_column) {
  const temporary_folder folder;
  const auto a = read_dense<double>(folder.file("a.npy", npy_values({3, 1, 4, 1})));
  ASSERT_EQ(a.rows(), 4);
  ASSERT_EQ(a.cols(), 1);
  EXPECT_EQ(a(2, 0), 4);
}

TEST(DenseFiles, a_npy_file_keeps_what_is_not_finite) {
  const temporary_folder folder;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto a = read_dense<float>(folder.file("a.npy", npy_values({infinity, std::nan("")})));
  EXPECT_TRUE(std::isinf(a(0, 0)));
  EXPECT_TRUE(std::isnan(a(1, 0)));
}

// --- What is refused ------------------------------------------------------------------------------------------------

const test::reader as_fp64 = [](const auto& path, const auto& options) { (void)read_dense<double>(path, options); };
const test::reader as_fp32 = [](const auto& path, const auto& options) { (void)read_dense<float>(path, options); };
const test::reader as_info = [](const auto& path, const auto& options) { (void)read_dense_info(path, options); };

class MalformedNpy : public testing::TestWithParam<malformed> {};
TEST_P(MalformedNpy, is_refused_with_the_code_and_the_place) { test::expect_refused(GetParam(), ".npy"); }

std::int64_t size_of(const std::string& bytes) { return static_cast<std::int64_t>(bytes.size()); }

/// A file with only its header wrong, which is known once that has been read.
malformed header(std::string name, std::string text, errc code) {
  const std::string head = npy_with_header(text, "");
  return {std::move(name), head + raw(by_rows), code, size_of(head), as_info};
}
malformed with_shape(std::string name, const std::string& shape, errc code) {
  return header(std::move(name), "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }\n", code);
}
malformed with_descr(std::string name, const std::string& descr, errc code) {
  return header(std::move(name), "{'descr': " + descr + ", 'fortran_order': False, 'shape': (6,), }\n", code);
}

std::vector<malformed> malformed_npy() {
  const std::string whole = npy("<f8", "(2, 3)", raw(by_rows));
  const std::string huge = npy("<f8", "(1099511627776,)", raw(by_rows));
  const std::int64_t head = size_of(whole) - 48;
  return {
      {"empty", "", errc::bad_banner, 0, as_info},
      {"no_magic", "1 2 3 4 5 6", errc::bad_banner, 8, as_info},
      {"version_9", std::string("\x93NUMPY\x09\x00", 8) + whole.substr(8), errc::unsupported, 8, as_info},
      {"ends_in_the_magic", whole.substr(0, 5), errc::bad_banner, 5, as_info},
      {"ends_in_the_header", whole.substr(0, 30), errc::truncated, 30, as_info},
      {"long_header", std::string("\x93NUMPY\x01\x00\xff\xff", 10) + whole, errc::parse_error, 10, as_info},
      {"ends_early", whole.substr(0, whole.size() - 1), errc::truncated, head, as_fp64},
      {"ends_early_in_info", whole.substr(0, whole.size() - 8), errc::truncated, head, as_info},
      {"goes_on", whole + "x", errc::trailing_data, head, as_fp64},
      {"announces_a_terabyte", huge, errc::truncated, size_of(huge) - 48, as_fp64},
      {"announces_a_terabyte_in_gzip", test::gzipped(huge), errc::truncated, -1, as_fp64},
      {"ends_early_in_gzip", test::gzipped(whole.substr(0, whole.size() - 8)), errc::truncated, -1, as_fp64},
      {"goes_on_in_gzip", test::gzipped(whole + "xx"), errc::trailing_data, -1, as_fp64},
      with_shape("bytes_beyond_63_bits", "(4294967296, 4294967296)", errc::size_overflow),
      with_shape("bytes_beyond_63_bits_behind_0", "(0, 9223372036854775807)", errc::size_overflow),
      with_shape("size_beyond_63_bits", "(99999999999999999999,)", errc::size_overflow),
      with_shape("negative_size", "(-2, 3)", errc::parse_error),
      {"scalar", npy("<f8", "()", raw<double>({1})), errc::unsupported, size_of(npy("<f8", "()", "")), as_info},
      {"three_dimensions", npy("<f8", "(1, 2, 3)", raw(by_rows)), errc::unsupported,
       size_of(npy("<f8", "(1, 2, 3)", "")), as_info},
      {"text", npy("|S8", "(6,)", raw(by_rows)), errc::unsupported, size_of(npy("|S8", "(6,)", "")), as_info},
      {"complex", npy("<c16", "(3,)", raw(by_rows)), errc::unsupported, size_of(npy("<c16", "(3,)", "")), as_info},
      with_descr("objects", "'|O'", errc::unsupported),
      with_descr("records", "[('x', '<f8')]", errc::unsupported),
      with_descr("long_double", "'<f16'", errc::unsupported),
      with_descr("no_size", "'<f'", errc::parse_error),
      header("no_dictionary", "8\n", errc::parse_error),
      header("half_a_dictionary", "{'descr': '<f8'}\n", errc::parse_error),
      header("program", "{'descr': '<f8', 'fortran_order': False, 'shape': (exit(), ), }\n", errc::parse_error),
      {"beyond_fp32", npy_values({1, 1e300}), errc::value_out_of_range, size_of(npy_values({1, 1e300})), as_fp32},
  };
}
INSTANTIATE_TEST_SUITE_P(Files, MalformedNpy, testing::ValuesIn(malformed_npy()));

#if BCSC_WITH_ARCHIVE
class MalformedNpz : public testing::TestWithParam<malformed> {};
TEST_P(MalformedNpz, is_refused_with_the_code_and_the_place) { test::expect_refused(GetParam(), ".npz"); }

std::vector<malformed> malformed_npz() {
  const std::string array = npy_values({1, 2, 3});
  const auto at = [&](const std::vector<test::zip_member>& members, std::size_t which) {
    return test::data_offset(members, which);
  };
  read_options named;
  named.member = "c";
  const std::vector<test::zip_member> two{{"a.npy", array}, {"b.npy", array}},
      twice{{"a.npy", array}, {"a.npy", array}};
  const std::vector<test::zip_member> lies{{.name = "a.npy", .bytes = array, .crc = 1}};
  const std::vector<test::zip_member> sparse{{"format.npy", test::npy_format("csr")}, {"data.npy", array}};
  const std::vector<test::zip_member> no_array{{"a.npy", "1 2 3 4 5 6"}};
  const std::vector<test::zip_member> cut{{"a.npy", array.substr(0, array.size() - 8)}};
  const std::vector<test::zip_member> bomb{
      {"a.npy", npy("<f8", "(8388608,)", std::string(std::size_t{1} << 26, '\0')), true}};
  read_options small;
  small.max_expansion_ratio = 100;
  return {
      {"no_zip", "1 2 3 4 5 6", errc::bad_banner, -1, as_info},
      {"no_array", zipped({{"a.txt", "1"}}), errc::truncated, -1, as_info},
      {"two_arrays", zipped(two), errc::invalid_argument, -1, as_info},
      {"none_of_that_name", zipped(two), errc::invalid_argument, -1, as_info, named},
      {"one_name_twice", zipped(twice), errc::trailing_data, at(twice, 1), as_info},
      {"a_sparse_matrix", zipped(sparse), errc::invalid_argument, -1, as_fp64},
      {"not_an_array", zipped(no_array), errc::bad_banner, at(no_array, 0), as_info},
      {"ends_early", zipped(cut), errc::truncated, at(cut, 0), as_fp64},
      {"checksum", zipped(lies), errc::corrupt_compression, at(lies, 0), as_fp64},
      {"bomb", zipped(bomb), errc::decompression_limit, at(bomb, 0), as_fp64, small},
  };
}
INSTANTIATE_TEST_SUITE_P(Files, MalformedNpz, testing::ValuesIn(malformed_npz()));
#endif

struct refused {
  std::string name, bytes;
  errc code;
};
void PrintTo(const refused& file, std::ostream* out) { *out << file.name; }
class OtherFile : public testing::TestWithParam<refused> {};

TEST_P(OtherFile, holds_no_dense_matrix) {
  const temporary_folder folder;
  const auto path = folder.file(GetParam().name, GetParam().bytes);
  for (const test::reader& read : {as_fp64, as_info}) {
    const auto caught = test::error_of(read, path);
    ASSERT_TRUE(caught.has_value());
    EXPECT_EQ(to_string(caught->code()), to_string(GetParam().code)) << caught->what();
    EXPECT_EQ(caught->where().path, path.string());
  }
}
INSTANTIATE_TEST_SUITE_P(
    Files, OtherFile,
    testing::Values(
        refused{"a.libsvm", "1 1:2\n", errc::unsupported}, refused{"a.el", "1 2\n", errc::unsupported},
        refused{"a.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", errc::unsupported},
        refused{"a.mtx", "%%MatrixMarket matrix array real general\n4294967296 4294967296\n1\n", errc::size_overflow},
        refused{"a.txt", "1 2 3\n", errc::unsupported}, refused{"b", "1 2 3\n", errc::bad_banner}));

// --- Writing --------------------------------------------------------------------------------------------------------

struct written {
  std::string extension;
  layout order;
  std::int64_t rows, cols, gap;
};
void PrintTo(const written& w, std::ostream* out) {
  *out << w.extension << " " << to_string(w.order) << " " << w.rows << " x " << w.cols << " + " << w.gap;
}

class WrittenDense : public testing::TestWithParam<written> {
 protected:
  void SetUp() override {
    if (GetParam().extension == ".npz" && !has_zip) GTEST_SKIP() << "this build has no libarchive";
  }
  /// Values that a copy with a wrong stride, or in the wrong order, would not reproduce.
  template <number T>
  static T value_at(std::int64_t i, std::int64_t j) {
    return static_cast<T>(static_cast<float>((i % 1021) + 0.25 * static_cast<double>(j % 7) - 2));
  }
  template <number T>
  void round_trip() {
    const written& w = GetParam();
    const bool rows_first = w.order == layout::row_major;
    const std::int64_t ld = std::max<std::int64_t>(1, rows_first ? w.cols : w.rows) + w.gap;
    std::vector<T> memory(static_cast<std::size_t>(ld * std::max<std::int64_t>(1, rows_first ? w.rows : w.cols)),
                          std::numeric_limits<T>::quiet_NaN());
    const dense_view<T> a(memory.data(), w.rows, w.cols, ld, w.order);
    for (std::int64_t i = 0; i < w.rows; ++i) {
      for (std::int64_t j = 0; j < w.cols; ++j) a(i, j) = value_at<T>(i, j);
    }
    const temporary_folder folder;
    const auto path = folder.path() / ("a" + w.extension);
    write_dense<T>(path, a);
    EXPECT_EQ(folder.num_files(), 1);
    const auto b = read_dense<double>(path);
    ASSERT_EQ(b.rows(), w.rows);
    ASSERT_EQ(b.cols(), w.cols);
    if (w.extension.starts_with(".np")) {
      EXPECT_EQ(b.order(), w.order);
    }
    for (std::int64_t i = 0; i < w.rows; ++i) {
      for (std::int64_t j = 0; j < w.cols; ++j) {
        ASSERT_EQ(b(i, j), static_cast<double>(static_cast<float>(value_at<T>(i, j)))) << i << ", " << j;
      }
    }
  }
};

TEST_P(WrittenDense, reads_back_equal_from_fp32) { round_trip<float>(); }
TEST_P(WrittenDense, reads_back_equal_from_fp64) { round_trip<double>(); }
TEST_P(WrittenDense, reads_back_equal_from_fp16) { round_trip<half>(); }
TEST_P(WrittenDense, reads_back_equal_from_bf16) { round_trip<bfloat16>(); }

std::vector<written> written_files() {
  std::vector<written> all;
  for (const char* extension : {".npy", ".npz", ".mtx", ".bcsc", ".npy.gz", ".mtx.gz"}) {
    for (const layout order : {layout::row_major, layout::col_major}) {
      all.push_back({extension, order, 5, 3, 0});
      all.push_back({extension, order, 5, 3, 2});
      all.push_back({extension, order, 1, 1, 0});
      all.push_back({extension, order, 40000, 2, 1});
      all.push_back({extension, order, 0, 3, 0});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Formats, WrittenDense, testing::ValuesIn(written_files()));

TEST(DenseFiles, a_npy_file_is_what_numpy_would_write) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.npy";
  const dense_matrix<double> a(2, 3, layout::col_major, by_cols);
  write_dense(path, a);
  const std::string bytes = test::bytes_of(path);
  ASSERT_EQ(bytes.size(), 128u + 48u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(bytes.substr(10, 60), "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }  ");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(bytes.substr(128), raw(by_cols));
  write_dense(path, dense_matrix<half>(1, 1));
  EXPECT_NE(test::bytes_of(path).find("'<f2'"), std::string::npos);
  write_dense(path, dense_matrix<bfloat16>(1, 1));
  EXPECT_NE(test::bytes_of(path).find("'<f4'"), std::string::npos);
}

#if BCSC_WITH_ARCHIVE
TEST(DenseFiles, a_npz_array_has_the_name_that_is_asked_for) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.npz";
  write_dense(path, dense_matrix<float>(2, 3));
  EXPECT_EQ(read_dense_info(path).member, "arr_0");
  write_dense(path, dense_matrix<float>(2, 3), {.comment = {}, .name = "x", .progress = {}});
  EXPECT_EQ(read_dense_info(path).member, "x");
  EXPECT_THROW(write_dense(path, dense_matrix<float>(2, 3), {.comment = {}, .name = "../x", .progress = {}}), error);
}
#endif

struct not_written {
  std::string what, name;
  errc code;
  double value = 1;
  bool cancel = false;
};
void PrintTo(const not_written& c, std::ostream* out) { *out << c.what; }
class NotWritten : public testing::TestWithParam<not_written> {};

TEST_P(NotWritten, leaves_what_was_there) {
  const not_written& c = GetParam();
  const temporary_folder folder;
  const auto path = folder.path() / c.name;
  if (!c.name.empty() && c.name.find('/') == std::string::npos) folder.file(c.name, "before");
  const auto files = folder.num_files();
  std::optional<error> caught;
  try {
    const dense_matrix<double> a(2, 1, layout::row_major, {1, c.value});
    write_dense(path, a, {.comment = {}, .name = "a", .progress = [&](auto, auto) { return !c.cancel; }});
  } catch (const error& e) {
    caught = e;
  }
  ASSERT_TRUE(caught.has_value());
  EXPECT_EQ(to_string(caught->code()), to_string(c.code)) << caught->what();
  EXPECT_NE(std::string(caught->what()).find(path.string()), std::string::npos) << caught->what();
  EXPECT_EQ(folder.num_files(), files);
  if (files > 0) {
    EXPECT_EQ(test::bytes_of(path), "before");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, NotWritten,
                         testing::Values(not_written{"no format", "a.txt", errc::invalid_argument},
                                         not_written{"no name", "", errc::invalid_argument},
                                         not_written{"sparse format", "a.smtx", errc::invalid_argument},
                                         not_written{"NaN as text", "a.mtx", errc::value_out_of_range, std::nan("")},
                                         not_written{"infinity as text", "a.mtx", errc::value_out_of_range, HUGE_VAL},
                                         not_written{"no folder", "none/a.npy", errc::io_error},
                                         not_written{"npy cancelled", "a.npy", errc::cancelled, 1, true},
                                         not_written{"text cancelled", "a.mtx", errc::cancelled, 1, true}));

TEST(DenseFiles, a_leading_dimension_too_small_is_refused) {
  const temporary_folder folder;
  const double value = 1;
  EXPECT_THROW(write_dense<double>(folder.path() / "a.npy", dense_view<const double>(&value, 2, 3, 2)), error);
  EXPECT_EQ(folder.num_files(), 0);
}

}  // namespace
}  // namespace bcsc
