#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc_config.h"
#include "test/support/battery.hpp"
#include "test/unit/fixtures.hpp"
#include "test/unit/matrix_market_support.hpp"
#include "test/unit/npz_support.hpp"

/// What the .npz reader accepts, what the writer writes, and that one undoes the other.
namespace bcsc {
namespace {

using test::bytes_of;
using test::entries_of;
using test::entry_map;
using test::fixture;
using test::npy;
using test::npy_format;
using test::npy_indices;
using test::npy_shape;
using test::npy_values;
using test::raw;
using test::temporary_folder;
using test::zip_member;
using test::zipped;

#if BCSC_WITH_ARCHIVE
#define BCSC_NEEDS_ARCHIVE (void)0
#else
#define BCSC_NEEDS_ARCHIVE GTEST_SKIP() << "this build has no libarchive"
#endif

const entry_map<double> golden{{{0, 1}, 1}, {{0, 4}, -2}, {{1, 2}, 0}, {{2, 0}, 3},
                               {{2, 1}, 4}, {{2, 5}, 5},  {{3, 3}, -6}};

template <class F>
entry_map<double> mapped(entry_map<double> entries, F&& f) {
  for (auto& [at, x] : entries) x = f(x);
  return entries;
}
entry_map<double> without_zeros(entry_map<double> entries) {
  std::erase_if(entries, [](const auto& e) { return e.second == 0; });
  return entries;
}

// --- Files of SciPy -------------------------------------------------------------------------------------------------

struct scipy_file {
  std::string name;
  entry_map<double> entries = golden;
  file_field field = file_field::real;
  std::int64_t rows = 4, cols = 6;
  std::int64_t stored_entries = 7;
  read_options options = {};
};

void PrintTo(const scipy_file& file, std::ostream* out) { *out << file.name; }

std::vector<scipy_file> scipy_files() {
  read_options real_part;
  real_part.real_part = true;
  return {
      {"csr"},
      {"csr_stored"},
      {"csr_array"},
      {"csc"},
      {"coo"},
      {"coords"},
      {"coords_fortran"},
      {"big_endian"},
      {"version_2"},
      {"version_3"},
      {"half"},
      {"format_in_utf32"},
      // Blocks and diagonals are padded with zeros: a stored one is lost among them.
      {"bsr", without_zeros(golden), file_field::real, 4, 6, 24},
      {"bsr_fortran", without_zeros(golden), file_field::real, 4, 6, 24},
      {"dia", without_zeros(golden), file_field::real, 4, 6, 36},
      {"dia_fortran", without_zeros(golden), file_field::real, 4, 6, 36},
      {"integers", golden, file_field::integer},
      {"unsigned", mapped(golden, [](double x) { return std::fabs(x); }), file_field::integer},
      {"booleans", mapped(golden, [](double x) { return x != 0 ? 1 : 0; }), file_field::integer},
      {"complex", golden, file_field::complex, 4, 6, 7, real_part},
      {"empty", {}, file_field::real, 3, 0, 0},
      {"unsorted", {{{0, 0}, 2}, {{0, 3}, 1.5}, {{2, 2}, 4}}, file_field::real, 3, 4, 5},
  };
}

class ScipyNpz : public testing::TestWithParam<scipy_file> {};

template <value T, index I>
void expect_read(const scipy_file& file) {
  const auto a = read_coo<T, I>(fixture(file.name + ".npz"), file.options);
  validate(a.view());
  EXPECT_EQ(a.rows(), file.rows);
  EXPECT_EQ(a.cols(), file.cols);
  entry_map<T> wanted;
  for (const auto& [at, x] : file.entries) wanted[at] = static_cast<T>(x);
  EXPECT_EQ(entries_of(a), wanted);
}

TEST_P(ScipyNpz, IsReadAsEveryType) {
  BCSC_NEEDS_ARCHIVE;
  expect_read<float, std::int32_t>(GetParam());
  expect_read<float, std::int64_t>(GetParam());
  expect_read<double, std::int32_t>(GetParam());
  expect_read<double, std::int64_t>(GetParam());
}

TEST_P(ScipyNpz, SaysWhatItHolds) {
  BCSC_NEEDS_ARCHIVE;
  const scipy_file& file = GetParam();
  const file_info info = read_file_info(fixture(file.name + ".npz"));
  EXPECT_EQ(info.format, file_format::npz);
  EXPECT_EQ(info.rows, file.rows);
  EXPECT_EQ(info.cols, file.cols);
  EXPECT_EQ(info.stored_entries, file.stored_entries);
  EXPECT_EQ(info.field, file.field);
  EXPECT_EQ(info.symmetry, file_symmetry::general);
}

INSTANTIATE_TEST_SUITE_P(Of, ScipyNpz, testing::ValuesIn(scipy_files()),
                         [](const auto& info) { return info.param.name; });

template <class T>
std::vector<std::remove_const_t<T>> list(std::span<T> array) {
  return {array.begin(), array.end()};
}

TEST(ScipyNpz, KeepsEveryBitOfAValue) {
  BCSC_NEEDS_ARCHIVE;
  const auto a = read_coo<double>(fixture("specials.npz"));
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> wanted{std::nan(""), -inf, -0.0, 5e-324, 1.7976931348623157e308, 1.0 / 3, inf};
  ASSERT_EQ(a.nnz(), 7);
  EXPECT_EQ(std::memcmp(a.view().values.data(), wanted.data(), sizeof(double) * 7), 0);
}

// --- Files of others ------------------------------------------------------------------------------------------------

struct accepted {
  std::string name;
  std::string bytes;
};
void PrintTo(const accepted& file, std::ostream* out) { *out << file.name; }

/// 2 x 3 with 1.5 at (0, 2) and -2 at (1, 0).
std::vector<zip_member> two_entries() {
  return {{"indices.npy", npy_indices({2, 0})},
          {"indptr.npy", npy_indices({0, 1, 2})},
          {"format.npy", npy_format("csr")},
          {"shape.npy", npy_shape({2, 3})},
          {"data.npy", npy_values({1.5, -2})}};
}

std::string with(std::size_t which, std::string array) {
  std::vector<zip_member> members = two_entries();
  members[which].bytes = std::move(array);
  return zipped(members);
}

std::vector<accepted> oddities() {
  const std::string values = raw<double>({1.5, -2});
  std::vector<zip_member> deflated = two_entries();
  for (zip_member& m : deflated) m.deflated = true;
  std::vector<zip_member> more = two_entries();
  more.push_back({"readme.txt", "ten bytes."});
  more.push_back({"notes.npy", "not even an array"});
  more.push_back({"folder/data.npy", ""});
  std::vector<zip_member> backwards = two_entries();
  std::ranges::reverse(backwards);
  const auto header = [&](std::string text) { return with(4, test::npy_with_header(text, values)); };
  return {
      {"plain", zipped(two_entries())},
      {"deflated", zipped(deflated)},
      {"backwards", zipped(backwards)},
      {"other_members", zipped(more)},
      {"a_comment_behind", zipped(two_entries(), "made by a test")},
      {"gzip_around", test::gzipped(zipped(two_entries()))},
      {"keys_in_another_order", header("{'shape': (2,), 'fortran_order': False, 'descr': '<f8'}")},
      {"double_quotes", header("{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (2,)}   \n")},
      {"no_blanks", header("{'descr':'<f8','fortran_order':False,'shape':(2,)}")},
      {"longs_of_python_2", header("{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }")},
      {"native_order", header("{'descr': '=f8', 'fortran_order': False, 'shape': (2,), }")},
      {"fortran_order_of_a_list", header("{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }")},
      {"integers_of_8_bits_for_indices", with(0, npy("|i1", "(2,)", raw<std::int8_t>({2, 0})))},
      {"integers_of_64_bits_for_indices", with(0, npy("<u8", "(2,)", raw<std::uint64_t>({2, 0})))},
      {"pointers_of_big_endian", with(1, npy(">i4", "(3,)", raw<std::int32_t>({0, 1, 2}, std::endian::big)))},
      {"shape_of_32_bits", with(3, npy("<i4", "(2,)", raw<std::int32_t>({2, 3})))},
      {"format_padded_with_zeros", with(2, npy("|S8", "()", std::string("csr\0\0\0\0\0", 8)))},
      {"values_of_64_bit_integers_and_a_half", with(4, npy(">f4", "(2,)", raw<float>({1.5, -2}, std::endian::big)))},
  };
}

class AcceptedNpz : public testing::TestWithParam<accepted> {};

TEST_P(AcceptedNpz, IsRead) {
  BCSC_NEEDS_ARCHIVE;
  const temporary_folder folder;
  // By its content: the name tells nothing.
  const auto a = read_coo<double>(folder.file("matrix", GetParam().bytes));
  EXPECT_EQ(a.rows(), 2);
  EXPECT_EQ(a.cols(), 3);
  EXPECT_EQ(entries_of(a), (entry_map<double>{{{0, 2}, 1.5}, {{1, 0}, -2}}));
}

INSTANTIATE_TEST_SUITE_P(With, AcceptedNpz, testing::ValuesIn(oddities()),
                         [](const auto& info) { return info.param.name; });

/// One row of values of one dtype, and what they mean.
struct dtype {
  std::string name;
  std::string descr;
  std::string little, big;
  std::vector<double> as_fp64;
  std::vector<float> as_fp32;
};
void PrintTo(const dtype& type, std::ostream* out) { *out << type.name; }

template <class S>
dtype numbers(std::string name, std::string descr, std::vector<S> stored, std::vector<double> as_fp64,
              std::vector<float> as_fp32) {
  return {name, descr, raw(stored), raw(stored, std::endian::big), as_fp64, as_fp32};
}

std::vector<dtype> dtypes() {
  return {
      numbers<std::int8_t>("i1", "i1", {-128, 127, 0}, {-128, 127, 0}, {-128, 127, 0}),
      numbers<std::int16_t>("i2", "i2", {-32768, 258}, {-32768, 258}, {-32768, 258}),
      numbers<std::int32_t>("i4", "i4", {-2147483647, 16777217}, {-2147483647, 16777217}, {-0x1p31f, 0x1p24f}),
      numbers<std::int64_t>("i8", "i8", {-9007199254740993, std::numeric_limits<std::int64_t>::max()},
                            {-9007199254740992, 0x1p63}, {-0x1p53f, 0x1p63f}),
      numbers<std::uint8_t>("u1", "u1", {255, 128}, {255, 128}, {255, 128}),
      numbers<std::uint16_t>("u2", "u2", {65535, 258}, {65535, 258}, {65535, 258}),
      numbers<std::uint32_t>("u4", "u4", {4294967295}, {4294967295}, {0x1p32f}),
      numbers<std::uint64_t>("u8", "u8", {std::numeric_limits<std::uint64_t>::max(), 1}, {0x1p64, 1}, {0x1p64f, 1}),
      numbers<std::uint8_t>("b1", "b1", {0, 1, 2}, {0, 1, 1}, {0, 1, 1}),
      // 1, the least, the largest, the least normal, the largest subnormal, -2, -0, inf.
      numbers<std::uint16_t>("f2", "f2", {0x3c00, 0x0001, 0x7bff, 0x0400, 0x03ff, 0xc000, 0x8000, 0x7c00},
                             {1, 0x1p-24, 65504, 0x1p-14, 0x1.ff8p-15, -2, -0.0, HUGE_VAL},
                             {1, 0x1p-24f, 65504, 0x1p-14f, 0x1.ff8p-15f, -2, -0.0f, HUGE_VALF}),
      numbers<float>("f4", "f4", {1.5f, -0.1f, 1e-45f, -0.0f}, {1.5, -0.1f, 1e-45f, -0.0},
                     {1.5f, -0.1f, 1e-45f, -0.0f}),
      // The last rounds to the largest float; half an ulp more would not.
      numbers<double>("f8", "f8", {1.5, -0.1, 1e-300, -HUGE_VAL, 0x1.fffffefffffffp127},
                      {1.5, -0.1, 1e-300, -HUGE_VAL, 0x1.fffffefffffffp127},
                      {1.5f, -0.1f, 0, -HUGE_VALF, std::numeric_limits<float>::max()}),
      numbers<float>("c8", "c8", {1, 7, -2, 7}, {1, -2}, {1, -2}),
      numbers<double>("c16", "c16", {1, 7, -2.5, HUGE_VAL}, {1, -2.5}, {1, -2.5}),
  };
}

class NpzDtype : public testing::TestWithParam<dtype> {};

TEST_P(NpzDtype, IsReadInBothByteOrders) {
  BCSC_NEEDS_ARCHIVE;
  const dtype& type = GetParam();
  const temporary_folder folder;
  const auto count = static_cast<std::int32_t>(type.as_fp64.size());
  std::vector<std::int32_t> columns;
  for (std::int32_t k = 0; k < count; ++k) columns.push_back(k);
  read_options options;
  options.real_part = true;
  const std::string shape = std::string("(") + std::to_string(count) + ",)";
  for (const std::string& array :
       {npy(std::string("<") + type.descr, shape, type.little), npy(std::string(">") + type.descr, shape, type.big)}) {
    const auto path = folder.file("a.npz", zipped({{"indices.npy", npy_indices(columns)},
                                                   {"indptr.npy", npy_indices({0, count})},
                                                   {"format.npy", npy_format("csr")},
                                                   {"shape.npy", npy_shape({1, count})},
                                                   {"data.npy", array}}));
    const auto wide = read_coo<double>(path, options);
    EXPECT_EQ(raw(list(wide.view().values)), raw(type.as_fp64));
    const auto narrow = read_coo<float>(path, options);
    EXPECT_EQ(raw(list(narrow.view().values)), raw(type.as_fp32));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, NpzDtype, testing::ValuesIn(dtypes()), [](const auto& info) { return info.param.name; });

/// Few entries in a matrix of any size need little memory, and indices of 64 bits.
TEST(NpzOfHugeShape, IsReadAsCoordinates) {
  BCSC_NEEDS_ARCHIVE;
  const std::int64_t far = 9'000'000'000'000'000'000;
  const temporary_folder folder;
  const auto indices = [](std::vector<std::int64_t> list) { return npy("<i8", "(2,)", raw(list)); };
  const auto path = folder.file("a.npz", zipped({{"row.npy", indices({far - 1, 0})},
                                                 {"col.npy", indices({2, far - 1})},
                                                 {"format.npy", npy_format("coo")},
                                                 {"shape.npy", npy_shape({far, far})},
                                                 {"data.npy", npy_values({3, 4})}}));
  const auto a = read_coo<double, std::int64_t>(path);
  EXPECT_EQ(entries_of(a), (entry_map<double>{{{0, far - 1}, 4}, {{far - 1, 2}, 3}}));
}

// --- The writer -----------------------------------------------------------------------------------------------------

template <class T, class I>
struct types {
  using value = T;
  using index = I;
};

template <class Types>
class WrittenNpz : public testing::Test {};
using all_types = testing::Types<types<float, std::int32_t>, types<float, std::int64_t>, types<double, std::int32_t>,
                                 types<double, std::int64_t>>;
TYPED_TEST_SUITE(WrittenNpz, all_types);

template <class X>
void expect_same_bits(std::span<const X> a, std::span<const X> b, const char* array) {
  ASSERT_EQ(a.size(), b.size()) << array;
  if (a.empty()) return;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << array;
}

TYPED_TEST(WrittenNpz, ReadsBackBitEqual) {
  BCSC_NEEDS_ARCHIVE;
  using T = typename TypeParam::value;
  using I = typename TypeParam::index;
  const temporary_folder folder;
  const auto path = folder.path() / "a.npz";
  for (const test::sparse_case& c : test::battery(test::values::real)) {
    for (const bool compressed : {true, false}) {
      SCOPED_TRACE(c.name);
      auto a = test::csr_of<T, I>(c);
      if (a.nnz() > 2) {
        a.values()[0] = std::numeric_limits<T>::quiet_NaN();
        a.values()[1] = -std::numeric_limits<T>::infinity();
        a.values()[2] = T{-0.0};
      }
      write_npz(path, a, compressed);
      const auto back = read_csr<T, I>(path);
      EXPECT_EQ(back.rows(), a.rows());
      EXPECT_EQ(back.cols(), a.cols());
      expect_same_bits(back.view().row_ptr, a.view().row_ptr, "row_ptr");
      expect_same_bits(back.view().col_ind, a.view().col_ind, "col_ind");
      expect_same_bits(back.view().values, a.view().values, "values");
    }
  }
}

TEST(WrittenNpzFile, IsTheSameEachTimeAndReplacesTheOldOne) {
  BCSC_NEEDS_ARCHIVE;
  const temporary_folder folder;
  const auto a = test::csr_of<float>(test::battery(test::values::real)[8]);
  const auto first = folder.path() / "first.npz", second = folder.file("second.npz", "something else");
  write_npz(first, a);
  write_npz(second, a);
  EXPECT_EQ(bytes_of(first), bytes_of(second));
  EXPECT_EQ(folder.num_files(), 2);
}

TEST(WrittenNpzFile, IsNotThereIfItCannotBeWritten) {
  const temporary_folder folder;
  const auto a = test::csr_of<float>(test::battery(test::values::real)[8]);
  try {
    write_npz(folder.path() / "absent" / "a.npz", a);
    FAIL() << "was written";
  } catch (const error& caught) {
    EXPECT_EQ(caught.code(), errc::io_error) << caught.what();
  }
  EXPECT_EQ(folder.num_files(), 0);
}

#if !BCSC_WITH_ARCHIVE
TEST(NpzWithoutLibarchive, IsRefusedInWords) {
  const temporary_folder folder;
  const auto a = test::csr_of<float>(test::battery(test::values::real)[8]);
  const auto refused = [](auto&& use) {
    try {
      use();
    } catch (const error& caught) {
      return caught.code() == errc::unsupported && std::string(caught.what()).find("libarchive") != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused([] { read_coo<double>(fixture("csr.npz")); }));
  EXPECT_TRUE(refused([] { read_file_info(fixture("csr.npz")); }));
  EXPECT_TRUE(refused([&] { write_npz(folder.path() / "a.npz", a); }));
  EXPECT_EQ(folder.num_files(), 0);
}
#endif

}  // namespace
}  // namespace bcsc
