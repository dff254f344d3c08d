#include "test/unit/text_files_support.hpp"

/// LIBSVM files: what is accepted, what is refused, and that the writer's files read back equal.

namespace bcsc {
namespace {

using namespace test;

const sparse_case small{"small", 3, 4, {{0, 0, 0.5}, {0, 3, -2}, {2, 1, 3}}};
const std::string small_text = "+1 1:0.5 4:-2\n-1\n2.5 2:3\n";
const std::vector<double> small_labels{1, -1, 2.5};

std::vector<wanted_file> accepted() {
  const auto same = [](std::string name, std::string bytes) {
    return wanted_file{std::move(name), std::move(bytes), small};
  };
  return {
      same("plain", small_text),
      same("no_final_newline", small_text.substr(0, small_text.size() - 1)),
      same("crlf", "+1 1:0.5 4:-2\r\n-1\r\n2.5 2:3\r\n"),
      same("gzip", gzipped(small_text)),
      same("blanks_and_tabs", "  +1\t1:0.5   4:-2  \n-1   \n2.5\t\t2:3\n"),
      same("blank_lines", "\n+1 1:0.5 4:-2\n\n-1\n  \n2.5 2:3\n\n"),
      same("comments", "# a set\n+1 1:0.5 4:-2 # first\n-1 #second\n2.5 2:3#third 5:7\n  # the end"),
      same("comment_of_three_mebibytes", std::string("#").append(std::size_t{3} << 20, 'x') + "\n" + small_text),
      same("queries", "+1 qid:3 1:0.5 4:-2\n-1 qid:3\n2.5 qid:12 2:3\n"),
      same("fortran_exponents_and_signs", "1D0 +1:+5D-1 4:-2.0e0\n-1\n2.5 02:3.\n"),
      {"indices_from_0", "1 0:0.5 3:-2\n-1\n1 1:3\n", small, {.index_base = 0}},
      {"indices_from_1_by_request", small_text, small, {.index_base = 1}},
      {"columns_asked_for", small_text, {"", 3, 9, small.entries}, {.cols = 9}},
      {"just_the_columns_it_has", small_text, small, {.cols = 4}},
      {"columns_of_labels_alone", "1\n2\n", {"", 2, 7, {}}, {.cols = 7}},
      {"explicit_zeros", "1 1:0 2:-0\n", {"", 1, 2, {{0, 0, 0.0}, {0, 1, -0.0}}}},
      {"labels_alone", "1\n-1\n", {"", 2, 0, {}}},
      {"nothing", "", {"", 0, 0, {}}},
      {"comments_alone", "# nothing\n\n", {"", 0, 0, {}}},
  };
}

class AcceptedLibsvm : public testing::TestWithParam<wanted_file> {};
TEST_P(AcceptedLibsvm, IsReadAsItsMatrix) { expect_read(GetParam(), "data.libsvm"); }
INSTANTIATE_TEST_SUITE_P(Files, AcceptedLibsvm, testing::ValuesIn(accepted()), by_name);

TEST(Libsvm, GivesItsLabels) {
  const temporary_folder folder;
  const auto path = folder.file("data", small_text);  // read_libsvm needs no extension
  const auto single = read_libsvm<float, std::int64_t>(path);
  EXPECT_EQ(single.labels, small_labels);
  expect_same_bits(csr_of<float, std::int64_t>(small), single.matrix, "fp32");
  const auto twice = read_libsvm<double>(path, {.cols = 6});
  EXPECT_EQ(twice.labels, small_labels);
  EXPECT_EQ(twice.matrix.cols(), 6);
}

TEST(Libsvm, HeaderIsCountedFromTheFile) {
  const temporary_folder folder;
  const file_info info = read_file_info(folder.file("a.svm", small_text));
  EXPECT_EQ(info.format, file_format::libsvm);
  EXPECT_EQ(info.rows, 3);
  EXPECT_EQ(info.cols, 4);
  EXPECT_EQ(info.stored_entries, 3);
  EXPECT_EQ(info.field, file_field::real);
}

TEST(Libsvm, IsRecognisedByItsName) {
  const temporary_folder folder;
  for (const char* name : {"a.libsvm", "a.svm", "a.SVMLIGHT", "a.libsvm.gz"}) {
    EXPECT_EQ(read_file_info(folder.file(name, small_text)).format, file_format::libsvm) << name;
  }
  EXPECT_EQ(read_csr<double>(folder.file("a.t", small_text), {.format = file_format::libsvm}).nnz(), 3);
}

/// A row of many megabytes.
TEST(Libsvm, HasLinesOfAnyLength) {
  constexpr std::int64_t cols = 600'000;
  sparse_case wanted{"long", 1, cols, {}};
  std::string text = "1";
  for (std::int64_t j = 0; j < cols; ++j) {
    wanted.entries.push_back({0, j, static_cast<double>(j % 17)});
    text.append(" ").append(std::to_string(j + 1)).append(":").append(std::to_string(j % 17));
  }
  ASSERT_GT(text.size(), std::size_t{4} << 20);
  const temporary_folder folder;
  expect_same_bits(csr_of<float>(wanted), read_csr<float>(folder.file("long.svm", text)), "plain");
  expect_same_bits(csr_of<float>(wanted), read_csr<float>(folder.file("long.svm.gz", gzipped(text))), "gzip");
}

// --- What is refused ------------------------------------------------------------------------------------------------

std::vector<malformed_file> refused() {
  const auto line = [](std::string second) { return "+1 1:0.5 4:-2\n" + second + "\n2.5 2:3\n"; };
  return {
      {"no_label", line("1:2 2:3"), errc::parse_error, 2},
      {"no_label_after_a_blank", line(" 1:2 2:3"), errc::parse_error, 2},
      {"no_label_for_the_header", line("1:2 2:3"), errc::parse_error, 2, as_info},
      {"word_for_a_label", line("yes 1:2"), errc::parse_error, 2},
      {"several_labels", line("1,3 1:2"), errc::unsupported, 2},
      {"label_that_overflows", line("1e999 1:2"), errc::value_out_of_range, 2},
      {"nan_for_a_label", line("nan 1:2"), errc::value_out_of_range, 2},
      {"index_alone", line("1 2"), errc::parse_error, 2},
      {"index_and_value_apart", line("1 2: 3"), errc::parse_error, 2},
      {"colon_apart", line("1 2 :3"), errc::parse_error, 2},
      {"no_value", line("1 2:"), errc::parse_error, 2},
      {"no_index", line("1 :3"), errc::parse_error, 2},
      {"two_colons", line("1 2:3:4"), errc::parse_error, 2},
      {"word_for_an_index", line("1 two:3"), errc::parse_error, 2},
      {"real_index", line("1 2.0:3"), errc::parse_error, 2},
      {"index_with_a_tail", line("1 2x:3"), errc::parse_error, 2},
      {"word_for_a_value", line("1 2:three"), errc::parse_error, 2},
      {"value_with_a_tail", line("1 2:3abc"), errc::parse_error, 2},
      {"comma_between", line("1 2:3,3:4"), errc::parse_error, 2},
      {"index_0", line("1 0:3"), errc::index_out_of_range, 2},
      {"index_0_by_request_of_1", line("1 0:3"), errc::index_out_of_range, 2, as_fp64, {.index_base = 1}},
      {"negative_index", line("1 -2:3"), errc::index_out_of_range, 2},
      {"negative_index_from_0", line("1 -1:3"), errc::index_out_of_range, 2, as_fp64, {.index_base = 0}},
      {"index_below_minus_2_64", line("1 -18446744073709551615:3"), errc::index_out_of_range, 2},
      {"index_past_int32", line("1 2147483648:3"), errc::size_overflow, 2},
      {"index_past_int32_from_0", line("1 2147483647:3"), errc::size_overflow, 2, as_fp64, {.index_base = 0}},
      {"index_past_2_63", line("1 9223372036854775808:3"), errc::size_overflow, 2, as_fp64_int64},
      {"index_past_2_64", line("1 18446744073709551617:3"), errc::size_overflow, 2, as_fp64_int64},
      {"columns_past_2_63_from_0",
       line("1 9223372036854775807:3"),
       errc::size_overflow,
       2,
       as_fp64_int64,
       {.index_base = 0}},
      {"index_past_2_64_for_the_header", line("1 18446744073709551617:3"), errc::size_overflow, 2, as_info},
      {"index_beyond_the_columns_asked_for", line("1 5:3"), errc::index_out_of_range, 2, as_fp64, {.cols = 4}},
      {"index_past_2_64_with_columns_asked_for",
       line("1 18446744073709551617:3"),
       errc::index_out_of_range,
       2,
       as_fp64,
       {.cols = 4}},
      {"decreasing_indices", line("1 3:1 2:1"), errc::structure_violation, 2},
      {"one_index_twice", line("1 2:1 2:1"), errc::structure_violation, 2},
      {"one_index_twice_for_the_header", line("1 2:1 2:1"), errc::structure_violation, 2, as_info},
      {"query_behind_the_entries", line("1 2:1 qid:3"), errc::parse_error, 2},
      {"two_queries", line("1 qid:2 qid:3 2:1"), errc::parse_error, 2},
      {"word_for_a_query", line("1 qid:two 2:1"), errc::parse_error, 2},
      {"query_without_number", line("1 qid: 2:1"), errc::parse_error, 2},
      {"overflow", line("1 2:1e999"), errc::value_out_of_range, 2},
      {"past_fp32", line("1 2:1e39"), errc::value_out_of_range, 2, as_fp32},
      {"nan", line("1 2:nan"), errc::value_out_of_range, 2},
      {"infinity", line("1 2:-inf"), errc::value_out_of_range, 2},
      {"nul", line(std::string("1 2:3\0 3:4", 10)), errc::parse_error, 2},
      {"binary", std::string(100'000, '\x01'), errc::parse_error, 1},
      {"token_of_a_mebibyte", line("1 2:" + std::string(std::size_t{1} << 20, '3')), errc::parse_error, 2},
      {"after_comments_and_blank_lines", "# one\n\n# two\r\n1 1:1\n\n1 x\n", errc::parse_error, 6},
      {"index_base_of_2", small_text, errc::invalid_argument, 0, as_fp64, {.index_base = 2}},
      {"negative_columns_asked_for", small_text, errc::invalid_argument, 0, as_fp64, {.cols = -1}},
      {"columns_past_int32_asked_for", small_text, errc::size_overflow, 0, as_fp64, {.cols = std::int64_t{2147483648}}},
      {"gzip_and_text", gzipped(small_text) + "the end", errc::corrupt_compression},
  };
}

class MalformedLibsvm : public testing::TestWithParam<malformed_file> {};
TEST_P(MalformedLibsvm, IsRefusedWithCodeAndLine) { expect_refused(GetParam(), GetParam().name + ".libsvm"); }
INSTANTIATE_TEST_SUITE_P(Files, MalformedLibsvm, testing::ValuesIn(refused()), by_name);

/// The greatest column costs nothing but its number.
TEST(Libsvm, TakesMemoryForItsEntriesOnly) {
  const temporary_folder folder;
  const auto path = folder.file("wide.svm", "1 9223372036854775807:2\n");
  const std::int64_t allocated_before = bytes_allocated;
  const auto a = read_csr<double, std::int64_t>(path);
  EXPECT_LT(bytes_allocated - allocated_before, std::int64_t{16} << 20);
  EXPECT_EQ(a.cols(), 9223372036854775807);
  EXPECT_EQ(a.view().col_ind[0], 9223372036854775806);
}

// --- What is written ------------------------------------------------------------------------------------------------

TEST(WrittenLibsvm, IsALineARow) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.svm";
  write_libsvm(path, csr_of<double>(small), small_labels, {.comment = "three rows\nof four"});
  EXPECT_EQ(bytes_of(path), "# three rows\n# of four\n1 1:0.5 4:-2\n-1\n2.5 2:3\n");
  write_libsvm(path, csr_of<float>(small), {}, {.index_base = 0});
  EXPECT_EQ(bytes_of(path), "0 0:0.5 3:-2\n0\n0 1:3\n");
  const auto large = csr_of<double>({"", 1, 1, {{0, 0, 1e18}}});
  write_libsvm(path, large, {}, {.field = file_field::integer});
  EXPECT_EQ(bytes_of(path), "0 1:1000000000000000000\n");
}

TEST(WrittenLibsvm, ReadsBackEqual) {
  const temporary_folder folder;
  const auto path = folder.path() / "battery.svm";
  for_each_battery_matrix([&]<class T, class I>(const csr_matrix<T, I>& a, const std::string& what) {
    for (const int base : {0, 1}) {
      write_libsvm(path, a, {}, {.index_base = base});
      expect_same_bits(a, read_csr<T, I>(path, {.index_base = base, .cols = a.cols()}), what);
    }
    std::vector<double> labels;
    for (std::int64_t i = 0; i < a.rows(); ++i) labels.push_back(std::ldexp(1.0 / 3, static_cast<int>(i) - 300));
    write_libsvm(path, a, labels);
    const auto read = read_libsvm<T, I>(path, {.cols = a.cols()});
    expect_same_bits(a, read.matrix, what);
    EXPECT_EQ(labels, read.labels) << what;
  });
}

TEST(WrittenLibsvm, KeepsEveryBitOfHardValues) {
  const temporary_folder folder;
  const auto path = folder.path() / "hard.svm.gz";
  write_libsvm(path, hard_values<double>());
  expect_same_bits(hard_values<double>(), read_csr<double>(path), "fp64");
  write_libsvm(path, hard_values<float>());
  expect_same_bits(hard_values<float>(), read_csr<float>(path), "fp32");
}

TEST(WrittenLibsvm, RefusesWhatTheFormatCannotHold) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.svm";
  const auto code = [&](const sparse_case& a, const std::vector<double>& labels, const write_options& options = {}) {
    const errc result = code_of([&] { write_libsvm(path, csr_of<double>(a), labels, options); });
    EXPECT_EQ(folder.num_files(), 0);
    return result;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code({"", 1, 1, {{0, 0, nan}}}, {}), errc::value_out_of_range);
  EXPECT_EQ(code(small, {1, 2}), errc::size_mismatch);
  EXPECT_EQ(code(small, {1, 2, nan}), errc::value_out_of_range);
  EXPECT_EQ(code(small, {}, {.field = file_field::integer}), errc::value_out_of_range);
  EXPECT_EQ(code(small, {}, {.field = file_field::pattern}), errc::invalid_argument);
  EXPECT_EQ(code(small, {}, {.field = file_field::complex}), errc::invalid_argument);
  EXPECT_EQ(code(small, {}, {.symmetry = file_symmetry::symmetric}), errc::invalid_argument);
  EXPECT_EQ(code(small, {}, {.index_base = 2}), errc::invalid_argument);
}

/// A real data set: its published figures, and the way through the writer and back. It has 123 features, and no row
/// here has the last.
TEST(Libsvm, ReadsTheCensusDataSet) {
  const auto folder = matrices_folder();
  if (!folder || !std::filesystem::exists(*folder / "a9a.libsvm.gz")) GTEST_SKIP() << "no a9a.libsvm.gz";
  const auto a9a = read_libsvm<float>(*folder / "a9a.libsvm.gz");
  EXPECT_EQ(a9a.matrix.rows(), 32560);
  EXPECT_EQ(a9a.matrix.cols(), 122);
  EXPECT_EQ(read_csr<float>(*folder / "a9a.libsvm.gz", {.cols = 123}).cols(), 123);
  EXPECT_EQ(a9a.matrix.nnz(), 451578);
  for (const float value : a9a.matrix.view().values) ASSERT_EQ(value, 1.0f);
  for (const double label : a9a.labels) ASSERT_EQ(std::abs(label), 1.0);
  const file_info info = read_file_info(*folder / "a9a.libsvm.gz");
  EXPECT_EQ(info.cols, 122);
  EXPECT_EQ(info.stored_entries, 451578);
  expect_same_bits(a9a.matrix, read_csr<float>(*folder / "a9a.libsvm.gz"), "without labels");

  const temporary_folder written;
  write_libsvm(written.path() / "a9a.svm", a9a.matrix, a9a.labels);
  const auto again = read_libsvm<float>(written.path() / "a9a.svm");
  expect_same_bits(a9a.matrix, again.matrix, "again");
  EXPECT_EQ(a9a.labels, again.labels);
}

}  // namespace
}  // namespace bcsc
