#pragma once

#include <cstdint>

#include "kernels/forms/row_slices/operand.hpp"
#include "kernels/forms/row_slices/row_slices.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// Rows side by side, on the host.
template <class T>
struct stored_row_slices {
  row_slices<T> slices;
  row_permutation<std::int32_t> row_of;

  stored_facts facts() const;
  partial_sums partials() const { return {}; }
  kernels::row_slices_operand<T> operand() const;
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

template <value T, index I>
stored_row_slices<T> make_row_slices(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
