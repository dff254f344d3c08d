#pragma once

#include <cstdint>

#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "kernels/forms/fma_tiles/operand.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// FMA tiles, on a GPU.
template <class T>
struct stored_fma_tiles {
  device_fma_tiles<T> tiles;
  std::int64_t nnzc = 0, num_row_blocks = 0;
  row_permutation<std::int32_t> row_of;

  stored_facts facts() const { return {nnzc, tiles.bytes() + row_of.bytes(), num_row_blocks}; }
  partial_sums partials() const { return {}; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

template <value T, index I>
stored_fma_tiles<T> make_fma_tiles(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
