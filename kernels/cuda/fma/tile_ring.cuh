#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/fma/shape.cuh"
#include "kernels/cuda/vectors.cuh"

/// A warp's tiles of A, copied to shared memory some steps before all lanes read the same value of them.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class tile_ring {
  static constexpr tables::fma_config config = Shape::config;
  static constexpr int tile_bytes = config.tile_bytes(), chunk_bytes = config.chunk_bytes();
  static constexpr int ring_bytes = config.ring_bytes(), step_bytes = config.step_bytes();

 public:
  /// `ring`: the warp's own. The copies of the first chunks begin.
  __device__ tile_ring(unsigned char* ring, const T* first_tile)
      : ring_(ring), to_(ring), from_(reinterpret_cast<const unsigned char*>(first_tile)) {
#pragma unroll
    for (int chunk = 0; chunk + 1 < config.ring_chunks; ++chunk) start_chunk();
  }

  __device__ void wait_for_first() {
    wait_for_all_but<config.ring_chunks - 2>();
    __syncwarp();
  }
  /// Until the tiles of a step, and one more, are there. The chunk that nobody reads any more is filled again.
  __device__ void hold_step() {
    if (at_ + step_bytes <= held_) return;
    wait_for_all_but<config.ring_chunks - 3>();
    __syncwarp();
    start_chunk();
    held_ += chunk_bytes;
  }
  __device__ void read_row(T (&to)[Shape::columns], int row) const {
    read_vector<Shape::columns>(to, reinterpret_cast<const T*>(ring_ + at_ + row * (tile_bytes / Shape::part_rows)));
  }
  __device__ void next_tile() { at_ += tile_bytes; }
  __device__ void end_step() {
    if (at_ < ring_bytes) return;
    at_ -= ring_bytes;
    held_ -= ring_bytes;
  }

 private:
  /// The ring's first bytes go behind its end, too.
  __device__ void start_chunk() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int first = 0; first < chunk_bytes; first += 32 * 16) {
      const int place = first + 16 * lane;
      if (first + 32 * 16 <= chunk_bytes || place < chunk_bytes) {
        copy_async16(to_ + (next_ + place), from_ + place);
        if (next_ + place < step_bytes) copy_async16(to_ + (ring_bytes + next_ + place), from_ + place);
      }
    }
    commit_copies();
    from_ += chunk_bytes;
    next_ = next_ + chunk_bytes < ring_bytes ? next_ + chunk_bytes : 0;
  }

  const unsigned char* ring_;
  shared_place to_;
  const unsigned char* from_;
  int next_ = 0;            ///< where the next chunk goes
  int at_ = 0;              ///< the first tile not yet read
  int held_ = chunk_bytes;  ///< how far copies have arrived
};

}  // namespace bcsc::kernels::cuda
