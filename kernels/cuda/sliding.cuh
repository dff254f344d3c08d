#pragma once

#include <algorithm>
#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/epilogue.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/stored_entries.cuh"
#include "kernels/cuda/sliding/item_run.cuh"
#include "kernels/cuda/sliding/multiply.cuh"
#include "kernels/cuda/sliding/producer.cuh"
#include "kernels/cuda/sliding/shape.cuh"
#include "kernels/cuda/sliding/stages.cuh"
#include "kernels/cuda/stage_counter.cuh"
#include "kernels/cuda/staged/start.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/tables/sliding.hpp"

/// SpMM of bands on tensor cores in fp64, A in MMA tiles (kernels/forms/mma_tiles/layout.hpp). mma.cuh says what a
/// product is and how a lane holds it, and what becomes of non-finite values; all of that is the same here.
///
/// - Ownership: a thread block owns `slab` columns of a run of neighbouring items; a consumer, which is a warp that
///   multiplies, some neighbouring parts of each and some of the columns.
/// - Loads: a stage holds `depth` groups of columns with their tiles. Rows of B lie beside the stages, in a window that
///   slides on (sliding/window.cuh): a stage brings those that none before it has read, and says where all of its rows
///   are. Four warps do nothing but copy, as soon as the consumers have left what is overwritten. They use bulk copies,
///   one for the tiles of a stage and one for each row, or copy value by value where rows of B or of the slab are not
///   multiples of 16 bytes.
/// - Banks: rows of B are 16 bytes longer than they have to be.
/// - Any matrix is multiplied. Where columns of a stage lie too far apart for the window it is as good as empty, and
///   each stage waits for the one before.
/// - Columns past n are zeros from the beginning.
/// - Bytes, for each slab: tiles as staged; all rows of B from the first to the last that a run of row blocks reads,
///   once while the window slides.
/// - Preconditions: those of product_args and mma_tiles_operand; any ldb; compute capability 9.0. Deterministic: every
///   sum has one order.
namespace bcsc::kernels::cuda {

/// Fills stages; what a lane has to know of a stage is loaded two stages earlier.
template <class Shape, class T, class Producer>
__device__ void produce(Producer producer, item_run<T> run) {
  constexpr int ahead = 2;
  typename Producer::numbers numbers[ahead] = {};
  int known = 0, started = 0;  // stages
  const auto learn = [&](typename Producer::numbers& of) {
    while (run.group >= run.end && run.has_item()) run.next_item();
    if (!run.has_item()) return;
    of = producer.load(run.group, run.end);
    run.group += Shape::depth;
    ++known;
  };
#pragma unroll
  for (int i = 0; i < ahead; ++i) learn(numbers[i]);
#pragma unroll 1
  while (started < known) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      if (started == known) break;
      const typename Producer::numbers now = numbers[i];
      learn(numbers[i]);
      producer.start(started++, now);
    }
  }
}

/// Started by start_on_slabs(), which says where thread blocks lie.
template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int Kept, int Depth, int Stages, int Blocks>
__global__ void __launch_bounds__(32 * (WarpsM * WarpsN + tables::sliding_config::producers), Blocks)
    sliding_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t first_slab, int width) {
  using shape = sliding_shape<T, Parts, Slab, WarpsM, WarpsN, Kept, Depth, Stages>;
  unsigned char* const shared = dynamic_shared<unsigned char>();
  const sliding_stages<shape> stages(shared);
  const std::int64_t first_col = (first_slab + static_cast<std::int64_t>(blockIdx.y)) * Slab;
  if (threadIdx.x == 0) stages.begin();
  if (args.n - first_col < Slab) clear_rows<shape>(shared);
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  wait_for_previous();
  let_next_begin();
  item_run<T> run(args, read_scalars(args).alpha != scalar_of<T>{0});

  if (warp >= shape::consumers) {
    if (const int share = warp - shape::consumers; share < shape::row_producers) {
      produce<shape>(rows_producer<T, shape>(args, stages, share, first_col, width, shared), run);
    } else {
      produce<shape>(tiles_producer<T, shape>(args, stages), run);
    }
    return;
  }
  const int slab = warp / WarpsM, first_part = warp % WarpsM * shape::parts;
  const sliding_step<T, shape> step(shared, first_part, slab * shape::pieces);
  stage_counter<shape> next;
  for (; run.has_item(); run.next_item()) {
    const mma_place at{run.number(), first_col + slab * shape::slab, first_part, 1, shape::parts};
    typename shape::sums sums = {};
#pragma unroll 1
    for (; run.group < run.end; run.group += Depth, next.advance()) {
      stages.wait_until_filled(next);
      if (at.first_col < args.n) step.add_to(sums, shape::stages_at + next.place);
      stages.leave(next);
    }
    if (!at.lies_in(args)) continue;
    if (__all_sync(0xffffffffu, are_finite<shape>(sums))) {
      deliver_sums<T, shape>(args, at, run.item, sums);
    } else {
      deliver_stored(args, at, at.template num_cols<shape::slab>(args));
    }
  }
}

/// Into how many runs the items are cut for each of `tiles` tiles of columns on a GPU with so many places: several
/// waves of shorter runs where one would leave places empty.
inline std::int64_t runs_for(std::int64_t places, std::int64_t tiles) {
  constexpr std::int64_t enough = 16;
  std::int64_t best = 1;
  for (std::int64_t runs = 2; runs <= std::max(enough, places / tiles); ++runs) {
    if (ceil_div(tiles * runs, places) * best < ceil_div(tiles * best, places) * runs) best = runs;
  }
  return best;
}

template <>
struct implementation<tables::sliding> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::sliding_config config = tables::sliding::configs[Index];
    using T = value_of<config.type>;
    const auto& spmm = *static_cast<const mma_tiles_args<T>*>(args);
    return start_on_slabs(&sliding_kernel<T, config.parts, config.slab, config.warps_m, config.warps_n, config.kept,
                                          config.depth, config.stages, config.min_blocks>,
                          config, spmm, env, [&](std::int64_t slabs) {
                            return runs_for(std::int64_t{env.num_multiprocessors} * config.min_blocks,
                                            slabs * spmm.batch.count);
                          });
  }
};

}  // namespace bcsc::kernels::cuda
