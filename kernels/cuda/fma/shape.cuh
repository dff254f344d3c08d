#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"
#include "kernels/forms/fma_tiles/layout.hpp"
#include "kernels/tables/fma.hpp"

/// What an instance of the FMA kernel knows at compile time.
namespace bcsc::kernels::cuda {

/// Width: values of B and C that a lane moves at once.
template <class T, int Height, int LaneCols, int Warps, int Width>
struct fma_shape {
  static constexpr tables::fma_config config{
      .height = Height, .lane_cols = LaneCols, .warps = Warps, .type = value_type_of<T>};
  static constexpr int part_rows = config.part_rows();
  static constexpr int parts = config.parts();
  static constexpr int columns = forms::fma_step_columns;
  static constexpr int slab = config.tile_cols();

  static constexpr int width = Width;
  static constexpr int vectors = LaneCols / Width;  ///< of a lane, side by side with those of the other lanes

  using sums = T[parts][part_rows][LaneCols];
  static constexpr int num_sums = parts * part_rows * LaneCols;
  using rows_of_b = T[columns][LaneCols];
  using tile = T[part_rows][columns];

  /// The first column of a lane's vector in the slab.
  static __device__ int first_column(int vector) { return (vector * 32 + static_cast<int>(threadIdx.x) % 32) * Width; }
};

}  // namespace bcsc::kernels::cuda
