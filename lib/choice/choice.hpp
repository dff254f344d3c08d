#pragma once

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/context.hpp"
#include "bcsc/plan.hpp"
#include "converters/formats/grid.hpp"
#include "lib/choice/cost_table.hpp"
#include "lib/choice/cost_terms.hpp"
#include "lib/choice/neighbours.hpp"
#include "lib/choice/registry.hpp"

/// Which kernel, and which m_block, for a matrix: pure functions of its statistics.
namespace bcsc::choice {

/// What the choice is made from.
struct problem {
  backend where = backend::cpu;
  value_type type = value_type::fp32;
  std::int64_t rows = 0, inner = 0, nnz = 0;  ///< of op(A)
  std::int64_t cols = 0;                      ///< N
  int index_bits = 32;                        ///< index_bits_for(rows, inner, nnz)
  bool deterministic = false;
  bool b_is_col_major = false;
  std::int64_t max_shared_bytes = 0;  ///< of a thread block of the device
  int compute_capability = 0;         ///< of the device, as 10 * major + minor
  int num_multiprocessors = 0;
  core::cpu_caches caches = {};
  std::int64_t shared_nnzc = 0, longest_row = 0;  ///< product_shape's; found in the statistics, as are the neighbours
  std::vector<rows_read> read_by_height = {};
  sectors_by_lanes sectors_per_entry = {};                           ///< pattern_statistics's; 0: not known
  double sectors_per_row = 0;                                        ///< converters::column_access's; 0: not known
  std::int64_t farthest = std::numeric_limits<std::int64_t>::max();  ///< likewise; the maximum: not known
  converters::grid grid = {};  ///< whose rows A's are; none where nothing was looked for
  neighbours near = {}, near_in_place = {};
  /// Why there are no dense products; empty: there are.
  std::string no_dense_library = "not looked for";
  const cost_table* costs = nullptr;  ///< null: those that are built in
};

/// Entries of a row, on average, up to which row-wise kernels take rows in bricks: longer ones take their time in L1
/// (docs/history, 84).
inline constexpr std::int64_t max_length_in_bricks = 8;
/// Columns of a tile of `brickwise`, which takes 128 bytes of a row of B.
constexpr std::int64_t cols_of_brick_tile(value_type type) { return 128 / static_cast<std::int64_t>(size_of(type)); }
/// And up to which `brickwise` is considered: its layers hold fewer of the longer rows, and `rowwise` and `fma` find
/// A's entries in L1 for several tiles of columns (110, 113, 115).
constexpr std::int64_t max_length_in_layers(value_type type, std::int64_t cols) {
  constexpr std::int64_t few_cols = 128;
  if (cols <= cols_of_brick_tile(type)) return 28;
  return cols <= few_cols ? 10 : max_length_in_bricks;
}

/// How many thread blocks of `kernel` a GPU holds at once. A multiprocessor has hardly more shared memory than a thread
/// block of it may have.
constexpr std::int64_t places_for(const kernel_info& kernel, int multiprocessors, std::int64_t shared_bytes_per_block) {
  const std::int64_t by_memory = shared_bytes_per_block / std::max<std::int64_t>(1, kernel.shared_bytes);
  return multiprocessors * std::clamp<std::int64_t>(by_memory, 1, std::max(1, kernel.resident_blocks));
}

/// For which numbers of columns a column-major B is read where it lies; all from one power of two to the next are
/// treated alike, and all above the last.
class columns_in_place {
 public:
  /// More were slower on every graph measured, unless MMA tiles share values or slices read neighbouring ones together.
  static constexpr std::int64_t max_gathered = 64;
  bool contains(std::int64_t n) const { return n > 1 && ranges_.test(range_of(n)); }
  void add(std::int64_t n) { ranges_.set(range_of(n)); }  ///< and its whole range; 2 or more
  static bool same_range(std::int64_t n, std::int64_t m) { return range_of(n) == range_of(m); }

 private:
  static constexpr std::size_t last = std::bit_width(static_cast<std::uint64_t>(max_gathered));
  static std::size_t range_of(std::int64_t n) {
    return std::min(last, static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n - 1))));
  }
  std::bitset<last + 1> ranges_;
};

struct decision {
  const registered_kernel* kernel = nullptr;
  std::int64_t m_block = 0;
  std::string reason;
};

/// Of CSR and BCSC: 64 where a size or the number of non-zeros does not fit 32 bits.
int index_bits_for(std::int64_t rows, std::int64_t cols, std::int64_t nnz);

/// Whether what `kernel` reads can hold A of `p`: with indices as wide as CSR's, or as a stream of rows, whose narrower
/// numbers hold more non-zeros.
bool holds(const registered_kernel& kernel, const problem& p);

/// The kernels that run `p` and that `options` (a kernel's name, an algorithm's, or nothing) allow; may be none.
std::vector<const registered_kernel*> allowed(const problem& p, const plan_options& options);

/// Whether `kernel`, if it reads slices, is one of those that a plan considers for so many columns of B by itself; true
/// of every other kernel.
bool suits_columns(const registered_kernel& kernel, std::int64_t cols, bool b_is_col_major);

/// Whether a kernel is left out unless nothing else can compute the product; only for a row-major B or a single column.
/// Costs fitted to other numbers of columns may predict a small fraction of the time (docs/history, 94 and 100). Timed
/// on an H200:
/// - with 1 to 4 columns, kernels on tiles of B were never the fastest (648 products);
/// - with more than four tiles of columns, teams of one or two threads were never within 3 % of it (2493 products), and
///   MMA tiles of 16 columns faster in 2 of 537, of 65 and 129 columns.
bool is_passed_over(const registered_kernel& kernel, std::int64_t cols, bool b_is_col_major);

/// Those that a plan chooses among; unless the options name a kernel, only configs with measured costs, if there are
/// any, and none that is_passed_over(), if there are others. Throws error{no_such_kernel} that says what there is, if
/// none is left, error{unsupported} if A is too large for the form of the kernel named.
std::vector<const registered_kernel*> candidates(const problem& p, const plan_options& options);

/// The kernels of transposing_registry() that compute `p` with A' in place of A, from A as stored for `kernel`; `p` is
/// the product that A is stored for.
std::vector<const registered_kernel*> transposing(const problem& p, const registered_kernel& kernel);

/// The one of them for N = p.cols: nothing is measured here, so it is the one whose tile and step fit best.
const registered_kernel* choose_transposing(const problem& p, const std::vector<const registered_kernel*>& kernels);

/// Whether a product with A's zeros is worth considering: `kernel` names it, or the matrix is nearly dense, takes no
/// more than 1 GiB with its zeros, or than CSR does, and B and C are likely to be aligned. Only then is the library for
/// dense products looked for.
bool considers_dense(const problem& p, const plan_options& options);

/// The heights at which the matrix has to be analysed to decide among `kernels`.
std::vector<std::int64_t> heights(const std::vector<const registered_kernel*>& kernels, const plan_options& options);

/// One of the configs that choose() compares, at one height.
struct prediction {
  const registered_kernel* kernel = nullptr;
  const block_statistics* at = nullptr;  ///< of the statistics given
  double seconds = 0;                    ///< 0: it has no costs
  double doubt = 0;                      ///< correction's; 0: not known
};

/// What each of `kernels` is predicted to take, best first; none where `statistics` lack its height. Those without
/// costs come last, the tile that fits best first.
std::vector<prediction> predictions(const problem& p, const plan_options& options,
                                    const std::vector<const registered_kernel*>& kernels,
                                    std::span<const block_statistics> statistics);

/// The first of predictions(). `statistics` holds one entry for each of heights().
decision choose(const problem& p, const plan_options& options, const std::vector<const registered_kernel*>& kernels,
                std::span<const block_statistics> statistics);

/// For which N `kernel` should read a column-major B in place rather than have it packed, by measured costs: none where
/// nothing was measured. `statistics`: as for choose(), or fewer.
columns_in_place reads_in_place(const problem& p, const registered_kernel& kernel,
                                std::span<const block_statistics> statistics);

/// p.costs, or those that are built in.
const cost_table& costs_of(const problem& p);

/// What costs are counted from; with a column-major B that is packed, or read where it lies.
product_shape shape_of(const problem& p, bool in_place = false);

/// `p` with what the statistics say of it.
problem with_statistics(problem p, std::span<const block_statistics> statistics);

/// `p`, which comes from with_statistics(), with the measured products nearest to it.
problem with_experience(problem p);

/// Seconds that `kernel` is predicted to take on a matrix with `s` at its block height; 0 without costs. Without
/// with_statistics() `p` knows nothing of what rows of A share, and without with_experience() the costs stand
/// uncorrected.
double predict(const problem& p, const registered_kernel& kernel, const block_statistics& s);

}  // namespace bcsc::choice
