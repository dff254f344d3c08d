#include "kernels/forms/stored_matrix.hpp"

#include <limits>
#include <span>

#include "bcsc/convert.hpp"
#include "core/fail.hpp"

namespace bcsc::forms {

namespace {

/// Whether the GPU can make the form: of rows counted in 32 bits, in row blocks of one height.
bool can_be_made_on_device(std::int64_t nnz, const storing& how) {
  using form = kernels::operand_form;
  const bool has_blocks = how.form != form::row_stream && how.form != form::bricks && !is_dense(how.form);
  const bool blocks_fit = !has_blocks || how.boundaries.empty();
  const bool indices_fit = how.form != form::compact || how.index_bits == 32;
  return how.device && nnz < std::numeric_limits<std::int32_t>::max() && blocks_fit && indices_fit;
}

/// Calls use(csr) with copies of its arrays on `device`.
template <number T, class Use>
void with_copy_on_device(int device, const csr_view<T, std::int32_t>& csr, Use use) {
  const core::device_buffer<std::int32_t> row_ptr(device, csr.row_ptr), col_ind(device, csr.col_ind);
  const core::device_buffer<T> values(device, csr.values);
  use(csr_view<T, std::int32_t>{csr.rows,
                                csr.cols,
                                {row_ptr.data(), csr.row_ptr.size()},
                                {col_ind.data(), csr.col_ind.size()},
                                {values.data(), csr.values.size()},
                                memory_space::device});
}

}  // namespace

// CSR takes no longer to upload than a form does, and the GPU makes the form faster than the host.
template <number T>
template <index I>
stored_matrix<T>::stored_matrix(const csr_view<T, I>& csr, const storing& how) {
  const auto store = [&](const auto& a) { take(a, how); };
  if (csr.space == memory_space::device || !can_be_made_on_device(csr.nnz(), how)) {
    store(csr);
  } else if constexpr (sizeof(I) == sizeof(std::int32_t)) {
    with_copy_on_device(*how.device, csr, store);
  } else {
    const auto narrow = cast<T, std::int32_t>(csr);
    with_copy_on_device(*how.device, narrow.view(), store);
  }
}

template <number T>
template <index I>
void stored_matrix<T>::take(const csr_view<T, I>& csr, const storing& how) {
  const converters::csr_pattern<I> pattern(csr);
  pattern_ = csr.space == memory_space::device ? converters::hash_pattern_on_device(*how.device, pattern)
                                               : converters::hash_pattern(pattern);
  switch (how.form) {
    case kernels::operand_form::row_slices:
      if constexpr (value<T>) {
        form_ = make_row_slices(csr, how);
        return;
      }
      core::fail(errc::internal, "row slices hold fp32 and fp64, not {}", to_string(value_type_of<T>));
    case kernels::operand_form::fma_tiles:
      if constexpr (value<T>) {
        form_ = make_fma_tiles(csr, how);
        return;
      }
      core::fail(errc::internal, "FMA tiles hold fp32 and fp64, not {}", to_string(value_type_of<T>));
    case kernels::operand_form::bricks:
      if constexpr (value<T>) {
        form_ = make_bricks(csr, how);
        return;
      }
      core::fail(errc::internal, "bricks hold fp32 and fp64, not {}", to_string(value_type_of<T>));
    case kernels::operand_form::block_slices:
      form_ = make_block_slices(csr, how);
      return;
    case kernels::operand_form::row_stream:
      form_ = make_row_stream(csr, how);
      return;
    case kernels::operand_form::mma_tiles:
    case kernels::operand_form::staged_tiles:
      form_ = make_mma_tiles(csr, how);
      return;
    case kernels::operand_form::dense:
    case kernels::operand_form::dense_half:
    case kernels::operand_form::dense_halves:
      form_ = make_dense(csr, how);
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
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
