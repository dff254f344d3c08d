#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/tables/config.hpp"

/// The CPU's algorithms (kernels/cpu/isa/spmm_isa.cpp). They share one kind of config. How many vector registers a tile
/// takes is the instruction set's business: a tile that does not fit is done in several passes.
///
/// rows     one row of C at a time, its n_tile columns in registers: m_block = 1, where BCSC is CSR. The only one for
///          fp16 and bf16.
/// blocks   m_tile rows of C at a time in registers; each non-empty column is expanded to m_tile values, so that a
///          row of B is loaded once for all of them: for m_block = m_tile where the columns are nearly full.
/// slices   16 or 8 rows side by side, a lane of a vector each (kernels/forms/row_slices): for N = 1, where a row of C
///          does not fill a vector. More columns are multiplied as `rows` does, slice by slice. fp32 and fp64, 32-bit
///          indices.
/// columns  the m_tile x n_tile tile of C lies in an L1 scratch; a slice of a row of B stays in registers for all
///          non-zeros of its column: for tall blocks whose columns are far from full.
namespace bcsc::kernels::tables {

struct cpu_config {
  int m_tile;      ///< rows of C a tile holds
  int n_tile;      ///< columns of C done before the next non-zeros of A are read: the slice of B that stays in cache
  int index_bits;  ///< 64: for matrices whose sizes or non-zeros do not fit 32 bits
  value_type type;

  constexpr std::int64_t shared_bytes() const { return 0; }
  constexpr int tile_rows() const { return m_tile; }
  constexpr int tile_cols() const { return n_tile; }
  constexpr int block_threads() const { return 0; }
  constexpr int columns_at_once() const { return 1; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return index_bits; }
  constexpr std::int64_t tile_bytes() const { return std::int64_t{m_tile} * n_tile * size_of(type); }
  std::string label(const char* algorithm) const {
    return std::string(algorithm) + "-m" + std::to_string(m_tile) + "-n" + std::to_string(n_tile) +
           (index_bits == 64 ? "-i64" : "");
  }
};

/// The most stack a tile of C may take: together with the slices of B it has to stay in a 32 KiB L1.
inline constexpr std::int64_t max_cpu_scratch_bytes = 32 * 1024;
/// The most rows of C whose accumulators fit the vector registers (16 of them on the smallest instruction set).
inline constexpr int max_register_rows = 8;

struct cpu_rows_config : cpu_config {
  std::string label() const { return cpu_config::label("rows"); }
  constexpr bool valid() const { return m_tile == 1 && n_tile >= 16 && n_tile % 16 == 0; }
};

struct cpu_blocks_config : cpu_config {
  std::string label() const { return cpu_config::label("blocks"); }
  constexpr bool valid() const {
    return m_tile >= 2 && m_tile <= max_register_rows && n_tile >= 16 && n_tile % 16 == 0;
  }
};

struct cpu_slices_config : cpu_config {
  std::string label() const { return "slices"; }
  constexpr bool valid() const { return m_tile == 1; }
};

struct cpu_columns_config : cpu_config {
  std::string label() const { return cpu_config::label("columns"); }
  constexpr bool valid() const {
    return m_tile >= 1 && n_tile >= 16 && n_tile % 16 == 0 && tile_bytes() <= max_cpu_scratch_bytes;
  }
};

inline constexpr std::array any_indices{32, 64};

/// Every pair of an m_tile and an n_tile, for indices of so many bits.
template <class Row, std::size_t Ms, std::size_t Ns, std::size_t Bits = 2>
consteval auto cpu_grid(const std::array<int, Ms>& m_tiles, const std::array<int, Ns>& n_tiles,
                        const std::array<int, Bits>& widths = any_indices) {
  std::array<Row, Bits * Ms * Ns> grid{};
  std::size_t at = 0;
  for (int index_bits : widths) {
    for (int m : m_tiles) {
      for (int n : n_tiles) grid[at++] = Row{{m, n, index_bits, {}}};
    }
  }
  return grid;
}

consteval auto cpu_rows_configs() {
  using list = std::array<int, 1>;
  if constexpr (built_space == space::few) {
    return cpu_grid<cpu_rows_config>(list{1}, std::array{128});
  } else {
    return cpu_grid<cpu_rows_config>(list{1}, std::array{32, 64, 128, 256, 512});
  }
}

/// Of fp16 and bf16. The columns of a pass are what matters, and do not follow n_tile.
consteval auto cpu_narrow_rows_configs() {
  using list = std::array<int, 1>;
  if constexpr (built_space == space::few) {
    return cpu_grid<cpu_rows_config>(list{1}, std::array{128});
  } else {
    return cpu_grid<cpu_rows_config>(list{1}, std::array{128, 512});
  }
}

/// For 32-bit indices alone: a third of the CPU kernels' code would be for matrices of 2^31 entries and more, where
/// rows and columns serve.
consteval auto cpu_blocks_configs() {
  using bits = std::array<int, 1>;
  if constexpr (built_space == space::few) {
    return cpu_grid<cpu_blocks_config>(std::array{3, 4}, std::array{128}, bits{32});
  } else {
    return cpu_grid<cpu_blocks_config>(std::array{2, 3, 4, 6, 8}, std::array{32, 64, 128, 512}, bits{32});
  }
}

consteval auto cpu_columns_configs() {
  if constexpr (built_space == space::few) {
    return cpu_grid<cpu_columns_config>(std::array{32}, std::array{64});
  } else {
    return cpu_grid<cpu_columns_config>(std::array{4, 8, 16, 32, 64}, std::array{32, 64, 128});
  }
}

struct cpu_rows : algorithm {
  static constexpr const char* name = "rows";
  static constexpr bool deterministic = true;
  static constexpr auto configs = join(
      expand_configs<count_configs(cpu_rows_configs())>(cpu_rows_configs()),
      expand_configs<count_configs(cpu_narrow_rows_configs(), narrow_types)>(cpu_narrow_rows_configs(), narrow_types));
};

struct cpu_slices : algorithm {
  static constexpr const char* name = "slices";
  static constexpr bool deterministic = true;
  static constexpr operand_form form = operand_form::row_slices;
  static constexpr auto configs = expand_configs<2>(std::array{cpu_slices_config{{1, 128, 32, {}}}});
};

struct cpu_blocks : algorithm {
  static constexpr const char* name = "blocks";
  static constexpr bool deterministic = true;
  static constexpr auto configs = expand_configs<count_configs(cpu_blocks_configs())>(cpu_blocks_configs());
};

struct cpu_columns : algorithm {
  static constexpr const char* name = "columns";
  static constexpr bool deterministic = true;
  static constexpr auto configs = expand_configs<count_configs(cpu_columns_configs())>(cpu_columns_configs());
};

}  // namespace bcsc::kernels::tables
