#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "cuda_runtime.h"

// CUB's sums, done by the host in one go: they replace CUB's where steps that use them are tested.
namespace cub {

/// What a stand-in asks for, so that callers that forget to ask, or to pass it, are caught.
inline constexpr std::size_t emulated_temporary_bytes = 72;

/// What a stand-in answers before it works: how many bytes it asks for, or that it was given too few.
inline std::optional<cudaError_t> answer_without_work(const void* temporary, std::size_t& bytes, std::int64_t n) {
  if (temporary == nullptr) {
    bytes = emulated_temporary_bytes;
    return cudaSuccess;
  }
  if (bytes < emulated_temporary_bytes || n < 0) return cudaErrorInvalidValue;
  return std::nullopt;
}

struct DeviceScan {
  template <class In, class Out, class Add, class X>
  static cudaError_t ExclusiveScan(void* temporary, std::size_t& bytes, In in, Out out, Add add, X before,
                                   std::int64_t n) {
    if (const auto answer = answer_without_work(temporary, bytes, n)) return *answer;
    for (std::int64_t i = 0; i < n; ++i) {
      const X own = in[i];  // before the sum is written: both may lie in one place
      out[i] = before;
      before = add(before, own);
    }
    return cudaSuccess;
  }
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* temporary, std::size_t& bytes, In in, Out out, std::int64_t n) {
    using element = std::remove_cvref_t<decltype(in[0])>;
    return ExclusiveScan(temporary, bytes, in, out, std::plus<element>{}, element{}, n);
  }
  template <class In, class Out>
  static cudaError_t InclusiveSum(void* temporary, std::size_t& bytes, In in, Out out, std::int64_t n) {
    if (const auto answer = answer_without_work(temporary, bytes, n)) return *answer;
    std::remove_cvref_t<decltype(in[0])> sum{};
    for (std::int64_t i = 0; i < n; ++i) out[i] = sum += in[i];
    return cudaSuccess;
  }
};

}  // namespace cub
