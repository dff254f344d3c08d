#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "core/team.hpp"

struct CUstream_st;

/// What every SpMM kernel, CPU or CUDA, is given: plain pointers and 64-bit sizes. Kernels never allocate.
namespace bcsc::kernels {

/// The form of A that an algorithm reads.
enum class operand_form {
  compact,       ///< compact BCSC (bcsc_operand), of any m_block
  row_slices,    ///< rows side by side, on the CPU (kernels/forms/row_slices/operand.hpp)
  block_slices,  ///< low row blocks side by side, on a GPU (kernels/forms/block_slices/operand.hpp)
  row_stream,    ///< a stream of pieces of rows (kernels/forms/row_stream/operand.hpp)
  mma_tiles,     ///< for the tensor cores (kernels/forms/mma_tiles/operand.hpp), of the config's own m_block
  fma_tiles,     ///< for tiles in registers (kernels/forms/fma_tiles/operand.hpp), of the config's own m_block
  bricks,        ///< neighbouring rows with a list of the rows of B that they share (kernels/forms/bricks/operand.hpp)
  staged_tiles,  ///< as mma_tiles, in pieces for thread blocks rather than for warps
  dense,         ///< with its zeros (kernels/forms/dense/operand.hpp)
  dense_half,    ///< the same, and each value rounded to fp16 besides
  dense_halves,  ///< the same, and each value in fp16 parts besides
};

/// fp16 numbers that it stores for each value of fp32 (kernels/forms/dense/operand.hpp).
constexpr int halves_in(operand_form form) {
  return form == operand_form::dense_halves ? 3 : form == operand_form::dense_half ? 1 : 0;
}

/// Whether it holds A's zeros, too.
constexpr bool is_dense(operand_form form) { return form == operand_form::dense || halves_in(form) > 0; }

/// Several products of one A, started at once: strides in elements from one member's operand to the next's.
struct batch_strides {
  std::int64_t count = 1;  ///< 1 .. max_members; more than one only where the kernel's table says `batches`
  std::int64_t b = 0, c = 0;
  std::int64_t partials = 0;  ///< in the operand's workspace
};

/// What a product C = A B of a square A leaves for B'C while it has rows of both at hand (alpha 1, beta 0, one member),
/// or the last pass of a preconditioner, C = M B:
/// sums[i * n + j] for i < *rows add up to the dot product of column j of B and of C, in an order that is always the
/// same. *rows stays what it was where the kernel leaves none, or more than there is room for.
struct dots_with_b {
  double* sums = nullptr;  ///< where the kernel computes; null: not wanted
  std::int64_t room = 0;   ///< for so many
  std::int64_t* rows = nullptr;

  /// Where to, if `wanted` rows of n sums find room.
  double* take(std::int64_t wanted, std::int64_t n) const {
    if (sums == nullptr || wanted > room / n) return nullptr;
    *rows = wanted;
    return sums;
  }
};

/// On a GPU the members lie along the z dimension of the grid, which has this limit.
inline constexpr std::int64_t max_members = 65535;

/// C[m, n] = alpha * A[m, :] * B[:, n] + beta * Z[m, n], Z being C or a block of its own, with A in the form that the
/// kernel reads. For the configs of scatter C = alpha * A' * B + beta * Z: B has a.rows rows, C a.cols, and row_of says
/// the row of B.
template <class T, class Operand>
struct product_args {
  Operand a;
  const T* b;        ///< cols x n (scatter: rows x n): element (m, n) at b[m * ldb + n * b_col_stride]
  std::int64_t ldb;  ///< between rows
  std::int64_t n;
  T* c;  ///< element (m, n) at c[m * c_row_stride + n * c_col_stride]
  std::int64_t c_row_stride, c_col_stride;
  scalar_of<T> alpha, beta;
  const scalar_of<T>* alpha_at;  ///< if not null, alpha and beta are read there when the kernel runs
  const scalar_of<T>* beta_at;
  /// 1 where the plan packs a column-major B; kernels whose table says strided_cols() read that many columns at once in
  /// place.
  std::int64_t b_col_stride = 1;
  /// Readable values of each row of a row-major B, n or more: those past column n may be read, and are not used.
  std::int64_t b_readable_cols = n;
  batch_strides batch = {};  ///< b, c and the operand's workspace are those of member 0
  dots_with_b dots = {};
  /// From an element of C to that of Z, in elements; a multiple of 16 bytes. 0: Z is C, as it always is to CUDA kernels
  /// of 16-bit types, which no solver has: one number more would cost them up to a quarter of their time.
  std::int64_t z_offset = 0;
};

/// How a kernel of either backend is started.
struct launch_env {
  core::team who;       ///< CPU
  CUstream_st* stream;  ///< CUDA; its device is current
  int num_multiprocessors;
  bool fast_gather = false;   ///< CPU: its gather instruction is fast (core::has_fast_gather())
  std::int64_t l2_bytes = 0;  ///< CUDA; 0: unknown
};

/// L2's eviction policy for what a load brings: the operand that createpolicy makes for it, the same on all GPUs from
/// sm_80 on.
enum class cache_policy : std::uint64_t {
  evict_normal = 0x16f0'0000'0000'0000,
  evict_first = 0x12f0'0000'0000'0000,
};

/// Whether A, B and C stay in L2 from one product to the next: it holds about three quarters of its size.
constexpr bool fits_l2(const launch_env& env, std::int64_t a_bytes, std::int64_t other_bytes) {
  return a_bytes + other_bytes <= env.l2_bytes / 4 * 3;
}

/// For a product that reads `a_bytes` of A once and touches `other_bytes` of B and C. Where all of it does not fit L2,
/// A pushes itself out before the next product begins; evicted first, part of it survives, as long as B and C leave
/// room. What fits stays as it is, and would not if it were evicted first.
constexpr cache_policy policy_for(const launch_env& env, std::int64_t a_bytes, std::int64_t other_bytes) {
  const bool leaves_room = other_bytes < env.l2_bytes / 2;
  return leaves_room && !fits_l2(env, a_bytes, other_bytes) ? cache_policy::evict_first : cache_policy::evict_normal;
}

/// Starts one config. `args` points to spmm_args<T, I> as the config's type and index_bits say, for row-wise CUDA
/// kernels to row_stream_args<T> (kernels/forms/row_stream/operand.hpp), for those on the tensor cores to
/// mma_tiles_args<T>, for tiles in registers to fma_tiles_args<T>, for bricks to bricks_args<T>, for slices to
/// row_slices_args<T> (CPU) or block_slices_args<T> (CUDA), for the dense product to dense_args<T>. Returns a
/// cudaError_t (0: started); the CPU returns 0. rows, n > 0; anything else may be zero.
using launch_fn = int (*)(const void* args, const launch_env& env);

}  // namespace bcsc::kernels
