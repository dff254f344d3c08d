#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/dense_files.hpp"
#include "bcsc/files.hpp"
#include "bcsc/generate.hpp"
#include "test/support/lapack.hpp"
#include "test/unit/cli_process.hpp"

// `bcsc solve` as its users see it.
namespace {

using namespace bcsc::test::cli;
using nlohmann::json;

struct solve_case {
  std::string arguments;
  std::size_t num_rhs;
  double tolerance, error;
};
void PrintTo(const solve_case& c, std::ostream* out) { *out << c.arguments; }

class solve_command : public testing::TestWithParam<solve_case> {};

TEST_P(solve_command, converges_to_the_true_solution) {
  const solve_case& c = GetParam();
  const json result = bcsc_json("solve " + c.arguments);
  EXPECT_EQ(result.at("converged"), true);
  EXPECT_EQ(result.at("reason"), "converged");
  EXPECT_GT(result.at("iterations"), 1);
  EXPECT_EQ(result.at("history").size(), result.at("iterations").get<std::size_t>() + 1);
  ASSERT_EQ(result.at("true_residual").size(), c.num_rhs);
  for (double residual : result.at("true_residual")) EXPECT_LE(residual, c.tolerance);
  for (double error : result.at("solution_error")) EXPECT_LE(error, c.error);
}

INSTANTIATE_TEST_SUITE_P(
    systems, solve_command,
    testing::Values(solve_case{"stencil5:20,20 --device cpu", 1, 1e-10, 1e-7},
                    solve_case{"elasticity:5,4,3 --device cpu --rhs 3 --precondition none", 3, 1e-10, 1e-6},
                    solve_case{"banded:200,4 --rhs 2 --tolerance 1e-12", 2, 1e-12, 1e-9},
                    solve_case{"elasticity:5,4,3 --device cpu --rhs 5 --method block-cg", 5, 1e-10, 1e-6},
                    solve_case{"stencil7:8,8,8 --device cpu --inner fp32 --correction refine:0.01", 1, 1e-10, 1e-7},
                    solve_case{"stencil7:8,8,8 --device cpu --inner bf16 --correction reliable:0.1 --rhs 2 "
                               "--method block-cg",
                               2, 1e-10, 1e-7},
                    solve_case{
                        "stencil7:8,8,8 --device cpu --correction recompute:10 --beta pr --check-every 4 --rhs 3", 3,
                        1e-10, 1e-7},
                    solve_case{"stencil27:6,6,6 --device cpu --type fp32 --tolerance 1e-5", 1, 1e-5, 1e-3}));

TEST(solve, exits_with_3_without_convergence) {
  const json result = bcsc_json("solve stencil5:40,40 --device cpu --max-iterations 3", 3);
  EXPECT_EQ(result.at("converged"), false);
  EXPECT_EQ(result.at("reason"), "max_iterations");
  EXPECT_EQ(result.at("iterations"), 3);
  EXPECT_GT(result.at("true_residual").at(0).get<double>(), 1e-10);
}

TEST(solve, draws_its_history) {
  const outcome result = bcsc_run("solve stencil5:20,20 --device cpu");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("residual by iteration"), std::string::npos);
  EXPECT_NE(result.out.find("┤"), std::string::npos);
  EXPECT_NE(result.out.find("\xe2\xa0"), std::string::npos) << "braille dots";
  EXPECT_NE(result.out.find("converged after"), std::string::npos);
}

TEST(solve, says_what_became_of_each_right_hand_side) {
  const json result = bcsc_json("solve stencil5:20,20 --device cpu --rhs 3 --inner fp32 --correction reliable:0.01");
  EXPECT_EQ(result.at("column_reason"), (json{"converged", "converged", "converged"}));
  EXPECT_EQ(result.at("recurrence_residual").size(), 3u);
  for (std::int64_t iterations : result.at("column_iterations")) EXPECT_LE(iterations, result.at("iterations"));
  EXPECT_GT(result.at("num_replacements"), 0);
  EXPECT_NE(result.at("inner").get<std::string>().find("fp32"), std::string::npos);
}

TEST(solve, plots_its_residual) {
  const std::string path = in_scratch("residual.svg");
  const json result = bcsc_json("solve stencil5:20,20 --device cpu --plot " + path);
  EXPECT_EQ(result.at("plot"), path);
  std::ifstream file(path);
  const std::string svg{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_NE(svg.find("stencil5:20,20: converged after"), std::string::npos);
  const std::size_t points = svg.find("<polyline points=\"");
  ASSERT_NE(points, std::string::npos);
  const std::string drawn = svg.substr(points, svg.find("fill=", points) - points);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), ','), result.at("iterations").get<std::int64_t>() + 1);
  const outcome refused = bcsc_run("solve stencil5:5,5 --device cpu --plot " + in_scratch("no/such/folder.svg"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("plot"), std::string::npos) << refused.err;
}

TEST(solve, knows_a_precision_by_both_its_names) {
  const std::string line = "solve stencil5:12,12 --device cpu --threads 1 --inner ";
  for (const auto& [one, other] : {std::pair{"tf32x3", "3xtf32"}, std::pair{"as-given", "fp64"}}) {
    const json first = bcsc_json(line + one), second = bcsc_json(line + other);
    EXPECT_EQ(first.at("inner"), second.at("inner"));
    EXPECT_EQ(first.at("history"), second.at("history"));
  }
  EXPECT_NE(bcsc_json(line + "3xtf32").at("history"), bcsc_json(line + "fp64").at("history"));
}

TEST(solve, takes_operators_of_a_chosen_condition) {
  for (const std::string matrix : {"householder:300,1e4", "diagonal:300,1e4", "diagonal:30,50,seed=2,whole=1"}) {
    const json result = bcsc_json("solve " + matrix + " --b random --precondition none --device cpu");
    EXPECT_EQ(result.at("converged"), true) << matrix;
    EXPECT_GT(result.at("iterations"), 20) << matrix;
  }
}

struct excluded_case {
  const char* arguments;
  const char* says;
};
void PrintTo(const excluded_case& c, std::ostream* out) { *out << c.arguments; }

class excluded_options : public testing::TestWithParam<excluded_case> {};

/// Before the matrix, which does not exist, is read.
TEST_P(excluded_options, are_named) {
  const outcome result = bcsc_run(std::string("solve none.mtx ") + GetParam().arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().says), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    command_lines, excluded_options,
    testing::Values(excluded_case{"--method block-cg --beta pr", "--method block-cg excludes --beta pr"},
                    excluded_case{"--check-every 4 --method block-cg", "--method block-cg excludes --check-every"},
                    excluded_case{"--inner fp64 --type fp32", "--inner fp64 excludes --type fp32"},
                    excluded_case{"--inner fp64 --correction refine:0.1",
                                  "--inner fp64 excludes --correction refine"}));

TEST(solve, checks_each_block_iteration) {
  for (const char* const every : {"0", "1"}) {
    bcsc_json(std::string("solve stencil5:9,9 --device cpu --method block-cg --beta fr --check-every ") + every);
  }
}

TEST(solve, writes_its_solution) {
  const std::string path = in_scratch("x.mtx");
  const json result = bcsc_json("solve banded:50,3 --device cpu --rhs 2 --tolerance 1e-13 --seed 8 --solution " + path);
  EXPECT_EQ(result.at("solution"), path);
  const auto x = bcsc::read_dense<double>(path);
  ASSERT_EQ(x.rows(), 50);
  ASSERT_EQ(x.cols(), 2);
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    largest = std::max(largest, std::abs(x(i, 0)));
    difference = std::max(difference, std::abs(x(i, 0) - x(i, 1)));
  }
  EXPECT_GT(largest, 0.5) << "random in [-1, 1)";
  EXPECT_LE(largest, 1.0 + 1e-9);
  EXPECT_GT(difference, 0.5) << "each right-hand side is another";
  const std::string other = in_scratch("x2.mtx");
  bcsc_json("solve banded:50,3 --device cpu --rhs 2 --tolerance 1e-13 --seed 9 --solution " + other);
  EXPECT_GT(std::abs(bcsc::read_dense<double>(other)(0, 0) - x(0, 0)), 1e-6);
}

// --- Preconditioners ------------------------------------------------------------------------------------------------

class preconditioned_command : public testing::TestWithParam<std::string> {};

TEST_P(preconditioned_command, takes_fewer_iterations_than_none) {
  const std::string line = "solve stencil7:14,14,14 --device cpu --rhs 2 --precondition ";
  const json without = bcsc_json(line + "none");
  EXPECT_EQ(without.at("precondition"), "none");
  EXPECT_EQ(without.at("preconditioner").at("kind"), "none");
  for (const std::string more : {"", " --method block-cg", " --inner fp32 --correction reliable:0.01"}) {
    SCOPED_TRACE(more);
    const json with = bcsc_json(line + GetParam() + more);
    EXPECT_EQ(with.at("converged"), true);
    EXPECT_EQ(with.at("precondition"), GetParam());
    EXPECT_EQ(with.at("preconditioner").at("kind"), GetParam().substr(0, GetParam().find(':')));
    EXPECT_GE(with.at("preconditioner").at("setup_seconds"), 0);
    EXPECT_LT(with.at("iterations"), without.at("iterations"));
    for (double error : with.at("solution_error")) EXPECT_LE(error, 1e-7);
  }
}
INSTANTIATE_TEST_SUITE_P(kinds, preconditioned_command,
                         testing::Values("chebyshev", "chebyshev:3", "chebyshev:degree=4,ratio=20", "ic0",
                                         "ic0:shift=0.01", "amg", "amg:2,coarse=50", "amg:fp32=1"));

/// On a constant diagonal Jacobi is a factor, which CG does not see.
TEST(solve, by_blocks_of_the_diagonal) {
  const std::string line = "solve elasticity:8,4,4 --device cpu --precondition ";
  const json none = bcsc_json(line + "none"), jacobi = bcsc_json(line + "jacobi");
  const json blocks = bcsc_json(line + "block-jacobi"), named = bcsc_json(line + "block-jacobi:size=3");
  for (const json& result : {none, jacobi, blocks, named}) {
    EXPECT_EQ(result.at("converged"), true);
    EXPECT_LE(result.at("solution_error").at(0), 1e-6);
  }
  EXPECT_LE(blocks.at("iterations"), none.at("iterations"));
  EXPECT_EQ(blocks.at("iterations"), named.at("iterations")) << "nodes of three unknowns are found";
  EXPECT_EQ(bcsc_json(line + "block-jacobi:1").at("iterations"), jacobi.at("iterations"));
}

TEST(solve, amg_of_elasticity_takes_rigid_body_modes_where_coordinates_are_known) {
  const std::string generated = "elasticity:8,5,5";
  const json known = bcsc_json("solve " + generated + " --device cpu --precondition amg");
  EXPECT_EQ(known.at("preconditioner").at("near_nullspace"), "rigid-body modes");
  EXPECT_EQ(known.at("preconditioner").at("levels").at(0).at("rows"), 8 * 6 * 6 * 3);
  EXPECT_GE(known.at("preconditioner").at("operator_complexity"), 1);
  EXPECT_LE(known.at("solution_error").at(0), 1e-6);

  const std::string file = in_scratch("elastic.mtx");
  ASSERT_EQ(bcsc_run("convert " + generated + " " + file).code, 0);
  const json unknown = bcsc_json("solve " + file + " --device cpu --precondition amg");
  EXPECT_EQ(unknown.at("preconditioner").at("near_nullspace"), "constants");
  EXPECT_GT(unknown.at("iterations"), known.at("iterations"));

  const std::string points = in_scratch("points.npy");
  bcsc::write_dense(points, bcsc::generate::node_coordinates(generated), {});
  const json given = bcsc_json("solve " + file + " --device cpu --precondition amg --coordinates " + points);
  EXPECT_EQ(given.at("preconditioner").at("near_nullspace"), "rigid-body modes");
  EXPECT_EQ(given.at("iterations"), known.at("iterations"));
  const outcome text = bcsc_run("solve " + generated + " --device cpu --precondition amg");
  EXPECT_NE(text.out.find("preconditioner: made in"), std::string::npos) << text.out;
}

TEST(solve, iterates_on_fp32_vectors_with_a_preconditioner_of_fp32) {
  for (const std::string kind : {"chebyshev:3", "amg", "block-jacobi:3", "jacobi"}) {
    SCOPED_TRACE(kind);
    const json result =
        bcsc_json("solve elasticity:6,4,4 --device cpu --rhs 2 --correction refine:0.01 --precondition " + kind);
    EXPECT_EQ(result.at("converged"), true);
    EXPECT_GE(result.at("num_replacements"), 1) << "fp32 alone does not get there";
    for (double error : result.at("solution_error")) EXPECT_LE(error, 1e-6);
  }
}

/// The same table of preconditioners serves eigenvalues: what is named is what is used.
TEST(eigs, takes_the_preconditioner_that_it_names) {
  BCSC_SKIP_WITHOUT_LAPACK();
  const std::string path = in_scratch("uneven.mtx");
  std::ofstream file(path);
  file << "%%MatrixMarket matrix coordinate real symmetric\n400 400 799\n";
  for (int i = 1; i <= 400; ++i) {
    file << i << " " << i << " " << 4.0 * i * i << "\n";
    if (i > 1) file << i << " " << i - 1 << " " << -0.9 * i * (i - 1) << "\n";
  }
  file.close();
  const std::string line = "eigs " + path + " -k 3 --device cpu --precondition ";
  const json none = bcsc_json(line + "none"), jacobi = bcsc_json(line + "jacobi");
  EXPECT_EQ(jacobi.at("preconditioner").at("kind"), "jacobi");
  EXPECT_LT(2 * jacobi.at("iterations").get<int>(), none.at("iterations"));
}

struct refused_case {
  std::string arguments;
  int code;
  std::string message;
};
void PrintTo(const refused_case& c, std::ostream* out) { *out << c.arguments; }

class refused_preconditioner : public testing::TestWithParam<refused_case> {};

TEST_P(refused_preconditioner, is_refused_by_name) {
  const outcome result = bcsc_run("solve stencil5:6,6 --device cpu " + GetParam().arguments);
  EXPECT_EQ(result.code, GetParam().code) << result.err;
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
}
INSTANTIATE_TEST_SUITE_P(
    cases, refused_preconditioner,
    testing::Values(refused_case{"--precondition ilu", 2, "\"ilu\" is none of none, jacobi, block-jacobi[:size]"},
                    refused_case{"--precondition none:1", 2, "\"1\" of \"none:1\" is not understood"},
                    refused_case{"--precondition chebyshev:", 2, "its form is chebyshev[:degree] [,ratio=]"},
                    refused_case{"--precondition chebyshev:3,4", 2, "\"4\" of"},
                    refused_case{"--precondition chebyshev:3,degree=4", 2, "\"degree=4\" of"},
                    refused_case{"--precondition chebyshev:order=4", 2, "\"order=4\" of"},
                    refused_case{"--precondition chebyshev:3x", 2, "\"3x\" of"},
                    refused_case{"--precondition chebyshev:2.5", 1, "degree = 2.5: must be an integer"},
                    refused_case{"--precondition chebyshev:99", 1, "degree"},
                    refused_case{"--precondition block-jacobi:1000", 1, "block"},
                    refused_case{"--precondition ic0:2", 1, "shift"},
                    refused_case{"--precondition amg:strength=7", 1, "strength"},
                    refused_case{"--coordinates points.npy", 1, "only --precondition amg asks for them, not jacobi"},
                    refused_case{"--precondition amg --coordinates nowhere.npy", 1, "nowhere.npy"}));

TEST(solve, refuses_coordinates_of_another_matrix) {
  const std::string points = in_scratch("few.npy");
  bcsc::write_dense(points, bcsc::generate::node_coordinates("elasticity:2,1,1"), {});
  const outcome result = bcsc_run("solve stencil5:6,6 --device cpu --precondition amg --coordinates " + points);
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("8 x 3: A's 36 rows ask for as many nodes x 2 or 3 coordinates"), std::string::npos)
      << result.err;
}

}  // namespace
