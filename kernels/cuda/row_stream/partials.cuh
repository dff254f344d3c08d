#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_stream/epilogue.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"

/// The second kernel of a product whose A has heavy rows: adds up the sums that their parts left in the workspace.
namespace bcsc::kernels::cuda {

/// Warps of a thread block that adds partial sums.
inline constexpr int adding_warps = 8;

/// C of the heavy rows, from the partial sums of their parts.
///
/// Ownership: a warp owns Lanes x Values columns of one heavy row, its *share*. Its slices of Lanes threads add up
///   as many of the row's partial sums each, four loads in flight at once, and their sums are added pairwise by
///   shuffles. Few rows have many parts, most have two to four: those of more than a warp adds up soon are left to all
///   warps of its thread block, which take them one after the other. Where there are few shares, a thread block has
///   one.
/// Loads before the wait: which partial sums, and of which row.
/// Bytes moved: each partial sum once; C once, twice if beta is not 0.
/// Deterministic: the order follows from the number of parts alone.
template <class T, class Operand, int Lanes, int Values>
__global__ void __launch_bounds__(32 * adding_warps)
    add_partials_kernel(const __grid_constant__ product_args<T, Operand> args, std::int64_t ld, std::int64_t num_shares,
                        int shares_each, bool vector_c) {
  using S = scalar_of<T>;
  constexpr int warps = adding_warps, slices = 32 / Lanes, tile_cols = Lanes * Values;
  constexpr int max_of_a_warp = 16 * slices;
  alignas(16) __shared__ S sums_of[warps][tile_cols];
  __shared__ int left_to_all[warps];
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int slice = static_cast<int>(threadIdx.x) % 32 / Lanes;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  struct share {
    int begin, end;       // partial sums; none if there is no such share
    int row;              // of C
    std::int64_t column;  // this thread's first
  };
  const auto share_at = [&](std::int64_t first, int which) {
    const std::int64_t index = first + which;
    if (which >= shares_each || index >= num_shares) return share{0, 0, 0, 0};
    const std::int64_t tile = index / args.a.num_heavy;
    const std::int64_t heavy = index - tile * args.a.num_heavy;
    const int begin = __ldg(args.a.heavy_ptr + heavy);
    const int row = static_cast<int>(__ldg(&args.a.of_partial(begin)->row_and_odd) >> 1);
    return share{begin, __ldg(args.a.heavy_ptr + heavy + 1), row, tile * tile_cols + lane * Values};
  };
  // Every `step`th sum from begin + first on.
  const auto add = [&](const share& p, int first, int step, S(&sums)[Values]) {
#pragma unroll
    for (int i = 0; i < Values; ++i) sums[i] = S{0};
    if (p.column >= args.n) return;
#pragma unroll 4
    for (int part = p.begin + first; part < p.end; part += step) {
      S some[Values];
      read_vector<Values>(some, of_member(args.a.workspace, args.batch.partials) + part * ld + p.column);
#pragma unroll
      for (int i = 0; i < Values; ++i) sums[i] += some[i];
    }
  };
  const auto add_slices = [&](S(&sums)[Values]) {
#pragma unroll
    for (int distance = 16; distance >= Lanes; distance /= 2) {
#pragma unroll
      for (int i = 0; i < Values; ++i) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], distance);
    }
  };

  std::int64_t first = std::int64_t{blockIdx.x} * shares_each;
  share mine = share_at(first, warp);
  if (mine.row < 0) return;  // never taken: it keeps the loads of A before the wait
  wait_for_previous();
  let_next_begin();
  const scalars<S> by = read_scalars(args);
  const auto write = [&](const share& p, const S(&sums)[Values]) {
    if (slice != 0 || p.column >= args.n) return;
    store_row<Values>(of_member(args.c, args.batch.c) + p.row * args.c_row_stride + p.column * args.c_col_stride,
                      args.c_col_stride, Values, vector_c, by, sums);
  };
  for (; first < num_shares; first += std::int64_t{gridDim.x} * shares_each, mine = share_at(first, warp)) {
    const bool left = mine.end - mine.begin > max_of_a_warp;
    if (threadIdx.x % 32 == 0) left_to_all[warp] = left ? 1 : 0;
    S sums[Values];
    if (!left && mine.end > mine.begin) {
      add(mine, slice, slices, sums);
      add_slices(sums);
      write(mine, sums);
    }
    __syncthreads();
#pragma unroll 1
    for (int owner = 0; owner < shares_each; ++owner) {
      if (left_to_all[owner] == 0) continue;
      const share shared = share_at(first, owner);
      add(shared, warp * slices + slice, warps * slices, sums);
      add_slices(sums);
      if (slice == 0) write_shared_vector<Values>(&sums_of[warp][lane * Values], sums);
      __syncthreads();
      if (warp == owner) {
#pragma unroll 1
        for (int other = 0; other < warps; ++other) {
#pragma unroll
          for (int i = 0; i < Values; ++i) {
            const S some = sums_of[other][lane * Values + i];
            sums[i] = other == 0 ? some : sums[i] + some;
          }
        }
        write(shared, sums);
      }
      __syncthreads();  // before the next sums
    }
    __syncthreads();  // before the next shares
  }
}

/// Starts add_partials_kernel, if there are heavy rows.
template <class T, class Operand>
int add_partials(const product_args<T, Operand>& args, const launch_env& env) {
  if (args.a.num_heavy == 0) return cudaSuccess;
  constexpr int vector = 16 / static_cast<int>(sizeof(scalar_of<T>));
  const auto start_as = [&](auto lanes, auto values) {
    constexpr int columns = decltype(lanes)::value * decltype(values)::value;
    const bool vector_c = args.c_col_stride == 1 && args.c_row_stride % decltype(values)::value == 0 &&
                          args.batch.c % decltype(values)::value == 0 &&
                          reinterpret_cast<std::uintptr_t>(args.c) % (decltype(values)::value * sizeof(T)) == 0;
    const std::int64_t num_shares = args.a.num_heavy * ceil_div(args.n, columns);
    const int shares_each = num_shares <= 4 * env.num_multiprocessors ? 1 : adding_warps;
    return start(begins::while_previous_ends,
                 &add_partials_kernel<T, Operand, decltype(lanes)::value, decltype(values)::value>,
                 grid_of(ceil_div(num_shares, shares_each), args.batch), dim3(32 * adding_warps), 0, env.stream, args,
                 partials_ld<scalar_of<T>>(args.n), num_shares, shares_each, vector_c);
  };
  const auto start_for = [&](auto values) {
    const std::int64_t wanted = ceil_div(args.n, decltype(values)::value);
    if (wanted <= 2) return start_as(std::integral_constant<int, 2>{}, values);
    if (wanted <= 8) return start_as(std::integral_constant<int, 8>{}, values);
    return start_as(std::integral_constant<int, 32>{}, values);
  };
  return args.n % vector == 0 ? start_for(std::integral_constant<int, vector>{})
                              : start_for(std::integral_constant<int, 1>{});
}

}  // namespace bcsc::kernels::cuda
