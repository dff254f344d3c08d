#include "kernels/forms/bricks/stored.hpp"

namespace bcsc::forms {

template <value T, index I>
stored_bricks<T> make_bricks(const csr_view<T, I>& csr, const storing& how) {
  bricks_options options{.slots = how.columns_at_once, .grid = how.bricks};
  if (how.bricks.exists()) {
    options.shape = brick_for(how.bricks, how.thread_blocks, core::ceil_div(how.cols, std::int64_t{how.tile_cols}));
  }
  if constexpr (sizeof(I) == sizeof(std::int32_t)) {
    if (csr.space == memory_space::device) {
      device_row_stream<T> stream = to_row_stream_on_device(*how.device, csr, stream_for_bricks(options));
      if (!how.order.empty()) rename_rows(*how.device, stream, how.order);
      return {to_bricks_on_device(*how.device, stream, options)};
    }
  }
  row_stream<T> stream = to_row_stream(csr, stream_for_bricks(options));
  if (!how.order.empty()) rename_rows(stream, how.order);
  return {upload(*how.device, to_bricks(stream, options))};
}

template <class T>
int stored_bricks<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                            const kernels::launch_env& env) const {
  const auto args = with_operand(kernels::bricks_operand_of<T>(bricks, product.partials), product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                                \
  template struct stored_bricks<T>;                                                        \
  template stored_bricks<T> make_bricks(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_bricks<T> make_bricks(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
