#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "bcsc/types.hpp"
#include "bcsc_config.h"
#include "kernels/forms/product_args.hpp"

/// What the tables have in common. One table per algorithm; a config is one tuned instance; everything that enumerates
/// kernels (instantiation shards, registry, tuner, tests, benchmarks, docs) reads these arrays.
namespace bcsc::kernels::tables {

/// What the tag of a table says of all its configs.
struct algorithm {
  static constexpr operand_form form = operand_form::compact;
  static constexpr bool transposes = false;     ///< multiplies by A'
  static constexpr int compute_capability = 0;  ///< runs on this one alone, as 10 * major + minor; 0: on any
  static constexpr bool batches = false;        ///< starts all members of a batch (batch_strides) at once
  /// Multiplies no zero that A does not store, or takes back what that spoils (kernel_info::stored_entries_only).
  static constexpr bool stored_entries_only = true;
};

/// Which part of the parameter space is built (meson option kernel_space).
enum class space : int { few = 0, tuned = 1, full = 2 };
inline constexpr space built_space = static_cast<space>(BCSC_KERNEL_SPACE);

/// What a config keeps of its values. full: results within the error bound of its type; tf32: values are rounded to 10
/// bits of mantissa before they are multiplied, which only a caller may allow.
enum class accuracy { full, tf32 };

/// The maximum dynamic shared memory a thread block of sm_90 can ask for (227 KiB).
inline constexpr std::int64_t max_shared_bytes = 227 * 1024;

/// The types that most configs come in, and those of configs with 16-bit values and fp32 sums.
inline constexpr std::array<value_type, 2> wide_types{value_type::fp32, value_type::fp64};
inline constexpr std::array<value_type, 2> narrow_types{value_type::fp16, value_type::bf16};

constexpr bool is_narrow(value_type type) { return type == value_type::fp16 || type == value_type::bf16; }
/// Bytes of a sum of products.
constexpr int bytes_of_sum(value_type type) { return is_narrow(type) ? 4 : static_cast<int>(size_of(type)); }

/// Minimum resident thread blocks per multiprocessor, the second argument of __launch_bounds__: it caps registers.
struct min_blocks_by_size {
  int of_4_bytes = 1;  ///< for values of 4 or 2 bytes
  int of_8_bytes = 1;

  constexpr int of(value_type type) const { return size_of(type) == 8 ? of_8_bytes : of_4_bytes; }
  constexpr bool valid() const { return of_4_bytes >= 1 && of_4_bytes <= 32 && of_8_bytes >= 1 && of_8_bytes <= 32; }
};

/// As many as fit by registers(), a config's estimate: for grids of configs that nobody has tuned.
template <class Config>
constexpr int blocks_by_registers(Config config, value_type type) {
  config.type = type;
  const int allocated = (config.registers() + 7) / 8 * 8;
  return std::clamp(65536 / (allocated * config.block_threads()), 1, 2048 / config.block_threads());
}
template <class Config>
constexpr Config with_blocks_by_registers(Config config) {
  config.min_blocks = {blocks_by_registers(config, value_type::fp32), blocks_by_registers(config, value_type::fp64)};
  return config;
}

/// The values that a config's numbers may take.
constexpr bool power_of_two_up_to(int value, int most) {
  return value >= 1 && value <= most && (value & (value - 1)) == 0;
}

/// `some`, each once for each of `types` for which it is valid. A config is an aggregate that says how large its tile
/// is (tile_rows, tile_cols), what it needs (block_threads, shared_bytes, index_width), how it steps (columns_at_once,
/// num_stages), what it is called (label) and whether its numbers make sense (valid).
template <class Config, std::size_t N>
consteval std::size_t count_configs(const std::array<Config, N>& some,
                                    const std::array<value_type, 2>& types = wide_types) {
  std::size_t count = 0;
  for (Config config : some) {
    for (value_type type : types) {
      config.type = type;
      if (config.valid()) ++count;
    }
  }
  return count;
}

template <std::size_t Count, class Config, std::size_t N>
consteval std::array<Config, Count> expand_configs(const std::array<Config, N>& some,
                                                   const std::array<value_type, 2>& types = wide_types) {
  std::array<Config, Count> all{};
  std::size_t at = 0;
  for (value_type type : types) {
    for (Config config : some) {
      config.type = type;
      if (config.valid()) all[at++] = config;
    }
  }
  return all;
}

/// Two lists, one after the other.
template <class Config, std::size_t N, std::size_t M>
consteval std::array<Config, N + M> join(const std::array<Config, N>& first, const std::array<Config, M>& then) {
  std::array<Config, N + M> all{};
  for (std::size_t i = 0; i < N; ++i) all[i] = first[i];
  for (std::size_t i = 0; i < M; ++i) all[N + i] = then[i];
  return all;
}

}  // namespace bcsc::kernels::tables
