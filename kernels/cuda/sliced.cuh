#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bcsc/elements.hpp"
#include "kernels/cuda/block_slices/cut.cuh"
#include "kernels/cuda/block_slices/dots.cuh"
#include "kernels/cuda/block_slices/held_slice.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/global_load.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/l2_prefetch.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/forms/block_slices/operand.hpp"
#include "kernels/tables/sliced.hpp"

/// Products with one column, or several that are column-major: A in block slices
/// (kernels/forms/block_slices/layout.hpp).
///
/// - Ownership: a warp owns a slice, 32 / lanes row blocks or one by itself, and `cols` columns; its lanes keep a sum
///   for each of these and each row of their row block, and where several lanes have one row block add them up by
///   shuffles, in a fixed order. A thread block's warps take `depth` slices each: neighbouring ones or, where row
///   blocks have a slice by themselves, slices a `depth`th of all apart, so that none gets several of those. No
///   barrier, no shared memory, no atomic.
/// - Long row blocks, which come first: the warps of a thread block share the steps of each, those of a cluster of
///   thread blocks the steps of the longest. Their sums are added up in a fixed order in the shared memory of one
///   thread block, with one barrier a row block.
/// - Loads before the wait: the warp's slices, a lane each, and the words and values of the first steps, since nothing
///   in flight writes A, and all words and values into L2 where they are few (l2_prefetch.cuh). Everything else after
///   it.
/// - Loads in flight: `unroll * cols` values of B a lane, all requested before the first is multiplied; behind them
///   the words and values of as many steps, of the next slice at the end of one. Slices lie in registers throughout.
/// - Width of loads: of A 32 neighbours, a word or a value a lane: 128 bytes or 256. Where A does not stay in L2, they
///   bypass L1, which is left to B. Of B a value a lane: of neighbouring row blocks on a mesh neighbours, where B is
///   column-major.
/// - Diagonals, where a lane has a row block: 8 bytes for the whole step instead of a word a lane, the first lane's
///   column and the lanes that have one. All loads of a step are predicated, so that no branch separates them.
/// - Non-finite values: a step in which a lane has no entry reads nothing of B, and a row without an entry in a lane's
///   column adds nothing.
/// - fp16 and bf16: values of A lie as they are and become floats when they are multiplied; sums are fp32.
/// - B'C (dots_with_b), if wanted, of one column: leaves_dots(). A lane adds up what it writes, then a warp its lanes.
/// - B and C may have any strides. Tiles of columns and slices lie along the grid, in the order that
///   tiles_come_first() says, a batch along z.
/// - Bytes, s a value, g rows of a row block, for each `cols` columns: (4 + g s) for each lane of a gather, (1/4 + g s)
///   of a diagonal, absent entries included; 20 a slice, 4 a row block that is listed; B as gathered, C once, twice if
///   beta is not 0.
/// - Instructions of a warp for each step: 2 + g + cols loads, g * cols multiply-adds (predicated where g > 1), about
///   20 of addresses and tests, and 2 for each further column.
/// - Preconditions: those of product_args and block_slices_operand, made for the config's rows and lanes (else
///   cudaErrorInvalidValue). Deterministic: the order of additions follows from the slices, the config, the tiles of
///   columns and whether A stays in L2 (forms::clusters_pay()).
namespace bcsc::kernels::cuda {

/// A value of A as it lies in memory, and as it is multiplied.
template <class T>
struct value_of_slice {
  using stored = T;
  static __device__ T widen(stored value) { return value; }
};
template <narrow_number T>
struct value_of_slice<T> {
  using stored = std::uint16_t;
  static __device__ float widen(stored bits) { return narrow_pair<T>::widen(bits).x; }
};

/// A lane's part of `Count` steps: what is past the end of the slice is 0. Diagonals: whether there may be any.
template <class T, int Rows, int Count, bool Diagonals, bool Streams>
struct fetched_steps {
  using stored = typename value_of_slice<T>::stored;
  std::uint32_t words[Count];  // of gathers
  uint2 diagonals[Count];      // forms::slice_diagonal
  stored values[Count][Rows];

  /// The steps from number `from` of the slice on.
  __device__ void fetch(const block_slices_operand<T>& a, const held_slice& slice, int from, int lane) {
    constexpr int width = forms::block_slice_lanes;
    const int num_diagonals = Diagonals ? slice.num_diagonals() : 0;
    const std::int64_t first = std::int64_t{slice.first_step} + from;
    const std::int64_t first_word = Diagonals ? first - slice.first_diagonal - num_diagonals : first;
    const std::uint32_t* const at_word = a.words + first_word * width + lane;
    const auto* const at_value = reinterpret_cast<const stored*>(a.values) + first * (Rows * width) + lane;
    const auto* const at_diagonal = reinterpret_cast<const uint2*>(a.diagonals) + (slice.first_diagonal + from);
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      const bool exists = from + k < slice.num_steps, on_diagonal = Diagonals && from + k < num_diagonals;
      if constexpr (Diagonals) diagonals[k] = load_of_a_if<Streams>(on_diagonal, at_diagonal + k);
      words[k] = load_of_a_if<Streams>(exists && !on_diagonal, at_word + k * width);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        values[k][r] = load_of_a_if<Streams>(exists, at_value + (k * Rows + r) * width);
      }
    }
  }
  /// Always true, but known only once the words have arrived (piece_cursor::has_entries_at_hand).
  __device__ bool has_arrived() const {
    bool sound = true;  // a word without a row is 0, a diagonal without lanes has no column
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      sound &= forms::rows_of_word(words[k]) != 0 || words[k] == 0;
      if constexpr (Diagonals) sound &= diagonals[k].y != 0 || diagonals[k].x == 0;
    }
    return sound;
  }
  /// The word of step k, whatever it is.
  __device__ std::uint32_t word(int k, int lane) const {
    if constexpr (Diagonals) {
      constexpr unsigned all_rows = (1u << Rows) - 1;
      const std::uint32_t column = diagonals[k].x + static_cast<std::uint32_t>(lane * Rows);
      return words[k] | ((diagonals[k].y >> lane & 1u) != 0 ? forms::slice_word(column, all_rows) : 0);
    } else {
      return words[k];
    }
  }
  __device__ void forget() {
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      words[k] = 0;
      if constexpr (Diagonals) diagonals[k] = make_uint2(0, 0);
    }
  }
};

/// A warp's sums, which all its lanes hold, for those that add them up.
template <class S, int Rows, int Cols>
__device__ void leave_sums(const S (&sums)[Rows][Cols], S (&there)[Rows][Cols], int lane) {
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int j = 0; j < Cols; ++j) {
      if (lane == 0) there[r][j] = sums[r][j];
    }
  }
}

/// Adds up the sums of the thread block's warps, in the order of warps. Each lane comes with its warp's sums and leaves
/// with the total.
template <int Warps, class S, int Rows, int Cols>
__device__ void add_warps(S (&sums)[Rows][Cols], S (*partial)[Rows][Cols], int warp, int lane) {
  leave_sums(sums, partial[warp], lane);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int j = 0; j < Cols; ++j) {
      sums[r][j] = partial[0][r][j];
      for (int w = 1; w < Warps; ++w) sums[r][j] += partial[w][r][j];
    }
  }
}

/// Adds up the sums of the `Count` warps of a cluster, always in the same order. Each lane comes with the sums of its
/// warp, number `mine`; those of warp `adder`, in whose thread block the sums are left, leave with the total.
template <int Count, class S, int Rows, int Cols>
__device__ void add_warps_of_cluster(S (&sums)[Rows][Cols], S (*partial)[Rows][Cols], int adder, int mine, int lane) {
  leave_sums(sums, of_cluster_rank(partial, adder / (Count / most_cluster_blocks))[mine], lane);
  arrive_at_cluster();
  wait_for_cluster();
  if (mine != adder) return;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int j = 0; j < Cols; ++j) {
      sums[r][j] = S{0};
      for (int w = lane; w < Count; w += 32) sums[r][j] += partial[w][r][j];
    }
  }
  add_lanes<1>(sums);
}

/// The rows of row block `block` in `num_cols` columns from the sums of the lane that writes them.
template <class T, int Rows, int Cols>
__device__ void write_block(const block_slices_args<T>& args, std::int64_t block, T* c, int num_cols,
                            const scalars<scalar_of<T>>& by, const scalar_of<T> (&sums)[Rows][Cols]) {
  for_rows<Rows>(args, block, [&](int r, std::int64_t row) {
#pragma unroll
    for (int j = 0; j < Cols; ++j) {
      if (j < num_cols) store(c + row * args.c_row_stride + j * args.c_col_stride, by, sums[r][j]);
    }
  });
}

/// The values of B in the row of each step's word, in the `num_cols` columns from `b` on, `stride` bytes apart.
template <class T, int Cols, int Count>
__device__ void gather_columns(scalar_of<T> (&to)[Count][Cols], const std::uint32_t (&word)[Count], const T* b,
                               std::uint64_t row_bytes, std::int64_t stride, int num_cols) {
  using stored = typename value_of_slice<T>::stored;
  const auto gather = [&](auto is_wanted) {
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      const char* at = reinterpret_cast<const char*>(b) + forms::column_of_word(word[k]) * row_bytes;
#pragma unroll
      for (int j = 0; j < Cols; ++j, at += stride) {
        const bool wanted = word[k] != 0 && is_wanted(j);
        to[k][j] = value_of_slice<T>::widen(load_global_if(wanted, reinterpret_cast<const stored*>(at)));
      }
    }
  };
  if (Cols == 1 || num_cols == Cols) {
    gather([](int) { return true; });
  } else {
    gather([&](int j) { return j < num_cols; });
  }
}

/// sums += A B for the steps `of_a`; `word` are theirs, and `of_b` the values of B in their columns.
template <class T, int Rows, int Cols, int Unroll, bool Diagonals, bool Streams>
__device__ void multiply_steps(scalar_of<T> (&sums)[Rows][Cols],
                               const fetched_steps<T, Rows, Unroll, Diagonals, Streams>& of_a,
                               const std::uint32_t (&word)[Unroll], const scalar_of<T> (&of_b)[Unroll][Cols]) {
#pragma unroll
  for (int k = 0; k < Unroll; ++k) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      // Where there is one row, an absent entry is 0 times 0.
      const bool has_row = Rows == 1 || (forms::rows_of_word(word[k]) >> r & 1u) != 0;
      if (!has_row) continue;
      const scalar_of<T> value = value_of_slice<T>::widen(of_a.values[k][r]);
#pragma unroll
      for (int j = 0; j < Cols; ++j) sums[r][j] += value * of_b[k][j];
    }
  }
}

template <class S, int Rows, int Cols>
__device__ void clear(S (&sums)[Rows][Cols]) {
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
#pragma unroll
    for (int j = 0; j < Cols; ++j) sums[r][j] = S{0};
  }
}

/// Slices of short row blocks side by side, or of one of middle length: a warp takes its own, one after the other.
/// Never false, which the compiler does not know: that keeps the loads of A before the wait.
template <class T, int Rows, int Lanes, int Cols, int Unroll, bool Streams, class Turn, class Dot>
__device__ bool multiply_side_by_side(const block_slices_args<T>& args, const sliced_grid& grid, const Turn& at,
                                      int warp, int lane, Dot& dot) {
  using S = scalar_of<T>;
  constexpr int blocks = forms::block_slice_lanes / Lanes;
  const std::int64_t own = at.first_slice + warp + lane * grid.stride;
  const bool exists = lane < grid.depth && own < at.end_slice;
  held_slice held(args.a, own, exists);
  const int rounds = __popc(__ballot_sync(0xffffffffu, exists));
  held_slice slice = held.of_lane(0);
  fetched_steps<T, Rows, Unroll, Lanes == 1, Streams> ahead;
  ahead.fetch(args.a, slice, 0, lane);
  int block = block_of_lane<blocks>(args.a, slice, lane);
  if (!ahead.has_arrived()) return false;
  wait_for_previous();
  let_next_begin();
  const scalars<S> by = read_scalars(args);
  const T* const b = of_member_here(args.b, args.batch.b) + at.first_col * args.b_col_stride;
  T* const c = of_member_here(args.c, args.batch.c) + at.first_col * args.c_col_stride;
  if (by.alpha == S{0}) {  // then neither A nor B is read
    held.num_steps = slice.num_steps = 0;
    held.rows &= 0xffffu;  // no diagonals
    ahead.forget();
  }
  const auto b_stride = static_cast<std::int64_t>(args.b_col_stride * sizeof(T));
  S sums[Rows][Cols] = {};
  for (int round = 0, from = 0; round < rounds;) {
    const auto now = ahead;
    std::uint32_t word[Unroll];
    S of_b[Unroll][Cols];
#pragma unroll
    for (int k = 0; k < Unroll; ++k) word[k] = now.word(k, lane);
    gather_columns(of_b, word, b, grid.ldb_bytes, b_stride, at.num_cols);
    const bool ends = from + Unroll >= slice.num_steps;
    const held_slice next = ends ? held.of_lane(round + 1) : slice;
    const int next_block = ends ? block_of_lane<blocks>(args.a, next, lane) : block;
    from = ends ? 0 : from + Unroll;
    ahead.fetch(args.a, next, from, lane);
    multiply_steps(sums, now, word, of_b);
    if (!ends) continue;
    if (slice.is(forms::slice_rows::one)) {
      add_lanes<1>(sums);
    } else {
      add_lanes<blocks>(sums);
    }
    if (block >= 0) {
      write_block(args, block, c, at.num_cols, by, sums);
      dot.add(args, block, sums);
    }
    clear(sums);
    slice = next;
    block = next_block;
    ++round;
  }
  dot.leave(lane);
  return true;
}

/// Slices of one long row block each, one after the other: all warps of the thread block, or of its cluster, share its
/// steps. Never false, as above.
template <class T, int Rows, int Cols, int Unroll, int Warps, bool Streams, bool InCluster, class Turn, class Dot>
__device__ bool multiply_long(const block_slices_args<T>& args, const sliced_grid& grid, const Turn& at, int warp,
                              int lane, Dot& dot) {
  using S = scalar_of<T>;
  constexpr bool no_diagonals = false;
  constexpr int num_sharers = (InCluster ? most_cluster_blocks : 1) * Warps;
  const int sharer = InCluster ? cluster_rank() * Warps + warp : warp;
  const int first = sharer * Unroll;
  if constexpr (InCluster) arrive_at_cluster();
  const int own = at.first_slice + lane * at.long_stride;
  const bool exists = lane < Warps && own < at.end_slice;
  held_slice held(args.a, own, exists);
  const int num_slices = __popc(__ballot_sync(0xffffffffu, exists));
  held_slice slice = held.of_lane(0);
  fetched_steps<T, Rows, Unroll, no_diagonals, Streams> ahead;
  ahead.fetch(args.a, slice, first, lane);
  if (!ahead.has_arrived()) return false;
  wait_for_previous();
  let_next_begin();
  const scalars<S> by = read_scalars(args);
  const T* const b = of_member_here(args.b, args.batch.b) + at.first_col * args.b_col_stride;
  T* const c = of_member_here(args.c, args.batch.c) + at.first_col * args.c_col_stride;
  if (by.alpha == S{0}) {  // then neither A nor B is read
    held.num_steps = slice.num_steps = 0;
    ahead.forget();
  }
  // Only now may others be written to: all have begun, and have read what the turn before left in shared memory.
  if constexpr (InCluster) wait_for_cluster();
  const auto b_stride = static_cast<std::int64_t>(args.b_col_stride * sizeof(T));
  S sums[Rows][Cols] = {};
  for (int round = 0, from = first; round < num_slices;) {
    const auto now = ahead;
    S of_b[Unroll][Cols];
    gather_columns(of_b, now.words, b, grid.ldb_bytes, b_stride, at.num_cols);
    from += num_sharers * Unroll;
    const bool ends = from >= slice.num_steps;
    const held_slice next = ends ? held.of_lane(round + 1) : slice;
    if (ends) from = first;
    ahead.fetch(args.a, next, from, lane);
    multiply_steps(sums, now, now.words, of_b);
    if (!ends) continue;
    add_lanes<1>(sums);
    const int writer = round % num_sharers;
    auto* const partial = reinterpret_cast<S(*)[Rows][Cols]>(dynamic_shared<S>());
    if constexpr (InCluster) {
      add_warps_of_cluster<num_sharers>(sums, partial + round % 2 * num_sharers, writer, sharer, lane);
    } else {
      add_warps<Warps>(sums, partial + round % 2 * Warps, warp, lane);
    }
    if (lane == 0 && sharer == writer) {
      write_block(args, slice.first_block, c, at.num_cols, by, sums);
      dot.add(args, slice.first_block, sums);
    }
    clear(sums);
    slice = next;
    ++round;
  }
  dot.leave(lane);
  __syncthreads();  // before another turn writes to shared memory
  return true;
}

/// Takers: the largest that there are slices for; fewer kinds take fewer registers. Streams: as load_of_a_if() says.
template <class T, int Rows, int Lanes, int Cols, int Unroll, int Warps, int MinBlocks, slice_takers Takers,
          bool Streams, bool Dots>
__global__ void __launch_bounds__(Warps * 32, MinBlocks)
    sliced_kernel(const __grid_constant__ block_slices_args<T> args, const __grid_constant__ sliced_grid grid,
                  double* dots) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  prefetch_share(grid.words);
  prefetch_share(grid.values);
  for (std::int64_t index = blockIdx.x; index < grid.num_blocks; index += gridDim.x) {
    const sliced_turn<Warps, Takers> at(grid, index, args);
    lane_dot<T, Rows, Dots> dot{dots, index * Warps + warp};
    if constexpr (Takers == slice_takers::cluster) {
      if (at.takers == slice_takers::cluster) {
        if (!multiply_long<T, Rows, Cols, Unroll, Warps, Streams, true>(args, grid, at, warp, lane, dot)) return;
        continue;
      }
    }
    if constexpr (Takers != slice_takers::warp) {
      if (at.takers == slice_takers::thread_block) {
        if (!multiply_long<T, Rows, Cols, Unroll, Warps, Streams, false>(args, grid, at, warp, lane, dot)) return;
        continue;
      }
    }
    if (!multiply_side_by_side<T, Rows, Lanes, Cols, Unroll, Streams>(args, grid, at, warp, lane, dot)) return;
  }
}

template <slice_takers Most>
using takers_up_to = std::integral_constant<slice_takers, Most>;

template <>
struct implementation<tables::sliced> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::sliced_config config = tables::sliced::configs[Index];
    using T = value_of<config.type>;
    const auto& product = *static_cast<const block_slices_args<T>*>(args);
    if (product.a.height != config.rows || product.a.lanes != config.lanes) return cudaErrorInvalidValue;
    const sliced_grid grid = cut_slices(product, config, env.num_multiprocessors);
    constexpr int resident = config.resident_blocks();
    const auto instance = [&](auto takers, auto streams, auto leaves) {
      constexpr slice_takers most = decltype(takers)::value;
      // Each kind takes registers, and so does a dot product in double beside sums in float.
      constexpr bool wider = decltype(leaves)::value && sizeof(scalar_of<T>) < sizeof(double);
      constexpr int fewer = ceil_div(resident * (static_cast<int>(most) + (wider ? 1 : 0)), 10);
      return &sliced_kernel<T, config.rows, config.lanes, config.cols, config.unroll, config.warps, resident - fewer,
                            most, decltype(streams)::value, decltype(leaves)::value>;
    };
    const auto without_clusters = [&](auto streams, auto leaves) {
      return product.a.num_long > 0 ? instance(takers_up_to<slice_takers::thread_block>{}, streams, leaves)
                                    : instance(takers_up_to<slice_takers::warp>{}, streams, leaves);
    };
    constexpr std::true_type yes;
    constexpr std::false_type no;
    const dim3 blocks = grid_of(grid.num_blocks, product.batch);
    auto kernel = grid.in_clusters        ? instance(takers_up_to<slice_takers::cluster>{}, no, no)
                  : product.a.stays_in_l2 ? without_clusters(no, no)
                                          : without_clusters(yes, no);
    double* dots = nullptr;
    if constexpr (leaves_dots<T>(config)) {
      const bool can = product.n == 1 && !product.a.stays_in_l2;
      if (can) dots = product.dots.take(grid.num_blocks * config.warps, 1);
      if (dots != nullptr) kernel = without_clusters(yes, yes);
    }
    const int cluster = grid.in_clusters ? most_cluster_blocks : 1;
    constexpr std::int64_t sums_of_block = 2 * config.warps * config.rows * config.cols * sizeof(scalar_of<T>);
    return start_in_clusters(begins::while_previous_ends, cluster, kernel, blocks, dim3(config.block_threads()),
                             product.a.num_long > 0 ? cluster * sums_of_block : 0, env.stream, product, grid, dots);
  }
};

}  // namespace bcsc::kernels::cuda
