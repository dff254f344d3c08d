#pragma once

namespace bcsc::kernels::cuda {

/// Where stages lie in shared memory, one after the other, around and around.
template <class Shape>
struct stage_counter {
  int place = 0, phase = 0;  ///< of the next one, and how often it has been filled before

  __device__ int stage() const { return place / Shape::stage_bytes; }
  __device__ void advance() {
    place += Shape::stage_bytes;
    if (place == Shape::all_stages) {
      place = 0;
      ++phase;
    }
  }
};

}  // namespace bcsc::kernels::cuda
