// Poisson's equation on a square for 64 point sources at once, by conjugate gradients with algebraic multigrid, beside
// some of the same sources one after the other: a product with 64 columns reads the matrix once for all of them.
//   poisson [POINTS]    (inner grid points along an edge)
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bcsc/bcsc.hpp"
#include "bcsc/matrices.hpp"

namespace {

constexpr std::int64_t per_edge = 8, num_sources = per_edge * per_edge, num_alone = 8;

/// The unknowns at which the sources are: 8 x 8, evenly spread.
std::vector<std::int64_t> places(std::int64_t points) {
  std::vector<std::int64_t> all;
  const auto at = [&](std::int64_t k) { return (2 * k + 1) * points / (2 * per_edge); };
  for (std::int64_t k = 0; k < num_sources; ++k) all.push_back(at(k / per_edge) * points + at(k % per_edge));
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t points = argc > 1 ? std::max(8, std::atoi(argv[1])) : 256;
  const auto ctx = bcsc::context::best();
  const bcsc::csr_matrix<double> a = bcsc::generate::stencil<double>(5, points, points);
  const std::int64_t n = a.rows();
  const std::vector<std::int64_t> source = places(points);

  bcsc::dense_matrix<double> b(n, num_sources), x(n, num_sources), one(n, 1), single(n, 1);
  for (std::int64_t j = 0; j < num_sources; ++j) b(source[j], j) = 1;
  const bcsc::cg_options how{.tolerance = 1e-10};  // of ||b - A x|| / ||b||, computed from x itself

  const bcsc::linear_operator<double> product(bcsc::spmm_plan<double>(ctx, a, {.cols = num_sources}));
  const bcsc::amg_preconditioner<double> amg(ctx, a, {.cols = num_sources});
  (void)bcsc::solve_cg(product, amg, b, x, how);  // loads what is loaded at the first use, and is not timed
  const bcsc::cg_result all = bcsc::solve_cg(product, amg, b, x, how);
  std::printf("%s: %lld unknowns, %lld right-hand sides, %zu levels\n", ctx.describe().c_str(),
              static_cast<long long>(n), static_cast<long long>(num_sources), amg.facts().levels.size());
  const auto [least, most] = std::minmax_element(all.column_iterations.begin(), all.column_iterations.end());
  std::printf("at once: %s after %lld to %lld iterations, %.3f s, %.2f ms each\n", bcsc::to_string(all.reason).data(),
              static_cast<long long>(*least), static_cast<long long>(*most), all.seconds,
              1e3 * all.seconds / num_sources);
  std::printf("true residuals: at most %.1e\n", *std::max_element(all.true_residual.begin(), all.true_residual.end()));

  const bcsc::linear_operator<double> narrow(bcsc::spmm_plan<double>(ctx, a, {.cols = 1}));
  const bcsc::amg_preconditioner<double> narrow_amg(ctx, a, {.cols = 1});
  bool converged = all.reason == bcsc::cg_stop::converged;
  double seconds = 0, apart = 0, skew = 0;
  for (std::int64_t j = 0; j < num_alone; ++j) {
    one(source[j], 0) = 1;
    const bcsc::cg_result result = bcsc::solve_cg(narrow, narrow_amg, one, single, how);
    one(source[j], 0) = 0;
    converged = converged && result.reason == bcsc::cg_stop::converged;
    seconds += result.seconds / num_alone;
    for (std::int64_t i = 0; i < n; ++i) apart = std::max(apart, std::abs(single(i, 0) - x(i, j)));
  }
  // What source j does at place i, source i does at place j: A is symmetric.
  for (std::int64_t j = 0; j < num_sources; ++j) {
    for (std::int64_t i = 0; i < j; ++i) skew = std::max(skew, std::abs(x(source[i], j) - x(source[j], i)));
  }
  std::printf("%lld of them alone: %.2f ms each, %.1f times as long\n", static_cast<long long>(num_alone),
              1e3 * seconds, seconds * num_sources / all.seconds);
  std::printf("the two differ by at most %.1e; a source and a place exchanged: %.1e\n", apart, skew);
  return converged && apart < 1e-7 && skew < 1e-7 ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return 1;
}
