#include "kernels/forms/stored_matrix.hpp"

namespace bcsc::forms {

template <number T>
template <index I>
stored_matrix<T>::stored_matrix(const csr_view<T, I>& csr, const storing& how) {
  switch (how.form) {
    case kernels::operand_form::row_stream:
      form_ = make_row_stream(csr, how);
      return;
    case kernels::operand_form::mma_tiles:
      form_ = make_mma_tiles(csr, how);
      return;
    case kernels::operand_form::compact:
      std::visit([&](auto&& made) { form_ = std::move(made); }, make_compact(csr, how));
      return;
  }
}

#define BCSC_INSTANTIATE(T)                                                                   \
  template class stored_matrix<T>;                                                            \
  template stored_matrix<T>::stored_matrix(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_matrix<T>::stored_matrix(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)

}  // namespace bcsc::forms
