#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/finite.cuh"
#include "kernels/cuda/fma/deliver.cuh"
#include "kernels/cuda/fma/multiply.cuh"
#include "kernels/cuda/fma/shape.cuh"
#include "kernels/cuda/fma/tile_ring.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/fma_tiles/operand.hpp"
#include "kernels/tables/fma.hpp"

/// SpMM on plain cores, A in FMA tiles (kernels/forms/fma_tiles/layout.hpp): for matrices whose neighbouring rows share
/// their columns by twos, threes or fours, as the unknowns of a node do.
///
/// - Ownership: a warp owns a row block and a slab of 32 * lane_cols columns, all its sums in registers. A step brings
///   four rows of B to registers, and each part of the row block that has a tile there multiplies them: part_rows * 16
///   multiply-adds of a lane for lane_cols = 4. The branch around a tile is the same for the whole warp.
/// - Lanes: side by side along N, with 16 bytes of a row of B each, or `Width` values where B, ldb or N are not aligned
///   to that.
/// - A through shared memory: a warp's lanes copy the tiles of the next steps, a chunk of eight at a time, into its own
///   ring (cp.async), and all read the same values from there: a broadcast of 16 bytes takes one cycle. Read through L1
///   instead it takes half as long again, since each line of A comes too late.
/// - Loads in flight: the rows of B one step ahead in a second set of registers, column numbers two steps ahead, tiles
///   two chunks and more. A value of the next tile replaces each one when it has been multiplied.
/// - Non-finite values: the zeros of a tile are multiplied too. Each warp checks its sums before it writes C; if one is
///   not finite it computes them once more from the stored entries, which masks tell from the zeros between them.
/// - Columns past n: lanes read the slab's last ones instead, and their results are not stored.
/// - Bytes, for each slab: a tile's values, 16 a step; 4 * slab values of B a step; C once (twice if beta is not 0).
/// - Preconditions: those of product_args and fma_tiles_operand; a B whose columns lie side by side.
/// - Deterministic: every sum has one order.
namespace bcsc::kernels::cuda {

/// Thread blocks lie along the row blocks (x), then along the slabs from first_slab on (y), then along a batch's
/// members (z).
template <class T, int Height, int LaneCols, int Warps, int Blocks, int Width>
__global__ void __launch_bounds__(32 * Warps, Blocks)
    fma_kernel(const __grid_constant__ fma_tiles_args<T> args, std::int64_t first_slab) {
  using shape = fma_shape<T, Height, LaneCols, Warps, Width>;
  constexpr int ring_bytes = shape::config.ring_bytes() + shape::config.step_bytes();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const auto place = [&] {
    return fma_place{static_cast<std::int64_t>(blockIdx.x) * Warps + warp,
                     (first_slab + static_cast<std::int64_t>(blockIdx.y)) * shape::slab};
  };
  if (place().block >= args.a.num_blocks) return;
  const auto* const blocks = reinterpret_cast<const int4*>(args.a.blocks + place().block);
  const int4 block = __ldg(blocks);
  const int num_steps = __ldg(blocks + 1).y - block.y;
  if (num_steps < 0) return;  // never taken: it keeps ptxas from moving the loads past the wait
  wait_for_previous();
  let_next_begin();
  typename shape::sums sums = {};
  if (num_steps > 0 && read_scalars(args).alpha != T{0}) {
    tile_ring<T, shape> tiles(dynamic_shared<unsigned char>() + warp * ring_bytes,
                              args.a.tiles + std::int64_t{block.x} * forms::fma_tile_values(Height));
    const fma_place at = place();
    const fma_columns<T, shape> b(args, at.first_col, at.template num_cols<shape::slab>(args));
    multiply_steps<T, shape>(sums, tiles, reinterpret_cast<const int4*>(args.a.steps) + block.y, num_steps, b);
    wait_for_copies();
  }
  if (__all_sync(0xffffffffu, all_finite<shape::num_sums>(&sums[0][0][0]))) {
    store_sums<T, shape>(args, place(), sums);
  } else {
    deliver_stored(args, place(), place().template num_cols<shape::slab>(args));
  }
}

/// The same product one entry after the other, for rows of B further apart than fma_kernel can address: a warp takes a
/// row block and 32 columns.
template <class T>
__global__ void __launch_bounds__(128)
    far_rows_fma_kernel(const __grid_constant__ fma_tiles_args<T> args, std::int64_t num_slabs, double slab_of_warp) {
  constexpr int slab = 32;
  wait_for_previous();
  let_next_begin();
  const std::int64_t step = std::int64_t{gridDim.x} * 4;
  for (std::int64_t index = std::int64_t{blockIdx.x} * 4 + threadIdx.x / 32; index < args.a.num_blocks * num_slabs;
       index += step) {
    const std::int64_t slab_number = divide(index, args.a.num_blocks, slab_of_warp);
    const fma_place at{index - slab_number * args.a.num_blocks, slab_number * slab};
    deliver_stored(args, at, at.template num_cols<slab>(args));
  }
}

/// The offset of a row of B is one 32-bit multiplication.
template <class T>
inline constexpr std::int64_t max_fma_ld = 4294967295 / static_cast<std::int64_t>(sizeof(T));

template <>
struct implementation<tables::fma> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::fma_config config = tables::fma::configs[Index];
    using T = value_of<config.type>;
    const auto& product = *static_cast<const fma_tiles_args<T>*>(args);
    if (product.a.height != config.height || product.b_col_stride != 1) return cudaErrorInvalidValue;
    if (product.ldb > max_fma_ld<T>) return start_far_rows(product, env);
    constexpr int width = config.lane_cols * config.size() < 16 ? config.lane_cols : 16 / config.size();
    const bool fits = reinterpret_cast<std::uintptr_t>(product.b) % (width * sizeof(T)) == 0 &&
                      product.ldb % width == 0 && product.batch.b % width == 0 && product.n % width == 0;
    return fits ? start_slabs<Index, width>(product, env) : start_slabs<Index, 1>(product, env);
  }

 private:
  template <int Index, int Width, class T>
  static int start_slabs(const fma_tiles_args<T>& product, const launch_env& env) {
    constexpr tables::fma_config config = tables::fma::configs[Index];
    const auto along_blocks = static_cast<unsigned>(ceil_div(product.a.num_blocks, config.warps));
    const std::int64_t num_slabs = ceil_div(product.n, config.tile_cols());
    constexpr std::int64_t slabs_at_once = 65535;
    for (std::int64_t slab = 0; slab < num_slabs; slab += slabs_at_once) {
      const std::int64_t count = num_slabs - slab < slabs_at_once ? num_slabs - slab : slabs_at_once;
      const int started =
          start(begins::while_previous_ends,
                &fma_kernel<T, config.height, config.lane_cols, config.warps, config.min_blocks, Width>,
                dim3(along_blocks, static_cast<unsigned>(count), static_cast<unsigned>(product.batch.count)),
                dim3(config.block_threads()), config.shared_bytes(), env.stream, product, slab);
      if (started != cudaSuccess) return started;
    }
    return cudaSuccess;
  }

  template <class T>
  static int start_far_rows(const fma_tiles_args<T>& product, const launch_env& env) {
    const std::int64_t num_slabs = ceil_div(product.n, 32);
    return start(begins::while_previous_ends, &far_rows_fma_kernel<T>,
                 grid_of(ceil_div(product.a.num_blocks * num_slabs, 4), product.batch), dim3(128), 0, env.stream,
                 product, num_slabs, 1.0 / static_cast<double>(product.a.num_blocks));
  }
};

}  // namespace bcsc::kernels::cuda
