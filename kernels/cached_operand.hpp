#pragma once

#include <cstdint>

#include "kernels/rows_operand.hpp"
#include "kernels/spmm_args.hpp"
#include "lib/core/cached_pieces.hpp"

/// A as the cached kernels read it: a stream of pieces of rows, parted by panels of columns whose rows of B lie in
/// shared memory together (converters/formats/cached_stream.hpp makes it and says which they are).
namespace bcsc::kernels {

template <class T>
struct cached_operand {
  std::int64_t rows, cols;
  std::int64_t num_pieces;               ///< of a panel; piece i is of the same row in every panel
  std::int64_t num_panels;               ///< 1 at least
  std::int64_t num_partials, num_heavy;  ///< as in rows_operand
  std::int64_t num_hot;                  ///< columns with rows of B in shared memory
  std::int64_t hot_entries, cold_entries;
  int panel_slots;  ///< rows of B of a panel; the last one may have fewer
  int stages;       ///< panels that shared memory holds at once: panel p lies where panel p - stages lay
  const core::cached_piece* pieces;  ///< [num_panels * num_pieces], cold entries in the first panel only
  /// [number of pairs + spare_pairs]; `col` of a hot entry is where its row of B begins in shared memory, in bytes
  const core::entry_pair<T>* pairs;
  const std::int32_t* hot_cols;   ///< [num_hot] the columns in the order of their slots, panel by panel
  const std::int32_t* heavy_ptr;  ///< [num_heavy + 1] which pieces each heavy row has
  T* workspace;                   ///< cached_workspace_bytes(), aligned to 16 bytes; not read if num_heavy = 0
};

template <class T>
using cached_args = product_args<T, cached_operand<T>>;

/// As rows_workspace_bytes().
template <class T>
constexpr std::int64_t cached_workspace_bytes(const cached_operand<T>& a, std::int64_t n) {
  return a.num_partials * partials_ld<T>(n) * static_cast<std::int64_t>(sizeof(T));
}

}  // namespace bcsc::kernels
