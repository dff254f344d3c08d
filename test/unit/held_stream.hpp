#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

/// CUDA streams that stay busy for as long as a test wants, whatever the GPU's speed: by a host callback in them.
namespace bcsc::test {

/// A stream of its own, which waits for no other.
class own_stream {
 public:
  own_stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~own_stream() {
    if (stream_ == nullptr) return;
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void synchronize() const { ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }
  /// Destroyed here; the handle that is left names nothing.
  cudaStream_t destroy() {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    return std::exchange(stream_, nullptr);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Work given to `stream` from now on begins this much later.
inline void delay(cudaStream_t stream, std::chrono::milliseconds by) {
  const auto sleep = [](void* milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(milliseconds)));
  };
  ASSERT_EQ(cudaLaunchHostFunc(stream, sleep, reinterpret_cast<void*>(static_cast<std::intptr_t>(by.count()))),
            cudaSuccess);
}

/// Work given to `stream` from now on waits for let_go(), half a minute at most. Nothing may wait for the device
/// meanwhile.
class held_stream {
 public:
  explicit held_stream(cudaStream_t stream) : stream_(stream) {
    const auto wait = [](void* let_go) {
      using clock = std::chrono::steady_clock;
      const auto end = clock::now() + std::chrono::seconds(30);
      while (!static_cast<std::atomic<bool>*>(let_go)->load() && clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    };
    EXPECT_EQ(cudaLaunchHostFunc(stream, wait, &let_go_), cudaSuccess);
  }
  ~held_stream() { finish(); }
  held_stream(const held_stream&) = delete;
  held_stream& operator=(const held_stream&) = delete;

  /// Returns when all work given to the stream has ended.
  void finish() {
    let_go_ = true;
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

 private:
  cudaStream_t stream_;
  std::atomic<bool> let_go_{false};
};

}  // namespace bcsc::test
