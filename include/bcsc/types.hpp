#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// CUDA's own stream type, named without any CUDA header: a `cudaStream_t` is a `CUstream_st*`.
struct CUstream_st;

#pragma GCC visibility push(default)
namespace bcsc {

/// A `cudaStream_t`. Null is the default stream; CPU contexts ignore it.
using cuda_stream = CUstream_st*;

/// The types a matrix value may have; pattern: none, an entry is present or absent.
enum class value_type : std::uint8_t { fp32, fp64, fp16, bf16, pattern };
inline constexpr value_type all_value_types[] = {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16,
                                                 value_type::pattern};

/// The types an index may have.
enum class index_type : std::uint8_t { int32, int64 };
inline constexpr index_type all_index_types[] = {index_type::int32, index_type::int64};

/// The order in which a dense matrix lies in memory.
enum class layout : std::uint8_t { row_major, col_major };

/// op(A) in C = alpha * op(A) * B + beta * C.
enum class op : std::uint8_t { none, transpose };

/// Where a pointer's memory lies.
enum class memory_space : std::uint8_t { host, device };

/// What computes a product.
enum class backend : std::uint8_t { cpu, cuda };

/// Whether the arrays given to a constructor are checked (and, where that is possible, put in order) or trusted.
enum class trust : std::uint8_t { validate, trusted };

/// Types with arithmetic of their own. A sparse matrix may hold more (`element` in elements.hpp), products take more
/// (`number`).
template <class T>
concept value = std::same_as<T, float> || std::same_as<T, double>;

template <class I>
concept index = std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>;

template <index I>
inline constexpr index_type index_type_of = std::same_as<I, std::int32_t> ? index_type::int32 : index_type::int64;

/// "fp32", "fp64", "fp16", "bf16" or "pattern".
constexpr std::string_view to_string(value_type type) noexcept {
  constexpr std::string_view names[] = {"fp32", "fp64", "fp16", "bf16", "pattern"};
  return names[static_cast<std::size_t>(type)];
}
/// "int32" or "int64".
constexpr std::string_view to_string(index_type type) noexcept { return type == index_type::int32 ? "int32" : "int64"; }
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

/// Bytes of one index of `type`.
constexpr std::int64_t size_of(index_type type) noexcept { return type == index_type::int32 ? 4 : 8; }

}  // namespace bcsc
#pragma GCC visibility pop
