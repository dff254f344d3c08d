#pragma once

#include <cstdint>

#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"

/// From the sums of a team's threads to C: added up across its groups and, of a long row, across the teams that share
/// it, then stored by way of the workspace (heavy rows), of shared memory (where neighbours of C belong to different
/// lanes), or at once.
namespace bcsc::kernels::cuda {

/// Adds up the sums of a team's groups, in an order of its own for each column but the same in every run. Two groups at
/// a distance swap halves, so that each step leaves a lane half as many sums to shuffle: sums[0 .. kept) remain, those
/// of the items from `first` on. The whole warp takes part.
template <int Count, int Distance, int Lanes, class T, int Items>
__device__ void reduce(T (&sums)[Items], int group, int& first) {
  if constexpr (Distance >= 1) {
    const bool upper = (group & Distance) != 0;
    if constexpr (Count > 1) {
      constexpr int half = Count / 2;
#pragma unroll
      for (int i = 0; i < half; ++i) {
        const T given = upper ? sums[i] : sums[i + half];
        const T own = upper ? sums[i + half] : sums[i];
        sums[i] = own + __shfl_xor_sync(0xffffffffu, given, Distance * Lanes);
      }
      if (upper) first += half;
      reduce<half, Distance / 2, Lanes>(sums, group, first);
    } else {
      sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], Distance * Lanes);
      reduce<1, Distance / 2, Lanes>(sums, group, first);
    }
  }
}

/// The epilogue for Width neighbours of one row of C, of which the first `there` exist; in one store where allowed.
template <int Width, class T>
__device__ void store_row(T* c, std::int64_t stride, int there, bool at_once, const scalars<scalar_of<T>>& by,
                          const scalar_of<T>* sums) {
  if constexpr (Width > 1) {
    if (at_once && there >= Width) return store_vector<Width>(c, by, sums);
  }
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    if (i == 0 || i < there) store(c + i * stride, by, sums[i]);
  }
}

/// Where a thread block leaves its sums. `Shape` names teams, threads, n_tile, stage_ld, kept, copies and stored;
/// Width: neighbouring columns of a lane.
template <class T, class Shape, int Lanes, int Width>
struct sums_to_c {
  using S = scalar_of<T>;
  const row_stream_args<T>& args;
  std::int64_t ld_partials;
  bool vector_c;    // C may be written `stored` values at a time
  bool staged;      // by way of shared memory: else C is written from registers
  bool some_long;   // the thread block has pieces of long rows, which come first
  S* in_shared;     // [teams][stage_ld] sums, and behind them the [teams] rows they belong to
  T* c;             // the tile's first column, in row 0
  scalars<S> by{};  // read after the wait

  /// The rows that a lane was left with by reduce(), for all teams of the thread block at once.
  template <class Cursor>
  __device__ void write(const Cursor& a, const stream_block& at, int lane, int group, int team, int first,
                        S (&sums)[Shape::items]) const {
    const int row = a.piece.row();
    bool writes = a.exists() && group % Shape::copies == 0, partial = false;
    if (some_long) {
#ifdef __CUDA_ARCH__
      asm volatile("");  // a branch: most thread blocks have none, and need no index
#endif
      const bool is_long = a.index() < args.a.num_shared;
      const int place = team & (static_cast<int>(args.a.sharing) - 1);  // among the teams that share a part
      partial = is_long && part_at(a.index()) < args.a.num_partials;
      add_teams(lane, team, place, first, writes && is_long, sums);
      writes = writes && (!is_long || place == 0);
    }
#pragma unroll
    for (int i = 0; i < Shape::kept; i += Shape::stored) {
      const int col = column_of<Lanes, Width>(lane, first + i);
      if (!writes || col >= at.num_cols) continue;
      if (partial) {
        write_partials(part_at(a.index()), at, col, &sums[i]);
      } else if (staged) {
#pragma unroll
        for (int k = 0; k < Shape::stored; ++k) in_shared[team * Shape::stage_ld + col + k] = sums[i + k];
      } else {
        store_row<Shape::stored>(c + row * args.c_row_stride + col * args.c_col_stride, args.c_col_stride,
                                 at.num_cols - col, vector_c, by, &sums[i]);
      }
    }
    if (staged) {
      if (lane == 0 && group == 0) rows()[team] = partial || !writes ? -1 : row;
      __syncthreads();
      write_staged(at);
      __syncthreads();  // before the next sums
    }
  }

 private:
  __device__ int* rows() const { return reinterpret_cast<int*>(in_shared + Shape::teams * Shape::stage_ld); }
  __device__ std::int64_t part_at(std::int64_t piece) const {
    return piece >> (__ffs(static_cast<int>(args.a.sharing)) - 1);
  }

  /// The first of the teams that share a part of a long row adds up the sums of all, in their order. All threads of the
  /// thread block call it, under a condition that ptxas can prove uniform: under any other the barriers make it spill.
  __device__ void add_teams(int lane, int team, int place, int first, bool takes_part, S (&sums)[Shape::items]) const {
    S* const own = in_shared + team * Shape::stage_ld;
    if (takes_part && place != 0) {
#pragma unroll
      for (int i = 0; i < Shape::kept; ++i) own[column_of<Lanes, Width>(lane, first + i)] = sums[i];
    }
    __syncthreads();
    if (takes_part && place == 0) {
      constexpr int at_once = Shape::kept < 8 ? 8 / Shape::kept : 1;
#pragma unroll at_once
      for (int t = 1; t < static_cast<int>(args.a.sharing); ++t) {
#pragma unroll
        for (int i = 0; i < Shape::kept; ++i)
          sums[i] += own[t * Shape::stage_ld + column_of<Lanes, Width>(lane, first + i)];
      }
    }
    __syncthreads();  // before the next sums
  }

  __device__ void write_partials(std::int64_t part, const stream_block& at, int col, const S* sums) const {
    S* const partials = of_member_here(args.a.workspace, args.batch.partials);
    constexpr int at_once = Shape::stored < values_of_store<S> ? Shape::stored : values_of_store<S>;
#pragma unroll
    for (int k = 0; k < Shape::stored; k += at_once) {
      if (k > 0 && col + k >= at.num_cols) break;
      write_vector<at_once>(partials + part * ld_partials + at.first_col + col + k, &sums[k]);
    }
  }

  /// Neighbouring threads write neighbours of C.
  __device__ void write_staged(const stream_block& at) const {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < Shape::teams * Shape::n_tile; i += Shape::threads) {
      const int team = args.c_col_stride == 1 ? i / Shape::n_tile : i % Shape::teams;
      const int col = args.c_col_stride == 1 ? i % Shape::n_tile : i / Shape::teams;
      const int row = rows()[team];
      if (row < 0 || col >= at.num_cols) continue;
      store(c + row * args.c_row_stride + col * args.c_col_stride, by, in_shared[team * Shape::stage_ld + col]);
    }
  }
};

}  // namespace bcsc::kernels::cuda
