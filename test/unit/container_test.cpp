#include "bcsc/container.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "converters/files/container_read.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/container_support.hpp"
#include "test/unit/matrix_market_support.hpp"

/// Containers written, mapped and copied: what goes in comes out, bit by bit, and the bytes in between are those of
/// docs/container.md.
namespace bcsc {
namespace {

using test::bytes_of;
using test::code_of;
using test::temporary_folder;

// --- A matrix as bytes ----------------------------------------------------------------------------------------------

template <class T>
std::string bits(std::span<const T> array) {
  return {reinterpret_cast<const char*>(array.data()), array.size_bytes()};
}
std::string bits(pattern_span entries) { return std::to_string(entries.size()); }
std::string bits(const small_indices& array) { return {static_cast<const char*>(array.data()), array.size_bytes()}; }
std::string number(std::int64_t n) { return std::to_string(n); }

using parts = std::vector<std::string>;
template <class T, class I>
parts parts_of(const coo_view<T, I>& a) {
  return {bits(a.row_ind), bits(a.col_ind), bits(a.values)};
}
template <class T, class I>
parts parts_of(const csr_view<T, I>& a) {
  return {bits(a.row_ptr), bits(a.col_ind), bits(a.values)};
}
template <class T, class I>
parts parts_of(const csc_view<T, I>& a) {
  return {bits(a.col_ptr), bits(a.row_ind), bits(a.values)};
}
template <class T, class I>
parts parts_of(const bsr_view<T, I>& a) {
  return {number(a.row_block), number(a.col_block), bits(a.brow_ptr), bits(a.bcol_ind), bits(a.values)};
}
template <class T, class I>
parts parts_of(const ell_view<T, I>& a) {
  return {number(a.block), number(a.blocks_per_row), bits(a.bcol_ind), bits(a.values)};
}
template <class T, class I>
parts parts_of(const bcsc_view<T, I>& a) {
  return {number(a.m_block), bits(a.brow_ptr), bits(a.col_ind), bits(a.col_ptr), bits(a.row_ind), bits(a.values)};
}
template <class T, class I>
parts parts_of(const compact_bcsc_view<T, I>& a) {
  return {number(a.m_block), bits(a.block_row),           bits(a.brow_ptr),
          bits(a.entry_ptr), bits(a.dense_end),           bits(a.col_ind),
          bits(a.col_count), bits(a.row_in_block),        bits(a.values),
          bits(a.col_ind16), number(a.col_count.bytes()), number(a.row_in_block.bytes())};
}
template <class T>
parts parts_of(const dense_view<const T>& a) {
  return {number(static_cast<int>(a.order)), number(a.ld),
          bits(std::span<const T>(a.data, static_cast<std::size_t>(a.rows * a.cols)))};
}

void expect_same(const any_view& a, const any_view& b) {
  EXPECT_EQ(a.format(), b.format());
  EXPECT_EQ(a.element(), b.element());
  EXPECT_EQ(a.indices(), b.indices());
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  EXPECT_EQ(a.visit([](const auto& view) { return parts_of(view); }),
            b.visit([](const auto& view) { return parts_of(view); }));
}

any_matrix make(const test::sparse_case& c) {
  std::vector<std::int32_t> row_ind, col_ind;
  std::vector<double> values;
  for (const test::triplet& e : c.entries) {
    row_ind.push_back(static_cast<std::int32_t>(e.row));
    col_ind.push_back(static_cast<std::int32_t>(e.col));
    values.push_back(e.value);
  }
  return coo_matrix<double>(c.rows, c.cols, row_ind, col_ind, values);
}

/// A few shapes out of the battery: the empty ones, the ragged ones, a long row, a dense one.
const std::vector<test::sparse_case>& shapes() {
  static const auto all = [] {
    std::vector<test::sparse_case> chosen;
    for (test::sparse_case& c : test::battery(test::values::small_integers)) {
      for (const char* name : {"0x0", "0x5", "5x0", "1x1", "no_entries", "ragged", "wide", "tall"}) {
        if (c.name == name) chosen.push_back(std::move(c));
      }
    }
    return chosen;
  }();
  return all;
}

// --- In and out -----------------------------------------------------------------------------------------------------

struct stored_type {
  matrix_format format;
  value_type element;
  index_type indices;
  conversion_options options = {};
  std::string note = {};
};

std::vector<stored_type> every_type() {
  std::vector<stored_type> all;
  for (const matrix_format format : all_matrix_formats) {
    for (const value_type element :
         {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16, value_type::pattern}) {
      if (!can_hold(format, element)) continue;
      for (const index_type indices : {index_type::int32, index_type::int64}) {
        if (format == matrix_format::dense && indices == index_type::int64) continue;
        all.push_back({format, element, indices});
      }
    }
  }
  // Options of formats, besides their types.
  const auto also = [&](matrix_format format, conversion_options options, std::string note) {
    all.push_back({format, value_type::fp32, index_type::int32, options, std::move(note)});
  };
  also(matrix_format::bsr, {.row_block = 3, .col_block = 5}, "3x5");
  also(matrix_format::dense, {.order = layout::col_major}, "col");
  also(matrix_format::bcsc, {.blocks = {.m_block = 1}}, "height_1");
  also(matrix_format::compact_bcsc, {.blocks = {.m_block = 1}}, "height_1");
  also(matrix_format::compact_bcsc, {.blocks = {.m_block = 300}}, "two_bytes");
  also(matrix_format::compact_bcsc, {.blocks = {.m_block = 8, .narrow_columns = true}}, "narrow");
  also(matrix_format::compact_bcsc, {.blocks = {.m_block = 8, .dense_from = 4}}, "dense_first");
  return all;
}

class container_of : public testing::TestWithParam<stored_type> {};

TEST_P(container_of, comes_out_as_it_went_in) {
  const temporary_folder folder;
  for (const test::sparse_case& c : shapes()) {
    SCOPED_TRACE(c.name);
    conversion_options options = GetParam().options;
    options.element = GetParam().element;
    options.indices = GetParam().indices;
    const any_matrix a = convert(make(c), GetParam().format, options);
    const auto path = folder.path() / "a.bcsc";
    write_container(path, a, {.metadata = {{"name", c.name}}});

    const mapped_matrix mapped(path);
    expect_same(mapped.view(), a);
    expect_same(read_container(path), a);
    for (const container_info& info : {mapped.info(), read_container_info(path)}) {
      EXPECT_EQ(info.version, 1u);
      EXPECT_EQ(info.format, GetParam().format);
      EXPECT_EQ(info.element, GetParam().element);
      EXPECT_EQ(info.index_bytes, GetParam().format == matrix_format::dense ? 0 : size_of(GetParam().indices));
      EXPECT_EQ(info.rows, c.rows);
      EXPECT_EQ(info.cols, c.cols);
      EXPECT_EQ(info.num_values, a.view().num_values());
      EXPECT_EQ(info.file_bytes, static_cast<std::int64_t>(std::filesystem::file_size(path)));
      EXPECT_EQ(info.metadata, (container_metadata{{"name", c.name}}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(every_type, container_of, testing::ValuesIn(every_type()), [](const auto& info) {
  const stored_type& s = info.param;
  return std::string(to_string(s.format)) + "_" + std::string(to_string(s.element)) + "_" +
         std::string(to_string(s.indices)) + (s.note.empty() ? "" : "_" + s.note);
});

TEST(container, keeps_row_blocks_of_own_heights) {
  const temporary_folder folder;
  const auto a = generate::rmat<float>(8, 6, 1);
  const std::vector<std::int64_t> boundaries{0, 3, 40, 41, 200, 256};
  const auto compact = to_compact(a.view(), {.m_block = 200, .boundaries = boundaries});
  write_container(folder.path() / "a.bcsc", compact);
  expect_same(viewed(mapped_matrix(folder.path() / "a.bcsc")), compact);
}

TEST(container, keeps_every_bit_of_a_value) {
  const temporary_folder folder;
  const float nan = std::bit_cast<float>(0x7fa12345u);  // signalling, with a payload
  const csr_matrix<float> a(1, 5, {0, 5}, {0, 1, 2, 3, 4}, {nan, -0.0f, 0.0f, INFINITY, 1e-45f});
  write_container(folder.path() / "a.bcsc", a);
  expect_same(viewed(mapped_matrix(folder.path() / "a.bcsc")), a);
}

// --- The layout -----------------------------------------------------------------------------------------------------

TEST(container_layout, is_that_of_the_documentation) {
  const temporary_folder folder;
  test::raw_container raw = test::golden_csr();
  const csr_matrix<float> a(
      6, 6, {0, 4, 7, 10, 12, 14, 16}, {0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5},
      {7.5f, 2.9f, 2.8f, 2.7f, 6.8f, 5.7f, 3.8f, 2.4f, 6.2f, 3.2f, 9.7f, 2.3f, 5.8f, 5.0f, 6.6f, 8.1f});
  write_container(folder.path() / "a.bcsc", a);
  EXPECT_EQ(bytes_of(folder.path() / "a.bcsc"), raw.bytes());
  raw.sections.insert(raw.sections.begin(), test::words(std::string("name\0golden\0source\0ntua\0", 24)));
  write_container(folder.path() / "a.bcsc", a, {.metadata = {{"source", "ntua"}, {"name", "golden"}}});
  EXPECT_EQ(bytes_of(folder.path() / "a.bcsc"), raw.bytes());
}

TEST(container_layout, of_every_kind_is_read_and_written_again) {
  const temporary_folder folder;
  const csr_matrix<double> expected(3, 4, {0, 2, 2, 4}, {1, 3, 0, 1}, {1, 2, 3, 4});
  const csr_matrix<double> ones(3, 4, {0, 2, 2, 4}, {1, 3, 0, 1}, {1, 1, 1, 1});
  for (const auto& [name, raw] : test::one_of_each()) {
    SCOPED_TRACE(name);
    const auto path = folder.file("a.bcsc", raw.bytes());
    expect_same(read_csr<double>(path), name == "pattern" ? ones : expected);
    const mapped_matrix mapped(path);
    write_container(folder.path() / "b.bcsc", mapped.view(), {.metadata = mapped.info().metadata});
    EXPECT_EQ(bytes_of(folder.path() / "b.bcsc"), raw.bytes());
  }
}

/// More than one leaf of the checksum, and more than one report of progress.
TEST(container_layout, of_long_sections_is_that_of_the_documentation) {
  const temporary_folder folder;
  const std::size_t n = 600'000;
  std::vector<std::int32_t> row_ptr(n + 1), col_ind(n);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    row_ptr[i + 1] = static_cast<std::int32_t>(i + 1);
    col_ind[i] = static_cast<std::int32_t>(i);
    values[i] = 1.0 / static_cast<double>(i + 1);
  }
  const test::raw_container raw{.element = test::of_fp64,
                                .rows = n,
                                .cols = n,
                                .num_values = n,
                                .sections = {test::indices("row_ptr", row_ptr), test::indices("col_ind", col_ind),
                                             test::array_of("values", test::type_fp64, values)}};
  write_container(folder.path() / "a.bcsc", csr_matrix<double>(n, n, row_ptr, col_ind, values));
  EXPECT_TRUE(bytes_of(folder.path() / "a.bcsc") == raw.bytes());
}

TEST(container_layout, may_hold_sections_that_nobody_knows) {
  const temporary_folder folder;
  test::raw_container raw = test::golden_csr();
  raw.sections.insert(raw.sections.begin() + 1, {"future_hint", test::type_u16, 2, 0, "abcdef"});
  const auto path = folder.file("a.bcsc", raw.bytes());
  EXPECT_EQ(read_csr<float>(path).nnz(), 16);
  EXPECT_EQ(read_container_info(path).sections.size(), 4u);
}

// --- Where it lies --------------------------------------------------------------------------------------------------

TEST(mapped_matrix, lies_in_the_file_and_is_not_copied) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.bcsc";
  write_container(path, generate::banded<double>(20000, 8, 1));
  mapped_matrix first(path);
  const auto a = first.as<csr_view<double>>();
  const mapped_matrix moved = std::move(first);
  EXPECT_EQ(moved.as<csr_view<double>>().values.data(), a.values.data());
  const auto address = [](const auto& array) { return reinterpret_cast<std::uintptr_t>(array.data()); };
  const auto& sections = moved.info().sections;
  EXPECT_EQ(address(a.row_ptr) % 64, 0u);
  EXPECT_EQ(address(a.col_ind) - address(a.row_ptr),
            static_cast<std::uintptr_t>(sections[1].offset - sections[0].offset));
  EXPECT_EQ(address(a.values) - address(a.row_ptr),
            static_cast<std::uintptr_t>(sections[2].offset - sections[0].offset));
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 && begin <= address(a.values) &&
        address(a.values) < end) {
      found = line.find("a.bcsc") != std::string::npos && line.find(" r--p ") != std::string::npos;
    }
  }
  EXPECT_TRUE(found);
}

TEST(mapped_matrix, outlives_the_file_that_replaces_it) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.bcsc";
  const auto old = generate::banded<float>(5000, 3, 1), young = generate::banded<float>(10, 1, 2);
  write_container(path, old);
  const mapped_matrix mapped(path);
  write_container(path, young);
  expect_same(mapped.view(), old);
  expect_same(viewed(mapped_matrix(path)), young);
  std::filesystem::remove(path);
  expect_same(mapped.view(), old);
}

TEST(mapped_matrix, is_of_one_type) {
  const temporary_folder folder;
  write_container(folder.path() / "a.bcsc", generate::banded<float>(10, 1, 1));
  const mapped_matrix mapped(folder.path() / "a.bcsc");
  EXPECT_EQ(mapped.as<csr_view<float>>().nnz(), 28);
  try {
    (void)mapped.as<csr_view<double>>();
    FAIL();
  } catch (const error& problem) {
    EXPECT_EQ(problem.code(), errc::invalid_argument);
    EXPECT_NE(std::string(problem.what()).find("csr of fp32"), std::string::npos) << problem.what();
  }
}

TEST(container, may_be_compressed_come_through_a_pipe_or_lie_anywhere_in_memory) {
  const temporary_folder folder;
  const auto a = generate::uniform<double>(100, 80, 0.9, 3);
  write_container(folder.path() / "a.bcsc.gz", a, {.metadata = {{"comment", "packed"}}});
  EXPECT_EQ(bytes_of(folder.path() / "a.bcsc.gz").substr(0, 2), "\x1f\x8b");
  expect_same(viewed(mapped_matrix(folder.path() / "a.bcsc.gz")), a);
  EXPECT_EQ(read_container_info(folder.path() / "a.bcsc.gz").metadata.at("comment"), "packed");

  write_container(folder.path() / "a.bcsc", a);
  const std::string stored = bytes_of(folder.path() / "a.bcsc");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << stored; });
  expect_same(read_csr<double>(pipe), a);
  writer.join();

  for (std::size_t shift = 0; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, '.') + stored;
    files::source in(std::string_view(shifted).substr(shift), "memory", read_options{});
    expect_same(viewed(files::container::opened(in, {})), a);
  }
}

// --- Beside the other formats ---------------------------------------------------------------------------------------

TEST(container_as_a_file_format, is_recognised_and_read_like_any_other) {
  const temporary_folder folder;
  const auto a = generate::uniform<double>(40, 30, 0.8, 3);
  const auto path = folder.path() / "named.mtx";  // its mark decides, not its name
  write_container(path, to_bcsc(cast<half, std::int64_t>(a), 4), {.metadata = {{"field", "integer"}}});
  const auto halves = cast<double, std::int32_t>(cast<half, std::int32_t>(a));
  expect_same(read_csr<double>(path), halves);
  expect_same(read_csr<float, std::int64_t>(path), cast<float, std::int64_t>(halves));
  expect_same(read_coo<double>(path), to_coo(halves));
  const file_info info = read_file_info(path);
  EXPECT_EQ(info.format, file_format::container);
  EXPECT_EQ(info.rows, 40);
  EXPECT_EQ(info.cols, 30);
  EXPECT_EQ(info.stored_entries, a.nnz());
  EXPECT_EQ(info.field, file_field::integer);
  EXPECT_FALSE(info.array);
}

TEST(container_as_a_file_format, gives_a_pattern_the_same_values_as_matrix_market) {
  const temporary_folder folder;
  const auto a = cast<pattern, std::int32_t>(generate::uniform<double>(20, 30, 0.8, 3));
  write_container(folder.path() / "a.bcsc", a);
  EXPECT_EQ(read_file_info(folder.path() / "a.bcsc").field, file_field::pattern);
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n20 30 " + std::to_string(a.nnz()) + "\n";
  const auto coo = to_coo(a);
  for (std::size_t k = 0; k < static_cast<std::size_t>(coo.nnz()); ++k) {
    text += std::to_string(coo.view().row_ind[k] + 1) + " " + std::to_string(coo.view().col_ind[k] + 1) + "\n";
  }
  const auto market = folder.file("a.mtx", text);
  for (const read_options& options : {read_options{}, read_options{.pattern_seed = 7}}) {
    expect_same(read_csr<float>(folder.path() / "a.bcsc", options), read_csr<float>(market, options));
    expect_same(read_coo<double>(folder.path() / "a.bcsc", options), read_coo<double>(market, options));
  }
}

TEST(container_as_a_file_format, gives_dense_matrices) {
  const temporary_folder folder;
  for (const auto& [name, raw] : test::one_of_each()) {
    SCOPED_TRACE(name);
    const auto a = read_dense<double>(folder.file("a.bcsc", raw.bytes()));
    ASSERT_EQ(a.rows(), 3);
    ASSERT_EQ(a.cols(), 4);
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j) sum += a(i, j);
    }
    EXPECT_EQ(sum, name == "pattern" ? 4 : 10);
    EXPECT_EQ(a(2, 1), name == "pattern" ? 1 : 4);
  }
}

// --- Writing --------------------------------------------------------------------------------------------------------

TEST(write_container, leaves_the_old_file_when_it_is_cancelled_or_fails) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.bcsc";
  write_container(path, generate::banded<float>(10, 1, 1));
  const std::string before = bytes_of(path);
  const auto a = generate::banded<float>(400'000, 3, 1);
  int calls = 0;
  EXPECT_EQ(code_of([&] {
              write_container(path, a, {.progress = [&](std::int64_t done, std::int64_t total) {
                                EXPECT_LE(done, total);
                                return ++calls < 3;
                              }});
            }),
            errc::cancelled);
  EXPECT_EQ(calls, 3);
  const std::vector<std::int32_t> row_ptr{0, 1}, col_ind{5};
  const std::vector<float> values{1};
  EXPECT_EQ(code_of([&] {
              write_container(path, csr_view<float>{1, 1, row_ptr, col_ind, values});
            }),
            errc::index_out_of_range);
  EXPECT_EQ(code_of([&] { write_container(folder.path() / "no" / "a.bcsc", a); }), errc::io_error);
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_EQ(folder.num_files(), 1);
}

TEST(write_container, tells_its_progress_to_the_end) {
  const temporary_folder folder;
  std::int64_t last = -1, all = 0;
  write_container(folder.path() / "a.bcsc", generate::banded<double>(300'000, 3, 1),
                  {.progress = [&](std::int64_t done, std::int64_t total) {
                    EXPECT_GT(done, last);
                    last = done;
                    all = total;
                    return true;
                  }});
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, static_cast<std::int64_t>(std::filesystem::file_size(folder.path() / "a.bcsc")));
  last = -1;
  const mapped_matrix mapped(folder.path() / "a.bcsc", {.progress = [&](std::int64_t done, std::int64_t total) {
                               EXPECT_GE(done, last);
                               EXPECT_EQ(total, all);
                               last = done;
                               return true;
                             }});
  EXPECT_EQ(last, all);
  EXPECT_EQ(
      code_of([&] { (void)read_container(folder.path() / "a.bcsc", {.progress = [](auto, auto) { return false; }}); }),
      errc::cancelled);
}

TEST(write_container, refuses_dense_views_with_gaps) {
  const temporary_folder folder;
  const std::vector<float> values(12, 1.0f);
  EXPECT_EQ(
      code_of([&] { write_container(folder.path() / "a.bcsc", dense_view<const float>(values.data(), 3, 3, 4)); }),
      errc::bad_leading_dimension);
  write_container(folder.path() / "a.bcsc", dense_view<const float>(values.data(), 3, 4, 4));
}

struct words_case {
  std::string name;
  container_metadata metadata;
  errc code;
};
void PrintTo(const words_case& c, std::ostream* out) { *out << c.name; }

class container_words : public testing::TestWithParam<words_case> {};

TEST_P(container_words, are_utf8_and_bounded) {
  const temporary_folder folder;
  const csr_matrix<float> a(1, 1, {0, 1}, {0}, {1});
  const auto path = folder.path() / "a.bcsc";
  EXPECT_EQ(code_of([&] { write_container(path, a, {.metadata = GetParam().metadata}); }), GetParam().code);
  if (GetParam().code != errc::ok) return;
  EXPECT_EQ(mapped_matrix(path).info().metadata, GetParam().metadata);
  EXPECT_EQ(read_container_info(path).metadata, GetParam().metadata);
}

INSTANTIATE_TEST_SUITE_P(
    of, container_words,
    testing::Values(words_case{"none", {}, errc::ok}, words_case{"empty_value", {{"k", ""}}, errc::ok},
                    words_case{"greek", {{"Πολυτεχνείο", "αραιός πίνακας 🙂\n"}, {"a", "b"}}, errc::ok},
                    words_case{"longest_key", {{std::string(255, 'k'), "v"}}, errc::ok},
                    words_case{"just_fits", {{"k", std::string(65536 - 3, 'v')}}, errc::ok},
                    words_case{"too_long", {{"k", std::string(65536 - 2, 'v')}}, errc::invalid_argument},
                    words_case{"empty_key", {{"", "v"}}, errc::invalid_argument},
                    words_case{"long_key", {{std::string(256, 'k'), "v"}}, errc::invalid_argument},
                    words_case{"nul", {{"k", std::string("a\0b", 3)}}, errc::invalid_argument},
                    words_case{"nul_in_key", {{std::string("a\0b", 3), "v"}}, errc::invalid_argument},
                    words_case{"lone_byte", {{"k", "\xff"}}, errc::invalid_argument},
                    words_case{"cut_short", {{"k", "\xe2\x82"}}, errc::invalid_argument},
                    words_case{"overlong", {{"k", "\xc0\xaf"}}, errc::invalid_argument},
                    words_case{"overlong_of_three", {{"k", "\xe0\x80\xaf"}}, errc::invalid_argument},
                    words_case{"surrogate", {{"k", "\xed\xa0\x80"}}, errc::invalid_argument},
                    words_case{"beyond_unicode", {{"k", "\xf4\x90\x80\x80"}}, errc::invalid_argument}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bcsc
