#include <cmath>
#include <map>

#include "test/support/viewed.hpp"
#include "test/unit/text_files_support.hpp"

/// Rutherford-Boeing and Harwell-Boeing: what is accepted, what is refused, and that the writer's files read back
/// equal.

namespace bcsc {
namespace {

using namespace test;

// --- What is accepted -----------------------------------------------------------------------------------------------

const sparse_case small{"small", 3, 3, {{0, 0, 1.5}, {0, 2, 3.5}, {1, 1, -2.5}, {2, 2, 4.5}}};

/// The lines of `small`, column by column, in the usual columns.
const std::vector<std::string> small_lines{
    "A small matrix                                                          SMALL   ",
    "             3             1             1             1",
    "RUA                        3             3             4             0",
    "(4I4)           (4I4)           (4E12.4)            ",
    "   1   2   3   5",
    "   1   2   1   3",
    "  1.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"};

std::string joined(const std::vector<std::string>& lines, std::string_view end = "\n") {
  std::string text;
  for (const std::string& line : lines) text += line + std::string(end);
  return text;
}

/// `small` with some lines (1-based) replaced.
std::string with(const std::vector<std::pair<std::size_t, std::string>>& replaced) {
  std::vector<std::string> lines = small_lines;
  for (const auto& [line, text] : replaced) lines.at(line - 1) = text;
  return joined(lines);
}

/// The example of the Harwell-Boeing users' guide.
const sparse_case guide{"guide",
                        5,
                        5,
                        {{0, 0, 1},
                         {0, 1, -3},
                         {0, 3, -1},
                         {1, 2, -2},
                         {1, 4, 3},
                         {2, 0, 2},
                         {3, 1, 4},
                         {3, 3, -4},
                         {4, 0, 5},
                         {4, 2, -5},
                         {4, 4, 6}}};

/// The full matrix of `lower` with its transpose times `sign`.
sparse_case expanded(const sparse_case& lower, double sign) {
  std::map<std::pair<std::int64_t, std::int64_t>, double> all;
  for (const triplet& e : lower.entries) {
    all[{e.row, e.col}] = e.value;
    if (e.row != e.col) all[{e.col, e.row}] = sign * e.value;
  }
  sparse_case full{lower.name, lower.rows, lower.cols, {}};
  for (const auto& [at, value] : all) full.entries.push_back({at.first, at.second, value});
  return full;
}

const sparse_case lower{"lower", 3, 3, {{0, 0, 4}, {1, 0, -1}, {2, 1, 0.5}, {2, 2, 3}}};
const sparse_case strict_lower{"strict_lower", 3, 3, {{1, 0, -1}, {2, 0, 0.5}}};

std::vector<wanted_file> accepted() {
  const auto same = [](std::string name, std::string bytes) {
    return wanted_file{std::move(name), std::move(bytes), small};
  };
  const auto values = [&](std::string name, std::string format, std::vector<std::string> lines) {
    std::vector<std::string> file = small_lines;
    file[3] = "(4I4)           (4I4)           " + format;
    file.resize(6);
    file.insert(file.end(), lines.begin(), lines.end());
    return same(std::move(name), joined(file));
  };
  const sparse_case ones{"ones", 3, 3, {{0, 0, 1}, {0, 2, 1}, {1, 1, 1}, {2, 2, 1}}};
  return {
      same("plain", joined(small_lines)),
      same("crlf", joined(small_lines, "\r\n")),
      same("no_final_newline", joined(small_lines).substr(0, joined(small_lines).size() - 1)),
      same("gzip", gzipped(joined(small_lines))),
      same("blank_lines_at_the_end", joined(small_lines) + "\n   \n"),
      same("lower_case_type", with({{3, "rua                        3             3             4             0"}})),
      same("rectangular_by_its_letter",
           with({{3, "RRA                        3             3             4             0"}})),
      same("no_element_count", with({{3, "RUA                        3             3             4"}})),
      same("line_counts_are_not_believed", with({{2, "            99            98            97            96"}})),
      same("empty_title", with({{1, ""}})),
      same("lower_case_formats", with({{4, "(4i4)           (4i4)           (4e12.4)"}})),
      same("formats_without_gaps", with({{4, "(4I4)(4I4)(4E12.4)"}})),
      same("blanks_in_formats", with({{4, "( 4 I 4 )       (4I4)           (4 E 12 . 4)"}})),
      same("touching_integers", with({{4, "(4I1)           (4I1)           (4E12.4)"}, {5, "1235"}, {6, "1213"}})),
      same("a_pointer_a_line", with({{4, "(I4)            (4I4)           (4E12.4)"}, {5, "   1\n   2\n   3\n   5"}})),
      same("integers_with_a_least_number_of_digits", with({{4, "(4I4.1)         (4I4)           (4E12.4)"}})),
      same("two_lines_of_indices", with({{4, "(4I4)           (3I4)           (4E12.4)"}, {6, "   1   2   1\n   3"}})),
      same("repetition_beyond_the_list", with({{4, "(1000000000I4)  (999I4)         (50E12.4)"}})),
      same("skipped_columns", with({{4, "(2X,4I4)        (4(1X,I4),3X)   (4E12.4)"},
                                    {5, "ab   1   2   3   5"},
                                    {6, "    1    2    1    3xyz"}})),
      same("skips_that_follow_one_another", with({{4, "(2(1X),1X,1X,4I4) ((2(1X),4(1X,I4,2X))) (4E12.4)"},
                                                  {5, "abcd   1   2   3   5"},
                                                  {6, "      1      2      1      3"}})),
      same("left_aligned", with({{5, "1   2   3   5"}, {6, "1   2   1   3"}})),
      // The columns of SciPy's hb_write are narrower than its formats.
      values("narrower_columns", "(2E13.4)", {" 1.5000E+00 -2.5000E+00", "  3.5000E+00  4.5000E+00"}),
      values("wider_columns", "(3E11.4)", {"  1.5000E+00   -2.5000E+00    3.5000E+00", "   4.5000E+00"}),
      same("integers_across_columns", with({{4, "(4I3)           (4I2)           (4E12.4)"}})),
      same("unsorted_rows_in_a_column",
           with({{6, "   1   2   3   1"}, {7, "  1.5000E+00 -2.5000E+00  4.5000E+00  3.5000E+00"}})),
      same("duplicates_are_summed", with({{3, "RUA                        3             3             5             0"},
                                          {4, "(4I4)           (5I4)           (5E12.4)"},
                                          {5, "   1   3   4   6"},
                                          {6, "   1   1   2   1   3"},
                                          {7, "  1.0000E+00  0.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"}})),
      same("right_hand_sides_are_skipped",
           with({{2, "             4             1             1             1             1"},
                 {4,
                  "(4I4)           (4I4)           (4E12.4)            (3E12.4)            \n"
                  "F                          1             0"}}) +
               "  1.0000E+00  2.0000E+00  3.0000E+00\n"),
      values("fortran_exponents", "(4D12.4)", {"  1.5000D+00 -2.5000D+00  3.5000d+00  0.4500D+01"}),
      values("no_exponents_letter", "(4E12.4)", {"   1.5000+00  -2.5000+0   350.00-02  4.5000E+00"}),
      values("touching_values", "(4D11.4)", {" 1.5000D+00-2.5000D+00 3.5000D+00+4.5000D+00"}),
      values("scale_factor", "(1P,4D12.4)", {"  1.5000D+00 -2.5000D+00  3.5000D+00  4.5000D+00"}),
      values("scale_factor_without_comma", "(1P4E12.4)", {"  1.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"}),
      values("scale_factor_in_a_group", "(4(1P,E12.4))", {"  1.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"}),
      values("scale_factor_scales_what_has_no_exponent", "(1P,4F8.2)", {"   15.00  -25.00   35.00  4.5E+0"}),
      values("negative_scale_factor", "(-1P,4F8.2)", {"     .15    -.25     .35     .45"}),
      values("group", "(2(2E12.4))", {"  1.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"}),
      values("several_fields", "(E12.4,F6.1)", {"  1.5000E+00  -2.5", "  3.5000E+00   4.5"}),
      values("one_a_line", "(E12.4)", {"  1.5000E+00", " -2.5000E+00", "  3.5000E+00", "  4.5000E+00"}),
      values("exponents_width", "(2E13.4E3)", {"  1.5000E+000 -2.5000E+000", "  3.5000E+000  4.5000E+000"}),
      values("engineering", "(4ES12.4)", {"  1.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"}),
      values("general", "(4G12.4)", {"  1.5000      -2.5000       3.5000       4.5000    "}),
      values("no_decimals_named", "(4E12)", {"  1.5000E+00 -2.5000E+00  3.5000E+00  4.5000E+00"}),
      {"users_guide",
       "1U Example Matrix                                                       EXAMPLE \n"
       "             5             1             1             3             0\n"
       "RUA                        5             5            11             0\n"
       "(6I3)           (11I3)          (5E15.8)            \n"
       "  1  4  6  8 10 12\n"
       "  1  3  5  1  4  2  5  1  4  2  5\n"
       " 1.00000000E+00 2.00000000E+00 5.00000000E+00-3.00000000E+00 4.00000000E+00\n"
       "-2.00000000E+00-5.00000000E+00-1.00000000E+00-4.00000000E+00 3.00000000E+00\n"
       " 6.00000000E+00\n",
       guide},
      {"integers",
       with({{3, "IUA                        3             3             4             0"},
             {4, "(4I4)           (4I4)           (4I4)"},
             {7, "   7  -8   0   9"}}),
       {"", 3, 3, {{0, 0, 7}, {0, 2, 0}, {1, 1, -8}, {2, 2, 9}}}},
      {"integers_for_real_values",
       with({{4, "(4I4)           (4I4)           (4I4)"}, {7, "   7  -8   0   9"}}),
       {"", 3, 3, {{0, 0, 7}, {0, 2, 0}, {1, 1, -8}, {2, 2, 9}}}},
      {"no_decimal_point",
       with({{7, "           7          -8           0           9"}}),
       {"", 3, 3, {{0, 0, 7}, {0, 2, 0}, {1, 1, -8}, {2, 2, 9}}}},
      {"three_digits_of_exponent",
       with({{7, "  1.5000-101 -2.5000-038  3.5000E+00  4.5000D+01"}}),
       {"", 3, 3, {{0, 0, 1.5e-101}, {0, 2, 3.5}, {1, 1, -2.5e-38}, {2, 2, 45}}}},
      {"pattern",
       "pattern\n2 1 1 0\npua 3 3 4 0\n(4I4)           (4I4)\n" + small_lines[4] + "\n" + small_lines[5] + "\n", ones},
      {"symmetric",
       with({{3, "RSA                        3             3             4             0"},
             {5, "   1   3   4   5"},
             {6, "   1   2   3   3"},
             {7, "  4.0000E+00 -1.0000E+00  5.0000E-01  3.0000E+00"}}),
       expanded(lower, 1)},
      {"symmetric_by_its_upper_triangle",
       with({{3, "RSA                        3             3             4             0"},
             {5, "   1   2   3   5"},
             {6, "   1   1   2   3"},
             {7, "  4.0000E+00 -1.0000E+00  5.0000E-01  3.0000E+00"}}),
       expanded(lower, 1)},
      {"skew_symmetric",
       "skew\n3 1 1 1\nrza 3 3 2 0\n(4I4)           (4I4)           (4E12.4)\n   1   3   3   3\n   2   3\n"
       " -1.0000E+00  5.0000E-01\n",
       expanded(strict_lower, -1)},
      {"complex_by_its_real_part",
       "complex\n4 1 1 2\ncua 2 2 2 0\n(4I4)           (4I4)           (2E12.4)\n   1   2   3\n   2   1\n"
       "  1.5000E+00  9.0000E+00\n -2.5000E+00  8.0000E+00\n",
       {"", 2, 2, {{0, 1, -2.5}, {1, 0, 1.5}}},
       {.real_part = true}},
      {"hermitian_by_its_real_part",
       "complex\n4 1 1 2\ncha 2 2 2 0\n(4I4)           (4I4)           (4E12.4)\n   1   3   3\n   1   2\n"
       "  1.5000E+00  0.0000E+00 -2.5000E+00  8.0000E+00\n",
       {"", 2, 2, {{0, 0, 1.5}, {0, 1, -2.5}, {1, 0, -2.5}}},
       {.real_part = true}},
      {"no_entries",
       "none\n1 1 0 0\nrua 3 2 0 0\n(4I4)           (4I4)           (4E12.4)\n   1   1   1\n",
       {"", 3, 2, {}}},
      {"no_entries_but_their_blank_lines",
       "none\n3 1 1 1\nrua 3 2 0 0\n(4I4)           (4I4)           (4E12.4)\n   1   1   1\n\n\n",
       {"", 3, 2, {}}},
      {"no_rows_no_columns",
       "none\n1 1 0 0\nrua 0 0 0 0\n(4I4)           (4I4)           (4E12.4)\n   1\n",
       {"", 0, 0, {}}},
  };
}

class AcceptedRutherfordBoeing : public testing::TestWithParam<wanted_file> {};
TEST_P(AcceptedRutherfordBoeing, IsReadAsItsMatrix) { expect_read(GetParam(), "matrix.rb"); }
INSTANTIATE_TEST_SUITE_P(Files, AcceptedRutherfordBoeing, testing::ValuesIn(accepted()), by_name);

/// The columns of a value are its digits: as a double, to the last bit.
TEST(RutherfordBoeing, RoundsValuesOnce) {
  const temporary_folder folder;
  const auto read_one = [&](const std::string& number) {
    const std::string bytes =
        "one\n3 1 1 1\nrua 1 1 1 0\n(2I2) (I1) (E" + std::to_string(number.size()) + ".16)\n 1 2\n1\n" + number + "\n";
    return viewed(read_coo<double>(folder.file("one.rb", bytes))).values[0];
  };
  EXPECT_EQ(read_one("0.1D+00"), 0.1);
  EXPECT_EQ(read_one("-4.9406564584124654-324"), -std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(read_one("0.17976931348623157+309"), std::numeric_limits<double>::max());
  EXPECT_EQ(read_one("1.0000000000000002220446049250313080847263336181640625"), 1.0000000000000002);
  EXPECT_TRUE(std::signbit(read_one("-0.0")));
}

TEST(RutherfordBoeing, PatternTakesSeededValuesInTheFilesOrder) {
  const temporary_folder folder;
  const auto rb = folder.file("p.rb", "p\n2 1 1 0\npua 2 2 3 0\n(4I4) (4I4)\n   1   3   4\n   1   2   1\n");
  const auto mtx = folder.file("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 1\n1 2\n");
  const read_options seeded{.pattern_seed = 7};
  expect_same_bits(read_csr<double>(mtx, seeded), read_csr<double>(rb, seeded), "fp64");
  expect_same_bits(read_csr<float>(mtx, seeded), read_csr<float>(rb, seeded), "fp32");
  EXPECT_NE(viewed(read_csr<double>(rb, seeded)).values[0], 1.0);
}

TEST(RutherfordBoeing, HeaderIsToldWithoutTheEntries) {
  const temporary_folder folder;
  std::string head = joined(small_lines);
  head.resize(head.find("   1   2   3   5"));  // no entries at all
  file_info info = read_file_info(folder.file("a.rb", head));
  EXPECT_EQ(info.format, file_format::rutherford_boeing);
  EXPECT_EQ(info.rows, 3);
  EXPECT_EQ(info.cols, 3);
  EXPECT_EQ(info.stored_entries, 4);
  EXPECT_EQ(info.field, file_field::real);
  EXPECT_EQ(info.symmetry, file_symmetry::general);
  info = read_file_info(folder.file("b.rb", "c\n9 1 1 1\nCHA 5 5 4 0\n(4I4) (4I4) (E12.4)\n"), {.real_part = true});
  EXPECT_EQ(info.field, file_field::complex);
  EXPECT_EQ(info.symmetry, file_symmetry::hermitian);
}

/// The header identifies it under every name except that of a Matrix Market file.
TEST(RutherfordBoeing, IsRecognisedByItsContent) {
  const temporary_folder folder;
  for (const char* name : {"a.rb", "a.RSA", "a.hb", "a.iua", "a", "a.data", "a.txt", "a.csv", "a.rb.gz"}) {
    const auto path = folder.file(name, joined(small_lines));
    EXPECT_EQ(read_file_info(path).format, file_format::rutherford_boeing) << name;
    EXPECT_EQ(read_csr<double>(path).nnz(), 4) << name;
  }
  EXPECT_EQ(code_of([&] { read_csr<double>(folder.file("a.mtx", joined(small_lines))); }), errc::bad_banner);
  EXPECT_EQ(
      read_csr<double>(folder.file("a.mtx", joined(small_lines)), {.format = file_format::rutherford_boeing}).nnz(), 4);
}

/// As the SuiteSparse collection ships it.
TEST(RutherfordBoeing, IsReadFromItsArchive) {
  const temporary_folder folder;
  const auto path = folder.file(
      "small.tar.gz", gzipped(tarred({{.name = "small", .type = '5'}, {"small/small.rb", joined(small_lines)}})));
  try {
    expect_same_bits(csr_of<double>(small), read_csr<double>(path), "in an archive");
    EXPECT_EQ(read_file_info(path).member, "small/small.rb");
  } catch (const error& caught) {
    if (caught.code() != errc::unsupported) throw;
    GTEST_SKIP() << caught.what();  // a build without libarchive
  }
}

// --- What is refused ------------------------------------------------------------------------------------------------

std::vector<malformed_file> refused() {
  const std::string whole = joined(small_lines);
  const auto type = [](std::string code) {
    return with({{3, code + "                        3             3             4             0"}});
  };
  const auto sizes = [](std::string numbers) { return with({{3, "RUA            " + numbers}}); };
  const auto pointer_format = [](std::string format) { return with({{4, format + " (4I4) (4E12.4)"}}); };
  const auto value_format = [](std::string format) { return with({{4, "(4I4) (4I4) " + format}}); };
  const auto value = [](std::string twelve) {
    return with({{7, "  1.5000E+00 -2.5000E+00" + twelve + "  4.5000E+00"}});
  };
  const std::string hermitian = "h\n4 1 1 2\nCHA 2 2 2 0\n(4I4) (4I4) (4E12.4)\n   1   3   3\n   1   2\n";
  return {
      // The header.
      {"empty_file", "", errc::bad_banner, 1},
      {"empty_file_for_its_header", "", errc::bad_banner, 1, as_info},
      {"title_alone", "a title\n", errc::truncated, 2},
      {"ends_before_the_type", whole.substr(0, whole.find("RUA")), errc::truncated, 3},
      {"ends_before_the_formats", whole.substr(0, whole.find("(4I4)")), errc::truncated, 4},
      {"ends_before_the_formats_for_its_header", whole.substr(0, whole.find("(4I4)")), errc::truncated, 4, as_info},
      {"endless_title", std::string(std::size_t{3} << 20, 'x'), errc::bad_banner, 1},
      {"binary", std::string(5000, '\0'), errc::truncated, 2},
      {"words_for_line_counts", with({{2, "three one one one"}}), errc::parse_error, 2},
      {"negative_line_count", with({{2, "3 1 1 -1"}}), errc::value_out_of_range, 2},
      {"three_line_counts", with({{2, "3 1 1"}}), errc::parse_error, 2},
      {"six_line_counts", with({{2, "3 1 1 1 0 0"}}), errc::trailing_data, 2},
      {"line_count_past_2_63", with({{2, "9223372036854775808 1 1 1"}}), errc::size_overflow, 2},
      {"unknown_values", type("XUA"), errc::bad_banner, 3},
      {"unknown_symmetry", type("RXA"), errc::bad_banner, 3},
      {"unknown_assembly", type("RUX"), errc::bad_banner, 3},
      {"short_type", with({{3, "RU"}}), errc::bad_banner, 3},
      {"blank_type", with({{3, ""}}), errc::bad_banner, 3},
      {"elemental", type("RUE"), errc::unsupported, 3},
      {"elemental_pattern", type("pse"), errc::unsupported, 3},
      {"values_in_another_file", type("QUA"), errc::unsupported, 3},
      {"complex", type("CUA"), errc::unsupported, 3},
      {"complex_for_its_header", type("CUA"), errc::unsupported, 3, as_info},
      {"hermitian", hermitian, errc::unsupported, 3},
      {"real_hermitian", type("RHA"), errc::bad_banner, 3},
      {"skew_pattern", type("PZA"), errc::bad_banner, 3},
      {"negative_rows", sizes("-3 3 4 0"), errc::value_out_of_range, 3},
      {"negative_cols", sizes("3 -3 4 0"), errc::value_out_of_range, 3},
      {"negative_entries", sizes("3 3 -4 0"), errc::value_out_of_range, 3},
      {"real_size", sizes("3.0 3 4 0"), errc::parse_error, 3},
      {"two_sizes", sizes("3 3"), errc::parse_error, 3},
      {"five_sizes", sizes("3 3 4 0 0"), errc::trailing_data, 3},
      {"rows_past_2_63", sizes("9223372036854775808 3 4 0"), errc::size_overflow, 3},
      {"cols_whose_pointers_pass_2_63", sizes("3 9223372036854775807 4 0"), errc::size_overflow, 3},
      {"entries_whose_pointers_pass_2_63", sizes("3 3 9223372036854775807 0"), errc::size_overflow, 3},
      {"rows_past_int32", sizes("2147483648 3 4 0"), errc::size_overflow, 3},
      {"cols_past_int32", sizes("3 2147483648 4 0"), errc::size_overflow, 3},
      {"symmetric_not_square", with({{3, "RSA            4 3 4 0"}}), errc::structure_violation, 3},
      {"skew_not_square", with({{3, "RZA            3 4 4 0"}}), errc::structure_violation, 3},
      {"real_without_value_lines", with({{2, "2 1 1 0"}}), errc::structure_violation, 3},
      {"pattern_with_value_lines", type("PUA"), errc::structure_violation, 3},
      {"right_hand_sides_without_their_line", with({{2, "4 1 1 1 1"}}), errc::bad_banner, 5},
      {"ends_before_the_kind_of_right_hand_sides", "r\n4 1 1 1 1\nRUA 3 3 4 0\n(4I4) (4I4) (4E12.4)\n", errc::truncated,
       5},
      // The formats.
      {"no_formats", with({{4, ""}}), errc::parse_error, 4},
      {"one_format", with({{4, "(4I4)"}}), errc::parse_error, 4},
      {"no_format_of_values", with({{4, "(4I4) (4I4)"}}), errc::parse_error, 4},
      {"no_parentheses", pointer_format("4I4"), errc::parse_error, 4},
      {"zero_width", pointer_format("(0I8)"), errc::parse_error, 4},
      {"fields_without_width", pointer_format("(4I0)"), errc::parse_error, 4},
      {"width_missing", pointer_format("(4I)"), errc::parse_error, 4},
      {"width_of_2000_million", pointer_format("(I2000000000)"), errc::parse_error, 4},
      {"width_past_2_64", pointer_format("(I18446744073709551617)"), errc::parse_error, 4},
      {"repetition_past_2_64", pointer_format("(18446744073709551617I4)"), errc::parse_error, 4},
      {"repetitions_whose_product_passes_2_63", pointer_format("(1000000000(1000000000(1000000000I4)))"),
       errc::parse_error, 4},
      {"a_thousand_million_unequal_fields", pointer_format("(1000000000(I4,1X))"), errc::unsupported, 4},
      {"unequal_fields_to_the_tenth", pointer_format("(99(99(99(99(99(I4,1X))))))"), errc::unsupported, 4},
      {"nested_too_deep", pointer_format(std::string(100, '(') + "I4" + std::string(100, ')')), errc::parse_error, 4},
      {"a_mebibyte_of_parentheses", pointer_format(std::string(900'000, '(')), errc::parse_error, 4},
      {"unclosed", with({{4, "(4I4"}}), errc::parse_error, 4},
      {"empty_format", pointer_format("()"), errc::parse_error, 4},
      {"format_that_skips_only", pointer_format("(4X)"), errc::parse_error, 4},
      {"skip_of_2_to_the_21_columns", pointer_format("(I4,2097152X)"), errc::parse_error, 4},
      {"skips_to_the_tenth", pointer_format("(99(99(99(99(99(1X))))),4I4)"), errc::parse_error, 4},
      {"skip_past_2_64", pointer_format("(I4,18446744073709551617X)"), errc::parse_error, 4},
      {"scale_factor_only", pointer_format("(1P)"), errc::parse_error, 4},
      {"unknown_letter", pointer_format("(4Q4)"), errc::parse_error, 4},
      {"characters", pointer_format("(4A4)"), errc::parse_error, 4},
      {"negative_repetition", pointer_format("(-4I4)"), errc::parse_error, 4},
      {"decimals_missing", value_format("(4E12.)"), errc::parse_error, 4},
      {"fields_before_a_group", value_format("(E12.4,2(E12.4))"), errc::unsupported, 4},
      {"pointers_with_a_real_format", pointer_format("(4E4.1)"), errc::parse_error, 4},
      {"indices_with_a_real_format", with({{4, "(4I4) (4F4.0) (4E12.4)"}}), errc::parse_error, 4},
      {"integers_with_a_real_format", with({{3, "IUA 3 3 4 0"}}), errc::parse_error, 4},
      // The pointers.
      {"ends_after_the_header", whole.substr(0, whole.find("   1   2   3   5")), errc::truncated, 5},
      {"ends_inside_the_pointers", whole.substr(0, whole.find("   1   2   3   5") + 10), errc::truncated, 5},
      {"ends_between_two_pointers", whole.substr(0, whole.find("   1   2   3   5") + 12), errc::truncated, 5},
      {"pointers_too_few_on_a_line", with({{5, "   1   2   3"}}), errc::parse_error, 5},
      {"blank_pointer", with({{5, "   1       3   5"}}), errc::parse_error, 5},
      {"numbers_in_narrower_columns_that_touch",
       with({{4, "(4I4) (4I4) (4E13.4)"}, {7, "  1.5000E+00 -2.5000E+00-3.5000E+00  4.5000E+00"}}), errc::parse_error,
       7},
      {"pointer_too_many", with({{5, "   1   2   3   5   5"}}), errc::trailing_data, 5},
      {"word_for_a_pointer", with({{5, "   1 two   3   5"}}), errc::parse_error, 5},
      {"first_pointer_of_2", with({{5, "   2   2   3   5"}}), errc::structure_violation, 5},
      {"pointer_of_0", with({{5, "   0   2   3   5"}}), errc::index_out_of_range, 5},
      {"negative_pointer", with({{5, "   1  -2   3   5"}}), errc::index_out_of_range, 5},
      {"decreasing_pointers", with({{5, "   1   3   2   5"}}), errc::structure_violation, 5},
      {"pointer_beyond_the_entries", with({{5, "   1   2   6   5"}}), errc::index_out_of_range, 5},
      {"last_pointer_too_small", with({{5, "   1   2   3   4"}}), errc::structure_violation, 5},
      {"pointers_on_an_endless_line",
       with({{4, "(1000000I4) (4I4) (4E12.4)"}, {5, std::string(std::size_t{3} << 20, ' ')}}), errc::parse_error, 5},
      // The row indices.
      {"ends_before_the_indices", whole.substr(0, whole.find("   1   2   1   3")), errc::truncated, 6},
      {"row_0", with({{6, "   1   0   1   3"}}), errc::index_out_of_range, 6},
      {"row_beyond", with({{6, "   1   2   1   4"}}), errc::index_out_of_range, 6},
      {"negative_row", with({{6, "   1  -2   1   3"}}), errc::index_out_of_range, 6},
      {"real_row", with({{6, "   1  2.   1   3"}}), errc::parse_error, 6},
      {"two_rows_in_one_field", with({{6, "   1 2 1   1   3"}}), errc::parse_error, 6},
      {"row_past_2_64", with({{4, "(4I4) (4I24) (4E12.4)"}, {6, "    18446744073709551617"}}), errc::index_out_of_range,
       6},
      {"indices_too_few", with({{6, "   1   2   1"}}), errc::parse_error, 6},
      {"index_too_many", with({{6, "   1   2   1   3   3"}}), errc::trailing_data, 6},
      {"both_triangles", with({{3, "RSA 3 3 4 0"}, {5, "   1   2   4   5"}, {6, "   2   1   2   3"}}),
       errc::structure_violation, 6},
      // The values.
      {"ends_before_the_values", whole.substr(0, whole.find("  1.5000E+00")), errc::truncated, 7},
      {"ends_inside_a_value", whole.substr(0, whole.size() - 4), errc::truncated, 7},
      {"ends_before_the_last_value", whole.substr(0, whole.size() - 13), errc::truncated, 7},
      {"blank_value", value("            "), errc::parse_error, 7},
      {"word_for_a_value", value("      three "), errc::parse_error, 7},
      {"asterisks", value("************"), errc::parse_error, 7},
      {"two_values_in_one_field", value("   1.5  2.5 "), errc::parse_error, 7},
      {"two_points", value("      1.5.0 "), errc::parse_error, 7},
      {"two_exponents", value("  1.5+00+00 "), errc::parse_error, 7},
      {"exponent_without_digits", value("       1.5D "), errc::parse_error, 7},
      {"sign_alone", value("         -  "), errc::parse_error, 7},
      {"hexadecimal", value("       0x1p3"), errc::parse_error, 7},
      {"nan", value("         NaN"), errc::value_out_of_range, 7},
      {"infinity", value("   +Infinity"), errc::value_out_of_range, 7},
      {"overflow", value("  1.5000+999"), errc::value_out_of_range, 7},
      {"past_fp32", value("  1.5000E+39"), errc::value_out_of_range, 7, as_fp32},
      {"integer_past_2_63", with({{3, "IUA 3 3 4 0"}, {4, "(4I4) (4I4) (I20)"}, {7, " 9223372036854775808"}}),
       errc::value_out_of_range, 7},
      {"skew_with_a_diagonal", with({{3, "RZA 3 3 4 0"}, {5, "   1   3   4   5"}, {6, "   1   2   3   3"}}),
       errc::structure_violation, 7},
      {"complex_without_its_last_imaginary_part",
       hermitian + "  1.0000E+00  0.0000E+00\n  1.0000E+00\n",
       errc::parse_error,
       7,
       as_fp64,
       {.real_part = true}},
      {"complex_values_run_out",
       hermitian + "  1.0000E+00  0.0000E+00  1.0000E+00  1.0000E+00\n" + "  1.0000E+00\n",
       errc::trailing_data,
       8,
       as_fp64,
       {.real_part = true}},
      {"text_behind_the_matrix", whole + "\nend\n", errc::trailing_data, 9},
      {"duplicates_add_up_beyond_the_range",
       "d\n3 1 1 1\nrua 1 1 2 0\n(2I2) (2I2) (2E8.1)\n 1 3\n 1 1\n 9.9E307 9.9E307\n", errc::value_out_of_range},
      // What only announces.
      {"a_thousand_million_columns", sizes("3 1000000000 4 0"), errc::structure_violation, 6},
      {"ten_to_the_18_columns", "c\n3 1 0 0\nRUA 3 1000000000000000000 0 0\n(8I2) (I1) (E8.1)\n 1 1 1 1 1 1 1 1\n",
       errc::truncated, 6, as_fp64_int64},
      {"ten_to_the_18_entries", sizes("3 3 1000000000000000000 0"), errc::structure_violation, 5, as_fp64_int64},
      {"ten_to_the_18_rows_and_damage", with({{3, "RUA 1000000000000000000 3 4 0"}, {6, "   1   2   1   0"}}),
       errc::index_out_of_range, 6, as_fp64_int64},
      {"ten_to_the_18_entries_zipped",
       gzipped("z\n3 1 1 1\nrua 1 1 1000000000000000000 0\n(2I20) (I1) (E8.1)\n                   1 "
               "1000000000000000001\n1\n"),
       errc::truncated, 7, as_fp64_int64},
  };
}

class MalformedRutherfordBoeing : public testing::TestWithParam<malformed_file> {};
TEST_P(MalformedRutherfordBoeing, IsRefusedWithCodeAndLine) { expect_refused(GetParam(), GetParam().name + ".rb"); }
INSTANTIATE_TEST_SUITE_P(Files, MalformedRutherfordBoeing, testing::ValuesIn(refused()), by_name);

/// Cut anywhere before the last digit of the last value it is refused, except where only a line's end is missing.
TEST(TruncatedRutherfordBoeing, IsRefusedAtEveryLength) {
  const temporary_folder folder;
  const std::string whole = joined(small_lines);
  for (std::size_t size = 0; size < whole.size() - 1; ++size) {
    const auto path = folder.file("cut.rb", std::string_view(whole).substr(0, size));
    EXPECT_NE(code_of([&] { read_coo<double>(path); }), errc::ok) << size;
  }
}

// --- What is written ------------------------------------------------------------------------------------------------

TEST(WrittenRutherfordBoeing, IsInTheStandardsColumns) {
  const temporary_folder folder;
  const auto path = folder.path() / "small_matrix.rb";
  write_rutherford_boeing(path, csr_of<double>(small), {.comment = "A small matrix\nof four entries"});
  EXPECT_EQ(bytes_of(path),
            "A small matrix                                                          small_ma\n"
            "             3             1             1             1\n"
            "rua                        3             3             4             0\n"
            "(40I2)          (40I2)          (8E9.1)             \n"
            " 1 2 3 5\n"
            " 1 2 1 3\n"
            "  1.5E+00 -2.5E+00  3.5E+00  4.5E+00\n");
  write_rutherford_boeing(path, csr_of<double>(small), {.field = file_field::pattern});
  EXPECT_EQ(bytes_of(path),
            "                                                                        small_ma\n"
            "             2             1             1             0\n"
            "pua                        3             3             4             0\n"
            "(40I2)          (40I2)                              \n"
            " 1 2 3 5\n"
            " 1 2 1 3\n");
  write_rutherford_boeing(path, csr_of<double>(expanded(lower, 1)), {.symmetry = file_symmetry::symmetric});
  EXPECT_EQ(bytes_of(path).substr(81),
            "             3             1             1             1\n"
            "rsa                        3             3             4             0\n"
            "(40I2)          (40I2)          (8E9.1)             \n"
            " 1 3 4 5\n"
            " 1 2 3 3\n"
            "  4.0E+00 -1.0E+00  5.0E-01  3.0E+00\n");
  write_rutherford_boeing(path, csr_of<double>({"", 2, 3, {{0, 2, -100}, {1, 0, 7}}}), {.field = file_field::integer});
  EXPECT_EQ(bytes_of(path).substr(81),
            "             3             1             1             1\n"
            "ira                        2             3             2             0\n"
            "(40I2)          (40I2)          (16I5)              \n"
            " 1 2 2 3\n"
            " 2 1\n"
            "    7 -100\n");
}

/// No line of a file is longer than a card.
void expect_cards(const std::filesystem::path& path, const std::string& what) {
  std::ifstream in(path);
  std::size_t longest = 0;
  for (std::string line; std::getline(in, line);) longest = std::max(longest, line.size());
  EXPECT_LE(longest, 80u) << what;
}

TEST(WrittenRutherfordBoeing, ReadsBackEqual) {
  const temporary_folder folder;
  const auto path = folder.path() / "battery.rb";
  for_each_battery_matrix([&]<class T, class I>(const csr_matrix<T, I>& a, const std::string& what) {
    write_rutherford_boeing(path, a);
    expect_cards(path, what);
    expect_same_bits(a, read_csr<T, I>(path), what);
    write_rutherford_boeing(path, a, {.field = file_field::pattern});
    expect_same_bits(pattern_of(a), read_csr<T, I>(path), what + ", pattern");
  });
}

TEST(WrittenRutherfordBoeing, KeepsEveryBitOfHardValues) {
  const temporary_folder folder;
  const auto path = folder.path() / "hard.rb.gz";
  write_rutherford_boeing(path, hard_values<double>());
  EXPECT_EQ(bytes_of(path).substr(0, 2), "\x1f\x8b");
  expect_same_bits(hard_values<double>(), read_csr<double>(path), "fp64");
  write_rutherford_boeing(path, hard_values<float>());
  expect_same_bits(hard_values<float>(), read_csr<float>(path), "fp32");
}

TEST(WrittenRutherfordBoeing, KeepsSymmetryAndIntegers) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.rb";
  const auto symmetric = csr_of<double>(expanded(lower, 1)), skew = csr_of<double>(expanded(strict_lower, -1));
  write_rutherford_boeing(path, symmetric, {.symmetry = file_symmetry::symmetric});
  EXPECT_EQ(read_file_info(path).symmetry, file_symmetry::symmetric);
  expect_same_bits(symmetric, read_csr<double>(path), "symmetric");
  write_rutherford_boeing(path, skew, {.symmetry = file_symmetry::skew_symmetric});
  EXPECT_EQ(read_file_info(path).symmetry, file_symmetry::skew_symmetric);
  expect_same_bits(skew, read_csr<double>(path), "skew");
  const auto integers = csr_of<double>({"", 2, 2, {{0, 0, -9007199254740992}, {1, 1, 3}}});
  write_rutherford_boeing(path, integers, {.field = file_field::integer});
  EXPECT_EQ(read_file_info(path).field, file_field::integer);
  expect_same_bits(integers, read_csr<double>(path), "integers");
}

TEST(WrittenRutherfordBoeing, RefusesWhatTheFormatCannotHold) {
  const temporary_folder folder;
  const auto path = folder.path() / "a.rb";
  const auto code = [&](const sparse_case& a, const write_options& options) {
    const errc result = code_of([&] { write_rutherford_boeing(path, csr_of<double>(a), options); });
    EXPECT_EQ(folder.num_files(), 0);
    return result;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(code({"", 1, 1, {{0, 0, infinity}}}, {}), errc::value_out_of_range);
  EXPECT_EQ(code({"", 1, 1, {{0, 0, 1.5}}}, {.field = file_field::integer}), errc::value_out_of_range);
  EXPECT_EQ(code({"", 1, 2, {}}, {.symmetry = file_symmetry::symmetric}), errc::structure_violation);
  EXPECT_EQ(code(small, {.symmetry = file_symmetry::symmetric}), errc::structure_violation);
  EXPECT_EQ(code(small, {.symmetry = file_symmetry::hermitian}), errc::invalid_argument);
  EXPECT_EQ(code(small, {.field = file_field::complex}), errc::invalid_argument);
  EXPECT_EQ(code(small, {.symmetry = file_symmetry::skew_symmetric, .field = file_field::pattern}),
            errc::invalid_argument);
  const csr_matrix<double, std::int64_t> wide(1, 10'000'000'000'000, {0, 1}, {9'999'999'999'999}, {1.0});
  EXPECT_EQ(code_of([&] { write_rutherford_boeing(path, wide); }), errc::size_overflow);
}

TEST(WrittenRutherfordBoeing, RealMatricesReadBackEqual) {
  const temporary_folder folder;
  for_each_real_matrix([&](const std::filesystem::path& mtx, const std::string& name) {
    const auto a = read_csr<double>(mtx, {.pattern_seed = 3});
    const auto path = folder.path() / (name + ".rb");
    write_rutherford_boeing(path, a);
    expect_same_bits(a, read_csr<double>(path), name);
    const file_info info = read_file_info(mtx);
    if (info.symmetry != file_symmetry::general) {
      write_rutherford_boeing(path, a, {.symmetry = info.symmetry});
      expect_same_bits(a, read_csr<double>(path), name + ", by its triangle");
    }
    std::filesystem::remove(path);
  });
}

}  // namespace
}  // namespace bcsc
