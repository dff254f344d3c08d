#include <array>

#include "bcsc_config.h"
#include "test/support/viewed.hpp"
#include "test/unit/malformed_file.hpp"
#include "test/unit/npz_support.hpp"

/// What the .npz reader refuses: the code, and where the fault lies.
namespace bcsc {
namespace {

using test::as_csr;
using test::as_fp32;
using test::as_info;
using test::as_int64;
using test::malformed;
using test::npy;
using test::npy_format;
using test::npy_indices;
using test::npy_shape;
using test::npy_values;
using test::npy_with_header;
using test::raw;
using test::zip_member;
using test::zipped;

/// The members of a 2 x 3 matrix; each test damages one.
enum member : std::size_t { indices, indptr, format, shape, data };
std::vector<zip_member> csr() {
  return {{"indices.npy", npy_indices({2, 0})},
          {"indptr.npy", npy_indices({0, 1, 2})},
          {"format.npy", npy_format("csr")},
          {"shape.npy", npy_shape({2, 3})},
          {"data.npy", npy_values({1.5, -2})}};
}

/// The file with other bytes in one member; the fault lies where that member's bytes begin.
malformed with(std::string name, member which, std::string array, errc code, test::reader read = test::as_fp64) {
  std::vector<zip_member> members = csr();
  members[which].bytes = std::move(array);
  return {std::move(name), zipped(members), code, test::data_offset(members, which), std::move(read)};
}
malformed with_header(std::string name, std::string text, errc code) {
  return with(std::move(name), data, npy_with_header(text, raw<double>({1.5, -2})), code);
}
malformed with_descr(std::string name, std::string descr, errc code) {
  return with_header(std::move(name),
                     std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (2,), }\n", code);
}
malformed with_shape(std::string name, std::string text, errc code) {
  return with_header(std::move(name),
                     std::string("{'descr': '<f8', 'fortran_order': False, 'shape': ") + text + ", }\n", code);
}
/// The file with one member's zip fields changed.
template <class F>
malformed lying(std::string name, member which, errc code, F&& lie, std::int64_t byte = -2) {
  std::vector<zip_member> members = csr();
  lie(members[which]);
  return {std::move(name), zipped(members), code, byte == -2 ? test::data_offset(members, which) : byte};
}
malformed without(std::string name, member which) {
  std::vector<zip_member> members = csr();
  members.erase(members.begin() + which);
  return {std::move(name), zipped(members), errc::truncated};
}

std::string cut(std::string bytes, std::size_t from_end) {
  bytes.resize(bytes.size() - from_end);
  return bytes;
}
std::int64_t size_of(const std::string& bytes) { return static_cast<std::int64_t>(bytes.size()); }

std::vector<malformed> containers() {
  const std::string whole = zipped(csr());
  read_options as_npz;
  as_npz.format = file_format::npz;
  std::vector<zip_member> twice = csr();
  twice.push_back(twice[data]);
  std::string no_directory = whole;
  no_directory.resize(whole.find("PK\x01\x02"));
  const auto bad_crc = [](zip_member& m) { m.crc = 1; };
  return {
      {"empty_file", "", errc::bad_banner, -1, test::as_fp64, as_npz},
      {"text", "%%MatrixMarket matrix coordinate real general\n", errc::bad_banner, -1, test::as_fp64, as_npz},
      {"magic_alone", "PK\x03\x04", errc::truncated, 4},
      {"last_byte_missing", cut(whole, 1), errc::truncated, size_of(whole) - 1},
      {"directory_missing", no_directory, errc::truncated, size_of(no_directory)},
      {"half_of_it", cut(whole, whole.size() / 2), errc::truncated, size_of(whole) - size_of(whole) / 2},
      {"half_of_it_in_gzip", test::gzipped(cut(whole, whole.size() / 2)), errc::truncated},
      {"no_member", zipped({}), errc::truncated, 22},
      lying("crc", data, errc::corrupt_compression, bad_crc),
      lying("crc_of_pointers", indptr, errc::corrupt_compression, bad_crc),
      lying("crc_of_the_format", format, errc::corrupt_compression, bad_crc),
      lying("damaged_deflate_data", data, errc::corrupt_compression,
            [](zip_member& m) {
              m.method = 8;
              m.stored = std::string(m.bytes.size(), '\xff');
            }),
      lying("deflate_data_cut_short", data, errc::corrupt_compression,
            [](zip_member& m) {
              m.method = 8;
              m.stored = cut(test::deflated(m.bytes), 8);
            }),
      lying("unknown_compression", data, errc::corrupt_compression, [](zip_member& m) { m.method = 77; }),
      lying("encrypted", data, errc::unsupported, [](zip_member& m) { m.flags = 1; }),
      lying(
          "more_than_the_directory_says", data, errc::corrupt_compression, [](zip_member& m) { m.directory_size = 4; },
          -1),
      lying(
          "member_beyond_the_file", data, errc::corrupt_compression, [](zip_member& m) { m.offset = 0x7fffffff; }, -1),
      lying(
          "member_inside_another", data, errc::corrupt_compression, [](zip_member& m) { m.offset = 7; }, -1),
      {"data_twice", zipped(twice), errc::trailing_data, test::data_offset(twice, 5)},
      without("no_format", format),
      without("no_shape", shape),
      without("no_data", data),
      without("no_indices", indices),
      without("no_indptr", indptr),
      {"an_ordinary_zip", zipped({{"readme.txt", "hello"}}), errc::truncated},
      {"arrays_of_numpy_savez", zipped({{"arr_0.npy", npy_values({1, 2})}}), errc::truncated},
  };
}

std::vector<malformed> headers() {
  const std::string values = raw<double>({1.5, -2});
  const std::string good = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
  const auto versioned = [&](int major, int minor) {
    return npy_with_header(good, values, std::string{static_cast<char>(major), static_cast<char>(minor)});
  };
  std::string wrong_magic = npy_values({1.5, -2});
  wrong_magic[0] = '\x92';
  return {
      with("no_bytes", data, "", errc::bad_banner),
      with("six_bytes", data, "\x93NUMPY", errc::bad_banner),
      with("another_magic", data, wrong_magic, errc::bad_banner),
      with("text_for_an_array", data, "1.5 -2\n1.5 -2\n", errc::bad_banner),
      with("version_0", data, versioned(0, 0), errc::unsupported),
      with("version_1_1", data, versioned(1, 1), errc::unsupported),
      with("version_4", data, versioned(4, 0), errc::unsupported),
      with("ends_within_its_preamble", data, "\x93NUMPY\x01" + std::string("\0v", 2), errc::truncated),
      with("ends_within_its_header", data, npy_values({}).substr(0, 40), errc::truncated),
      with("header_of_4_gib", data, "\x93NUMPY\x02" + std::string(1, '\0') + "\xff\xff\xff\xff" + good + values,
           errc::parse_error),
      with("header_of_65535", data, "\x93NUMPY\x01" + std::string(1, '\0') + "\xff\xff" + good, errc::parse_error),
      with_header("no_dictionary", "('<f8', False, (2,))\n", errc::parse_error),
      with_header("empty_dictionary", "{}\n", errc::parse_error),
      with_header("empty_header", "", errc::parse_error),
      with_header("dictionary_without_end", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), ",
                  errc::parse_error),
      with_header("no_descr", "{'fortran_order': False, 'shape': (2,), }\n", errc::parse_error),
      with_header("no_order", "{'descr': '<f8', 'shape': (2,), }\n", errc::parse_error),
      with_header("no_shape_key", "{'descr': '<f8', 'fortran_order': False, }\n", errc::parse_error),
      with_header("descr_twice", "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
                  errc::parse_error),
      with_header("another_key", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}", errc::parse_error),
      with_header("key_without_quotes", "{descr: '<f8', 'fortran_order': False, 'shape': (2,)}", errc::parse_error),
      with_header("key_without_colon", "{'descr' '<f8', 'fortran_order': False, 'shape': (2,)}", errc::parse_error),
      with_header("text_without_end", "{'descr': '<f8, 'fortran_order\": False", errc::parse_error),
      with_header("escape", "{'descr': '<\\x668', 'fortran_order': False, 'shape': (2,)}", errc::parse_error),
      with_header("no_comma", "{'descr': '<f8' 'fortran_order': False, 'shape': (2,)}", errc::parse_error),
      with_header("two_commas", "{'descr': '<f8',, 'fortran_order': False, 'shape': (2,)}", errc::parse_error),
      with_header("order_is_a_number", "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}", errc::parse_error),
      with_header("more_behind_it", good + "import os", errc::parse_error),
      with_header("zeros_for_padding", good + std::string(8, '\0'), errc::parse_error),
      with_shape("shape_is_a_number", "2", errc::parse_error),
      with_shape("shape_is_a_list", "[2]", errc::parse_error),
      with_shape("tuple_of_one_without_comma", "(2)", errc::parse_error),
      with_shape("negative_shape", "(-2,)", errc::parse_error),
      with_shape("real_shape", "(2.0,)", errc::parse_error),
      with_shape("shape_of_nothing", "(,)", errc::parse_error),
      with_shape("expression_for_a_shape", "(1+1,)", errc::parse_error),
      with_shape("shape_past_2_63", "(9223372036854775808,)", errc::size_overflow),
      with_shape("bytes_past_2_63", "(2305843009213693952,)", errc::size_overflow),
      with_shape("product_past_2_63", "(4294967296, 4294967296)", errc::size_overflow),
      with_shape("product_past_2_63_times_zero", "(4294967296, 4294967296, 0)", errc::size_overflow),
      with_shape("huge_shape", "(4000000000,)", errc::truncated),
      with_shape("one_element_more", "(3,)", errc::truncated),
      with_shape("one_element_less", "(1,)", errc::trailing_data),
  };
}

std::vector<malformed> dtypes() {
  return {
      with_descr("objects", "|O", errc::unsupported),
      with_descr("objects_of_8_bytes", "|O8", errc::unsupported),
      with_header("records", "{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }\n",
                  errc::unsupported),
      with_descr("void", "|V8", errc::unsupported),
      with_descr("dates", "<M8[ns]", errc::unsupported),
      with_descr("extended_precision", "<f16", errc::unsupported),
      with_descr("integers_of_3_bytes", "<i3", errc::unsupported),
      with_descr("complex_of_extended_precision", "<c32", errc::unsupported),
      with_descr("no_descr_text", "", errc::parse_error),
      with_descr("letter_alone", "f", errc::parse_error),
      with_descr("no_byte_order", "f8", errc::parse_error),
      with_descr("unordered_reals", "|f8", errc::parse_error),
      with_descr("no_item_size", "<f", errc::parse_error),
      with_descr("item_size_with_a_tail", "<f8x", errc::parse_error),
      with_descr("negative_item_size", "<f-8", errc::parse_error),
      with_descr("endless_item_size", "<f99999999999999999999", errc::parse_error),
      with("text_for_values", data, npy("|S8", "(2,)", "1.5     -2      "), errc::unsupported),
      with("reals_for_indices", indices, npy("<f4", "(2,)", raw<float>({2, 0})), errc::unsupported),
      with("booleans_for_indices", indices, npy("|b1", "(2,)", std::string("\1\0", 2)), errc::unsupported),
      with("text_for_indices", indices, npy("|S4", "(2,)", "2   0   "), errc::unsupported),
      with("reals_for_pointers", indptr, npy("<f8", "(3,)", raw<double>({0, 1, 2})), errc::unsupported),
      with("complex_values", data, npy("<c8", "(2,)", raw<float>({1, 1, 2, 2})), errc::unsupported),
  };
}

malformed with_members(std::string name, std::vector<zip_member> members, std::size_t faulty, errc code,
                       test::reader read = test::as_fp64) {
  return {std::move(name), zipped(members), code, test::data_offset(members, faulty), std::move(read)};
}

std::vector<malformed> matrices() {
  const auto coo = [](std::string rows, std::string cols, std::vector<std::int64_t> size = {2, 3}) {
    return std::vector<zip_member>{{"row.npy", std::move(rows)},
                                   {"col.npy", std::move(cols)},
                                   {"format.npy", npy_format("coo")},
                                   {"shape.npy", npy_shape(size)},
                                   {"data.npy", npy_values({1.5, -2})}};
  };
  const auto block = [](std::string blocks, std::vector<std::int64_t> size = {2, 4}, std::int32_t column = 1) {
    return std::vector<zip_member>{{"indices.npy", npy_indices({column})},
                                   {"indptr.npy", npy_indices({0, 1})},
                                   {"format.npy", npy_format("bsr")},
                                   {"shape.npy", npy_shape(size)},
                                   {"data.npy", std::move(blocks)}};
  };
  const std::string block_2x2 = npy("<f8", "(1, 2, 2)", raw<double>({1, 2, 3, 4}));
  const auto coords = [&](std::string both) {
    std::vector<zip_member> members = coo("", "");
    members.erase(members.begin());
    members[0] = {"coords.npy", std::move(both)};
    return members;
  };
  std::vector<zip_member> no_col = coo(npy_indices({0, 1}), npy_indices({0, 1}));
  no_col.erase(no_col.begin() + 1);
  const std::vector<zip_member> diagonals{{"offsets.npy", npy_indices({0})},
                                          {"format.npy", npy_format("dia")},
                                          {"shape.npy", npy_shape({2, 2})},
                                          {"data.npy", npy("<f8", "(2, 2)", raw<double>({1, 2, 3, 4}))}};
  std::vector<zip_member> flat_diagonals = diagonals;
  flat_diagonals[3].bytes = npy_values({1, 2});
  const auto csr_of = [](std::vector<std::int32_t> ind, std::vector<std::int32_t> ptr, std::vector<std::int64_t> size,
                         std::vector<double> values) {
    return std::vector<zip_member>{{"indices.npy", npy_indices(ind)},
                                   {"indptr.npy", npy_indices(ptr)},
                                   {"format.npy", npy_format("csr")},
                                   {"shape.npy", npy_shape(size)},
                                   {"data.npy", npy_values(values)}};
  };
  std::vector<zip_member> past_int64 = csr();
  past_int64[indices].bytes = npy("<u8", "(2,)", raw<std::uint64_t>({18446744073709551615u, 0}));
  const auto shape_of = [](std::string descr, std::string size, std::string bytes) { return npy(descr, size, bytes); };
  malformed summed{"duplicates_overflow", zipped(csr_of({0, 0}, {0, 2}, {1, 1}, {1e308, 1e308})),
                   errc::value_out_of_range};
  return {
      with("unknown_format", format, npy_format("lil"), errc::unsupported),
      with("empty_format", format, npy_format(""), errc::unsupported),
      with("number_for_a_format", format, npy("<i8", "()", raw<std::int64_t>(3)), errc::parse_error),
      with("list_for_a_format", format, npy("|S3", "(2,)", "csrcsc"), errc::parse_error),
      with("long_text_for_a_format", format, npy("|S9999", "()", std::string(9999, 'c')), errc::parse_error),
      with("one_dimension", shape, npy_shape({2}), errc::unsupported),
      with("three_dimensions", shape, npy_shape({2, 3, 4}), errc::unsupported),
      with("real_sizes", shape, npy("<f8", "(2,)", raw<double>({2, 3})), errc::parse_error),
      with("table_for_a_shape", shape, shape_of("<i8", "(1, 2)", raw<std::int64_t>({2, 3})), errc::parse_error),
      with("negative_rows", shape, npy_shape({-2, 3}), errc::value_out_of_range),
      with("negative_cols", shape, npy_shape({2, -3}), errc::value_out_of_range, as_info),
      with("rows_past_2_63", shape, shape_of("<u8", "(2,)", raw<std::uint64_t>({9223372036854775808u, 3})),
           errc::size_overflow),
      with("cols_past_int32", shape, npy_shape({2, 2147483648}), errc::size_overflow),
      with_members("max_rows_there_could_be",
                   {csr()[0], csr()[1], csr()[2], {"shape.npy", npy_shape({9223372036854775807, 3})}, csr()[4]}, 3,
                   errc::size_overflow, as_int64),
      with("one_pointer_too_few", indptr, npy_indices({0, 2}), errc::invalid_format),
      with("one_pointer_too_many", indptr, npy_indices({0, 1, 2, 2}), errc::invalid_format),
      with("no_pointers", indptr, npy_indices({}), errc::invalid_format),
      with("table_for_pointers", indptr, npy("<i4", "(3, 1)", raw<std::int32_t>({0, 1, 2})), errc::invalid_format),
      with("fewer_indices_than_values", indices, npy_indices({2}), errc::invalid_format),
      with("fewer_indices_than_values_seen_early", indices, npy_indices({2}), errc::invalid_format, as_info),
      with("more_indices_than_values", indices, npy_indices({2, 0, 1}), errc::invalid_format),
      with("values_in_two_dimensions", data, npy("<f8", "(2, 1)", raw<double>({1, 2})), errc::invalid_format),
      with("value_without_dimension", data, npy("<f8", "()", raw<double>(1.5)), errc::invalid_format),
      with("pointers_begin_at_1", indptr, npy_indices({1, 1, 2}), errc::invalid_format),
      with("pointers_begin_below_0", indptr, npy_indices({-1, 1, 2}), errc::invalid_format),
      with("pointers_fall", indptr, npy_indices({0, 2, 1}), errc::invalid_format),
      with("pointers_fall_below_0", indptr, npy_indices({0, -5, 2}), errc::invalid_format),
      with("pointers_beyond_the_indices", indptr, npy_indices({0, 1, 3}), errc::invalid_format),
      with("pointers_far_beyond", indptr, npy("<i8", "(3,)", raw<std::int64_t>({0, 1, 9223372036854775807})),
           errc::invalid_format),
      with("pointers_past_2_63", indptr, npy("<u8", "(3,)", raw<std::uint64_t>({0, 1, 18446744073709551615u})),
           errc::index_out_of_range),
      with("column_beyond", indices, npy_indices({3, 0}), errc::index_out_of_range),
      with("column_beyond_as_csr", indices, npy_indices({3, 0}), errc::index_out_of_range, as_csr),
      with("negative_column", indices, npy_indices({2, -1}), errc::index_out_of_range),
      with("column_past_int32", indices, npy("<i8", "(2,)", raw<std::int64_t>({4294967296, 0})),
           errc::index_out_of_range),
      with_members("column_past_int64", past_int64, indices, errc::index_out_of_range, as_int64),
      with("past_fp32", data, npy_values({1e39, 0}), errc::value_out_of_range, as_fp32),
      with("just_past_the_largest_fp32", data, npy_values({0, 0x1.ffffffp127}), errc::value_out_of_range, as_fp32),
      summed,
      with_members("rows_of_a_huge_matrix", csr_of({}, {0}, {4000000000, 4000000000}, {}), 1, errc::invalid_format,
                   as_int64),
      {"csc_by_its_columns",
       zipped({{"indices.npy", npy_indices({2, 0})},
               {"indptr.npy", npy_indices({0, 1, 2, 2})},
               {"format.npy", npy_format("csc")},
               {"shape.npy", npy_shape({2, 3})},
               {"data.npy", npy_values({1.5, -2})}}),
       errc::index_out_of_range, test::data_offset(csr(), indices)},
      with_members("row_beyond", coo(npy_indices({0, 2}), npy_indices({0, 1})), 0, errc::index_out_of_range),
      with_members("column_of_a_triplet_beyond", coo(npy_indices({0, 1}), npy_indices({0, 3})), 1,
                   errc::index_out_of_range),
      with_members("fewer_rows_than_values", coo(npy_indices({0}), npy_indices({0, 1})), 0, errc::invalid_format),
      with_members("fewer_columns_than_values", coo(npy_indices({0, 1}), npy_indices({0})), 1, errc::invalid_format),
      {"no_columns", zipped(no_col), errc::truncated},
      with_members("an_entry_of_an_empty_matrix", coo(npy_indices({0, 0}), npy_indices({0, 0}), {0, 0}), 0,
                   errc::index_out_of_range),
      with_members("coords_of_three_dimensions", coords(npy("<i4", "(3, 2)", raw<std::int32_t>({0, 1, 0, 1, 0, 1}))), 0,
                   errc::invalid_format),
      with_members("coords_by_entries", coords(npy("<i4", "(4, 1)", raw<std::int32_t>({0, 1, 0, 1}))), 0,
                   errc::invalid_format),
      with_members("coords_beyond", coords(npy("<i4", "(2, 2)", raw<std::int32_t>({0, 1, 0, 3}))), 0,
                   errc::index_out_of_range),
      with_members("blocks_that_do_not_tile", block(block_2x2, {3, 4}), 4, errc::invalid_format),
      with_members("blocks_of_no_rows", block(npy("<f8", "(1, 0, 2)", "")), 4, errc::invalid_format),
      with_members("flat_blocks", block(npy_values({1, 2, 3, 4})), 4, errc::invalid_format),
      with_members("block_column_beyond", block(block_2x2, {2, 4}, 2), 0, errc::index_out_of_range),
      with_members("more_blocks_than_indices", block(npy("<f8", "(2, 2, 2)", raw(std::vector<double>(8, 1.0)))), 0,
                   errc::invalid_format),
      with_members("more_diagonals_than_offsets", diagonals, 0, errc::invalid_format),
      with_members("flat_diagonals", flat_diagonals, 3, errc::invalid_format),
  };
}

std::vector<malformed> bombs() {
  const std::string zeros(std::size_t{64} << 20, '\0'), fewer_zeros(std::size_t{4} << 20, '\0');
  const auto bomb = [](std::string name, member which, std::string array, errc code) {
    std::vector<zip_member> members = csr();
    members[which].bytes = std::move(array);
    members[which].deflated = true;
    return malformed{std::move(name), zipped(members), code, test::data_offset(members, which)};
  };
  // As many indices as values, so that only the limits are in the way.
  std::vector<zip_member> pair = csr();
  pair[indices] = {"indices.npy", npy("<i4", "(1048576,)", fewer_zeros), true};
  pair[indptr].bytes = npy_indices({0, 0, 1 << 20});
  pair[data] = {"data.npy", npy("<f4", "(1048576,)", fewer_zeros), true};
  // 2 GiB of pointers, announced by everything that can announce them, in a file of a kilobyte.
  std::vector<zip_member> liar = csr();
  liar[shape].bytes = npy_shape({268435455, 3});
  liar[indptr].bytes = npy("<i8", "(268435456,)", raw<std::int64_t>({0, 1, 2}));
  liar[indptr].size = liar[indptr].stored_size =
      static_cast<std::uint32_t>(liar[indptr].bytes.size() - 24 + std::size_t{268435456} * 8);
  const std::int64_t first = test::data_offset(pair, indices), last = test::data_offset(pair, data);
  const std::int64_t lie = test::data_offset(liar, indptr);
  read_options small, low, high, stop;
  small.max_expanded_bytes = 6'000'000;
  low.max_expansion_ratio = 100;
  high.max_expansion_ratio = 1e9;
  stop.progress = [](std::int64_t, std::int64_t) { return false; };
  return {
      bomb("a_format_of_64_mib", format, npy("|S67108864", "()", zeros), errc::decompression_limit),
      bomb("a_format_of_10_kib", format, npy("|S10000", "()", zeros.substr(0, 10000)), errc::parse_error),
      bomb("a_shape_of_64_mib", shape, npy("<i8", "(8388608,)", zeros), errc::decompression_limit),
      bomb("a_shape_of_half_a_million", shape, npy("<i8", "(524288,)", fewer_zeros), errc::unsupported),
      bomb("values_of_64_mib", data, npy("<f8", "(8388608,)", zeros), errc::decompression_limit),
      {"by_ratio", zipped(pair), errc::decompression_limit, first, test::as_fp64, low},
      {"by_size_of_both", zipped(pair), errc::decompression_limit, last, test::as_fp32, small},
      {"a_lie", zipped(liar), errc::decompression_limit, lie},
      {"a_lie_with_no_limit", zipped(liar), errc::corrupt_compression, lie, test::as_fp64, high},
      {"cancelled", zipped(csr()), errc::cancelled, size_of(zipped(csr())), test::as_fp64, stop},
  };
}

class MalformedNpz : public testing::TestWithParam<malformed> {};

TEST_P(MalformedNpz, IsRefusedWithCodeAndPlace) {
#if !BCSC_WITH_ARCHIVE
  GTEST_SKIP() << "this build has no libarchive";
#endif
  test::expect_refused(GetParam(), ".npz");
}

const auto by_name = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Container, MalformedNpz, testing::ValuesIn(containers()), by_name);
INSTANTIATE_TEST_SUITE_P(Header, MalformedNpz, testing::ValuesIn(headers()), by_name);
INSTANTIATE_TEST_SUITE_P(Dtype, MalformedNpz, testing::ValuesIn(dtypes()), by_name);
INSTANTIATE_TEST_SUITE_P(Matrix, MalformedNpz, testing::ValuesIn(matrices()), by_name);
INSTANTIATE_TEST_SUITE_P(Bomb, MalformedNpz, testing::ValuesIn(bombs()), by_name);

/// A file cut anywhere is refused: as truncated, with the place of the cut, once its magic is there.
TEST(TruncatedNpz, IsRefusedAtEveryLength) {
#if !BCSC_WITH_ARCHIVE
  GTEST_SKIP() << "this build has no libarchive";
#endif
  const test::temporary_folder folder;
  const std::string whole = zipped(csr());
  read_options options;
  options.format = file_format::npz;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto caught =
        test::error_of(test::as_fp64, folder.file("cut.npz", std::string_view(whole).substr(0, size)), options);
    ASSERT_TRUE(caught.has_value()) << size;
    EXPECT_EQ(caught->code(), size < 2 ? errc::bad_banner : errc::truncated) << size << ": " << caught->what();
    EXPECT_EQ(caught->where().byte, size < 2 ? -1 : static_cast<std::int64_t>(size));
  }
}

/// Whatever byte is wrong: an error of the library or a matrix that holds its invariants, never anything else.
TEST(DamagedNpz, IsRefusedOrReadAtEveryByte) {
#if !BCSC_WITH_ARCHIVE
  GTEST_SKIP() << "this build has no libarchive";
#endif
  const test::temporary_folder folder;
  const std::string whole = zipped(csr());
  int num_refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    constexpr std::array<char, 3> flips{'\x01', '\x80', '\xff'};
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ flips[at % flips.size()]);
    read_options options;
    options.format = file_format::npz;
    try {
      validate(viewed(read_coo<double>(folder.file("damaged.npz", bytes), options)));
    } catch (const error& caught) {
      ++num_refused;
      EXPECT_NE(caught.code(), errc::internal) << at << ": " << caught.what();
    }
  }
  // The checksums protect the arrays; times, attributes and versions of the zip may have any value.
  EXPECT_GT(num_refused, static_cast<int>(whole.size() * 2 / 3));
}

}  // namespace
}  // namespace bcsc
