#pragma once

#include <cstdint>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/plan.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "matrices/random.hpp"

namespace bcsc::cli {

/// `count` matrices of rows x cols, one behind the other: a batch's members, or zeros to be filled.
template <number T>
dense_matrix<T> stacked(std::int64_t count, std::int64_t rows, std::int64_t cols, layout order) {
  static_cast<void>(core::checked_product(
      core::checked_product(core::checked_product(rows, cols, "dense matrix"), count, "dense matrix"), sizeof(T),
      "dense matrix"));
  const bool by_rows = order == layout::row_major;
  return {by_rows ? count * rows : rows, by_rows ? cols : count * cols, order};
}

/// Member k of `count` of them.
template <class T>
dense_view<T> member_of(const dense_view<T>& all, std::int64_t count, std::int64_t k) {
  const bool by_rows = all.order == layout::row_major;
  const std::int64_t rows = by_rows ? all.rows / count : all.rows, cols = by_rows ? all.cols : all.cols / count;
  return {all.data + k * rows * cols, rows, cols, all.ld, all.order};
}

/// Uniform in [-1, 1), each element its own by seed, member and position, whatever the layout.
template <number T>
dense_matrix<T> random_dense(std::int64_t rows, std::int64_t cols, layout order, std::uint64_t seed,
                             std::int64_t count = 1);

/// The B's and C's of a batch where a context computes. C starts as `c0` before every checked product: NaN if it must
/// not be read.
template <number T>
class staged_operands {
 public:
  /// `b` and `c0`, of `count` members each, stay alive as long as this.
  staged_operands(const context& ctx, const dense_matrix<T>& b, const dense_matrix<T>& c0, std::int64_t count = 1);

  void reset();                                                               ///< C = C0
  void run(const spmm_plan<T>& plan, scalar_of<T> alpha, scalar_of<T> beta);  ///< asynchronous on a GPU
  void wait();
  dense_view<const T> result();                 ///< all C's on the host, valid until the next call
  dense_view<T> host_c() { return c_.view(); }  ///< for the references, which run on the host

 private:
  bool on_gpu() const { return ctx_.kind() == backend::cuda; }
  static std::int64_t size_of(const dense_matrix<T>& m) { return m.rows() * m.cols(); }

  context ctx_;
  const dense_matrix<T>& b_;
  const dense_matrix<T>& c0_;
  dense_matrix<T> c_;
  std::int64_t count_;
  core::device_buffer<T> device_b_, device_c_;
};

}  // namespace bcsc::cli
