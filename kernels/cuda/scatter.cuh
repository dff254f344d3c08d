#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_stream/gather.cuh"
#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/tables/scatter.hpp"

/// C = alpha * A' * B + beta * Z from the row stream of A: B has a row for each row of A, C one for each column of A.
///
/// - Ownership: no thread owns any of C. A *team* of groups x lanes threads of one warp takes a piece of a row m of A:
///   its lanes hold alpha * B[m, :] in registers, `items` columns each; its groups take the piece's entries (k, a) in
///   turn, two neighbours at a time, and add a * alpha * B[m, :] to C[k, :]. No barrier, no shuffle, no multiplication
///   without an entry of A.
/// - scale_kernel makes C beta * Z before, or 0 without reading Z; where that is C as it is, it is not started.
/// - Additions to C are reductions in L2, which return nothing, so that no thread waits for one. In fp32 four
///   neighbours are one instruction and one stretch of 16 bytes (sm_90; elsewhere four instructions), if C is row-major
///   and all its rows are whole vectors; else they go value by value, lanes side by side, as in fp64. A column-major C
///   is correct but slow: the 32 additions of a warp hit 32 sectors.
/// - Loads: the first piece while the previous kernel still ends; the next piece behind the entries of the current one;
///   `unroll` entries of a group at once.
/// - Bytes, N columns in t = ceil(N / n_tile) tiles, s bytes per value: (4 + s) t per entry of A and 8 t per piece; B
///   once; N s per entry through L2 to C; C written once before, and once from L2 as far as it stays there.
/// - Preconditions: those of product_args with C of a.cols x n and B of a.rows x n, and of row_stream_operand, whose
///   workspace is not used. Not deterministic: the additions to an element of C come in any order. The error bound
///   holds for all orders: a term has two multiplications behind it and meets at most as many additions as there are
///   terms.
namespace bcsc::kernels::cuda {

/// c[0 .. Values) += a * b[0 .. Values), with other threads adding there. Neighbours at once need sm_90 and an address
/// aligned to all of them.
template <int Values, class T>
__device__ void add_vector(T* c, T a, const T* b) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  constexpr int at_once = Values;
#else
  constexpr int at_once = 1;
#endif
  if constexpr (at_once == 4) {
    atomicAdd(reinterpret_cast<float4*>(c), make_float4(a * b[0], a * b[1], a * b[2], a * b[3]));
  } else if constexpr (at_once == 2) {
    atomicAdd(reinterpret_cast<float2*>(c), make_float2(a * b[0], a * b[1]));
  } else {
#pragma unroll
    for (int i = 0; i < Values; ++i) atomicAdd(c + i, a * b[i]);
  }
}

/// C = beta * Z, `lines` runs of `vectors` x Width elements, Width of which are written at once.
template <class T, int Width>
__global__ void __launch_bounds__(256)
    scale_kernel(T* c, std::int64_t z_offset, std::int64_t lines, std::int64_t line_stride, std::int64_t stride, T beta,
                 const T* beta_at, std::int64_t vectors, double line_of_vector) {
  wait_for_previous();
  let_next_begin();
  const T by = beta_at != nullptr ? *beta_at : beta;
  if (by == T{1} && z_offset == 0) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * 256;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x; i < lines * vectors; i += step) {
    const std::int64_t line = divide(i, vectors, line_of_vector);
    T* const at = c + line * line_stride + (i - line * vectors) * Width * stride;
    T some[Width];
#pragma unroll
    for (int k = 0; k < Width; ++k) some[k] = T{0};
    if (by != T{0}) {
      read_vector<Width>(some, at + z_offset);
#pragma unroll
      for (int k = 0; k < Width; ++k) some[k] *= by;
    }
    write_vector<Width>(at, some);
  }
}

template <class T, int Lanes, int Items, int Groups, int Unroll, int Warps, int Width>
__global__ void __launch_bounds__(Warps * 32)
    scatter_kernel(const __grid_constant__ row_stream_args<T> args, const __grid_constant__ stream_grid grid) {
  constexpr int team_threads = Lanes * Groups;
  constexpr int teams = Warps * 32 / team_threads;
  constexpr int vectors = Items / Width;
  constexpr int group_pairs = Unroll / 2;  // of a group at a step
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) / Lanes % Groups;
  const int team = static_cast<int>(threadIdx.x) / team_threads;

  const auto fetch = [&](std::int64_t p, std::int64_t end) {
    return p < end ? fetch_piece(args.a.pieces + p) : fetched_piece{0, 0, 0};
  };

  T alpha{0};
  for (std::int64_t index = blockIdx.x; index < grid.num_blocks; index += gridDim.x) {
    const stream_block at(grid, index, args.n);
    const std::int64_t first = at.chunk * grid.depth * teams + team;
    const std::int64_t end = min((at.chunk + 1) * grid.depth * teams, args.a.num_pieces);
    const auto column = [&](int j) { return (j * Lanes + lane) * Width; };  // in the tile; tiles are whole vectors

    fetched_piece next = fetch(first, end);
    if (index == blockIdx.x) {  // all else may be what the kernel before has written
      wait_for_previous();
      let_next_begin();
      alpha = args.alpha_at != nullptr ? *args.alpha_at : args.alpha;
      if (alpha == T{0}) return;
    }
    T* const c_tile = args.c + at.first_col * args.c_col_stride;
    for (std::int64_t p = first; p < end; p += teams) {
      const fetched_piece piece = next;
      next = fetch(p + teams, end);
      const int pairs = piece.num_pairs();
      const int entries = 2 * pairs - piece.last_is_padding();
      if (group >= pairs) continue;

      const T* const b_row = args.b + static_cast<std::int64_t>(piece.row()) * args.ldb + at.first_col;
      T b[Items];
#pragma unroll
      for (int j = 0; j < vectors; ++j) {
#pragma unroll
        for (int i = 0; i < Width; ++i) b[j * Width + i] = T{0};
        if (column(j) < at.num_cols) load_vector<Width>(&b[j * Width], b_row + column(j));
#pragma unroll
        for (int i = 0; i < Width; ++i) b[j * Width + i] *= alpha;
      }

      for (int base = group; base < pairs; base += group_pairs * Groups) {
        const auto some = fetch_pairs<group_pairs, Groups>(args.a, piece.first_pair, pairs, base);
#pragma unroll
        for (int k = 0; k < group_pairs; ++k) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            if (2 * (base + k * Groups) + e >= entries) continue;
            T* const c_row = c_tile + static_cast<std::int64_t>(some.at[k].col[e]) * args.c_row_stride;
#pragma unroll
            for (int j = 0; j < vectors; ++j) {
              if (column(j) < at.num_cols) {
                add_vector<Width>(c_row + column(j) * args.c_col_stride, some.at[k].value[e], &b[j * Width]);
              }
            }
          }
        }
      }
    }
  }
}

/// Starts scale_kernel where it has something to do: C of `rows` x n.
template <class T, class Operand>
int scale_c(const product_args<T, Operand>& args, std::int64_t rows, const launch_env& env) {
  if (args.beta_at == nullptr && args.beta == T{1} && args.z_offset == 0) return cudaSuccess;
  const bool by_rows = args.c_col_stride <= args.c_row_stride;
  const std::int64_t lines = by_rows ? rows : args.n, length = by_rows ? args.n : rows;
  const std::int64_t line_stride = by_rows ? args.c_row_stride : args.c_col_stride;
  const std::int64_t stride = by_rows ? args.c_col_stride : args.c_row_stride;
  const auto start_as_wide = [&](auto width) {
    constexpr int at_once = decltype(width)::value;
    const std::int64_t vectors = length / at_once;
    // Few long threads rather than many short ones, but enough of them to fill the GPU.
    const std::int64_t blocks = ceil_div(lines * vectors, 256);
    const std::int64_t most = std::max<std::int64_t>(1, env.num_multiprocessors) * 32;
    return start(begins::while_previous_ends, &scale_kernel<T, at_once>, std::min(blocks, most), 256, 0, env.stream,
                 args.c, args.z_offset, lines, line_stride, stride, args.beta, args.beta_at, vectors,
                 1.0 / static_cast<double>(vectors));
  };
  constexpr int widest = 16 / static_cast<int>(sizeof(T));
  const bool whole = stride == 1 && length % widest == 0 && line_stride % widest == 0 &&
                     reinterpret_cast<std::uintptr_t>(args.c) % 16 == 0;
  return whole ? start_as_wide(std::integral_constant<int, widest>{}) : start_as_wide(std::integral_constant<int, 1>{});
}

template <>
struct implementation<tables::scatter> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::scatter_config config = tables::scatter::configs[Index];
    using T = value_of<config.type>;
    const auto& product = *static_cast<const row_stream_args<T>*>(args);
    const int status = scale_c(product, product.a.cols, env);
    const bool adds = product.alpha_at != nullptr || product.alpha != T{0};
    if (status != cudaSuccess || !adds || product.a.num_pieces == 0) return status;
    constexpr int widest = config.type == value_type::fp32 ? std::min(config.items, 4) : 1;
    return launch_width<Index, widest>(product, env, width_for(product, widest));
  }

 private:
  /// The maximum number of neighbours that may be loaded from B and added to C at once.
  template <class T>
  static int width_for(const row_stream_args<T>& args, int max_width) {
    int width = load_width(args, max_width, args.n);
    const bool contiguous = args.c_col_stride == 1;
    while (width > 1 && (!contiguous || args.c_row_stride % width != 0 ||
                         reinterpret_cast<std::uintptr_t>(args.c) % (width * sizeof(T)) != 0)) {
      width /= 2;
    }
    return width;
  }

  template <int Index, int Width, class T>
  static int launch_width(const row_stream_args<T>& args, const launch_env& env, int wanted) {
    if constexpr (Width > 1) {
      if (wanted < Width) return launch_width<Index, Width / 2>(args, env, wanted);
    }
    constexpr tables::scatter_config config = tables::scatter::configs[Index];
    constexpr int sector = std::min(config.tile_cols(), 8);
    const stream_grid grid =
        cut_stream(args.a.num_pieces, args.n, config.tile_cols(), sector, 1,
                   {config.teams(), config.depth, 2048 / config.block_threads()}, env.num_multiprocessors);
    return start(begins::while_previous_ends,
                 &scatter_kernel<T, config.lanes, config.items, config.groups, config.unroll, config.warps, Width>,
                 grid.num_blocks, config.block_threads(), 0, env.stream, args, grid);
  }
};

}  // namespace bcsc::kernels::cuda
