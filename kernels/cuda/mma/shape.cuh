#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/tables/mma.hpp"

/// What an instance of the kernel on the tensor cores knows at compile time.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them.
template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int WarpsK, int Ahead, int Staged, int Products>
struct mma_shape {
  static constexpr int parts = Parts;
  static constexpr int slab = Slab;
  static constexpr int ahead = Ahead;
  static constexpr int products = Products;
  static constexpr auto keeps = Products == 1 && sizeof(T) == 4 ? tables::accuracy::tf32 : tables::accuracy::full;
  static constexpr tables::mma_config config{.type = value_type_of<T>,
                                             .keeps = keeps,
                                             .parts = Parts,
                                             .slab = Slab,
                                             .warps_m = WarpsM,
                                             .warps_n = WarpsN,
                                             .warps_k = WarpsK,
                                             .ahead = Ahead,
                                             .staged = Staged != 0};

  static constexpr int vector = config.columns_of_lane();  // neighbouring ones
  static constexpr int words = words_for<T, vector>;
  static constexpr int tile_words = words_for<T, 2>;
  static constexpr int piece = 8 * vector;  // columns of a piece
  static constexpr int pieces = Slab / piece;
  static constexpr int steps = vector / 2;  // products of a piece and a tile
  /// Whether L2 is asked for tiles a group early. Two groups are under way long enough, and of smaller values or for 16
  /// columns instances have no register left for it (docs/history, 144).
  static constexpr bool prefetches = sizeof(T) == 8 && Ahead == 1 && Slab > 16;
  static constexpr int stages = Ahead + 1;
  static constexpr int stage_values = 8 * Slab + forms::mma_tile_values * Parts;

  using word = word_of<T>;
  using sum = scalar_of<T>;
  using sums = sum[Parts][pieces][steps][4];
};

}  // namespace bcsc::kernels::cuda
