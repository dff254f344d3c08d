#pragma once

#include <thrust/execution_policy.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <string>
#include <vector>

#include "converters/formats/device_loops.cuh"

namespace bcsc::converters::steps {

/// Allocates Thrust's temporary memory the way all device memory is allocated.
class thrust_memory {
 public:
  using value_type = char;
  char* allocate(std::ptrdiff_t bytes) {
    taken_.push_back(core::gpu::allocate(static_cast<std::size_t>(std::max<std::ptrdiff_t>(bytes, 1))));
    return static_cast<char*>(taken_.back().pointer);
  }
  void deallocate(char* pointer, std::size_t) noexcept {
    const auto found =
        std::find_if(taken_.begin(), taken_.end(), [&](const auto& memory) { return memory.pointer == pointer; });
    if (found == taken_.end()) return;
    core::gpu::release(*found);
    taken_.erase(found);
  }

 private:
  std::vector<core::gpu::allocation> taken_;
};

/// Runs a Thrust algorithm on the default stream; its errors become the library's.
template <class Algorithm>
void with_thrust(Algorithm&& algorithm, const char* what) {
  thrust_memory memory;
  forget_earlier_error();
  try {
    algorithm(thrust::cuda::par(memory).on(cudaStream_t{nullptr}));
  } catch (const thrust::system_error& failure) {
    core::gpu::check_launch(failure.code().value(), what);
    throw error(errc::internal, std::string(what) + ": " + failure.what());
  }
}

}  // namespace bcsc::converters::steps
