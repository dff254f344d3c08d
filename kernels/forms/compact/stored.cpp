#include "kernels/forms/compact/stored.hpp"

#include <utility>

#include "kernels/forms/compact/locality.hpp"

namespace bcsc::forms {

template <number T, index I>
stored_compact<T> make_compact(const csr_view<T, I>& csr, const storing& how) {
  stored_compact<T> made;
  if (csr.space == memory_space::device) {
    made = device_compact<T, I>{converters::to_compact_on_device(*how.device, csr, how.m_block, true),
                                row_permutation<I>(how)};
    return made;
  }
  const auto place = [&]<class I2>(const csr_view<T, I2>& a) {
    const bool on_gpu = how.device.has_value();
    auto blocks = to_compact(a, {.m_block = how.m_block, .boundaries = how.boundaries, .narrow_columns = on_gpu});
    if (on_gpu) {
      made = device_compact<T, I2>{converters::upload(*how.device, blocks.view()), row_permutation<I2>(how)};
    } else {
      made = host_compact<T, I2>{std::move(blocks), row_permutation<I2>(how), is_scattered(a)};
    }
  };
  if (how.index_bits == static_cast<int>(sizeof(I) * 8)) {
    place(csr);
  } else if constexpr (sizeof(I) == 8) {
    const auto narrow = cast<T, std::int32_t>(csr);
    place(narrow.view());
  } else {
    const auto wide = cast<T, std::int64_t>(csr);
    place(wide.view());
  }
  return made;
}

template <class T, class I, class Matrix>
stored_facts compact_form<T, I, Matrix>::facts() const {
  const auto v = matrix.view();
  return {v.nnzc(), v.bytes() + row_of.bytes(), v.num_row_blocks()};
}

template <class T, class I, class Matrix>
int compact_form<T, I, Matrix>::start(kernels::launch_fn launch, const dense_side<T>& product,
                                      const kernels::launch_env& env) const {
  const auto v = matrix.view();
  const auto small = [](const small_indices& array) { return kernels::small_array{array.data(), array.bytes()}; };
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  const kernels::bcsc_operand<T, I> a{v.rows,
                                      v.cols,
                                      v.m_block,
                                      v.num_row_blocks(),
                                      present(v.block_row),
                                      v.brow_ptr.data(),
                                      v.entry_ptr.data(),
                                      v.col_ind.data(),
                                      present(v.col_ind16),
                                      small(v.col_count),
                                      small(v.row_in_block),
                                      v.values.data(),
                                      row_of.data(),
                                      scattered};
  const auto args = with_operand(a, product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                                   \
  template struct compact_form<T, std::int32_t, compact_bcsc_matrix<T, std::int32_t>>;        \
  template struct compact_form<T, std::int64_t, compact_bcsc_matrix<T, std::int64_t>>;        \
  template struct compact_form<T, std::int32_t, converters::device_compact<T, std::int32_t>>; \
  template struct compact_form<T, std::int64_t, converters::device_compact<T, std::int64_t>>; \
  template stored_compact<T> make_compact(const csr_view<T, std::int32_t>&, const storing&);  \
  template stored_compact<T> make_compact(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
