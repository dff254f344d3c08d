#include "kernels/forms/fma_tiles/stored.hpp"

#include "kernels/forms/blocks_on_device.hpp"

namespace bcsc::forms {

template <value T, index I>
stored_fma_tiles<T> make_fma_tiles(const csr_view<T, I>& csr, const storing& how) {
  const auto blocks = blocks_on_device(csr, how);
  const auto view = blocks.view();
  return {.tiles = to_fma_tiles_on_device(*how.device, view),
          .nnzc = view.nnzc(),
          .num_row_blocks = view.num_row_blocks(),
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
