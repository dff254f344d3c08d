#include "kernels/forms/row_slices/stored.hpp"

#include "converters/formats/instantiate.hpp"

namespace bcsc::forms {

template <value T, index I>
stored_row_slices<T> make_row_slices(const csr_view<T, I>& csr, const storing& how) {
  return {to_row_slices(csr), row_permutation<std::int32_t>(how)};
}

template <class T>
stored_facts stored_row_slices<T>::facts() const {
  return {slices.nnz, slices.bytes() + row_of.bytes(), slices.rows};
}

template <class T>
kernels::row_slices_operand<T> stored_row_slices<T>::operand() const {
  return {.rows = slices.rows,
          .cols = slices.cols,
          .num_slices = slices.num_slices(),
          .slices = slices.slices.data(),
          .masks = slices.masks.data(),
          .values = slices.values.data(),
          .columns = slices.columns.data(),
          .listed = slices.listed.data(),
          .row_of = row_of.data()};
}

template <class T>
int stored_row_slices<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                                const kernels::launch_env& env) const {
  const auto args = with_operand(operand(), product);
  return launch(&args, env);
}

template struct stored_row_slices<float>;
template struct stored_row_slices<double>;
#define BCSC_INSTANTIATE(T, I) template stored_row_slices<T> make_row_slices(const csr_view<T, I>&, const storing&);
BCSC_FOR_VALUES(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
