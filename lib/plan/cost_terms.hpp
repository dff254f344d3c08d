#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "bcsc/analysis.hpp"
#include "bcsc/registry.hpp"
#include "core/checked.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/row_stream/operand.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"

/// What the time of a product on a GPU is made of. A config has a cost for each term, in us, fitted to
/// measurements (bench/fit_choice, measured_costs.hpp); its time is their sum. One definition for the plan and the fit.
namespace bcsc::plan {

/// A product, as far as its time goes.
struct product_shape {
  std::int64_t rows = 0, inner = 0, nnz = 0;  ///< of op(A)
  std::int64_t cols = 0;                      ///< N
  std::int64_t value_bytes = 4;
  std::int64_t shared_nnzc = 0;  ///< non-empty columns of blocks of 16 rows: what rows beside each other read of B
  std::int64_t longest_row = 0;  ///< entries
  bool pads_b = false;           ///< rows of B begin on 16 bytes whatever N is
  int multiprocessors = 0;       ///< 0: not known

  /// Bytes of a row of B that move at once: a power of two, at most 16.
  std::int64_t bytes_at_once() const {
    if (pads_b) return 16;
    const std::int64_t row_bytes = cols * value_bytes;
    return std::min<std::int64_t>(row_bytes & -row_bytes, 16);
  }
};

enum class cost_term {
  once,        ///< 1: starting
  gathered,    ///< MB of B that row blocks read
  far,         ///< the same times log2(B / 4 MB): the caches hold less of it
  shared,      ///< MB of B that blocks of 16 rows read: the L1 serves what neighbours have in common
  padded,      ///< MB that would have been read for columns past N
  dense,       ///< MB of B and C
  begun,       ///< thousands of row blocks times tiles: beginning and storing one
  steps,       ///< thousands of non-empty columns times tiles: A, and what an entry costs whatever its width
  chain,       ///< steps of the heaviest piece, one after the other
  split,       ///< 1 if pieces have to be added up
  idle,        ///< gathered MB that the places which the last wave of thread blocks leaves empty could have read
  idle_steps,  ///< and the steps that they could have taken
};
inline constexpr std::size_t num_cost_terms = 12;
using cost_terms = std::array<double, num_cost_terms>;

/// What the last wave of thread blocks leaves empty, as a share of the work; 0 where all find a place at once, and
/// where `kernel` does not tell. `pieces` of A, fewer than 2^31, for each of `tiles`, a million at the most.
inline double idle_share(const kernel_info& kernel, int multiprocessors, std::int64_t pieces, std::int64_t tiles) {
  const std::int64_t places = std::int64_t{multiprocessors} * kernel.resident_blocks;
  if (places == 0 || kernel.teams == 0) return 0;
  const std::int64_t rounds = core::ceil_div(pieces, std::int64_t{kernel.teams}) * tiles;
  const std::int64_t depth = kernels::depth_for(rounds, places, kernel.depth);
  const std::int64_t blocks = core::ceil_div(pieces, depth * kernel.teams) * tiles;
  if (blocks <= places) return 0;
  return static_cast<double>(core::ceil_div(blocks, places) * places) / static_cast<double>(blocks) - 1;
}

/// `s`: A at the kernel's height. `tile_cols`: of its tiles; fewer where it reads B in place.
inline cost_terms cost_terms_of(const product_shape& p, const kernel_info& kernel, int tile_cols,
                                const block_statistics& s) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double tiles = std::ceil(number(p.cols) / tile_cols);
  const double row_mb = 1e-6 * number(p.cols * p.value_bytes);
  const double b_mb = number(p.inner) * row_mb;
  const double gathered = number(s.nnzc) * row_mb;
  constexpr double near_mb = 4;

  // The heaviest row block in steps, and the pieces it is cut into, if it is.
  double heaviest = 0, most = 0, piece = 0, idle = 0;
  if (kernel.algorithm == "mma") {
    const double mean = number(s.nnzc) / std::max(1.0, number(s.num_row_blocks));
    heaviest = std::min(mean * s.skew, number(s.max_block_nnz)) / forms::mma_tile_columns;
    most = piece = number(forms::max_groups_for(s.nnzc));
  } else {
    const auto cut = forms::cut_for(p.rows, p.nnz, p.cols, kernel.columns_at_once);
    heaviest = number(s.max_block_nnz) / kernel.columns_at_once;
    most = number(cut.split) / kernel.columns_at_once;
    piece = number(cut.max_piece()) / kernel.columns_at_once;
    // The number of entries in heavy rows is not known. The estimate is too high where rows are long and none is cut;
    // without it there the choice is no better (docs/history, 49).
    constexpr double many_tiles = 1e6;  // among so many the last wave does not count
    idle = idle_share(kernel, p.multiprocessors, std::max(p.rows, p.nnz / cut.max_piece()),
                      static_cast<std::int64_t>(std::min(tiles, many_tiles)));
  }

  cost_terms terms{};
  const auto set = [&](cost_term term, double value) { terms[static_cast<std::size_t>(term)] = value; };
  set(cost_term::once, 1);
  set(cost_term::gathered, gathered);
  set(cost_term::far, gathered * std::max(0.0, std::log2(std::max(b_mb, 1e-9) / near_mb)));
  set(cost_term::shared, (p.shared_nnzc > 0 ? number(p.shared_nnzc) : number(s.nnzc)) * row_mb);
  set(cost_term::padded, number(s.nnzc) * (tiles * tile_cols - number(p.cols)) * 1e-6 * number(p.value_bytes));
  set(cost_term::dense, number(p.rows + p.inner) * row_mb);
  set(cost_term::begun, 1e-3 * number(s.num_row_blocks) * tiles);
  set(cost_term::steps, 1e-3 * number(s.nnzc) * tiles);
  set(cost_term::chain, heaviest > most ? piece : heaviest);
  set(cost_term::split, heaviest > most ? 1 : 0);
  set(cost_term::idle, idle * gathered);
  set(cost_term::idle_steps, idle * 1e-3 * number(s.nnzc) * tiles);
  return terms;
}

}  // namespace bcsc::plan
