#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/tables/tiled.hpp"

/// Tiled SpMM over BCSC: the structure of a dense product.
///
/// Who owns what: a thread block owns a tile of C of m_tile x n_tile. Its threads_y x threads_x threads keep items_y x
///   items_x sums each in registers: pieces of up to 16 bytes, at strides of threads_y and threads_x pieces. A warp
///   then reads a row of the B tile as consecutive 16-byte pieces, free of bank conflicts, and its few pieces of an A
///   column as broadcasts; C is written in the same pieces.
/// What is loaded when: the non-empty columns of the row block in groups of k_tile. For a group, its k_tile rows of B
///   are copied to shared memory by cp.async (16 bytes at a time where B's address and ldb allow, else value by value;
///   beyond column n and beyond the last column of the group: zeros), and its columns of A are expanded into a dense
///   tile: several lanes share a column, zero it and drop its non-zeros in. Where a column begins each warp sums up
///   from the lengths of the group's columns, which are loaded a group ahead. Then the outer products of the group's
///   columns and rows. With two stages the next group's copies fly, and its first non-zeros are fetched into registers,
///   while this group is multiplied: one barrier a group; with one stage there are two.
/// Bytes moved, for each tile: 5 (fp32) or 9 (fp64) a non-zero and 3 or 5 a non-empty column of A (m_block <= 256),
///   n_tile values of B a non-empty column, the tile of C once (twice if beta is not 0). Multiplications: m_tile *
///   n_tile a non-empty column, the zeros of A included; so an infinite or NaN value of B reaches all rows of a row
///   block that has a non-zero in its column.
/// Preconditions: those of spmm_args; rows strictly increasing within a column. Deterministic: one thread sums an
///   element, in the order of the columns.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them.
template <class T, int ThreadsX, int ThreadsY, int ItemsX, int ItemsY, int KTile, int Stages>
struct tiled_shape {
  static constexpr tables::tiled_config config{.threads_x = ThreadsX,
                                               .threads_y = ThreadsY,
                                               .items_x = ItemsX,
                                               .items_y = ItemsY,
                                               .k_tile = KTile,
                                               .stages = Stages,
                                               .type = value_type_of<T>};
  static constexpr int threads = config.block_threads();
  static constexpr int m_tile = config.tile_rows();
  static constexpr int n_tile = config.tile_cols();

  static constexpr int largest_piece = 16 / static_cast<int>(sizeof(T));
  static constexpr int piece_of(int values) {
    int piece = largest_piece;
    while (values % piece != 0) piece /= 2;
    return piece;
  }
  static constexpr int piece_x = piece_of(ItemsX);  // values of a row of B that a thread reads at a time
  static constexpr int piece_y = piece_of(ItemsY);  // and of a column of A
  static constexpr int copy_piece = piece_of(n_tile);
  static constexpr int zero_piece = piece_of(m_tile);

  static constexpr int power_of_two_up_to(int value) {
    int power = 1;
    while (power * 2 <= value) power *= 2;
    return power;
  }
  // Lanes that share a column of A: within one warp, so that a warp's barrier parts its zeros from its non-zeros.
  static constexpr int lanes = power_of_two_up_to(threads / KTile < 1    ? 1
                                                  : threads / KTile > 32 ? 32
                                                                         : threads / KTile);
  static constexpr int columns_at_once = threads / lanes;
  static constexpr int passes = (KTile + columns_at_once - 1) / columns_at_once;

  // Steps of the product that are unrolled: enough to hide the latency of shared memory, not all of a large product.
  static constexpr int wanted_steps = 256 / (ItemsX * ItemsY);
  static constexpr int steps = power_of_two_up_to(wanted_steps < 4 ? 4 : wanted_steps > 8 ? 8 : wanted_steps);
  static_assert(KTile % steps == 0);

  struct stage {
    T a[KTile][m_tile];
    T b[KTile][n_tile];
  };
};

/// The first non-zero that this lane drops into each of its columns of A, fetched early.
template <class T, class Shape>
struct fetched_columns {
  position<std::int32_t> at[Shape::passes];
  position<std::int32_t> end[Shape::passes];
  unsigned row[Shape::passes];  // in the tile
  T value[Shape::passes];
};

/// One group of non-empty columns: the first of them, how many, and how many rows of the tiles the product then reads
/// (count rounded up to whole steps; those beyond count are zero).
struct column_group {
  position<std::int32_t> first;
  int count;
  int depth;
};

template <class T, class Shape, int KTile>
struct tiled_block {
  using I = std::int32_t;
  using stage_t = typename Shape::stage;
  using fetched = fetched_columns<T, Shape>;

  static_assert(KTile <= 32, "a lane for each column of a group");

  const spmm_args<T, I>& args;
  const tile<I>& at;
  bool vector_b;        // rows of B may be copied by 16 bytes
  position<I> entry;    // the first non-zero of the next group
  unsigned next_count;  // the non-zeros of this lane's column of the next group; 0 if there is none

  __device__ tiled_block(const spmm_args<T, I>& args, const tile<I>& at, bool vector_b)
      : args(args), at(at), vector_b(vector_b), entry(at.entry), next_count(lane_count(at.begin)) {}

  __device__ unsigned lane_count(position<I> first) const {
    const unsigned lane = threadIdx.x % 32;
    return lane < KTile && lane < at.end - first ? count_at(args, first + lane) : 0;
  }

  __device__ column_group group_at(position<I> first) const {
    const position<I> left = at.end - first;
    const int count = left < KTile ? static_cast<int>(left) : KTile;
    return {first, count, (count + Shape::steps - 1) / Shape::steps * Shape::steps};
  }

  /// Starts the copies of the group's rows of B, `Piece` values at a time.
  template <int Piece>
  __device__ void start_b(const column_group& group, stage_t& to) const {
    constexpr int pieces = Shape::n_tile / Piece;
    // Copies under way at once hide the latency of col_ind; the slow path is not worth the registers.
    constexpr int copies = (KTile * pieces + Shape::threads - 1) / Shape::threads;
    constexpr int most = Piece == Shape::copy_piece ? 8 : 2;
#pragma unroll(copies < most ? copies : most)
    for (int i = static_cast<int>(threadIdx.x); i < KTile * pieces; i += Shape::threads) {
      const int k = i / pieces;
      const int n = i % pieces * Piece;
      if (k >= group.depth) break;
      const int left = k < group.count ? at.num_cols - n : 0;
      const int present = left < 0 ? 0 : left < Piece ? left : Piece;
      const T* from = present > 0 ? b_row(args, col_at(args, group.first + k), at.first_col) + n : args.b;
      copy_async<Piece * sizeof(T)>(&to.b[k][n], from, present * static_cast<int>(sizeof(T)));
    }
  }

  /// Starts the copies of the group's rows of B and fetches this lane's first non-zeros. Groups come in their order.
  __device__ void start(const column_group& group, stage_t& to, fetched& mine) {
    const int lane = static_cast<int>(threadIdx.x) % Shape::lanes;
    const unsigned count = next_count;
    next_count = lane_count(group.first + group.count);
    const unsigned end = sum_up_to_lane(count);
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      const int k = static_cast<int>(threadIdx.x) / Shape::lanes + pass * Shape::columns_at_once;
      const position<I> last = entry + __shfl_sync(0xffffffffu, end, k % 32);
      const position<I> first = last - __shfl_sync(0xffffffffu, count, k % 32);
      mine.at[pass] = mine.end[pass] = 0;
      if (k < group.count) {
        mine.at[pass] = first + lane;
        mine.end[pass] = last;
      }
    }
    entry += __shfl_sync(0xffffffffu, end, 31);
    if (Shape::copy_piece > 1 && vector_b) {
      start_b<Shape::copy_piece>(group, to);
    } else {
      start_b<1>(group, to);
    }
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      if (mine.at[pass] < mine.end[pass]) fetch(mine, pass);
    }
  }

  __device__ void fetch(fetched& mine, int pass) const {
    mine.row[pass] = at.local_row(small_at(args.a.row_in_block, mine.at[pass]));
    mine.value[pass] = __ldg(args.a.values + mine.at[pass]);
  }

  /// Expands the group's columns of A: zeros, then what `start` fetched and the rest of each column.
  __device__ void expand(const column_group& group, stage_t& to, fetched& mine) const {
    using zeros = aligned_values<T, Shape::zero_piece>;
    const int lane = static_cast<int>(threadIdx.x) % Shape::lanes;
    const int column = static_cast<int>(threadIdx.x) / Shape::lanes;
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      const int k = column + pass * Shape::columns_at_once;
      if (k >= group.depth) continue;
      for (int m = lane * Shape::zero_piece; m < Shape::m_tile; m += Shape::lanes * Shape::zero_piece) {
        *reinterpret_cast<zeros*>(&to.a[k][m]) = zeros{};
      }
    }
    __syncwarp();
#pragma unroll
    for (int pass = 0; pass < Shape::passes; ++pass) {
      const int k = column + pass * Shape::columns_at_once;
      while (mine.at[pass] < mine.end[pass]) {
        if (mine.row[pass] < Shape::m_tile) to.a[k][mine.row[pass]] = mine.value[pass];
        mine.at[pass] += Shape::lanes;
        if (mine.at[pass] < mine.end[pass]) fetch(mine, pass);
      }
    }
  }
};

/// One thread's fragment of a row of the B tile or a column of the A tile: its pieces, `Threads` pieces apart.
template <int Piece, int Threads, int Items, class T>
__device__ void load_fragment(T (&fragment)[Items], const T* line, int thread) {
#pragma unroll
  for (int i = 0; i < Items; i += Piece) {
    read_vector<Piece>(fragment + i, line + i * Threads + thread * Piece);
  }
}

template <class T, int ThreadsX, int ThreadsY, int ItemsX, int ItemsY, int KTile, int Stages, int MinBlocks>
__global__ void __launch_bounds__(ThreadsX* ThreadsY, MinBlocks)
    tiled_kernel(const __grid_constant__ spmm_args<T, std::int32_t> args, const __grid_constant__ tile_grid grid) {
  using I = std::int32_t;
  using shape = tiled_shape<T, ThreadsX, ThreadsY, ItemsX, ItemsY, KTile, Stages>;
  constexpr int piece_x = shape::piece_x;
  constexpr int piece_y = shape::piece_y;
  auto* stages = dynamic_shared<typename shape::stage>();  // [Stages]

  const int x = static_cast<int>(threadIdx.x) % ThreadsX;
  const int y = static_cast<int>(threadIdx.x) / ThreadsX;
  const bool vector_b = reinterpret_cast<std::uintptr_t>(args.b) % 16 == 0 && args.ldb % shape::largest_piece == 0;
  const bool vector_c = piece_x > 1 && args.c_col_stride == 1 && args.c_row_stride % piece_x == 0 &&
                        reinterpret_cast<std::uintptr_t>(args.c) % sizeof(aligned_values<T, piece_x>) == 0;

  T sums[ItemsY][ItemsX];
  const auto multiply = [&](const column_group& group, const typename shape::stage& from) {
    for (int first = 0; first < group.depth; first += shape::steps) {
#pragma unroll
      for (int step = 0; step < shape::steps; ++step) {
        T a[ItemsY], b[ItemsX];
        load_fragment<piece_y, ThreadsY>(a, from.a[first + step], y);
        load_fragment<piece_x, ThreadsX>(b, from.b[first + step], x);
#pragma unroll
        for (int i = 0; i < ItemsY; ++i) {
#pragma unroll
          for (int j = 0; j < ItemsX; ++j) sums[i][j] += a[i] * b[j];
        }
      }
    }
  };

  const scalars<T> by = read_scalars(args);
  for (std::int64_t index = blockIdx.x; index < grid.num_tiles; index += gridDim.x) {
    const tile<I> at = tile_at<shape::m_tile, shape::n_tile>(args, grid, index, by.alpha);
    tiled_block<T, shape, KTile> block(args, at, vector_b);
    fetched_columns<T, shape> fetched;
#pragma unroll
    for (int i = 0; i < ItemsY; ++i) {
#pragma unroll
      for (int j = 0; j < ItemsX; ++j) sums[i][j] = T{0};
    }

    if constexpr (Stages == 1) {
      for (position<I> first = at.begin; first < at.end; first += KTile) {
        const column_group group = block.group_at(first);
        __syncthreads();  // the stage has been multiplied and may be overwritten
        block.start(group, stages[0], fetched);
        block.expand(group, stages[0], fetched);
        wait_for_copies();
        __syncthreads();
        multiply(group, stages[0]);
      }
    } else {
      __syncthreads();  // both stages of the last tile have been multiplied
      column_group group = block.group_at(at.begin);
      int now = 0;
      block.start(group, stages[now], fetched);
      block.expand(group, stages[now], fetched);
      while (group.count > 0) {
        wait_for_copies();
        __syncthreads();  // this stage is complete, and the other has been multiplied and may be overwritten
        const column_group next = block.group_at(group.first + group.count);
        block.start(next, stages[1 - now], fetched);
        multiply(group, stages[now]);
        block.expand(next, stages[1 - now], fetched);
        group = next;
        now = 1 - now;
      }
    }

#pragma unroll
    for (int i = 0; i < ItemsY; ++i) {
      const int m = i / piece_y * (ThreadsY * piece_y) + y * piece_y + i % piece_y;
      if (m >= at.num_rows) continue;
#pragma unroll
      for (int j = 0; j < ItemsX; j += piece_x) {
        const int n = j * ThreadsX + x * piece_x;
        T* c = c_at(args, at, m, n);
        if (vector_c && n + piece_x <= at.num_cols) {
          store_vector<piece_x>(c, by, &sums[i][j]);
        } else {
#pragma unroll
          for (int k = 0; k < piece_x; ++k) {
            if (n + k < at.num_cols) store(c + k * args.c_col_stride, by, sums[i][j + k]);
          }
        }
      }
    }
  }
}

template <>
struct implementation<tables::tiled> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::tiled_config config = tables::tiled::configs[Index];
    using T = value_of<config.type>;
    using shape = tiled_shape<T, config.threads_x, config.threads_y, config.items_x, config.items_y, config.k_tile,
                              config.stages>;
    static_assert(config.stages * sizeof(typename shape::stage) == config.shared_bytes());
    const auto& spmm = *static_cast<const spmm_args<T, std::int32_t>*>(args);
    const tile_grid grid = cut<config.tile_rows(), config.tile_cols()>(spmm);
    return start(&tiled_kernel<T, config.threads_x, config.threads_y, config.items_x, config.items_y, config.k_tile,
                               config.stages, config.resident_blocks()>,
                 grid.num_tiles, config.block_threads(), config.shared_bytes(), env.stream, spmm, grid);
  }
};

}  // namespace bcsc::kernels::cuda
