#include "tools/bcsc/operands.hpp"

#include <algorithm>
#include <span>

namespace bcsc::cli {

template <number T>
dense_matrix<T> random_dense(std::int64_t rows, std::int64_t cols, layout order, std::uint64_t seed,
                             std::int64_t count) {
  dense_matrix<T> m = stacked<T>(count, rows, cols, order);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count * rows; ++i) {
    const dense_view<T> view = member_of<T>(m.view(), count, i / rows);
    for (std::int64_t j = 0; j < cols; ++j) {
      view(i % rows, j) = static_cast<T>(generate::symmetric_unit<scalar_of<T>>(
          generate::mix(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j))));
    }
  }
  return m;
}

template <number T>
staged_operands<T>::staged_operands(const context& ctx, const dense_matrix<T>& b, const dense_matrix<T>& c0,
                                    std::int64_t count)
    : ctx_(ctx), b_(b), c0_(c0), c_(c0), count_(count) {
  if (!on_gpu()) return;
  const int device = ctx_.device().device;
  device_b_ = core::device_buffer<T>(device, std::span<const T>(b.data(), static_cast<std::size_t>(size_of(b))));
  device_c_ = core::device_buffer<T>(device, size_of(c0));
}

template <number T>
void staged_operands<T>::reset() {
  const std::span<const T> start(c0_.data(), static_cast<std::size_t>(size_of(c0_)));
  if (on_gpu()) device_c_.upload(start);
  std::copy(start.begin(), start.end(), c_.data());
}

template <number T>
void staged_operands<T>::run(const spmm_plan<T>& plan, scalar_of<T> alpha, scalar_of<T> beta) {
  dense_view<const T> b = b_.view();
  dense_view<T> c = c_.view();
  if (on_gpu()) {
    b.data = device_b_.data();
    c.data = device_c_.data();
  }
  b = member_of(b, count_, 0);
  c = member_of(c, count_, 0);
  plan.run(alpha, b, beta, c, {.batch = {count_, b.rows * b.cols, c.rows * c.cols}});
}

template <number T>
void staged_operands<T>::wait() {
  if (!on_gpu()) return;
  const core::gpu::device_guard guard(ctx_.device().device);
  core::gpu::synchronize();
}

template <number T>
dense_view<const T> staged_operands<T>::result() {
  if (on_gpu()) {
    const core::gpu::device_guard guard(ctx_.device().device);
    core::gpu::copy_to_host(c_.data(), device_c_.data(), device_c_.bytes());
  }
  return c_.view();
}

#define BCSC_INSTANTIATE(T)                                                                                  \
  template dense_matrix<T> random_dense<T>(std::int64_t, std::int64_t, layout, std::uint64_t, std::int64_t); \
  template class staged_operands<T>;
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::cli
