#include "kernels/forms/block_slices/stored.hpp"

#include "converters/formats/device_compact.hpp"

namespace bcsc::forms {

// Row blocks of heights of their own are made on the host.
template <number T, index I>
stored_block_slices<T> make_block_slices(const csr_view<T, I>& csr, const storing& how) {
  const int device = *how.device;
  const slicing wanted = slicing_for(how.columns_at_once, how.tile_cols);
  if constexpr (sizeof(I) > sizeof(std::int32_t)) {
    return make_block_slices<T, std::int32_t>(cast<T, std::int32_t>(csr), how);
  } else if (csr.space == memory_space::device) {
    const auto blocks = converters::to_compact_on_device(device, csr, how.m_block);
    return {to_block_slices_on_device(device, blocks.view(), wanted), row_permutation<std::int32_t>(how), how.reach};
  } else {
    const auto blocks = to_compact(csr, {.m_block = how.m_block, .boundaries = how.boundaries});
    return {upload(device, to_block_slices(blocks.view(), wanted)), row_permutation<std::int32_t>(how), how.reach};
  }
}

template <class T>
stored_facts stored_block_slices<T>::facts() const {
  return {slices.nnzc, slices.bytes() + row_of.bytes(), slices.num_blocks};
}

template <class T>
int stored_block_slices<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                                  const kernels::launch_env& env) const {
  auto a = kernels::operand_of<T>(slices, row_of.data(), reach);
  a.stays_in_l2 = fits_l2(env, slices.bytes(), product.bytes(a.rows, a.cols));
  const auto args = with_operand(a, product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                                            \
  template struct stored_block_slices<T>;                                                              \
  template stored_block_slices<T> make_block_slices(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_block_slices<T> make_block_slices(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
