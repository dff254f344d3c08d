#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// The row blocks that were multiplied in pieces: what follows the kernels that leave partial sums.
namespace bcsc::kernels::cuda {

/// Adds up the row blocks that were multiplied in pieces, the slots in order. A thread takes `Vector` neighbours of a
/// row, of which there are `row_vectors`. Neighbouring threads take neighbouring vectors; if C is column-major, eight
/// neighbouring rows of one, so that a warp writes whole sectors.
template <class T, int Vector>
__global__ void __launch_bounds__(128)
    mma_sum_kernel(const __grid_constant__ mma_tiles_args<T> args, std::int64_t num_rows, std::int64_t row_vectors,
                   double row_of_vector) {
  using S = scalar_of<T>;
  wait_for_previous();
  let_next_begin();
  const scalars<S> by = read_scalars(args);
  const S* const partial = of_member(args.a.partial, args.batch.partials);
  T* const c = of_member(args.c, args.batch.c);
  constexpr int bytes = Vector * static_cast<int>(sizeof(T));
  const bool by_vector = args.c_col_stride == 1 && args.c_row_stride % Vector == 0 &&
                         reinterpret_cast<std::uintptr_t>(c) % (bytes < 16 ? bytes : 16) == 0;
  const int height_bits = __ffsll(args.a.height) - 1;
  const int row_bits = args.c_col_stride == 1 ? 0 : 3;  // lowest bits of the index; heights are multiples of eight
  for (std::int64_t index = blockIdx.x * std::int64_t{128} + threadIdx.x; index < num_rows * row_vectors;
       index += gridDim.x * std::int64_t{128}) {
    const std::int64_t across = index >> row_bits, down = divide(across, row_vectors, row_of_vector);
    const std::int64_t stored_row = (down << row_bits) + (index & ((1 << row_bits) - 1));
    const std::int64_t n = (across - down * row_vectors) * Vector;
    const forms::mma_tiles_sum sum = args.a.sums[stored_row >> height_bits];
    const std::int64_t m = stored_row & (args.a.height - 1);
    if (m >= sum.num_rows) continue;
    const S* from = partial + (sum.first_slot * args.a.height + m) * args.n + n;
    S total[Vector] = {};
#pragma unroll 4
    for (int slot = 0; slot < sum.num_slots; ++slot) {
      S some[Vector];
      read_vector<Vector>(some, from + slot * args.a.height * args.n);
#pragma unroll
      for (int v = 0; v < Vector; ++v) total[v] += some[v];
    }
    const std::int64_t row = args.a.row_of != nullptr ? args.a.row_of[sum.first_row + m] : sum.first_row + m;
    T* const to = c + row * args.c_row_stride + n * args.c_col_stride;
    if (Vector > 1 && by_vector) {
      store_vector<Vector>(to, by, total);
    } else {
#pragma unroll
      for (int v = 0; v < Vector; ++v) store(to + v * args.c_col_stride, by, total[v]);
    }
  }
}

/// Starts it where there are such row blocks.
template <class T>
int start_sum_of_pieces(const mma_tiles_args<T>& spmm, const launch_env& env) {
  if (spmm.a.num_sums == 0) return cudaSuccess;
  constexpr int widest = 16 / static_cast<int>(sizeof(scalar_of<T>));
  const std::int64_t rows = spmm.a.num_sums * spmm.a.height;
  const auto start_vectors = [&](auto kernel, std::int64_t width) {
    const std::int64_t row_vectors = spmm.n / width;
    return start(begins::while_previous_ends, kernel, grid_of(ceil_div(rows * row_vectors, 128), spmm.batch), dim3(128),
                 0, env.stream, spmm, rows, row_vectors, 1.0 / static_cast<double>(row_vectors));
  };
  const bool whole = spmm.n % widest == 0 && spmm.batch.partials % widest == 0 &&
                     reinterpret_cast<std::uintptr_t>(spmm.a.partial) % 16 == 0;
  return whole ? start_vectors(&mma_sum_kernel<T, widest>, widest) : start_vectors(&mma_sum_kernel<T, 1>, 1);
}

}  // namespace bcsc::kernels::cuda
