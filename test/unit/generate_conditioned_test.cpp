#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>

#include "bcsc/cg.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/generated.hpp"

/// Operators with eigenvalues by choice: `diagonal` and `householder`.
namespace {

using bcsc::generate::from_specification;
using bcsc::test::checksum_of;
using bcsc::test::dense;
using wide_matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using wide_vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

struct spectrum_case {
  std::int64_t rows;
  double condition;
  std::uint64_t seed;
};
void PrintTo(const spectrum_case& c, std::ostream* out) { *out << c.rows << " rows, condition " << c.condition; }

class chosen_spectrum : public testing::TestWithParam<spectrum_case> {
 protected:
  static std::string parameters() {
    const auto [rows, condition, seed] = GetParam();
    return ":" + std::to_string(rows) + "," + std::to_string(condition) + ",seed=" + std::to_string(seed);
  }
  const bcsc::csr_matrix<double> diagonal = from_specification<double>("diagonal" + parameters());
  const bcsc::csr_matrix<double> householder = from_specification<double>("householder" + parameters());
};

TEST_P(chosen_spectrum, of_the_diagonal_reaches_from_1_to_the_condition) {
  bcsc::test::expect_valid_csr(diagonal);
  EXPECT_EQ(diagonal.nnz(), GetParam().rows);
  const Eigen::VectorXd values = dense(diagonal).diagonal();
  EXPECT_EQ(values.minCoeff(), 1);
  EXPECT_EQ(values.maxCoeff(), GetParam().condition);
}

TEST_P(chosen_spectrum, fills_whole_rows_with_zeros_if_asked_to) {
  const auto whole = from_specification<double>("diagonal" + parameters() + ",whole=1");
  bcsc::test::expect_valid_csr(whole);
  EXPECT_EQ(whole.nnz(), GetParam().rows * GetParam().rows);
  EXPECT_TRUE(dense(whole) == dense(diagonal));
}

TEST_P(chosen_spectrum, is_symmetric_to_the_last_bit) {
  bcsc::test::expect_valid_csr(householder);
  EXPECT_EQ(householder.nnz(), GetParam().rows * GetParam().rows);
  const Eigen::MatrixXd a = dense(householder);
  EXPECT_TRUE(a == a.transpose());
  const Eigen::MatrixXd single = dense(from_specification<float>("householder" + parameters()));
  EXPECT_TRUE(single == single.transpose());
  EXPECT_TRUE(single == a.cast<float>().cast<double>()) << "rounded once more";
}

/// Both have the same eigenvalues, of which entries rounded twice leave this much.
TEST_P(chosen_spectrum, is_the_diagonal_s) {
  wide_vector expected = dense(diagonal).diagonal().cast<long double>();
  std::sort(expected.begin(), expected.end());
  const wide_matrix a = dense(householder).cast<long double>();
  const wide_vector found = Eigen::SelfAdjointEigenSolver<wide_matrix>(a, Eigen::EigenvaluesOnly).eigenvalues();
  const auto tolerance = static_cast<double>(0x1p-52L * a.norm());
  for (Eigen::Index k = 0; k < found.size(); ++k) {
    EXPECT_NEAR(static_cast<double>(found[k] - expected[k]), 0, tolerance) << k;
  }
}

/// H D H - D is of rank 2.
TEST_P(chosen_spectrum, comes_of_one_reflection) {
  const Eigen::MatrixXd d = dense(diagonal), change = dense(householder) - d;
  const Eigen::VectorXd singular = Eigen::JacobiSVD<Eigen::MatrixXd>(change).singularValues();
  for (Eigen::Index k = 2; k < singular.size(); ++k) EXPECT_LT(singular[k], 0x1p-50 * d.norm()) << k;
  EXPECT_EQ(singular[0] > 1e-3, GetParam().condition > 1);
}

INSTANTIATE_TEST_SUITE_P(parameters, chosen_spectrum,
                         testing::Values(spectrum_case{1, 1, 1}, spectrum_case{2, 1000, 1}, spectrum_case{3, 7.5, 4},
                                         spectrum_case{40, 1, 2}, spectrum_case{60, 100, 1}, spectrum_case{61, 1e6, 1},
                                         spectrum_case{50, 1e9, 3}, spectrum_case{45, 0x1p40, 1}));

TEST(householder, changes_every_unknown_alike) {
  const Eigen::MatrixXd a = dense(from_specification<double>("householder:300,1000"));
  const Eigen::MatrixXd change = a - dense(from_specification<double>("diagonal:300,1000"));
  EXPECT_GT(change.cwiseAbs().minCoeff(), 0) << "every entry is one";
  EXPECT_LT(change.cwiseAbs().maxCoeff(), 1000 * 20.0 / 300);
}

TEST(householder, is_solved_in_as_many_iterations_as_its_condition_allows) {
  for (const double condition : {10.0, 1e4}) {
    const auto a = from_specification<double>("householder:400," + std::to_string(condition));
    bcsc::dense_matrix<double> b(400, 1), x(400, 1);
    for (std::int64_t i = 0; i < 400; ++i) b(i, 0) = static_cast<double>(i % 7) - 2.5;
    const auto result = bcsc::solve_cg(bcsc::context::cpu(1), a, b.view(), x.view(),
                                       {.tolerance = 1e-9, .precondition = bcsc::preconditioner::none});
    EXPECT_EQ(result.reason, bcsc::cg_stop::converged);
    // 2 ((r - 1) / (r + 1))^k of the energy norm, r = sqrt(condition), which is within r of the residual's.
    const double r = std::sqrt(condition);
    const double bound = std::log(2 * r / 1e-9) / std::log((r + 1) / (r - 1));
    EXPECT_LE(static_cast<double>(result.iterations), bound + 1);
    EXPECT_GT(static_cast<double>(result.iterations), bound / 4);
  }
}

struct fixed_case {
  const char* specification;
  std::uint64_t fp64, fp32;
};
void PrintTo(const fixed_case& c, std::ostream* out) { *out << c.specification; }

class fixed_operator : public testing::TestWithParam<fixed_case> {};

/// Computed once, as in generate_test.cpp.
TEST_P(fixed_operator, is_the_same_everywhere) {
  const auto& [specification, fp64, fp32] = GetParam();
  for (const int threads : bcsc::test::thread_counts) {
    const bcsc::test::with_threads of_many(threads);
    EXPECT_EQ(checksum_of(from_specification<double>(specification)), fp64);
    EXPECT_EQ(checksum_of(from_specification<float>(specification)), fp32);
  }
}

INSTANTIATE_TEST_SUITE_P(
    checksums, fixed_operator,
    testing::Values(fixed_case{"diagonal:500,1e6,seed=1", 0xa84804927080db84u, 0x7a7ddc3905b73f02u},
                    fixed_case{"diagonal:90,1e6,seed=3,whole=1", 0xaf7c1bcc899a5fbcu, 0x5090d20fbc6871e6u},
                    fixed_case{"householder:200,1e6,seed=1", 0x2c3e4d9c521ef035u, 0x3ebdefeb201be957u},
                    fixed_case{"householder:301,1099511627776,seed=2", 0x7fe3c99346fcf7a7u, 0x7ed794180b9b4814u}));

TEST(seeds, change_the_matrix_and_are_1_if_not_given) {
  for (const std::string form : {"diagonal:50,100", "householder:50,100"}) {
    const auto first = checksum_of(from_specification<double>(form + ",seed=1"));
    EXPECT_EQ(checksum_of(from_specification<double>(form)), first);
    EXPECT_NE(checksum_of(from_specification<double>(form + ",seed=2")), first);
  }
}

struct refused_case {
  const char* specification;
  bcsc::errc code;
  const char* names;  ///< the message holds this
};
void PrintTo(const refused_case& c, std::ostream* out) { *out << c.specification; }

class refused_operator : public testing::TestWithParam<refused_case> {};

TEST_P(refused_operator, names_the_parameter_and_its_value) {
  try {
    (void)from_specification<double>(GetParam().specification);
    FAIL() << "no error";
  } catch (const bcsc::error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().names), std::string::npos) << error.what();
  }
}

constexpr auto invalid = bcsc::errc::invalid_argument;
constexpr auto overflow = bcsc::errc::size_overflow;

INSTANTIATE_TEST_SUITE_P(
    parameters, refused_operator,
    testing::Values(refused_case{"diagonal:0,10", invalid, "rows = 0"},
                    refused_case{"diagonal:9,0.5", invalid, "condition = 0.5"},
                    refused_case{"diagonal:9,nan", invalid, "condition = nan"},
                    refused_case{"diagonal:9", invalid, "its form is diagonal:rows,condition[,seed=][,whole=]"},
                    refused_case{"diagonal:9,3,whole=2", invalid, "whole = 2"},
                    refused_case{"diagonal:9,3,whole=yes", invalid, "whole = \"yes\""},
                    refused_case{"diagonal:1099511627776,3", overflow, "rows = "},
                    refused_case{"diagonal:50000,3,whole=1", overflow, "nnz = 2,500,000,000"},
                    refused_case{"householder:-1,10", invalid, "rows = -1"},
                    refused_case{"householder:9,1e300", invalid, "condition = 1e+300"},
                    refused_case{"householder:1,3", invalid, "condition = 3"},
                    refused_case{"householder:9", invalid, "its form is householder:rows,condition[,seed=]"},
                    refused_case{"householder:9,3,whole=1", invalid, "\"whole\""},
                    refused_case{"householder:46341,3", overflow, "nnz = 2,147,488,281"},
                    refused_case{"householder:9223372036854775807,3", overflow, "rows = "}));

}  // namespace
