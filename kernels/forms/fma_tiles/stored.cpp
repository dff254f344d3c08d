#include "kernels/forms/fma_tiles/stored.hpp"

#include "converters/formats/device_compact.hpp"

namespace bcsc::forms {

namespace {

template <value T>
stored_fma_tiles<T> tiles_of(const compact_bcsc_view<T, std::int32_t>& blocks, const storing& how) {
  return {.tiles = to_fma_tiles_on_device(*how.device, blocks),
          .nnzc = blocks.nnzc(),
          .num_row_blocks = blocks.num_row_blocks(),
          .row_of = row_permutation<std::int32_t>(how)};
}

}  // namespace

// Row blocks of heights of their own are made on the host.
template <value T, index I>
stored_fma_tiles<T> make_fma_tiles(const csr_view<T, I>& csr, const storing& how) {
  const int device = *how.device;
  if constexpr (sizeof(I) > sizeof(std::int32_t)) {
    return make_fma_tiles<T, std::int32_t>(cast<T, std::int32_t>(csr), how);
  } else if (csr.space == memory_space::device) {
    return tiles_of<T>(converters::to_compact_on_device(device, csr, how.m_block).view(), how);
  } else {
    const auto blocks = to_compact(csr, {.m_block = how.m_block, .boundaries = how.boundaries});
    return tiles_of<T>(converters::upload(device, blocks.view()).view(), how);
  }
}

template <class T>
int stored_fma_tiles<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                               const kernels::launch_env& env) const {
  const auto args = with_operand(kernels::fma_operand_of<T>(tiles, row_of.data()), product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                                      \
  template struct stored_fma_tiles<T>;                                                           \
  template stored_fma_tiles<T> make_fma_tiles(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_fma_tiles<T> make_fma_tiles(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
