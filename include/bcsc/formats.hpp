#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/elements.hpp"
#include "bcsc/export.hpp"
#include "bcsc/types.hpp"

#pragma GCC visibility push(default)
/// The sparse formats: a view (owns nothing, may lie on the device) and an owning matrix on the host for each.
/// Indices are 0-based. An owning matrix always holds its format's invariants; see docs/formats.md.
namespace bcsc {

/// Coordinate form: entry k is (row_ind[k], col_ind[k], values[k]), sorted by row, then column, no duplicates.
template <element T, index I = std::int32_t>
struct coo_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::span<const I> row_ind = {};  ///< [nnz]
  std::span<const I> col_ind = {};  ///< [nnz]
  element_span<T> values = {};      ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// Compressed sparse rows: row i holds the entries row_ptr[i] .. row_ptr[i+1], columns strictly increasing.
template <element T, index I = std::int32_t>
struct csr_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::span<const I> row_ptr = {};  ///< [rows + 1]
  std::span<const I> col_ind = {};  ///< [nnz]
  element_span<T> values = {};      ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// Compressed sparse columns: column j holds the entries col_ptr[j] .. col_ptr[j+1], rows strictly increasing.
template <element T, index I = std::int32_t>
struct csc_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::span<const I> col_ptr = {};  ///< [cols + 1]
  std::span<const I> row_ind = {};  ///< [nnz]
  element_span<T> values = {};      ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// Block sparse rows: dense blocks of row_block x col_block values (row-major inside), zero-padded at the ragged edge.
/// Block row b holds the blocks brow_ptr[b] .. brow_ptr[b+1], block columns strictly increasing.
template <number T, index I = std::int32_t>
struct bsr_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_block = 1, col_block = 1;
  std::span<const I> brow_ptr = {};  ///< [ceil(rows / row_block) + 1]
  std::span<const I> bcol_ind = {};  ///< [num_blocks]
  element_span<T> values = {};       ///< [num_blocks * row_block * col_block]
  memory_space space = memory_space::host;
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(bcol_ind.size()); }
};

/// Block compressed sparse columns: rows grouped into blocks of m_block; inside a block the non-zeros are stored by
/// column, and only non-empty columns are kept. Source: diploma thesis, NTUA 2019 (docs/formats.md).
/// `row_ind` is the global row index; columns strictly increase inside a block, rows inside a column.
template <element T, index I = std::int32_t>
struct bcsc_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::int64_t m_block = 1;
  std::span<const I> brow_ptr = {};  ///< [ceil(rows / m_block) + 1] positions in col_ind
  std::span<const I> col_ind = {};   ///< [nnzc] the index of each non-empty column
  std::span<const I> col_ptr = {};   ///< [nnzc + 1] positions in row_ind and values
  std::span<const I> row_ind = {};   ///< [nnz]
  element_span<T> values = {};       ///< [nnz]
  memory_space space = memory_space::host;
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
  /// The number of non-empty columns, over all row blocks.
  std::int64_t nnzc() const { return static_cast<std::int64_t>(col_ind.size()); }
  std::int64_t num_row_blocks() const { return static_cast<std::int64_t>(brow_ptr.size()) - 1; }
};

/// Blocked ELLPACK, cuSPARSE's CUSPARSE_FORMAT_BLOCKED_ELL: square dense blocks, the same number of them in each block
/// row, their block columns strictly increasing, then -1 for blocks that only fill the row up.
template <number T, index I = std::int32_t>
struct ell_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::int64_t block = 1;  ///< height and width of a block
  std::int64_t blocks_per_row = 0;
  std::span<const I> bcol_ind = {};  ///< [ceil(rows / block) * blocks_per_row], row-major
  /// [ceil(rows / block) * block][blocks_per_row * block], row-major over the whole matrix, zero where nothing is
  /// stored
  element_span<T> values = {};
  memory_space space = memory_space::host;
  std::int64_t num_block_rows() const { return rows / block + (rows % block != 0 ? 1 : 0); }
};

/// Numbers below 2^16 in two bytes each, or below 2^8 in one, or all zero in none: the indices inside a row block.
class small_indices {
 public:
  constexpr small_indices() = default;
  constexpr small_indices(const void* data, std::size_t size, int bytes) : data_(data), size_(size), bytes_(bytes) {}
  constexpr std::size_t size() const { return size_; }
  constexpr std::size_t size_bytes() const { return size_ * static_cast<std::size_t>(bytes_); }
  constexpr const void* data() const { return data_; }
  /// Bytes of one number: 0, 1 or 2.
  constexpr int bytes() const { return bytes_; }
  /// For arrays on the host.
  std::int64_t operator[](std::size_t k) const {
    return bytes_ == 1   ? static_cast<const std::uint8_t*>(data_)[k]
           : bytes_ == 2 ? static_cast<const std::uint16_t*>(data_)[k]
                         : 0;
  }
  /// How many bytes an index below `count` takes; count <= 65536.
  static constexpr int bytes_for(std::int64_t count) { return count <= 1 ? 0 : count <= 256 ? 1 : 2; }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
  int bytes_ = 0;
};

/// What two bytes can index: the rows of a row block, and the columns of a matrix that has them narrow.
inline constexpr std::int64_t max_m_block = 65536, max_narrow_columns = 65536;

/// BCSC as the kernels read it: indices inside a row block take one or two bytes (none if m_block = 1, which makes it
/// CSR). Row blocks may have individual heights, and dense columns may come first in them.
template <element T, index I = std::int32_t>
struct compact_bcsc_view {
  using value_t = T;
  using index_t = I;
  std::int64_t rows = 0, cols = 0;
  std::int64_t m_block = 1;           ///< height of the row blocks, or of the highest
  std::span<const I> block_row = {};  ///< [num_row_blocks + 1] where each begins; empty: at multiples of m_block
  std::span<const I> brow_ptr = {};   ///< [num_row_blocks + 1] positions in col_ind and col_count
  std::span<const I> entry_ptr = {};  ///< [num_row_blocks + 1] positions in row_in_block and values
  /// [num_row_blocks] positions in col_ind: a block's columns before it are its dense ones. Columns strictly increase
  /// among the dense and among the others. Empty: they increase over the whole block.
  std::span<const I> dense_end = {};
  std::span<const I> col_ind = {};  ///< [nnzc], or empty where col_ind16 holds the columns
  small_indices col_count = {};     ///< [nnzc] the column's non-zeros, less one
  small_indices row_in_block = {};  ///< [nnz] strictly increasing in a column
  element_span<T> values = {};      ///< [nnz] by row block, column, row
  memory_space space = memory_space::host;
  std::span<const std::uint16_t> col_ind16 = {};  ///< [nnzc] instead of col_ind, for at most 65536 columns
  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
  std::int64_t nnzc() const { return static_cast<std::int64_t>(col_ind.size() + col_ind16.size()); }
  std::int64_t num_row_blocks() const { return static_cast<std::int64_t>(brow_ptr.size()) - 1; }
  /// Which column of the matrix the j-th non-empty column is; for arrays on the host.
  std::int64_t column(std::int64_t j) const {
    const auto at = static_cast<std::size_t>(j);
    return col_ind16.empty() ? std::int64_t{col_ind[at]} : std::int64_t{col_ind16[at]};
  }
  std::int64_t first_row(std::int64_t block) const {
    return block_row.empty() ? std::min(block * m_block, rows)
                             : std::int64_t{block_row[static_cast<std::size_t>(block)]};
  }
  /// Bytes of all its arrays.
  std::int64_t bytes() const {
    // entry_ptr is brow_ptr itself where every column holds one entry.
    const std::size_t pointers = entry_ptr.data() == brow_ptr.data() ? 0 : entry_ptr.size_bytes();
    return static_cast<std::int64_t>(block_row.size_bytes() + brow_ptr.size_bytes() + pointers +
                                     dense_end.size_bytes() + col_ind.size_bytes() + col_ind16.size_bytes() +
                                     col_count.size_bytes() + row_in_block.size_bytes() + values.size_bytes());
  }
};

// The owning matrices. Every constructor takes the arrays by value (move them in) and checks them: sizes, monotone
// pointers, indices in range. With `trust::validate` unsorted entries are sorted and duplicates summed (BSR: unsorted
// block columns sorted, duplicate blocks summed; BCSC, whose order is its meaning: an error); with `trust::trusted` the
// arrays are taken as they are.
// Throws error{invalid_argument | size_overflow | invalid_format | index_out_of_range} that names array, position,
// value.
//
// The arrays are available as spans, and together as view(); not from a temporary, which they would outlive. As an
// argument a temporary converts to its view, which is valid until the call returns.

/// An owning COO matrix on the host.
template <element T, index I = std::int32_t>
class coo_matrix {
 public:
  using value_t = T;
  using index_t = I;
  coo_matrix() = default;
  coo_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ind, std::vector<I> col_ind,
             element_array<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  std::span<const I> row_ind() const& { return row_ind_; }
  std::span<const I> col_ind() const& { return col_ind_; }
  element_span<T> values() const& { return values_; }
  element_values<T> values() & { return values_; }
  coo_view<T, I> view() const& { return {rows_, cols_, row_ind_, col_ind_, values_}; }
  operator coo_view<T, I>() const { return view(); }

  void row_ind() const&& = delete;
  void col_ind() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> row_ind_, col_ind_;
  element_array<T> values_;
};

/// An owning CSR matrix on the host.
template <element T, index I = std::int32_t>
class csr_matrix {
 public:
  using value_t = T;
  using index_t = I;
  csr_matrix() : row_ptr_(1, I{0}) {}
  csr_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ptr, std::vector<I> col_ind,
             element_array<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  std::span<const I> row_ptr() const& { return row_ptr_; }
  std::span<const I> col_ind() const& { return col_ind_; }
  element_span<T> values() const& { return values_; }
  element_values<T> values() & { return values_; }
  csr_view<T, I> view() const& { return {rows_, cols_, row_ptr_, col_ind_, values_}; }
  operator csr_view<T, I>() const { return view(); }

  void row_ptr() const&& = delete;
  void col_ind() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> row_ptr_, col_ind_;
  element_array<T> values_;
};

/// An owning CSC matrix on the host.
template <element T, index I = std::int32_t>
class csc_matrix {
 public:
  using value_t = T;
  using index_t = I;
  csc_matrix() : col_ptr_(1, I{0}) {}
  csc_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> col_ptr, std::vector<I> row_ind,
             element_array<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  std::span<const I> col_ptr() const& { return col_ptr_; }
  std::span<const I> row_ind() const& { return row_ind_; }
  element_span<T> values() const& { return values_; }
  element_values<T> values() & { return values_; }
  csc_view<T, I> view() const& { return {rows_, cols_, col_ptr_, row_ind_, values_}; }
  operator csc_view<T, I>() const { return view(); }

  void col_ptr() const&& = delete;
  void row_ind() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> col_ptr_, row_ind_;
  element_array<T> values_;
};

/// An owning BSR matrix on the host.
template <number T, index I = std::int32_t>
class bsr_matrix {
 public:
  using value_t = T;
  using index_t = I;
  bsr_matrix() : brow_ptr_(1, I{0}) {}
  bsr_matrix(std::int64_t rows, std::int64_t cols, std::int64_t row_block, std::int64_t col_block,
             std::vector<I> brow_ptr, std::vector<I> bcol_ind, element_array<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t row_block() const { return row_block_; }
  std::int64_t col_block() const { return col_block_; }
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(bcol_ind_.size()); }
  std::span<const I> brow_ptr() const& { return brow_ptr_; }
  std::span<const I> bcol_ind() const& { return bcol_ind_; }
  element_span<T> values() const& { return values_; }
  element_values<T> values() & { return values_; }
  bsr_view<T, I> view() const& { return {rows_, cols_, row_block_, col_block_, brow_ptr_, bcol_ind_, values_}; }
  operator bsr_view<T, I>() const { return view(); }

  void brow_ptr() const&& = delete;
  void bcol_ind() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0, cols_ = 0, row_block_ = 1, col_block_ = 1;
  std::vector<I> brow_ptr_, bcol_ind_;
  element_array<T> values_;
};

/// An owning BCSC matrix on the host.
template <element T, index I = std::int32_t>
class bcsc_matrix {
 public:
  using value_t = T;
  using index_t = I;
  bcsc_matrix() : brow_ptr_(1, I{0}), col_ptr_(1, I{0}) {}
  bcsc_matrix(std::int64_t rows, std::int64_t cols, std::int64_t m_block, std::vector<I> brow_ptr,
              std::vector<I> col_ind, std::vector<I> col_ptr, std::vector<I> row_ind, element_array<T> values,
              trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t m_block() const { return m_block_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(values_.size()); }
  std::int64_t nnzc() const { return static_cast<std::int64_t>(col_ind_.size()); }
  std::span<const I> brow_ptr() const& { return brow_ptr_; }
  std::span<const I> col_ind() const& { return col_ind_; }
  std::span<const I> col_ptr() const& { return col_ptr_; }
  std::span<const I> row_ind() const& { return row_ind_; }
  element_span<T> values() const& { return values_; }
  element_values<T> values() & { return values_; }
  bcsc_view<T, I> view() const& { return {rows_, cols_, m_block_, brow_ptr_, col_ind_, col_ptr_, row_ind_, values_}; }
  operator bcsc_view<T, I>() const { return view(); }

  void brow_ptr() const&& = delete;
  void col_ind() const&& = delete;
  void col_ptr() const&& = delete;
  void row_ind() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0, cols_ = 0, m_block_ = 1;
  std::vector<I> brow_ptr_, col_ind_, col_ptr_, row_ind_;
  element_array<T> values_;
};

/// An owning Blocked-ELL matrix on the host.
template <number T, index I = std::int32_t>
class ell_matrix {
 public:
  using value_t = T;
  using index_t = I;
  ell_matrix() = default;
  ell_matrix(std::int64_t rows, std::int64_t cols, std::int64_t block, std::int64_t blocks_per_row,
             std::vector<I> bcol_ind, element_array<T> values, trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t block() const { return block_; }
  std::int64_t blocks_per_row() const { return blocks_per_row_; }
  std::span<const I> bcol_ind() const& { return bcol_ind_; }
  element_span<T> values() const& { return values_; }
  element_values<T> values() & { return values_; }
  ell_view<T, I> view() const& { return {rows_, cols_, block_, blocks_per_row_, bcol_ind_, values_}; }
  operator ell_view<T, I>() const { return view(); }

  void bcol_ind() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0, cols_ = 0, block_ = 1, blocks_per_row_ = 0;
  std::vector<I> bcol_ind_;
  element_array<T> values_;
};

/// The arrays of a compact BCSC matrix, as its constructor takes them.
template <element T, index I = std::int32_t>
struct compact_bcsc_arrays {
  std::vector<I> block_row = {}, brow_ptr = {}, entry_ptr = {}, dense_end = {}, col_ind = {};
  std::vector<std::byte> col_count = {}, row_in_block = {};  ///< small_indices::bytes_for(m_block) bytes each
  element_array<T> values = {};
  std::vector<std::uint16_t> col_ind16 = {};  ///< instead of col_ind
};

/// An owning compact BCSC matrix on the host.
template <element T, index I = std::int32_t>
class compact_bcsc_matrix {
 public:
  using value_t = T;
  using index_t = I;
  compact_bcsc_matrix() { arrays_.brow_ptr = arrays_.entry_ptr = {I{0}}; }
  /// m_block in 1 .. 65536. With m_block = 1, entry_ptr, col_count and row_in_block are left empty.
  compact_bcsc_matrix(std::int64_t rows, std::int64_t cols, std::int64_t m_block, compact_bcsc_arrays<T, I> arrays,
                      trust check = trust::validate);

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t m_block() const { return m_block_; }
  std::int64_t nnz() const { return static_cast<std::int64_t>(arrays_.values.size()); }
  std::int64_t nnzc() const { return static_cast<std::int64_t>(arrays_.col_ind.size() + arrays_.col_ind16.size()); }
  std::span<const I> block_row() const& { return arrays_.block_row; }
  std::span<const I> brow_ptr() const& { return arrays_.brow_ptr; }
  std::span<const I> entry_ptr() const& { return m_block_ == 1 ? arrays_.brow_ptr : arrays_.entry_ptr; }
  std::span<const I> dense_end() const& { return arrays_.dense_end; }
  std::span<const I> col_ind() const& { return arrays_.col_ind; }
  std::span<const std::uint16_t> col_ind16() const& { return arrays_.col_ind16; }
  small_indices col_count() const& { return small(arrays_.col_count, static_cast<std::size_t>(nnzc())); }
  small_indices row_in_block() const& { return small(arrays_.row_in_block, arrays_.values.size()); }
  element_span<T> values() const& { return arrays_.values; }
  element_values<T> values() & { return arrays_.values; }
  compact_bcsc_view<T, I> view() const& {
    return {rows_,     cols_,       m_block_,       block_row(), brow_ptr(),         entry_ptr(), dense_end(),
            col_ind(), col_count(), row_in_block(), values(),    memory_space::host, col_ind16()};
  }
  operator compact_bcsc_view<T, I>() const { return view(); }

  void block_row() const&& = delete;
  void brow_ptr() const&& = delete;
  void entry_ptr() const&& = delete;
  void dense_end() const&& = delete;
  void col_ind() const&& = delete;
  void col_ind16() const&& = delete;
  void col_count() const&& = delete;
  void row_in_block() const&& = delete;
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  small_indices small(const std::vector<std::byte>& numbers, std::size_t count) const {
    return {numbers.data(), count, small_indices::bytes_for(m_block_)};
  }

  std::int64_t rows_ = 0, cols_ = 0, m_block_ = 1;
  compact_bcsc_arrays<T, I> arrays_;
};

// Checks of a host view against its format's invariants, the same as the constructors make (order included).
template <element T, index I>
BCSC_EXPORT void validate(const coo_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT void validate(const csr_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT void validate(const csc_view<T, I>& a);
template <number T, index I>
BCSC_EXPORT void validate(const bsr_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT void validate(const bcsc_view<T, I>& a);
template <number T, index I>
BCSC_EXPORT void validate(const ell_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT void validate(const compact_bcsc_view<T, I>& a);

/// Bytes of each format's arrays, computed in 64 bits. `index_bytes` is 4 or 8, `type` gives the value's bytes.
namespace footprint {
std::int64_t coo(std::int64_t nnz, value_type type, std::int64_t index_bytes = 4);
std::int64_t csr(std::int64_t rows, std::int64_t nnz, value_type type, std::int64_t index_bytes = 4);
std::int64_t csc(std::int64_t cols, std::int64_t nnz, value_type type, std::int64_t index_bytes = 4);
std::int64_t bsr(std::int64_t rows, std::int64_t row_block, std::int64_t col_block, std::int64_t num_blocks,
                 value_type type, std::int64_t index_bytes = 4);
std::int64_t bcsc(std::int64_t rows, std::int64_t m_block, std::int64_t nnzc, std::int64_t nnz, value_type type,
                  std::int64_t index_bytes = 4);
std::int64_t dense(std::int64_t rows, std::int64_t cols, value_type type);
std::int64_t ell(std::int64_t rows, std::int64_t block, std::int64_t blocks_per_row, value_type type,
                 std::int64_t index_bytes = 4);
/// Uniform row blocks, no dense part. m_block = 1 takes what CSR takes.
/// `column_bytes`: of one column, 2 where they are narrow; 0: index_bytes.
std::int64_t compact_bcsc(std::int64_t rows, std::int64_t m_block, std::int64_t nnzc, std::int64_t nnz, value_type type,
                          std::int64_t index_bytes = 4, int column_bytes = 0);
}  // namespace footprint

}  // namespace bcsc
#pragma GCC visibility pop
