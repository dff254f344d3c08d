#include "kernels/forms/fma_tiles/stored.hpp"

#include "converters/formats/device_compact.hpp"
#include "converters/formats/instantiate.hpp"
#include "core/buffer.hpp"

namespace bcsc::forms {

template <value T, index I>
stored_fma_tiles<T> make_fma_tiles(const csr_view<T, I>& csr, const storing& how) {
  if (csr.space == memory_space::device) {
    const auto here = [&]<class X>(std::span<const X> array) { return core::copy_to_host(array, csr.space); };
    const csr_matrix<T, I> on_host(csr.rows, csr.cols, here(csr.row_ptr), here(csr.col_ind), here(csr.values),
                                   trust::trusted);
    return make_fma_tiles(on_host.view(), how);
  }
  const auto blocks = to_compact(csr, {.m_block = how.m_block, .boundaries = how.boundaries});
  return {.tiles = upload(*how.device, to_fma_tiles(blocks.view())),
          .nnzc = blocks.view().nnzc(),
          .num_row_blocks = blocks.view().num_row_blocks(),
          .row_of = row_permutation<std::int32_t>(how)};
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
