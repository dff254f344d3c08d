#pragma once

#include <cstdint>

#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

namespace bcsc::kernels::cuda {

/// The items of a thread block, which follow each other, and their groups. An item is loaded when the one before
/// begins.
template <class T>
class item_run {
 public:
  forms::mma_tiles_item item;
  int group = 0, end = 0;  ///< of the item: the next one, and behind the last

  __device__ item_run(const mma_tiles_args<T>& args, bool reads_a)
      : args_(args),
        reads_a_(reads_a),
        number_(args.a.num_items * blockIdx.x / gridDim.x),
        end_(args.a.num_items * (blockIdx.x + 1) / gridDim.x) {
    upcoming_ = load(number_);
    enter();
  }
  __device__ bool has_item() const { return number_ < end_; }
  __device__ std::int64_t number() const { return number_; }
  __device__ void next_item() {
    ++number_;
    enter();
  }

 private:
  /// Past the end: the last item.
  __device__ forms::mma_tiles_item load(std::int64_t number) const {
    const auto* const at = reinterpret_cast<const int4*>(args_.a.items + (number < end_ ? number : end_ - 1));
    const int4 most = __ldg(at);
    return {most.x, most.y, most.z, most.w, __ldg(reinterpret_cast<const int*>(at + 1)), {}};
  }
  __device__ void enter() {
    item = upcoming_;
    const bool is_read = reads_a_ && has_item();
    group = is_read ? item.first_group : 0;
    end = is_read ? item.end_group : 0;
    upcoming_ = load(number_ + 1);
  }

  const mma_tiles_args<T>& args_;
  bool reads_a_;
  std::int64_t number_, end_;
  forms::mma_tiles_item upcoming_;
};

}  // namespace bcsc::kernels::cuda
