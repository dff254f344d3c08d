#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// CUDA's own stream type, named without any CUDA header: a `cudaStream_t` is a `CUstream_st*`.
struct CUstream_st;

namespace bcsc {

/// A `cudaStream_t`. Null is the default stream; CPU contexts ignore it.
using cuda_stream = CUstream_st*;

/// The types a matrix value may have.
enum class value_type : std::uint8_t { fp32, fp64 };

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

template <class T>
concept value = std::same_as<T, float> || std::same_as<T, double>;

template <class I>
concept index = std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>;

template <value T>
inline constexpr value_type value_type_of = std::is_same_v<T, float> ? value_type::fp32 : value_type::fp64;

/// "fp32" or "fp64".
constexpr std::string_view to_string(value_type type) noexcept { return type == value_type::fp32 ? "fp32" : "fp64"; }
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

/// Bytes of one value of `type`.
constexpr std::int64_t size_of(value_type type) noexcept { return type == value_type::fp32 ? 4 : 8; }

}  // namespace bcsc
