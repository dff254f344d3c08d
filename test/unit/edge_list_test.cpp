#include "test/unit/text_files_support.hpp"

/// Edge lists: what is accepted, what is refused, and that the writer's files read back equal.

namespace bcsc {
namespace {

using namespace test;

const sparse_case small{"small", 4, 4, {{0, 1, 0.5}, {0, 3, -2}, {2, 0, 3}}};
const sparse_case ones{"ones", 4, 4, {{0, 1, 1}, {0, 3, 1}, {2, 0, 1}}};
const std::string small_text = "0 1 0.5\n0 3 -2\n2 0 3\n";
const std::string ones_text = "0 1\n0 3\n2 0\n";

std::vector<wanted_file> accepted() {
  const auto same = [](std::string name, std::string bytes) {
    return wanted_file{std::move(name), std::move(bytes), small};
  };
  const auto pattern = [](std::string name, std::string bytes) {
    return wanted_file{std::move(name), std::move(bytes), ones};
  };
  return {
      same("plain", small_text),
      same("no_final_newline", small_text.substr(0, small_text.size() - 1)),
      same("crlf", "0 1 0.5\r\n0 3 -2\r\n2 0 3\r\n"),
      same("gzip", gzipped(small_text)),
      same("tabs", "0\t1\t0.5\n0\t3\t-2\n2\t0\t3\n"),
      same("commas", "0,1,0.5\n0,3,-2\n2,0,3\n"),
      same("commas_and_blanks", "0, 1, 0.5\n 0 ,3 , -2 \r\n2,\t0,3\n"),
      same("commas_on_some_lines", "0,1,0.5\n0 3 -2\n2,0,3\n"),
      same("byte_order_mark", "\xef\xbb\xbf" + small_text),
      same("comments", "# one\n% two\n0 1 0.5\n  # three\n0 3 -2\n%four\n2 0 3\n# end"),
      same("comment_of_three_mebibytes",
           std::string("%").append(std::size_t{3} << 20, 'x').append("\n").append(small_text)),
      same("blank_lines", "\n0 1 0.5\n\n  \n0 3 -2\n2 0 3\n\n"),
      same("other_order", "2 0 3\n0 3 -2\n0 1 0.5\n"),
      same("signs_and_exponents", "+0 001 5D-1\n0 3 -2.0e+0\n2 0 +3.\n"),
      same("indices_from_1", "1 2 0.5\n1 4 -2\n3 1 3\n"),
      same("weights_are_summed", "0 1 0.25\n0 3 -2\n2 0 3\n0 1 0.25\n"),
      pattern("no_weights", ones_text),
      pattern("no_weights_commas", "0,1\n0,3\n2,0\n"),
      pattern("repetitions_count_once", "0 1\n0 3\n2 0\n0 1\n0 1\n"),
      same("number_of_edges_told", "# Nodes: 4 Edges: 3\n" + small_text),
      same("told_as_snap_does",
           "# Directed graph: a.txt \n# A small graph\n# Nodes: 4\tEdges: 3\n# FromNodeId\tToNodeId\n" + small_text),
      same("both_directions_of_fewer_edges_told", "# Nodes: 4 Edges: 2\n" + small_text),
      same("fewer_nodes_told_than_numbers_reach", "# Nodes: 3 Edges: 3\n" + small_text),
      same("words_for_sizes_are_a_comment", "# Nodes: few Edges: many\n" + small_text),
      same("edges_alone_are_a_comment", "# Edges: 1000\n" + small_text),
      same("sizes_behind_the_first_edge_are_a_comment", "0 1 0.5\n# Nodes: 9 Edges: 1000\n0 3 -2\n2 0 3\n"),
      same("the_last_sizes_count", "# Nodes: 9 Edges: 100\n# Nodes: 4 Edges: 3\n" + small_text),
      {"from_1_by_request", "2 3 0.5\n3 3 1\n", {"", 3, 3, {{1, 2, 0.5}, {2, 2, 1}}}, {.index_base = 1}},
      {"from_0_by_request", "2 3 0.5\n3 3 1\n", {"", 4, 4, {{2, 3, 0.5}, {3, 3, 1}}}, {.index_base = 0}},
      {"isolated_vertices_told", "# Nodes: 6 Edges: 3\n" + small_text, {"", 6, 6, small.entries}},
      {"isolated_vertices_told_from_1", "#Nodes: 5 Edges: 1\n1 2 7\n", {"", 5, 5, {{0, 1, 7}}}},
      {"not_square_told", "% Rows: 3 Cols: 7 Edges: 3\n" + small_text, {"", 3, 7, small.entries}},
      {"not_square_by_request", small_text, {"", 3, 7, small.entries}, {.rows = 3, .cols = 7}},
      {"rows_by_request", small_text, {"", 5, 4, small.entries}, {.rows = 5}},
      {"columns_by_request", small_text, {"", 4, 5, small.entries}, {.cols = 5}},
      {"request_before_comment",
       "# Nodes: 99 Edges: 3\n" + small_text,
       {"", 3, 7, small.entries},
       {.rows = 3, .cols = 7}},
      {"explicit_zeros", "0 0 0\n1 1 -0\n", {"", 2, 2, {{0, 0, 0.0}, {1, 1, -0.0}}}},
      {"nothing", "", {"", 0, 0, {}}},
      {"comments_alone", "# nothing\n", {"", 0, 0, {}}},
      {"sizes_alone", "# Nodes: 3 Edges: 0\n", {"", 3, 3, {}}},
      {"sizes_by_request_alone", "", {"", 2, 3, {}}, {.rows = 2, .cols = 3}},
  };
}

class AcceptedEdgeList : public testing::TestWithParam<wanted_file> {};
TEST_P(AcceptedEdgeList, IsReadAsItsMatrix) { expect_read(GetParam(), "graph.el"); }
INSTANTIATE_TEST_SUITE_P(Files, AcceptedEdgeList, testing::ValuesIn(accepted()), by_name);

/// A pattern's seeded values are drawn line by line; for an edge listed twice the first one stays.
TEST(EdgeList, TakesSeededValuesInTheFilesOrder) {
  const temporary_folder folder;
  const auto el = folder.file("p.el", "2 0\n0 1\n2 0\n1 1\n");
  const auto mtx =
      folder.file("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n3 1\n1 2\n3 3\n2 2\n");
  const read_options seeded{.pattern_seed = 20240607};
  const auto a = read_csr<double>(el, seeded);
  const auto wanted = read_csr<double>(mtx, seeded);  // (2, 2) stands where the file repeats (2, 0)
  ASSERT_EQ(a.nnz(), 3);
  EXPECT_EQ(a.view().values[0], wanted.view().values[0]);
  EXPECT_EQ(a.view().values[1], wanted.view().values[1]);
  EXPECT_EQ(a.view().values[2], wanted.view().values[2]);
  EXPECT_NE(a.view().values[2], 1.0);
}

TEST(EdgeList, HeaderIsCountedFromTheFile) {
  const temporary_folder folder;
  file_info info = read_file_info(folder.file("a.el", "# Nodes: 6 Edges: 3\n" + small_text + "2 0 1\n"));
  EXPECT_EQ(info.format, file_format::edge_list);
  EXPECT_EQ(info.rows, 6);
  EXPECT_EQ(info.cols, 6);
  EXPECT_EQ(info.stored_entries, 4);
  EXPECT_EQ(info.field, file_field::real);
  info = read_file_info(folder.file("b.el", ones_text));
  EXPECT_EQ(info.rows, 4);
  EXPECT_EQ(info.field, file_field::pattern);
}

TEST(EdgeList, IsRecognisedByItsName) {
  const temporary_folder folder;
  for (const char* name : {"a.el", "a.edges", "a.TXT", "a.tsv", "a.csv", "a.txt.gz"}) {
    EXPECT_EQ(read_file_info(folder.file(name, small_text)).format, file_format::edge_list) << name;
  }
  EXPECT_EQ(read_csr<double>(folder.file("a.net", small_text), {.format = file_format::edge_list}).nnz(), 3);
}

// --- What is refused ------------------------------------------------------------------------------------------------

std::vector<malformed_file> refused() {
  const auto line = [](std::string second) { return "0 1 0.5\n" + second + "\n2 0 3\n"; };
  const auto told = [](std::string comment) { return "# a graph\n# " + comment + "\n" + small_text; };
  return {
      {"one_number", line("3"), errc::parse_error, 2},
      {"one_number_first", "3\n0 1\n", errc::parse_error, 1},
      {"one_number_and_the_end", "0 1\n3", errc::truncated, 2},
      {"weight_missing", line("0 3"), errc::parse_error, 2},
      {"weight_missing_for_the_header", line("0 3"), errc::parse_error, 2, as_info},
      {"weight_missing_at_the_end", "0 1 0.5\n0 3", errc::truncated, 2},
      {"weight_among_edges_without", "0 1\n0 3 0.5\n", errc::trailing_data, 2},
      {"four_numbers", line("0 3 1 2"), errc::trailing_data, 2},
      {"four_numbers_first", "0 1 2 3\n", errc::trailing_data, 1},
      {"four_numbers_and_commas", "0,1,2,3\n", errc::trailing_data, 1},
      {"names_of_columns", "source,target\n0,1\n", errc::parse_error, 1},
      {"word_for_a_row", line("zero 3 1"), errc::parse_error, 2},
      {"word_for_a_column", line("0 three 1"), errc::parse_error, 2},
      {"real_index", line("0 3.0 1"), errc::parse_error, 2},
      {"hexadecimal_index", line("0 0x3 1"), errc::parse_error, 2},
      {"word_for_a_weight", line("0 3 heavy"), errc::parse_error, 2},
      {"weight_with_a_tail", line("0 3 1kg"), errc::parse_error, 2},
      {"comment_behind_an_edge", line("0 3 # 1"), errc::trailing_data, 2},
      {"comment_for_a_weight", line("0 3 #1"), errc::parse_error, 2},
      {"nothing_between_commas", line("0,,1"), errc::parse_error, 2},
      {"comma_at_the_front", line(",3,1"), errc::parse_error, 2},
      {"comma_at_the_end", "0,1,\n", errc::parse_error, 1},
      {"commas_alone", line(",,"), errc::parse_error, 2},
      {"blank_and_comma_between", line("0 3,1"), errc::parse_error, 2},
      {"semicolons", line("0;3;1"), errc::parse_error, 2},
      {"nul", line(std::string("0 3 \0", 5)), errc::parse_error, 2},
      {"binary", std::string(100'000, '\x01'), errc::truncated, 1},
      {"endless_line", line("0 3 1" + std::string(std::size_t{3} << 20, ' ')), errc::parse_error, 2},
      {"negative_row", line("-1 3 1"), errc::index_out_of_range, 2},
      {"negative_column", line("0 -3 1"), errc::index_out_of_range, 2},
      {"row_below_minus_2_64", line("-18446744073709551615 3 1"), errc::index_out_of_range, 2},
      {"index_0_where_1_was_asked_for", line("0 3 1"), errc::index_out_of_range, 1, as_fp64, {.index_base = 1}},
      {"row_past_int32", line("2147483648 3 1"), errc::size_overflow, 2},
      {"size_past_int32", line("2147483647 3 1"), errc::size_overflow, 2},
      {"size_past_int32_by_request", line("2147483647 3 1"), errc::size_overflow, 2, as_fp64, {.index_base = 0}},
      {"column_past_2_63", line("0 9223372036854775808 1"), errc::size_overflow, 2, as_fp64_int64},
      {"size_past_2_63", line("0 9223372036854775807 1"), errc::size_overflow, 2, as_fp64_int64},
      {"size_past_2_63_for_the_header", line("0 9223372036854775807 1"), errc::size_overflow, 2, as_info},
      {"column_past_2_64", line("0 18446744073709551617 1"), errc::size_overflow, 2, as_fp64_int64},
      {"overflow", line("0 3 1e999"), errc::value_out_of_range, 2},
      {"past_fp32", line("0 3 1e39"), errc::value_out_of_range, 2, as_fp32},
      {"nan", line("0 3 nan"), errc::value_out_of_range, 2},
      {"infinity", line("0 3 inf"), errc::value_out_of_range, 2},
      {"repetitions_add_up_beyond_the_range", "0 1 1e308\n0 1 1e308\n", errc::value_out_of_range},
      {"fewer_edges_than_told", told("Nodes: 4 Edges: 4"), errc::truncated, 6},
      {"fewer_edges_than_told_for_the_header", told("Nodes: 4 Edges: 4"), errc::truncated, 6, as_info},
      {"ten_to_the_18_edges_told", told("Nodes: 4 Edges: 1000000000000000000"), errc::truncated, 6},
      {"edges_past_2_64_told", told("Nodes: 4 Edges: 18446744073709551617"), errc::size_overflow, 2},
      {"negative_edges_told", told("Nodes: 4 Edges: -3"), errc::value_out_of_range, 2},
      {"negative_nodes_told", told("Nodes: -4 Edges: 3"), errc::value_out_of_range, 2},
      {"nodes_past_int32_told", told("Nodes: 1000000000000000000 Edges: 3"), errc::size_overflow, 2},
      {"nodes_past_2_64_told", told("Nodes: 18446744073709551617 Edges: 3"), errc::size_overflow, 2, as_fp64_int64},
      {"rows_past_int32_told", told("Rows: 2147483648 Cols: 4 Edges: 3"), errc::size_overflow, 2},
      {"fewer_rows_told", told("Rows: 2 Cols: 4 Edges: 3"), errc::index_out_of_range, 5},
      {"fewer_columns_told", told("Rows: 4 Cols: 3 Edges: 3"), errc::index_out_of_range, 4},
      {"fewer_rows_asked_for", small_text, errc::index_out_of_range, 3, as_fp64, {.rows = 2}},
      {"fewer_columns_asked_for", small_text, errc::index_out_of_range, 2, as_fp64, {.cols = 3}},
      {"negative_rows_asked_for", small_text, errc::invalid_argument, 0, as_fp64, {.rows = -1}},
      {"rows_past_int32_asked_for", small_text, errc::size_overflow, 0, as_fp64, {.rows = std::int64_t{2147483648}}},
      {"index_base_of_2", small_text, errc::invalid_argument, 0, as_fp64, {.index_base = 2}},
      {"gzip_and_text", gzipped(small_text) + "the end", errc::corrupt_compression},
      {"a_vertex_of_ten_to_the_18_and_damage", "0 1000000000000000000 1\n0 x 1\n", errc::parse_error, 2, as_fp64_int64},
  };
}

class MalformedEdgeList : public testing::TestWithParam<malformed_file> {};
TEST_P(MalformedEdgeList, IsRefusedWithCodeAndLine) { expect_refused(GetParam(), GetParam().name + ".el"); }
INSTANTIATE_TEST_SUITE_P(Files, MalformedEdgeList, testing::ValuesIn(refused()), by_name);

/// The greatest vertex costs COO nothing but its number, and in CSR is an error rather than a crash.
TEST(EdgeList, TakesMemoryForItsEntriesOnly) {
  const temporary_folder folder;
  const auto path = folder.file("wide.el", "9000000000000000000 1 2\n");
  const std::int64_t allocated_before = bytes_allocated;
  const auto a = read_coo<double, std::int64_t>(path);
  EXPECT_LT(bytes_allocated - allocated_before, std::int64_t{16} << 20);
  EXPECT_EQ(a.rows(), 9000000000000000000);
  EXPECT_EQ(a.view().row_ind[0], 8999999999999999999);
  EXPECT_EQ(code_of([&] { read_csr<double, std::int64_t>(path); }), errc::out_of_memory);
}

// --- What is written ------------------------------------------------------------------------------------------------

TEST(WrittenEdgeList, IsALineAnEntry) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.el";
  write_edge_list(path, csr_of<double>(small), {.comment = "four vertices\nNodes: 1 Edges: 99"});
  EXPECT_EQ(bytes_of(path),
            "# four vertices\n# Nodes: 1 Edges: 99\n# Nodes: 4 Edges: 3\n1\t2\t0.5\n1\t4\t-2\n3\t1\t3\n");
  expect_same_bits(csr_of<double>(small), read_csr<double>(path), "with a comment like sizes");
  write_edge_list(path, csr_of<double>(small), {.field = file_field::pattern, .index_base = 0});
  EXPECT_EQ(bytes_of(path), "# Nodes: 4 Edges: 3\n0\t1\n0\t3\n2\t0\n");
  write_edge_list(path, csr_of<float>({"", 1, 2, {{0, 1, 1e9}}}), {.field = file_field::integer});
  EXPECT_EQ(bytes_of(path), "# Rows: 1 Cols: 2 Edges: 1\n1\t2\t1000000000\n");
}

TEST(WrittenEdgeList, ReadsBackEqual) {
  const temporary_folder folder;
  const auto path = folder.path() / "battery.el";
  for_each_battery_matrix([&]<class T, class I>(const csr_matrix<T, I>& a, const std::string& what) {
    write_edge_list(path, a);
    expect_same_bits(a, read_csr<T, I>(path), what);
    write_edge_list(path, a, {.index_base = 0});
    expect_same_bits(a, read_csr<T, I>(path, {.index_base = 0}), what + ", from 0");
    write_edge_list(path, a, {.field = file_field::pattern});
    expect_same_bits(pattern_of(a), read_csr<T, I>(path), what + ", pattern");
  });
}

TEST(WrittenEdgeList, KeepsEveryBitOfHardValues) {
  const temporary_folder folder;
  const auto path = folder.path() / "hard.el.gz";
  write_edge_list(path, hard_values<double>());
  expect_same_bits(hard_values<double>(), read_csr<double>(path), "fp64");
  write_edge_list(path, hard_values<float>());
  expect_same_bits(hard_values<float>(), read_csr<float>(path), "fp32");
}

TEST(WrittenEdgeList, RefusesWhatTheFormatCannotHold) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.el";
  const auto code = [&](const sparse_case& a, const write_options& options = {}) {
    const errc result = code_of([&] { write_edge_list(path, csr_of<double>(a), options); });
    EXPECT_EQ(folder.num_files(), 0);
    return result;
  };
  EXPECT_EQ(code({"", 1, 1, {{0, 0, std::numeric_limits<double>::quiet_NaN()}}}), errc::value_out_of_range);
  EXPECT_EQ(code(small, {.field = file_field::integer}), errc::value_out_of_range);
  EXPECT_EQ(code(small, {.field = file_field::complex}), errc::invalid_argument);
  EXPECT_EQ(code(small, {.symmetry = file_symmetry::symmetric}), errc::invalid_argument);
  EXPECT_EQ(code(small, {.index_base = -1}), errc::invalid_argument);
}

TEST(WrittenEdgeList, RealMatricesReadBackEqual) {
  const temporary_folder folder;
  for_each_real_matrix([&](const std::filesystem::path& mtx, const std::string& name) {
    const auto a = read_csr<double>(mtx, {.pattern_seed = 3});
    const auto path = folder.path() / (name + ".el");
    write_edge_list(path, a);
    expect_same_bits(a, read_csr<double>(path), name);
    std::filesystem::remove(path);
  });
}

}  // namespace
}  // namespace bcsc
