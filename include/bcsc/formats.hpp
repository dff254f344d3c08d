#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/types.hpp"

/// The sparse formats: a view (owns nothing, may lie on the device) and an owning matrix on the host for each.
/// Indices are 0-based. An owning matrix always holds its format's invariants; see docs/formats.md.
namespace bcsc {

/// Coordinate form: entry k is (row_ind[k], col_ind[k], values[k]), sorted by row, then column, no duplicates.
template <value T, index I = std::int32_t>
struct coo_view {
  std::int64_t rows = 0, cols = 0;
  std::span<const I> row_ind;  ///< [nnz]
  std::span<const I> col_ind;  ///< [nnz]
  std::span<const T> values;   ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// Compressed sparse rows: row i holds the entries row_ptr[i] .. row_ptr[i+1], columns strictly increasing.
template <value T, index I = std::int32_t>
struct csr_view {
  std::int64_t rows = 0, cols = 0;
  std::span<const I> row_ptr;  ///< [rows + 1]
  std::span<const I> col_ind;  ///< [nnz]
  std::span<const T> values;   ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// Compressed sparse columns: column j holds the entries col_ptr[j] .. col_ptr[j+1], rows strictly increasing.
template <value T, index I = std::int32_t>
struct csc_view {
  std::int64_t rows = 0, cols = 0;
  std::span<const I> col_ptr;  ///< [cols + 1]
  std::span<const I> row_ind;  ///< [nnz]
  std::span<const T> values;   ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// Block sparse rows: dense blocks of row_block x col_block values (row-major inside), zero-padded at the ragged edge.
/// Block row b holds the blocks brow_ptr[b] .. brow_ptr[b+1], block columns strictly increasing.
template <value T, index I = std::int32_t>
struct bsr_view {
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_block = 1, col_block = 1;
  std::span<const I> brow_ptr;  ///< [ceil(rows / row_block) + 1]
  std::span<const I> bcol_ind;  ///< [num_blocks]
  std::span<const T> values;    ///< [num_blocks * row_block * col_block]
  memory_space space = memory_space::host;
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(bcol_ind.size()); }
};

/// Block compressed sparse columns: rows grouped into blocks of m_block; inside a block the non-zeros are stored by
/// column, and only non-empty columns are kept. Source: diploma thesis, NTUA 2019 (docs/formats.md).
/// `row_ind` is the global row index; columns strictly increase inside a block, rows inside a column.
template <value T, index I = std::int32_t>
struct bcsc_view {
  std::int64_t rows = 0, cols = 0;
  std::int64_t m_block = 1;
  std::span<const I> brow_ptr;  ///< [ceil(rows / m_block) + 1] positions in col_ind
  std::span<const I> col_ind;   ///< [nnzc] the column each non-empty column is
  std::span<const I> col_ptr;   ///< [nnzc + 1] positions in row_ind and values
  std::span<const I> row_ind;   ///< [nnz]
  std::span<const T> values;    ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
  /// The number of non-empty columns, over all row blocks.
  std::int64_t nnzc() const { return static_cast<std::int64_t>(col_ind.size()); }
  std::int64_t num_row_blocks() const { return static_cast<std::int64_t>(brow_ptr.size()) - 1; }
};

// The owning matrices. Every constructor takes the arrays by value (move them in) and checks them: sizes, monotone
// pointers, indices in range. With `trust::validate` unsorted entries are sorted and duplicates summed (BSR: unsorted
// block columns sorted, duplicate blocks summed; BCSC, whose order is its meaning: an error); with `trust::trusted` the
// arrays are believed as they are.
// Throws error{invalid_argument | size_overflow | invalid_format | index_out_of_range} that names array, position,
// value.

/// An owning COO matrix on the host.
template <value T, index I = std::int32_t>
class coo_matrix {
 public:
  using value_t = T;
  using index_t = I;
  coo_matrix() = default;
  coo_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ind, std::vector<I> col_ind,
             std::vector<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  coo_view<T, I> view() const { return {rows_, cols_, row_ind_, col_ind_, values_}; }
  operator coo_view<T, I>() const { return view(); }
  std::span<T> values() { return values_; }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> row_ind_, col_ind_;
  std::vector<T> values_;
};

/// An owning CSR matrix on the host.
template <value T, index I = std::int32_t>
class csr_matrix {
 public:
  using value_t = T;
  using index_t = I;
  csr_matrix() : row_ptr_(1, I{0}) {}
  csr_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ptr, std::vector<I> col_ind,
             std::vector<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  csr_view<T, I> view() const { return {rows_, cols_, row_ptr_, col_ind_, values_}; }
  operator csr_view<T, I>() const { return view(); }
  std::span<T> values() { return values_; }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> row_ptr_, col_ind_;
  std::vector<T> values_;
};

/// An owning CSC matrix on the host.
template <value T, index I = std::int32_t>
class csc_matrix {
 public:
  using value_t = T;
  using index_t = I;
  csc_matrix() : col_ptr_(1, I{0}) {}
  csc_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> col_ptr, std::vector<I> row_ind,
             std::vector<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  csc_view<T, I> view() const { return {rows_, cols_, col_ptr_, row_ind_, values_}; }
  operator csc_view<T, I>() const { return view(); }
  std::span<T> values() { return values_; }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> col_ptr_, row_ind_;
  std::vector<T> values_;
};

/// An owning BSR matrix on the host.
template <value T, index I = std::int32_t>
class bsr_matrix {
 public:
  using value_t = T;
  using index_t = I;
  bsr_matrix() : brow_ptr_(1, I{0}) {}
  bsr_matrix(std::int64_t rows, std::int64_t cols, std::int64_t row_block, std::int64_t col_block,
             std::vector<I> brow_ptr, std::vector<I> bcol_ind, std::vector<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t row_block() const { return row_block_; }
  std::int64_t col_block() const { return col_block_; }
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(bcol_ind_.size()); }
  bsr_view<T, I> view() const { return {rows_, cols_, row_block_, col_block_, brow_ptr_, bcol_ind_, values_}; }
  operator bsr_view<T, I>() const { return view(); }
  std::span<T> values() { return values_; }

 private:
  std::int64_t rows_ = 0, cols_ = 0, row_block_ = 1, col_block_ = 1;
  std::vector<I> brow_ptr_, bcol_ind_;
  std::vector<T> values_;
};

/// An owning BCSC matrix on the host.
template <value T, index I = std::int32_t>
class bcsc_matrix {
 public:
  using value_t = T;
  using index_t = I;
  bcsc_matrix() : brow_ptr_(1, I{0}), col_ptr_(1, I{0}) {}
  bcsc_matrix(std::int64_t rows, std::int64_t cols, std::int64_t m_block, std::vector<I> brow_ptr,
              std::vector<I> col_ind, std::vector<I> col_ptr, std::vector<I> row_ind, std::vector<T> values,
              trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t m_block() const { return m_block_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  std::int64_t nnzc() const { return static_cast<std::int64_t>(col_ind_.size()); }
  bcsc_view<T, I> view() const { return {rows_, cols_, m_block_, brow_ptr_, col_ind_, col_ptr_, row_ind_, values_}; }
  operator bcsc_view<T, I>() const { return view(); }
  std::span<T> values() { return values_; }

 private:
  std::int64_t rows_ = 0, cols_ = 0, m_block_ = 1;
  std::vector<I> brow_ptr_, col_ind_, col_ptr_, row_ind_;
  std::vector<T> values_;
};

// Checks of a host view against its format's invariants, the same as the constructors make (order included).
template <value T, index I>
void validate(const coo_view<T, I>& a);
template <value T, index I>
void validate(const csr_view<T, I>& a);
template <value T, index I>
void validate(const csc_view<T, I>& a);
template <value T, index I>
void validate(const bsr_view<T, I>& a);
template <value T, index I>
void validate(const bcsc_view<T, I>& a);

/// Bytes of each format's arrays, computed in 64 bits. `index_bytes` is 4 or 8, `type` gives the value's bytes.
namespace footprint {
std::int64_t coo(std::int64_t nnz, value_type type, std::int64_t index_bytes = 4);
std::int64_t csr(std::int64_t rows, std::int64_t nnz, value_type type, std::int64_t index_bytes = 4);
std::int64_t csc(std::int64_t cols, std::int64_t nnz, value_type type, std::int64_t index_bytes = 4);
std::int64_t bsr(std::int64_t rows, std::int64_t row_block, std::int64_t col_block, std::int64_t num_blocks,
                 value_type type, std::int64_t index_bytes = 4);
std::int64_t bcsc(std::int64_t rows, std::int64_t m_block, std::int64_t nnzc, std::int64_t nnz, value_type type,
                  std::int64_t index_bytes = 4);
}  // namespace footprint

}  // namespace bcsc
