#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/registry.hpp"
#include "core/checked.hpp"
#include "core/cpu_caches.hpp"
#include "kernels/forms/block_slices/layout.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/row_stream/operand.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"

/// What the time of a product is made of. A config has a cost for each term, in us, fitted to measurements
/// (bench/fit_choice, lib/choice/costs); its time is their sum. One definition for the plan and the fit.
namespace bcsc::choice {

/// Rows of B that row blocks of `height` rows of A read, each by itself: BCSC's non-empty columns.
struct rows_read {
  std::int64_t height = 0, of_b = 0;
};

/// What the time of a product depends on.
struct product_shape {
  std::int64_t rows = 0, inner = 0, nnz = 0;  ///< of op(A)
  std::int64_t cols = 0;                      ///< N
  std::int64_t value_bytes = 4;
  std::int64_t shared_nnzc = 0;  ///< non-empty columns of blocks of 16 rows: what rows beside each other read of B
  std::int64_t longest_row = 0;  ///< entries
  bool pads_b = false;           ///< rows of B begin on 16-byte boundaries whatever N is
  bool in_place = false;         ///< a GPU reads a column-major B as it lies
  sectors_by_lanes sectors_per_entry = {};     ///< pattern_statistics's; 0: not known
  int multiprocessors = 0;                     ///< 0: not known
  std::vector<rows_read> read_by_height = {};  ///< by height; for a CPU
  core::cpu_caches caches = {};

  /// Bytes of a row of B that move at once: a power of two, at most 16.
  std::int64_t bytes_at_once() const {
    if (pads_b) return 16;
    const std::int64_t row_bytes = cols * value_bytes;
    return std::min<std::int64_t>(row_bytes & -row_bytes, 16);
  }
};

/// On a GPU.
enum class cost_term {
  once,        ///< 1: starting
  gathered,    ///< MB of B that row blocks read
  far,         ///< the same times log2(B / 4 MB): the caches hold less of it. Of slices for several columns the MB of
               ///< sectors times log2(a tile's columns of B / 128 KB), which L1 may hold
  shared,      ///< MB of B that blocks of 16 rows read: the L1 serves what neighbours have in common. Of slices for
               ///< several columns MB of sectors that warps read
  padded,      ///< MB that would have been read for columns past N
  dense,       ///< MB of B and C
  begun,       ///< thousands of row blocks times tiles: beginning and storing one
  steps,       ///< thousands of non-empty columns times tiles: A, and what an entry costs whatever its width
  chain,       ///< steps of the heaviest piece, one after the other
  split,       ///< 1 if pieces have to be added up, less where thread blocks add their own; where a thread adds a row
               ///< block's in turn, one more for every 16 of the heaviest
  idle,        ///< gathered MB that the places which the last wave of thread blocks leaves empty could have read
  idle_steps,  ///< and the steps that they could have taken
  /// In its place for fma, whose plain cores take each entry by itself: thousands of non-zeros times tiles.
  multiplied = idle_steps,
};
inline constexpr std::size_t num_cost_terms = 12;
using cost_terms = std::array<double, num_cost_terms>;

/// Sectors of a column of B that a warp of slices reads for each column of a row block. Lanes are a row block apart:
/// where rows follow each other, higher ones are farther from each other.
inline double sectors_per_column(const kernel_info& slices, const sectors_by_lanes& per_entry) {
  const auto by_lanes = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(slices.columns_at_once)));
  return std::min(1.0, slices.m_tile * per_entry[by_lanes]);
}

/// us, as the terms say, but never less than `min_us`.
inline double us_by_terms(double min_us, const cost_terms& us, const cost_terms& terms) {
  return std::max(min_us, std::inner_product(terms.begin(), terms.end(), us.begin(), 0.0));
}

/// What the last wave of thread blocks leaves idle, as a share of the work; 0 where all fit at once, and where `kernel`
/// does not say. `pieces` of A, fewer than 2^31, for each of `tiles`, a million at the most; short ones as
/// kernels::depth_for_short() says.
inline double idle_share(const kernel_info& kernel, int multiprocessors, std::int64_t pieces, std::int64_t tiles,
                         bool are_short = false) {
  const std::int64_t places = std::int64_t{multiprocessors} * kernel.resident_blocks;
  if (places == 0 || kernel.teams == 0) return 0;
  const std::int64_t rounds = core::ceil_div(pieces, std::int64_t{kernel.teams}) * tiles;
  const std::int64_t depth = are_short ? kernels::depth_for_short(rounds, places, kernel.depth)
                                       : kernels::depth_for(rounds, places, kernel.depth);
  const std::int64_t blocks = core::ceil_div(pieces, depth * kernel.teams) * tiles;
  if (blocks <= places) return 0;
  return static_cast<double>(core::ceil_div(blocks, places) * places) / static_cast<double>(blocks) - 1;
}

inline cost_terms gpu_cost_terms_of(const product_shape& p, const kernel_info& kernel, int tile_cols,
                                    const block_statistics& s) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double tiles = std::ceil(number(p.cols) / tile_cols);
  const double row_mb = 1e-6 * number(p.cols * p.value_bytes);
  const double b_mb = number(p.inner) * row_mb;
  const double gathered = number(s.nnzc) * row_mb;
  constexpr double near_mb = 4;

  // The heaviest row block in steps, and the pieces it is cut into, if it is.
  double heaviest = 0, most = 0, piece = 0, adds = 1;
  std::int64_t shared_out = s.num_row_blocks;  // among teams
  bool adds_in_turn = false, are_short = false;
  constexpr double in_one_block = 0.2;  // what it costs to add pieces up there, of what it costs elsewhere
  constexpr double many_tiles = 1e6;    // among so many the last wave does not count
  const auto few_tiles = static_cast<std::int64_t>(std::min(tiles, many_tiles));
  const double longest = number(s.max_block_nnzc);
  if (kernel.algorithm == "mma" || kernel.algorithm == "staged" || kernel.algorithm == "wgmma") {
    heaviest = std::ceil(longest / forms::mma_tile_columns);
    adds_in_turn = true;
    if (kernel.algorithm == "mma") {
      const forms::mma_tiles_options cut = forms::mma_cut_for(s.nnzc);
      piece = number(cut.max_groups);
      most = number(cut.max_whole);
    } else {
      most = number(
          forms::max_staged_groups_for(s.nnzc, s.num_row_blocks, core::ceil_div(p.cols, std::int64_t{tile_cols})));
      piece = heaviest / std::max(1.0, std::ceil(heaviest / most));  // all are about as long
    }
  } else if (kernel.algorithm == "fma") {
    heaviest = most = longest / kernel.columns_at_once;
  } else if (kernel.algorithm == "sliced") {
    // As if two warps of a thread block took the longest: divided among all that do, the term cannot be told from
    // `shared` in the fit (docs/history, 126 and 132).
    const double steps = longest / forms::block_slice_lanes;
    const bool by_cluster =
        forms::clusters_pay(longest > number(forms::longest_of_thread_block) ? 1 : 0, static_cast<std::int64_t>(steps),
                            s.nnzc / forms::block_slice_lanes, static_cast<std::int64_t>(few_tiles));
    const double warps_counted = by_cluster ? 16 : 2;
    // Of those that share a slice nothing is known where longer ones have slices of their own: four times the mean was
    // the best guess.
    const double mean = number(s.nnzc) / std::max(1.0, number(s.num_row_blocks));
    const double most_shared = number(forms::longest_shared_block(s.nnzc, s.num_row_blocks));
    const double shared = longest <= most_shared ? longest : std::min(most_shared, 4 * mean);
    heaviest = most = std::max(shared / kernel.columns_at_once, steps / warps_counted);
    are_short = tile_cols == 1 && forms::slices_are_short(mean / kernel.columns_at_once);
  } else {
    const auto cut = forms::cut_for(p.rows, p.nnz, p.cols, kernel.columns_at_once, kernel.teams);
    heaviest = number(s.max_block_nnz) / kernel.columns_at_once;
    most = number(cut.split) / kernel.columns_at_once;
    piece = std::max(most, heaviest / number(cut.cut().pieces(s.max_block_nnz)));
    adds = cut.cut().is_heavy(s.max_block_nnz) ? 1 : in_one_block;
    // The number of entries in heavy rows is not known. The estimate is too high where rows are long and none is cut;
    // without it there the choice is no better (docs/history, 49).
    shared_out = std::max(p.rows, p.nnz / cut.max_piece());
  }
  const double idle = idle_share(kernel, p.multiprocessors, shared_out, few_tiles, are_short);

  cost_terms terms{};
  const auto set = [&](cost_term term, double value) { terms[static_cast<std::size_t>(term)] = value; };
  set(cost_term::once, 1);
  set(cost_term::gathered, gathered);
  const auto far = [](double mb, double near) { return std::max(0.0, std::log2(std::max(mb, 1e-9) / near)); };
  if (kernel.algorithm == "sliced" && p.cols > 1) {
    constexpr double sector_bytes = 32, near_l1_mb = 0.128;
    const double sectors = number(s.nnzc) * sectors_per_column(kernel, p.sectors_per_entry);
    const double sector_mb = 1e-6 * sector_bytes * sectors * number(p.cols);
    set(cost_term::far, sector_mb * far(b_mb * std::min(1.0, tile_cols / number(p.cols)), near_l1_mb));
    set(cost_term::shared, sector_mb);
  } else {
    set(cost_term::far, gathered * far(b_mb, near_mb));
    set(cost_term::shared, (p.shared_nnzc > 0 ? number(p.shared_nnzc) : number(s.nnzc)) * row_mb);
  }
  set(cost_term::padded, number(s.nnzc) * (tiles * tile_cols - number(p.cols)) * 1e-6 * number(p.value_bytes));
  set(cost_term::dense, number(p.rows + p.inner) * row_mb);
  set(cost_term::begun, 1e-3 * number(s.num_row_blocks) * tiles);
  set(cost_term::steps, 1e-3 * number(s.nnzc) * tiles);
  set(cost_term::chain, heaviest > most ? piece : heaviest);
  constexpr double in_turn = 16;  // pieces, which take as long to add as adding takes to start
  set(cost_term::split, heaviest > most ? adds + (adds_in_turn ? heaviest / piece / in_turn : 0) : 0);
  set(cost_term::idle, idle * gathered);
  if (kernel.algorithm == "fma") {
    set(cost_term::multiplied, 1e-3 * number(p.nnz) * tiles);
  } else {
    set(cost_term::idle_steps, 1e-3 * idle * number(s.nnzc) * tiles);
  }
  return terms;
}

/// On a CPU. Vectors are 64 bytes of a row of B or C. A pass is one of the kernel's tiles of columns: A is read in
/// each.
enum class cpu_cost_term {
  once,         ///< 1: starting
  entries,      ///< thousands of non-zeros, in each pass
  products,     ///< thousands of vectors that non-zeros multiply
  columns,      ///< thousands of non-empty columns of row blocks, in each pass
  gathered,     ///< thousands of vectors of B that row blocks read
  from_l2,      ///< thousands of cache lines of B that L1 does not hold
  from_l3,      ///< that L2 does not hold
  from_memory,  ///< that L3 does not hold
  rows,         ///< thousands of vectors of C
  blocks,       ///< thousands of row blocks, in each pass
  streamed,     ///< MB of A in each pass, if L2 does not hold it
  written,      ///< MB of C, if L3 does not hold it
};
static_assert(static_cast<std::size_t>(cpu_cost_term::written) < num_cost_terms);

/// The costs that the configs of one algorithm and height share on a CPU, whatever their n_tile and type: those differ
/// in the terms. "vector": rows at N = 1, where it is another kernel.
struct cpu_family {
  std::string algorithm;
  int m_tile;
  double min_us;  ///< it never took less
  cost_terms us;
};

/// Vectors for `bytes` of a row; of a single one a half or a quarter is loaded where that is enough.
inline double vectors_for(double bytes) { return bytes <= 16 ? 0.25 : bytes <= 32 ? 0.5 : std::ceil(bytes / 64); }

/// How many rows of B, of `row_bytes` each, a cache has to fetch while A is walked through once. It keeps what rows of
/// A beside each other read, for as many of them as it has room for; p.read_by_height says how much that is up to some
/// height, and beyond it the last trend is continued.
inline double fetched_rows(const product_shape& p, double row_bytes, double cache_bytes) {
  const double rows = std::max(1.0, static_cast<double>(p.rows));
  const double once = static_cast<double>(std::min(p.inner, p.nnz));
  const auto fits = [&](double height, double of_all) { return of_all * height / rows * row_bytes <= cache_bytes; };
  double height = 1, fetched = static_cast<double>(p.nnz), growth = 1;  // growth: of `fetched` by twice the height
  for (const rows_read& read : p.read_by_height) {
    const auto next_height = static_cast<double>(read.height), next = static_cast<double>(read.of_b);
    if (next_height <= height) continue;
    if (!fits(next_height, next)) return std::max(once, fetched);
    growth = std::pow(next / std::max(1.0, fetched), 1 / std::log2(next_height / height));
    height = next_height;
    fetched = next;
  }
  for (; height < rows && fetched > once; height *= 2, fetched *= growth) {
    constexpr double nothing_in_common = 0.99;
    if (growth > nothing_in_common || !fits(2 * height, fetched * growth)) return std::max(once, fetched);
  }
  // All that a pass reads stays; whether it is there from the start depends on what the other passes leave of it.
  const double b_bytes = static_cast<double>(p.inner) * static_cast<double>(p.cols * p.value_bytes);
  return b_bytes <= cache_bytes ? 0 : once;
}

/// What a pass reads of B: slices of its rows.
struct slices_of_b {
  double bytes = 0;   ///< of whole cache lines, of each
  double lines = 0;   ///< of a row of B, over all passes
  double work = 1;    ///< of a pass, relative to that of slices that begin with a line
  double usable = 1;  ///< the share of a cache's sets that they can lie in

  slices_of_b(const product_shape& p, double n_tile, double passes) {
    constexpr std::int64_t line = 64, page = 4096;
    const std::int64_t stride = p.cols * p.value_bytes;
    const double slice = std::min(static_cast<double>(p.cols), n_tile) * static_cast<double>(p.value_bytes);
    // One that begins within a line ends within one.
    const bool cut = stride % line != 0 && stride >= line;
    const double cut_lines = cut ? 0.75 : 0;
    bytes = slice + cut_lines * line;
    lines = stride < line ? 1 : static_cast<double>(stride) / line + cut_lines * passes;
    // Passes meet in a line of B and C: measured at N = 100, where a pass more costs as much as some lines of a row.
    constexpr double lines_of_a_meeting = 4;
    if (cut) work = 1 + lines_of_a_meeting * (passes - 1) * line / static_cast<double>(stride);
    // Rows a multiple of a power of two apart begin in few of the sets.
    const auto apart = static_cast<double>(std::min(stride & -stride, page));
    usable = std::min(1.0, slice / apart);
  }
};

/// Whether a CPU config computes another way than its costs say: `rows` and `blocks` handle heights that they are not
/// made for as `columns` does, in narrow tiles; `slices` are unpacked where there is more than one column.
inline bool takes_a_detour(const kernel_info& kernel, std::int64_t cols, std::int64_t m_block) {
  const bool unpacks = kernel.algorithm == "slices" && cols > 1;
  return unpacks || (kernel.algorithm != "columns" && m_block != kernel.m_tile);
}

inline cost_terms cpu_cost_terms_of(const product_shape& p, const kernel_info& kernel, const block_statistics& s) {
  const auto thousands = [](auto n) { return 1e-3 * static_cast<double>(n); };
  const auto value_bytes = static_cast<double>(p.value_bytes), n = static_cast<double>(p.cols);
  const double passes = std::ceil(n / kernel.n_tile), vectors = vectors_for(n * value_bytes);
  const slices_of_b slices(p, kernel.n_tile, passes);
  // A tile lower than a row block walks through all of the block's columns for its share of the rows.
  const double walks = std::ceil(static_cast<double>(s.m_block) / kernel.m_tile);
  const double a_bytes = static_cast<double>(p.nnz) * (value_bytes + 4);
  const double c_bytes = static_cast<double>(p.rows) * n * value_bytes;
  const auto fetched_lines = [&](std::int64_t cache_bytes) {
    return 1e-3 * slices.lines * fetched_rows(p, slices.bytes, static_cast<double>(cache_bytes) * slices.usable);
  };

  cost_terms terms{};
  const auto set = [&](cpu_cost_term term, double value) { terms[static_cast<std::size_t>(term)] = value; };
  set(cpu_cost_term::once, 1);
  set(cpu_cost_term::entries, thousands(p.nnz) * passes * walks);
  set(cpu_cost_term::products, thousands(p.nnz) * vectors);
  set(cpu_cost_term::columns, thousands(s.nnzc) * passes * walks);
  set(cpu_cost_term::gathered, thousands(s.nnzc) * vectors * walks);
  set(cpu_cost_term::from_l2, fetched_lines(p.caches.l1));
  set(cpu_cost_term::from_l3, fetched_lines(p.caches.l2));
  set(cpu_cost_term::from_memory, fetched_lines(p.caches.l3));
  set(cpu_cost_term::rows, thousands(p.rows) * vectors);
  set(cpu_cost_term::blocks, thousands(s.num_row_blocks) * passes);
  set(cpu_cost_term::streamed, a_bytes > static_cast<double>(p.caches.l2) ? 1e-6 * a_bytes * passes : 0);
  set(cpu_cost_term::written, c_bytes > static_cast<double>(p.caches.l3) ? 1e-6 * c_bytes : 0);
  for (double& term : terms) term *= slices.work;
  return terms;
}

/// `s`: A at the kernel's height. `tile_cols`: of its tiles; fewer where it reads B in place.
inline cost_terms cost_terms_of(const product_shape& p, const kernel_info& kernel, int tile_cols,
                                const block_statistics& s) {
  return kernel.where == backend::cpu ? cpu_cost_terms_of(p, kernel, s) : gpu_cost_terms_of(p, kernel, tile_cols, s);
}

}  // namespace bcsc::choice
