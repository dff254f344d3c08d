#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/types.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// How far an entry of a product may lie from the exact one: within gamma_{n+more_terms}(u) |A||B| for n terms, and r
/// (2 + r) |A||B| more where the values of A and B are rounded by r before they are multiplied. u is fp32's for fp16
/// and bf16, too, whose entries are rounded once when they are written, which adds half a unit in the last place.
struct error_bound {
  int more_terms = 3;   ///< 16 where tensor cores sum; up to 133 by staged and wgmma, 116 by gemm in three fp16 parts
  double rounding = 0;  ///< r
};

/// A plan considers multiplying A with its zeros (`gemm`) where rows times columns are at most this many times its
/// entries.
inline constexpr std::int64_t max_dense_values_per_entry = 32;

/// One tuned kernel instance, a config: an entry of its algorithm's table (kernels/tables/).
struct kernel_info {
  std::string name;  ///< unique for a value type, e.g. "tiled-m32-n64-k16-x16-y8"; spmm_plan takes it
  /// "rows", "blocks", "columns", "slices" (CPU); "naive", "warp", "tiled", "rowwise", "brickwise", "sliced", "fma",
  /// "mma", "staged", "sliding", "wgmma", "gemm"
  std::string algorithm;
  backend where = backend::cpu;
  value_type type = value_type::fp32;
  int m_tile = 0;           ///< rows of C a tile holds: the m_block the kernel is made for
  int n_tile = 0;           ///< columns of C a tile holds
  int strided_cols = 0;     ///< columns of a column-major B that a tile takes where they lie; 0: B is packed first
  int threads = 0;          ///< threads of a thread block; 0 on the CPU
  int resident_blocks = 0;  ///< thread blocks that a multiprocessor's registers hold, at least; 0: unknown
  int teams = 0;            ///< pieces of A that a thread block takes side by side; 0: unknown
  int depth = 0;            ///< pieces that each of its teams takes one after the other, at most; 0: unknown
  int columns_at_once = 1;  ///< non-empty columns of A a thread block takes in one step; "brickwise": rows of B
  int stages = 1;           ///< shared-memory buffers of a step
  int index_bits = 32;      ///< width of the indices it reads
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory
  bool deterministic = true;      ///< bit-equal from run to run
  bool any_m_block = true;        ///< false: A is stored for m_block = m_tile alone
  bool transposable = false;      ///< spmm_plan::transposed() multiplies from A as a plan stores it for this one
  bool batches = false;           ///< multiplies a whole batch in one launch; others are started once per member
  bool rounds_values = false;     ///< to TF32's 11 bits before they are multiplied: for compute_class::tf32, or by name
  /// Only stored entries of A take part: a NaN or infinity of B reaches the rows that have an entry in its column, and
  /// no others. A kernel for which this is false is used only when asked for by name.
  bool stored_entries_only = true;
  error_bound bound;           ///< of its results
  bool built = true;           ///< compiled into this library (CUDA kernels need a CUDA build)
  int compute_capability = 0;  ///< the only one that it runs on, as 10 * major + minor; 0: any
};

/// Whether `gpu` can run it: built, of the compute capability it needs, within the shared memory of a thread block.
bool runs_on(const kernel_info& kernel, const device_info& gpu);
/// Whether `where` can run it: built for its backend, and on a GPU as above.
bool runs_on(const kernel_info& kernel, const context& where);

/// Every config of every table that a plan chooses from, in the tables' order.
const std::vector<kernel_info>& kernel_table();

/// The configs that spmm_plan::transposed() chooses from: algorithm "scatter".
const std::vector<kernel_info>& transposing_kernel_table();

/// Those of one backend and value type.
std::vector<kernel_info> kernel_table(backend where, value_type type);

}  // namespace bcsc
#pragma GCC visibility pop
