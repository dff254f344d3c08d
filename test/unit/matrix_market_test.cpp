#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc_config.h"
#include "converters/files/matrix_market_read.hpp"
#include "test/support/paths.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/matrix_market_support.hpp"

/// What the Matrix Market reader accepts, what the writer writes, and that one undoes the other.
namespace bcsc {
namespace {

using test::gunzipped;
using test::gzipped;
using test::temporary_folder;

template <class T>
std::vector<std::remove_const_t<T>> list(std::span<T> array) {
  return {array.begin(), array.end()};
}

/// A matrix as a map from position to value; stored zeros are in it.
template <value T>
using entry_map = std::map<std::pair<std::int64_t, std::int64_t>, T>;

template <value T, index I>
entry_map<T> entries_of(const coo_matrix<T, I>& a) {
  entry_map<T> map;
  const auto view = a.view();
  for (std::int64_t k = 0; k < a.nnz(); ++k) map[{view.row_ind[k], view.col_ind[k]}] = view.values[k];
  return map;
}

template <value T, index I>
entry_map<T> entries_of(const csr_matrix<T, I>& a) {
  entry_map<T> map;
  const auto view = a.view();
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (I k = view.row_ptr[i]; k < view.row_ptr[i + 1]; ++k) map[{i, view.col_ind[k]}] = view.values[k];
  }
  return map;
}

// --- What is accepted
// -------------------------------------------------------------------------------------------------

struct accepted {
  std::string name;
  std::string bytes;
  std::int64_t rows = 0, cols = 0;
  entry_map<double> entries;  ///< 0-based
  bool real_part = false;     ///< of complex values
};

void PrintTo(const accepted& file, std::ostream* out) { *out << file.name; }

const std::string real = "%%MatrixMarket matrix coordinate real general\n";
const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
const std::string complex_head = "%%MatrixMarket matrix coordinate complex ";
const std::string array = "%%MatrixMarket matrix array real general\n";
const std::string two_entries = real + "2 3 2\n1 3 1.5\n2 1 -2\n";

std::vector<accepted> oddities() {
  const entry_map<double> two{{{0, 2}, 1.5}, {{1, 0}, -2}};
  const auto same = [&](std::string name, std::string bytes) { return accepted{name, bytes, 2, 3, two}; };
  const auto one = [&](std::string name, std::string token, double value) {
    return accepted{name, real + "1 1 1\n1 1 " + token + "\n", 1, 1, {{{0, 0}, value}}};
  };
  const std::size_t middle = two_entries.find("1.5") + 1;
  return {
      same("plain", two_entries),
      same("crlf", "%%MatrixMarket matrix coordinate real general\r\n%\r\n2 3 2\r\n1 3 1.5\r\n2 1 -2\r\n"),
      same("cr_cr_lf", "%%MatrixMarket matrix coordinate real general\r\r\n2 3 2\r\r\n1 3 1.5\r\r\n2 1 -2\r\r\n"),
      same("no_final_newline", real + "2 3 2\n1 3 1.5\n2 1 -2"),
      same("no_final_newline_but_cr", real + "2 3 2\n1 3 1.5\n2 1 -2\r"),
      same("blank_lines", real + "\n  \n2 3 2\n\n\n1 3 1.5\n\t\n2 1 -2\n\n\n"),
      same("comments_before_the_sizes", real + "% one\n%\n%%two\n2 3 2\n1 3 1.5\n2 1 -2\n"),
      same("comments_among_the_entries", real + "2 3 2\n% first\n1 3 1.5\n%second\n2 1 -2\n% end\n"),
      same("indented_comment", real + "  % one\n2 3 2\n1 3 1.5\n\t% two\n2 1 -2\n"),
      same("comment_of_three_mebibytes",
           real + "%" + std::string(std::size_t{3} << 20, 'x') + "\n2 3 2\n1 3 1.5\n2 1 -2\n"),
      same("comment_up_to_the_end", two_entries + "% the end"),
      same("tabs", real + "2\t3\t2\n1\t3\t1.5\n\t2\t1\t-2\t\n"),
      same("many_blanks", real + "   2   3   2   \n   1   3   1.5   \n   2   1   -2   \n"),
      same("other_order", real + "2 3 2\n2 1 -2\n1 3 1.5\n"),
      same("plus_signs", real + "+2 +3 +2\n+1 +3 +1.5\n+2 +1 -2\n"),
      same("leading_zeros",
           real + "002 00000000000000000000000003 2\n01 03 0001.500\n02 00000000000000000000000001 -02\n"),
      same("upper_case_banner", "%%MATRIXMARKET MATRIX COORDINATE REAL GENERAL\n2 3 2\n1 3 1.5\n2 1 -2\n"),
      same("lower_case_banner", "%%matrixmarket matrix coordinate real general\n2 3 2\n1 3 1.5\n2 1 -2\n"),
      same("tabs_in_the_banner", "%%MatrixMarket\tmatrix\tcoordinate  real general \n2 3 2\n1 3 1.5\n2 1 -2\n"),
      same("byte_order_mark", "\xef\xbb\xbf" + two_entries),
      same("duplicates", real + "2 3 4\n1 3 1\n1 3 0.25\n2 1 -2\n1 3 0.25\n"),
      same("duplicates_far_apart", real + "2 3 3\n1 3 1\n2 1 -2\n1 3 0.5\n"),
      same("gzip", gzipped(two_entries)),
      same("two_gzip_members", gzipped(two_entries.substr(0, middle)) + gzipped(two_entries.substr(middle))),
      same("empty_gzip_members", gzipped("") + gzipped(two_entries) + gzipped("")),
      same("one_byte_gzip_members",
           [&] {
             std::string members;
             for (const char c : two_entries) members += gzipped(std::string(1, c));
             return members;
           }()),
      one("fortran_exponent", "1.5D+02", 150),
      one("fortran_exponent_lower_case", "-1.5d-2", -0.015),
      one("fortran_exponent_underflow", "-1D-999", -0.0),
      one("point_at_the_end", "3.", 3),
      one("point_at_the_start", "-.5", -0.5),
      one("plus_and_exponents_plus", "+1E+2", 100),
      one("underflow", "1e-999", 0),
      one("underflow_by_digits", "0." + std::string(400, '0') + "1", 0),
      one("underflow_past_2_64", "1e-18446744073709551617", 0),
      one("zero_with_a_huge_exponent", "0e999", 0),
      one("smallest_denormal", "4.9406564584124654e-324", std::numeric_limits<double>::denorm_min()),
      one("largest_fp64", "1.7976931348623157e308", std::numeric_limits<double>::max()),
      one("many_digits_and_a_balancing_exponent", "1" + std::string(400, '0') + "e-400", 1),
      one("eight_hundred_digits", "0." + std::string(800, '3'), 1.0 / 3),
      {"explicit_zeros_are_kept", real + "2 2 2\n1 1 0\n2 2 -0.0\n", 2, 2, {{{0, 0}, 0}, {{1, 1}, -0.0}}},
      {"no_entries", real + "2 3 0\n", 2, 3, {}},
      {"no_entries_no_newline", real + "2 3 0", 2, 3, {}},
      {"empty_matrix", real + "0 0 0\n", 0, 0, {}},
      {"no_rows", real + "0 5 0\n", 0, 5, {}},
      {"rows_up_to_int32", real + "2147483647 1 1\n2147483647 1 2\n", 2147483647, 1, {{{2147483646, 0}, 2}}},
      {"integer_field",
       integer + "2 2 3\n1 1 -7\n1 2 +9007199254740993\n2 2 0\n",
       2,
       2,
       {{{0, 0}, -7}, {{0, 1}, 9007199254740992.0}, {{1, 1}, 0}}},
      {"integers_of_63_bits",
       integer + "1 2 2\n1 1 9223372036854775807\n1 2 -9223372036854775808\n",
       1,
       2,
       {{{0, 0}, 9223372036854775808.0}, {{0, 1}, -9223372036854775808.0}}},
      {"pattern_field", pattern + "2 2 3\n1 1\n2 1\n1 1\n", 2, 2, {{{0, 0}, 2}, {{1, 0}, 1}}},
      {"symmetric_lower",
       symmetric + "3 3 3\n1 1 1\n2 1 2\n3 2 3\n",
       3,
       3,
       {{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 2}, {{2, 1}, 3}, {{1, 2}, 3}}},
      {"symmetric_upper",
       symmetric + "3 3 3\n1 1 1\n1 2 2\n2 3 3\n",
       3,
       3,
       {{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 2}, {{2, 1}, 3}, {{1, 2}, 3}}},
      {"symmetric_duplicates",
       symmetric + "2 2 4\n1 1 1\n2 1 2\n2 1 3\n1 1 4\n",
       2,
       2,
       {{{0, 0}, 5}, {{1, 0}, 5}, {{0, 1}, 5}}},
      {"symmetric_pattern",
       "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
       2,
       2,
       {{{0, 0}, 1}, {{1, 0}, 1}, {{0, 1}, 1}}},
      {"skew_lower", skew + "3 3 2\n2 1 2\n3 1 -3\n", 3, 3, {{{1, 0}, 2}, {{0, 1}, -2}, {{2, 0}, -3}, {{0, 2}, 3}}},
      {"skew_upper", skew + "3 3 1\n1 3 2\n", 3, 3, {{{0, 2}, 2}, {{2, 0}, -2}}},
      {"skew_with_a_zero_on_the_diagonal",
       skew + "2 2 2\n1 1 0.0\n2 1 2\n",
       2,
       2,
       {{{0, 0}, 0}, {{1, 0}, 2}, {{0, 1}, -2}}},
      {"array", array + "2 2\n1\n0\n-0.0\n4\n", 2, 2, {{{0, 0}, 1}, {{1, 1}, 4}}},
      {"array_crlf",
       "%%MatrixMarket matrix array integer general\r\n1 2\r\n1\r\n2\r\n",
       1,
       2,
       {{{0, 0}, 1}, {{0, 1}, 2}}},
      {"array_without_rows", array + "0 1000000000\n", 0, 1000000000, {}},
      {"symmetric_array",
       "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
       2,
       2,
       {{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 2}, {{1, 1}, 3}}},
      {"skew_array",
       "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
       3,
       3,
       {{{1, 0}, 1}, {{0, 1}, -1}, {{2, 0}, 2}, {{0, 2}, -2}, {{2, 1}, 3}, {{1, 2}, -3}}},
      {"hermitian",
       complex_head + "hermitian\n3 3 3\n1 1 1 0\n2 1 2 -7\n3 2 -3 1e-3\n",
       3,
       3,
       {{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 2}, {{2, 1}, -3}, {{1, 2}, -3}},
       true},
      {"complex_general",
       complex_head + "general\n2 3 3\n1 1 1.5 2.5\n2 3 +0 -1D2\n1 1 1\t4 \r\n",
       2,
       3,
       {{{0, 0}, 2.5}, {{1, 2}, 0}},
       true},
      {"complex_symmetric",
       complex_head + "symmetric\n2 2 2\n2 2 1 1\n1 2 3 4\n",
       2,
       2,
       {{{1, 1}, 1}, {{0, 1}, 3}, {{1, 0}, 3}},
       true},
      {"complex_skew",
       complex_head + "skew-symmetric\n2 2 2\n1 1 0 0\n2 1 3 4\n",
       2,
       2,
       {{{0, 0}, 0}, {{1, 0}, 3}, {{0, 1}, -3}},
       true},
      {"complex_array", "%%MatrixMarket matrix array complex general\n2 1\n0 1\n2 0\n", 2, 1, {{{1, 0}, 2}}, true},
      {"hermitian_array",
       "%%MatrixMarket matrix array Complex Hermitian\n2 2\n1 0\n2 5\n3 0\n",
       2,
       2,
       {{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 2}, {{1, 1}, 3}},
       true},
      {"skew_array_of_one", "%%MatrixMarket matrix array real skew-symmetric\n1 1\n", 1, 1, {}},
  };
}

class AcceptedMatrixMarket : public testing::TestWithParam<accepted> {};

TEST_P(AcceptedMatrixMarket, HoldsWhatItSays) {
  const accepted& file = GetParam();
  const temporary_folder folder;
  const std::filesystem::path path = folder.file("a.mtx", file.bytes);
  read_options options;
  options.real_part = file.real_part;

  const auto a = read_coo<double>(path, options);
  EXPECT_EQ(a.rows(), file.rows);
  EXPECT_EQ(a.cols(), file.cols);
  EXPECT_EQ(a.nnz(), static_cast<std::int64_t>(file.entries.size()));
  EXPECT_NO_THROW(validate(a.view()));
  const auto entries = entries_of(a);
  EXPECT_EQ(entries, file.entries);
  for (const auto& [at, value] : entries) {
    EXPECT_EQ(std::signbit(value), std::signbit(file.entries.at(at))) << at.first << ", " << at.second;
  }
  const auto wide = read_coo<double, std::int64_t>(path, options);
  EXPECT_EQ(entries_of(wide), file.entries);
  if (file.rows < 1000) {
    const auto csr = read_csr<double>(path, options);
    EXPECT_EQ(csr.rows(), file.rows);
    EXPECT_EQ(csr.cols(), file.cols);
    EXPECT_EQ(entries_of(csr), file.entries);
  }
  const file_info info = read_file_info(path, options);
  EXPECT_EQ(info.rows, file.rows);
  EXPECT_EQ(info.cols, file.cols);
  EXPECT_EQ(info.field == file_field::complex, file.real_part);

  for (const std::size_t chunk_bytes : {1, 3, 8, 20, 1000}) {
    if (file.bytes.size() > chunk_bytes * 100'000) continue;
    SCOPED_TRACE(chunk_bytes);
    files::source in(file.bytes, "in memory", options);
    const auto b = files::matrix_market::read_matrix<double, std::int32_t>(in, chunk_bytes);
    EXPECT_EQ(list(b.view().row_ind), list(a.view().row_ind));
    EXPECT_EQ(list(b.view().col_ind), list(a.view().col_ind));
    EXPECT_EQ(list(b.view().values), list(a.view().values));
  }
}

INSTANTIATE_TEST_SUITE_P(Oddity, AcceptedMatrixMarket, testing::ValuesIn(oddities()),
                         [](const auto& info) { return info.param.name; });

TEST(MatrixMarketRead, RecognisesGzipByContentAndNotByName) {
  const temporary_folder folder;
  EXPECT_EQ(read_coo<float>(folder.file("a.mtx", gzipped(two_entries))).nnz(), 2);
  EXPECT_EQ(read_coo<float>(folder.file("b.mtx.gz", two_entries)).nnz(), 2);
}

TEST(MatrixMarketRead, RoundsToTheNearestFp32) {
  const temporary_folder folder;
  // The decimal number lies just above the midpoint of 1 and its successor; through fp64 it would become the midpoint.
  const std::string number = "1.00000005960464477540";
  const auto path = folder.file("a.mtx", real + "1 2 2\n1 1 " + number + "\n1 2 1e-46\n");
  EXPECT_EQ(list(viewed(read_coo<float>(path)).values), (std::vector<float>{std::nextafter(1.0f, 2.0f), 0}));
}

TEST(MatrixMarketRead, SmallFilesMayExpandFar) {
  const temporary_folder folder;
  read_options options;
  options.max_expansion_ratio = 2;
  const std::string content = real + "%" + std::string(500'000, '-') + "\n1 1 1\n1 1 7\n";
  const auto path = folder.file("a.mtx.gz", gzipped(content));
  EXPECT_EQ(read_coo<double>(path, options).nnz(), 1);
  options.max_expanded_bytes = static_cast<std::int64_t>(content.size());
  EXPECT_EQ(read_coo<double>(path, options).nnz(), 1);
  options.max_expanded_bytes -= 1;
  EXPECT_THROW(read_coo<double>(path, options), error);
}

TEST(MatrixMarketRead, TellsItsHeader) {
  const temporary_folder folder;
  const file_info pattern_info = read_file_info(
      folder.file("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n5 5 7\nnot read at all"));
  EXPECT_EQ(pattern_info.rows, 5);
  EXPECT_EQ(pattern_info.cols, 5);
  EXPECT_EQ(pattern_info.stored_entries, 7);
  EXPECT_EQ(pattern_info.symmetry, file_symmetry::symmetric);
  EXPECT_EQ(pattern_info.field, file_field::pattern);
  EXPECT_FALSE(pattern_info.array);

  const auto entries_of_array = [&](const std::string& symmetry, const std::string& sizes) {
    return read_file_info(folder.file("b.mtx", "%%MatrixMarket matrix array integer " + symmetry + "\n" + sizes));
  };
  EXPECT_EQ(entries_of_array("general", "4 6").stored_entries, 24);
  EXPECT_EQ(entries_of_array("symmetric", "4 4").stored_entries, 10);
  EXPECT_EQ(entries_of_array("skew-symmetric", "4 4").stored_entries, 6);
  EXPECT_EQ(entries_of_array("symmetric", "3037000499 3037000499").stored_entries,
            3037000499 * std::int64_t{1518500250});
  EXPECT_TRUE(entries_of_array("general", "4 6").array);
  EXPECT_EQ(entries_of_array("general", "4 6").field, file_field::integer);
}

TEST(MatrixMarketRead, SizesBeyondInt32NeedInt64) {
  const temporary_folder folder;
  const auto path = folder.file("a.mtx", real + "3000000000 2 1\n3000000000 2 4\n");
  EXPECT_EQ(read_file_info(path).rows, 3000000000);
  const auto a = read_coo<double, std::int64_t>(path);
  EXPECT_EQ(a.view().row_ind[0], 2999999999);
  EXPECT_THROW(read_coo<double>(path), error);
}

#if BCSC_WITH_ARCHIVE
TEST(MatrixMarketRead, TakesAMatrixOutOfItsArchive) {
  const temporary_folder folder;
  const std::string main_matrix = real + "2 2 1\n1 1 1\n", side = array + "2 1\n3\n4\n";
  const auto path = folder.file("a.tar.gz", gzipped(test::tarred({{"a/a.mtx", main_matrix}, {"a/a_b.mtx", side}})));
  EXPECT_EQ(read_file_info(path).member, "a/a.mtx");
  EXPECT_EQ(entries_of(read_coo<double>(path)), (entry_map<double>{{{0, 0}, 1}}));
  read_options options;
  options.member = "a/a_b.mtx";
  const file_info info = read_file_info(path, options);
  EXPECT_EQ(info.member, "a/a_b.mtx");
  EXPECT_TRUE(info.array);
  EXPECT_EQ(read_dense<double>(path, options)(1, 0), 4);
}
#endif

/// Entries in any order, with duplicates, against a map that adds them up.
TEST(MatrixMarketRead, SortsAndSumsLikeAMap) {
  const temporary_folder folder;
  std::mt19937 random(7);
  for (const std::int64_t rows : {1, 40, 5000}) {
    std::ostringstream text;
    entry_map<double> expected;
    constexpr int num_entries = 3000;
    text << real << rows << " 70 " << num_entries << '\n';
    for (int k = 0; k < num_entries; ++k) {
      const std::int64_t row = static_cast<std::int64_t>(random()) % rows, col = random() % 70;
      const double value = static_cast<double>(random() % 2000) - 1000;
      text << row + 1 << ' ' << col + 1 << ' ' << value << '\n';
      expected[{row, col}] += value;
    }
    const auto path = folder.file("a.mtx", text.str());
    const auto a = read_coo<double>(path);
    EXPECT_NO_THROW(validate(a.view()));
    EXPECT_EQ(a.nnz(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(entries_of(a), expected);
    EXPECT_EQ(entries_of(read_csr<float, std::int64_t>(path)).size(), expected.size());
  }
}

/// Lines of every length across the ends of the reader's chunks, plain and compressed.
TEST(MatrixMarketRead, ReadsLinesAcrossChunks) {
  const temporary_folder folder;
  constexpr std::int64_t num_entries = 150'000;
  std::string text = real + std::to_string(num_entries) + " 1 " + std::to_string(num_entries) + "\n";
  for (std::int64_t k = 1; k <= num_entries; ++k) {
    text += std::to_string(k) + " 1 " + std::string(static_cast<std::size_t>(k % 13), '0') + std::to_string(k) + "\n";
  }
  ASSERT_GT(text.size(), std::size_t{2} << 20);
  for (const std::string& bytes : {text, gzipped(text)}) {
    const auto a = read_coo<double>(folder.file("a.mtx", bytes));
    ASSERT_EQ(a.nnz(), num_entries);
    for (std::int64_t k = 0; k < num_entries; ++k) {
      ASSERT_EQ(a.view().row_ind[k], k);
      ASSERT_EQ(a.view().values[k], static_cast<double>(k + 1));
    }
  }
}

TEST(MatrixMarketRead, TellsItsProgress) {
  const temporary_folder folder;
  std::string text = real + "1 1 2500000\n";
  for (int k = 0; k < 2'500'000; ++k) text += "1 1 1\n";
  for (const std::string& bytes : {text, gzipped(text)}) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    std::vector<std::int64_t> told;
    read_options options;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      EXPECT_EQ(total, size);
      told.push_back(done);
      return true;
    };
    read_coo<double>(folder.file("a.mtx", bytes), options);
    EXPECT_GE(told.size(), 3u);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_EQ(told.back(), size);

    int calls = 0;
    options.progress = [&](std::int64_t, std::int64_t) { return ++calls < 2; };
    try {
      read_coo<double>(folder.path() / "a.mtx", options);
      FAIL() << "was not cancelled";
    } catch (const error& caught) {
      EXPECT_EQ(caught.code(), errc::cancelled);
      EXPECT_EQ(calls, 2);
      EXPECT_LT(caught.where().byte, size);
    }
  }
}

// --- Values for patterns
// ----------------------------------------------------------------------------------------------

/// The published first outputs of SplitMix64 for the seed 1234567, as values.
TEST(PatternValues, ComeFromSplitMix64InTheOrderOfTheFile) {
  constexpr std::uint64_t outputs[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
  std::vector<double> expected;
  for (const std::uint64_t bits : outputs) {
    expected.push_back((0.5 + static_cast<double>(bits >> 41) / 8388608.0) * ((bits & 1) != 0 ? -1 : 1));
  }
  const temporary_folder folder;
  read_options options;
  options.pattern_seed = 1234567;
  const auto path = folder.file("a.mtx", pattern + "3 3 3\n3 1\n1 1\n2 2\n");
  const entry_map<double> in_fp64{{{2, 0}, expected[0]}, {{0, 0}, expected[1]}, {{1, 1}, expected[2]}};
  EXPECT_EQ(entries_of(read_coo<double>(path, options)), in_fp64);
  const auto in_fp32 = entries_of(read_coo<float>(path, options));
  for (const auto& [at, value] : in_fp64) EXPECT_EQ(in_fp32.at(at), value) << "fp32 must hold the same value";
}

TEST(PatternValues, LieInTheirRangeWithBothSigns) {
  const temporary_folder folder;
  std::string text = pattern + "20000 1 20000\n";
  for (int k = 1; k <= 20000; ++k) text += std::to_string(k) + " 1\n";
  const auto path = folder.file("a.mtx", text);
  read_options options;
  options.pattern_seed = 42;
  const auto a = read_coo<float>(path, options);
  std::set<float> different;
  int negative = 0;
  double sum_of_magnitudes = 0;
  for (const float value : a.view().values) {
    EXPECT_GE(std::abs(value), 0.5f);
    EXPECT_LT(std::abs(value), 1.5f);
    negative += value < 0 ? 1 : 0;
    sum_of_magnitudes += std::abs(value);
    different.insert(value);
  }
  EXPECT_NEAR(negative, 10000, 500);
  EXPECT_NEAR(sum_of_magnitudes / 20000, 1.0, 0.02);
  EXPECT_GT(different.size(), 19000u);
  EXPECT_EQ(list(viewed(read_coo<float>(path, options)).values), list(a.view().values));
  options.pattern_seed = 43;
  EXPECT_NE(list(viewed(read_coo<float>(path, options)).values), list(a.view().values));
}

TEST(PatternValues, AreEqualForSymmetricTwins) {
  const temporary_folder folder;
  read_options options;
  options.pattern_seed = 5;
  const auto path =
      folder.file("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 5\n1 1\n2 1\n4 1\n3 2\n4 4\n");
  const auto entries = entries_of(read_coo<double>(path, options));
  ASSERT_EQ(entries.size(), 8u);
  for (const auto& [at, value] : entries) EXPECT_EQ(entries.at({at.second, at.first}), value);
}

// --- Dense
// ------------------------------------------------------------------------------------------------------------

TEST(MatrixMarketDense, IsColumnMajor) {
  const temporary_folder folder;
  const auto a = read_dense<float>(folder.file("a.mtx", array + "2 3\n1\n2\n3\n4\n5\n6\n"));
  ASSERT_EQ(a.rows(), 2);
  ASSERT_EQ(a.cols(), 3);
  EXPECT_EQ(a.view().order, layout::col_major);
  EXPECT_EQ(std::vector<float>(a.data(), a.data() + 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(MatrixMarketDense, ExpandsSymmetricStorage) {
  const temporary_folder folder;
  const auto a = read_dense<double>(folder.file("a.mtx", "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n"));
  EXPECT_EQ(std::vector<double>(a.data(), a.data() + 4), (std::vector<double>{1, 2, 2, 3}));
  const auto b = read_dense<double>(folder.file("b.mtx", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n"));
  EXPECT_EQ(std::vector<double>(b.data(), b.data() + 4), (std::vector<double>{0, 5, -5, 0}));
}

TEST(MatrixMarketDense, MayBeEmpty) {
  const temporary_folder folder;
  const auto a = read_dense<double>(folder.file("a.mtx", array + "0 4\n"));
  EXPECT_EQ(a.rows(), 0);
  EXPECT_EQ(a.cols(), 4);
}

template <value T>
void expect_dense_round_trip(const std::string& name, const write_options& options) {
  SCOPED_TRACE(name);
  const temporary_folder folder;
  std::mt19937_64 random(11);
  for (const layout order : {layout::row_major, layout::col_major}) {
    dense_matrix<T> a(5, options.symmetry == file_symmetry::general ? 3 : 5, order);
    const bool general = options.symmetry == file_symmetry::general;
    const bool skew = options.symmetry == file_symmetry::skew_symmetric;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      for (std::int64_t j = 0; j < (general ? a.cols() : i + 1); ++j) {
        const auto whole = static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000);
        a(i, j) = skew && i == j ? T{0} : options.field == file_field::integer ? whole : whole / 7;
        if (!general && i != j) a(j, i) = skew ? -a(i, j) : a(i, j);
      }
    }
    const auto path = folder.path() / name;
    write_matrix_market(path, a, options);
    const auto b = read_dense<T>(path);
    ASSERT_EQ(b.rows(), a.rows());
    ASSERT_EQ(b.cols(), a.cols());
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      for (std::int64_t j = 0; j < a.cols(); ++j) EXPECT_EQ(a(i, j), b(i, j)) << i << ", " << j;
    }
  }
}

TEST(MatrixMarketDense, SurvivesWritingAndReading) {
  for (const auto symmetry : {file_symmetry::general, file_symmetry::symmetric, file_symmetry::skew_symmetric}) {
    for (const auto field : {file_field::real, file_field::integer}) {
      for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
        expect_dense_round_trip<float>(name, {.symmetry = symmetry, .field = field});
        expect_dense_round_trip<double>(name, {.symmetry = symmetry, .field = field});
      }
    }
  }
}

/// Megabytes that hardly compress, so that the compressor's output fills its buffers many times over.
TEST(MatrixMarketDense, SurvivesWritingAndReadingAtLength) {
  const temporary_folder folder;
  std::mt19937_64 random(5);
  dense_matrix<double> a(100'000, 1, layout::col_major);
  for (std::int64_t i = 0; i < a.rows(); ++i) a(i, 0) = static_cast<double>(random()) / 3;
  for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
    write_matrix_market(folder.path() / name, a);
    const auto b = read_dense<double>(folder.path() / name);
    ASSERT_EQ(b.rows(), a.rows());
    EXPECT_TRUE(std::equal(a.data(), a.data() + a.rows(), b.data())) << name;
  }
}

// --- The golden example
// -----------------------------------------------------------------------------------------------

const std::string golden_text =
    "%%MatrixMarket matrix coordinate real general\n"
    "% the worked example\n"
    "6 6 16\n"
    "1 1 7.5\n1 2 2.9\n1 3 2.8\n1 4 2.7\n"
    "2 1 6.8\n2 2 5.7\n2 3 3.8\n"
    "3 1 2.4\n3 2 6.2\n3 3 3.2\n"
    "4 1 9.7\n4 4 2.3\n"
    "5 5 5.8\n5 6 5\n"
    "6 5 6.6\n6 6 8.1\n";

template <value T>
csr_matrix<T> golden_matrix() {
  return {6,
          6,
          {0, 4, 7, 10, 12, 14, 16},
          {0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5},
          {T(7.5), T(2.9), T(2.8), T(2.7), T(6.8), T(5.7), T(3.8), T(2.4), T(6.2), T(3.2), T(9.7), T(2.3), T(5.8),
           T(5.0), T(6.6), T(8.1)}};
}

template <value T>
void expect_golden() {
  const temporary_folder folder;
  const auto expected = golden_matrix<T>();
  const auto a = read_csr<T>(folder.file("read.mtx", golden_text));
  EXPECT_EQ(list(a.view().row_ptr), list(expected.view().row_ptr));
  EXPECT_EQ(list(a.view().col_ind), list(expected.view().col_ind));
  EXPECT_EQ(list(a.view().values), list(expected.view().values));

  const write_options options{.comment = "the worked example"};
  write_matrix_market(folder.path() / "written.mtx", expected, options);
  EXPECT_EQ(test::bytes_of(folder.path() / "written.mtx"), golden_text);
  write_matrix_market(folder.path() / "written.mtx.gz", expected, options);
  EXPECT_EQ(gunzipped(test::bytes_of(folder.path() / "written.mtx.gz")), golden_text);
}

TEST(GoldenMatrixMarket, IsReadAndWrittenExactlyInFp64) { expect_golden<double>(); }
TEST(GoldenMatrixMarket, IsReadAndWrittenExactlyInFp32) { expect_golden<float>(); }

// --- Round trips
// ------------------------------------------------------------------------------------------------------

using written = std::tuple<file_symmetry, file_field, bool, value_type, int>;

/// A sparse matrix that fits the options, with values out of all of T's range.
template <value T, index I>
csr_matrix<T, I> some_matrix(const write_options& options) {
  std::mt19937_64 random(2024);
  const bool general = options.symmetry == file_symmetry::general;
  const std::int64_t rows = 60, cols = general ? 45 : 60;
  const auto some_value = [&]() -> T {
    if (options.field == file_field::pattern) return 1;
    if (options.field == file_field::integer)
      return static_cast<T>(static_cast<std::int64_t>(random() % 16777216) - 8388608);
    using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
    for (;;) {
      const T value = std::bit_cast<T>(static_cast<bits>(random()));
      if (std::isfinite(value)) return value;
    }
  };
  entry_map<T> entries;
  for (int k = 0; k < 500; ++k) {
    const std::int64_t row = random() % static_cast<std::uint64_t>(rows),
                       col = random() % static_cast<std::uint64_t>(cols);
    const bool explicit_zero = k == 0 && options.field != file_field::pattern;
    const T value = explicit_zero ? T{0} : some_value();
    if (options.symmetry == file_symmetry::skew_symmetric && row == col) continue;
    entries[{row, col}] = value;
    if (!general) entries[{col, row}] = options.symmetry == file_symmetry::symmetric ? value : -value;
  }
  std::vector<I> row_ptr(static_cast<std::size_t>(rows) + 1, 0), col_ind;
  std::vector<T> values;
  for (const auto& [at, value] : entries) {
    for (std::int64_t i = at.first + 1; i <= rows; ++i) ++row_ptr[static_cast<std::size_t>(i)];
    col_ind.push_back(static_cast<I>(at.second));
    values.push_back(value);
  }
  return {rows, cols, std::move(row_ptr), std::move(col_ind), std::move(values)};
}

template <value T, index I>
void expect_round_trip(const write_options& options, bool compressed) {
  const temporary_folder folder;
  const auto path = folder.path() / (compressed ? "a.mtx.gz" : "a.mtx");
  const auto a = some_matrix<T, I>(options);
  ASSERT_GT(a.nnz(), 400);
  write_matrix_market(path, a, options);
  EXPECT_EQ(folder.num_files(), 1) << "the temporary file must be gone";
  EXPECT_EQ(test::bytes_of(path).starts_with("\x1f\x8b"), compressed);

  const file_info info = read_file_info(path);
  EXPECT_EQ(info.symmetry, options.symmetry);
  EXPECT_EQ(info.field, options.field);
  const auto b = read_csr<T, I>(path);
  EXPECT_EQ(b.rows(), a.rows());
  EXPECT_EQ(b.cols(), a.cols());
  EXPECT_EQ(list(b.view().row_ptr), list(a.view().row_ptr));
  EXPECT_EQ(list(b.view().col_ind), list(a.view().col_ind));
  EXPECT_EQ(list(b.view().values), list(a.view().values));
  if (options.symmetry != file_symmetry::general) {
    EXPECT_LT(info.stored_entries, a.nnz() / 2 + a.rows());
  }
}

class WrittenMatrixMarket : public testing::TestWithParam<written> {};

TEST_P(WrittenMatrixMarket, IsReadBackEqual) {
  const auto& [symmetry, field, compressed, type, index_bytes] = GetParam();
  if (field == file_field::pattern && symmetry == file_symmetry::skew_symmetric) {
    // No such file: the writer must say so.
    const temporary_folder folder;
    try {
      write_matrix_market(folder.path() / "a.mtx", golden_matrix<float>(), {.symmetry = symmetry, .field = field});
      FAIL() << "was written";
    } catch (const error& caught) {
      EXPECT_EQ(caught.code(), errc::invalid_argument);
    }
    return;
  }
  const write_options options{.symmetry = symmetry, .field = field, .comment = "two\nlines"};
  if (type == value_type::fp32) {
    index_bytes == 4 ? expect_round_trip<float, std::int32_t>(options, compressed)
                     : expect_round_trip<float, std::int64_t>(options, compressed);
  } else {
    index_bytes == 4 ? expect_round_trip<double, std::int32_t>(options, compressed)
                     : expect_round_trip<double, std::int64_t>(options, compressed);
  }
}

std::string name_of(const testing::TestParamInfo<written>& info) {
  const auto& [symmetry, field, compressed, type, index_bytes] = info.param;
  constexpr const char* symmetries[] = {"general", "symmetric", "skew"};
  constexpr const char* fields[] = {"real", "integer", "pattern"};
  return std::string(symmetries[static_cast<int>(symmetry)]) + "_" + fields[static_cast<int>(field)] +
         (compressed ? "_gzip_" : "_plain_") + std::string(to_string(type)) + (index_bytes == 4 ? "_int32" : "_int64");
}

INSTANTIATE_TEST_SUITE_P(
    RoundTrip, WrittenMatrixMarket,
    testing::Combine(testing::Values(file_symmetry::general, file_symmetry::symmetric, file_symmetry::skew_symmetric),
                     testing::Values(file_field::real, file_field::integer, file_field::pattern), testing::Bool(),
                     testing::Values(value_type::fp32, value_type::fp64), testing::Values(4, 8)),
    name_of);

TEST(MatrixMarketWrite, HasNoComplexValues) {
  const temporary_folder folder;
  for (const write_options& options :
       {write_options{.field = file_field::complex}, write_options{.symmetry = file_symmetry::hermitian}}) {
    try {
      write_matrix_market(folder.path() / "a.mtx", golden_matrix<float>(), options);
      FAIL() << "was written";
    } catch (const error& caught) {
      EXPECT_EQ(caught.code(), errc::invalid_argument);
    }
  }
}

TEST(MatrixMarketWrite, KeepsSignedZerosAndExtremes) {
  const temporary_folder folder;
  using limits = std::numeric_limits<double>;
  const csr_matrix<double> a(1, 5, {0, 5}, {0, 1, 2, 3, 4},
                             {-0.0, limits::denorm_min(), limits::max(), limits::lowest(), 0.1});
  write_matrix_market(folder.path() / "a.mtx", a);
  const auto b = read_csr<double>(folder.path() / "a.mtx");
  ASSERT_EQ(b.nnz(), 5);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(b.view().values[k]), std::bit_cast<std::uint64_t>(a.view().values[k]));
  }
}

TEST(MatrixMarketWrite, WritesMatricesWithoutEntries) {
  const temporary_folder folder;
  const csr_matrix<float> a(0, 7, {0}, {}, {});
  write_matrix_market(folder.path() / "a.mtx", a);
  EXPECT_EQ(test::bytes_of(folder.path() / "a.mtx"), real + "0 7 0\n");
  EXPECT_EQ(read_csr<float>(folder.path() / "a.mtx").cols(), 7);
}

TEST(MatrixMarketWrite, ReplacesWhatWasThereAndFollowsLinks) {
  const temporary_folder folder;
  const auto path = folder.file("a.mtx", "old");
  std::filesystem::create_symlink(path, folder.path() / "link.mtx");
  const auto owner_only = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, owner_only);
  write_matrix_market(folder.path() / "link.mtx", golden_matrix<double>());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.mtx"));
  EXPECT_FALSE(std::filesystem::is_symlink(path));
  EXPECT_EQ(std::filesystem::status(path).permissions(), owner_only);
  EXPECT_EQ(read_csr<double>(path).nnz(), 16);
}

// --- What the writer refuses
// ------------------------------------------------------------------------------------------

struct refused {
  std::string name;
  csr_matrix<double> matrix;
  write_options options;
  errc code;
};

void PrintTo(const refused& what, std::ostream* out) { *out << what.name; }

std::vector<refused> refusals() {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto two_by_two = [](std::vector<double> values) {
    return csr_matrix<double>(2, 2, {0, 2, 4}, {0, 1, 0, 1}, values);
  };
  const csr_matrix<double> wide(2, 3, {0, 1, 2}, {0, 1}, {1, 1});
  const csr_matrix<double> upper(2, 2, {0, 1, 1}, {1}, {1}), lower(2, 2, {0, 0, 1}, {0}, {0});
  const write_options as_symmetric{.symmetry = file_symmetry::symmetric},
      as_skew{.symmetry = file_symmetry::skew_symmetric}, as_integer{.field = file_field::integer},
      as_symmetric_pattern{.symmetry = file_symmetry::symmetric, .field = file_field::pattern};
  return {
      {"symmetric_not_square", wide, as_symmetric, errc::structure_violation},
      {"skew_not_square", wide, as_skew, errc::structure_violation},
      {"symmetric_with_other_values", two_by_two({1, 2, 3, 4}), as_symmetric, errc::structure_violation},
      {"symmetric_without_the_lower_triangle", upper, as_symmetric, errc::structure_violation},
      {"symmetric_with_a_lone_zero", lower, as_symmetric, errc::structure_violation},
      {"symmetric_pattern_without_a_twin", lower, as_symmetric_pattern, errc::structure_violation},
      {"skew_with_equal_signs", two_by_two({0, 2, 2, 0}), as_skew, errc::structure_violation},
      {"skew_with_a_diagonal", two_by_two({1, 2, -2, 0}), as_skew, errc::structure_violation},
      {"nan", two_by_two({1, nan, 3, 4}), {}, errc::value_out_of_range},
      {"infinity", two_by_two({1, 2, -infinity, 4}), {}, errc::value_out_of_range},
      {"symmetric_with_nan", two_by_two({nan, 2, 2, 4}), as_symmetric, errc::value_out_of_range},
      {"fraction_as_integer", two_by_two({1, 2, 3, 4.5}), as_integer, errc::value_out_of_range},
      {"infinity_as_integer", two_by_two({1, 2, 3, infinity}), as_integer, errc::value_out_of_range},
      {"two_to_63_as_integer", two_by_two({1, 2, 3, 9223372036854775808.0}), as_integer, errc::value_out_of_range},
  };
}

template <class F>
std::optional<error> error_of(F&& act) {
  try {
    act();
  } catch (const error& caught) {
    return caught;
  }
  return std::nullopt;
}

class RefusedMatrixMarket : public testing::TestWithParam<refused> {};

TEST_P(RefusedMatrixMarket, IsNotWritten) {
  const refused& what = GetParam();
  const temporary_folder folder;
  const auto path = folder.file("a.mtx", "old");
  const auto caught = error_of([&] { write_matrix_market(path, what.matrix, what.options); });
  ASSERT_TRUE(caught.has_value()) << "was written";
  EXPECT_EQ(to_string(caught->code()), to_string(what.code)) << caught->what();
  EXPECT_EQ(caught->where().path, path.string());
  EXPECT_EQ(test::bytes_of(path), "old");
  EXPECT_EQ(folder.num_files(), 1);
}

INSTANTIATE_TEST_SUITE_P(Refusal, RefusedMatrixMarket, testing::ValuesIn(refusals()),
                         [](const auto& info) { return info.param.name; });

TEST(RefusedDense, IsNotWritten) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.mtx";
  const auto code = [&](const dense_matrix<double>& a, const write_options& options) {
    const auto caught = error_of([&] { write_matrix_market(path, a, options); });
    EXPECT_EQ(folder.num_files(), 0);
    return caught ? caught->code() : errc::ok;
  };
  dense_matrix<double> a(2, 2);
  a(1, 0) = 1.5;
  EXPECT_EQ(code(a, {.symmetry = file_symmetry::symmetric}), errc::structure_violation);
  EXPECT_EQ(code(a, {.symmetry = file_symmetry::skew_symmetric}), errc::structure_violation);
  EXPECT_EQ(code(a, {.field = file_field::integer}), errc::value_out_of_range);
  EXPECT_EQ(code(a, {.field = file_field::pattern}), errc::invalid_argument);
  EXPECT_EQ(code(dense_matrix<double>(2, 3), {.symmetry = file_symmetry::symmetric}), errc::structure_violation);
}

TEST(RefusedView, OnTheDeviceOrBroken) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.mtx";
  const auto a = golden_matrix<double>();
  auto view = a.view();
  view.space = memory_space::device;
  const auto on_device = error_of([&] { write_matrix_market(path, view); });
  ASSERT_TRUE(on_device.has_value());
  EXPECT_EQ(on_device->code(), errc::wrong_memory_space);

  view.space = memory_space::host;
  view.cols = 3;
  EXPECT_TRUE(error_of([&] { write_matrix_market(path, view); }).has_value()) << "column indices lie beyond";
  EXPECT_EQ(folder.num_files(), 0);
}

TEST(RefusedPath, IsAnIoErrorThatLeavesNothingBehind) {
  const temporary_folder folder;
  const auto sub = folder.path() / "folder.mtx";
  std::filesystem::create_directory(sub);
  for (const auto& path : {folder.path() / "absent" / "a.mtx", sub, std::filesystem::path("/dev/full")}) {
    const auto caught = error_of([&] { write_matrix_market(path, golden_matrix<double>()); });
    ASSERT_TRUE(caught.has_value()) << path;
    EXPECT_EQ(caught->code(), errc::io_error);
    EXPECT_EQ(caught->where().path, path.string());
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_EQ(folder.num_files(), 1);
}

/// A disk that fills up half-way, simulated by a limit of this process on the size of files.
TEST(FullDisk, LeavesTheOldFileAndNothingElse) {
  rlimit former{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &former), 0);
  const auto former_handler = std::signal(SIGXFSZ, SIG_IGN);
  const temporary_folder folder;
  std::mt19937 random(3);
  dense_matrix<double> a(400, 400);
  for (std::int64_t i = 0; i < 400 * 400; ++i) a.data()[i] = static_cast<double>(random()) / 3;

  for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
    const auto path = folder.file(name, "old");
    rlimit limit = former;
    limit.rlim_cur = 300'000;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const auto caught = error_of([&] { write_matrix_market(path, a); });
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &former), 0);
    ASSERT_TRUE(caught.has_value());
    EXPECT_EQ(caught->code(), errc::io_error);
    EXPECT_EQ(test::bytes_of(path), "old");
  }
  EXPECT_EQ(folder.num_files(), 2);
  std::signal(SIGXFSZ, former_handler);
}

// --- Real matrices
// ----------------------------------------------------------------------------------------------------

struct catalogued {
  std::string name, file, symmetry, field;
  std::int64_t rows = 0, cols = 0, nnz = 0;
};

void PrintTo(const catalogued& matrix, std::ostream* out) { *out << matrix.name; }

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  for (const char c : line) {
    if (c == '"') {
      in_quotes = !in_quotes;
    } else if (c == ',' && !in_quotes) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

/// The Matrix Market files that index.csv names (name, file, source, rows, cols, nnz, symmetry, field, ...). Without
/// the folder a single nameless one, whose test skips.
std::vector<catalogued> catalogue() {
  std::vector<catalogued> matrices;
  if (const auto folder = test::matrices_folder()) {
    std::ifstream index(*folder / "index.csv");
    std::string line;
    std::getline(index, line);
    while (std::getline(index, line)) {
      const auto fields = csv_fields(line);
      if (fields.size() < 8 || !fields[1].ends_with(".mtx.gz")) continue;
      matrices.push_back({fields[0], fields[1], fields[6], fields[7], std::stoll(fields[3]), std::stoll(fields[4]),
                          std::stoll(fields[5])});
    }
  }
  if (matrices.empty()) matrices.emplace_back();
  return matrices;
}

class RealMatrixMarket : public testing::TestWithParam<catalogued> {};

TEST_P(RealMatrixMarket, HasTheCataloguedEntries) {
  const catalogued& matrix = GetParam();
  if (matrix.file.empty()) GTEST_SKIP() << "no folder of real matrices: set BCSC_MATRICES";
  const auto path = *test::matrices_folder() / matrix.file;
  if (matrix.field == "complex") {
    const auto caught = error_of([&] { read_csr<double>(path); });
    ASSERT_TRUE(caught.has_value());
    EXPECT_EQ(caught->code(), errc::unsupported);
    EXPECT_EQ(caught->where().line, 1);
    return;
  }
  const file_info info = read_file_info(path);
  EXPECT_EQ(info.rows, matrix.rows);
  EXPECT_EQ(info.cols, matrix.cols);
  EXPECT_EQ(info.symmetry == file_symmetry::symmetric, matrix.symmetry == "symmetric");
  EXPECT_EQ(info.field == file_field::pattern, matrix.field == "pattern");

  read_options options;
  options.pattern_seed = 1;
  const auto coo = read_coo<float>(path, options);
  EXPECT_EQ(coo.nnz(), matrix.nnz);
  EXPECT_NO_THROW(validate(coo.view()));
  const auto csr = read_csr<double>(path, options);
  EXPECT_EQ(csr.nnz(), matrix.nnz);
  EXPECT_NO_THROW(validate(csr.view()));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RealMatrixMarket, testing::ValuesIn(catalogue()), [](const auto& info) {
  std::string name = info.param.name.empty() ? "absent" : info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace bcsc
