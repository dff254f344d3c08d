#pragma once

#include <algorithm>
#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/epilogue.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/stored_entries.cuh"
#include "kernels/cuda/stage_barrier.cuh"
#include "kernels/cuda/stage_counter.cuh"
#include "kernels/cuda/staged/start.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/wgmma/multiply.cuh"
#include "kernels/cuda/wgmma/producer.cuh"
#include "kernels/cuda/wgmma/shape.cuh"
#include "kernels/cuda/wgmma/stage_walk.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/tables/wgmma.hpp"

/// SpMM by warpgroups on Hopper's tensor cores, A in MMA tiles of row blocks of 64 or 128 rows. mma.cuh says what the
/// split of 3xTF32 is and what becomes of non-finite values.
///
/// - Transposed: the 64 rows of a product are columns of B, from registers; its columns are all rows of a row block,
///   from shared memory. So a lane splits a value of B once for 64 or 128 rows of A.
/// - Ownership: a thread block owns `slab` columns of one row block, or of a piece of it, after another; a consumer,
///   which is a warp that multiplies, all rows and 16 or 32 of the columns.
/// - Loads: a stage holds `depth` groups of columns: their rows of B, and their tiles with zeros for those that a group
///   lacks, so that there is no branch. The producers copy (cp.async, 16 bytes) as soon as the consumers have left a
///   stage, and split or round A there; they may be in the next row block while the consumers write C.
/// - Banks: place_of_chunk() spreads the rows of B; tiles lie as the tensor cores read them without a conflict.
/// - Sums: those of a stage from zero, then added in fp32, since the tensor cores truncate. While one warpgroup adds,
///   the other's products are under way.
/// - Columns past n are copied as zeros.
/// - Non-finite values: each consumer checks its own sums and recomputes its own columns.
/// - Bytes, for each slab: those of mma, but 8 * slab values of B a group for a row block of up to 128 rows.
/// - Preconditions: those of product_args and mma_tiles_operand; any ldb; compute capability 9.0. Deterministic: every
///   sum has one order.
namespace bcsc::kernels::cuda {

/// Fills stages. What a thread has copied of A it splits itself, two stages later; what its warp has to know of a stage
/// is copied three stages before.
template <class T, class Shape>
__device__ void produce(const wgmma_producer<T, Shape>& producer, item_walk<T> walk, stage_barrier* filled,
                        stage_barrier* left) {
  constexpr int ahead = 2;
  static_assert(Shape::stages > ahead && Shape::slots > ahead + 1);
  unsigned known = 0, copied = 0, split = 0;  // stages
  const auto learn = [&] {
    while (walk.group >= walk.end && walk.has_item()) walk.next_item();
    if (!walk.has_item()) return;
    producer.start_numbers(known++ % Shape::slots, walk.group, walk.end);
    walk.group += Shape::depth;
  };
  stage_counter<Shape> to_copy, to_split;
  const auto hand_on = [&] {
    producer.split(to_split.place);
    show_to_tensor_cores();
    filled[to_split.stage()].arrive();
    to_split.advance();
    ++split;
  };
  for (int i = 0; i < ahead + 1; ++i) learn();
  wait_for_copies();
  __syncwarp();
#pragma unroll 1
  while (copied < known) {
    left[to_copy.stage()].wait(to_copy.phase - 1);
    producer.start(to_copy.place, copied++ % Shape::slots);
    to_copy.advance();
    __syncwarp();  // all lanes have read what was known of the stage before
    learn();
    commit_copies();
    if (copied - split <= unsigned{ahead}) continue;
    wait_for_all_but<ahead>();
    hand_on();  // where lanes meet: what they have copied of the next stage can be read then
  }
  wait_for_copies();
#pragma unroll 1
  while (split < copied) hand_on();
}

/// Started by start_on_slabs(), which says where thread blocks lie; each takes every gridDim.x-th item.
template <class T, int Parts, int LaneCols, int Warpgroups, int Depth, int Stages, int Products>
__global__ void __launch_bounds__(128 * Warpgroups + 32 * tables::wgmma_config::producers, 1)
    wgmma_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t first_slab, int width) {
  using shape = wgmma_shape<T, Parts, LaneCols, Warpgroups, Depth, Stages, Products>;
  unsigned char* const stages = dynamic_shared<unsigned char>();
  auto* const filled = reinterpret_cast<stage_barrier*>(stages + shape::barriers_at);
  stage_barrier* const left = filled + Stages;
  stage_barrier* const turns = left + Stages;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Stages; ++stage) {
      filled[stage].begin(shape::producers);
      left[stage].begin(shape::consumers);
    }
    for (int i = 0; i < Warpgroups; ++i) turns[i].begin(4);
  }
  __syncthreads();
  const std::int64_t first_col = (first_slab + static_cast<std::int64_t>(blockIdx.y)) * shape::block_slab;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  wait_for_previous();
  let_next_begin();
  item_walk<T> walk(args, read_scalars(args).alpha != 0);

  if (warp >= shape::consumers) {
    leave_registers<shape::config.producer_registers>();
    const unsigned thread = threadIdx.x - 32 * shape::consumers;
    produce(wgmma_producer<T, shape>(args, thread, first_col, width, stages), walk, filled, left);
  } else {
    take_registers<shape::config.consumer_registers()>();
    const wgmma_step<T, shape> step(stages, warp * shape::slab);
    stage_counter<shape> next;
    warpgroup_turn<Warpgroups> turn(turns, warp / 4);
    for (; walk.has_item(); walk.next_item()) {
      typename shape::sums sums = {};
#pragma unroll 1
      for (; walk.group < walk.end; walk.group += Depth, next.advance()) {
        filled[next.stage()].wait(next.phase);
        typename wgmma_step<T, shape>::rows_of_b b;
        typename wgmma_step<T, shape>::products products;
        step.load(b, next.place);
        step.start(products, b, next.place, turn);
        step.add_to(sums, products);
        left[next.stage()].arrive();
      }
      const mma_place at{walk.item, first_col + warp * shape::slab};
      if (!at.lies_in(args)) continue;
      if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {
        deliver_sums<T, shape>(args, at, sums);
      } else {
        deliver_stored(args, at, at.template num_cols<shape::slab>(args));
      }
    }
  }
}

template <>
struct implementation<tables::wgmma> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::wgmma_config config = tables::wgmma::configs[Index];
    using T = value_of<config.type>;
    const auto& spmm = *static_cast<const mma_tiles_args<T>*>(args);
    return start_on_slabs(&wgmma_kernel<T, config.parts, config.lane_cols, config.warpgroups, config.depth,
                                        config.stages, config.products()>,
                          config, spmm, env, [&](std::int64_t slabs) {
                            return std::max<std::int64_t>(1, env.num_multiprocessors / (slabs * spmm.batch.count));
                          });
  }
};

}  // namespace bcsc::kernels::cuda
