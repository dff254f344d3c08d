#pragma once

#include <cstdint>

#include "kernels/forms/row_stream/operand.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// A stream of pieces of rows, on a GPU.
template <class T>
struct stored_row_stream {
  int device = 0;
  device_row_stream<scalar_of<T>> stream;
  std::int64_t rows_together = 0;  // row_stream_operand's

  stored_facts facts() const;
  partial_sums partials() const { return {stream.num_partials, kernels::partials_grain<scalar_of<T>>}; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

/// Cut where A lies: the GPU counts in 32 bits.
template <number T, index I>
stored_row_stream<T> make_row_stream(const csr_view<T, I>& csr, const storing& how);

/// Cut on the host and uploaded: for more non-zeros than the GPU's cutter can count. Throws
/// error{out_of_memory} that says how many bytes A takes and how many are free, before it begins.
template <number T, index I>
stored_row_stream<T> make_row_stream_on_host(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
