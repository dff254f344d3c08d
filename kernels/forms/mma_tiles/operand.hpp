#pragma once

#include <cstdint>

#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels {

/// A in MMA tiles (kernels/forms/mma_tiles/layout.hpp says what they are) as a kernel reads it.
template <class T>
struct mma_tiles_operand {
  std::int64_t rows, cols;  ///< below 2^31, as are the numbers of groups and tiles
  std::int64_t height;      ///< rows of a row block, or of the highest: 8, 16, 32, 64 or 128
  std::int64_t num_items;
  const forms::mma_tiles_item* items;    ///< each row of A in one row block; a row block is one item, or several
  const forms::mma_tiles_group* groups;  ///< not read where height is 8: group g has tile g
  const std::int32_t* col_ind;           ///< [8 * groups]
  const T* tiles;                        ///< [64 * (tiles + forms::spare_tiles)], aligned to 16 bytes
  /// [tiles] bit 8 r + c: there is an entry in row r, column c. Only read where a product is not finite.
  const std::uint64_t* masks;
  const std::int32_t* row_of;  ///< the row of C that row m of A is; null: m

  // Row blocks in several pieces. None: 0 and null.
  std::int64_t num_sums;
  const forms::mma_tiles_sum* sums;
  scalar_of<T>* partial;  ///< [slots][height][n]: workspace, written and read by each run

  std::int32_t prefetched_tiles = 0;                ///< how many tiles `mma` may prefetch: all or none
  cache_policy in_l2 = cache_policy::evict_normal;  ///< of `tiles`, as `mma` loads them
};

template <class T>
using mma_tiles_args = product_args<T, mma_tiles_operand<T>>;

}  // namespace bcsc::kernels
