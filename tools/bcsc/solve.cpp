#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/cg.hpp"
#include "bcsc/error.hpp"
#include "lib/core/fail.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/operands.hpp"
#include "tools/bcsc/picture.hpp"

namespace bcsc::cli {
namespace {

struct solve_options : output_options {
  matrix_source source;
  device_options where;
  std::int64_t num_rhs = 1;
  double tolerance = 1e-10;
  std::int64_t max_iterations = 10000;
  preconditioner precondition = preconditioner::jacobi;
  value_type type = value_type::fp64;
  std::string solution;
};

/// CG needs a symmetric positive definite matrix; what can be seen without a factorisation is refused here.
template <value T>
void require_plausibly_spd(const std::string& name, const csr_matrix<T>& a) {
  if (a.rows() != a.cols()) {
    core::fail(errc::invalid_argument,
               "{}: {} x {} is not square; conjugate gradients need a symmetric positive definite matrix", name,
               a.rows(), a.cols());
  }
  const pattern_statistics s = analyse_pattern(a.view());
  if (!s.value_symmetric) {
    core::fail(errc::invalid_argument,
               "{}: not symmetric ({}); conjugate gradients need a symmetric positive definite matrix", name,
               s.pattern_symmetric ? "the pattern is, the values are not" : "nor is its pattern");
  }
  if (!s.positive_diagonal) {
    core::fail(
        errc::invalid_argument,
        "{}: not every diagonal entry is positive, so it is not positive definite, which conjugate gradients need",
        name);
  }
}

/// A * x, summed in double.
template <value T>
dense_matrix<T> multiply(const csr_matrix<T>& a, const dense_matrix<T>& x) {
  dense_matrix<T> b(a.rows(), x.cols());
  const auto v = a.view();
#pragma omp parallel for schedule(dynamic, 256)
  for (std::int64_t i = 0; i < v.rows; ++i) {
    for (std::int64_t j = 0; j < x.cols(); ++j) {
      double sum = 0;
      const auto row = static_cast<std::size_t>(i);
      for (auto k = static_cast<std::size_t>(v.row_ptr[row]); k < static_cast<std::size_t>(v.row_ptr[row + 1]); ++k) {
        sum += static_cast<double>(v.values[k]) * static_cast<double>(x(v.col_ind[k], j));
      }
      b(i, j) = static_cast<T>(sum);
    }
  }
  return b;
}

/// ||x - x_true|| / ||x_true|| of column j.
template <value T>
double relative_error(const dense_matrix<T>& x, const dense_matrix<T>& x_true, std::int64_t j) {
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    error += std::pow(static_cast<double>(x(i, j)) - static_cast<double>(x_true(i, j)), 2);
    size += std::pow(static_cast<double>(x_true(i, j)), 2);
  }
  return size > 0 ? std::sqrt(error / size) : std::sqrt(error);
}

void report(const cg_result& result, const std::vector<double>& errors, output& out) {
  out.line("{} after {} iterations, {} products, {}", to_string(result.reason), result.iterations, result.num_products,
           as_seconds(result.seconds));
  out.line("product: {}, m_block {}", result.facts.kernel.name, result.facts.m_block);
  table shown({"right-hand side", "|b - A x| / |b|", "|x - x_true| / |x_true|"});
  for (std::size_t j = 0; j < errors.size(); ++j) {
    shown.add({std::to_string(j), fmt::format("{:.3e}", result.true_residual.at(j)), fmt::format("{:.3e}", errors[j])});
  }
  shown.print(out);
  out.line();
  out.line("residual by iteration");
  for (const std::string& line : draw_log_curve(result.history)) out.line("{}", line);
  out.json().update({{"reason", to_string(result.reason)},
                     {"converged", result.reason == cg_stop::converged},
                     {"iterations", result.iterations},
                     {"num_products", result.num_products},
                     {"seconds", result.seconds},
                     {"kernel", result.facts.kernel.name},
                     {"m_block", result.facts.m_block},
                     {"true_residual", result.true_residual},
                     {"solution_error", errors},
                     {"history", result.history}});
}

template <value T>
int solve(const solve_options& options, output& out) {
  const context ctx = make_context(options.where);
  const loaded_matrix<T> loaded = load<T>(options.source, out);
  out.line("{}", describe_line(options.source, loaded));
  require_plausibly_spd(options.source.name, loaded.a);
  out.line("conjugate gradients, {} right-hand side{}, {}, tolerance {:g}, {}, on {}", options.num_rhs,
           options.num_rhs == 1 ? "" : "s",
           options.precondition == preconditioner::jacobi ? "Jacobi" : "no preconditioner", options.tolerance,
           to_string(options.type), ctx.describe());
  out.json() = {{"command", "solve"},
                {"matrix", describe(options.source, loaded)},
                {"device", ctx.describe()},
                {"backend", to_string(ctx.kind())},
                {"type", to_string(options.type)},
                {"rhs", options.num_rhs},
                {"tolerance", options.tolerance},
                {"precondition", options.precondition == preconditioner::jacobi ? "jacobi" : "none"}};

  // A known solution, and not one of ones: that would hide an exchange of columns.
  const auto x_true = random_dense<T>(loaded.a.cols(), options.num_rhs, layout::row_major, options.source.seed);
  const dense_matrix<T> b = multiply(loaded.a, x_true);
  dense_matrix<T> x(loaded.a.cols(), options.num_rhs);

  progress_bar bar = out.progress("solving");
  const auto follow = [&](std::int64_t iteration, double residual) {
    bar.show(residual > 0 ? std::log(residual) / std::log(options.tolerance) : 0,
             fmt::format("iteration {}, residual {:.1e}", iteration, residual));
    return true;
  };
  const cg_result result = solve_cg(ctx, loaded.a, b.view(), x.view(),
                                    {.tolerance = options.tolerance,
                                     .max_iterations = options.max_iterations,
                                     .precondition = options.precondition,
                                     .progress = follow});
  bar.clear();

  std::vector<double> errors;
  for (std::int64_t j = 0; j < options.num_rhs; ++j) errors.push_back(relative_error(x, x_true, j));
  report(result, errors, out);
  if (!options.solution.empty()) {
    write_matrix_market(options.solution, x, {.comment = "solution of A x = b, A = " + options.source.name});
    out.line("solution written to {}", options.solution);
    out.json()["solution"] = options.solution;
  }
  return result.reason == cg_stop::converged ? exit_ok : exit_not_met;
}

int run_solve(const solve_options& options, output& out) {
  return with_type(options.type, [&](auto t) { return solve<decltype(t)>(options, out); });
}

}  // namespace

command add_solve(CLI::App& app) {
  auto [cmd, options] = make_command<solve_options>(
      app, "solve", "Solve A x = b by conjugate gradients, b = A * x_true with random x_true",
      "  bcsc solve elasticity:20,20,20\n"
      "  bcsc solve matrix.mtx.gz --rhs 8 --tolerance 1e-8 --precondition jacobi\n"
      "  bcsc solve stencil7:40,40,40 --type fp32 --tolerance 1e-5 --solution x.mtx\n"
      "A matrix that cannot be symmetric positive definite is refused (1); no convergence exits with 3.",
      run_solve);
  add_source(*cmd.parser, options->source);
  cmd.parser->add_option("-k,--rhs", options->num_rhs, "Right-hand sides, solved at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd.parser->add_option("--tolerance", options->tolerance, "On each true residual |b - A x| / |b|")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd.parser->add_option("--max-iterations", options->max_iterations, "Give up after so many")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_choice<preconditioner>(*cmd.parser, "--precondition", options->precondition,
                             {{"none", preconditioner::none}, {"jacobi", preconditioner::jacobi}}, "Preconditioner");
  add_type(*cmd.parser, options->type);
  add_device(*cmd.parser, options->where);
  cmd.parser->add_option("--solution", options->solution, "Write X there, as a Matrix Market array");
  return cmd;
}

}  // namespace bcsc::cli
