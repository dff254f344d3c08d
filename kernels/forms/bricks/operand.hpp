#pragma once

#include <cstdint>

#include "kernels/forms/bricks/layout.hpp"
#include "kernels/forms/product_args.hpp"
#include "kernels/forms/row_stream/layout.hpp"

namespace bcsc::kernels {

/// A in bricks (kernels/forms/bricks/layout.hpp says what they are) as a kernel reads it. All arrays are aligned to 16
/// bytes.
template <class T>
struct bricks_operand {
  std::int64_t rows, cols;  ///< below 2^31
  std::int64_t slots;       ///< that the bricks were made for
  std::int64_t num_bricks;
  std::int64_t num_partial_bricks;  ///< the first so many hold pieces of heavy rows, and nothing else
  const std::int32_t* first_layer;  ///< [num_bricks + 1] of each brick
  const forms::brick_layer* layers;
  const forms::brick_row* brick_rows;
  const forms::brick_fetch* fetches;
  const std::uint16_t* entry_slots;  ///< where the row of B lies that each entry multiplies
  const T* values;
  // Heavy rows, as row_stream_operand has them.
  std::int64_t num_partials, num_heavy;
  const forms::row_piece* pieces;  ///< [num_partials]
  const std::int32_t* heavy_ptr;   ///< [num_heavy + 1]
  T* workspace;                    ///< [num_partials][partials_ld(n)]

  constexpr const forms::row_piece* of_partial(std::int64_t p) const { return pieces + p; }
};

template <class T>
using bricks_args = product_args<T, bricks_operand<T>>;

/// Bricks as an operand, on the host (for the emulated GPU) or the device.
template <class T, class Bricks>
bricks_operand<T> bricks_operand_of(const Bricks& a, T* workspace) {
  return {.rows = a.rows,
          .cols = a.cols,
          .slots = a.slots,
          .num_bricks = static_cast<std::int64_t>(a.first_layer.size()) - 1,
          .num_partial_bricks = a.num_partial_bricks,
          .first_layer = a.first_layer.data(),
          .layers = a.layers.data(),
          .brick_rows = a.brick_rows.data(),
          .fetches = a.fetches.data(),
          .entry_slots = a.entry_slots.data(),
          .values = a.values.data(),
          .num_partials = static_cast<std::int64_t>(a.pieces.size()),
          .num_heavy = static_cast<std::int64_t>(a.heavy_ptr.size()) - 1,
          .pieces = a.pieces.data(),
          .heavy_ptr = a.heavy_ptr.data(),
          .workspace = workspace};
}

}  // namespace bcsc::kernels
