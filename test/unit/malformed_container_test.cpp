#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/container.hpp"
#include "bcsc/error.hpp"
#include "converters/files/container_read.hpp"
#include "test/unit/container_support.hpp"
#include "test/unit/matrix_market_support.hpp"

/// What the reader of containers refuses: the code, and the byte at which the fault lies.
namespace bcsc {
namespace {

using test::entry;
using test::put;
using test::raw_container;
using test::sign;
using test::sign_header;

struct malformed {
  std::string name;
  std::string bytes;
  errc code;
  std::int64_t byte = -1;  ///< -1: the format's own checks, which know no bytes
};
void PrintTo(const malformed& file, std::ostream* out) { *out << file.name; }

const std::string golden = test::golden_csr().bytes();
constexpr std::int64_t row_ptr_at = 320, col_ind_at = 384, values_at = 448, end = 512;

/// The golden file with one number changed, its header signed again.
template <class T>
std::string with(std::size_t at, T value, std::string bytes = golden) {
  put(bytes, at, value);
  return sign_header(std::move(bytes));
}
/// The same in an array: all checksums right.
template <class T>
std::string with_entry(std::size_t at, T value, std::string bytes = golden) {
  put(bytes, at, value);
  return sign(std::move(bytes));
}
/// Changed and not signed: damage.
std::string damaged(std::size_t at) {
  std::string bytes = golden;
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  return bytes;
}
std::string of(const std::function<void(raw_container&)>& change) {
  raw_container raw = test::golden_csr();
  change(raw);
  return raw.bytes();
}
std::string one(const std::string& kind, const std::function<void(raw_container&)>& change) {
  for (auto& [name, raw] : test::one_of_each()) {
    if (name != kind) continue;
    raw_container changed = raw;
    change(changed);
    return changed.bytes();
  }
  return {};
}
std::int64_t i64(std::size_t at) { return static_cast<std::int64_t>(at); }

std::vector<malformed> headers() {
  constexpr std::uint64_t huge = std::uint64_t{1} << 63;
  return {
      {"empty_file", "", errc::bad_banner, 0},
      {"one_byte", "B", errc::bad_banner, 0},
      {"mark_cut_short", golden.substr(0, 7), errc::bad_banner, 0},
      {"mark_alone", golden.substr(0, 8), errc::truncated, 8},
      {"other_mark", with<char>(7, 'X'), errc::bad_banner, 0},
      {"mark_in_lower_case", with<char>(0, 'b'), errc::bad_banner, 0},
      {"header_cut_short", golden.substr(0, 127), errc::truncated, 127},
      {"table_cut_short", golden.substr(0, 319), errc::truncated, 319},
      {"arrays_cut_short", golden.substr(0, 511), errc::truncated, 511},
      {"only_the_header", golden.substr(0, 320), errc::truncated, 320},
      {"one_byte_too_many", golden + '\0', errc::trailing_data, end},
      {"two_files_in_one", golden + golden, errc::trailing_data, end},
      {"version_0", with<std::uint32_t>(8, 0), errc::unsupported, 8},
      {"version_2", with<std::uint32_t>(8, 2), errc::unsupported, 8},
      {"version_of_the_other_byte_order", with<std::uint32_t>(8, 0x01000000), errc::unsupported, 8},
      {"no_room_for_the_header", with<std::uint32_t>(12, 0), errc::parse_error, 12},
      {"header_without_its_table", with<std::uint32_t>(12, 128), errc::parse_error, 12},
      {"header_of_4_GiB", with<std::uint32_t>(12, 0xffffffc0u, golden), errc::parse_error, 12},
      {"one_section_fewer", with<std::uint32_t>(44, 2), errc::parse_error, 12},
      {"65_sections", with<std::uint32_t>(44, 65), errc::parse_error, 44},
      {"4294967295_sections", with<std::uint32_t>(44, 0xffffffffu), errc::parse_error, 44},
      {"file_bytes_0", with<std::uint64_t>(16, 0), errc::trailing_data, 0},
      {"file_bytes_less", with<std::uint64_t>(16, 448), errc::trailing_data, 448},
      {"file_bytes_more", with<std::uint64_t>(16, 513), errc::truncated, end},
      {"file_bytes_of_2_to_the_63", with<std::uint64_t>(16, huge), errc::truncated, end},
      {"file_bytes_of_all_ones", with<std::uint64_t>(16, ~std::uint64_t{0}), errc::truncated, end},
      {"header_checksum_damaged", damaged(24), errc::checksum_mismatch, 24},
      {"header_field_damaged", damaged(48), errc::checksum_mismatch, 24},
      {"reserved_byte_damaged", damaged(127), errc::checksum_mismatch, 24},
      {"section_name_damaged", damaged(128), errc::checksum_mismatch, 24},
      {"section_checksum_damaged", damaged(entry(2).checksum), errc::checksum_mismatch, 24},
      {"kind_0", with<std::uint32_t>(32, 0), errc::unsupported, 32},
      {"kind_9", with<std::uint32_t>(32, 9), errc::unsupported, 32},
      {"element_0", with<std::uint32_t>(36, 0), errc::unsupported, 36},
      {"element_6", with<std::uint32_t>(36, 6), errc::unsupported, 36},
      {"pattern_in_bsr", one("bsr", [](auto& r) { r.element = test::of_pattern; }), errc::parse_error, 36},
      {"pattern_in_ell", one("ell", [](auto& r) { r.element = test::of_pattern; }), errc::parse_error, 36},
      {"pattern_in_dense", one("dense", [](auto& r) { r.element = test::of_pattern; }), errc::parse_error, 36},
      {"indices_of_2_bytes", with<std::uint32_t>(40, 2), errc::parse_error, 40},
      {"indices_of_0_bytes", with<std::uint32_t>(40, 0), errc::parse_error, 40},
      {"dense_with_indices", one("dense", [](auto& r) { r.index_bytes = 4; }), errc::parse_error, 40},
      {"negative_rows", with<std::int64_t>(48, -1), errc::value_out_of_range, 48},
      {"rows_beyond_2_to_the_62", with<std::int64_t>(48, std::numeric_limits<std::int64_t>::max()),
       errc::value_out_of_range, 48},
      {"negative_cols", with<std::int64_t>(56, -6), errc::value_out_of_range, 56},
      {"cols_beyond_2_to_the_62", with<std::int64_t>(56, (std::int64_t{1} << 62) + 1), errc::value_out_of_range, 56},
      {"negative_num_values", with<std::int64_t>(64, -1), errc::value_out_of_range, 64},
      {"parameter_where_there_is_none", with<std::int64_t>(72, 1), errc::value_out_of_range, 72},
      {"second_parameter_where_there_is_none", with<std::int64_t>(80, -1), errc::value_out_of_range, 80},
      {"row_block_0", one("bsr", [](auto& r) { r.parameters[0] = 0; }), errc::value_out_of_range, 72},
      {"col_block_negative", one("bsr", [](auto& r) { r.parameters[1] = -2; }), errc::value_out_of_range, 80},
      {"ell_block_0", one("ell", [](auto& r) { r.parameters[0] = 0; }), errc::value_out_of_range, 72},
      {"m_block_0", one("bcsc", [](auto& r) { r.parameters[0] = 0; }), errc::value_out_of_range, 72},
      {"compact_m_block_of_65537", one("compact_bcsc", [](auto& r) { r.parameters[0] = 65537; }),
       errc::value_out_of_range, 72},
      {"layout_2", one("dense", [](auto& r) { r.parameters[0] = 2; }), errc::value_out_of_range, 72},
      {"reserved_byte", with<char>(88, 1), errc::unsupported, 88},
      {"last_reserved_byte", with<char>(127, 1), errc::unsupported, 127},
  };
}

std::vector<malformed> tables() {
  constexpr std::uint64_t huge = std::uint64_t{1} << 62;
  std::string without_end(16, 'x');
  return {
      {"section_without_a_name", with<char>(entry(0).name, '\0'), errc::parse_error, i64(entry(0).name)},
      {"section_name_in_capitals", with<char>(entry(1).name, 'C'), errc::parse_error, i64(entry(1).name)},
      {"section_name_with_a_tail", with<char>(entry(1).name + 15, 'x'), errc::parse_error, i64(entry(1).name)},
      {"section_of_another_name", of([](auto& r) { r.sections[1].name = "col_ind_2"; }), errc::invalid_format, 128},
      {"section_twice", of([](auto& r) { r.sections.push_back(r.sections[1]); }), errc::parse_error,
       i64(entry(3).name)},
      {"section_missing", of([](auto& r) { r.sections.pop_back(); }), errc::invalid_format, 128},
      {"no_sections", of([](auto& r) { r.sections.clear(); }), errc::invalid_format, 128},
      {"section_type_0", with<std::uint32_t>(entry(0).type, 0), errc::unsupported, i64(entry(0).type)},
      {"section_type_9", with<std::uint32_t>(entry(2).type, 9), errc::unsupported, i64(entry(2).type)},
      {"pointers_of_floats", of([](auto& r) { r.sections[0].type = test::type_fp32; }), errc::invalid_format,
       i64(entry(0).type)},
      {"indices_wider_than_announced", with<std::uint32_t>(40, 8), errc::invalid_format, i64(entry(0).type)},
      {"values_of_another_type", with<std::uint32_t>(36, test::of_fp16), errc::invalid_format, i64(entry(2).type)},
      {"values_of_integers", of([](auto& r) { r.sections[2].type = test::type_i32; }), errc::invalid_format,
       i64(entry(2).type)},
      {"unknown_flag", with<std::uint32_t>(entry(0).flags, 3), errc::unsupported, i64(entry(0).flags)},
      {"section_that_must_be_known", of([](auto& r) {
         r.sections.push_back(test::array_of<std::uint8_t>("permutation", test::type_bytes, {1, 2, 3}));
       }),
       errc::unsupported, i64(entry(3).name)},
      {"values_of_a_pattern", of([](auto& r) { r.element = test::of_pattern; }), errc::unsupported, i64(entry(2).name)},
      {"offset_0", with<std::uint64_t>(entry(0).offset, 0), errc::parse_error, i64(entry(0).offset)},
      {"offset_inside_the_table", with<std::uint64_t>(entry(0).offset, 256), errc::parse_error, i64(entry(0).offset)},
      {"offset_not_aligned", with<std::uint64_t>(entry(1).offset, 348), errc::parse_error, i64(entry(1).offset)},
      {"offset_with_a_gap", with<std::uint64_t>(entry(1).offset, 448), errc::parse_error, i64(entry(1).offset)},
      {"offset_of_the_section_before", with<std::uint64_t>(entry(2).offset, 384), errc::parse_error,
       i64(entry(2).offset)},
      {"offset_beyond_the_file", with<std::uint64_t>(entry(2).offset, 4096), errc::parse_error, i64(entry(2).offset)},
      {"offset_of_all_ones", with<std::uint64_t>(entry(2).offset, ~std::uint64_t{0}), errc::parse_error,
       i64(entry(2).offset)},
      {"count_too_large_for_its_bytes", with<std::uint64_t>(entry(0).count, 8), errc::parse_error, i64(entry(0).bytes)},
      {"count_that_overflows", with<std::uint64_t>(entry(0).count, huge + 7), errc::size_overflow, i64(entry(0).count)},
      {"count_of_all_ones", with<std::uint64_t>(entry(2).count, ~std::uint64_t{0}), errc::size_overflow,
       i64(entry(2).count)},
      {"bytes_not_a_multiple", with<std::uint64_t>(entry(0).bytes, 27), errc::parse_error, i64(entry(0).bytes)},
      {"array_beyond_the_file", with<std::uint64_t>(entry(2).bytes, 68, with<std::uint64_t>(entry(2).count, 17)),
       errc::parse_error, i64(entry(2).bytes)},
      {"array_of_4_EiB", with<std::uint64_t>(entry(2).bytes, huge, with<std::uint64_t>(entry(2).count, huge / 4)),
       errc::parse_error, i64(entry(2).bytes)},
      {"file_longer_than_its_sections", with<std::uint64_t>(16, 576, golden + std::string(64, '\0')), errc::parse_error,
       16},
      {"reserved_field", with<std::uint64_t>(entry(1).reserved, 1), errc::unsupported, i64(entry(1).reserved)},
      {"num_values_less", with<std::int64_t>(64, 15), errc::invalid_format, i64(entry(2).count)},
      {"num_values_of_a_dense_matrix", one("dense", [](auto& r) { r.rows = 4; }), errc::invalid_format, 64},
      {"dense_product_that_overflows",
       one("dense",
           [](auto& r) {
             r.rows = std::int64_t{1} << 32;
             r.cols = (std::int64_t{1} << 31) + 0;
             r.num_values = 0;
             r.sections[0].bytes.clear();
           }),
       errc::invalid_format, 64},
      {"row_in_block_of_2_bytes_where_1_does",
       one("compact_bcsc",
           [](auto& r) {
             r.sections[5] = test::array_of<std::uint16_t>("row_in_block", test::type_u16, {2, 0, 2, 0});
           }),
       errc::invalid_format, i64(entry(5).type)},
      {"row_in_block_too_short",
       one("compact_bcsc",
           [](auto& r) {
             r.sections[5] = test::array_of<std::uint8_t>("row_in_block", test::type_bytes, {2, 0, 2});
           }),
       errc::invalid_format, i64(entry(5).count)},
      {"columns_twice_in_compact",
       one("compact_narrow",
           [](auto& r) {
             r.sections.push_back(test::indices("col_ind", {0, 1, 3}));
           }),
       errc::unsupported, i64(entry(6).name)},
      {"narrow_columns_of_bytes",
       one("compact_narrow", [](auto& r) { r.sections[2].type = test::type_bytes, r.sections[2].size = 1; }),
       errc::invalid_format, i64(entry(2).type)},
      {"col_count_too_long",
       one("compact_bcsc",
           [](auto& r) {
             r.sections[3] = test::array_of<std::uint8_t>("col_count", test::type_bytes, {0, 1, 0, 0});
           }),
       errc::invalid_format, i64(entry(3).count)},
      {"entry_ptr_missing", one("compact_bcsc", [](auto& r) { r.sections.erase(r.sections.begin() + 1); }),
       errc::invalid_format, 128},
      {"entry_ptr_where_there_is_none",
       one("compact_as_csr",
           [](auto& r) {
             r.sections.push_back(test::indices("entry_ptr", {0, 2, 2, 4}));
           }),
       errc::unsupported, i64(entry(3).name)},
  };
}

std::vector<malformed> words() {
  const auto with_words = [](const std::string& text) {
    return of([&](auto& r) { r.sections.insert(r.sections.begin(), test::words(text)); });
  };
  constexpr std::int64_t at = 384;
  return {
      {"words_without_end", with_words("name"), errc::parse_error, at},
      {"words_without_a_value", with_words(std::string("name\0", 5)), errc::parse_error, at},
      {"words_with_a_value_without_end", with_words(std::string("a\0b\0name\0x", 10)), errc::parse_error, at + 4},
      {"words_with_an_empty_key", with_words(std::string("\0x\0", 3)), errc::parse_error, at},
      {"words_with_a_key_twice", with_words(std::string("a\0x\0a\0y\0", 8)), errc::parse_error, at + 4},
      {"words_not_sorted", with_words(std::string("b\0x\0a\0y\0", 8)), errc::parse_error, at + 4},
      {"words_in_latin_1", with_words(std::string("name\0caf\xe9\0", 10)), errc::parse_error, at},
      {"words_of_more_than_64_KiB", with_words("k" + std::string(1, '\0') + std::string(65536, 'v') + '\0'),
       errc::parse_error, i64(entry(0).bytes)},
      {"words_of_floats", of([](auto& r) {
         r.sections.insert(r.sections.begin(), test::array_of<float>("metadata", test::type_fp32, {1}, 0));
       }),
       errc::parse_error, i64(entry(0).type)},
      {"words_behind_the_arrays", of([](auto& r) { r.sections.push_back(test::words(std::string("a\0b\0", 4))); }),
       errc::parse_error, i64(entry(3).name)},
  };
}

std::vector<malformed> arrays() {
  const auto entry_of = [](std::int64_t array, std::size_t k, std::int32_t value) {
    return with_entry<std::int32_t>(static_cast<std::size_t>(array) + 4 * k, value);
  };
  const auto array = [](const std::string& kind, std::size_t section, std::vector<std::int32_t> values) {
    return one(kind, [&](auto& r) { r.sections[section] = test::indices(r.sections[section].name, values); });
  };
  return {
      {"pointers_damaged", damaged(row_ptr_at + 5), errc::checksum_mismatch, row_ptr_at},
      {"indices_damaged", damaged(col_ind_at + 63), errc::checksum_mismatch, col_ind_at},
      {"values_damaged", damaged(values_at), errc::checksum_mismatch, values_at},
      {"byte_between_two_sections", damaged(350), errc::checksum_mismatch, 350},
      {"column_negative", entry_of(col_ind_at, 0, -1), errc::index_out_of_range},
      {"column_beyond_the_matrix", entry_of(col_ind_at, 15, 6), errc::index_out_of_range},
      {"columns_not_ascending", entry_of(col_ind_at, 1, 0), errc::invalid_format},
      {"pointer_not_0_at_first", entry_of(row_ptr_at, 0, 1), errc::invalid_format},
      {"pointer_that_falls", entry_of(row_ptr_at, 2, 3), errc::invalid_format},
      {"pointer_far_beyond", entry_of(row_ptr_at, 3, 0x7fffffff), errc::invalid_format},
      {"pointer_that_ends_early", entry_of(row_ptr_at, 6, 15), errc::invalid_format},
      {"more_rows_than_pointers", with<std::int64_t>(48, 7), errc::invalid_format},
      {"rows_beyond_the_index", with<std::int64_t>(48, std::int64_t{1} << 31), errc::size_overflow},
      {"fewer_columns", with<std::int64_t>(56, 5), errc::index_out_of_range},
      {"more_indices_than_values", of([](auto& r) { r.sections[1].bytes.append(4, '\0'); }), errc::invalid_format},
      {"pattern_of_2_to_the_62_entries", one("pattern", [](auto& r) { r.num_values = std::int64_t{1} << 62; }),
       errc::invalid_format},
      {"coo_not_sorted", array("coo", 0, {2, 0, 2, 2}), errc::invalid_format},
      {"coo_row_beyond", array("coo", 0, {0, 0, 2, 3}), errc::index_out_of_range},
      {"csc_row_beyond", array("csc", 1, {2, 0, 3, 0}), errc::index_out_of_range},
      {"csc_pointer_beyond", array("csc", 0, {0, 1, 9, 3, 4}), errc::invalid_format},
      {"bsr_block_beyond", array("bsr", 1, {0, 2, 0}), errc::index_out_of_range},
      {"bsr_padding_not_0",
       one("bsr",
           [](auto& r) {
             const float filled = 1;
             r.sections[2].bytes.replace(40, 4, reinterpret_cast<const char*>(&filled), 4);
           }),
       errc::invalid_format},
      {"bsr_blocks_too_large",
       one("bsr",
           [](auto& r) {
             r.parameters = {std::int64_t{1} << 62, 4};
           }),
       errc::size_overflow},
      {"ell_block_beyond", array("ell", 0, {0, 2, 0, -1}), errc::index_out_of_range},
      {"ell_block_of_minus_2", array("ell", 0, {0, 1, 0, -2}), errc::index_out_of_range},
      {"ell_rows_too_long", one("ell", [](auto& r) { r.parameters[1] = std::int64_t{1} << 62; }),
       errc::invalid_argument},
      {"bcsc_column_beyond", array("bcsc", 1, {1, 4, 0, 1}), errc::index_out_of_range},
      {"bcsc_row_in_another_block", array("bcsc", 3, {0, 0, 1, 2}), errc::invalid_format},
      {"bcsc_empty_column", array("bcsc", 2, {0, 1, 1, 3, 4}), errc::invalid_format},
      {"bcsc_block_pointer_beyond", array("bcsc", 0, {0, 5, 4}), errc::invalid_format},
      {"compact_row_beyond_its_block",
       one("compact_bcsc",
           [](auto& r) {
             r.sections[5] = test::array_of<std::uint8_t>("row_in_block", test::type_bytes, {2, 0, 3, 0});
           }),
       errc::index_out_of_range},
      {"compact_narrow_column_beyond",
       one("compact_narrow",
           [](auto& r) {
             r.sections[2] = test::array_of<std::uint16_t>("col_ind16", test::type_u16, {0, 1, 4});
           }),
       errc::index_out_of_range},
      {"compact_count_beyond_its_block",
       one("compact_bcsc",
           [](auto& r) {
             r.sections[3] = test::array_of<std::uint8_t>("col_count", test::type_bytes, {0, 255, 0});
           }),
       errc::invalid_format},
      {"compact_dense_end_beyond",
       one("compact_bcsc", [](auto& r) { r.sections.insert(r.sections.begin() + 2, test::indices("dense_end", {9})); }),
       errc::invalid_format},
      {"compact_block_rows_that_fall",
       one("compact_bcsc",
           [](auto& r) {
             r.sections.insert(r.sections.begin(), test::indices("block_row", {0, 5, 3}));
           }),
       errc::invalid_format},
  };
}

std::vector<malformed> all_malformed() {
  std::vector<malformed> all;
  for (auto&& some : {headers(), tables(), words(), arrays()}) all.insert(all.end(), some.begin(), some.end());
  return all;
}

any_view opened(const std::string& bytes, const container_read_options& options = {}) {
  files::source in(bytes, "memory", read_options{});
  const files::container::opened file(in, options);
  return file.view();
}

struct verdict {
  errc code = errc::ok;
  std::int64_t byte = -1;
  std::string path, message;
};
verdict verdict_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const error& problem) {
    return {problem.code(), problem.where().byte, problem.where().path, problem.what()};
  }
  return {};
}

class malformed_container : public testing::TestWithParam<malformed> {};

TEST_P(malformed_container, is_refused_where_its_fault_lies) {
  const test::temporary_folder folder;
  const auto path = folder.file("a.bcsc", GetParam().bytes);
  const std::function<void()> readers[] = {[&] { mapped_matrix mapped(path); }, [&] { (void)read_container(path); },
                                           [&] { (void)read_csr<double>(path); },
                                           [&] { (void)read_coo<float, std::int64_t>(path); }};
  for (const auto& read : readers) {
    const verdict found = verdict_of(read);
    // A file without the magic bytes may be of another format: it is its name that led here.
    EXPECT_EQ(to_string(found.code), to_string(GetParam().code)) << found.message;
    EXPECT_EQ(found.byte, GetParam().byte) << found.message;
    EXPECT_EQ(found.path, path.string());
    EXPECT_NE(found.message.find(path.string()), std::string::npos) << found.message;
  }
  // Neither trust nor the header's reader may be harmed by it, whatever they make of it.
  (void)verdict_of([&] { (void)read_container_info(path); });
  (void)verdict_of([&] { mapped_matrix mapped(path, {.verify_checksums = false, .check = trust::trusted}); });
  (void)verdict_of([&] { mapped_matrix mapped(path, {.verify_checksums = false}); });
}

INSTANTIATE_TEST_SUITE_P(files, malformed_container, testing::ValuesIn(all_malformed()),
                         [](const auto& info) { return info.param.name; });

TEST(malformed_containers, are_many_and_differ_from_a_good_one) {
  EXPECT_GE(all_malformed().size(), 100u);
  EXPECT_EQ(verdict_of([] { (void)opened(golden); }).code, errc::ok);
  for (const auto& [name, raw] : test::one_of_each()) {
    const std::string bytes = raw.bytes();
    EXPECT_EQ(verdict_of([&] { (void)opened(bytes); }).message, "") << name;
  }
}

TEST(damaged_container, is_refused_whichever_bit_has_changed) {
  for (const auto& [name, raw] : test::one_of_each()) {
    std::string bytes = raw.bytes();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        ASSERT_NE(verdict_of([&] { (void)opened(bytes); }).code, errc::ok)
            << name << ", byte " << at << ", bit " << bit;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      }
    }
  }
}

TEST(damaged_container, is_refused_wherever_it_is_cut) {
  for (const auto& [name, raw] : test::one_of_each()) {
    const std::string bytes = raw.bytes();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const verdict found = verdict_of([&] { (void)opened(bytes.substr(0, size)); });
      ASSERT_EQ(found.code, size < 8 ? errc::bad_banner : errc::truncated) << name << ", " << size << " bytes";
      ASSERT_EQ(found.byte, size < 8 ? 0 : i64(size)) << found.message;
    }
  }
}

/// Forged checksums still leave the format's own checks: every byte, every one of a few values, signed.
TEST(forged_container, never_gives_a_matrix_that_breaks_its_invariants) {
  int accepted = 0;
  for (const auto& [name, raw] : test::one_of_each()) {
    const std::string good = raw.bytes();
    const std::size_t header = test::get<std::uint32_t>(good, 12);
    for (std::size_t at = 8; at < good.size(); ++at) {
      for (const unsigned char value : {0x00, 0x01, 0x02, 0x7f, 0x80, 0xff}) {
        std::string bytes = good;
        bytes[at] = static_cast<char>(value);
        bytes = at < header ? sign_header(std::move(bytes)) : sign(std::move(bytes));
        files::source in(bytes, "memory", read_options{});
        try {
          const files::container::opened file(in, {});
          validate(file.view());
          ++accepted;
          // Matrices of a few entries may have more rows than a test should make pointers for.
          if (std::max(file.info().rows, file.info().cols) > 1 << 20) continue;
          (void)convert(file.view(), matrix_format::csr, {.indices = index_type::int64});
        } catch (const error& problem) {
          ASSERT_NE(problem.code(), errc::internal) << name << ", byte " << at << ": " << problem.what();
        }
      }
    }
  }
  EXPECT_GT(accepted, 100) << "values may be anything";
}

TEST(trusted_container, is_not_looked_at) {
  // Its checksums and its order are wrong; a reader that checks neither gets the file as it is.
  std::string bytes = golden;
  put<std::int32_t>(bytes, col_ind_at, 5);
  EXPECT_EQ(verdict_of([&] { (void)opened(bytes); }).code, errc::checksum_mismatch);
  EXPECT_EQ(verdict_of([&] { (void)opened(bytes, {.check = trust::trusted}); }).code, errc::checksum_mismatch);
  EXPECT_EQ(verdict_of([&] { (void)opened(bytes, {.verify_checksums = false}); }).code, errc::invalid_format);
  EXPECT_EQ(verdict_of([&] { (void)opened(bytes, {.verify_checksums = false, .check = trust::trusted}); }).code,
            errc::ok);
}

TEST(container_info_of, damaged_words_is_an_error_though_the_arrays_are_not_read) {
  const test::temporary_folder folder;
  std::string bytes =
      of([](auto& r) { r.sections.insert(r.sections.begin(), test::words(std::string("name\0x\0", 7))); });
  const std::size_t words_at = 384;
  EXPECT_EQ(read_container_info(folder.file("a.bcsc", bytes)).metadata.at("name"), "x");
  bytes.back() = '!';
  EXPECT_EQ(read_container_info(folder.file("a.bcsc", bytes)).metadata.at("name"), "x");
  bytes[words_at + 5] = 'y';
  const verdict found = verdict_of([&] { (void)read_container_info(folder.file("a.bcsc", bytes)); });
  EXPECT_EQ(found.code, errc::checksum_mismatch);
  EXPECT_EQ(found.byte, i64(words_at));
}

TEST(compressed_container, is_bounded_like_every_compressed_file) {
  const test::temporary_folder folder;
  std::string bytes = of([](auto& r) {
    r.cols = 1 << 24;
    r.sections.push_back({"zeros", test::type_bytes, 1, 0, std::string(std::size_t{8} << 20, '\0')});
  });
  const auto path = folder.file("a.bcsc.gz", test::gzipped(bytes));
  EXPECT_EQ(read_csr<float>(path).nnz(), 16);
  read_options options;
  options.max_expanded_bytes = 1 << 20;
  EXPECT_EQ(verdict_of([&] { (void)read_csr<float>(path, options); }).code, errc::decompression_limit);
  const std::string stored = test::bytes_of(path);
  EXPECT_EQ(
      verdict_of([&] { (void)read_csr<float>(folder.file("cut.bcsc.gz", stored.substr(0, stored.size() / 2))); }).code,
      errc::truncated);
}

}  // namespace
}  // namespace bcsc
