#pragma once

#include <cstdint>

#include "kernels/forms/bricks/bricks.hpp"
#include "kernels/forms/bricks/operand.hpp"
#include "kernels/forms/row_stream/operand.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// Bricks, on a GPU.
template <class T>
struct stored_bricks {
  device_bricks<T> bricks;

  stored_facts facts() const { return {bricks.nnz, bricks.bytes(), bricks.rows}; }
  partial_sums partials() const { return {bricks.pieces.size(), kernels::partials_grain<T>}; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

/// how.columns_at_once: bricks_options::slots.
template <value T, index I>
stored_bricks<T> make_bricks(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
