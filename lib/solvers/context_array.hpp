#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "bcsc/context.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/memory.hpp"

namespace bcsc::solvers {

/// `size` values where a context computes: device memory for a CUDA context, else aligned host memory. Starts
/// uninitialised, so that the threads that first write it place its pages.
/// Throws error{out_of_memory | size_overflow}.
template <class T>
class context_array {
 public:
  context_array(const context& ctx, std::int64_t size) : on_device_(ctx.kind() == backend::cuda), size_(size) {
    const std::int64_t bytes = core::checked_product(size, sizeof(T), "bytes of a work array");
    if (on_device_) {
      device_ = core::device_buffer<T>(ctx.device().device, size);
      return;
    }
    host_.reset(static_cast<T*>(::operator new(static_cast<std::size_t>(bytes), alignment, std::nothrow)));
    if (host_ == nullptr) core::fail(errc::out_of_memory, "the host has no {} left", core::bytes_text(bytes));
  }

  T* data() const { return on_device_ ? device_.data() : host_.get(); }
  std::int64_t size() const { return size_; }

  /// Zero bytes everywhere.
  void clear(cuda_stream stream = nullptr) {
    if (size_ == 0) return;
    if (on_device_) {
      core::gpu::fill_zero(data(), bytes(), stream);
    } else {
      std::fill_n(reinterpret_cast<std::byte*>(data()), bytes(), std::byte{0});
    }
  }

  /// Copies host values to the places from `first` on; done on return.
  void upload(std::span<const T> from, cuda_stream stream = nullptr, std::size_t first = 0) {
    if (from.empty()) return;
    if (on_device_) {
      core::gpu::copy_to_device(data() + first, from.data(), from.size_bytes(), stream);
      core::gpu::synchronize(stream);
    } else {
      std::copy(from.begin(), from.end(), data() + first);
    }
  }

  /// Copies the values from `first` on to the host, after all work before it on the stream; done on return.
  void download(std::span<T> to, cuda_stream stream = nullptr, std::size_t first = 0) const {
    if (to.empty()) return;
    if (on_device_) {
      core::gpu::copy_to_host(to.data(), data() + first, to.size_bytes(), stream);
    } else {
      std::copy_n(data() + first, to.size(), to.begin());
    }
  }

 private:
  static constexpr std::align_val_t alignment{256};  // what a workspace asks for
  struct release {
    void operator()(T* pointer) const { ::operator delete(pointer, alignment); }
  };

  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  bool on_device_;
  std::int64_t size_;
  core::device_buffer<T> device_;
  std::unique_ptr<T, release> host_;
};

}  // namespace bcsc::solvers
