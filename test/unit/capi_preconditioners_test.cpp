// Preconditioners by the C interface. One step of conjugate gradients from 0 ends on the line through M^-1 b, which is
// how an operator that C cannot apply by itself shows what it is.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "test/support/lapack.hpp"
#include "test/unit/capi_systems.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Two unknowns for each node of a grid, coupled within the node, whose strength differs from node to node.
sparse_case two_unknowns(std::int64_t width, std::int64_t height) {
  const sparse_case grid = laplace(width, height);
  sparse_case a{"two_unknowns", 2 * grid.rows, 2 * grid.rows, {}};
  for (std::int64_t node = 0; node < grid.rows; ++node) {
    for (std::int64_t unknown = 0; unknown < 2; ++unknown) {
      for (const triplet& e : grid.entries) {
        if (e.row != node) continue;
        const double own = e.row == e.col ? e.value + 0.5 + static_cast<double>(node % 7) : e.value;
        const double across = e.row == e.col ? 0.4 * own : 0.1 * own;
        for (std::int64_t other = 0; other < 2; ++other) {
          a.entries.push_back({2 * e.row + unknown, 2 * e.col + other, other == unknown ? own : across});
        }
      }
    }
  }
  return a;
}

class capi_preconditioners : public ::testing::Test {
 protected:
  capi_preconditioners() : made_(bcsc_context_cpu(2, &context_)), a_(context_, two_unknowns(11, 8)) {
    EXPECT_EQ(made_, BCSC_OK);
    options_.tolerance = 1e-10;
  }
  ~capi_preconditioners() override {
    bcsc_operator_free(m_);
    bcsc_context_free(context_);
  }

  /// Iterations on a right-hand side, which has to be solved.
  std::int64_t iterations_with(bcsc_operator m, const c_system<double>& a) {
    const auto b = random_table<double>(a.a.rows, 1, values::real, 3);
    dense_table<double> x(a.a.rows, 1);
    options_.precondition = m;
    EXPECT_EQ(bcsc_solve_cg_operator(a.of_plan, 1, b.at.data(), 1, x.at.data(), 1, BCSC_ROW_MAJOR, &result_, &options_),
              BCSC_OK)
        << bcsc_last_error();
    const auto exact = true_residual(a.a, b, x, 0);
    EXPECT_LE(exact.relative, options_.tolerance + exact.rounding);
    EXPECT_EQ(result_.reason, BCSC_CG_CONVERGED);
    return result_.iterations;
  }
  std::int64_t iterations_with(bcsc_operator m) { return iterations_with(m, a_); }

  /// That M^-1 b is a multiple of `expected` = the oracle's.
  void expect_direction(const dense_table<double>& b, const std::vector<long double>& expected) {
    dense_table<double> x(b.rows, 1);
    options_.precondition = m_;
    options_.max_iterations = 1;
    ASSERT_EQ(
        bcsc_solve_cg_operator(a_.of_plan, 1, b.at.data(), 1, x.at.data(), 1, BCSC_ROW_MAJOR, &result_, &options_),
        BCSC_OK)
        << bcsc_last_error();
    options_.max_iterations = 0;
    long double across = 0, square = 0, size = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      across += x.at[i] * expected[i];
      square += expected[i] * expected[i];
      size += static_cast<long double>(x.at[i]) * x.at[i];
    }
    ASSERT_GT(size, 0);
    const long double factor = across / square;
    long double apart = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) apart += std::pow(x.at[i] - factor * expected[i], 2);
    EXPECT_LE(std::sqrt(apart / size), 1e-13L);
  }
  const char* description() {
    const char* text = nullptr;
    EXPECT_EQ(bcsc_operator_describe(m_, &text), BCSC_OK);
    return text;
  }
  int make_amg(const bcsc_amg_options& options) { return bcsc_operator_amg(context_, a_.matrix, &m_, &options); }

  bcsc_context context_ = nullptr;
  const int made_;
  c_system<double> a_;
  bcsc_operator m_ = nullptr;
  bcsc_cg_options options_ = sized<bcsc_cg_options>();
  bcsc_cg_result result_ = sized<bcsc_cg_result>();
};

TEST_F(capi_preconditioners, jacobi_divides_by_the_diagonal) {
  ASSERT_EQ(bcsc_operator_jacobi(context_, a_.matrix, &m_), BCSC_OK) << bcsc_last_error();
  const auto b = random_table<double>(a_.a.rows, 1, values::real, 5);
  const std::vector<double> diagonal = a_.diagonal();
  std::vector<long double> expected;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    expected.push_back(static_cast<long double>(b.at[i]) / static_cast<long double>(diagonal[i]));
  }
  expect_direction(b, expected);
  EXPECT_STREQ(description(), "176 x 176: Jacobi");

  // A polynomial of one step is Jacobi's, too.
  bcsc_operator_free(m_);
  auto once = sized<bcsc_chebyshev_options>();
  once.degree = 1;
  ASSERT_EQ(bcsc_operator_chebyshev(context_, a_.matrix, &m_, &once), BCSC_OK) << bcsc_last_error();
  expect_direction(b, expected);
}

TEST_F(capi_preconditioners, ic0_needs_fewer_iterations_and_takes_a_shift) {
  ASSERT_EQ(bcsc_operator_jacobi(context_, a_.matrix, &m_), BCSC_OK) << bcsc_last_error();
  const std::int64_t by_jacobi = iterations_with(m_);
  bcsc_operator_free(m_);
  ASSERT_EQ(bcsc_operator_ic0(context_, a_.matrix, &m_, nullptr), BCSC_OK) << bcsc_last_error();
  const std::int64_t plain = iterations_with(m_);
  EXPECT_LT(2 * plain, by_jacobi);
  EXPECT_NE(std::string(description()).find("shift 0"), std::string::npos) << description();
  bcsc_operator_free(m_);
  auto options = sized<bcsc_ic0_options>();
  options.shift = 0.5;
  ASSERT_EQ(bcsc_operator_ic0(context_, a_.matrix, &m_, &options), BCSC_OK) << bcsc_last_error();
  EXPECT_NE(std::string(description()).find("shift 0.5"), std::string::npos) << description();
  EXPECT_GT(iterations_with(m_), plain);
}

TEST_F(capi_preconditioners, block_jacobi_solves_with_the_blocks) {
  const auto b = random_table<double>(a_.a.rows, 1, values::real, 5);
  for (const std::int64_t given : {0, 2, 16, 44}) {  // 0: the unknowns of a node, found
    SCOPED_TRACE(given);
    const std::int64_t block = given != 0 ? given : 2;
    std::vector<long double> expected(b.at.size());
    for (std::int64_t first = 0; first < a_.a.rows; first += block) {
      sparse_case part{"block", block, block, {}};
      for (const triplet& e : a_.a.entries) {
        if (e.row / block == first / block && e.col / block == first / block) {
          part.entries.push_back({e.row - first, e.col - first, e.value});
        }
      }
      dense_table<double> right(block, 1);
      for (std::int64_t i = 0; i < block; ++i) right(i, 0) = b(first + i, 0);
      const auto solution = direct_solution(part, right);
      for (std::int64_t i = 0; i < block; ++i) expected[static_cast<std::size_t>(first + i)] = solution(i, 0);
    }
    auto options = sized<bcsc_block_jacobi_options>();
    options.block = given;
    options.cols = 4;
    ASSERT_EQ(bcsc_operator_block_jacobi(context_, a_.matrix, &m_, &options), BCSC_OK) << bcsc_last_error();
    expect_direction(b, expected);
    bcsc_operator_free(m_);
    m_ = nullptr;
  }
  ASSERT_EQ(bcsc_operator_block_jacobi(context_, a_.matrix, &m_, nullptr), BCSC_OK);
  EXPECT_LT(iterations_with(m_), iterations_with(nullptr));
}

TEST_F(capi_preconditioners, chebyshev_saves_iterations_by_its_degree) {
  std::int64_t before = iterations_with(nullptr);
  for (const int degree : {2, 4, 8}) {
    auto options = sized<bcsc_chebyshev_options>();
    options.degree = degree;
    options.ratio = 30;
    options.lanczos_steps = 30;
    ASSERT_EQ(bcsc_operator_chebyshev(context_, a_.matrix, &m_, &options), BCSC_OK) << bcsc_last_error();
    const std::int64_t now = iterations_with(m_);
    EXPECT_LT(now, before);
    before = now;
    EXPECT_NE(std::string(description()).find("degree " + std::to_string(degree)), std::string::npos) << description();
    bcsc_operator_free(m_);
    m_ = nullptr;
  }
  ASSERT_EQ(bcsc_operator_chebyshev(context_, a_.matrix, &m_, nullptr), BCSC_OK);
  EXPECT_NE(std::string(description()).find("degree 8"), std::string::npos) << description();
}

TEST_F(capi_preconditioners, multigrid_of_one_level_is_the_inverse) {
  ASSERT_EQ(bcsc_operator_amg(context_, a_.matrix, &m_, nullptr), BCSC_OK) << bcsc_last_error();
  EXPECT_LE(iterations_with(m_), 2);
  EXPECT_NE(std::string(description()).find("1 level,"), std::string::npos) << description();
}

/// The rigid-body modes of the plane, written down here, as columns and as coordinates.
TEST_F(capi_preconditioners, multigrid_takes_what_is_nearly_a_null_space) {
  const std::int64_t nodes = a_.a.rows / 2;
  std::vector<double> coordinates, modes;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto x = static_cast<double>(node % 11), y = static_cast<double>(node / 11);
    coordinates.insert(coordinates.end(), {x, y});
    modes.insert(modes.end(), {1, 0, -(y - 3.5), nan, 0, 1, x - 5, nan});  // a fourth column that is not theirs
  }
  auto by_columns = sized<bcsc_amg_options>();
  by_columns.block = 2;
  by_columns.near_nullspace = modes.data();
  by_columns.num_near_nullspace = 3;
  by_columns.ld_near_nullspace = 4;
  by_columns.max_coarse = 15;
  auto by_places = sized<bcsc_amg_options>();
  by_places.coordinates = coordinates.data();
  by_places.dimensions = 2;
  by_places.max_coarse = 15;
  auto constants = sized<bcsc_amg_options>();
  constants.block = 2;
  constants.max_coarse = 15;
  std::string levels[3];
  std::int64_t iterations[3];
  for (const auto& [made, options] : {std::pair(0, &by_columns), {1, &by_places}, {2, &constants}}) {
    ASSERT_EQ(make_amg(*options), BCSC_OK) << bcsc_last_error();
    const std::string text = description();
    levels[made] = text.substr(text.find('\n'));
    iterations[made] = iterations_with(m_);
    EXPECT_NE(text.find("level 1: "), std::string::npos) << text;
    EXPECT_NE(text.back(), '\n');
    bcsc_operator_free(m_);
    m_ = nullptr;
  }
  EXPECT_EQ(levels[0], levels[1]);
  EXPECT_NE(levels[0], levels[2]);
  EXPECT_EQ(iterations[0], iterations[1]);
  EXPECT_LT(2 * iterations[2], iterations_with(nullptr));
}

TEST_F(capi_preconditioners, multigrid_takes_its_options) {
  c_system<double> grid(context_, laplace(40, 40));
  const auto made = [&](auto set) {
    auto options = sized<bcsc_amg_options>();
    options.max_coarse = 40;
    set(options);
    bcsc_operator_free(m_);
    m_ = nullptr;
    EXPECT_EQ(bcsc_operator_amg(context_, grid.matrix, &m_, &options), BCSC_OK) << bcsc_last_error();
    return std::string(description());
  };
  const std::string usual = made([](auto&) {});
  const std::int64_t iterations = iterations_with(m_, grid);
  EXPECT_LT(4 * iterations, iterations_with(nullptr, grid));
  EXPECT_NE(usual.find("3 levels, fp64"), std::string::npos) << usual;

  EXPECT_NE(made([](auto& o) { o.single_precision = 1; }).find("fp32"), std::string::npos);
  EXPECT_LE(iterations_with(m_, grid), iterations + 2);
  EXPECT_NE(made([](auto& o) { o.max_levels = 2; }).find("2 levels"), std::string::npos);
  EXPECT_NE(made([](auto& o) { o.max_coarse = 4000; }).find("1 level,"), std::string::npos);
  made([](auto& o) { o.smoother_degree = 1; });
  EXPECT_GT(iterations_with(m_, grid), iterations);
  made([](auto& o) { o.smoother_ratio = 1.5; });
  EXPECT_NE(iterations_with(m_, grid), iterations);
  // Nothing is coupled more strongly than 1 / 4 here, so there is nothing to aggregate.
  const std::string alone = made([](auto& o) { o.strength = 0.6; });
  EXPECT_EQ(alone.find("level 1: 280 rows"), std::string::npos) << alone;
  EXPECT_NE(usual.find("level 1: 280 rows"), std::string::npos) << usual;
}

TEST_F(capi_preconditioners, serve_eigenvalues_and_fp32_as_well) {
  c_system<float> narrow(context_, a_.a);
  ASSERT_EQ(bcsc_operator_amg(context_, narrow.matrix, &m_, nullptr), BCSC_OK) << bcsc_last_error();
  const auto b = random_table<float>(a_.a.rows, 2, values::real, 3);
  dense_table<float> x(a_.a.rows, 2);
  options_.tolerance = 1e-5;
  options_.precondition = m_;
  ASSERT_EQ(bcsc_solve_cg_matrix(context_, narrow.matrix, 2, b.at.data(), 2, x.at.data(), 2, BCSC_ROW_MAJOR, &result_,
                                 &options_),
            BCSC_OK)
      << bcsc_last_error();
  EXPECT_LE(true_residual(a_.a, b, x, 1).relative, 2e-5L);
  EXPECT_LE(result_.iterations, 3);
  bcsc_operator_free(m_);
  m_ = nullptr;

  BCSC_SKIP_WITHOUT_LAPACK();
  c_system<double> grid(context_, laplace(20, 15));
  ASSERT_EQ(bcsc_operator_amg(context_, grid.matrix, &m_, nullptr), BCSC_OK);
  auto finding = sized<bcsc_lobpcg_options>();
  auto found = sized<bcsc_lobpcg_result>();
  std::int64_t iterations[2];
  for (const int preconditioned : {0, 1}) {
    finding.precondition = preconditioned != 0 ? m_ : nullptr;
    double smallest = 0;
    std::vector<double> vector(300);
    ASSERT_EQ(
        bcsc_solve_lobpcg(grid.of_plan, 1, &smallest, nullptr, vector.data(), 1, BCSC_ROW_MAJOR, &found, &finding),
        BCSC_OK)
        << bcsc_last_error();
    const double pi = std::acos(-1.0);
    EXPECT_NEAR(smallest, 4 - 2 * std::cos(pi / 21) - 2 * std::cos(pi / 16), 1e-9);
    iterations[preconditioned] = found.iterations;
  }
  EXPECT_LT(2 * iterations[1], iterations[0]);
}

// --- Refusals -------------------------------------------------------------------------------------------------------

const std::vector<double> places(176, 1.0);

struct amg_refusal {
  const char* name;
  int code;
  const char* words;
  void (*set)(bcsc_amg_options& options);
};

constexpr int invalid = BCSC_ERROR_INVALID_ARGUMENT;
const amg_refusal amg_refusals[] = {
    {"no_size", invalid, "options.size = 0", [](bcsc_amg_options& o) { o.size = 0; }},
    {"cut_size", invalid, "options.size = 20", [](bcsc_amg_options& o) { o.size = 20; }},
    {"block", BCSC_ERROR_INVALID_ARGUMENT, "block = -2", [](bcsc_amg_options& o) { o.block = -2; }},
    {"block_divides", invalid, "block = 7", [](bcsc_amg_options& o) { o.block = 7; }},
    {"strength", invalid, "strength = 1", [](bcsc_amg_options& o) { o.strength = 1; }},
    {"strength_nan", invalid, "strength = nan", [](bcsc_amg_options& o) { o.strength = nan; }},
    {"ratio", invalid, "smoother_ratio = 0.5", [](bcsc_amg_options& o) { o.smoother_ratio = 0.5; }},
    {"degree", invalid, "smoother_degree = 9", [](bcsc_amg_options& o) { o.smoother_degree = 9; }},
    {"levels", invalid, "max_levels = -1", [](bcsc_amg_options& o) { o.max_levels = -1; }},
    {"coarse", invalid, "max_coarse = 5000", [](bcsc_amg_options& o) { o.max_coarse = 5000; }},
    {"cols", invalid, "cols = -1", [](bcsc_amg_options& o) { o.cols = -1; }},
    {"single", invalid, "options.single_precision = 2", [](bcsc_amg_options& o) { o.single_precision = 2; }},
    {"no_dimensions", invalid, "options.dimensions = 0", [](bcsc_amg_options& o) { o.coordinates = places.data(); }},
    {"four_dimensions", invalid, "options.dimensions = 4",
     [](bcsc_amg_options& o) { o.coordinates = places.data(), o.dimensions = 4; }},
    {"three_dimensions", BCSC_ERROR_SIZE_MISMATCH, "options.dimensions = 3: A has 176 rows",
     [](bcsc_amg_options& o) { o.coordinates = places.data(), o.dimensions = 3; }},
    {"no_coordinates", invalid, "options.dimensions = 2", [](bcsc_amg_options& o) { o.dimensions = 2; }},
    {"another_block", invalid, "options.block = 1",
     [](bcsc_amg_options& o) { o.coordinates = places.data(), o.dimensions = 2, o.block = 1; }},
    {"both", invalid, "options.near_nullspace",
     [](bcsc_amg_options& o) {
       o.coordinates = o.near_nullspace = places.data();
       o.dimensions = 2, o.num_near_nullspace = o.ld_near_nullspace = 1;
     }},
    {"no_near_nullspace", invalid, "options.num_near_nullspace = 2",
     [](bcsc_amg_options& o) { o.num_near_nullspace = o.ld_near_nullspace = 2; }},
    {"no_columns", invalid, "options.num_near_nullspace = 0",
     [](bcsc_amg_options& o) { o.near_nullspace = places.data(), o.ld_near_nullspace = 1; }},
    {"negative_columns", invalid, "options.num_near_nullspace = -1",
     [](bcsc_amg_options& o) { o.near_nullspace = places.data(), o.num_near_nullspace = -1; }},
    {"leading_dimension", BCSC_ERROR_BAD_LEADING_DIMENSION, "near_nullspace.ld = 0",
     [](bcsc_amg_options& o) { o.near_nullspace = places.data(), o.num_near_nullspace = 1; }},
    {"huge_leading_dimension", BCSC_ERROR_SIZE_OVERFLOW, "near_nullspace",
     [](bcsc_amg_options& o) {
       o.near_nullspace = places.data(), o.num_near_nullspace = 1;
       o.ld_near_nullspace = std::numeric_limits<std::int64_t>::max();
     }},
};

class capi_amg_refusal : public capi_preconditioners, public ::testing::WithParamInterface<amg_refusal> {};
TEST_P(capi_amg_refusal, is_a_code_and_a_message) {
  auto options = sized<bcsc_amg_options>();
  GetParam().set(options);
  EXPECT_EQ(make_amg(options), GetParam().code) << bcsc_last_error();
  EXPECT_TRUE(says(GetParam().words)) << bcsc_last_error();
  EXPECT_EQ(m_, nullptr);
}
INSTANTIATE_TEST_SUITE_P(options, capi_amg_refusal, ::testing::ValuesIn(amg_refusals),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(capi_preconditioners, refuse_what_they_are_not_for) {
  using maker = int (*)(bcsc_context, bcsc_sparse, bcsc_operator*);
  const maker makers[] = {
      bcsc_operator_jacobi,
      [](bcsc_context c, bcsc_sparse a, bcsc_operator* m) { return bcsc_operator_block_jacobi(c, a, m, nullptr); },
      [](bcsc_context c, bcsc_sparse a, bcsc_operator* m) { return bcsc_operator_chebyshev(c, a, m, nullptr); },
      [](bcsc_context c, bcsc_sparse a, bcsc_operator* m) { return bcsc_operator_ic0(c, a, m, nullptr); },
      [](bcsc_context c, bcsc_sparse a, bcsc_operator* m) { return bcsc_operator_amg(c, a, m, nullptr); }};
  bcsc_sparse blocks = nullptr;
  ASSERT_EQ(bcsc_sparse_to_bcsc(a_.matrix, 4, &blocks), BCSC_OK);
  sparse_case negative = laplace(4, 4);
  negative.entries.front().value = -4;
  c_system<double> indefinite(context_, negative);
  const c_system<double> wide(context_, {"wide", 2, 3, {{0, 0, 1}, {1, 1, 1}}});
  auto out_of_range = sized<bcsc_csr_arrays>();
  ASSERT_EQ(bcsc_sparse_get_csr(indefinite.matrix, &out_of_range), BCSC_OK);
  const std::vector<std::int32_t> beyond(static_cast<std::size_t>(out_of_range.nnz), 99);
  out_of_range.col_ind = beyond.data();
  bcsc_sparse wrong = nullptr;
  ASSERT_EQ(bcsc_sparse_csr(&out_of_range, &wrong), BCSC_OK);
  for (const maker make : makers) {
    EXPECT_EQ(make(nullptr, a_.matrix, &m_), invalid);
    EXPECT_TRUE(says("context is null"));
    EXPECT_EQ(make(context_, nullptr, &m_), invalid);
    EXPECT_TRUE(says("matrix is null"));
    EXPECT_EQ(make(context_, a_.matrix, nullptr), invalid);
    EXPECT_TRUE(says("map is null"));
    EXPECT_EQ(make(context_, blocks, &m_), BCSC_ERROR_UNSUPPORTED);
    EXPECT_TRUE(says("matrix is bcsc of fp64")) << bcsc_last_error();
    EXPECT_EQ(make(context_, indefinite.matrix, &m_), invalid);
    EXPECT_EQ(make(context_, wide.matrix, &m_), BCSC_ERROR_SIZE_MISMATCH);
    EXPECT_EQ(make(context_, wrong, &m_), BCSC_ERROR_INDEX_OUT_OF_RANGE);
    EXPECT_EQ(m_, nullptr);
  }
  bcsc_sparse_free(wrong);
  bcsc_sparse_free(blocks);

  auto polynomial = sized<bcsc_chebyshev_options>();
  polynomial.degree = 17;
  EXPECT_EQ(bcsc_operator_chebyshev(context_, a_.matrix, &m_, &polynomial), invalid);
  EXPECT_TRUE(says("degree = 17")) << bcsc_last_error();
  polynomial.degree = 0, polynomial.ratio = nan;
  EXPECT_EQ(bcsc_operator_chebyshev(context_, a_.matrix, &m_, &polynomial), invalid);
  polynomial.ratio = 0, polynomial.lanczos_steps = -1;
  EXPECT_EQ(bcsc_operator_chebyshev(context_, a_.matrix, &m_, &polynomial), invalid);
  auto factor = sized<bcsc_ic0_options>();
  factor.shift = 2;
  EXPECT_EQ(bcsc_operator_ic0(context_, a_.matrix, &m_, &factor), invalid);
  EXPECT_TRUE(says("shift = 2")) << bcsc_last_error();
  auto dense = sized<bcsc_block_jacobi_options>();
  dense.block = 65;
  EXPECT_EQ(bcsc_operator_block_jacobi(context_, a_.matrix, &m_, &dense), invalid);
  EXPECT_TRUE(says("block = 65")) << bcsc_last_error();
  dense.size = 8192;
  EXPECT_EQ(bcsc_operator_block_jacobi(context_, a_.matrix, &m_, &dense), invalid);
  EXPECT_TRUE(says("options.size = 8192"));
  EXPECT_EQ(bcsc_operator_describe(nullptr, nullptr), invalid);
  EXPECT_TRUE(says("map is null"));
  EXPECT_EQ(bcsc_operator_describe(a_.of_plan, nullptr), invalid);
  EXPECT_TRUE(says("text is null"));
  EXPECT_EQ(m_, nullptr);
}

}  // namespace
}  // namespace bcsc::test
