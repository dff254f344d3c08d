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
};

/// Which part of the parameter space is built (meson option kernel_space).
enum class space : int { few = 0, tuned = 1, full = 2 };
inline constexpr space built_space = static_cast<space>(BCSC_KERNEL_SPACE);

/// What a row keeps of its values. full: results within the error bound of its type; tf32: values are rounded to 10
/// bits of mantissa before they are multiplied, which only a caller may allow.
enum class accuracy { full, tf32 };

/// The most dynamic shared memory a thread block of sm_90 can ask for (227 KiB).
inline constexpr std::int64_t max_shared_bytes = 227 * 1024;

/// `configs`, each once for fp32 and once for fp64 where the row is valid. A row is an aggregate that says by itself
/// how large its tile is (tile_rows, tile_cols), what it needs (block_threads, shared_bytes, index_width), how it steps
/// (columns_at_once, num_stages), what it is called (label) and whether its numbers make sense (valid).
template <class Row, std::size_t N>
consteval std::size_t count_rows(const std::array<Row, N>& configs) {
  std::size_t count = 0;
  for (Row row : configs) {
    for (value_type type : {value_type::fp32, value_type::fp64}) {
      row.type = type;
      if (row.valid()) ++count;
    }
  }
  return count;
}

template <std::size_t Count, class Row, std::size_t N>
consteval std::array<Row, Count> expand_rows(const std::array<Row, N>& configs) {
  std::array<Row, Count> rows{};
  std::size_t at = 0;
  for (value_type type : {value_type::fp32, value_type::fp64}) {
    for (Row row : configs) {
      row.type = type;
      if (row.valid()) rows[at++] = row;
    }
  }
  return rows;
}

}  // namespace bcsc::kernels::tables
