#pragma once

#include <cstdint>

#include "kernels/cuda/stage_barrier.cuh"
#include "kernels/forms/mma_tiles/operand.hpp"

/// The order in which all warps of a thread block meet its stages.
namespace bcsc::kernels::cuda {

/// Warpgroups use the tensor cores one after the other: while one's products are under way, the others add and read.
template <int Warpgroups>
class warpgroup_turn {
 public:
  __device__ warpgroup_turn(stage_barrier* turns, int warpgroup)
      : own_(turns + warpgroup), next_(turns + (warpgroup + 1) % Warpgroups), turn_(warpgroup == 0 ? -1 : 0) {}
  __device__ void wait() {
    if constexpr (Warpgroups > 1) own_->wait(turn_++);
  }
  __device__ void pass_on() {
    if constexpr (Warpgroups > 1) next_->arrive();
  }

 private:
  stage_barrier *own_, *next_;
  int turn_;  ///< which phase of own_ is waited for next
};

/// The items of a thread block, every gridDim.x-th, and their groups. What is known of an item is loaded when the one
/// before begins.
template <class T>
class item_walk {
 public:
  std::int64_t item = blockIdx.x;
  int group = 0, end = 0;  ///< of the item: the next one, and behind the last

  __device__ item_walk(const mma_tiles_args<T>& args, bool reads_a) : args_(args), reads_a_(reads_a) {
    upcoming_ = groups_of(item);
    enter();
  }
  __device__ bool has_item() const { return item < args_.a.num_items; }
  __device__ void next_item() {
    item += gridDim.x;
    enter();
  }

 private:
  __device__ int2 groups_of(std::int64_t other) const {
    const std::int64_t last = args_.a.num_items - 1;
    const int2 groups = __ldg(reinterpret_cast<const int2*>(args_.a.items + (other < last ? other : last)));
    return other <= last && reads_a_ ? groups : int2{0, 0};
  }
  __device__ void enter() {
    group = upcoming_.x;
    end = upcoming_.y;
    upcoming_ = groups_of(item + gridDim.x);
  }

  const mma_tiles_args<T>& args_;
  bool reads_a_;
  int2 upcoming_;
};

}  // namespace bcsc::kernels::cuda
