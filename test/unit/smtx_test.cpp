#include "test/unit/text_files_support.hpp"

/// .smtx files: what is accepted, what is refused, and that the writer's files read back equal.

namespace bcsc {
namespace {

using namespace test;

const sparse_case small{"small", 3, 4, {{0, 0, 1}, {0, 3, 1}, {2, 1, 1}}};
const std::string small_text = "3, 4, 3\n0 2 2 3\n0 3 1\n";

std::string sizes(const std::string& first_line) { return first_line + "\n0 2 2 3\n0 3 1\n"; }
std::string offsets(const std::string& second_line) { return "3, 4, 3\n" + second_line + "\n0 3 1\n"; }
std::string indices(const std::string& third_line) { return "3, 4, 3\n0 2 2 3\n" + third_line + "\n"; }

std::vector<wanted_file> accepted() {
  const auto same = [](std::string name, std::string bytes) {
    return wanted_file{std::move(name), std::move(bytes), small};
  };
  return {
      same("plain", small_text),
      same("no_final_newline", small_text.substr(0, small_text.size() - 1)),
      same("crlf", "3, 4, 3\r\n0 2 2 3\r\n0 3 1\r\n"),
      same("gzip", gzipped(small_text)),
      same("no_blanks_in_the_sizes", sizes("3,4,3")),
      same("no_commas_in_the_sizes", sizes("3 4 3")),
      same("commas_everywhere", "3,4,3\n0,2,2,3\n0,3,1\n"),
      same("blanks_at_both_ends", " 3, 4, 3 \n 0 2 2 3 \n\t0 3 1\t\n"),
      same("blank_lines_at_the_end", small_text + "\n  \n"),
      same("plus_signs_and_leading_zeros", "+3, 004, 3\n00 +2 2 3\n0 3 000000000000000000000000000001\n"),
      same("unsorted_columns", indices("3 0 1")),
      {"no_entries", "2, 3, 0\n0 0 0\n\n", {"", 2, 3, {}}},
      {"no_entries_and_no_line_for_them", "2, 3, 0\n0 0 0\n", {"", 2, 3, {}}},
      {"no_entries_no_newline", "2, 3, 0\n0 0 0", {"", 2, 3, {}}},
      {"no_rows", "0, 5, 0\n0\n\n", {"", 0, 5, {}}},
      {"no_columns", "2, 0, 0\n0 0 0\n", {"", 2, 0, {}}},
  };
}

class AcceptedSmtx : public testing::TestWithParam<wanted_file> {};
TEST_P(AcceptedSmtx, IsReadAsItsMatrix) { expect_read(GetParam(), "matrix.smtx"); }
INSTANTIATE_TEST_SUITE_P(Files, AcceptedSmtx, testing::ValuesIn(accepted()), by_name);

/// Lines of many megabytes, whose tokens end anywhere in whatever buffer.
TEST(Smtx, HasLinesOfAnyLength) {
  constexpr std::int64_t rows = 1000, row_length = 1201, cols = 1'000'000;
  sparse_case wanted{"long", rows, cols, {}};
  std::string row_offsets = "0", col_indices;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < row_length; ++k) {
      wanted.entries.push_back({i, k * 800 + i % 799, 1});
      col_indices += std::to_string(wanted.entries.back().col) + ' ';
    }
    row_offsets += ' ' + std::to_string((i + 1) * row_length);
  }
  ASSERT_GT(col_indices.size(), std::size_t{4} << 20);
  const std::string text = "1000, 1000000, 1201000\n" + row_offsets + "\n" + col_indices + "\n";
  const temporary_folder folder;
  expect_same_bits(csr_of<float>(wanted), read_csr<float>(folder.file("long.smtx", text)), "plain");
  expect_same_bits(csr_of<float>(wanted), read_csr<float>(folder.file("long.smtx.gz", gzipped(text))), "gzip");
}

/// The same values as a Matrix Market pattern file with its entries in the same order.
TEST(Smtx, TakesSeededValuesInTheFilesOrder) {
  const temporary_folder folder;
  const auto smtx = folder.file("p.smtx", indices("3 0 1"));
  const auto mtx = folder.file("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 4\n1 1\n3 2\n");
  const read_options seeded{.pattern_seed = 20240607};
  expect_same_bits(read_csr<double>(mtx, seeded), read_csr<double>(smtx, seeded), "fp64");
  expect_same_bits(read_csr<float>(mtx, seeded), read_csr<float>(smtx, seeded), "fp32");
  const auto a = read_csr<double>(smtx, seeded);
  for (const double value : a.view().values) {
    EXPECT_GE(std::abs(value), 0.5);
    EXPECT_LT(std::abs(value), 1.5);
  }
}

TEST(Smtx, HeaderIsToldWithoutTheEntries) {
  const temporary_folder folder;
  const file_info info = read_file_info(folder.file("a.smtx", "3, 4, 3\n"));
  EXPECT_EQ(info.format, file_format::smtx);
  EXPECT_EQ(info.rows, 3);
  EXPECT_EQ(info.cols, 4);
  EXPECT_EQ(info.stored_entries, 3);
  EXPECT_EQ(info.field, file_field::pattern);
  EXPECT_EQ(info.symmetry, file_symmetry::general);
}

TEST(Smtx, IsRecognisedByItsName) {
  const temporary_folder folder;
  for (const char* name : {"a.smtx", "a.SMTX", "a.smtx.gz"}) {
    EXPECT_EQ(read_file_info(folder.file(name, small_text)).format, file_format::smtx) << name;
  }
  EXPECT_EQ(read_csr<double>(folder.file("a.txt", small_text), {.format = file_format::smtx}).nnz(), 3);
}

std::vector<malformed_file> refused() {
  return {
      {"empty_file", "", errc::truncated, 1},
      {"empty_file_for_its_header", "", errc::truncated, 1, as_info},
      {"blank_first_line", "\n" + small_text, errc::parse_error, 1},
      {"binary", std::string(100'000, '\0'), errc::parse_error, 1},
      {"two_sizes", sizes("3, 4"), errc::parse_error, 1},
      {"two_sizes_and_the_end", "3, 4", errc::truncated, 1},
      {"four_sizes", sizes("3, 4, 3, 3"), errc::trailing_data, 1},
      {"words_for_sizes", sizes("three, 4, 3"), errc::parse_error, 1},
      {"real_size", sizes("3.0, 4, 3"), errc::parse_error, 1},
      {"semicolons", sizes("3; 4; 3"), errc::parse_error, 1},
      {"negative_rows", sizes("-3, 4, 3"), errc::value_out_of_range, 1},
      {"negative_cols", sizes("3, -4, 3"), errc::value_out_of_range, 1},
      {"negative_entries", sizes("3, 4, -3"), errc::value_out_of_range, 1},
      {"negative_entries_for_the_header", sizes("3, 4, -3"), errc::value_out_of_range, 1, as_info},
      {"rows_past_2_63", sizes("9223372036854775808, 4, 3"), errc::size_overflow, 1},
      {"rows_past_2_64", sizes("18446744073709551619, 4, 3"), errc::size_overflow, 1},
      {"rows_whose_offsets_pass_2_63", sizes("9223372036854775807, 4, 3"), errc::size_overflow, 1, as_fp64_int64},
      {"rows_past_int32", sizes("2147483648, 4, 3"), errc::size_overflow, 1},
      {"cols_past_int32", sizes("3, 2147483648, 3"), errc::size_overflow, 1},
      {"size_of_a_mebibyte", std::string(std::size_t{1} << 20, '1') + small_text, errc::parse_error, 1},
      {"no_offsets", "3, 4, 3\n", errc::truncated, 2},
      {"ends_inside_the_offsets", "3, 4, 3\n0 2", errc::truncated, 2},
      {"offset_missing", offsets("0 2 3"), errc::parse_error, 2},
      {"offsets_on_two_lines", offsets("0 2\n2 3"), errc::parse_error, 2},
      {"empty_line_for_offsets", offsets(""), errc::parse_error, 2},
      {"offset_too_many", offsets("0 2 2 3 3"), errc::trailing_data, 2},
      {"first_offset_of_1", offsets("1 2 2 3"), errc::structure_violation, 2},
      {"decreasing_offsets", offsets("0 2 1 3"), errc::structure_violation, 2},
      {"last_offset_too_small", offsets("0 1 2 2"), errc::structure_violation, 2},
      {"offset_beyond_the_entries", offsets("0 2 4 3"), errc::index_out_of_range, 2},
      {"negative_offset", offsets("0 -2 2 3"), errc::index_out_of_range, 2},
      {"offset_past_2_64", offsets("0 18446744073709551618 2 3"), errc::index_out_of_range, 2},
      {"word_for_an_offset", offsets("0 two 2 3"), errc::parse_error, 2},
      {"real_offset", offsets("0 2.0 2 3"), errc::parse_error, 2},
      {"no_indices", "3, 4, 3\n0 2 2 3\n", errc::truncated, 3},
      {"ends_inside_the_indices", "3, 4, 3\n0 2 2 3\n0 3", errc::truncated, 3},
      {"index_missing", indices("0 3"), errc::parse_error, 3},
      {"index_too_many", indices("0 3 1 2"), errc::trailing_data, 3},
      {"empty_line_for_indices", indices(""), errc::parse_error, 3},
      {"index_beyond", indices("0 4 1"), errc::index_out_of_range, 3},
      {"index_beyond_in_the_last_place", indices("0 3 4"), errc::index_out_of_range, 3},
      {"negative_index", indices("0 -3 1"), errc::index_out_of_range, 3},
      {"index_past_2_32", indices("0 4294967299 1"), errc::index_out_of_range, 3},
      {"index_past_2_64", indices("0 18446744073709551619 1"), errc::index_out_of_range, 3},
      {"word_for_an_index", indices("0 three 1"), errc::parse_error, 3},
      {"nul_for_an_index", indices(std::string("0 \0 1", 5)), errc::parse_error, 3},
      {"index_of_a_mebibyte", indices("0 " + std::string(std::size_t{1} << 20, '0') + "3 1"), errc::parse_error, 3},
      {"one_column_twice_in_a_row", indices("3 3 1"), errc::structure_violation, 3},
      {"indices_in_a_matrix_without_columns", "3, 0, 3\n0 2 2 3\n0 3 1\n", errc::index_out_of_range, 3},
      {"fourth_line", small_text + "1 1 1\n", errc::trailing_data, 4},
      {"values_after_a_blank_line", small_text + "\n1 1 1\n", errc::trailing_data, 5},
      {"indices_after_none_announced", "2, 3, 0\n0 0 0\n1\n", errc::trailing_data, 3},
      {"ten_to_the_18_rows", sizes("1000000000000000000, 4, 3"), errc::parse_error, 2, as_fp64_int64},
      {"ten_to_the_18_rows_and_the_end", "1000000000000000000, 4, 3\n0 0 0", errc::truncated, 2, as_fp64_int64},
      {"ten_to_the_18_entries", "1, 4, 1000000000000000000\n0 1000000000000000000\n0 1 2 3", errc::truncated, 3},
      {"ten_to_the_18_entries_zipped", gzipped("1, 4, 1000000000000000000\n0 1000000000000000000\n0 1 2 3"),
       errc::truncated, 3},
      {"a_product_past_2_64", "2000000000, 2000000000, 4000000000000000000\n0", errc::truncated, 2},
      {"gzip_and_text", gzipped(small_text) + "the end", errc::corrupt_compression},
  };
}

class MalformedSmtx : public testing::TestWithParam<malformed_file> {};
TEST_P(MalformedSmtx, IsRefusedWithCodeAndLine) { expect_refused(GetParam(), GetParam().name + ".smtx"); }
INSTANTIATE_TEST_SUITE_P(Files, MalformedSmtx, testing::ValuesIn(refused()), by_name);

TEST(TruncatedSmtx, IsRefusedAtEveryLength) {
  const temporary_folder folder;
  for (std::size_t size = 0; size < small_text.size() - 1; ++size) {
    const auto path = folder.file("cut.smtx", std::string_view(small_text).substr(0, size));
    EXPECT_NE(code_of([&] { read_coo<double>(path); }), errc::ok) << size;
  }
}

TEST(WrittenSmtx, IsThreeLines) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.smtx";
  write_smtx(path, csr_of<double>(small));
  EXPECT_EQ(bytes_of(path), small_text);
  write_smtx(path, csr_of<float>({"", 2, 3, {}}));
  EXPECT_EQ(bytes_of(path), "2, 3, 0\n0 0 0\n\n");
}

TEST(WrittenSmtx, ReadsBackAsItsPattern) {
  const temporary_folder folder;
  for (const char* name : {"a.smtx", "a.smtx.gz"}) {
    const auto path = folder.path() / name;
    for_each_battery_matrix([&]<class T, class I>(const csr_matrix<T, I>& a, const std::string& what) {
      write_smtx(path, a);
      expect_same_bits(pattern_of(a), read_csr<T, I>(path), what);
    });
  }
}

TEST(WrittenSmtx, RealMatricesReadBackAsTheirPatterns) {
  const temporary_folder folder;
  for_each_real_matrix([&](const std::filesystem::path& mtx, const std::string& name) {
    const auto a = read_csr<float>(mtx);
    const auto path = folder.path() / (name + ".smtx");
    write_smtx(path, a);
    expect_same_bits(pattern_of(a), read_csr<float>(path), name);
    // Seeded, a file sorted by row is the same matrix in both formats.
    const auto pattern = folder.path() / (name + ".mtx");
    write_matrix_market(pattern, a, {.field = file_field::pattern});
    expect_same_bits(read_csr<float>(pattern, {.pattern_seed = 5}), read_csr<float>(path, {.pattern_seed = 5}), name);
    std::filesystem::remove(path);
    std::filesystem::remove(pattern);
  });
}

}  // namespace
}  // namespace bcsc
