// The library in one screen: a sparse matrix times 64 dense columns on the best device there is.
//   first [MATRIX.mtx[.gz]]
#include <cmath>
#include <cstdio>

#include "bcsc/bcsc.hpp"
#include "bcsc/matrices.hpp"

int main(int argc, char** argv) try {
  const bcsc::csr_matrix<float> a =
      argc > 1 ? bcsc::read_csr<float>(argv[1]) : bcsc::generate::stencil<float>(27, 20, 20, 20);

  const auto ctx = bcsc::context::best();                   // the first usable GPU, else the CPU
  const bcsc::spmm_plan<float> plan(ctx, a, {.cols = 64});  // chooses a kernel, converts, uploads
  std::printf("%s\n%s\n", ctx.describe().c_str(), plan.explain().c_str());

  bcsc::dense_matrix<float> b(a.cols(), 64), c(a.rows(), 64), expected(a.rows(), 64);
  for (std::int64_t i = 0; i < b.rows(); ++i) {
    for (std::int64_t j = 0; j < b.cols(); ++j) b(i, j) = static_cast<float>((i + 3 * j) % 7 - 3);
  }
  bcsc::spmm(ctx, a, b, c);  // one line: plan, stage what lies on the host, run, wait

  bcsc::reference::spmm(1, a.view(), b, 0, expected);
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < c.rows() * c.cols(); ++i) {
    error += std::pow(c.data()[i] - expected.data()[i], 2.0);
    size += std::pow(expected.data()[i], 2.0);
  }
  const double relative = size > 0 ? std::sqrt(error / size) : error;
  std::printf("C = A * B, checked: relative error %.1e\n", relative);
  return relative <= 1e-5 ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return 1;
}
