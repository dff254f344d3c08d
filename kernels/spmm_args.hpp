#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"

struct CUstream_st;

/// What every SpMM kernel, CPU or CUDA, is given: plain pointers and 64-bit sizes. Kernels never allocate.
namespace bcsc::kernels {

/// The form of A that an algorithm reads.
enum class operand_form {
  compact,    ///< compact BCSC (bcsc_operand), of any m_block
  rows,       ///< a stream of pieces of rows (kernels/rows_operand.hpp)
  cached,     ///< the same, parted by which rows of B lie in shared memory (kernels/cached_operand.hpp)
  fragments,  ///< for the matrix units (kernels/fragments_operand.hpp), of the row's own m_block
};

/// Indices inside a row block: 1 or 2 bytes each; 0 bytes: all are zero.
struct small_array {
  const void* data;
  int bytes;
};

/// Compact BCSC as a kernel reads it (include/bcsc/formats.hpp says what the arrays hold).
template <class T, class I>
struct bcsc_operand {
  std::int64_t rows, cols;
  std::int64_t m_block;  ///< height of the row blocks, or of the highest; need not be the kernel's m_tile
  std::int64_t num_row_blocks;
  const I* block_row;  ///< null: row block b begins at row b * m_block
  const I* brow_ptr;
  const I* entry_ptr;
  const I* col_ind;
  const std::uint16_t* col_ind16;  ///< CUDA: holds the columns unless it is null
  small_array col_count;           ///< less one
  small_array row_in_block;
  const T* values;
  const I* row_of;  ///< the row of C that row m of A is; null: m
  /// CPU: neighbouring non-zeros need rows of B that lie in no order, so that no hardware foresees them.
  bool scattered = false;
};

/// Several products of one A, started at once: distances in elements from what one member has to what the next has.
struct batch_strides {
  std::int64_t count = 1;  ///< 1 .. most_members; more than one only where the kernel's table says `batches`
  std::int64_t b = 0, c = 0;
  std::int64_t partials = 0;  ///< in the operand's workspace
};

/// On a GPU the members lie along z of a grid, which is no longer.
inline constexpr std::int64_t most_members = 65535;

/// C[m, n] = alpha * A[m, :] * B[:, n] + beta * C[m, n], with A in the form that the kernel reads. For the rows of the
/// table scatter C = alpha * A' * B + beta * C: B has a.rows rows, C a.cols, and row_of says the row of B.
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
  /// 1, for the plan packs a column-major B; but where a table says strided_cols(), so many columns are read at once
  /// where they lie.
  std::int64_t b_col_stride = 1;
  /// Of each row of a row-major B, n or more: what lies behind column n may be read, and is not used.
  std::int64_t b_readable_cols = n;
  batch_strides batch = {};  ///< b, c and the operand's workspace are those of member 0
};

template <class T, class I>
using spmm_args = product_args<T, bcsc_operand<T, I>>;

/// How a kernel of either backend is started.
struct launch_env {
  int threads;          ///< CPU
  CUstream_st* stream;  ///< CUDA; its device is current
  int num_multiprocessors;
};

/// Starts one row of a table. `args` points to spmm_args<T, I> as the row's type and index_bits say, for row-wise CUDA
/// kernels to rows_args<T> (kernels/rows_operand.hpp), for those on the matrix units to fragments_args<T>. Returns a
/// cudaError_t (0: started); the CPU returns 0. rows, n > 0; anything else may be zero.
using launch_fn = int (*)(const void* args, const launch_env& env);

}  // namespace bcsc::kernels
