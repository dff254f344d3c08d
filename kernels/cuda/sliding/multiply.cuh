#pragma once

#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/products.cuh"
#include "kernels/cuda/sliding/shape.cuh"
#include "kernels/cuda/vectors.cuh"

/// A consumer's products of one stage.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class sliding_step {
  using product = mma_product<T, 1, Shape::steps>;

 public:
  /// `first_part`, `first_piece`: of the warp.
  __device__ sliding_step(const unsigned char* shared, int first_part, int first_piece)
      : shared_(shared),
        first_part_(first_part),
        chunk_((first_piece * 8 + lane() / 4) * 16),
        values_(2 * lane() * static_cast<int>(sizeof(T))) {}

  /// Adds the products of the stage that lies at `stage`.
  __device__ void add_to(typename Shape::sums& sums, int stage) const {
    int2 slots[Shape::depth], groups[Shape::depth];
#pragma unroll
    for (int j = 0; j < Shape::depth; ++j) {
      slots[j] = reinterpret_cast<const int2*>(shared_ + stage + Shape::slots_at)[4 * j + lane() % 4];
      groups[j] = reinterpret_cast<const int2*>(shared_ + stage + Shape::groups_at)[j];
    }
#pragma unroll
    for (int j = 0; j < Shape::depth; ++j) {
      const auto parts = static_cast<unsigned>(groups[j].y), own = parts >> first_part_ & own_parts;
      if (own == 0) continue;
      const int first_tile = groups[j].x + __popc(parts & ((1u << first_part_) - 1));
      multiply(sums, slots[j], stage + first_tile * Shape::tile_bytes, own);
    }
  }

 private:
  static constexpr unsigned own_parts = (1u << Shape::parts) - 1;
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// A group: the rows of B in `slots`, this lane's two, times the tiles of the warp's parts, zeros where one of them
  /// has none. All of it is read before the first product, since a warp issues nothing while its product runs. And no
  /// product is tested for: the compiler would predicate it, and a predicated product in fp64 takes as long.
  __device__ void multiply(typename Shape::sums& sums, const int2& slots, int tiles, unsigned own) const {
    T rows[Shape::pieces][2][Shape::vector], values[Shape::parts][2];
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      read<Shape::vector>(rows[p][0], slots.x * Shape::row_bytes + chunk_ + p * 128);
      read<Shape::vector>(rows[p][1], slots.y * Shape::row_bytes + chunk_ + p * 128);
    }
#pragma unroll
    for (int i = 0; i < Shape::parts; ++i) {
      const int tile = __popc(own & ((1u << i) - 1));
      if (has_part(own, i)) {
        read<2>(values[i], tiles + tile * Shape::tile_bytes + values_);
      } else {
        values[i][0] = values[i][1] = T{0};
      }
    }
    typename product::left b[Shape::pieces];
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) b[p] = product::of_b(rows[p]);
#pragma unroll
    for (int i = 0; i < Shape::parts; ++i) {
      const auto a = product::of_a(values[i]);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) product::add(sums[i][p], b[p], a);
    }
  }

  template <int Values>
  __device__ void read(T (&values)[Values], int place) const {
    read_vector<Values>(values, reinterpret_cast<const T*>(shared_ + place));
  }

  const unsigned char* shared_;
  int first_part_;
  int chunk_;   ///< in a row of B: this lane's of the first piece
  int values_;  ///< in a tile: this lane's two
};

}  // namespace bcsc::kernels::cuda
