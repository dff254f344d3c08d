// Conjugate gradients with four right-hand sides at once: one sparse product an iteration serves them all.
//   solve [MATRIX.mtx[.gz]]    (symmetric positive definite; else a clamped elastic beam under four loads)
#include <cstdio>

#include "bcsc/bcsc.hpp"
#include "bcsc/matrices.hpp"

int main(int argc, char** argv) try {
  const bcsc::csr_matrix<double> a =
      argc > 1 ? bcsc::read_csr<double>(argv[1]) : bcsc::generate::elasticity<double>(16, 4, 4);
  const std::int64_t n = a.rows(), k = 4;

  // Loads 0, 1, 2 pull every node along x, y, z (unknown i of a node is its displacement along axis i % 3); 3 is a mix.
  bcsc::dense_matrix<double> b(n, k), x(n, k);
  for (std::int64_t i = 0; i < n; ++i) {
    b(i, i % 3) = 1.0;
    b(i, 3) = static_cast<double>(i % 5) - 2.0;
  }

  const auto ctx = bcsc::context::best();
  bcsc::cg_options options;
  options.tolerance = 1e-10;  // of ||b - A x|| / ||b||, computed from x itself
  options.progress = [](std::int64_t iteration, double residual) {
    if (iteration % 50 == 0)
      std::printf("  iteration %5lld  residual %.1e\n", static_cast<long long>(iteration), residual);
    return true;  // go on
  };
  const bcsc::cg_result result = bcsc::solve_cg(ctx, a, b, x, options);

  std::printf("%s: %lld unknowns, %lld right-hand sides, kernel %s\n", ctx.describe().c_str(),
              static_cast<long long>(n), static_cast<long long>(k), result.facts.kernel.name.c_str());
  std::printf("%s after %lld iterations, %lld products, %.3f s\n", bcsc::to_string(result.reason).data(),
              static_cast<long long>(result.iterations), static_cast<long long>(result.num_products), result.seconds);
  for (double residual : result.true_residual) std::printf("  true residual %.2e\n", residual);
  return result.reason == bcsc::cg_stop::converged ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return 1;
}
