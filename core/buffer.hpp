#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "bcsc/types.hpp"
#include "core/gpu.hpp"

namespace bcsc::core {

/// Owned device memory. Remembers its device, so that any thread can free it there.
template <class T>
class device_buffer {
 public:
  device_buffer() = default;
  device_buffer(int device, std::int64_t size) : device_(device), size_(size) {
    if (size_ == 0) return;
    const gpu::device_guard guard(device_);
    memory_ = gpu::allocate(static_cast<std::size_t>(size_) * sizeof(T));
  }
  /// A copy of host data; returns when the copy is done.
  device_buffer(int device, std::span<const T> host) : device_buffer(device, static_cast<std::int64_t>(host.size())) {
    upload(host);
  }
  ~device_buffer() { reset(); }
  device_buffer(device_buffer&& other) noexcept { swap(other); }
  device_buffer& operator=(device_buffer&& other) noexcept {
    device_buffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  int device() const { return device_; }
  T* data() const { return static_cast<T*>(memory_.pointer); }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  /// Copies all of `host` (size() elements) and waits: pageable memory may be freed on return.
  void upload(std::span<const T> host) {
    if (size_ == 0) return;
    const gpu::device_guard guard(device_);
    gpu::copy_to_device(data(), host.data(), bytes());
    gpu::synchronize();
  }
  std::vector<T> download() const {
    std::vector<T> host(static_cast<std::size_t>(size_));
    if (size_ == 0) return host;
    const gpu::device_guard guard(device_);
    gpu::copy_to_host(host.data(), data(), bytes());
    return host;
  }

 private:
  void swap(device_buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(device_, other.device_);
    std::swap(size_, other.size_);
  }
  void reset() noexcept {
    if (memory_.pointer == nullptr) return;
    try {
      const gpu::device_guard guard(device_);
      gpu::release(memory_);
    } catch (...) {
      // A poisoned context has already lost the memory, and reporting that could itself fail to allocate.
    }
    memory_ = {};
  }

  gpu::allocation memory_;
  int device_ = 0;
  std::int64_t size_ = 0;
};

/// A host copy of an array that lies on the host or on the current device; complete on return.
template <class T>
std::vector<T> copy_to_host(std::span<const T> array, memory_space space) {
  std::vector<T> copy(array.size());
  if (space == memory_space::host) {
    std::ranges::copy(array, copy.begin());
  } else if (!copy.empty()) {
    gpu::copy_to_host(copy.data(), array.data(), array.size_bytes());
  }
  return copy;
}

}  // namespace bcsc::core
