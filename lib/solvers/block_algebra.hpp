#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "core/context_state.hpp"
#include "core/gpu.hpp"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/operands.hpp"
#include "lib/solvers/small_dense.hpp"

namespace bcsc::solvers {

/// Operations on blocks of vectors of n rows where a context computes, with small matrices on the host: what crosses is
/// as large as a block is wide. On the default stream; what returns numbers waits for it.
template <value T>
class block_algebra {
 public:
  /// Blocks have at most `max_cols` columns.
  block_algebra(const context& ctx, std::int64_t n, std::int64_t max_cols)
      : ctx_(ctx),
        env_(environment_of(ctx, nullptr)),
        blocks_(block_operations_of<T>(ctx.kind())),
        vectors_(operations_of<T>(ctx.kind())),
        small_(ctx, core::checked_product(max_cols, max_cols, "values of a Gram matrix")),
        partials_(ctx, max_partials(n, max_cols)) {}

  /// X' Y.
  small_matrix gram(dense_view<const T> x, dense_view<const T> y) {
    small_matrix g(x.cols, y.cols);
    if (g.values().empty()) return g;
    check(blocks_.gram(env_, x, nullptr, y, partials_.data(), small_.data()), "gram");
    small_.download(g.values());
    return g;
  }
  /// The squared lengths of the columns of X, which is packed.
  std::vector<double> squares(dense_view<const T> x) {
    std::vector<double> sums(static_cast<std::size_t>(x.cols));
    check(vectors_.dot(env_, {x.rows, x.cols}, x.data, x.data, partials_.data(), small_.data()), "dot");
    small_.download(sums);
    return sums;
  }
  /// Y = X S + beta Y.
  void combine(dense_view<const T> x, const small_matrix& s, double beta, dense_view<T> y) {
    if (y.cols == 0) return;
    small_.upload(s.values());
    check(blocks_.combine(env_, x, nullptr, small_.data(), beta, y), "combine");
  }
  /// Y = alpha X + beta Y.
  void add(double alpha, dense_view<const T> x, double beta, dense_view<T> y) {
    check(blocks_.axpby(env_, alpha, x, beta, y), "axpby");
  }
  void copy(dense_view<const T> x, dense_view<T> y) { add(1, x, 0, y); }
  /// X = X diag(s).
  void scale_columns(std::span<const double> s, dense_view<T> x) {
    small_.upload(s);
    check(blocks_.scale_columns(env_, small_.data(), x), "scale_columns");
  }
  /// Numbers in [-1, 1).
  void fill_random(std::uint64_t seed, dense_view<T> x) { check(blocks_.fill_random(env_, seed, x), "fill_random"); }

 private:
  static std::int64_t max_partials(std::int64_t n, std::int64_t max_cols) {
    return std::max(kernels::vector::num_partials({n, max_cols}),
                    kernels::vector::num_block_partials(n, max_cols, max_cols));
  }

  void check(int status, const char* what) { core::check_launch(ctx_.state(), status, what); }

  const context ctx_;
  kernels::launch_env env_;
  const kernels::vector::block_operations<T>& blocks_;
  const kernels::vector::operations<T>& vectors_;
  context_array<double> small_, partials_;
};

}  // namespace bcsc::solvers
