#pragma once

#include <cstdint>

#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"

/// Rows of B, gathered by the columns of A's entries, and what is multiplied with them.
namespace bcsc::kernels::cuda {

/// The maximum width of a load of B: every row of each B, and so every tile, must be whole vectors.
/// `readable_cols`: of a row, N or more.
template <class T, class Operand>
int load_width(const product_args<T, Operand>& args, int max_width, std::int64_t readable_cols) {
  int width = max_width;
  if (args.b_col_stride != 1) return 1;
  while (width > 1 && (readable_cols % width != 0 || args.ldb % width != 0 || args.batch.b % width != 0 ||
                       reinterpret_cast<std::uintptr_t>(args.b) % (width * sizeof(T)) != 0)) {
    width /= 2;
  }
  return width;
}

/// Makes the compiler compute an address here. Otherwise it does so in the branch of each load and fetches the
/// constants again: a third more instructions in the last step of a piece.
__device__ inline void settle(std::uint64_t& address) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(address));
#else
  (void)address;
#endif
}

/// sums += a * b, b in words.
template <class T, class S, int Items, int Words>
__device__ void add_products(S (&sums)[Items], S a, const word_of<T> (&b)[Words]) {
#pragma unroll
  for (int i = 0; i < Words; ++i) {
    if constexpr (narrow_number<T>) {
      const float2 wide = narrow_pair<T>::widen(b[i]);
      sums[2 * i] += a * wide.x;
      if constexpr (Items > 1) sums[2 * i + 1] += a * wide.y;
    } else {
      sums[i] += a * b[i];
    }
  }
}

/// A lane's columns of a tile: Width neighbours at `own`, and at as many multiples of Lanes * Width further on as the
/// tile has. A lane beyond the tile reads its last columns once more, and stores nothing.
template <class T, int Lanes, int Width>
struct lane_of_b {
  std::uint64_t address;  // of this lane's first column, in row 0
  int num_loads;          // of one row

  template <class Operand>
  __device__ lane_of_b(const product_args<T, Operand>& args, std::int64_t first_col, int num_cols, int lane) {
    const int read_cols = (num_cols + Width - 1) / Width * Width;
    const int own = min(lane * Width, read_cols - Width);
    num_loads = (read_cols - own + Lanes * Width - 1) / (Lanes * Width);
    address =
        reinterpret_cast<std::uint64_t>(of_member_here(args.b, args.batch.b) + (first_col + own) * args.b_col_stride);
  }
};

/// The rows of B that one step of a group multiplies: all are asked for before the first is used. exists(k, e) tells
/// whether entry e of pair k is one; what is not is neither loaded nor multiplied, so that a value of B which is not
/// finite reaches only the rows that have its column.
template <class T, int Lanes, int Items, int Width, int Count>
struct rows_of_b {
  word_of<T> values[Count][2][words_for<T, Items>];

  /// `Bytes`: of 32 bits where they suffice, which saves an instruction a row.
  template <class Bytes, class Exists>
  __device__ rows_of_b(const lane_of_b<T, Lanes, Width>& b, const fetched_pairs<scalar_of<T>, Count>& a,
                       Bytes ldb_bytes, const Exists& exists) {
    std::uint64_t from[Count][2];
#pragma unroll
    for (int k = 0; k < Count; ++k) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        from[k][e] = b.address + static_cast<std::uint64_t>(static_cast<unsigned>(a.at[k].col[e])) * ldb_bytes;
        settle(from[k][e]);
      }
    }
#pragma unroll
    for (int k = 0; k < Count; ++k) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
#pragma unroll
        for (auto& word : values[k][e]) word = word_of<T>{0};
        const int loads = exists(k, e) ? b.num_loads : 0;
#pragma unroll
        for (int j = 0; j < Items / Width; ++j) {
          if (j == 0 ? exists(k, e) : j < loads) {
            load_values<Width>(values[k][e], j * Width, reinterpret_cast<const T*>(from[k][e]) + j * Lanes * Width);
          }
        }
      }
    }
  }

  template <class Exists>
  __device__ void multiply_by(const fetched_pairs<scalar_of<T>, Count>& a, const Exists& exists,
                              scalar_of<T> (&sums)[Items]) const {
#pragma unroll
    for (int k = 0; k < Count; ++k) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        add_products<T>(sums, exists(k, e) ? a.at[k].value[e] : scalar_of<T>{0}, values[k][e]);
      }
    }
  }
};

}  // namespace bcsc::kernels::cuda
