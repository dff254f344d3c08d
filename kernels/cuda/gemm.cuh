#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bcsc/elements.hpp"
#include "kernels/cuda/dense_library.hpp"
#include "kernels/cuda/gemm_halves.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/dense/operand.hpp"
#include "kernels/tables/gemm.hpp"

/// The product with A's zeros, by a dense library: for matrices that are nearly dense.
///
/// - Ownership: the tiles are the library's. Then a thread of ours looks at 16 bytes of its sums at a time (one value
///   where they are not aligned), in the order in which C lies.
/// - Two ways. Where beta is a 0 known to the host, the library writes alpha * A * B into C, and what is not finite
///   there is replaced. Otherwise it writes A * B into the workspace, as sums, and alpha, beta and the former C come in
///   with the look.
/// - A value that is not finite is multiplied once more, from the stored entries alone and in their order: zeros that
///   are not stored have met non-finite values of B. Where it came from stored entries, or from a sum past the type's
///   range, the second product is not finite either.
/// - Loads: everything after the kernel before has ended. B and A are read only where a sum is not good enough.
/// - Bytes, s a value: the library's; C read once if beta is 0 and written where it is replaced; otherwise the sums
///   written and read once, C once, twice if beta is not 0.
/// - fp16 and bf16: sums in fp32, rounded once, when C is written.
/// - fp32 by halves: one product, three times as long unless high parts stand alone, of A's stored fp16 parts and B's,
///   which gemm_halves.cuh makes first. Sums go by the workspace; one that lossy values may have spoilt is multiplied
///   once more, too.
/// - Preconditions: those of product_args and dense_operand; no batch; the library is ready on the device.
///   Deterministic, as is the library for the same operands at the same alignment.
namespace bcsc::kernels::cuda {

/// Where the sums lie and where they go: `lines` lines of `length` values, each as a line of C lies.
template <class T, class From>
struct gemm_look {
  const From* from;
  std::int64_t from_ld;
  std::int64_t lines, length;
  bool by_rows;         ///< a line is a row of C
  bool has_sums;        ///< otherwise all are 0, and nothing is read
  double line_of;       ///< 1 / pieces of a line
  std::int64_t pieces;  ///< of a line
  bool writes_vectors;  ///< C's lines lie so that whole pieces of them can be written at once
  halves_of_sums halves = {};
};

__device__ inline float sum_value(float x) { return x; }
__device__ inline double sum_value(double x) { return x; }
template <narrow_number T>
__device__ float sum_value(T x) {
  return narrow_pair<T>::widen(x.bits).x;
}

/// Row m of A times column n of B, over the stored entries alone, one after the other. Not inlined: it is hardly ever
/// called, and its registers would be held by all that look.
template <class T>
[[gnu::noinline]] __device__ scalar_of<T> multiply_stored(const dense_args<T>& args, std::int64_t m, std::int64_t n) {
  const T* const row = args.a.values + m * args.a.ld;
  const T* const column = args.b + n * args.b_col_stride;
  scalar_of<T> sum{0};
#pragma unroll 1
  for (std::int64_t word = 0; word < args.a.row_words; ++word) {
    std::uint32_t stored = args.a.mask[m * args.a.row_words + word];
#pragma unroll 1
    for (; stored != 0; stored &= stored - 1) {
      const std::int64_t k = word * dense_mask_bits + __ffs(static_cast<int>(stored)) - 1;
      sum += sum_value(row[k]) * sum_value(column[k * args.ldb]);
    }
  }
  return sum;
}

/// Row and column of C's element `at` of line `line`.
struct place_of_element {
  std::int64_t m, n;
  template <class T, class From>
  __device__ place_of_element(const gemm_look<T, From>& look, std::int64_t line, std::int64_t at)
      : m(look.by_rows ? line : at), n(look.by_rows ? at : line) {}
  template <class T>
  __device__ T* in_c(const dense_args<T>& args) const {
    return args.c + m * args.c_row_stride + n * args.c_col_stride;
  }
};

/// `Vector` neighbouring values of a line.
template <int Vector, class From>
struct alignas(Vector * sizeof(From)) gemm_piece {
  From value[Vector];
};

/// Writes what the sums of a piece come to; one that is not finite, or not good, is multiplied once more.
template <int Vector, class T, class From>
__device__ void finish(const dense_args<T>& args, const gemm_look<T, From>& look, const scalars<scalar_of<T>>& by,
                       std::int64_t line, std::int64_t first, const gemm_piece<Vector, From>& piece,
                       const bool (&is_good)[Vector]) {
  const bool counts = by.alpha != scalar_of<T>{0};
  scalar_of<T> sum[Vector];
#pragma unroll
  for (int v = 0; v < Vector; ++v) {
    sum[v] = counts ? sum_value(piece.value[v]) : scalar_of<T>{0};
    if (!counts || (is_good[v] && sum[v] - sum[v] == scalar_of<T>{0})) continue;
    const place_of_element at(look, line, first + v);
    sum[v] = multiply_stored(args, at.m, at.n);
  }
  if (Vector > 1 && look.writes_vectors) {
    store_vector<Vector>(place_of_element(look, line, first).in_c(args), by, sum);
  } else {
#pragma unroll
    for (int v = 0; v < Vector; ++v) store(place_of_element(look, line, first + v).in_c(args), by, sum[v]);
  }
}

/// The same where C holds alpha times the sums: writes only what is not finite.
template <int Vector, class T>
__device__ void replace(const dense_args<T>& args, const gemm_look<T, T>& look, const scalars<scalar_of<T>>& by,
                        std::int64_t line, std::int64_t first, const gemm_piece<Vector, T>& piece) {
  using S = scalar_of<T>;
#pragma unroll
  for (int v = 0; v < Vector; ++v) {
    const S sum = sum_value(piece.value[v]);
    if (sum - sum == S{0}) continue;
    const place_of_element at(look, line, first + v);
    store(at.in_c(args), by, multiply_stored(args, at.m, at.n));
  }
}

/// Pieces that a thread reads before it writes the first.
inline constexpr int gemm_pieces_at_once = 2;

/// The pieces of neighbouring threads are neighbours.
template <int Threads, int Vector, bool InPlace, class T, class From>
__global__ void __launch_bounds__(Threads)
    gemm_look_kernel(const __grid_constant__ dense_args<T> args, const __grid_constant__ gemm_look<T, From> look) {
  constexpr int at_once = gemm_pieces_at_once;
  wait_for_previous();
  const scalars<scalar_of<T>> by = read_scalars(args);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * Threads, end = look.lines * look.pieces;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * Threads + threadIdx.x; k < end; k += at_once * step) {
    std::int64_t line[at_once], first[at_once];
    gemm_piece<Vector, From> piece[at_once] = {};
    bool is_good[at_once][Vector];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const std::int64_t own = k + i * step < end ? k + i * step : k;
      line[i] = divide(own, look.pieces, look.line_of);
      first[i] = (own - line[i] * look.pieces) * Vector;
      if (look.has_sums) read_vector<Vector>(piece[i].value, look.from + line[i] * look.from_ld + first[i]);
#pragma unroll
      for (int v = 0; v < Vector; ++v) is_good[i][v] = true;
    }
    if constexpr (std::is_same_v<T, float> && !InPlace) {
      if (look.halves.line.back != nullptr) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) look.halves.finish(piece[i].value, is_good[i], line[i], first[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (k + i * step >= end) continue;
      if constexpr (InPlace) {
        replace<Vector>(args, look, by, line[i], first[i], piece[i]);
      } else {
        finish<Vector>(args, look, by, line[i], first[i], piece[i], is_good[i]);
      }
    }
  }
}

/// Looks at `length` values of each of `lines` lines of `from`.
template <int Threads, bool InPlace, class T, class From>
int look_at(const dense_args<T>& args, const From* from, std::int64_t from_ld, bool has_sums, CUstream_st* stream,
            const halves_of_sums& halves = {}) {
  const bool by_rows = args.c_col_stride == 1;
  const std::int64_t lines = by_rows ? args.a.rows : args.n, length = by_rows ? args.n : args.a.rows;
  constexpr int vector = 16 / sizeof(From);
  const bool by_vector =
      length % vector == 0 && from_ld % vector == 0 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
  const std::int64_t pieces = by_vector ? length / vector : length;
  const std::int64_t along = by_rows ? args.c_col_stride : args.c_row_stride;
  const std::int64_t across = by_rows ? args.c_row_stride : args.c_col_stride;
  const bool writes_vectors =
      along == 1 && across % vector == 0 && reinterpret_cast<std::uintptr_t>(args.c) % (vector * sizeof(T)) == 0;
  const gemm_look<T, From> look{
      from,   from_ld,        lines, length, by_rows, has_sums, 1.0 / static_cast<double>(pieces),
      pieces, writes_vectors, halves};
  const auto start_with = [&](void (*kernel)(dense_args<T>, gemm_look<T, From>)) {
    return start(begins::while_previous_ends, kernel,
                 grid_of(ceil_div(lines * pieces, gemm_pieces_at_once * Threads), {}), dim3(Threads), 0, stream, args,
                 look);
  };
  return by_vector ? start_with(&gemm_look_kernel<Threads, vector, InPlace, T, From>)
                   : start_with(&gemm_look_kernel<Threads, 1, InPlace, T, From>);
}

/// By halves: B's parts, the library's product, the look.
template <int Threads>
int launch_halves(const dense_args<float>& args, bool multiplies, CUstream_st* stream) {
  if (!multiplies) return look_at<Threads, false, float, float>(args, args.a.sums, args.n, false, stream);
  if (const int status = start_halves_of_b(args, stream); status != cudaSuccess) return status;
  const halves_of_a& a = args.a.halves;
  const halves_workspace there(args.a.rows, a.count, a.ld, args.n);
  const std::int64_t inner = a.count * a.ld;
  const bool b_by_rows = args.b_col_stride == 1, c_by_rows = args.c_col_stride == 1;
  const std::int64_t sums_ld = c_by_rows ? there.padded() : args.a.rows;
  const dense_product product{value_type::fp16,
                              value_type::fp32,
                              false,
                              args.a.rows,
                              inner,
                              b_by_rows && c_by_rows ? there.padded() : args.n,
                              {a.parts, inner, true},
                              {there.parts(args.a.sums), b_by_rows ? there.padded() : inner, b_by_rows},
                              args.a.sums,
                              sums_ld,
                              c_by_rows,
                              1.0,
                              args.a.spare,
                              args.a.spare_bytes};
  if (const int status = multiply_dense(product, stream); status != cudaSuccess) return status;
  return look_at<Threads, false, float, float>(args, args.a.sums, sums_ld, true, stream,
                                               halves_of_sums_of(args, there));
}

template <>
struct implementation<tables::gemm> {
  template <int Index>
  static int launch(const void* given, const launch_env& env) {
    constexpr tables::gemm_config config = tables::gemm::configs[Index];
    constexpr int threads = config.block_threads();
    using T = value_of<config.type>;
    using S = scalar_of<T>;
    const auto& args = *static_cast<const dense_args<T>*>(given);
    if (args.batch.count != 1) return cudaErrorInvalidValue;
    const bool on_host = args.alpha_at == nullptr && args.beta_at == nullptr;
    const bool multiplies = args.a.nnz > 0 && !(args.alpha_at == nullptr && args.alpha == S{0});
    const bool in_place = multiplies && on_host && args.beta == S{0} && config.halves() == 0;
    const bool by_rows = args.c_col_stride == 1;
    const std::int64_t sums_ld = by_rows ? args.n : args.a.rows;
    if constexpr (config.halves() > 0) return launch_halves<threads>(args, multiplies, env.stream);
    // The distance to a second line may be anything where there is none; the library asks for no less than a line.
    const std::int64_t c_ld = std::max(by_rows ? args.c_row_stride : args.c_col_stride, sums_ld);

    if (multiplies) {
      const bool b_by_rows = args.b_col_stride == 1;
      const dense_product product{
          config.type,
          in_place ? config.type : value_type_of<S>,
          config.keeps == tables::accuracy::tf32,
          args.a.rows,
          args.a.cols,
          args.n,
          {args.a.values, args.a.ld, true},
          {args.b, b_by_rows ? std::max(args.ldb, args.n) : std::max(args.b_col_stride, args.a.cols), b_by_rows},
          in_place ? static_cast<void*>(args.c) : args.a.sums,
          in_place ? c_ld : sums_ld,
          by_rows,
          in_place ? static_cast<double>(args.alpha) : 1.0,
          args.a.spare,
          args.a.spare_bytes};
      if (const int status = multiply_dense(product, env.stream); status != cudaSuccess) return status;
    }
    if (in_place) return look_at<threads, true, T, T>(args, args.c, c_ld, true, env.stream);
    return look_at<threads, false, T, S>(args, args.a.sums, sums_ld, multiplies, env.stream);
  }
};

}  // namespace bcsc::kernels::cuda
