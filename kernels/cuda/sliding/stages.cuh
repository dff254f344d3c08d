#pragma once

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/stage_barrier.cuh"
#include "kernels/cuda/stage_counter.cuh"

namespace bcsc::kernels::cuda {

/// The stages of a thread block, and who waits for whom. Producers know them by number, consumers meet them in turn.
template <class Shape>
class sliding_stages {
 public:
  __device__ explicit sliding_stages(unsigned char* shared)
      : shared_(shared),
        filled_(reinterpret_cast<stage_barrier*>(shared + Shape::barriers_at)),
        left_(filled_ + Shape::stages) {}

  /// By one thread.
  __device__ void begin() const {
    for (int stage = 0; stage < Shape::stages; ++stage) {
      filled_[stage].begin(Shape::producers);
      left_[stage].begin(Shape::consumers);
    }
    show_to_bulk_copies();
  }

  __device__ unsigned char* place(int stage) const {
    return shared_ + Shape::stages_at + stage % Shape::stages * Shape::stage_bytes;
  }
  __device__ stage_barrier& filled(int stage) const { return filled_[stage % Shape::stages]; }
  /// Until the consumers have left stage number `stage`, which is not older than the last in its place.
  __device__ void wait_until_left(int stage) const {
    if (stage >= 0) left_[stage % Shape::stages].wait(stage / Shape::stages);
  }

  __device__ void wait_until_filled(const stage_counter<Shape>& next) const { filled_[next.stage()].wait(next.phase); }
  __device__ void leave(const stage_counter<Shape>& next) const { left_[next.stage()].arrive(); }

 private:
  unsigned char* shared_;
  stage_barrier *filled_, *left_;
};

}  // namespace bcsc::kernels::cuda
