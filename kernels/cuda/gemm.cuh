#pragma once

#include <algorithm>
#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/dense_library.hpp"
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
/// - Loads: everything after the kernel before has ended. B and A are read only where a sum is not finite.
/// - Bytes, s a value: the library's; C read once if beta is 0 and written where it is replaced; otherwise the sums
///   written and read once, C once, twice if beta is not 0.
/// - fp16 and bf16: sums in fp32, rounded once, when C is written.
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
};

__device__ inline float sum_value(float x) { return x; }
__device__ inline double sum_value(double x) { return x; }
template <narrow_number T>
__device__ float sum_value(T x) {
  return narrow_pair<T>::widen(x.bits).x;
}

/// Row m of A times column n of B, over the stored entries alone, one after the other.
template <class T>
__device__ scalar_of<T> multiply_stored(const dense_args<T>& args, std::int64_t m, std::int64_t n) {
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

/// Finishes one value: element `at` of line `line`. InPlace: it lies in C, alpha times its sum.
template <bool InPlace, class T, class From>
__device__ void finish(const dense_args<T>& args, const gemm_look<T, From>& look, const scalars<scalar_of<T>>& by,
                       std::int64_t line, std::int64_t at, From value) {
  using S = scalar_of<T>;
  S sum = by.alpha == S{0} ? S{0} : sum_value(value);
  const bool is_finite = sum - sum == S{0};
  if (InPlace && is_finite) return;
  const std::int64_t m = look.by_rows ? line : at, n = look.by_rows ? at : line;
  if (!is_finite) sum = multiply_stored(args, m, n);
  store(args.c + m * args.c_row_stride + n * args.c_col_stride, by, sum);
}

template <int Threads, int Vector, bool InPlace, class T, class From>
__global__ void __launch_bounds__(Threads) gemm_look_kernel(dense_args<T> args, gemm_look<T, From> look) {
  struct alignas(Vector * sizeof(From)) piece {
    From value[Vector];
  };
  const scalars<scalar_of<T>> by = read_scalars(args);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * Threads;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * Threads + threadIdx.x; k < look.lines * look.pieces;
       k += step) {
    const std::int64_t line = divide(k, look.pieces, look.line_of);
    const std::int64_t first = (k - line * look.pieces) * Vector;
    piece values{};
    if (look.has_sums) {
      const From* const from = look.from + line * look.from_ld + first;
      if constexpr (Vector > 1) {
        values = *reinterpret_cast<const piece*>(from);
      } else {
        values.value[0] = *from;
      }
    }
#pragma unroll
    for (int v = 0; v < Vector; ++v) finish<InPlace>(args, look, by, line, first + v, values.value[v]);
  }
}

/// Looks at `length` values of each of `lines` lines of `from`.
template <int Threads, bool InPlace, class T, class From>
int look_at(const dense_args<T>& args, const From* from, std::int64_t from_ld, bool has_sums, CUstream_st* stream) {
  const bool by_rows = args.c_col_stride == 1;
  const std::int64_t lines = by_rows ? args.a.rows : args.n, length = by_rows ? args.n : args.a.rows;
  constexpr int vector = 16 / sizeof(From);
  const bool by_vector =
      length % vector == 0 && from_ld % vector == 0 && reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
  const std::int64_t pieces = by_vector ? length / vector : length;
  const gemm_look<T, From> look{from,  from_ld, lines, length, by_rows, has_sums, 1.0 / static_cast<double>(pieces),
                                pieces};
  const auto start_with = [&](void (*kernel)(dense_args<T>, gemm_look<T, From>)) {
    return start(kernel, grid_of(ceil_div(lines * pieces, Threads), {}), dim3(Threads), 0, stream, args, look);
  };
  return by_vector ? start_with(&gemm_look_kernel<Threads, vector, InPlace, T, From>)
                   : start_with(&gemm_look_kernel<Threads, 1, InPlace, T, From>);
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
    const bool in_place = multiplies && on_host && args.beta == S{0};
    const bool by_rows = args.c_col_stride == 1;
    const std::int64_t sums_ld = by_rows ? args.n : args.a.rows;
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
