#pragma once

#include <cstdint>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/plan.hpp"
#include "lib/core/buffer.hpp"
#include "matrices/random.hpp"

namespace bcsc::cli {

/// Uniform in [-1, 1), each element its own by seed and position, whatever the layout.
template <number T>
dense_matrix<T> random_dense(std::int64_t rows, std::int64_t cols, layout order, std::uint64_t seed);

/// B and C where a context computes. C starts as `c0` before every checked product: NaN if it must not be read.
template <number T>
class staged_operands {
 public:
  /// `b` and `c0` stay alive as long as this.
  staged_operands(const context& ctx, const dense_matrix<T>& b, const dense_matrix<T>& c0);

  void reset();                                                               ///< C = C0
  void run(const spmm_plan<T>& plan, scalar_of<T> alpha, scalar_of<T> beta);  ///< asynchronous on a GPU
  void wait();
  dense_view<const T> result();                 ///< C on the host, valid until the next call
  dense_view<T> host_c() { return c_.view(); }  ///< for the references, which run on the host

 private:
  bool on_gpu() const { return ctx_.kind() == backend::cuda; }
  static std::int64_t size_of(const dense_matrix<T>& m) { return m.rows() * m.cols(); }

  context ctx_;
  const dense_matrix<T>& b_;
  const dense_matrix<T>& c0_;
  dense_matrix<T> c_;
  core::device_buffer<T> device_b_, device_c_;
};

}  // namespace bcsc::cli
