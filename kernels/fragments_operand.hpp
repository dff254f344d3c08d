#pragma once

#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "lib/core/fragments.hpp"

namespace bcsc::kernels {

/// A in fragments (lib/core/fragments.hpp says what they are) as a kernel reads it.
template <class T>
struct fragments_operand {
  std::int64_t rows, cols;  ///< below 2^31, as are the numbers of groups and tiles
  std::int64_t height;      ///< rows of a row block, or of the highest: 8, 16, 32 or 64
  std::int64_t num_items;
  const core::fragments_item* items;    ///< each row of A in one row block; a row block is one item, or several
  const core::fragments_group* groups;  ///< not read where height is 8: group g has tile g
  const std::int32_t* col_ind;          ///< [8 * groups]
  const T* tiles;                       ///< [64 * (tiles + core::spare_tiles)], aligned to 16 bytes
  /// [tiles] bit 8 r + c: there is an entry in row r, column c. Only read where a product is not finite.
  const std::uint64_t* masks;
  const std::int32_t* row_of;  ///< the row of C that row m of A is; null: m

  // Row blocks in several pieces. None: 0 and null.
  std::int64_t num_sums;
  const core::fragments_sum* sums;
  scalar_of<T>* partial;  ///< [slots][height][n]: workspace, written and read by each run
};

template <class T>
using fragments_args = product_args<T, fragments_operand<T>>;

/// Elements of fragments_operand::partial.
constexpr std::int64_t partial_values(std::int64_t num_slots, std::int64_t height, std::int64_t n) {
  return num_slots * height * n;
}

}  // namespace bcsc::kernels
