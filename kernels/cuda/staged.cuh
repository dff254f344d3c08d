#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/epilogue.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/stored_entries.cuh"
#include "kernels/cuda/staged/copies.cuh"
#include "kernels/cuda/staged/multiply.cuh"
#include "kernels/cuda/staged/shape.cuh"
#include "kernels/cuda/staged/start.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/tables/staged.hpp"

/// SpMM on tensor cores with B in shared memory, A in MMA tiles (kernels/forms/mma_tiles/layout.hpp) of row blocks of
/// 64 or 128 rows. mma.cuh says what a product is, how a lane holds it, what the accuracy is and what becomes of
/// non-finite values; all of that is the same here but for what follows.
///
/// - Ownership: a thread block owns a row block, or a piece of one, and `slab` columns. Its warps share the parts, of
///   which each has every warps_m-th, the columns and, where tiles are few, the groups of a stage: those add their sums
///   up at the end, in order.
/// - Loads: a stage holds `depth` groups of columns: their rows of B, their tiles, the groups themselves. All threads
///   copy (cp.async, 16 bytes) while an earlier stage is multiplied; one barrier a stage. Rows of B that are not
///   aligned take more copies. So a row of B is read once for the whole row block, and once for all parts a tile.
/// - Banks: a lane reads 16 bytes of two rows of B for each group; place_of_chunk() spreads them. Tiles are read in
///   order.
/// - Columns past n are copied as zeros; pieces past it are multiplied only where staged_step says whole_slabs.
/// - fp16, bf16: two products of 16 columns, so four groups, are summed from zero and then added. A group that lacks a
///   tile that another has multiplies zeros in its place.
/// - Non-finite values: each warp checks its own sums and recomputes its own rows.
/// - Bytes, for each slab: those of mma, but 8 * slab values of B a group for a row block of up to 128 rows.
/// - Preconditions: those of product_args and mma_tiles_operand; any ldb. Deterministic: every sum has one order.
namespace bcsc::kernels::cuda {

/// Started by start_on_slabs(), which says where thread blocks lie.
template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int WarpsK, int Depth, int Stages, int Products,
          int Blocks>
__global__ void __launch_bounds__(32 * WarpsM * WarpsN * WarpsK, Blocks)
    staged_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t first_slab, int width) {
  using shape = staged_shape<T, Parts, Slab, WarpsM, WarpsN, WarpsK, Depth, Stages, Products>;
  unsigned char* const stages = dynamic_shared<unsigned char>();
  const std::int64_t first_col = (first_slab + static_cast<std::int64_t>(blockIdx.y)) * Slab;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int k = warp % WarpsK, slab = warp / (WarpsK * WarpsM);
  const mma_place at{static_cast<std::int64_t>(blockIdx.x), first_col + slab * shape::slab, warp / WarpsK % WarpsM,
                     WarpsM};

  typename shape::sums sums = {};
  const int2 groups = __ldg(reinterpret_cast<const int2*>(args.a.items + at.item));
  staged_copies<T, shape> copies(args, first_col, groups.x, groups.y, width, stages);
  typename staged_copies<T, shape>::numbers first[Stages - 1];
  const auto group_of = [&](int ahead) { return groups.x + ahead * Depth; };
#pragma unroll
  for (int ahead = 0; ahead < Stages - 1; ++ahead) copies.load(first[ahead], group_of(ahead));
  wait_for_previous();
  let_next_begin();
  if (read_scalars(args).alpha != scalar_of<T>{0}) {
#pragma unroll
    for (int ahead = 0; ahead < Stages - 1; ++ahead) {
      if (group_of(ahead) < groups.y) {
        copies.start_tiles(ahead * shape::stage_bytes, first[ahead], group_of(ahead));
        copies.start_rows(ahead * shape::stage_bytes, first[ahead]);
      }
      commit_copies();
    }
    const std::int64_t own_cols = args.n - at.first_col;
    const int num_pieces = own_cols <= 0             ? 0
                           : own_cols >= shape::slab ? shape::pieces
                                                     : (static_cast<int>(own_cols) + shape::piece - 1) / shape::piece;
    typename staged_copies<T, shape>::numbers next;
    copies.load(next, group_of(Stages - 1));
    const staged_step<T, shape> step(stages, k, at.first_part, slab * shape::pieces, num_pieces);
    int now = 0, free = (Stages - 1) * shape::stage_bytes;  // where stages lie
#pragma unroll 1
    for (int group = groups.x; group < groups.y; group += Depth) {
      wait_for_all_but<Stages - 2>();
      __syncthreads();  // all have copied this stage, and multiplied the one before
      if (const int ahead = group + (Stages - 1) * Depth; ahead < groups.y) {
        copies.start_tiles(free, next, ahead);
        copies.start_rows(free, next);
      }
      commit_copies();
      copies.load(next, group + Stages * Depth);
      if (num_pieces > 0) step.add_to(sums, now, groups.y - group);
      free = now;
      now = now + shape::stage_bytes < shape::all_stages ? now + shape::stage_bytes : 0;
    }
  }
  wait_for_copies();
  if constexpr (WarpsK > 1) {
    __syncthreads();  // no warp reads a stage any more
    add_up_warps<shape, WarpsK>(sums, reinterpret_cast<scalar_of<T>*>(stages), warp);
  }
  asm volatile("" ::: "memory");  // no value is kept from above
  if (k != 0 || !at.lies_in(args)) return;
  if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {
    deliver_sums<T, shape>(args, at, sums);
  } else {
    deliver_stored(args, at, at.template num_cols<shape::slab>(args));
  }
}

template <>
struct implementation<tables::staged> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::staged_config config = tables::staged::configs[Index];
    using T = value_of<config.type>;
    return start_on_slabs(&staged_kernel<T, config.parts, config.slab, config.warps_m, config.warps_n, config.warps_k,
                                         config.depth, config.stages, config.products(), config.min_blocks>,
                          config, *static_cast<const mma_tiles_args<T>*>(args), env,
                          [](std::int64_t) { return core::max_grid; });
  }
};

}  // namespace bcsc::kernels::cuda
