#pragma once

#include <cstdint>

#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// MMA tiles for the tensor cores, on a GPU.
template <class T>
struct stored_mma_tiles {
  device_mma_tiles<T> tiles;
  std::int64_t nnz = 0, nnzc = 0, num_row_blocks = 0;
  row_permutation<std::int32_t> row_of;

  stored_facts facts() const;
  partial_sums partials() const { return {tiles.num_slots * tiles.height, 1}; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

template <number T, index I>
stored_mma_tiles<T> make_mma_tiles(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
