#include "kernels/forms/row_stream/stored.hpp"

#include "core/fail.hpp"
#include "core/memory.hpp"

namespace bcsc::forms {

namespace {

row_stream_options options_for(std::int64_t rows, std::int64_t nnz, const storing& how) {
  row_stream_options options = cut_for(rows, nnz, how.cols, how.columns_at_once, how.teams);
  options.bricks = how.bricks;
  return options;
}

std::int64_t rows_together(const storing& how) {
  return how.bricks.exists() ? converters::brick_of(how.bricks).rows() : 0;
}

}  // namespace

template <number T, index I>
stored_row_stream<T> make_row_stream_on_host(const csr_view<T, I>& csr, const storing& how) {
  // Checked before the minutes that a large A takes here. Rows of even length fill their pairs, others take more.
  const std::int64_t min_bytes = csr.nnz() / 2 * static_cast<std::int64_t>(sizeof(entry_pair<scalar_of<T>>));
  const core::gpu::device_guard guard(*how.device);
  if (const std::int64_t free = core::gpu::free_bytes(); free < min_bytes) {
    core::fail(errc::out_of_memory, "A with {} non-zeros takes {} as a row stream: {} are free on device {}",
               core::count_text(csr.nnz()), core::bytes_text(min_bytes), core::bytes_text(free), *how.device);
  }
  row_stream<scalar_of<T>> stream = to_row_stream(csr, options_for(csr.rows, csr.nnz(), how));
  if (!how.order.empty()) rename_rows(stream, how.order);
  return {*how.device, upload(*how.device, stream), rows_together(how)};
}

template <number T, index I>
stored_row_stream<T> make_row_stream(const csr_view<T, I>& csr, const storing& how) {
  if constexpr (sizeof(I) == sizeof(std::int32_t)) {
    if (csr.space == memory_space::device) {
      const row_stream_options options = options_for(csr.rows, csr.nnz(), how);
      stored_row_stream<T> made{*how.device, to_row_stream_on_device(*how.device, csr, options), rows_together(how)};
      if (!how.order.empty()) rename_rows(*how.device, made.stream, how.order);
      return made;
    }
  }
  return make_row_stream_on_host(csr, how);
}

template <class T>
stored_facts stored_row_stream<T>::facts() const {
  return {stream.nnz, stream.bytes(), stream.rows};
}

template <class T>
int stored_row_stream<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                                const kernels::launch_env& env) const {
  auto a = kernels::operand_of(stream, product.partials, rows_together);
  if (product.batch.count == 1) a.in_l2 = policy_for(env, stream.bytes(), product.bytes(a.rows, a.cols));
  const auto args = with_operand(a, product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                                                \
  template struct stored_row_stream<T>;                                                                    \
  template stored_row_stream<T> make_row_stream(const csr_view<T, std::int32_t>&, const storing&);         \
  template stored_row_stream<T> make_row_stream(const csr_view<T, std::int64_t>&, const storing&);         \
  template stored_row_stream<T> make_row_stream_on_host(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_row_stream<T> make_row_stream_on_host(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
