#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc_config.h"
#include "converters/files/matrix_market_read.hpp"
#include "converters/files/source.hpp"
#include "test/unit/matrix_market_support.hpp"

/// What the Matrix Market reader refuses: the code, and where the fault lies.

namespace {
/// Bytes asked of operator new in this process, by the library too.
std::atomic<std::int64_t> bytes_allocated{0};
}  // namespace

// Not inlined: GCC would report free() as a mismatch to new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  bytes_allocated += static_cast<std::int64_t>(size);
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  bytes_allocated += static_cast<std::int64_t>(size);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace bcsc {
namespace {

using test::gzipped;
using test::tarred;

/// One way to read: by the public function, and in chunks of a given size.
struct reader {
  std::function<void(const std::filesystem::path&, const read_options&)> file;
  std::function<void(files::source&, std::size_t)> chunks;
};

template <class T, class I = std::int32_t>
reader coo_reader() {
  return {[](const auto& path, const auto& options) { read_coo<T, I>(path, options); },
          [](files::source& in, std::size_t bytes) { files::matrix_market::read_matrix<T, I>(in, bytes); }};
}
const reader as_fp64 = coo_reader<double>();
const reader as_fp32 = coo_reader<float>();
const reader as_csr{
    [](const auto& path, const auto& options) { read_csr<double>(path, options); },
    [](files::source& in, std::size_t bytes) { files::matrix_market::read_csr<double, std::int32_t>(in, bytes); }};
const reader as_dense{
    [](const auto& path, const auto& options) { read_dense<double>(path, options); },
    [](files::source& in, std::size_t bytes) { files::matrix_market::read_dense<double>(in, bytes); }};
const reader as_info{[](const auto& path, const auto& options) { read_file_info(path, options); },
                     [](files::source& in, std::size_t) { files::matrix_market::read_info(in); }};

/// Used where it depends on the reader's buffers at which byte a fault is noticed.
constexpr std::int64_t some_byte = -2;

struct malformed {
  std::string name;
  std::string bytes;
  errc code;
  std::int64_t line = 0;
  std::int64_t byte = -1;
  reader read = as_fp64;
  read_options options = {};
};

void PrintTo(const malformed& file, std::ostream* out) { *out << file.name; }

std::string times(std::size_t count, std::string_view text) {
  std::string result;
  result.reserve(count * text.size());
  for (std::size_t k = 0; k < count; ++k) result += text;
  return result;
}

/// `bytes` with the byte at `at` (from the end if negative) replaced.
std::string damaged(std::string bytes, std::ptrdiff_t at, char replacement) {
  bytes.at(static_cast<std::size_t>(at < 0 ? static_cast<std::ptrdiff_t>(bytes.size()) + at : at)) = replacement;
  return bytes;
}

std::string cut(std::string bytes, std::size_t from_end) {
  bytes.resize(bytes.size() - from_end);
  return bytes;
}

std::int64_t size_of(const std::string& bytes) { return static_cast<std::int64_t>(bytes.size()); }

const std::string real = "%%MatrixMarket matrix coordinate real general\n";
const std::string integer = "%%MatrixMarket matrix coordinate integer general\n";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
const std::string array = "%%MatrixMarket matrix array real general\n";
const std::string symmetric_array = "%%MatrixMarket matrix array real symmetric\n";
const std::string skew_array = "%%MatrixMarket matrix array real skew-symmetric\n";
const std::string three_entries = real + "3 3 3\n1 1 1.5\n2 2 2.5\n3 3 3.5\n";

std::vector<malformed> banners() {
  const auto banner = [](std::string line) { return line + "\n1 1 1\n1 1 1\n"; };
  return {
      {"empty_file", "", errc::bad_banner, 1},
      {"empty_file_for_its_header", "", errc::bad_banner, 1, -1, as_info},
      {"empty_gzip_member", gzipped(""), errc::bad_banner, 1},
      {"only_a_newline", "\n", errc::bad_banner, 1},
      {"blank_line_before_the_banner", "\n" + three_entries, errc::bad_banner, 1},
      {"blank_before_the_banner", " " + three_entries, errc::bad_banner, 1},
      {"no_banner", "3 3 1\n1 1 1\n", errc::bad_banner, 1},
      {"a_comment_for_a_banner", banner("% a matrix"), errc::bad_banner, 1},
      {"one_percent_sign", banner("%MatrixMarket matrix coordinate real general"), errc::bad_banner, 1},
      {"misspelled_mark", banner("%%MatrixMarked matrix coordinate real general"), errc::bad_banner, 1},
      {"mark_run_on", banner("%%MatrixMarketmatrix coordinate real general"), errc::bad_banner, 1},
      {"mark_alone", banner("%%MatrixMarket"), errc::bad_banner, 1},
      {"no_symmetry", banner("%%MatrixMarket matrix coordinate real"), errc::bad_banner, 1},
      {"one_word_too_many", banner("%%MatrixMarket matrix coordinate real general dense"), errc::bad_banner, 1},
      {"unknown_object", banner("%%MatrixMarket tensor coordinate real general"), errc::bad_banner, 1},
      {"unknown_format", banner("%%MatrixMarket matrix list real general"), errc::bad_banner, 1},
      {"unknown_field", banner("%%MatrixMarket matrix coordinate decimal general"), errc::bad_banner, 1},
      {"unknown_symmetry", banner("%%MatrixMarket matrix coordinate real diagonal"), errc::bad_banner, 1},
      {"pattern_array", banner("%%MatrixMarket matrix array pattern general"), errc::bad_banner, 1},
      {"skew_pattern", banner("%%MatrixMarket matrix coordinate pattern skew-symmetric"), errc::bad_banner, 1},
      {"utf16", std::string("\xff\xfe%\0%\0M\0", 8), errc::bad_banner, 1},
      {"binary", std::string(4096, '\0'), errc::bad_banner, 1},
      {"endless_first_line", std::string(std::size_t{3} << 20, '%'), errc::bad_banner, 1},
      {"banner_with_an_endless_tail", real.substr(0, real.size() - 1) + std::string(std::size_t{3} << 20, ' ') + "\n",
       errc::bad_banner, 1},
      {"lines_ended_by_cr_alone", "%%MatrixMarket matrix coordinate real general\r1 1 1\r1 1 1\r", errc::bad_banner, 1},
      {"vector", banner("%%MatrixMarket vector coordinate real general"), errc::unsupported, 1},
      {"complex", banner("%%MatrixMarket matrix coordinate complex general"), errc::unsupported, 1},
      {"complex_array", banner("%%MatrixMarket matrix array Complex general"), errc::unsupported, 1, -1, as_dense},
      {"complex_header", banner("%%MatrixMarket matrix coordinate complex general"), errc::unsupported, 1, -1, as_info},
      {"hermitian", banner("%%MatrixMarket matrix coordinate complex hermitian"), errc::unsupported, 1},
      {"real_hermitian", banner("%%MatrixMarket matrix coordinate real hermitian"), errc::unsupported, 1},
      {"coordinates_for_a_dense_matrix", three_entries, errc::unsupported, 1, -1, as_dense},
  };
}

std::vector<malformed> sizes() {
  return {
      {"ends_after_the_banner", real, errc::truncated, 2},
      {"ends_inside_the_banner_line", real.substr(0, real.size() - 1), errc::truncated, 2},
      {"ends_after_comments", real + "% one\n\n% two\n", errc::truncated, 5},
      {"two_sizes", real + "3 3\n1 1 1\n", errc::parse_error, 2},
      {"two_sizes_and_the_end", real + "3 3", errc::truncated, 2},
      {"four_sizes", real + "3 3 1 1\n1 1 1\n", errc::trailing_data, 2},
      {"three_sizes_of_an_array", array + "1 1 1\n1\n", errc::trailing_data, 2},
      {"one_size_of_an_array", array + "1\n1\n", errc::parse_error, 2},
      {"words_for_sizes", real + "three 3 1\n1 1 1\n", errc::parse_error, 2},
      {"real_size", real + "3.0 3 1\n1 1 1\n", errc::parse_error, 2},
      {"hexadecimal_size", real + "0x3 3 1\n1 1 1\n", errc::parse_error, 2},
      {"sign_without_digits", real + "3 + 1\n1 1 1\n", errc::parse_error, 2},
      {"two_signs", real + "3 +-3 1\n1 1 1\n", errc::parse_error, 2},
      {"negative_rows", real + "-3 3 1\n1 1 1\n", errc::value_out_of_range, 2},
      {"negative_cols", real + "3 -3 1\n1 1 1\n", errc::value_out_of_range, 2},
      {"negative_entries", real + "3 3 -1\n1 1 1\n", errc::value_out_of_range, 2},
      {"negative_array", array + "-2 -2\n1\n1\n1\n1\n", errc::value_out_of_range, 2},
      {"rows_below_minus_2_63", real + "-9223372036854775809 3 1\n1 1 1\n", errc::value_out_of_range, 2},
      {"rows_past_2_64", real + "18446744073709551617 3 1\n1 1 1\n", errc::size_overflow, 2},
      {"entries_past_2_63", real + "3 3 9223372036854775808\n1 1 1\n", errc::size_overflow, 2},
      {"rows_past_int32", real + "% a\n2147483648 3 1\n1 1 1\n", errc::size_overflow, 3},
      {"cols_past_int32", real + "3 2147483648 1\n1 1 1\n", errc::size_overflow, 2},
      {"array_product_overflows", array + "4294967296 4294967296\n1\n", errc::size_overflow, 2},
      {"array_product_overflows_dense", array + "9223372036854775807 2\n1\n", errc::size_overflow, 2, -1, as_dense},
      {"array_product_overflows_header", array + "3037000500 3037000500\n1\n", errc::size_overflow, 2, -1, as_info},
      {"symmetric_not_square", symmetric + "3 4 1\n1 1 1\n", errc::structure_violation, 2},
      {"skew_not_square", skew + "3 4 1\n2 1 1\n", errc::structure_violation, 2},
      {"symmetric_array_not_square", symmetric_array + "2 1\n1\n1\n", errc::structure_violation, 2},
      {"entries_in_an_empty_matrix", real + "0 0 1\n1 1 1\n", errc::index_out_of_range, 3},
  };
}

std::vector<malformed> counts() {
  return {
      {"no_body", real + "3 3 3\n", errc::truncated, 3},
      {"one_entry_too_few", real + "3 3 3\n1 1 1\n2 2 2\n", errc::truncated, 5},
      {"one_too_few_without_newline", real + "3 3 3\n1 1 1\n2 2 2", errc::truncated, 5},
      {"one_too_few_and_blank_lines", real + "3 3 2\n1 1 1\n\n% end\n\n", errc::truncated, 7},
      {"four_thousand_million_announced", real + "3 3 4000000000\n1 1 1\n", errc::truncated, 4},
      {"one_entry_too_many", three_entries + "1 2 1\n", errc::trailing_data, 6},
      {"entries_after_none_announced", real + "3 3 0\n1 1 1\n", errc::trailing_data, 3},
      {"a_word_after_the_entries", three_entries + "\n\nend\n", errc::trailing_data, 8},
      {"nul_after_the_entries", three_entries + std::string(1, '\0'), errc::trailing_data, 6},
      {"as_csr_too", real + "3 3 3\n1 1 1\n2 2 2\n", errc::truncated, 5, -1, as_csr},
      {"array_too_short", array + "2 2\n1\n2\n3\n", errc::truncated, 6},
      {"array_too_short_dense", array + "2 2\n1\n2\n3\n", errc::truncated, 6, -1, as_dense},
      {"array_too_long", array + "2 2\n1\n2\n3\n4\n5\n", errc::trailing_data, 7},
      {"array_too_long_dense", array + "2 2\n1\n2\n3\n4\n5\n", errc::trailing_data, 7, -1, as_dense},
      {"array_with_two_values_a_line", array + "2 2\n1 2\n3 4\n", errc::trailing_data, 3},
      {"huge_array_announced", array + "60000 60000\n1\n", errc::truncated, 4, -1, as_dense},
      {"symmetric_array_stored_in_full", symmetric_array + "2 2\n1\n2\n2\n3\n", errc::trailing_data, 6},
      {"symmetric_array_too_short", symmetric_array + "2 2\n1\n2\n", errc::truncated, 5},
      {"skew_array_with_its_diagonal", skew_array + "2 2\n0\n1\n0\n", errc::trailing_data, 4},
      {"rowless_array_with_a_value", array + "0 9\n1\n", errc::trailing_data, 3},
  };
}

std::vector<malformed> entries() {
  const auto entry = [](std::string line) { return real + "3 3 3\n1 1 1\n" + line + "\n3 3 3\n"; };
  const auto whole = [](std::string value) { return integer + "3 3 1\n1 1 " + value + "\n"; };
  return {
      {"row_0", entry("0 1 1"), errc::index_out_of_range, 4},
      {"column_0", entry("1 0 1"), errc::index_out_of_range, 4},
      {"negative_row", entry("-1 1 1"), errc::index_out_of_range, 4},
      {"row_beyond", entry("4 1 1"), errc::index_out_of_range, 4},
      {"column_beyond", entry("1 4 1"), errc::index_out_of_range, 4},
      {"row_past_2_32", entry("4294967297 1 1"), errc::index_out_of_range, 4},
      {"column_past_2_32", entry("1 4294967298 1"), errc::index_out_of_range, 4},
      {"row_past_2_64", entry("18446744073709551617 1 1"), errc::index_out_of_range, 4},
      {"column_past_2_64", entry("1 18446744073709551618 1"), errc::index_out_of_range, 4},
      {"row_below_minus_2_64", entry("-18446744073709551615 1 1"), errc::index_out_of_range, 4},
      {"row_of_400_digits", entry(std::string(400, '1') + " 1 1"), errc::index_out_of_range, 4},
      {"real_row", entry("1.0 1 1"), errc::parse_error, 4},
      {"word_for_a_row", entry("one 1 1"), errc::parse_error, 4},
      {"comma_between", entry("1,1,1"), errc::parse_error, 4},
      {"row_alone", entry("2"), errc::parse_error, 4},
      {"no_value", entry("2 2"), errc::parse_error, 4},
      {"no_value_and_the_end", real + "3 3 1\n1 1", errc::truncated, 3},
      {"no_value_but_a_blank_and_the_end", real + "3 3 1\n1 1 ", errc::truncated, 3},
      {"word_for_a_value", entry("2 2 two"), errc::parse_error, 4},
      {"value_with_a_tail", entry("2 2 2.0abc"), errc::parse_error, 4},
      {"two_points", entry("2 2 2.0.0"), errc::parse_error, 4},
      {"decimal_comma", entry("2 2 2,5"), errc::parse_error, 4},
      {"point_alone", entry("2 2 ."), errc::parse_error, 4},
      {"sign_alone", entry("2 2 -"), errc::parse_error, 4},
      {"plus_alone", entry("2 2 +"), errc::parse_error, 4},
      {"plus_and_minus", entry("2 2 +-1"), errc::parse_error, 4},
      {"two_pluses", entry("2 2 ++1"), errc::parse_error, 4},
      {"exponent_without_digits", entry("2 2 1e"), errc::parse_error, 4},
      {"fortran_exponent_without_digits", entry("2 2 1D"), errc::parse_error, 4},
      {"two_fortran_exponents", entry("2 2 1D1D1"), errc::parse_error, 4},
      {"exponent_without_letter", entry("2 2 1.0+100"), errc::parse_error, 4},
      {"hexadecimal_value", entry("2 2 0x1p3"), errc::parse_error, 4},
      {"nul_in_a_value", entry(std::string("2 2 1\0", 6)), errc::parse_error, 4},
      {"overflow", entry("2 2 1e999"), errc::value_out_of_range, 4},
      {"negative_overflow", entry("2 2 -1e999"), errc::value_out_of_range, 4},
      {"fortran_overflow", entry("2 2 1D+999"), errc::value_out_of_range, 4},
      {"exponent_past_2_64", entry("2 2 1e18446744073709551617"), errc::value_out_of_range, 4},
      {"overflow_without_exponent", entry("2 2 " + std::string(400, '9')), errc::value_out_of_range, 4},
      {"just_past_the_largest_fp64", entry("2 2 1.7976931348623159e308"), errc::value_out_of_range, 4},
      {"past_fp32", entry("2 2 1e39"), errc::value_out_of_range, 4, -1, as_fp32},
      {"just_past_the_largest_fp32", entry("2 2 3.4028236e38"), errc::value_out_of_range, 4, -1, as_fp32},
      {"array_overflow", array + "1 1\n1e999\n", errc::value_out_of_range, 3, -1, as_dense},
      {"nan", entry("2 2 nan"), errc::value_out_of_range, 4},
      {"inf", entry("2 2 inf"), errc::value_out_of_range, 4},
      {"minus_infinity", entry("2 2 -Infinity"), errc::value_out_of_range, 4},
      {"nan_with_a_tail", entry("2 2 nano"), errc::parse_error, 4},
      {"real_in_an_integer_file", whole("1.5"), errc::parse_error, 3},
      {"exponent_in_an_integer_file", whole("1e3"), errc::parse_error, 3},
      {"nan_in_an_integer_file", whole("nan"), errc::parse_error, 3},
      {"integer_past_2_63", whole("9223372036854775808"), errc::value_out_of_range, 3},
      {"real_in_an_integer_array", "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", errc::parse_error, 3},
      {"value_in_a_pattern_file", pattern + "3 3 1\n1 1 1\n", errc::trailing_data, 3},
      {"four_numbers", entry("2 2 2 2"), errc::trailing_data, 4},
      {"comment_behind_an_entry", entry("2 2 2 % two"), errc::trailing_data, 4},
      {"cr_inside_a_line", entry("2 2 2\r2 3 2"), errc::trailing_data, 4},
      {"endless_line", entry(times(std::size_t{3} << 20, "2")), errc::parse_error, 4},
      {"endless_blank_line", entry(times(std::size_t{3} << 20, " ")), errc::parse_error, 4},
      {"after_crlf_and_blank_lines",
       "%%MatrixMarket matrix coordinate real general\r\n%\r\n\r\n3 3 2\r\n\r\n1 1 1\r\nx\r\n", errc::parse_error, 7},
      {"after_a_comment_of_three_mebibytes", real + "%" + times(std::size_t{3} << 20, "-") + "\n3 3 1\n0 1 1\n",
       errc::index_out_of_range, 4},
      {"duplicates_overflow", real + "1 1 2\n1 1 1e308\n1 1 1e308\n", errc::value_out_of_range},
      {"symmetric_with_both_triangles", symmetric + "3 3 3\n2 1 1\n1 1 1\n1 3 1\n", errc::structure_violation, 5},
      {"symmetric_stored_twice", symmetric + "2 2 4\n1 1 4\n1 2 1\n2 1 1\n2 2 4\n", errc::structure_violation, 5},
      {"skew_with_both_triangles", skew + "3 3 2\n2 1 1\n1 2 -1\n", errc::structure_violation, 4},
      {"skew_with_a_diagonal", skew + "3 3 2\n2 1 1\n2 2 1\n", errc::structure_violation, 4},
  };
}

std::vector<malformed> compressed() {
  const std::string whole = gzipped(three_entries);
  const std::string half = gzipped(three_entries.substr(0, 60));
  const std::string other_half = gzipped(three_entries.substr(60));
  // Eight bytes of CRC and length close a member; its deflate data begin at byte 10.
  const std::string bomb = gzipped(real + "%" + times(std::size_t{16} << 20, "-") + "\n1 1 0\n");
  const std::string entries_bomb = gzipped(real + "1 1 2000000\n" + times(2'000'000, "1 1 1\n"));
  read_options small;
  small.max_expanded_bytes = 1000;
  read_options low;
  low.max_expansion_ratio = 100;
  read_options stop;
  stop.progress = [](std::int64_t, std::int64_t) { return false; };
  return {
      {"gzip_crc", damaged(whole, -8, static_cast<char>(whole[whole.size() - 8] ^ 1)), errc::corrupt_compression, 0,
       size_of(whole) - 4},
      {"gzip_length", damaged(whole, -4, static_cast<char>(whole[whole.size() - 4] ^ 1)), errc::corrupt_compression, 0,
       size_of(whole)},
      {"gzip_method", damaged(whole, 2, 9), errc::corrupt_compression, 0, 4},
      {"gzip_flags", damaged(whole, 3, '\xe0'), errc::corrupt_compression, 0, 4},
      {"gzip_block_type", damaged(whole, 10, 7), errc::corrupt_compression, 0, 11},
      {"gzip_and_text", whole + "the end", errc::corrupt_compression, 0, size_of(whole)},
      {"gzip_and_one_byte", whole + "\x1f", errc::corrupt_compression, 0, size_of(whole)},
      {"gzip_and_zeros", whole + std::string(512, '\0'), errc::corrupt_compression, 0, size_of(whole)},
      {"gzip_magic_alone", whole.substr(0, 2), errc::truncated, 0, 2},
      {"gzip_header_alone", whole.substr(0, 10), errc::truncated, 0, 10},
      {"gzip_header_alone_for_its_header", whole.substr(0, 10), errc::truncated, 0, 10, as_info},
      {"gzip_cut_in_the_data", cut(whole, 20), errc::truncated, 0, size_of(whole) - 20},
      {"gzip_without_trailer", cut(whole, 8), errc::truncated, 0, size_of(whole) - 8},
      {"gzip_without_last_byte", cut(whole, 1), errc::truncated, 0, size_of(whole) - 1},
      {"second_member_crc", half + damaged(other_half, -8, static_cast<char>(other_half[other_half.size() - 8] ^ 1)),
       errc::corrupt_compression, 0, size_of(half + other_half) - 4},
      {"second_member_cut", half + cut(other_half, 9), errc::truncated, 0, size_of(half + other_half) - 9},
      {"second_member_missing", half, errc::truncated, 4},
      {"line_in_the_second_member", gzipped(real + "3 3 2\n1 1") + gzipped(" 1\n4 4 4\n"), errc::index_out_of_range, 4},
      {"bomb_by_the_default_ratio", bomb, errc::decompression_limit, 0, some_byte},
      {"bomb_by_ratio", entries_bomb, errc::decompression_limit, 0, some_byte, as_fp64, low},
      {"bomb_by_size", gzipped(real + times(500, "%\n") + "1 1 0\n"), errc::decompression_limit, 0, some_byte, as_fp64,
       small},
      {"cancelled", three_entries, errc::cancelled, 0, some_byte, as_fp64, stop},
      {"cancelled_gzip", whole, errc::cancelled, 0, size_of(whole), as_fp64, stop},
      {"bzip2", "BZh91AY&SY" + times(20, "x"), errc::unsupported},
      {"xz",
       std::string("\xfd"
                   "7zXZ\0\0\4",
                   8) +
           times(20, "x"),
       errc::unsupported},
      {"zstd", "\x28\xb5\x2f\xfd" + times(20, "x"), errc::unsupported},
      {"unix_compress", "\x1f\x9d\x90" + times(20, "x"), errc::unsupported},
  };
}

std::vector<malformed> complex_values() {
  read_options parts;
  parts.real_part = true;
  const std::string head = "%%MatrixMarket matrix coordinate complex ";
  const auto with_parts = [&](std::string name, std::string bytes, errc code, std::int64_t line,
                              reader read = as_fp64) {
    return malformed{std::move(name), std::move(bytes), code, line, -1, std::move(read), parts};
  };
  const auto entry = [&](std::string line) { return head + "general\n3 3 3\n1 1 1 0\n" + line + "\n3 3 3 0\n"; };
  return {
      {"complex_integers", "%%MatrixMarket matrix array complex symmetric\n1 1\n1 1\n", errc::unsupported, 1},
      {"complex_skew", head + "skew-symmetric\n2 2 1\n2 1 1 1\n", errc::unsupported, 1},
      with_parts("complex_pattern", "%%MatrixMarket matrix coordinate complex pattern\n1 1 1\n1 1\n", errc::bad_banner,
                 1),
      with_parts("pattern_hermitian", "%%MatrixMarket matrix coordinate pattern hermitian\n1 1 1\n1 1\n",
                 errc::bad_banner, 1),
      with_parts("pattern_hermitian_array", "%%MatrixMarket matrix array pattern hermitian\n1 1\n1\n", errc::bad_banner,
                 1),
      with_parts("integer_hermitian", "%%MatrixMarket matrix coordinate integer hermitian\n1 1 1\n1 1 1\n",
                 errc::unsupported, 1),
      with_parts("real_hermitian_by_parts", "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n",
                 errc::unsupported, 1),
      with_parts("complex_vector", "%%MatrixMarket vector coordinate complex general\n1 1\n1 1 1\n", errc::unsupported,
                 1),
      with_parts("no_imaginary_part", entry("2 2 2"), errc::parse_error, 4),
      with_parts("no_imaginary_part_but_a_blank", entry("2 2 2 "), errc::parse_error, 4),
      with_parts("no_imaginary_part_and_the_end", head + "general\n1 1 1\n1 1 1", errc::truncated, 3),
      with_parts("word_for_an_imaginary_part", entry("2 2 2 i"), errc::parse_error, 4),
      with_parts("imaginary_unit", entry("2 2 2 1i"), errc::parse_error, 4),
      with_parts("parts_with_a_comma", entry("2 2 2,1"), errc::parse_error, 4),
      with_parts("parts_in_brackets", entry("2 2 (2 1)"), errc::parse_error, 4),
      with_parts("three_parts", entry("2 2 2 1 1"), errc::trailing_data, 4),
      with_parts("imaginary_overflow", entry("2 2 2 1e999"), errc::value_out_of_range, 4),
      with_parts("imaginary_nan", entry("2 2 2 nan"), errc::value_out_of_range, 4),
      with_parts("imaginary_past_fp32", entry("2 2 2 1e39"), errc::value_out_of_range, 4, as_fp32),
      with_parts("hermitian_not_square", head + "hermitian\n2 3 1\n1 1 1 0\n", errc::structure_violation, 2),
      with_parts("hermitian_diagonal", head + "hermitian\n2 2 2\n2 1 1 1\n2 2 1 1e-300\n", errc::structure_violation,
                 4),
      with_parts("hermitian_with_both_triangles", head + "hermitian\n2 2 2\n2 1 1 1\n1 2 1 -1\n",
                 errc::structure_violation, 4),
      with_parts("complex_skew_diagonal", head + "skew-symmetric\n2 2 1\n2 2 0 1\n", errc::structure_violation, 3),
      with_parts("complex_too_few", head + "general\n2 2 2\n1 1 1 1\n", errc::truncated, 4),
      with_parts("complex_too_many", head + "general\n2 2 1\n1 1 1 1\n2 2 1 1\n", errc::trailing_data, 4),
      with_parts("complex_array_too_short", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n1 1\n",
                 errc::truncated, 5, as_dense),
      with_parts("complex_array_without_imaginary_parts", "%%MatrixMarket matrix array complex general\n1 1\n1\n",
                 errc::parse_error, 3, as_dense),
  };
}

/// Faults far down in a file that show only in the light of what came before.
std::vector<malformed> far_down() {
  const auto lines = [](std::int64_t from, std::int64_t to) {
    std::string text;
    for (std::int64_t k = from; k <= to; ++k) text += std::to_string(k) + " 1 " + std::to_string(k) + ".5\n";
    return text;
  };
  const std::string head = real + "2000 2 1000\n", crlf = "2000 1 1\r\n\r\n";
  const std::string twins = symmetric + "2000 2000 1000\n" + lines(1, 998) + "% now the other\n1 1000 1\n999 1 1\n";
  return {
      {"last_line_of_a_thousand", head + lines(1, 999) + "1 3 1\n", errc::index_out_of_range, 1002},
      {"second_of_two_faults_is_not_told", head + lines(1, 700) + "x\n" + lines(701, 800) + "1 1\n" + lines(801, 998),
       errc::parse_error, 703},
      {"entry_past_the_thousandth", head + lines(1, 1000) + "% end\n\n" + "1 1 1\n", errc::trailing_data, 1005},
      {"a_fault_behind_too_many", head + lines(1, 1002) + "x\n", errc::trailing_data, 1003},
      {"one_short_of_a_thousand", head + lines(1, 999), errc::truncated, 1002},
      {"one_short_and_comments", head + lines(1, 999) + "% end\n%", errc::truncated, 1004},
      {"last_line_without_value_or_end", head + lines(1, 999) + "1000 1", errc::truncated, 1002},
      {"last_line_without_value", head + lines(1, 999) + "1000 1\n", errc::parse_error, 1002},
      {"other_triangle_far_down", twins, errc::structure_violation, 1002},
      {"skew_diagonal_far_down", skew + "2000 2000 1000\n" + lines(2, 1000) + "1001 1001 1\n",
       errc::structure_violation, 1002},
      {"after_a_thousand_crlf", real + "2000 2 1002\n" + times(1000, crlf) + "0 1 1\r\n", errc::index_out_of_range,
       2003},
      {"after_a_long_comment_far_down",
       head + lines(1, 900) + "%" + times(std::size_t{3} << 20, "-") + "\n" + lines(901, 999) + "1 0 1\n",
       errc::index_out_of_range, 1003},
      {"blanks_to_the_limit_far_down", head + lines(1, 999) + "1 1 1" + times(std::size_t{1} << 20, " ") + "\n",
       errc::parse_error, 1002},
      {"array_far_down", array + "1000 1\n" + times(998, "1.5\n") + "1,5\n1\n", errc::parse_error, 1001, -1, as_dense},
      {"array_one_too_many", array + "1000 1\n" + times(1001, "1.5\n"), errc::trailing_data, 1003, -1, as_dense},
      {"gzip_members_far_down", gzipped(head + lines(1, 500)) + gzipped(lines(501, 999) + "1 1 1 1\n"),
       errc::trailing_data, 1002},
  };
}

std::vector<malformed> archives() {
  const std::string fault = real + "3 3 2\n1 1 1\n4 1 1\n";
  const test::tar_file good{"a/a.mtx", three_entries}, other{"a/b.mtx", three_entries};
  const std::string tar = tarred({good}), zipped = gzipped(tar);
  const auto archive_of = [](std::string content) { return tarred({{"a/a.mtx", std::move(content)}}); };
  const std::string large = three_entries + times(40'000, "% a comment\n");
  // The tar header's checksum is right again.
  const auto with_size = [&](std::string_view size) {
    std::string damaged = tar.substr(0, 512);
    damaged.replace(124, size.size(), size);
    damaged.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char c : damaged) sum += static_cast<unsigned char>(c);
    damaged.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
    return damaged + tar.substr(512);
  };
  read_options absent;
  absent.member = "a/c.mtx";
  read_options small;
  small.max_expanded_bytes = 5000;
  read_options stop;
  stop.progress = [](std::int64_t, std::int64_t) { return false; };
  return {
      {"tar_with_a_fault", archive_of(fault), errc::index_out_of_range, 4},
      {"tar_gz_with_a_fault", gzipped(archive_of(fault)), errc::index_out_of_range, 4},
      {"tar_with_a_fault_for_csr", archive_of(fault), errc::index_out_of_range, 4, -1, as_csr},
      {"tar_of_an_empty_file", archive_of(""), errc::bad_banner, 1},
      {"tar_of_a_gzip_file", archive_of(gzipped(three_entries)), errc::bad_banner, 1},
      {"tar_in_tar", archive_of(tar), errc::bad_banner, 1},
      {"tar_whose_file_ends_early", archive_of(three_entries.substr(0, 60)), errc::truncated, 4},
      {"tar_without_matrix", tarred({{"a/README", three_entries}}), errc::unsupported},
      {"tar_of_two_matrices", tarred({other, {"a/c.mtx", three_entries}}), errc::invalid_argument},
      {"tar_of_two_main_matrices", tarred({good, {"b/b.mtx", three_entries}}), errc::invalid_argument},
      {"tar_without_the_member", tar, errc::invalid_argument, 0, -1, as_fp64, absent},
      {"tar_without_the_member_for_its_header", tar, errc::invalid_argument, 0, -1, as_info, absent},
      {"tar_checksum", damaged(tar, 149, '7'), errc::corrupt_compression, 0, some_byte},
      {"tar_checksum_of_the_second", damaged(tarred({good, other}), 1024 + 149, '7'), errc::corrupt_compression, 0,
       some_byte},
      {"tar_noise_behind_the_first", tar.substr(0, 1024) + times(1024, "x"), errc::corrupt_compression, 0, some_byte},
      {"tar_header_alone", tar.substr(0, 512), errc::truncated, 0, some_byte},
      {"tar_cut_in_the_data", tar.substr(0, 540), errc::truncated, 0, 540},
      {"tar_cut_in_large_data", archive_of(large).substr(0, 300'000), errc::truncated, 0, 300'000},
      {"tar_cut_in_the_second_header", tarred({good, other}).substr(0, 1300), errc::truncated, 0, 1300},
      {"tar_size_past_the_end", with_size("00000777777"), errc::truncated, 0, some_byte},
      {"tar_size_of_eight_gibibytes", with_size("77777777777"), errc::truncated, 0, some_byte},
      {"tar_size_past_2_63", with_size(std::string("\x80\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12)),
       errc::corrupt_compression, 0, some_byte},
      {"tar_size_below_0", with_size("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), errc::corrupt_compression, 0,
       some_byte},
      {"tar_gz_crc", damaged(zipped, -8, static_cast<char>(zipped[zipped.size() - 8] ^ 1)), errc::corrupt_compression,
       0, size_of(zipped) - 4},
      {"tar_gz_cut", cut(zipped, 9), errc::truncated, 0, size_of(zipped) - 9},
      {"tar_gz_and_text", zipped + "the end", errc::corrupt_compression, 0, size_of(zipped)},
      {"tar_gz_bomb_by_the_default_ratio",
       gzipped(archive_of(real + "%" + times(std::size_t{16} << 20, "-") + "\n1 1 0\n")), errc::decompression_limit, 0,
       some_byte},
      {"tar_gz_bomb_in_what_is_not_read", gzipped(tarred({{"z", times(std::size_t{16} << 20, "-")}, other})),
       errc::decompression_limit, 0, some_byte},
      {"tar_gz_bomb_behind_what_is_read", gzipped(tarred({good, {"z", times(std::size_t{16} << 20, "-")}})),
       errc::decompression_limit, 0, some_byte},
      {"tar_gz_bomb_by_size", gzipped(archive_of(large)), errc::decompression_limit, 0, some_byte, as_fp64, small},
      {"tar_sparse_bomb", test::sparse_tar("a/a.mtx", real + "%", std::int64_t{1} << 60), errc::decompression_limit, 0,
       some_byte},
      {"tar_endless_name", tarred({{std::string(std::size_t{3} << 20, 'n') + ".mtx", three_entries}}),
       errc::corrupt_compression, 0, some_byte},
      {"tar_cancelled", tar, errc::cancelled, 0, some_byte, as_fp64, stop},
  };
}

class MalformedMatrixMarket : public testing::TestWithParam<malformed> {};

/// The error of what is done, or nothing.
template <class F>
std::optional<error> error_of(F&& read) {
  try {
    read();
  } catch (const error& caught) {
    return caught;
  }
  return std::nullopt;
}
std::optional<error> error_of(const reader& read, const std::filesystem::path& path, const read_options& options = {}) {
  return error_of([&] { read.file(path, options); });
}

void expect_refusal(const std::optional<error>& caught, const malformed& file, const std::string& path) {
  ASSERT_TRUE(caught.has_value()) << "was accepted";
  EXPECT_EQ(to_string(caught->code()), to_string(file.code)) << caught->what();
  EXPECT_EQ(caught->where().path, path);
  EXPECT_NE(std::string(caught->what()).find(path), std::string::npos) << caught->what();
  EXPECT_EQ(caught->where().line, file.line) << caught->what();
  if (file.byte == some_byte) {
    EXPECT_GT(caught->where().byte, 0);
    EXPECT_LE(caught->where().byte, size_of(file.bytes));
  } else {
    EXPECT_EQ(caught->where().byte, file.byte) << caught->what();
  }
}

TEST_P(MalformedMatrixMarket, IsRefusedWithCodeAndPlace) {
  const malformed& file = GetParam();
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.file(file.name + ".mtx", file.bytes);

  expect_refusal(error_of(file.read, path, file.options), file, path.string());
  for (const std::size_t chunk_bytes : {1, 9, 40, 1000}) {
    // What takes megabytes of lines would take long in chunks of a few bytes.
    if (file.bytes.size() > chunk_bytes * 100'000) continue;
    SCOPED_TRACE(chunk_bytes);
    const auto caught = error_of([&] {
      files::source in(file.bytes, "in memory", file.options);
      file.read.chunks(in, chunk_bytes);
    });
    expect_refusal(caught, file, "in memory");
  }
}

const auto by_name = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Banner, MalformedMatrixMarket, testing::ValuesIn(banners()), by_name);
INSTANTIATE_TEST_SUITE_P(Sizes, MalformedMatrixMarket, testing::ValuesIn(sizes()), by_name);
INSTANTIATE_TEST_SUITE_P(Counts, MalformedMatrixMarket, testing::ValuesIn(counts()), by_name);
INSTANTIATE_TEST_SUITE_P(Entries, MalformedMatrixMarket, testing::ValuesIn(entries()), by_name);
INSTANTIATE_TEST_SUITE_P(Compressed, MalformedMatrixMarket, testing::ValuesIn(compressed()), by_name);
INSTANTIATE_TEST_SUITE_P(Complex, MalformedMatrixMarket, testing::ValuesIn(complex_values()), by_name);
INSTANTIATE_TEST_SUITE_P(FarDown, MalformedMatrixMarket, testing::ValuesIn(far_down()), by_name);
#if BCSC_WITH_ARCHIVE
INSTANTIATE_TEST_SUITE_P(Archive, MalformedMatrixMarket, testing::ValuesIn(archives()), by_name);
#else
TEST(MalformedArchive, IsUnsupported) {
  for (const malformed& file : archives()) {
    const auto caught = error_of([&] { files::source in(file.bytes, "in memory", {}); });
    ASSERT_TRUE(caught.has_value()) << file.name;
    EXPECT_TRUE(caught->code() == errc::unsupported || file.bytes.starts_with("\x1f\x8b")) << caught->what();
  }
  GTEST_SKIP() << "built without libarchive: what is inside is not looked at";
}
#endif

TEST(ComplexMatrixMarket, IsRefusedWithTheWayOut) {
  const std::string bytes = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n";
  const auto caught = error_of([&] {
    files::source in(bytes, "in memory", {});
    files::matrix_market::read_info(in);
  });
  ASSERT_TRUE(caught.has_value());
  EXPECT_NE(std::string(caught->what()).find("--real-part (read_options::real_part)"), std::string::npos);
}

/// A gzip file cut anywhere is refused: as truncated, with the place of the cut, once its magic is there.
TEST(TruncatedGzip, IsRefusedAtEveryLength) {
  const test::temporary_folder folder;
  const std::string whole = gzipped(three_entries);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto caught = error_of(as_fp64, folder.file("cut.mtx.gz", std::string_view(whole).substr(0, size)));
    ASSERT_TRUE(caught.has_value()) << size;
    EXPECT_EQ(caught->code(), size < 2 ? errc::bad_banner : errc::truncated) << size << ": " << caught->what();
    EXPECT_EQ(caught->where().byte, size < 2 ? -1 : static_cast<std::int64_t>(size));
  }
}

/// A plain file cut anywhere before its last value's last digit is refused. (A digit less makes another number.)
TEST(TruncatedText, IsRefusedAtEveryLength) {
  const test::temporary_folder folder;
  const std::size_t last_value = three_entries.rfind(' ') + 1;
  for (std::size_t size = 0; size <= last_value; ++size) {
    const auto caught = error_of(as_fp64, folder.file("cut.mtx", std::string_view(three_entries).substr(0, size)));
    ASSERT_TRUE(caught.has_value()) << size;
    const bool in_the_banner = size < real.size() - 1;
    EXPECT_EQ(caught->code(), in_the_banner ? errc::bad_banner : errc::truncated) << size << ": " << caught->what();
  }
}

TEST(MissingMatrixMarket, IsAnIoErrorWithThePath) {
  const test::temporary_folder folder;
  const std::filesystem::path a_file = folder.file("a.mtx", three_entries);
  for (const reader& read : {as_fp64, as_csr, as_dense, as_info}) {
    for (const std::filesystem::path& path :
         {folder.path() / "absent.mtx", a_file / "below", std::filesystem::path()}) {
      const auto caught = error_of(read, path);
      ASSERT_TRUE(caught.has_value()) << path;
      EXPECT_EQ(caught->code(), errc::io_error) << caught->what();
      EXPECT_EQ(caught->where().path, path.string());
    }
  }
}

TEST(DirectoryAsMatrixMarket, IsAnIoErrorWithThePath) {
  const test::temporary_folder folder;
  const auto caught = error_of(as_fp64, folder.path());
  ASSERT_TRUE(caught.has_value());
  EXPECT_EQ(caught->code(), errc::io_error) << caught->what();
  EXPECT_EQ(caught->where().path, folder.path().string());
}

/// A header is not believed: neither time nor memory grows with what it announces.
class LyingHeader : public testing::TestWithParam<malformed> {};

TEST_P(LyingHeader, CostsLittle) {
  const malformed& file = GetParam();
  const test::temporary_folder folder;
  const std::filesystem::path path = folder.file("lying.mtx", file.bytes);
  const std::int64_t allocated_before = bytes_allocated;
  const auto start = std::chrono::steady_clock::now();
  const auto caught = error_of(file.read, path);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(caught.has_value());
  EXPECT_EQ(to_string(caught->code()), to_string(file.code));
  EXPECT_LT(bytes_allocated - allocated_before, std::int64_t{16} << 20);
  EXPECT_LT(seconds.count(), 2.0);
}

const reader as_fp64_int64 = coo_reader<double, std::int64_t>();
INSTANTIATE_TEST_SUITE_P(
    Announcing, LyingHeader,
    testing::Values(
        malformed{"four_thousand_million_entries", real + "3 3 4000000000\n1 1 1\n", errc::truncated},
        malformed{"four_thousand_million_zipped", gzipped(real + "3 3 4000000000\n1 1 1\n"), errc::truncated},
        malformed{"four_thousand_million_as_csr", real + "2000000000 9 4000000000\n1 1 1\n", errc::truncated, 0, -1,
                  as_csr},
        malformed{"every_entry_there_could_be", real + "3 3 9223372036854775807\n1 1 1\n", errc::truncated},
        malformed{"an_array", array + "2000000000 2\n1\n", errc::truncated},
        malformed{"a_dense_matrix", array + "2000000000 2000000000\n1\n", errc::truncated, 0, -1, as_dense},
        malformed{"a_symmetric_dense_matrix", symmetric_array + "2000000000 2000000000\n1\n", errc::truncated, 0, -1,
                  as_dense},
        malformed{"columns_without_rows", array + "0 9223372036854775807\n1\n", errc::trailing_data, 0, -1, as_dense},
        malformed{"rows_past_all_memory", real + "9000000000000000000 1 2\n1 1 1\n", errc::truncated, 0, -1,
                  as_fp64_int64}),
    by_name);

/// Rows that are nearly all empty cost no counters: COO is as large as its entries.
TEST(HypersparseMatrixMarket, TakesMemoryForItsEntriesOnly) {
  const test::temporary_folder folder;
  const std::filesystem::path path =
      folder.file("wide.mtx", real +
                                  "9000000000000000000 9000000000000000000 3\n"
                                  "9000000000000000000 1 3\n1 9000000000000000000 1\n1 2 4\n");
  const std::int64_t allocated_before = bytes_allocated;
  const auto a = read_coo<double, std::int64_t>(path);
  EXPECT_LT(bytes_allocated - allocated_before, std::int64_t{16} << 20);
  ASSERT_EQ(a.nnz(), 3);
  const auto view = a.view();
  EXPECT_EQ(std::vector<std::int64_t>(view.row_ind.begin(), view.row_ind.end()),
            (std::vector<std::int64_t>{0, 0, 8999999999999999999}));
  EXPECT_EQ(std::vector<std::int64_t>(view.col_ind.begin(), view.col_ind.end()),
            (std::vector<std::int64_t>{1, 8999999999999999999, 0}));
  EXPECT_EQ(std::vector<double>(view.values.begin(), view.values.end()), (std::vector<double>{4, 1, 3}));
}

}  // namespace
}  // namespace bcsc
