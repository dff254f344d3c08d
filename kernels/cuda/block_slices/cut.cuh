#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/l2_prefetch.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/forms/block_slices/operand.hpp"
#include "kernels/tables/sliced.hpp"

/// Which thread block takes which slices and columns.
namespace bcsc::kernels::cuda {

/// Chunks of slices, a thread block's each, times tiles of columns. First come the chunks of the longest row blocks, of
/// which all thread blocks of a cluster have the same, then those of other long ones, then those of all others.
struct sliced_grid {
  std::int64_t num_blocks;
  bool in_clusters;                 // of most_cluster_blocks
  std::int64_t num_longest_chunks;  // the first ones
  std::int64_t num_long_chunks;     // those behind them
  int depth;                        // the most slices of a warp of another chunk
  std::int64_t stride;              // from one of these to the next
  int width;                        // columns of a tile
  std::uint64_t ldb_bytes;
  /// Of clusters that follow each other: tiles of the same slices, or slices for the same tile.
  bool tiles_first;
  std::int64_t first_count;
  double rest_of_block;  // 1 / first_count
  l2_prefetch words, values;
};

/// Chunks of slices, and tiles of about as many columns each. Long row blocks go to as many thread blocks as there are
/// multiprocessors, and further ones to the same until each has one for every warp; the longest to clusters likewise.
/// Neighbours go to different ones, since the longest are neighbours. Where other row blocks have a slice each, these
/// come first, and a warp's slices are far apart: one that took several of them would be the last to end.
template <class T>
sliced_grid cut_slices(const block_slices_args<T>& product, const tables::sliced_config& config,
                       int num_multiprocessors) {
  const std::int64_t others = product.a.num_slices - product.a.num_long;
  const double steps_of_slice = static_cast<double>(product.a.num_steps) / static_cast<double>(product.a.num_slices);
  const bool is_short = config.cols == 1 && forms::slices_are_short(steps_of_slice);
  const stream_grid cut =
      cut_stream(std::max<std::int64_t>(others, 1), product.n, config.cols, 1, product.batch.count,
                 {config.warps, config.depth, config.resident_blocks(), is_short}, num_multiprocessors);
  const std::int64_t num_tiles = ceil_div(product.n, static_cast<std::int64_t>(cut.width));
  const auto chunks_of = [&](std::int64_t slices, std::int64_t takers) {
    const std::int64_t all = slices * num_tiles * product.batch.count;
    const std::int64_t each = ceil_div(all, std::max<std::int64_t>(1, takers));
    return ceil_div(slices, std::clamp<std::int64_t>(each, 1, config.warps));
  };
  const bool in_clusters = most_cluster_blocks > 1 && product.a.stays_in_l2 &&
                           forms::clusters_pay(product.a.num_longest, product.a.longest_steps, product.a.num_steps,
                                               num_tiles * product.batch.count);
  const std::int64_t num_longest = in_clusters ? product.a.num_longest : 0;
  const int cluster = in_clusters ? most_cluster_blocks : 1;
  const std::int64_t longest_chunks = chunks_of(num_longest, num_multiprocessors / cluster) * cluster;
  const std::int64_t long_chunks = chunks_of(product.a.num_long - num_longest, num_multiprocessors);
  const std::int64_t other_chunks = ceil_div(others, static_cast<std::int64_t>(cut.depth) * config.warps);
  const std::int64_t num_groups =
      ceil_div(longest_chunks + long_chunks + other_chunks, static_cast<std::int64_t>(cluster));
  const std::int64_t num_blocks = num_groups * num_tiles * cluster;
  const bool spread = product.a.num_alone > product.a.num_long && cut.depth > 1;
  const bool tiles_first = tiles_come_first(product.a, product.n);
  const std::int64_t first_count = tiles_first ? num_tiles : num_groups;
  const auto prefetch = [&](const auto* array, std::int64_t values_a_lane) {
    constexpr std::int64_t most_prefetched_bytes = std::int64_t{4} << 20;
    if (product.a.streamed_bytes() > most_prefetched_bytes) return l2_prefetch{};
    return prefetch_of(array, forms::block_slice_lanes * values_a_lane, grid_of(num_blocks, product.batch),
                       most_prefetched_bytes);
  };
  return {.num_blocks = num_blocks,
          .in_clusters = in_clusters,
          .num_longest_chunks = longest_chunks,
          .num_long_chunks = long_chunks,
          .depth = cut.depth,
          .stride = spread ? other_chunks * config.warps : config.warps,
          .width = cut.width,
          .ldb_bytes = static_cast<std::uint64_t>(product.ldb) * sizeof(T),
          .tiles_first = tiles_first,
          .first_count = first_count,
          .rest_of_block = 1.0 / static_cast<double>(first_count),
          .words = prefetch(product.a.words, product.a.num_steps - product.a.num_diagonals),
          .values = prefetch(product.a.values, product.a.num_steps * product.a.height)};
}

/// Who shares the steps of a slice, from few to many.
enum class slice_takers { warp, thread_block, cluster };

/// What a thread block of `Warps` warps does at one turn: some slices, all of them for the same takers, for a tile of
/// columns. Most: the largest takers that the grid has slices for.
template <int Warps, slice_takers Most>
struct sliced_turn {
  slice_takers takers = slice_takers::warp;
  int first_slice;  // of warps: of the first
  int end_slice;
  int long_stride = 0;  // from one slice of a thread block or cluster to its next
  std::int64_t first_col;
  int num_cols;

  template <class T>
  __device__ sliced_turn(const sliced_grid& grid, std::int64_t index, const block_slices_args<T>& args) {
    constexpr bool in_clusters = Most == slice_takers::cluster;
    constexpr int cluster = in_clusters ? most_cluster_blocks : 1;
    const std::int64_t of_cluster = index / cluster;
    const std::int64_t rest = divide(of_cluster, grid.first_count, grid.rest_of_block);
    const std::int64_t first = of_cluster - rest * grid.first_count;
    const std::int64_t group = grid.tiles_first ? rest : first;
    const std::int64_t chunk = group * cluster + (index - of_cluster * cluster);
    const std::int64_t long_chunk = in_clusters ? chunk - grid.num_longest_chunks : chunk;
    const std::int64_t other_chunk = Most != slice_takers::warp ? long_chunk - grid.num_long_chunks : long_chunk;
    const int count = grid.stride == Warps ? Warps * grid.depth : Warps;
    first_slice = static_cast<int>(args.a.num_long + other_chunk * count);
    end_slice = static_cast<int>(args.a.num_slices);
    if (Most != slice_takers::warp && other_chunk < 0) {
      takers = slice_takers::thread_block;
      const int num_longest = in_clusters ? static_cast<int>(args.a.num_longest) : 0;
      first_slice = num_longest + static_cast<int>(long_chunk);
      end_slice = static_cast<int>(args.a.num_long);
      long_stride = static_cast<int>(grid.num_long_chunks);
    }
    if (in_clusters && long_chunk < 0) {
      takers = slice_takers::cluster;
      first_slice = static_cast<int>(group);
      end_slice = static_cast<int>(args.a.num_longest);
      long_stride = static_cast<int>(grid.num_longest_chunks / cluster);
    }
    first_col = (grid.tiles_first ? first : rest) * grid.width;
    num_cols = static_cast<int>(min(args.n - first_col, static_cast<std::int64_t>(grid.width)));
  }
};

}  // namespace bcsc::kernels::cuda
