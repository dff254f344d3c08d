#pragma once

#include <cstdint>

#include "kernels/forms/fma_tiles/layout.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels {

/// A in FMA tiles (kernels/forms/fma_tiles/layout.hpp says what they are) as a kernel reads it.
template <class T>
struct fma_tiles_operand {
  std::int64_t rows, cols;  ///< rows below 2^31, cols up to forms::max_fma_columns
  std::int64_t height;      ///< rows of a row block, or of the highest: up to 16
  std::int64_t num_blocks;
  const forms::fma_block* blocks;  ///< [num_blocks + 1]
  const forms::fma_step* steps;    ///< [steps + forms::spare_fma_steps]
  const T* tiles;                  ///< [(tiles + forms::spare_fma_tiles) * part_rows * 4], aligned to 16 bytes
  /// [tiles] bit 4 r + c: there is an entry in row r, column c. Only read where a product is not finite.
  const std::uint16_t* masks;
  const std::int32_t* row_of;  ///< the row of C that row m of A is; null: m
};

template <class T>
using fma_tiles_args = product_args<T, fma_tiles_operand<T>>;

/// FMA tiles as an operand, on the host (for the emulated GPU) or the device.
template <class T, class Tiles>
fma_tiles_operand<T> fma_operand_of(const Tiles& a, const std::int32_t* row_of) {
  return {.rows = a.rows,
          .cols = a.cols,
          .height = a.height,
          .num_blocks = static_cast<std::int64_t>(a.blocks.size()) - 1,
          .blocks = a.blocks.data(),
          .steps = a.steps.data(),
          .tiles = a.tiles.data(),
          .masks = a.masks.data(),
          .row_of = row_of};
}

}  // namespace bcsc::kernels
