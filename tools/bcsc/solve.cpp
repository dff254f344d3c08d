#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/cg.hpp"
#include "bcsc/error.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/curve_svg.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/operands.hpp"
#include "tools/bcsc/picture.hpp"
#include "tools/bcsc/preconditioners.hpp"
#include "tools/bcsc/process.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

struct solve_options : output_options {
  matrix_source source;
  device_options where;
  std::int64_t num_rhs = 1;
  double tolerance = 1e-10;
  std::int64_t max_iterations = 10000;
  preconditioner_options precondition;
  value_type type = value_type::fp64;
  cg_method method = cg_method::simultaneous;
  cg_inner inner = cg_inner::as_given;
  cg_beta beta = cg_beta::fletcher_reeves;
  std::string correction = "none";
  std::int64_t check_every = 0;
  std::string b = "xtrue", x0, solution, plot;
  bool num_rhs_given = false;
};

/// "none", "recompute:ITERATIONS", "reliable:SHARE" or "refine:SHARE"; nothing if it is none of them.
std::optional<cg_correction> parse_correction(const std::string& text) {
  if (text == "none") return cg_correction{};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const char* const begin = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  double when = 0;
  const auto [rest, status] = std::from_chars(begin, end, when);
  if (status != std::errc{} || rest != end) return std::nullopt;
  const std::string kind = text.substr(0, colon);
  if (kind == "recompute" && when >= 1 && when <= 1e9 && when == std::floor(when)) {
    return cg_correction::recompute(static_cast<std::int64_t>(when));
  }
  if (!(when > 0 && when < 1)) return std::nullopt;
  if (kind == "reliable") return cg_correction::reliable(when);
  if (kind == "refine") return cg_correction::refine(when);
  return std::nullopt;
}

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

/// The right-hand sides and where to begin, as far as they are files.
struct solve_files {
  std::optional<dense_operand> b, x0, coordinates;
};

/// Opens them, and takes the number of right-hand sides from B's. What can be refused before A is read is refused here.
solve_files open_operands(solve_options& options) {
  solve_files files;
  require_separate_streams({{"FILE", options.source.name},
                            {"--b", options.b},
                            {"--x0", options.x0},
                            {"--coordinates", options.precondition.coordinates}});
  if (!options.solution.empty()) require_dense_output("--solution", options.solution);
  const bool is_made = options.b == "xtrue" || options.b == "random" || options.b == "ones";
  if (!is_made) {
    files.b.emplace("--b", options.b);
    const std::int64_t cols = files.b->cols();
    if (cols < 1) core::fail(errc::size_mismatch, "--b {}: has no columns", options.b);
    if (options.num_rhs_given && cols != options.num_rhs) {
      files.b->require_shape(files.b->rows(), options.num_rhs, fmt::format("--rhs {}", options.num_rhs));
    }
    options.num_rhs = cols;
  }
  if (!options.x0.empty()) files.x0.emplace("--x0", options.x0);
  files.coordinates = open_coordinates(options.precondition);
  return files;
}

/// That the operands fit A, and into memory.
template <value T>
void require_fitting(const solve_options& options, const solve_files& files, std::int64_t rows, std::int64_t cols) {
  const std::string why =
      fmt::format("A is {} x {}{}", core::count_text(rows), core::count_text(cols),
                  files.b ? fmt::format(", --b has {} columns", core::count_text(options.num_rhs)) : "");
  if (files.b) files.b->require_shape(rows, options.num_rhs, why);
  if (files.x0) files.x0->require_shape(cols, options.num_rhs, why);
  // B, X and the solution it is compared with; the solver's own B and X, and what its method iterates with.
  const std::int64_t vectors = options.method == cg_method::block ? 11 : 8;
  require_host_memory(fmt::format("the vectors of {} right-hand sides", core::count_text(options.num_rhs)),
                      core::saturating_product(core::saturating_product(rows, options.num_rhs), vectors * sizeof(T)));
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

/// `errors`: of a known solution, else empty.
void report(const cg_result& result, const std::vector<double>& errors, output& out) {
  out.line("{} after {} iterations, {} products, {}", to_string(result.reason), result.iterations, result.num_products,
           as_seconds(result.seconds));
  out.line("product: {}, m_block {}; within the iteration: {}", result.facts.kernel.name, result.facts.m_block,
           result.inner);
  if (result.num_replacements > 0) out.line("the iteration went on from {} true residuals", result.num_replacements);
  std::vector<std::string> header{"right-hand side", "|b - A x| / |b|", "recurrence", "iterations", "outcome"};
  if (!errors.empty()) header.emplace_back("|x - x_true| / |x_true|");
  table shown(header);
  for (std::size_t j = 0; j < result.true_residual.size(); ++j) {
    std::vector<std::string> row{std::to_string(j), fmt::format("{:.3e}", result.true_residual[j]),
                                 fmt::format("{:.3e}", result.recurrence_residual[j]),
                                 std::to_string(result.column_iterations[j]),
                                 std::string(to_string(result.column_reason[j]))};
    if (!errors.empty()) row.push_back(fmt::format("{:.3e}", errors.at(j)));
    shown.add(std::move(row));
  }
  shown.print(out);
  out.line();
  out.line("residual by iteration");
  for (const std::string& line : draw_log_curve(result.history)) out.line("{}", line);
  std::vector<std::string> reasons;
  for (const cg_stop reason : result.column_reason) reasons.emplace_back(to_string(reason));
  out.json().update({{"reason", to_string(result.reason)},
                     {"converged", result.reason == cg_stop::converged},
                     {"iterations", result.iterations},
                     {"num_products", result.num_products},
                     {"seconds", result.seconds},
                     {"kernel", result.facts.kernel.name},
                     {"m_block", result.facts.m_block},
                     {"inner", result.inner},
                     {"num_replacements", result.num_replacements},
                     {"true_residual", result.true_residual},
                     {"recurrence_residual", result.recurrence_residual},
                     {"column_iterations", result.column_iterations},
                     {"column_reason", reasons},
                     {"history", result.history}});
  if (!errors.empty()) out.json()["solution_error"] = errors;
}

/// A solver for A: what is known of its preconditioner, and how to solve with it.
template <value T>
struct prepared_solver {
  const context& ctx;
  const csr_matrix<T>& a;
  cg_preconditioner<T> m;  ///< both empty: the solver's own kind, below
  preconditioner of_cg = preconditioner::none;
  nlohmann::ordered_json facts;

  cg_result solve(dense_view<const T> b, dense_view<T> x, cg_options options) const {
    options.precondition = of_cg;
    return m.m || m.rounded ? solve_cg(ctx, a, m, b, x, options) : solve_cg(ctx, a, b, x, options);
  }
};

template <value T>
csr_matrix<float> rounded_to_fp32(const csr_matrix<T>& a) {
  const auto v = a.view();
  return {v.rows,
          v.cols,
          {v.row_ptr.begin(), v.row_ptr.end()},
          {v.col_ind.begin(), v.col_ind.end()},
          std::vector<float>(v.values.begin(), v.values.end())};
}

/// Makes the preconditioner, in fp32 for iterations on fp32 vectors.
template <value T>
prepared_solver<T> prepare(const solve_options& options, const solve_files& files, const context& ctx,
                           const csr_matrix<T>& a, output& out) {
  prepared_solver<T> solver{ctx, a, {}, {}, {}};
  const auto make = [&]<value U>(const csr_matrix<U>& from, std::optional<linear_operator<U>>& m) {
    made_preconditioner<U> made = make_preconditioner<U>(options.precondition, files.coordinates, options.source, ctx,
                                                         from, options.num_rhs, out);
    out.line("{}", made.description);
    solver.of_cg = made.of_cg;
    if (made.m && made.of_cg == preconditioner::none) {
      out.line("preconditioner: made in {}", as_seconds(made.seconds));
      m = std::move(made.m);
    }
    solver.facts = std::move(made.facts);
  };
  const bool on_fp32 = parse_correction(options.correction)->by == cg_correction::kind::refine;
  if (std::is_same_v<T, double> && on_fp32) {
    make(rounded_to_fp32(a), solver.m.rounded);
  } else {
    make(a, solver.m.m);
  }
  return solver;
}

template <value T>
int solve(solve_options options, output& out) {
  const context ctx = make_context(options.where);
  if (!options.plot.empty()) begin_file("--plot", options.plot, out);
  const solve_files files = open_operands(options);
  const loaded_matrix<T> loaded =
      load<T>(options.source, out, [&](auto rows, auto cols) { require_fitting<T>(options, files, rows, cols); });
  out.line("{}", describe_line(options.source, loaded));
  require_plausibly_spd(options.source.name, loaded.a);
  out.line("{}conjugate gradients, {} right-hand side{}, tolerance {:g}, {}, on {}",
           options.method == cg_method::block ? "block " : "", options.num_rhs, options.num_rhs == 1 ? "" : "s",
           options.tolerance, to_string(options.type), ctx.describe());
  const auto solver = prepare<T>(options, files, ctx, loaded.a, out);
  out.json() = {{"command", "solve"},
                {"matrix", describe(options.source, loaded)},
                {"device", ctx.describe()},
                {"backend", to_string(ctx.kind())},
                {"type", to_string(options.type)},
                {"rhs", options.num_rhs},
                {"b", options.b},
                {"tolerance", options.tolerance},
                {"method", options.method == cg_method::block ? "block-cg" : "cg"},
                {"correction", options.correction},
                {"precondition", options.precondition.kind},
                {"preconditioner", solver.facts}};

  const bool is_known = options.b == "xtrue";
  // B of a known solution, which is not all ones: that would hide swapped columns.
  dense_matrix<T> x_true;
  const dense_matrix<T> b = [&] {
    if (files.b) return files.b->template read<T>(layout::row_major, out);
    if (options.b == "ones") {
      const auto size = static_cast<std::size_t>(loaded.a.rows() * options.num_rhs);
      return dense_matrix<T>(loaded.a.rows(), options.num_rhs, layout::row_major, std::vector<T>(size, T{1}));
    }
    dense_matrix<T> random = random_dense<T>(loaded.a.cols(), options.num_rhs, layout::row_major, options.source.seed);
    if (!is_known) return random;
    x_true = std::move(random);
    return multiply(loaded.a, x_true);
  }();
  dense_matrix<T> x =
      files.x0 ? files.x0->template read<T>(layout::row_major, out) : dense_matrix<T>(loaded.a.cols(), options.num_rhs);
  if (files.x0) out.json()["x0"] = options.x0;

  progress_bar bar = out.progress("solving");
  const auto follow = [&](std::int64_t iteration, double residual) {
    bar.show(residual > 0 ? std::log(residual) / std::log(options.tolerance) : 0,
             fmt::format("iteration {}, residual {:.1e}", iteration, residual));
    return interrupted() == 0;
  };
  // The bar does not need to hear of each iteration as soon as it is done, which is what a GPU would wait for.
  const std::int64_t check_every = options.check_every == 0 && ctx.kind() == backend::cuda ? 8 : options.check_every;
  // From here on a signal ends the iteration, and what x has become is reported as if it were the last one.
  const ends_by_itself reports_its_iterate;
  const cg_result result = solver.solve(b.view(), x.view(),
                                        {.tolerance = options.tolerance,
                                         .max_iterations = options.max_iterations,
                                         .use_initial_guess = files.x0.has_value(),
                                         .progress = follow,
                                         .method = options.method,
                                         .inner = options.inner,
                                         .beta = options.beta,
                                         .correction = parse_correction(options.correction).value(),
                                         .check_every = check_every});
  bar.clear();

  std::vector<double> errors;
  for (std::int64_t j = 0; is_known && j < options.num_rhs; ++j) errors.push_back(relative_error(x, x_true, j));
  report(result, errors, out);
  if (!options.plot.empty()) {
    const std::string title =
        fmt::format("{}: {} after {} iterations, {} right-hand side{}", options.source.name, to_string(result.reason),
                    result.iterations, options.num_rhs, options.num_rhs == 1 ? "" : "s");
    write_log_curve_svg(writable_path(options.plot), result.history, title, options.tolerance);
    out.line("plot of the residual written to {}", options.plot);
    out.json()["plot"] = options.plot;
  }
  if (!options.solution.empty()) {
    write_dense(options.solution, x,
                {.comment = "solution of A x = b, A = " + options.source.name, .name = "x", .progress = {}});
    out.line("solution written to {}", options.solution);
    out.json()["solution"] = options.solution;
  }
  return result.reason == cg_stop::converged ? exit_ok : exit_not_met;
}

/// That no option asks for what another one rules out. Throws CLI::ParseError.
void require_compatible(const CLI::App& parser, const solve_options& options) {
  const auto exclude = [](const char* one, const char* other) { throw CLI::ExcludesError(one, other); };
  if (options.method == cg_method::block) {
    if (options.beta != cg_beta::fletcher_reeves) exclude("--method block-cg", "--beta pr");
    if (options.check_every > 1) exclude("--method block-cg", "--check-every");  // each iteration is looked at anyway
  }
  const CLI::Option& inner = *parser.get_option("--inner");
  if (inner.count() == 0 || inner.as<std::string>() != "fp64") return;
  if (options.type == value_type::fp32) exclude("--inner fp64", "--type fp32");
  if (parse_correction(options.correction)->by == cg_correction::kind::refine) {
    exclude("--inner fp64", "--correction refine");
  }
}

int run_solve(const solve_options& options, output& out) {
  return with_type(options.type, [&](auto t) { return solve<decltype(t)>(options, out); });
}

}  // namespace

command add_solve(CLI::App& app) {
  auto [cmd, options] = make_command<solve_options>(
      app, "solve", "Solve A x = b by conjugate gradients",
      "  bcsc solve elasticity:20,20,20\n"
      "  bcsc solve matrix.mtx.gz --rhs 8 --tolerance 1e-8 --precondition block-jacobi\n"
      "  bcsc solve elasticity:30,30,30 --precondition amg --plot residual.svg\n"
      "  bcsc solve elasticity:20,20,20 --rhs 16 --method block-cg\n"
      "  bcsc solve stencil7:40,40,40 --inner fp32 --correction refine:0.01\n"
      "  bcsc solve stencil7:40,40,40 --type fp32 --tolerance 1e-5 --solution x.mtx\n"
      "  bcsc solve matrix.mtx --b rhs.npy --x0 guess.npy --solution x.npy\n"
      "A matrix that cannot be symmetric positive definite is refused (1); no convergence exits with 3. INT, TERM or\n"
      "HUP end the iteration: the iterate is reported, and written, as it is then (128 + signal).",
      run_solve);
  add_source(*cmd.parser, options->source);
  cmd.parser
      ->add_option(
          "--b", options->b,
          "Right-hand sides: a dense file (.npy, .npz, .mtx, .bcsc; FILE.npz:NAME names an array), - for standard "
          "input, random, ones, or xtrue: A times a random solution, which X is then compared with")
      ->type_name("FILE")
      ->capture_default_str();
  cmd.parser->add_option("-k,--rhs", options->num_rhs, "How many right-hand sides, solved at once; of a file, all")
      ->check(at_least(1))
      ->capture_default_str();
  cmd.parser->add_option("--x0", options->x0, "Initial guess, a dense file; else 0")->type_name("FILE");
  cmd.parser->add_option("--tolerance", options->tolerance, "On each true residual |b - A x| / |b|")
      ->check(above_zero())
      ->capture_default_str();
  cmd.parser->add_option("--max-iterations", options->max_iterations, "Give up after this many")
      ->check(at_least(1))
      ->capture_default_str();
  add_preconditioner(*cmd.parser, options->precondition);
  add_choice<cg_method>(
      *cmd.parser, "--method", options->method, {{"cg", cg_method::simultaneous}, {"block-cg", cg_method::block}},
      "All right-hand sides side by side, or in one search space: fewer iterations, more work in each");
  add_choice<cg_inner>(*cmd.parser, "--inner", options->inner,
                       {{"as-given", cg_inner::as_given},
                        {"fp64", cg_inner::as_given},
                        {"fp32", cg_inner::fp32},
                        {"tf32", cg_inner::tf32},
                        {"tf32x3", cg_inner::tf32x3},
                        {"3xtf32", cg_inner::tf32x3},
                        {"bf16", cg_inner::bf16}},
                       "What products within the iteration are rounded to; the residuals that decide never are");
  cmd.parser
      ->add_option("--correction", options->correction,
                   "When the true residual replaces the recurrence's: none (only at the end), recompute:ITERATIONS, "
                   "reliable:SHARE of the last one, or refine:SHARE, which iterates on fp32 vectors alone")
      ->check([](const std::string& text) {
        return parse_correction(text) ? std::string()
                                      : "not none, recompute:N, reliable:SHARE or refine:SHARE: " + text;
      })
      ->capture_default_str();
  add_choice<cg_beta>(*cmd.parser, "--beta", options->beta,
                      {{"fr", cg_beta::fletcher_reeves}, {"pr", cg_beta::polak_ribiere}},
                      "Fletcher-Reeves, or Polak-Ribiere");
  cmd.parser
      ->add_option("--check-every", options->check_every,
                   "Iterations from one look at the residuals to the next; 0: 1 on the CPU, 8 on a GPU")
      ->check(at_least(0))
      ->capture_default_str();
  add_type(*cmd.parser, options->type);
  add_device(*cmd.parser, options->where);
  cmd.parser->add_option("--solution", options->solution, "Write X to this file: .npy, .npz, .mtx or .bcsc")
      ->type_name("FILE");
  cmd.parser
      ->add_option("--plot", options->plot, "Draw the residual by iteration to this SVG file, - for standard output")
      ->check(svg_name())
      ->type_name("FILE");
  cmd.parser->callback([&parser = *cmd.parser, given = options] {
    given->num_rhs_given = parser.count("--rhs") > 0;
    require_compatible(parser, *given);
  });
  return cmd;
}

}  // namespace bcsc::cli
