#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bcsc/types.hpp"
#include "bcsc_config.h"
#include "kernels/spmm_args.hpp"

/// What the tables have in common. One table per algorithm; a row is a tuned instance; everything that enumerates
/// kernels (instantiation shards, registry, tuner, tests, benchmarks, docs) reads these arrays.
namespace bcsc::kernels::tables {

/// What the tag of a table says of all its rows.
struct algorithm {
  static constexpr operand_form form = operand_form::compact;
  static constexpr bool batches = false;  ///< starts all members of a batch (batch_strides) at once
  /// Multiplies no zero that A does not store, or takes back what that spoils (kernel_info::stored_entries_only).
  static constexpr bool stored_entries_only = true;
};

/// Which part of the parameter space is built (meson option kernel_space).
enum class space : int { few = 0, tuned = 1, full = 2 };
inline constexpr space built_space = static_cast<space>(BCSC_KERNEL_SPACE);

/// What a row keeps of its values. full: results within the error bound of its type; tf32: values are rounded to 10
/// bits of mantissa before they are multiplied, which only a caller may allow.
enum class accuracy { full, tf32 };

/// The most dynamic shared memory a thread block of sm_90 can ask for (227 KiB).
inline constexpr std::int64_t max_shared_bytes = 227 * 1024;

/// What most rows are made for, and what those whose values are of 16 bits and whose sums are of fp32.
inline constexpr std::array<value_type, 2> wide_types{value_type::fp32, value_type::fp64};
inline constexpr std::array<value_type, 2> narrow_types{value_type::fp16, value_type::bf16};

constexpr bool is_narrow(value_type type) { return type == value_type::fp16 || type == value_type::bf16; }
/// Bytes of a sum of products.
constexpr int bytes_of_sum(value_type type) { return is_narrow(type) ? 4 : static_cast<int>(size_of(type)); }

/// What a number of a row may be.
constexpr bool power_of_two_up_to(int value, int most) {
  return value >= 1 && value <= most && (value & (value - 1)) == 0;
}

/// `configs`, each once for each of `types` where the row is valid. A row is an aggregate that says by itself
/// how large its tile is (tile_rows, tile_cols), what it needs (block_threads, shared_bytes, index_width), how it steps
/// (columns_at_once, num_stages), what it is called (label) and whether its numbers make sense (valid).
template <class Row, std::size_t N>
consteval std::size_t count_rows(const std::array<Row, N>& configs,
                                 const std::array<value_type, 2>& types = wide_types) {
  std::size_t count = 0;
  for (Row row : configs) {
    for (value_type type : types) {
      row.type = type;
      if (row.valid()) ++count;
    }
  }
  return count;
}

template <std::size_t Count, class Row, std::size_t N>
consteval std::array<Row, Count> expand_rows(const std::array<Row, N>& configs,
                                             const std::array<value_type, 2>& types = wide_types) {
  std::array<Row, Count> rows{};
  std::size_t at = 0;
  for (value_type type : types) {
    for (Row row : configs) {
      row.type = type;
      if (row.valid()) rows[at++] = row;
    }
  }
  return rows;
}

/// The rows of two lists, one behind the other.
template <class Row, std::size_t N, std::size_t M>
consteval std::array<Row, N + M> join(const std::array<Row, N>& first, const std::array<Row, M>& then) {
  std::array<Row, N + M> rows{};
  for (std::size_t i = 0; i < N; ++i) rows[i] = first[i];
  for (std::size_t i = 0; i < M; ++i) rows[N + i] = then[i];
  return rows;
}

}  // namespace bcsc::kernels::tables
