// A pruned layer for a batch of samples: one sparse matrix, as many dense blocks as samples, in one call (on a GPU one
// launch, where the kernel takes batches).
//   batch [MATRIX.mtx[.gz]]
#include <cmath>
#include <cstdio>

#include "bcsc/bcsc.hpp"
#include "bcsc/matrices.hpp"

int main(int argc, char** argv) try {
  const bcsc::csr_matrix<float> weights =
      argc > 1 ? bcsc::read_csr<float>(argv[1]) : bcsc::generate::uniform<float>(512, 768, 0.9, 1);
  const std::int64_t samples = 6, tokens = 40, in = weights.cols(), out = weights.rows();

  // The samples stand behind each other: sample k's activations are rows k * in to (k + 1) * in.
  bcsc::dense_matrix<float> x(samples * in, tokens), y(samples * out, tokens), expected(out, tokens);
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    for (std::int64_t j = 0; j < tokens; ++j) x(i, j) = static_cast<float>((3 * i + 5 * j) % 11 - 5);
  }
  const bcsc::run_options all{.batch = {.count = samples, .b_stride = in * tokens, .c_stride = out * tokens}};

  const auto ctx = bcsc::context::best();
  const bcsc::spmm_plan<float> plan(ctx, weights, {.cols = tokens, .batch = samples});
  if (ctx.kind() == bcsc::backend::cuda) {
    const auto on_gpu_x = bcsc::upload(ctx, x), on_gpu_y = bcsc::upload(ctx, y);
    plan.run(1, {on_gpu_x.view().data, in, tokens}, 0, {on_gpu_y.view().data, out, tokens}, all);
    y = bcsc::download(ctx, on_gpu_y);  // waits
  } else {
    plan.run(1, {x.data(), in, tokens}, 0, {y.data(), out, tokens}, all);
  }

  double error = 0, size = 0;
  for (std::int64_t k = 0; k < samples; ++k) {
    const bcsc::dense_view<const float> sample(x.data() + k * in * tokens, in, tokens);
    bcsc::reference::spmm(1, weights.view(), sample, 0, expected.view());
    for (std::int64_t i = 0; i < out; ++i) {
      for (std::int64_t j = 0; j < tokens; ++j) {
        error += std::pow(y(k * out + i, j) - expected(i, j), 2.0);
        size += std::pow(expected(i, j), 2.0);
      }
    }
  }
  const double relative = size > 0 ? std::sqrt(error / size) : error;
  std::printf("%s: %lld products by %s%s, checked: relative error %.1e\n", ctx.describe().c_str(),
              static_cast<long long>(samples), plan.facts().kernel.name.c_str(),
              plan.facts().kernel.batches ? " in one launch" : "", relative);
  return relative <= 1e-5 ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return 1;
}
