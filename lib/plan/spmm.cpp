#include "bcsc/spmm.hpp"

#include <algorithm>
#include <vector>

#include "core/buffer.hpp"
#include "core/fail.hpp"
#include "lib/plan/run_checks.hpp"

namespace bcsc {

namespace {

/// The elements from the first of `x` to one past its last, padding included.
template <class T>
std::span<T> storage(const dense_view<T>& x) {
  if (x.rows == 0 || x.cols == 0) return {};
  const bool by_rows = x.order == layout::row_major;
  const std::int64_t lines = by_rows ? x.rows : x.cols, width = by_rows ? x.cols : x.rows;
  return {x.data, static_cast<std::size_t>((lines - 1) * x.ld + width)};
}

}  // namespace

template <number T>
void spmm(const context& ctx, const csr_view<T, std::int32_t>& a, input_view<T> b, output_view<T> c, scalar_of<T> alpha,
          scalar_of<T> beta) {
  // Before the plan: a shape that does not fit must not cost a conversion, and staging reads the operands.
  plan::check_operands<T>(a.rows, a.cols, b, c, b.order, true);
  if (core::gpu::is_device_only(b.data) || core::gpu::is_device_only(c.data)) {
    core::fail(errc::wrong_memory_space,
               "B or C lies on a device: spmm() stages host operands, spmm_plan takes device ones");
  }
  const spmm_plan<T> plan(ctx, a, {.cols = std::max<std::int64_t>(1, c.cols), .b_layout = b.order});
  if (ctx.kind() == backend::cpu) {
    plan.run(alpha, b, beta, c);
    return;
  }
  const int device = ctx.device().device;
  const core::gpu::device_guard guard(device);
  const core::device_buffer<T> b_there(device, storage(b));
  // All of C's storage travels, so that the padding between its lines comes back as it was.
  const core::device_buffer<T> c_there(device, std::span<const T>(storage(c)));
  plan.run(alpha, {b_there.data(), b.rows, b.cols, b.ld, b.order}, beta,
           {c_there.data(), c.rows, c.cols, c.ld, c.order});
  if (c_there.size() > 0) core::gpu::copy_to_host(c.data, c_there.data(), c_there.bytes());
}

template <number T>
void spmm(const csr_view<T, std::int32_t>& a, input_view<T> b, output_view<T> c, scalar_of<T> alpha,
          scalar_of<T> beta) {
  spmm<T>(context::best(), a, b, c, alpha, beta);
}

#define BCSC_INSTANTIATE(T)                                                                                   \
  template void spmm<T>(const context&, const csr_view<T>&, dense_view<const T>, dense_view<T>, scalar_of<T>, \
                        scalar_of<T>);                                                                        \
  template void spmm<T>(const csr_view<T>&, dense_view<const T>, dense_view<T>, scalar_of<T>, scalar_of<T>);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
