#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/error.hpp"
#include "bcsc/lobpcg.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/curve_svg.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/picture.hpp"
#include "tools/bcsc/preconditioners.hpp"
#include "tools/bcsc/process.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

struct eigs_options : output_options {
  matrix_source source;
  device_options where;
  std::int64_t num_pairs = 6;
  bool smallest = false, largest = false;
  std::string b, vectors, plot;
  double tolerance = 0;  ///< 0: what the library takes for the type
  std::int64_t max_iterations = 1000;
  preconditioner_options precondition{.kind = "none", .coordinates = {}};
  residual_scale scale = residual_scale::matrix;
  value_type type = value_type::fp64;
};

void require_square(const std::string& name, std::int64_t rows, std::int64_t cols) {
  if (rows == cols) return;
  core::fail(errc::invalid_argument, "{}: {} x {} is not square; eigenvalues are those of a symmetric matrix", name,
             core::count_text(rows), core::count_text(cols));
}

template <value T>
void require_symmetric(const std::string& name, const csr_matrix<T>& a) {
  const pattern_statistics s = analyse_pattern(a.view());
  if (s.value_symmetric) return;
  core::fail(errc::invalid_argument, "{}: not symmetric ({}), which its eigenvalues are asked of here", name,
             s.pattern_symmetric ? "the pattern is, the values are not" : "nor is its pattern");
}

/// Checks that there are that many pairs, and that their vectors fit into memory.
template <value T>
void require_fitting(const eigs_options& options, std::int64_t rows, std::int64_t cols) {
  require_square(options.source.name, rows, cols);
  if (options.num_pairs > rows) {
    core::fail(errc::invalid_argument, "{}: {} x {} has {} eigenvalues, not -k {}", options.source.name,
               core::count_text(rows), core::count_text(cols), core::count_text(rows),
               core::count_text(options.num_pairs));
  }
  // The basis is of three vectors for each pair and guard, twice and once for each matrix; the residuals, the result.
  const std::int64_t vectors = 3 * (options.b.empty() ? 3 : 4) + 3;
  const std::int64_t values = core::saturating_product(rows, options.num_pairs + 4);
  require_host_memory(fmt::format("the basis of {} eigenvectors", core::count_text(options.num_pairs)),
                      core::saturating_product(values, vectors * static_cast<std::int64_t>(sizeof(T))));
}

/// B, which must be of A's size.
template <value T>
std::optional<loaded_matrix<T>> load_b(const eigs_options& options, std::int64_t rows, output& out) {
  if (options.b.empty()) return std::nullopt;
  matrix_source source;
  source.name = options.b;
  loaded_matrix<T> loaded = load<T>(source, out, [&](std::int64_t b_rows, std::int64_t b_cols) {
    if (b_rows == rows && b_cols == rows) return;
    core::fail(errc::size_mismatch, "--b {}: {} x {}, A is {} x {}", options.b, core::count_text(b_rows),
               core::count_text(b_cols), core::count_text(rows), core::count_text(rows));
  });
  require_symmetric("--b " + options.b, loaded.a);
  return loaded;
}

void report(const lobpcg_result& result, output& out) {
  out.line("{} after {} iterations, {} products with blocks of up to {} vectors, {}", to_string(result.reason),
           result.iterations, result.num_products, result.block_size, as_seconds(result.seconds));
  table shown({"pair", "eigenvalue", "residual", ""});
  for (std::size_t j = 0; j < result.values.size(); ++j) {
    shown.add({std::to_string(j), fmt::format("{:.12g}", result.values[j]), fmt::format("{:.1e}", result.residual[j]),
               result.residual[j] <= result.tolerance ? "" : "not converged"});
  }
  shown.print(out);
  if (result.history.size() > 1) {
    out.line();
    out.line("largest residual by iteration");
    for (const std::string& line : draw_log_curve(result.history)) out.line("{}", line);
  }
  out.json().update({{"reason", to_string(result.reason)},
                     {"converged", result.reason == lobpcg_stop::converged},
                     {"num_converged", result.num_converged},
                     {"iterations", result.iterations},
                     {"num_products", result.num_products},
                     {"block_size", result.block_size},
                     {"seconds", result.seconds},
                     {"tolerance", result.tolerance},
                     {"norm_a", result.norm_a},
                     {"norm_b", result.norm_b},
                     {"values", result.values},
                     {"residual", result.residual},
                     {"history", result.history}});
}

template <value T>
int eigs(const eigs_options& options, output& out) {
  const context ctx = make_context(options.where);
  require_separate_streams(
      {{"FILE", options.source.name}, {"--b", options.b}, {"--coordinates", options.precondition.coordinates}});
  if (!options.plot.empty()) begin_file("--plot", options.plot, out);
  if (!options.vectors.empty()) require_dense_output("--vectors", options.vectors);
  const std::optional<dense_operand> coordinates = open_coordinates(options.precondition);
  const std::int64_t k = options.num_pairs;
  const loaded_matrix<T> loaded =
      load<T>(options.source, out, [&](auto rows, auto cols) { require_fitting<T>(options, rows, cols); });
  const std::int64_t n = loaded.a.rows();
  require_symmetric(options.source.name, loaded.a);
  const auto b = load_b<T>(options, n, out);
  const spectrum_end which = options.largest ? spectrum_end::largest : spectrum_end::smallest;
  const std::string end = which == spectrum_end::largest ? "largest" : "smallest";
  out.line("{}", describe_line(options.source, loaded));
  if (b) out.line("B: {}", options.b);
  out.line("LOBPCG, the {} {} eigenvalue{}, {}, on {}", core::count_text(k), end, k == 1 ? "" : "s",
           to_string(options.type), ctx.describe());
  const made_preconditioner<T> made =
      make_preconditioner(options.precondition, coordinates, options.source, ctx, loaded.a, k, out);
  out.line("{}", made.description);
  if (made.m) out.line("preconditioner: made in {}", as_seconds(made.seconds));
  out.json() = {{"command", "eigs"},
                {"matrix", describe(options.source, loaded)},
                {"device", ctx.describe()},
                {"backend", to_string(ctx.kind())},
                {"type", to_string(options.type)},
                {"k", k},
                {"which", end},
                {"precondition", options.precondition.kind},
                {"preconditioner", made.facts},
                {"residual_scale", options.scale == residual_scale::matrix ? "matrix" : "eigenvalue"}};
  if (b) out.json()["b"] = options.b;

  lobpcg_options<T> how;
  how.which = which;
  how.tolerance = options.tolerance;
  how.scale = options.scale;
  how.max_iterations = options.max_iterations;
  if (b) how.b = linear_operator<T>(spmm_plan<T>(ctx, b->a, {.cols = k}));
  how.precondition = made.m;
  progress_bar bar = out.progress("eigenvalues");
  double first = 0;
  how.progress = [&](const lobpcg_progress& now) {
    if (now.iteration == 0) first = now.residual;
    const double aim = options.tolerance > 0 ? options.tolerance : std::is_same_v<T, double> ? 1e-10 : 1e-5;
    const bool can_tell = first > aim && now.residual > 0;
    bar.show(can_tell ? std::clamp(std::log(now.residual / first) / std::log(aim / first), 0.0, 1.0) : 0,
             fmt::format("iteration {}, residual {:.1e}, {} of {} converged", now.iteration, now.residual,
                         now.num_converged, k));
    return interrupted() == 0;
  };
  // From here on a signal ends the iteration, and what the pairs have become is reported as if it were the last one.
  const ends_by_itself reports_its_iterate;
  dense_matrix<T> x(n, k);
  const lobpcg_result result = solve_lobpcg(ctx, loaded.a, x.view(), how);
  bar.clear();

  report(result, out);
  if (!options.plot.empty()) {
    write_log_curve_svg(writable_path(options.plot), result.history,
                        fmt::format("{}: {} after {} iterations, {} {} eigenvalue{}", options.source.name,
                                    to_string(result.reason), result.iterations, k, end, k == 1 ? "" : "s"),
                        result.tolerance);
    out.line("plot of the residual written to {}", options.plot);
    out.json()["plot"] = options.plot;
  }
  if (!options.vectors.empty()) {
    write_dense(options.vectors, x,
                {.comment = fmt::format("{} {} eigenvectors of {}", k, end, options.source.name),
                 .name = "vectors",
                 .progress = {}});
    out.line("eigenvectors written to {}", options.vectors);
    out.json()["vectors"] = options.vectors;
  }
  return result.reason == lobpcg_stop::converged ? exit_ok : exit_not_met;
}

int run_eigs(const eigs_options& options, output& out) {
  return with_type(options.type, [&](auto t) { return eigs<decltype(t)>(options, out); });
}

}  // namespace

command add_eigs(CLI::App& app) {
  auto [cmd, options] = make_command<eigs_options>(
      app, "eigs", "Find the smallest or largest eigenvalues of a symmetric A",
      "  bcsc eigs stencil7:40,40,40 -k 16\n"
      "  bcsc eigs matrix.mtx.gz --largest -k 4 --vectors v.npy\n"
      "  bcsc eigs stiffness.mtx --b mass.mtx -k 12 --precondition amg --plot residual.svg\n"
      "  bcsc eigs matrix.mtx --residual eigenvalue --tolerance 1e-8 --max-iterations 5000\n"
      "A x = lambda x, or A x = lambda B x with --b, by LOBPCG: of A, B and the preconditioner only products are\n"
      "computed. The preconditioner is made of A, which must be positive definite for it, and helps towards the\n"
      "smallest eigenvalues. A matrix that is not symmetric is refused (1); no convergence exits with 3. INT, TERM\n"
      "or HUP end the iteration: the pairs are reported, and written, as they are then (128 + signal).",
      run_eigs);
  CLI::App& parser = *cmd.parser;
  add_source(parser, options->source);
  parser.add_option("-k,--pairs", options->num_pairs, "How many eigenvalues")
      ->check(at_least(1))
      ->capture_default_str();
  CLI::Option* const smallest = parser.add_flag("--smallest", options->smallest, "The smallest ones (the default)");
  parser.add_flag("--largest", options->largest, "The largest ones")->excludes(smallest);
  parser
      .add_option("--b", options->b,
                  "B of A x = lambda B x, symmetric positive definite: a matrix file or a generated matrix; else the "
                  "identity")
      ->type_name("FILE");
  add_preconditioner(parser, options->precondition);
  parser
      .add_option("--tolerance", options->tolerance,
                  "On each residual |A x - lambda B x|, relative as --residual says (1e-10 in fp64, 1e-5 in fp32)")
      ->check(above_zero());
  add_choice<residual_scale>(parser, "--residual", options->scale,
                             {{"matrix", residual_scale::matrix}, {"eigenvalue", residual_scale::eigenvalue}},
                             "Relative to |A| + |lambda| |B|, or to the eigenvalue: stricter for small ones");
  parser.add_option("--max-iterations", options->max_iterations, "Give up after this many")
      ->check(at_least(1))
      ->capture_default_str();
  add_type(parser, options->type);
  add_device(parser, options->where);
  parser
      .add_option("--plot", options->plot,
                  "Draw the largest residual by iteration to this SVG file, - for standard output")
      ->check(svg_name())
      ->type_name("FILE");
  parser.add_option("--vectors", options->vectors, "Write the eigenvectors to this file: .npy, .npz, .mtx or .bcsc")
      ->type_name("FILE");
  return cmd;
}

}  // namespace bcsc::cli
