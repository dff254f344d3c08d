#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// CUDA's own stream type, named without any CUDA header: a `cudaStream_t` is a `CUstream_st*`.
struct CUstream_st;

namespace bcsc {

/// A `cudaStream_t`. Null is the default stream; CPU contexts ignore it.
using cuda_stream = CUstream_st*;

/// The types a matrix value may have; pattern: none, an entry is there or it is not.
enum class value_type : std::uint8_t { fp32, fp64, fp16, bf16, pattern };

/// The order in which a dense matrix lies in memory.
enum class layout : std::uint8_t { row_major, col_major };

/// op(A) in C = alpha * op(A) * B + beta * C.
enum class op : std::uint8_t { none, transpose };

/// Where a pointer's memory lies.
enum class memory_space : std::uint8_t { host, device };

/// Who multiplies.
enum class backend : std::uint8_t { cpu, cuda };

/// Whether the arrays given to a constructor are checked (and, where that is possible, put in order) or believed.
enum class trust : std::uint8_t { validate, trusted };

/// What the kernels compute with. A sparse matrix may hold more: `element` in elements.hpp.
template <class T>
concept value = std::same_as<T, float> || std::same_as<T, double>;

template <class I>
concept index = std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>;

/// "fp32", "fp64", "fp16", "bf16" or "pattern".
constexpr std::string_view to_string(value_type type) noexcept {
  constexpr std::string_view names[] = {"fp32", "fp64", "fp16", "bf16", "pattern"};
  return names[static_cast<std::size_t>(type)];
}
/// "row-major" or "col-major".
constexpr std::string_view to_string(layout order) noexcept {
  return order == layout::row_major ? "row-major" : "col-major";
}
/// "cpu" or "cuda".
constexpr std::string_view to_string(backend where) noexcept { return where == backend::cpu ? "cpu" : "cuda"; }
/// "host" or "device".
constexpr std::string_view to_string(memory_space space) noexcept {
  return space == memory_space::host ? "host" : "device";
}

/// Bytes of one value of `type`; 0 for a pattern.
constexpr std::int64_t size_of(value_type type) noexcept {
  constexpr std::int64_t bytes[] = {4, 8, 2, 2, 0};
  return bytes[static_cast<std::size_t>(type)];
}

}  // namespace bcsc
