#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/forms/dense/operand.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// Whether a matrix of this size is stored with its zeros: fewer than 2^31 values with the padding of its rows.
bool dense_holds(std::int64_t rows, std::int64_t cols);

/// A with its zeros, on a GPU.
template <class T>
struct stored_dense {
  std::int64_t rows = 0, cols = 0, nnz = 0, ld = 0, row_words = 0;
  core::device_buffer<T> values;
  core::device_buffer<std::uint32_t> mask;
  // As kernels::halves_of_a, or empty.
  int halves_count = 0;
  std::int64_t halves_ld = 0;
  core::device_buffer<half> halves;
  core::device_buffer<float> back;
  core::device_buffer<std::int32_t> num_lossy;

  stored_facts facts() const;
  /// Sums that are checked before they are added to C, and workspace in which the library may split a product.
  partial_sums partials() const;
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

/// From CSR on how.device, of a size for which dense_holds(). With fp16 parts of fp32 values if how.form says so.
template <number T, index I>
stored_dense<T> make_dense(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
