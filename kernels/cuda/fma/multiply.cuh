#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/fma/shape.cuh"
#include "kernels/cuda/fma/tile_ring.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/fma_tiles/operand.hpp"

/// A warp's products: its row block by its slab of B.
namespace bcsc::kernels::cuda {

/// A lane's columns of rows of B. Those past the slab are the last ones that lie in it.
template <class T, class Shape>
class fma_columns {
 public:
  __device__ fma_columns(const fma_tiles_args<T>& args, std::int64_t first_col, int num_cols)
      : row_bytes_(static_cast<unsigned>(args.ldb) * static_cast<unsigned>(sizeof(T))) {
    const int last = num_cols - Shape::width;
    const auto column = [&](int vector) {
      const int wanted = Shape::first_column(vector);
      return wanted < last ? wanted : last;
    };
    b_ = of_member(args.b, args.batch.b) + first_col + column(0);
#pragma unroll
    for (int v = 1; v < Shape::vectors; ++v) others_[v - 1] = column(v) - column(0);
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(b_));  // kept, not computed anew for each row
#endif
  }

  __device__ void load(typename Shape::rows_of_b& to, const int4& step) const {
    load_row(to[0], forms::column_of_first(static_cast<unsigned>(step.x)));
    load_row(to[1], static_cast<unsigned>(step.y));
    load_row(to[2], static_cast<unsigned>(step.z));
    load_row(to[3], static_cast<unsigned>(step.w));
  }

 private:
  template <int Count>
  __device__ void load_row(T (&to)[Count], unsigned column) const {
    const T* const row =
        reinterpret_cast<const T*>(reinterpret_cast<const unsigned char*>(b_) + std::uint64_t{column} * row_bytes_);
    load_vector<Shape::width>(to, row);
#pragma unroll
    for (int v = 1; v < Shape::vectors; ++v) load_vector<Shape::width>(to + v * Shape::width, row + others_[v - 1]);
  }

  const T* b_;  ///< row 0, the first of this lane's columns
  unsigned row_bytes_;
  int others_[Shape::vectors > 1 ? Shape::vectors - 1 : 1];
};

/// Adds the products of `count` steps, one or more. While a step is multiplied, the rows of B of the next one are on
/// their way, the column numbers of the one after it, and the first tile of what follows.
template <class T, class Shape>
__device__ void multiply_steps(typename Shape::sums& sums, tile_ring<T, Shape>& tiles, const int4* steps, int count,
                               const fma_columns<T, Shape>& b) {
  int4 ahead[2] = {__ldg(steps), __ldg(steps + 1)};
  typename Shape::rows_of_b rows[2];
  b.load(rows[0], ahead[0]);
  unsigned parts = forms::parts_of_first(static_cast<unsigned>(ahead[0].x));
  ahead[0] = __ldg(steps + 2);
  tiles.wait_for_first();
  typename Shape::tile a;
#pragma unroll
  for (int r = 0; r < Shape::part_rows; ++r) tiles.read_row(a[r], r);

  const auto multiply_one = [&](auto now_and, bool last) {
    constexpr int now = now_and.value, then = 1 - now;
    const unsigned of_this = parts;
    if (!last) {
      b.load(rows[then], ahead[then]);
      parts = forms::parts_of_first(static_cast<unsigned>(ahead[then].x));
      ahead[then] = __ldg(steps + 3);
    }
    ++steps;
    tiles.hold_step();
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) {
      if ((of_this >> part & 1u) == 0) continue;
      tiles.next_tile();
#pragma unroll
      for (int r = 0; r < Shape::part_rows; ++r) {
#pragma unroll
        for (int k = 0; k < Shape::columns; ++k) {
#pragma unroll
          for (int v = 0; v < Shape::width * Shape::vectors; ++v) sums[part][r][v] += a[r][k] * rows[now][k][v];
        }
        tiles.read_row(a[r], r);
      }
    }
    tiles.end_step();
  };
  for (;; count -= 2) {
    multiply_one(std::integral_constant<int, 0>{}, count == 1);
    if (count == 1) break;
    multiply_one(std::integral_constant<int, 1>{}, count == 2);
    if (count == 2) break;
  }
}

}  // namespace bcsc::kernels::cuda
