#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/cg.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/error.hpp"
#include "bcsc/linear_operator.hpp"
#include "bcsc/lobpcg.hpp"
#include "bcsc/spmm.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/solvers/precision_systems.hpp"
#include "bench/solvers/recurrence_alone.hpp"
#include "bench/solvers/rounded_products.hpp"
#if BCSC_BENCH_WITH_CUSPARSE
#include "bench/solvers/formed_anew.hpp"
#endif

/// Conjugate gradients whose products are rounded, at the system of a least-squares support vector machine,
/// (X X' + I / C) a = y, by two products, formed, or formed anew in each product, and at dense matrices of a chosen
/// condition: which precision and correction gets where, and in how many iterations. Every residual in fp64 is computed
/// by the solver from x with A as given.
namespace {

using namespace bcsc;
using bench::json;

const std::vector<std::string> all_parts = {"recurrence", "variants", "formed", "anew", "conditions"};

constexpr cg_inner precisions[] = {cg_inner::as_given, cg_inner::fp32, cg_inner::tf32x3, cg_inner::tf32,
                                   cg_inner::bf16};

std::vector<std::string> inner_names() {
  std::vector<std::string> names;
  for (const cg_inner precision : precisions) names.push_back(bench::name_of(precision));
  return names;
}

struct options {
  std::string device = "cuda", out;
  std::vector<std::string> parts = all_parts;
  std::vector<std::string> inner = inner_names();  ///< of `variants` and `anew`, beside fp64
  std::int64_t points = 4096, features = 1024, order = 128, max_iterations = 5000, sweep_iterations = 50000;
  std::int64_t rhs = 1;                ///< of these
  std::vector<double> shares = {0.1};  ///< of reliable() and refine(), in these
  int repeats = 1;
  double offset = 0.27;  ///< of every feature: the system's largest eigenvalue is about points * features * offset^2
  double deviation = 1;  ///< of the noise beside it
  double tolerance = 1e-10;

  bool compares(cg_inner precision) const {
    return precision == cg_inner::as_given || std::ranges::find(inner, bench::name_of(precision)) != inner.end();
  }
  bool has(const char* part) const { return std::ranges::find(parts, part) != parts.end(); }
};

struct named_correction {
  std::string name;
  cg_correction correction;
};

std::vector<named_correction> corrections_by(const std::vector<double>& shares) {
  std::vector<named_correction> all{{"none", {}}, {"recompute:50", cg_correction::recompute(50)}};
  for (const double share : shares) {
    all.push_back({fmt::format("reliable:{}", share), cg_correction::reliable(share)});
    all.push_back({fmt::format("refine:{}", share), cg_correction::refine(share)});
  }
  return all;
}
const std::vector<named_correction> corrections = corrections_by({0.1});

/// Whether a correction means something of its own: refine() in fp64 is that of fp32.
bool applies(cg_inner precision, const named_correction& how) {
  return precision != cg_inner::as_given || how.correction.by != cg_correction::kind::refine;
}

/// What one precision multiplies with, and how that is done here.
struct multiplier {
  cg_inner precision;
  cg_operators<double> parts;
  std::string how = "fp64";
};

/// `rounded` gives the product in less precision.
multiplier multiplier_in(cg_inner precision, const linear_operator<double>& exact, const auto& rounded) {
  multiplier made{precision, {.a = exact}};
  if (precision == cg_inner::as_given) return made;
  bench::rounded_product product = rounded();
  made.parts.inner = std::move(product.by);
  made.how = std::move(product.how);
  return made;
}

/// Right-hand sides and solutions where the context computes.
class placed_sides {
 public:
  placed_sides(bench::stage& where, const dense_matrix<double>& given)
      : rows_(given.rows()), cols_(given.cols()), b_(where, rows_ * cols_), x_(where, rows_ * cols_) {
    where.upload(b_.data(), given.data(), b_.bytes());
  }
  dense_view<const double> b() const { return {b_.data(), rows_, cols_}; }
  dense_view<double> x() const { return {x_.data(), rows_, cols_}; }

 private:
  std::int64_t rows_, cols_;
  bench::stage_array<double> b_, x_;
};

/// The largest, of which NaN is the worst.
double worst(const std::vector<double>& residuals) {
  return *std::ranges::max_element(residuals, {}, [](double r) { return std::isnan(r) ? HUGE_VAL : r; });
}

/// One solve, for x, as an object of the results; the fastest of the runs.
json solve(const multiplier& by, const named_correction& correction, cg_options options,
           const dense_view<const double>& b, const dense_view<double>& x, int repeats = 1) {
  options.correction = correction.correction;
  cg_result r = solve_cg(by.parts, b, x, options);
  double seconds = r.seconds;
  for (int i = 1; i < repeats; ++i) {
    r = solve_cg(by.parts, b, x, options);
    seconds = std::min(seconds, r.seconds);
  }
  return {{"precision", bench::name_of(by.precision)},
          {"correction", correction.name},
          {"how", by.how},
          {"reason", to_string(r.reason)},
          {"iterations", r.iterations},
          {"products", r.num_products},
          {"replacements", r.num_replacements},
          {"seconds", seconds},
          {"true_residual", bench::finite_or_null(worst(r.true_residual))},
          {"recurrence_residual", bench::finite_or_null(worst(r.recurrence_residual))}};
}

/// The solves of one table, of which the first is fp64's.
class solve_table {
 public:
  explicit solve_table(const std::string& title) {
    fmt::print("\n{}\n{:<9} {:<3} {:<13} {:>6} {:>6} {:>9} {:>8} {:>9} {:>10} {:>10}  outcome\n", title, "inner", "",
               "correction", "steps", "/ fp64", "products", "replaced", "ms", "recurrence", "true");
  }
  void add(json one, const char* beta) {
    const auto text = [&](const char* name) { return one[name].get<std::string>(); };
    const auto number = [&](const char* name) { return one[name].is_null() ? std::nan("") : one[name].get<double>(); };
    if (rows_.empty()) of_fp64_ = std::max(1.0, number("iterations"));
    fmt::print("{:<9} {:<3} {:<13} {:>6.0f} {:>6.2f} {:>9.0f} {:>8.0f} {:>9.2f} {:>10.1e} {:>10.1e}  {}\n",
               text("precision"), beta, text("correction"), number("iterations"), number("iterations") / of_fp64_,
               number("products"), number("replacements"), 1e3 * number("seconds"), number("recurrence_residual"),
               number("true_residual"), text("reason"));
    one["beta"] = beta;
    rows_.push_back(std::move(one));
  }
  json rows() && { return std::move(rows_); }

 private:
  json rows_ = json::array();
  double of_fp64_ = 1;
};

/// Every precision, beta and correction.
json all_variants(bench::place& here, const options& wanted, const dense_matrix<double>& points,
                  const dense_matrix<double>& y) {
  const context& ctx = here.ctx;
  const placed_sides sides(*here.where, y);
  solve_table table(fmt::format("X (X' v) + v, X {} x {}, X and v rounded, {} right-hand side{}; tolerance {:g}",
                                wanted.points, wanted.features, wanted.rhs, wanted.rhs == 1 ? "" : "s",
                                wanted.tolerance));
  const bench::support_vectors system(points);
  const linear_operator<double> exact = system.exact(ctx, wanted.rhs);
  for (const cg_inner precision : precisions) {
    if (!wanted.compares(precision)) continue;
    const multiplier by =
        multiplier_in(precision, exact, [&] { return system.multiplied_in(ctx, precision, wanted.rhs); });
    for (const cg_beta beta : {cg_beta::fletcher_reeves, cg_beta::polak_ribiere}) {
      for (const named_correction& correction : corrections_by(wanted.shares)) {
        if (!applies(precision, correction)) continue;
        table.add(solve(by, correction,
                        {.tolerance = wanted.tolerance, .max_iterations = wanted.max_iterations, .beta = beta},
                        sides.b(), sides.x(), wanted.repeats),
                  beta == cg_beta::polak_ribiere ? "pr" : "fr");
      }
    }
    fmt::print("          {}\n", by.how);
  }
  return std::move(table).rows();
}

/// The smallest Ritz value that a few iterations find; one below 0 proves that `a` is indefinite. Where LAPACK is
/// missing, no value and why.
json min_ritz_value(const context& ctx, const csr_matrix<double>& a) try {
  dense_matrix<double> v(a.rows(), 1);
  const lobpcg_result r = solve_lobpcg(ctx, a, v.view(), {.max_iterations = 100, .num_guards = 3});
  return {{"value", bench::finite_or_null(r.values.at(0))},
          {"residual", bench::finite_or_null(r.residual.at(0) * r.norm_a)},
          {"iterations", r.iterations}};
} catch (const error& e) {
  if (e.code() != errc::unsupported) throw;
  fmt::print("          no Ritz value: {}\n", e.what());
  return {{"value", nullptr}, {"why", e.what()}};
}

/// Q formed in fp64 and rounded as a whole: its rounding error is one of its largest eigenvalue, not of its smallest.
json formed(const context& ctx, const options& wanted, const dense_matrix<double>& points,
            const dense_matrix<double>& y) {
  solve_table table(fmt::format("Q = X X' + I formed, then rounded; tolerance {:g}", wanted.tolerance));
  const csr_matrix<double> q = bench::formed_support_vectors(points);
  const linear_operator<double> exact = spmm_plan<double>(ctx, q, {.cols = 1});
  for (const cg_inner precision : precisions) {
    const multiplier by = multiplier_in(precision, exact, [&] { return bench::multiplied_in(ctx, q, precision); });
    const json smallest = min_ritz_value(ctx, bench::rounded_values(q, precision));
    for (const named_correction& correction : corrections) {
      const bool is_wanted = correction.correction.by == cg_correction::kind::none ||
                             correction.correction.by == cg_correction::kind::refine;
      if (!is_wanted || !applies(precision, correction)) continue;
      dense_matrix<double> x(q.rows(), 1);
      json one = solve(by, correction, {.tolerance = wanted.tolerance, .max_iterations = wanted.max_iterations},
                       y.view(), x.view());
      one["min_ritz_value"] = smallest;
      table.add(std::move(one), "fr");
    }
    fmt::print("          {}; smallest Ritz value of Q so rounded {}\n", by.how, smallest["value"].dump());
  }
  return std::move(table).rows();
}

#if BCSC_BENCH_WITH_CUSPARSE
/// Every entry of Q formed in each product, which is where less precision saves most: tensor cores do nearly all the
/// work. By refine() alone.
json anew(bench::place& here, const options& wanted, const dense_matrix<double>& points,
          const dense_matrix<double>& y) {
  const placed_sides sides(*here.where, y);
  solve_table table(
      fmt::format("X X' + I, X {} x {}, formed anew in each product, {} right-hand side{}; tolerance {:g}",
                  wanted.points, wanted.features, wanted.rhs, wanted.rhs == 1 ? "" : "s", wanted.tolerance));
  const auto exact = bench::formed_anew<double>(here.ctx, *here.where, points, cg_inner::as_given);
  for (const cg_inner precision : precisions) {
    if (precision == cg_inner::tf32x3 || !wanted.compares(precision)) continue;
    const multiplier by = multiplier_in(precision, exact, [&]() -> bench::rounded_product {
      return {bench::formed_anew<float>(here.ctx, *here.where, points, precision),
              fmt::format("Q formed in {}, v in fp32", bench::name_of(precision))};
    });
    for (const named_correction& correction : corrections_by(wanted.shares)) {
      const bool is_wanted = precision == cg_inner::as_given ? correction.correction.by == cg_correction::kind::none
                                                             : correction.correction.by == cg_correction::kind::refine;
      if (!is_wanted) continue;
      table.add(solve(by, correction, {.tolerance = wanted.tolerance, .max_iterations = wanted.max_iterations},
                      sides.b(), sides.x(), wanted.repeats),
                "fr");
    }
    fmt::print("          {}\n", by.how);
  }
  return std::move(table).rows();
}
#endif

double relative_error(const dense_matrix<double>& x, const dense_matrix<double>& known) {
  double error = 0, norm = 0;
  for (std::int64_t i = 0; i < known.rows(); ++i) {
    error += (x(i, 0) - known(i, 0)) * (x(i, 0) - known(i, 0));
    norm += known(i, 0) * known(i, 0);
  }
  return std::sqrt(error / norm);
}

/// Up to which condition each precision and correction goes: for a b of random signs, whose x is of the length
/// condition * ||b||, and for the b of an x of random signs.
json condition_sweep(const context& ctx, const options& wanted) {
  constexpr int first_decade = 2, last_decade = 9;
  json all = json::array();
  const dense_matrix<double> signs = bench::random_signs(wanted.order, 2);
  for (int decade = first_decade; decade <= last_decade; ++decade) {
    const double condition = std::pow(10.0, decade);
    const csr_matrix<double> a = bench::reflected_spectrum(wanted.order, condition);
    const linear_operator<double> exact = spmm_plan<double>(ctx, a, {.cols = 1});
    for (const cg_inner precision : precisions) {
      const multiplier by = multiplier_in(precision, exact, [&] { return bench::multiplied_in(ctx, a, precision); });
      for (const char* const given : {"b", "x"}) {
        dense_matrix<double> b = signs;
        if (*given == 'x') spmm(context::cpu(), a, signs, b);
        for (const named_correction& correction : corrections) {
          if (!applies(precision, correction)) continue;
          dense_matrix<double> x(wanted.order, 1);
          all.push_back(solve(by, correction,
                              {.tolerance = wanted.tolerance, .max_iterations = wanted.sweep_iterations}, b.view(),
                              x.view()));
          all.back().update({{"condition", condition}, {"given", given}});
          if (*given == 'x') all.back()["error"] = bench::finite_or_null(relative_error(x, signs));
        }
      }
    }
  }
  for (const char* const given : {"b", "x"}) {
    fmt::print(
        "\nA dense matrix of order {} by its condition, random signs as {}: iterations to {:g}, or why not\n{:<24}",
        wanted.order, given, wanted.tolerance, "");
    for (int decade = first_decade; decade <= last_decade; ++decade) fmt::print(" {:>8}", fmt::format("1e{}", decade));
    for (const cg_inner precision : precisions) {
      for (const named_correction& correction : corrections) {
        if (!applies(precision, correction)) continue;
        fmt::print("\n{:<10} {:<13}", bench::name_of(precision), correction.name);
        for (const json& one : all) {
          if (one["precision"] != bench::name_of(precision) || one["correction"] != correction.name ||
              one["given"] != given) {
            continue;
          }
          const auto reason = one["reason"].get<std::string>();
          fmt::print(" {:>8}", reason == "converged" ? one["iterations"].dump() : reason.substr(0, 8));
        }
      }
    }
    fmt::print("\n");
  }
  return all;
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  fmt::print("{}, commit {}{}\n", here.ctx.describe(), here.machine.git_hash,
             wanted.device == "cpu" ? "; TF32 and 3xTF32 are emulated" : "");
  bench::results_file results("bcsc-precisions-2", here.machine, wanted.out);
  results.document["system"] = {{"points", wanted.points},
                                {"features", wanted.features},
                                {"rhs", wanted.rhs},
                                {"shares", wanted.shares},
                                {"repeats", wanted.repeats},
                                {"offset", wanted.offset},
                                {"deviation", wanted.deviation},
                                {"order", wanted.order},
                                {"tolerance", wanted.tolerance},
                                {"max_iterations", wanted.max_iterations},
                                {"sweep_iterations", wanted.sweep_iterations}};
  const auto points = bench::random_points(wanted.points, wanted.features, wanted.offset, wanted.deviation);
  const auto y = bench::random_signs(wanted.points, 2), several = bench::random_signs(wanted.points, 2, wanted.rhs);
  const auto add = [&](const char* part, const auto& measure) {
    if (!wanted.has(part)) return;
    results.document[part] = measure();
    if (!wanted.out.empty()) results.write();
  };
  add("recurrence", [&] { return bench::recurrence_alone(points, y); });
  add("variants", [&] { return all_variants(here, wanted, points, several); });
  add("formed", [&] { return formed(here.ctx, wanted, points, y); });
#if BCSC_BENCH_WITH_CUSPARSE
  if (here.ctx.kind() == backend::cuda) add("anew", [&] { return anew(here, wanted, points, several); });
#endif
  if (wanted.has("anew") && !results.document.contains("anew")) {
    results.leave_out("Q formed anew: it is cuBLAS that does so, on a GPU");
  }
  add("conditions", [&] { return condition_sweep(here.ctx, wanted); });
  return bench::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Conjugate gradients in less precision: which variant gets where"};
  options wanted;
  bench::add_device(app, wanted.device);
  app.add_option("--only", wanted.parts, "These parts, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(all_parts))
      ->capture_default_str();
  app.add_option("--inner", wanted.inner, "Precisions of the parts variants and anew, separated by commas, beside fp64")
      ->delimiter(',')
      ->check(CLI::IsMember(inner_names()))
      ->capture_default_str();
  app.add_option("--points", wanted.points, "Rows of X")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--features", wanted.features, "Columns of X")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--rhs", wanted.rhs, "Right-hand sides of the parts variants and anew")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--shares", wanted.shares, "Of reliable and refine in these, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(1e-6, 0.99))
      ->capture_default_str();
  app.add_option("--repeats", wanted.repeats, "Runs of each solve there, of which the fastest counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--offset", wanted.offset, "Of every feature, beside noise")->capture_default_str();
  app.add_option("--deviation", wanted.deviation, "Of that noise")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--order", wanted.order, "Of the matrices of a chosen condition")
      ->check(CLI::Range(2, 8192))
      ->capture_default_str();
  app.add_option("--tolerance", wanted.tolerance, "On the true relative residual")->capture_default_str();
  app.add_option("--max-iterations", wanted.max_iterations, "Of each solve with X")->capture_default_str();
  app.add_option("--sweep-iterations", wanted.sweep_iterations, "Of each solve of a chosen condition")
      ->capture_default_str();
  app.add_option("--out", wanted.out, "JSON");
  app.footer(
      "On a CPU, TF32 and 3xTF32 are emulated by rounding A and the vectors before products in fp32.\n"
      "Exit status: 0 done, 77 no GPU here.\nExamples:\n"
      "  precisions --out precisions.json\n"
      "  precisions --device cpu --only variants,formed --points 1024 --features 256");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("precisions", [&] { return run(wanted); });
}
