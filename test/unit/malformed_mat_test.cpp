#include <array>

#include "bcsc_config.h"
#include "test/support/viewed.hpp"
#include "test/unit/fixtures.hpp"
#include "test/unit/malformed_file.hpp"
#include "test/unit/mat_support.hpp"

/// What the .mat reader refuses: the code, and where the fault lies.
namespace bcsc {
namespace {

using test::as_fp32;
using test::as_fp64;
using test::as_info;
using test::malformed;
using test::mat_maker;
using test::mi_double;
using test::mi_int32;
using test::mi_int8;
using test::mi_matrix;
using test::mi_uint32;
using test::mx_sparse;

constexpr std::int64_t header = 128, tag = 8;
/// Where the parts of the first variable lie: tag and data of flags, sizes, name "A", row indices, pointers, values of
/// two_entries().
constexpr std::int64_t flags_at = header + tag, sizes_at = flags_at + 16, name_at = sizes_at + 16, ir_at = name_at + 16,
                       jc_at = ir_at + 16, pr_at = jc_at + 24, end_at = pr_at + 24;

/// The error for a file of level 7.3 without HDF5 in it.
constexpr errc no_hdf5 = BCSC_WITH_HDF5 ? errc::parse_error : errc::unsupported;

std::string cut(std::string bytes, std::size_t from_end) {
  bytes.resize(bytes.size() - from_end);
  return bytes;
}
std::int64_t size_of(const std::string& bytes) { return static_cast<std::int64_t>(bytes.size()); }

/// The parts of a 2 x 3 matrix of two entries; each test damages one.
struct parts {
  mat_maker m;
  std::string flags = m.element(mi_uint32, m.list<std::uint32_t>({mx_sparse, 2})), sizes = m.int32s({2, 3}),
              name = m.element(mi_int8, "A"), ir = m.int32s({1, 0}), jc = m.int32s({0, 1, 1, 2}),
              pr = m.doubles({-2, 1.5});
  std::string array() const { return m.array(flags + sizes + name + ir + jc + pr); }
  std::string file() const { return m.file(array()); }
};

/// The same file with one part changed, in both byte orders.
template <class F>
void add(std::vector<malformed>& all, const std::string& name, errc code, std::int64_t byte, F&& change,
         test::reader read = as_fp64) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    parts p{mat_maker{order}};
    change(p);
    all.push_back({name + (order == std::endian::little ? "_little" : "_big"), p.file(), code, byte, read});
  }
}

std::vector<malformed> files() {
  const mat_maker m;
  const parts p;
  const std::string whole = p.file();
  const std::string hdf5 = "MATLAB 7.3 MAT-file, Platform: any";
  read_options as_mat, stop;
  as_mat.format = file_format::mat;
  stop.progress = [](std::int64_t, std::int64_t) { return false; };
  std::string wrong_order = whole, wrong_version = whole, version_7_3 = whole;
  wrong_order[126] = 'X';
  wrong_version[124] = 7;
  version_7_3[125] = 2;
  const auto file = [&](const std::string& variables) { return m.file(variables); };
  return {
      {"empty_file", "", errc::bad_banner, -1, as_fp64, as_mat},
      {"text", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", errc::bad_banner, -1, as_fp64, as_mat},
      {"long_text", std::string(500, 'x'), errc::bad_banner, -1, as_fp64, as_mat},
      {"ends_within_its_header", whole.substr(0, 100), errc::truncated},
      {"header_alone", m.header(), errc::unsupported},
      {"byte_order", wrong_order, errc::bad_banner},
      {"version", wrong_version, errc::unsupported},
      {"version_7_3", version_7_3, no_hdf5},
      {"level_7_3_in_words", hdf5 + std::string(512 - hdf5.size(), ' ') + "\x89HDF\r\n\x1a\n", no_hdf5},
      {"hdf5_without_a_header", "\x89HDF\r\n\x1a\n" + std::string(600, '\0'), no_hdf5, -1, as_fp64, as_mat},
      {"zeros", std::string(4096, '\0'), errc::unsupported, -1, as_fp64, as_mat},
      {"half_a_tag", whole + "\x0e\0\0", errc::truncated, end_at},
      {"text_behind", whole + "the end of it all", errc::parse_error, end_at},
      {"zeros_behind", whole + std::string(8, '\0'), errc::parse_error, end_at + 8},
      {"numbers_among_variables", file(m.doubles({1, 2})), errc::parse_error, header + tag},
      {"announces_4_gib", file(m.tag(mi_matrix, 0xffffffff)), errc::truncated, header},
      {"announces_a_byte_more", file(m.tag(mi_matrix, p.array().size() - 7) + p.array().substr(8)), errc::truncated,
       header},
      {"small_element_of_9_bytes", file(m.list<std::uint32_t>({mi_matrix | 9u << 16, 0})), errc::parse_error, header},
      {"small_element_for_a_matrix", file(m.small(mi_matrix, "abcd")), errc::truncated, header + 4},
      {"cancelled", whole, errc::cancelled, size_of(whole), as_fp64, stop},
      {"cut_in_gzip", test::gzipped(cut(whole, 9)), errc::truncated},
  };
}

std::vector<malformed> heads() {
  std::vector<malformed> all;
  const auto text = [](parts& p, const std::string& s) { return p.m.element(mi_int8, s); };
  add(all, "flags_alone", errc::truncated, sizes_at, [](parts& p) { p = {p.m, p.flags, "", "", "", "", ""}; });
  add(all, "flags_of_text", errc::parse_error, flags_at + tag,
      [&](parts& p) { p.flags = p.m.element(test::mi_utf8, "sparse!!"); });
  add(all, "flags_of_reals", errc::parse_error, flags_at + tag, [](parts& p) { p.flags = p.m.doubles({5}); });
  add(all, "flags_of_one_number", errc::parse_error, flags_at + 4,
      [](parts& p) { p.flags = p.m.small(mi_uint32, p.m.list<std::uint32_t>({mx_sparse})); });
  add(all, "flags_of_bytes", errc::parse_error, flags_at + tag,
      [](parts& p) { p.flags = p.m.element(mi_int8, "\5\0\0\0\0\0\0\0"); });
  add(all, "sizes_of_reals", errc::parse_error, sizes_at + tag, [](parts& p) { p.sizes = p.m.doubles({2, 3}); });
  add(all, "sizes_of_a_byte_too_much", errc::parse_error, sizes_at + tag,
      [](parts& p) { p.sizes = p.m.element(mi_int32, std::string(9, '\1')); });
  add(all, "one_size", errc::parse_error, sizes_at + 4,
      [](parts& p) { p.sizes = p.m.small(mi_int32, p.m.list<std::int32_t>({6})); });
  add(all, "sixty_five_sizes", errc::parse_error, sizes_at + tag,
      [](parts& p) { p.sizes = p.m.int32s(std::vector<std::int32_t>(65, 1)); });
  add(all, "three_sizes", errc::unsupported, flags_at, [](parts& p) { p.sizes = p.m.int32s({2, 3, 1}); });
  add(all, "negative_rows", errc::value_out_of_range, sizes_at + tag, [](parts& p) { p.sizes = p.m.int32s({-2, 3}); });
  add(
      all, "negative_cols", errc::value_out_of_range, sizes_at + tag,
      [](parts& p) {
        p.sizes = p.m.int32s({2, -3});
      },
      as_info);
  add(all, "size_past_2_63", errc::size_overflow, sizes_at + tag + 8, [](parts& p) {
    p.sizes = p.m.element(test::mi_uint64, p.m.list<std::uint64_t>({2, 9223372036854775808u}));
  });
  add(all, "rows_past_int32", errc::size_overflow, flags_at, [](parts& p) {
    p.sizes = p.m.element(mi_uint32, p.m.list<std::uint32_t>({2147483648u, 3}));
  });
  add(all, "no_name", errc::truncated, name_at, [](parts& p) { p.name = p.ir = p.jc = p.pr = ""; });
  add(all, "name_of_numbers", errc::parse_error, name_at + tag, [](parts& p) { p.name = p.m.int32s({65, 66}); });
  add(all, "name_of_300_bytes", errc::parse_error, flags_at,
      [&](parts& p) { p.name = text(p, std::string(300, 'a')); });
  add(all, "name_of_8_kib", errc::parse_error, flags_at, [&](parts& p) { p.name = text(p, std::string(8192, 'a')); });
  add(all, "name_beyond_the_variable", errc::truncated, name_at,
      [](parts& p) { p.name = p.m.tag(mi_int8, 1000) + "A"; });
  return all;
}

std::vector<malformed> matrices() {
  std::vector<malformed> all;
  add(all, "no_rows", errc::truncated, ir_at, [](parts& p) { p.ir = p.jc = p.pr = ""; });
  add(all, "no_pointers", errc::truncated, jc_at, [](parts& p) { p.jc = p.pr = ""; });
  add(all, "no_values", errc::truncated, pr_at, [](parts& p) { p.pr = ""; });
  add(
      all, "no_values_for_its_head", errc::truncated, pr_at, [](parts& p) { p.pr = ""; }, as_info);
  add(all, "rows_of_reals", errc::parse_error, ir_at + tag, [](parts& p) { p.ir = p.m.doubles({1}); });
  add(all, "rows_of_half_a_number", errc::parse_error, ir_at + tag,
      [](parts& p) { p.ir = p.m.element(mi_int32, "1234567"); });
  add(all, "pointers_of_reals", errc::parse_error, jc_at + tag, [](parts& p) { p.jc = p.m.doubles({0, 1}); });
  add(all, "matrix_for_values", errc::parse_error, pr_at + tag, [](parts& p) { p.pr = p.m.element(mi_matrix, p.pr); });
  add(all, "compressed_values", errc::parse_error, pr_at + tag, [](parts& p) { p.pr = p.m.compressed(p.pr); });
  add(all, "values_of_half_a_number", errc::parse_error, pr_at + tag,
      [](parts& p) { p.pr = p.m.element(mi_double, "twelve bytes"); });
  add(all, "values_beyond_the_variable", errc::truncated, pr_at,
      [](parts& p) { p.pr = p.m.tag(mi_double, 1 << 30) + p.pr; });
  add(all, "rows_that_swallow_the_rest", errc::truncated, end_at, [](parts& p) {
    p.ir = p.m.tag(mi_int32, 8 + 24 + 24) + p.m.list<std::int32_t>({1, 0});
  });
  add(all, "one_pointer_too_few", errc::invalid_format, jc_at + tag, [](parts& p) { p.jc = p.m.int32s({0, 1, 2}); });
  add(all, "one_pointer_too_many", errc::invalid_format, jc_at + tag, [](parts& p) {
    p.jc = p.m.int32s({0, 1, 1, 2, 2});
  });
  add(all, "empty_pointers", errc::invalid_format, jc_at + tag, [](parts& p) { p.jc = p.m.int32s({}); });
  add(all, "pointers_of_two_thousand_million_columns", errc::invalid_format, jc_at + tag, [](parts& p) {
    p.sizes = p.m.int32s({2147483647, 2147483647});
  });
  add(all, "pointers_begin_at_1", errc::invalid_format, jc_at + tag, [](parts& p) { p.jc = p.m.int32s({1, 1, 1, 2}); });
  add(all, "pointers_begin_below_0", errc::invalid_format, jc_at + tag, [](parts& p) {
    p.jc = p.m.int32s({-1, 1, 1, 2});
  });
  add(all, "pointers_fall", errc::invalid_format, jc_at + tag + 8, [](parts& p) { p.jc = p.m.int32s({0, 2, 1, 2}); });
  add(all, "pointers_fall_at_the_end", errc::invalid_format, jc_at + tag + 12, [](parts& p) {
    p.jc = p.m.int32s({0, 1, 1, -2147483647});
  });
  add(all, "pointers_past_2_63", errc::size_overflow, jc_at + tag + 24, [](parts& p) {
    p.jc = p.m.element(test::mi_uint64, p.m.list<std::uint64_t>({0, 1, 1, 18446744073709551615u}));
  });
  add(all, "pointers_beyond_the_rows", errc::invalid_format, ir_at + tag, [](parts& p) {
    p.jc = p.m.int32s({0, 1, 1, 3});
  });
  add(all, "pointers_far_beyond_the_rows", errc::invalid_format, ir_at + tag, [](parts& p) {
    p.jc = p.m.int32s({0, 1, 1, 2147483647});
  });
  add(all, "pointers_beyond_the_values", errc::invalid_format, pr_at + tag, [](parts& p) { p.pr = p.m.doubles({1}); });
  add(all, "row_beyond", errc::index_out_of_range, ir_at + tag + 4, [](parts& p) { p.ir = p.m.int32s({1, 2}); });
  add(
      all, "row_beyond_as_csr", errc::index_out_of_range, ir_at + tag,
      [](parts& p) {
        p.ir = p.m.int32s({9, 0});
      },
      test::as_csr);
  add(all, "negative_row", errc::index_out_of_range, ir_at + tag, [](parts& p) { p.ir = p.m.int32s({-1, 0}); });
  add(all, "row_past_2_32", errc::index_out_of_range, jc_at, [](parts& p) {
    p.ir = p.m.element(test::mi_int64, p.m.list<std::int64_t>({1, 4294967296}));
  });
  add(all, "row_past_2_63", errc::index_out_of_range, ir_at + tag, [](parts& p) {
    p.ir = p.m.element(test::mi_uint64, p.m.list<std::uint64_t>({18446744073709551615u, 0}));
  });
  add(all, "rows_of_an_empty_matrix", errc::index_out_of_range, ir_at + tag, [](parts& p) {
    p.sizes = p.m.int32s({0, 3});
  });
  add(
      all, "past_fp32", errc::value_out_of_range, pr_at + tag + 8,
      [](parts& p) {
        p.pr = p.m.doubles({1, -1e39});
      },
      as_fp32);
  add(all, "duplicates_overflow", errc::value_out_of_range, -1, [](parts& p) {
    p.ir = p.m.int32s({1, 1});
    p.jc = p.m.int32s({0, 2, 2, 2});
    p.pr = p.m.doubles({1e308, 1e308});
  });
  add(all, "complex", errc::unsupported, flags_at, [](parts& p) {
    p.flags = p.m.element(mi_uint32, p.m.list<std::uint32_t>({mx_sparse | test::flag_complex, 2}));
    p.pr += p.m.doubles({7, 7});
  });
  add(all, "logical_with_too_few_bytes", errc::parse_error, pr_at + tag, [](parts& p) {
    p.flags = p.m.element(mi_uint32, p.m.list<std::uint32_t>({mx_sparse | test::flag_logical, 2}));
    p.pr = p.m.element(mi_double, "\1");
  });
  return all;
}

malformed of_member(std::string name, const std::string& variables, std::string member, errc code, std::int64_t byte) {
  read_options options;
  options.member = std::move(member);
  return {std::move(name), mat_maker{}.file(variables), code, byte, as_fp64, options};
}

std::vector<malformed> structs() {
  const mat_maker m;
  const std::string inner = m.sparse("", {1, 1}, {0}, {0, 1}, {1});
  const std::string number = m.array(m.head(test::mx_double, {1, 1}, "") + m.doubles({1}));
  const auto file = [&](const std::string& variables) { return m.file(variables); };
  const auto names = [&](const std::string& length, const std::string& text) {
    return m.array(m.head(test::mx_struct, {1, 1}, "S") + length + text + inner);
  };
  const std::string eight = m.small(mi_int32, m.list<std::int32_t>({8}));
  const std::int64_t names_at = name_at + 16;
  // Cells one in the other, each with a tag of 8, flags, sizes and name of 40 bytes.
  std::string nest = inner;
  for (int depth = 0; depth < 40; ++depth) nest = m.cell("", {1, 1}, {nest});
  std::string deep_names = inner;
  for (int depth = 0; depth < 20; ++depth) {
    deep_names = m.array(m.head(test::mx_struct, {1, 1}, "S") + m.small(mi_int32, m.list<std::int32_t>({128})) +
                         m.element(mi_int8, std::string(128, 'n')) + deep_names);
  }
  const std::string dense = m.array(m.head(test::mx_double, {2, 2}, "D") + m.doubles({1, 2, 3}));
  const std::string huge_dense = m.array(m.head(test::mx_double, {2147483647, 2147483647}, "D") + m.doubles({1}));
  const std::string complex_dense =
      m.array(m.head(test::mx_double | test::flag_complex, {1, 1}, "D") + m.doubles({1}) + m.doubles({2}));
  const std::string overflowing = m.array(m.head(test::mx_double, {1, 1}, "D") + m.element(mi_int8, ""));
  return {
      {"struct_without_field_names", file(m.array(m.head(test::mx_struct, {1, 1}, "S"))), errc::truncated, names_at},
      {"field_names_of_length_0", file(names(m.small(mi_int32, m.list<std::int32_t>({0})), m.element(mi_int8, "f"))),
       errc::parse_error, names_at + 4},
      {"field_names_of_negative_length",
       file(names(m.small(mi_int32, m.list<std::int32_t>({-8})), m.element(mi_int8, "f"))), errc::parse_error,
       names_at + 4},
      {"field_names_of_huge_length",
       file(names(m.small(mi_int32, m.list<std::int32_t>({2147483647})), m.element(mi_int8, "f"))), errc::parse_error,
       names_at + 4},
      {"field_names_of_two_lengths", file(names(m.int32s({8, 8}), m.element(mi_int8, "f"))), errc::parse_error,
       names_at + tag},
      {"field_names_of_a_length_in_words", file(names(m.element(test::mi_utf8, "eight"), m.element(mi_int8, "f"))),
       errc::parse_error, names_at + tag},
      {"field_names_that_cannot_be_cut", file(names(eight, m.element(mi_int8, "nine byte"))), errc::parse_error,
       names_at + 4},
      {"field_names_of_numbers", file(names(eight, m.int32s({1, 2}))), errc::parse_error, names_at + tag + tag},
      {"one_field_missing", file(m.structure("S", {1, 1}, {"a", "b"}, {number})), errc::truncated,
       names_at + 8 + 8 + 16 + size_of(number)},
      {"numbers_for_a_field", file(m.structure("S", {1, 1}, {"a"}, {m.doubles({1})})), errc::parse_error,
       names_at + 8 + 8 + 8 + tag},
      {"compressed_field", file(m.structure("S", {1, 1}, {"a"}, {m.compressed(number)})), errc::parse_error,
       names_at + 8 + 8 + 8 + tag},
      {"field_longer_than_its_struct",
       file(m.structure("S", {1, 1}, {"a"}, {m.tag(mi_matrix, 1000) + number.substr(8)})), errc::truncated,
       names_at + 8 + 8 + 8},
      {"array_of_all_the_structs_there_could_be", file(m.structure("S", {2147483647, 2147483647}, {"a"}, {number})),
       errc::truncated, names_at + 8 + 8 + 8 + size_of(number)},
      {"array_of_more_structs_than_63_bits",
       file(m.structure("S", {2147483647, 2147483647, 2147483647}, {"a"}, {number})), errc::size_overflow, flags_at},
      {"cells_of_more_than_63_bits", file(m.cell("C", {2147483647, 2147483647, 3, 2}, {inner})), errc::size_overflow,
       flags_at},
      {"cell_without_its_elements", file(m.cell("C", {1000000, 1000}, {inner})), errc::truncated,
       name_at + 16 + size_of(inner)},
      {"forty_cells_one_in_another", file(nest), errc::unsupported, header + tag + 32 * (tag + 40)},
      {"names_of_2560_characters", file(deep_names), errc::unsupported, header + tag + 8 * (tag + 48 + 8 + 8 + 128)},
      {"forty_cells_compressed", file(m.compressed(nest)), errc::unsupported, header + tag},
      of_member("dense_of_three_values", dense, "D", errc::invalid_format, name_at + 16 + tag),
      of_member("dense_of_2_62_values", huge_dense, "D", errc::invalid_format, name_at + 16 + tag),
      of_member("dense_of_none", overflowing, "D", errc::invalid_format, name_at + 16 + tag),
      of_member("complex_dense", complex_dense, "D", errc::unsupported, flags_at),
      of_member("the_same_name_twice",
                m.sparse("A", {1, 1}, {0}, {0, 1}, {1}) + m.sparse("A", {1, 1}, {0}, {0, 1}, {2}), "A",
                errc::invalid_argument, -1),
  };
}

std::vector<malformed> compressed() {
  const mat_maker m;
  const std::string sparse = m.sparse("A", {2, 3}, {1, 0}, {0, 1, 1, 2}, {-2, 1.5});
  const std::string stream = test::zlib_stream(sparse);
  const auto file = [&](const std::string& stored) { return m.file(m.element(test::mi_compressed, stored)); };
  const auto flipped = [&](std::size_t at) {
    std::string bytes = stream;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    return bytes;
  };
  const auto of = [&](const std::string& content) { return file(test::zlib_stream(content)); };
  const std::string zeros(std::size_t{64} << 20, '\0');
  const std::string fewer_zeros(std::size_t{4} << 20, '\0');
  const auto bomb = [&](const std::string& data) {
    return m.compressed(m.array(m.head(mx_sparse, {2, 3}, "A") + m.element(mi_int32, data)));
  };
  // A header of a few bytes, for 4 GiB that do not exist.
  const std::string liar = m.tag(mi_matrix, 0xfffffff0) + m.head(mx_sparse, {2, 3}, "A");
  const std::string cells = m.compressed(
      m.cell("C", {8, 1}, {m.array(m.head(test::mx_double, {1, 1}, "x") + m.element(mi_int8, fewer_zeros))}));
  read_options small, low, high, stop;
  small.max_expanded_bytes = 3'000'000;
  low.max_expansion_ratio = 100;
  high.max_expansion_ratio = 1e9;
  int told = 0;
  stop.progress = [told](std::int64_t, std::int64_t) mutable { return told++ == 0; };
  const std::int64_t at = header + tag;
  std::string bad_pointer = m.sparse("A", {2, 3}, {1, 0}, {0, 2, 1, 2}, {-2, 1.5});
  return {
      {"no_stream", file(""), errc::truncated, at},
      {"one_byte", file("x"), errc::truncated, at},
      {"no_zlib_header", file("no zlib stream"), errc::corrupt_compression, at},
      {"header_checksum", file(flipped(1)), errc::corrupt_compression, at},
      {"block_type", file("\x78\xda\x07" + stream.substr(3)), errc::corrupt_compression, at},
      {"checksum", file(flipped(stream.size() - 1)), errc::corrupt_compression, at},
      {"checksum_cut_off", file(cut(stream, 4)), errc::truncated, at},
      {"half_of_it", file(cut(stream, stream.size() / 2)), errc::truncated, at},
      {"stream_beyond_the_file", m.file(m.tag(test::mi_compressed, stream.size() + 1) + stream), errc::truncated,
       header},
      {"nothing_in_it", of(""), errc::truncated, at},
      {"half_a_tag_in_it", of(sparse.substr(0, 4)), errc::truncated, at},
      {"numbers_in_it", of(m.doubles({1, 2})), errc::parse_error, at},
      {"compressed_in_it", of(m.compressed(sparse)), errc::parse_error, at},
      {"less_than_it_announces", of(cut(sparse, 8)), errc::truncated, at},
      {"more_than_it_announces", of(sparse + "more"), errc::trailing_data, at},
      {"part_longer_than_it", of(m.array(m.head(mx_sparse, {2, 3}, "A") + m.tag(mi_int32, 1 << 30))), errc::truncated,
       at},
      {"falling_pointers_in_it", m.file(m.compressed(bad_pointer)), errc::invalid_format, at},
      {"bomb", m.file(bomb(zeros)), errc::decompression_limit, at},
      {"bomb_by_ratio", m.file(bomb(fewer_zeros)), errc::decompression_limit, at, as_fp64, low},
      {"bomb_by_size", m.file(bomb(fewer_zeros)), errc::decompression_limit, at, as_fp64, small},
      {"bomb_in_a_cell", m.file(cells), errc::decompression_limit, at, as_fp64, low},
      {"announces_4_gib", of(liar), errc::decompression_limit, at},
      {"announces_4_gib_with_no_limit", of(liar), errc::truncated, at, as_fp64, high},
      {"cancelled_while_it_expands", m.file(bomb(fewer_zeros)), errc::cancelled, at, as_fp64, stop},
  };
}

/// Matrices that are not as MATLAB writes them.
std::vector<malformed> hdf5_matrices() {
  const std::string bytes = test::bytes_of(test::fixture("v7_3_bad.mat.gz"));
  const std::string plain = test::gunzipped(bytes);
  const auto bad = [&](std::string name, errc code, test::reader read = as_fp64) {
    read_options options;
    options.member = name;
    return malformed{"hdf5_" + std::move(name), bytes, code, -1, std::move(read), options};
  };
  std::vector<malformed> all{
      bad("no_jc", errc::parse_error),
      bad("falling_jc", errc::invalid_format),
      bad("falling_jc", errc::invalid_format, as_info),
      bad("negative_jc", errc::invalid_format),
      bad("late_jc", errc::invalid_format),
      bad("real_jc", errc::parse_error),
      bad("two_dimensional_jc", errc::invalid_format),
      bad("row_beyond", errc::index_out_of_range),
      bad("no_ir", errc::invalid_format),
      bad("real_ir", errc::parse_error),
      bad("short_data", errc::invalid_format),
      bad("text_for_data", errc::unsupported),
      bad("text_for_rows", errc::parse_error),
      bad("negative_rows", errc::value_out_of_range),
      bad("past_int32", errc::size_overflow),
      bad("nowhere", errc::truncated),
      bad("bomb", errc::decompression_limit),
      {"hdf5_circle", bytes, errc::unsupported},
      {"hdf5_cut_short", cut(plain, plain.size() / 2), errc::parse_error},
      {"hdf5_cut_to_its_header", plain.substr(0, 520), errc::parse_error},
  };
  all[2].name += "_for_its_head";
  return all;
}

class MalformedMat : public testing::TestWithParam<malformed> {};

TEST_P(MalformedMat, IsRefusedWithCodeAndPlace) { test::expect_refused(GetParam(), ".mat"); }

const auto by_name = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(File, MalformedMat, testing::ValuesIn(files()), by_name);
INSTANTIATE_TEST_SUITE_P(Head, MalformedMat, testing::ValuesIn(heads()), by_name);
INSTANTIATE_TEST_SUITE_P(Matrix, MalformedMat, testing::ValuesIn(matrices()), by_name);
INSTANTIATE_TEST_SUITE_P(Struct, MalformedMat, testing::ValuesIn(structs()), by_name);
INSTANTIATE_TEST_SUITE_P(Compressed, MalformedMat, testing::ValuesIn(compressed()), by_name);
#if BCSC_WITH_HDF5
INSTANTIATE_TEST_SUITE_P(Hdf5, MalformedMat, testing::ValuesIn(hdf5_matrices()), by_name);
#else
TEST(MalformedHdf5, IsRefused) { GTEST_SKIP() << hdf5_matrices().size() << " matrices: this build has no HDF5"; }
#endif

/// A file cut anywhere is refused, but where a whole variable or none at all is left.
TEST(TruncatedMat, IsRefusedAtEveryLength) {
  const test::temporary_folder folder;
  const mat_maker m;
  const parts p;
  const std::string variable = p.array();
  for (const std::string& stored : {variable, m.compressed(variable)}) {
    const std::string whole = m.file(stored);
    for (std::size_t size = 6; size < whole.size(); ++size) {
      read_options options;
      options.format = file_format::mat;
      const auto caught =
          test::error_of(as_fp64, folder.file("cut.mat", std::string_view(whole).substr(0, size)), options);
      ASSERT_TRUE(caught.has_value()) << size;
      EXPECT_EQ(to_string(caught->code()), to_string(size == 128 ? errc::unsupported : errc::truncated))
          << size << ": " << caught->what();
      EXPECT_EQ(caught->where().byte, size <= 128 ? -1 : header) << size;
    }
  }
}

/// Whatever byte is wrong: an error of the library or a matrix that holds its invariants, never anything else.
TEST(DamagedMat, IsRefusedOrReadAtEveryByte) {
  const test::temporary_folder folder;
  const mat_maker m;
  const std::string variables =
      m.structure("S", {1, 2}, {"a", "b"},
                  {m.sparse("", {2, 3}, {1, 0}, {0, 1, 1, 2}, {-2, 1.5}), m.cell("", {0, 0}, {}), m.tag(mi_matrix, 0),
                   m.array(m.head(test::mx_char, {1, 2}, "") + m.small(test::mi_utf8, "ab"))});
  const std::string whole = m.file(variables);
  int num_refused = 0;
  for (std::size_t at = 124; at < whole.size(); ++at) {
    constexpr std::array<char, 4> flips{'\x01', '\x80', '\xff', '\x04'};
    for (const char flip : flips) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      read_options options;
      options.format = file_format::mat;
      try {
        validate(viewed(read_coo<double>(folder.file("damaged.mat", bytes), options)));
      } catch (const error& caught) {
        ++num_refused;
        EXPECT_NE(caught.code(), errc::internal) << at << ": " << caught.what();
      }
    }
  }
  EXPECT_GT(num_refused, static_cast<int>(whole.size()));
}

}  // namespace
}  // namespace bcsc
