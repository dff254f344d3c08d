#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc/cg.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/error.hpp"
#include "bcsc/linear_operator.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/program.hpp"

/// Conjugate gradients whose products are rounded, at the system of a least-squares support vector machine,
/// (X X' + I / C) a = y, and at dense matrices of a chosen condition: which precision and correction gets where, and in
/// how many iterations. Every residual in fp64 is computed by the solver from x with A as given.
namespace {

using namespace bcsc;
using bench::json;

struct options {
  std::string device = "cuda", out;
  std::int64_t points = 4096, features = 1024, order = 1024, max_iterations = 5000;
  double offset = 0.27;  ///< of every feature: the system's largest eigenvalue is about points * features * offset^2
  double tolerance = 1e-10;
};

/// Those of tensor cores only where there are any.
std::vector<cg_inner> inners_of(const context& ctx) {
  if (ctx.kind() == backend::cpu) return {cg_inner::as_given, cg_inner::fp32, cg_inner::bf16};
  return {cg_inner::as_given, cg_inner::fp32, cg_inner::tf32, cg_inner::tf32x3, cg_inner::bf16};
}

struct named_correction {
  const char* name;
  cg_correction correction;
};
const named_correction corrections[] = {{"none", {}},
                                        {"recompute:50", cg_correction::recompute(50)},
                                        {"reliable:0.1", cg_correction::reliable(0.1)},
                                        {"refine:0.1", cg_correction::refine(0.1)}};

dense_matrix<double> random_points(const options& wanted) {
  std::mt19937_64 bits(1);
  std::normal_distribution<double> noise;
  dense_matrix<double> x(wanted.points, wanted.features);
  std::generate_n(x.data(), x.rows() * x.cols(), [&] { return wanted.offset + noise(bits); });
  return x;
}

dense_matrix<double> random_signs(std::int64_t n) {
  std::mt19937_64 bits(2);
  dense_matrix<double> y(n, 1);
  std::generate_n(y.data(), n, [&] { return (bits() & 1) != 0 ? 1.0 : -1.0; });
  return y;
}

template <value T>
csr_matrix<T> every_entry(std::int64_t rows, std::int64_t cols, const auto& entry) {
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      col_ind.push_back(static_cast<std::int32_t>(j));
      values.push_back(static_cast<T>(entry(i, j)));
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  return {rows, cols, std::move(row_ptr), std::move(col_ind), std::move(values)};
}

// --- The rounded operator -------------------------------------------------------------------------------------------

/// X or X' for products in less precision; on a GPU by tensor cores where that is what is asked for.
spmm_plan<float> rounded(const context& ctx, const csr_matrix<double>& a, cg_inner inner) {
  const auto v = a.view();
  std::vector<float> values(v.values.begin(), v.values.end());
  if (inner == cg_inner::bf16) {
    std::ranges::transform(v.values, values.begin(), [](double x) { return static_cast<float>(bfloat16(x)); });
  }
  plan_options how{.cols = 1};
  if (inner == cg_inner::tf32 || inner == cg_inner::tf32x3) how.expert.kernel = "mma";
  if (inner == cg_inner::tf32) how.compute = compute_class::tf32;
  return spmm_plan<float>(ctx, csr_view<float>{v.rows, v.cols, v.row_ptr, v.col_ind, values}, how);
}

/// X X' v + v / C, C = 1.
struct support_vectors {
  csr_matrix<double> x, x_transposed;

  explicit support_vectors(const dense_matrix<double>& points)
      : x(every_entry<double>(points.rows(), points.cols(), [&](auto i, auto j) { return points(i, j); })),
        x_transposed(every_entry<double>(points.cols(), points.rows(), [&](auto i, auto j) { return points(j, i); })) {}

  linear_operator<double> exact(const context& ctx) const {
    return shifted(
        gram<double>(spmm_plan<double>(ctx, x_transposed, {.cols = 1}), spmm_plan<double>(ctx, x, {.cols = 1})), 1.0);
  }
  /// `kernel`: what multiplies, really.
  linear_operator<float> inner(const context& ctx, cg_inner how, std::string& kernel) const {
    auto first = rounded(ctx, x_transposed, how), second = rounded(ctx, x, how);
    kernel = first.facts().kernel.name + (first.facts().kernel.rounds_values ? ", TF32" : "");
    return shifted(gram<float>(std::move(first), std::move(second)), 1.0);
  }
};

// --- Tables ---------------------------------------------------------------------------------------------------------

json facts_of(const cg_result& r) {
  return {{"reason", to_string(r.reason)},
          {"iterations", r.iterations},
          {"products", r.num_products},
          {"replacements", r.num_replacements},
          {"seconds", r.seconds},
          {"true_residual", bench::finite_or_null(r.true_residual.at(0))},
          {"recurrence_residual", bench::finite_or_null(r.recurrence_residual.at(0))},
          {"inner", r.inner}};
}

void print_row(const std::string& inner, const char* beta, const char* correction, const cg_result& r,
               std::int64_t of_fp64) {
  fmt::print("{:<9} {:<3} {:<13} {:>6} {:>6.2f} {:>9} {:>9.3f} {:>10.1e} {:>10.1e}  {}\n", inner, beta, correction,
             r.iterations, of_fp64 > 0 ? static_cast<double>(r.iterations) / static_cast<double>(of_fp64) : 1.0,
             r.num_products, r.seconds, r.recurrence_residual.at(0), r.true_residual.at(0), to_string(r.reason));
}

void print_header() {
  fmt::print("{:<9} {:<3} {:<13} {:>6} {:>6} {:>9} {:>9} {:>10} {:>10}  outcome\n", "inner", "", "correction", "steps",
             "/ fp64", "products", "seconds", "recurrence", "true");
}

/// Every precision, beta and correction.
json all_variants(const context& ctx, const options& wanted, const support_vectors& system,
                  const dense_matrix<double>& y) {
  fmt::print("\nX (X' v) + v, X {} x {}, X and v rounded; tolerance {:g}\n", wanted.points, wanted.features,
             wanted.tolerance);
  print_header();
  json all = json::array();
  std::int64_t of_fp64 = 0;
  for (const cg_inner inner : inners_of(ctx)) {
    std::string kernel = "fp64";
    cg_operators<double> parts{.a = system.exact(ctx)};
    if (inner != cg_inner::as_given) parts.inner = system.inner(ctx, inner, kernel);
    for (const cg_beta beta : {cg_beta::fletcher_reeves, cg_beta::polak_ribiere}) {
      const char* const beta_name = beta == cg_beta::polak_ribiere ? "pr" : "fr";
      for (const auto& [name, correction] : corrections) {
        if (!parts.inner && correction.by == cg_correction::kind::refine) continue;  // is that of fp32
        dense_matrix<double> a(wanted.points, 1);
        const cg_result r = solve_cg(parts, y.view(), a.view(),
                                     {.tolerance = wanted.tolerance,
                                      .max_iterations = wanted.max_iterations,
                                      .beta = beta,
                                      .correction = correction});
        if (of_fp64 == 0) of_fp64 = r.iterations;
        print_row(std::string(to_string(inner)), beta_name, name, r, of_fp64);
        all.push_back(facts_of(r));
        all.back().update(
            {{"precision", to_string(inner)}, {"beta", beta_name}, {"correction", name}, {"kernel", kernel}});
      }
    }
    if (parts.inner) fmt::print("          multiplied by {}\n", kernel);
  }
  return all;
}

/// Q formed in fp64 and rounded as a whole: its rounding error is one of its largest eigenvalue, not of its smallest.
json formed(const context& ctx, const options& wanted, const dense_matrix<double>& points,
            const dense_matrix<double>& y) {
  fmt::print("\nQ = X X' + I formed, then rounded\n");
  print_header();
  dense_matrix<double> q(points.rows(), points.rows());
  const std::int64_t n = q.rows();
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = i == j ? 1 : 0;
      for (std::int64_t f = 0; f < points.cols(); ++f) sum += points(i, f) * points(j, f);
      q(i, j) = sum;
    }
  }
  const auto a = every_entry<double>(n, n, [&](auto i, auto j) { return q(i, j); });
  json all = json::array();
  std::int64_t of_fp64 = 0;
  for (const cg_inner inner : inners_of(ctx)) {
    dense_matrix<double> x(n, 1);
    const named_correction& how = inner == cg_inner::as_given ? corrections[0] : corrections[3];
    const cg_result r = solve_cg(ctx, a, y.view(), x.view(),
                                 {.tolerance = wanted.tolerance,
                                  .max_iterations = wanted.max_iterations,
                                  .precondition = preconditioner::none,
                                  .inner = inner,
                                  .correction = how.correction});
    if (of_fp64 == 0) of_fp64 = r.iterations;
    print_row(std::string(to_string(inner)), "fr", how.name, r, of_fp64);
    fmt::print("          {}\n", r.inner);
    all.push_back(facts_of(r));
    all.back().update({{"precision", to_string(inner)}, {"correction", how.name}});
  }
  return all;
}

/// H D H, H a random reflection and D geometric from 1 down to 1 / condition: up to which condition each precision
/// goes.
json condition_sweep(const context& ctx, const options& wanted) {
  fmt::print("\nA dense matrix of order {} by its condition: iterations to {:g}, or why not\n{:<26}", wanted.order,
             wanted.tolerance, "");
  for (int decade = 2; decade <= 9; ++decade) fmt::print(" {:>8}", fmt::format("1e{}", decade));
  fmt::print("\n");
  const std::int64_t n = wanted.order;
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  double square = 0;
  for (double& entry : v) {
    entry = normal(bits);
    square += entry * entry;
  }
  const auto b = random_signs(n);
  json all = json::array();
  for (const cg_inner inner : inners_of(ctx)) {
    for (const auto& [name, correction] : corrections) {
      const bool rounds = inner != cg_inner::as_given;
      if (rounds != (correction.by == cg_correction::kind::reliable || correction.by == cg_correction::kind::refine)) {
        continue;
      }
      if (!rounds && correction.by == cg_correction::kind::recompute) continue;
      fmt::print("{:<12} {:<13}", to_string(inner), name);
      for (int decade = 2; decade <= 9; ++decade) {
        // H D H = D - 2 / v'v (v (Dv)' + (Dv) v') + 4 v'Dv / (v'v)^2 v v'.
        std::vector<double> d(v.size());
        double middle = 0;
        for (std::size_t i = 0; i < d.size(); ++i) {
          d[i] = std::pow(10.0, -decade * static_cast<double>(i) / static_cast<double>(n - 1));
          middle += v[i] * d[i] * v[i];
        }
        const auto entry = [&](std::int64_t row, std::int64_t col) {
          const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(col);
          return (i == j ? d[i] : 0) - 2 / square * v[i] * v[j] * (d[i] + d[j]) +
                 4 * middle / (square * square) * v[i] * v[j];
        };
        dense_matrix<double> x(n, 1);
        const cg_result r = solve_cg(ctx, every_entry<double>(n, n, entry), b.view(), x.view(),
                                     {.tolerance = wanted.tolerance,
                                      .max_iterations = wanted.max_iterations,
                                      .precondition = preconditioner::none,
                                      .inner = inner,
                                      .correction = correction});
        fmt::print(" {:>8}", r.reason == cg_stop::converged ? std::to_string(r.iterations)
                                                            : std::string(to_string(r.reason).substr(0, 8)));
        all.push_back(facts_of(r));
        all.back().update({{"precision", to_string(inner)}, {"correction", name}, {"condition", std::pow(10, decade)}});
      }
      fmt::print("\n");
    }
  }
  return all;
}

// --- The recipe without a residual of its own -----------------------------------------------------------------------

double to_tf32(double x) {
  const auto narrow = static_cast<float>(x);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(narrow) + 0x1000u) & 0xffffe000u);
}

/// What becomes of CG that stops where its recurrence says so and corrects itself, if at all, with the rounded operator
/// and along its old direction; on the host, TF32 emulated by rounding X and v.
json without_true_residuals(const dense_matrix<double>& points, const dense_matrix<double>& y) {
  constexpr double limit = 1e-6;
  fmt::print("\nStopped by the recurrence, r'r <= {:g}, TF32 emulated on the host\n", limit);
  fmt::print("{:<42} {:>6} {:>10} {:>10}\n", "correction", "steps", "r'r", "true r'r");
  const std::int64_t n = points.rows(), m = points.cols();
  using column = std::vector<double>;
  column rounded(static_cast<std::size_t>(n * m));
  std::transform(points.data(), points.data() + n * m, rounded.begin(), to_tf32);
  const auto apply = [&](const double* x, const column& in, bool rounds) {
    column out(in.size()), between(static_cast<std::size_t>(m));
    const auto narrow = [&](double value) { return rounds ? to_tf32(value) : value; };
    for (std::int64_t i = 0; i < n; ++i) {
      const double weight = narrow(in[static_cast<std::size_t>(i)]);
      for (std::int64_t f = 0; f < m; ++f) between[static_cast<std::size_t>(f)] += x[i * m + f] * weight;
    }
    for (double& entry : between) entry = narrow(entry);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = in[static_cast<std::size_t>(i)];
      for (std::int64_t f = 0; f < m; ++f) sum += x[i * m + f] * between[static_cast<std::size_t>(f)];
      out[static_cast<std::size_t>(i)] = sum;
    }
    return out;
  };
  const auto dot = [](const column& a, const column& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  struct recipe {
    const char* name;
    std::int64_t every;  ///< 0: never
    bool rounds_residual, restarts;
  };
  json all = json::array();
  for (const recipe& how : {recipe{"none", 0, true, false},
                            {"TF32 residual every 50, old direction", 50, true, false},
                            {"fp64 residual every 50, old direction", 50, false, false},
                            {"fp64 residual every 50, fresh direction", 50, false, true}}) {
    const column b(y.data(), y.data() + n);
    column x(b.size(), 0.0), r = b, p = b;
    double rr = dot(r, r);
    std::int64_t steps = 0;
    while (rr > limit && steps < 500 && std::isfinite(rr)) {
      const column q = apply(rounded.data(), p, true);
      const double alpha = rr / dot(p, q);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * p[i];
      const bool is_due = how.every > 0 && ++steps % how.every == 0;
      if (how.every == 0) ++steps;
      if (is_due) {
        const column ax = apply(how.rounds_residual ? rounded.data() : points.data(), x, how.rounds_residual);
        for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - ax[i];
      } else {
        for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * q[i];
      }
      const double next = dot(r, r), beta = is_due && how.restarts ? 0 : next / rr;
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + beta * p[i];
      rr = next;
    }
    column residual = apply(points.data(), x, false);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = b[i] - residual[i];
    fmt::print("{:<42} {:>6} {:>10.1e} {:>10.1e}\n", how.name, steps, rr, dot(residual, residual));
    all.push_back({{"correction", how.name},
                   {"iterations", steps},
                   {"rr", bench::finite_or_null(rr)},
                   {"true_rr", bench::finite_or_null(dot(residual, residual))}});
  }
  return all;
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  fmt::print("{}{}\n", here.ctx.describe(), wanted.device == "cpu" ? "; TF32: only on a GPU" : "");
  json document = bench::begin_document("bcsc-precisions-1", here.machine);
  const auto points = random_points(wanted);
  const auto y = random_signs(wanted.points);
  document["recurrence_alone"] = without_true_residuals(points, y);
  document["variants"] = all_variants(here.ctx, wanted, support_vectors(points), y);
  document["formed"] = formed(here.ctx, wanted, points, y);
  document["conditions"] = condition_sweep(here.ctx, wanted);
  if (!wanted.out.empty()) {
    std::ofstream file(wanted.out);
    file << bench::text_of(document);
    if (!file.flush()) core::fail(errc::io_error, "{}: cannot be written", wanted.out);
  }
  return bench::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Conjugate gradients in less precision: which variant gets where"};
  options wanted;
  app.add_option("--device", wanted.device, "Where")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  app.add_option("--points", wanted.points, "Rows of X")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--features", wanted.features, "Columns of X")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--offset", wanted.offset, "Of every feature, beside noise of deviation 1")->capture_default_str();
  app.add_option("--order", wanted.order, "Of the matrices of a chosen condition")
      ->check(CLI::Range(2, 8192))
      ->capture_default_str();
  app.add_option("--tolerance", wanted.tolerance, "On the true relative residual")->capture_default_str();
  app.add_option("--max-iterations", wanted.max_iterations, "Of each solve")->capture_default_str();
  app.add_option("--out", wanted.out, "JSON");
  app.footer(
      "Exit status: 0 done, 77 no GPU here.\nExamples:\n"
      "  precisions --out precisions.json\n"
      "  precisions --device cpu --points 1024 --features 256 --order 256");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("precisions", [&] { return run(wanted); });
}
