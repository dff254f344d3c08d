#include "bcsc/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bcsc/error.hpp"
#include "test/support/paths.hpp"

namespace {

namespace suitesparse = bcsc::suitesparse;
using suitesparse::entry;
using suitesparse::filter;

std::vector<std::string> names(const filter& wanted) {
  std::vector<std::string> all;
  for (const entry& e : suitesparse::search(wanted)) all.push_back(e.full_name());
  return all;
}

// --- What the table says --------------------------------------------------------------------------------------------

/// Figures as the collection's pages show them.
TEST(catalogue, knows_bcsstk16) {
  const entry e = suitesparse::find("HB/bcsstk16");
  EXPECT_EQ(e.group, "HB");
  EXPECT_EQ(e.name, "bcsstk16");
  EXPECT_EQ(e.kind, "structural problem");
  EXPECT_EQ(e.rows, 4884);
  EXPECT_EQ(e.cols, 4884);
  EXPECT_EQ(e.nnz, 290378);
  EXPECT_EQ(e.explicit_zeros, 0);
  EXPECT_EQ(e.pattern_symmetry, 1.0);
  EXPECT_EQ(e.field, bcsc::file_field::real);
  EXPECT_EQ(e.symmetry, bcsc::file_symmetry::symmetric);
  EXPECT_TRUE(e.cholesky_candidate);
  EXPECT_TRUE(e.positive_definite);
}

TEST(catalogue, holds_every_kind_of_field_and_symmetry) {
  EXPECT_EQ(suitesparse::find("Bai/mhd1280b").symmetry, bcsc::file_symmetry::hermitian);
  EXPECT_EQ(suitesparse::find("Bai/mhd1280b").field, bcsc::file_field::complex);
  EXPECT_EQ(suitesparse::find("HB/plsk1919").symmetry, bcsc::file_symmetry::skew_symmetric);
  EXPECT_EQ(suitesparse::find("SNAP/wiki-Vote").field, bcsc::file_field::pattern);
  EXPECT_EQ(suitesparse::find("LPnetlib/lp_25fv47").symmetry, bcsc::file_symmetry::general);
}

TEST(catalogue, names_every_matrix_once_and_numbers_them) {
  const auto all = suitesparse::catalogue();
  EXPECT_EQ(all.size(), 2904u);
  std::set<std::string> seen;
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(all[k].number, static_cast<std::int64_t>(k) + 1);
    EXPECT_TRUE(seen.insert(all[k].full_name()).second) << all[k].full_name();
    EXPECT_EQ(suitesparse::find(all[k].full_name()).number, all[k].number);
  }
}

/// The published file, read here by hand: every figure of every row.
TEST(catalogue, equals_the_published_table) {
  const auto folder = bcsc::test::matrices_folder();
  if (!folder || !std::filesystem::exists(*folder / "suitesparse_collection.csv")) {
    GTEST_SKIP() << "no suitesparse_collection.csv: set BCSC_MATRICES";
  }
  std::ifstream file(*folder / "suitesparse_collection.csv");
  std::string line;
  std::getline(file, line);
  const std::map<bcsc::file_field, std::string> fields{{bcsc::file_field::real, "real"},
                                                       {bcsc::file_field::integer, "integer"},
                                                       {bcsc::file_field::pattern, "binary"},
                                                       {bcsc::file_field::complex, "complex"}};
  std::size_t row = 0;
  for (const auto all = suitesparse::catalogue(); std::getline(file, line); ++row) {
    ASSERT_LT(row, all.size());
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    ASSERT_EQ(cells.size(), 13u) << line;
    const entry& e = all[row];
    const std::string structure =
        e.rows != e.cols
            ? "rectangular"
            : std::map<bcsc::file_symmetry, std::string>{{bcsc::file_symmetry::general, "unsymmetric"},
                                                         {bcsc::file_symmetry::symmetric, "symmetric"},
                                                         {bcsc::file_symmetry::skew_symmetric, "skew-symmetric"},
                                                         {bcsc::file_symmetry::hermitian, "Hermitian"}}
                  .at(e.symmetry);
    EXPECT_EQ(e.group, cells[0]);
    EXPECT_EQ(e.name, cells[1]);
    EXPECT_EQ(e.kind, cells[2]);
    EXPECT_EQ(std::to_string(e.rows), cells[3]) << line;
    EXPECT_EQ(std::to_string(e.cols), cells[4]) << line;
    EXPECT_EQ(std::to_string(e.nnz), cells[5]) << line;
    EXPECT_EQ(std::to_string(e.explicit_zeros), cells[6]) << line;
    EXPECT_EQ(e.pattern_symmetry, std::stod(cells[7])) << line;
    EXPECT_EQ(e.numeric_symmetry, std::stod(cells[8])) << line;
    EXPECT_EQ(fields.at(e.field), cells[9]) << line;
    EXPECT_EQ(structure, cells[10]) << line;
    EXPECT_EQ(e.cholesky_candidate ? "yes" : "no", cells[11]) << line;
    EXPECT_EQ(e.positive_definite ? "yes" : "no", cells[12].substr(0, cells[12].find('\r'))) << line;
  }
  EXPECT_EQ(row, suitesparse::catalogue().size());
}

// --- One matrix by its name -----------------------------------------------------------------------------------------

struct found_case {
  const char* name;
  const char* full;
};
void PrintTo(const found_case& c, std::ostream* out) { *out << '"' << c.name << '"'; }
class found : public testing::TestWithParam<found_case> {};

TEST_P(found, is_the_one_meant) { EXPECT_EQ(suitesparse::find(GetParam().name).full_name(), GetParam().full); }

INSTANTIATE_TEST_SUITE_P(
    names, found,
    testing::Values(found_case{"HB/bcsstk16", "HB/bcsstk16"}, found_case{"bcsstk16", "HB/bcsstk16"},
                    found_case{"hb/BCSSTK16", "HB/bcsstk16"}, found_case{"wiki-vote", "SNAP/wiki-Vote"},
                    found_case{"Pothen/barth", "Pothen/barth"},
                    // A name of digits goes before a number.
                    found_case{"144", "DIMACS10/144"}, found_case{"1", "ACUSIM/Pres_Poisson"},
                    found_case{"#1", "ACUSIM/Pres_Poisson"}, found_case{"0002", "AG-Monien/3elt"}));

TEST(find, tells_a_number_from_a_name_of_digits) {
  EXPECT_EQ(suitesparse::find("#144").number, 144);
  EXPECT_NE(suitesparse::find("#144").name, "144");
}

struct not_found_case {
  const char* name;
  std::vector<const char*> says;
};
void PrintTo(const not_found_case& c, std::ostream* out) { *out << '"' << c.name << '"'; }
class not_found : public testing::TestWithParam<not_found_case> {};

TEST_P(not_found, says_what_there_is) {
  try {
    suitesparse::find(GetParam().name);
    FAIL() << "no error";
  } catch (const bcsc::error& error) {
    EXPECT_EQ(error.code(), bcsc::errc::invalid_argument);
    for (const char* part : GetParam().says) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << "\nwants " << part;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    names, not_found,
    testing::Values(not_found_case{"barth", {"several", "Pothen/barth", "Nasa/barth"}},
                    not_found_case{"bcstk16", {"\"bcstk16\"", "perhaps", "HB/bcsstk16"}},
                    not_found_case{"HB/pres_poison", {"perhaps ACUSIM/Pres_Poisson"}}, not_found_case{"", {"\"\""}},
                    not_found_case{"0", {"number = 0", "1 to 2904"}}, not_found_case{"2905", {"number = 2905"}},
                    not_found_case{"-3", {"number = -3"}}, not_found_case{"99999999999999999999", {"no such matrix"}},
                    not_found_case{"../../etc/passwd", {"no such matrix"}}, not_found_case{"HB/", {"no such matrix"}},
                    not_found_case{"#", {"no such matrix"}}));

TEST(not_found, bears_names_of_any_length) { EXPECT_THROW(suitesparse::find(std::string(1 << 20, 'x')), bcsc::error); }

// --- Many by a filter -----------------------------------------------------------------------------------------------

TEST(search, without_a_wish_gives_all) { EXPECT_EQ(suitesparse::search({}).size(), 2904u); }

struct pattern_case {
  const char* pattern;
  std::vector<std::string> first;
  std::size_t count;
};
void PrintTo(const pattern_case& c, std::ostream* out) { *out << '"' << c.pattern << '"'; }
class name_pattern : public testing::TestWithParam<pattern_case> {};

TEST_P(name_pattern, picks_by_name) {
  const auto found = names({.pattern = GetParam().pattern});
  EXPECT_EQ(found.size(), GetParam().count);
  for (std::size_t k = 0; k < std::min(found.size(), GetParam().first.size()); ++k) {
    EXPECT_EQ(found[k], GetParam().first[k]);
  }
}

INSTANTIATE_TEST_SUITE_P(globs, name_pattern,
                         testing::Values(pattern_case{"cage1?", {"vanHeukelum/cage10", "vanHeukelum/cage11"}, 6},
                                         pattern_case{"CAGE1[0-2]", {"vanHeukelum/cage10"}, 3},
                                         pattern_case{"cage", {"AG-Monien/cage"}, 14},
                                         pattern_case{"vanHeukelum/*", {"vanHeukelum/cage10"}, 13},
                                         pattern_case{"*/barth4", {}, 2}, pattern_case{"barth4", {}, 2},
                                         pattern_case{"acusim/", {"ACUSIM/Pres_Poisson"}, 1},
                                         pattern_case{"no-such-*", {}, 0}));

TEST(search, takes_everything_that_holds_and_nothing_else) {
  const filter wanted{.kind = "Structural",
                      .rows = {1000, 5000},
                      .nnz = {100000, 400000},
                      .positive_definite = true,
                      .symmetry = bcsc::file_symmetry::symmetric,
                      .field = bcsc::file_field::real};
  std::set<std::string> expected;
  for (const entry& e : suitesparse::catalogue()) {
    if (e.kind.find("structural") == std::string::npos || e.rows < 1000 || e.rows > 5000 || e.nnz < 100000 ||
        e.nnz > 400000 || !e.positive_definite || e.symmetry != bcsc::file_symmetry::symmetric ||
        e.field != bcsc::file_field::real) {
      continue;
    }
    expected.insert(e.full_name());
  }
  const auto found = names(wanted);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  EXPECT_TRUE(expected.contains("HB/bcsstk16"));
  EXPECT_GT(expected.size(), 5u);
}

TEST(search, counts_each_wish_alone) {
  // Counted in the published table by other means (grep, awk).
  EXPECT_EQ(suitesparse::search({.positive_definite = true}).size(), 240u);
  EXPECT_EQ(suitesparse::search({.positive_definite = false}).size(), 2664u);
  EXPECT_EQ(suitesparse::search({.symmetry = bcsc::file_symmetry::skew_symmetric}).size(), 2u);
  EXPECT_EQ(suitesparse::search({.field = bcsc::file_field::complex}).size(), 49u);
  EXPECT_EQ(suitesparse::search({.rows = {226196185, 226196185}}).size(), 1u);
}

TEST(search, refuses_an_empty_range) {
  EXPECT_THROW(suitesparse::search({.rows = {5, 4}}), bcsc::error);
  EXPECT_THROW(suitesparse::search({.cols = {5, 4}}), bcsc::error);
  EXPECT_THROW(suitesparse::search({.nnz = {5, 4}}), bcsc::error);
}

}  // namespace
