#pragma once

#include <cstdint>

#include "kernels/forms/block_slices/block_slices.hpp"
#include "kernels/forms/block_slices/operand.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// Row blocks side by side, on a GPU.
template <class T>
struct stored_block_slices {
  device_block_slices<T> slices;
  row_permutation<std::int32_t> row_of;
  std::int64_t reach;  ///< converters::column_access::reach

  stored_facts facts() const;
  partial_sums partials() const { return {}; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

template <number T, index I>
stored_block_slices<T> make_block_slices(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
