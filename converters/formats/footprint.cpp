#include "bcsc/formats.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::footprint {

namespace {

using core::ceil_div;

/// Counts array entries, so that every product and every sum is checked in one place.
class tally {
 public:
  explicit tally(std::int64_t index_bytes) : index_bytes_(index_bytes) {
    if (index_bytes != 4 && index_bytes != 8) {
      core::fail(errc::invalid_argument, "index_bytes = {}: must be 4 or 8", index_bytes);
    }
  }
  tally& indices(std::int64_t count) { return add(count, index_bytes_); }
  tally& values(std::int64_t count, value_type type) { return add(count, size_of(type)); }
  tally& small(std::int64_t count, int bytes) { return add(count, bytes); }
  std::int64_t bytes() const { return bytes_; }

 private:
  tally& add(std::int64_t count, std::int64_t size) {
    if (__builtin_add_overflow(bytes_, core::checked_product(count, size, "footprint"), &bytes_)) {
      core::fail(errc::size_overflow, "footprint: {} entries of {} bytes more do not fit 63 bits", count, size);
    }
    return *this;
  }

  std::int64_t index_bytes_;
  std::int64_t bytes_ = 0;
};

}  // namespace

std::int64_t coo(std::int64_t nnz, value_type type, std::int64_t index_bytes) {
  return tally(index_bytes).indices(nnz).indices(nnz).values(nnz, type).bytes();
}

std::int64_t csr(std::int64_t rows, std::int64_t nnz, value_type type, std::int64_t index_bytes) {
  return tally(index_bytes).indices(rows).indices(1).indices(nnz).values(nnz, type).bytes();
}

std::int64_t csc(std::int64_t cols, std::int64_t nnz, value_type type, std::int64_t index_bytes) {
  return csr(cols, nnz, type, index_bytes);
}

std::int64_t bsr(std::int64_t rows, std::int64_t row_block, std::int64_t col_block, std::int64_t num_blocks,
                 value_type type, std::int64_t index_bytes) {
  converters::require_at_least_one(row_block, "row_block");
  converters::require_at_least_one(col_block, "col_block");
  const std::int64_t block_size = core::checked_product(row_block, col_block, "row_block x col_block");
  const std::int64_t num_values = core::checked_product(num_blocks, block_size, "num_blocks x block size");
  return tally(index_bytes)
      .indices(ceil_div(rows, row_block))
      .indices(1)
      .indices(num_blocks)
      .values(num_values, type)
      .bytes();
}

std::int64_t bcsc(std::int64_t rows, std::int64_t m_block, std::int64_t nnzc, std::int64_t nnz, value_type type,
                  std::int64_t index_bytes) {
  converters::require_at_least_one(m_block, "m_block");
  return tally(index_bytes)
      .indices(ceil_div(rows, m_block))
      .indices(1)
      .indices(nnzc)
      .indices(nnzc)
      .indices(1)
      .indices(nnz)
      .values(nnz, type)
      .bytes();
}

std::int64_t dense(std::int64_t rows, std::int64_t cols, value_type type) {
  return tally(4).values(core::checked_product(rows, cols, "rows x cols"), type).bytes();
}

std::int64_t ell(std::int64_t rows, std::int64_t block, std::int64_t blocks_per_row, value_type type,
                 std::int64_t index_bytes) {
  converters::require_at_least_one(block, "block");
  const std::int64_t num_blocks = core::checked_product(ceil_div(rows, block), blocks_per_row, "blocks");
  const std::int64_t block_size = core::checked_product(block, block, "block x block");
  return tally(index_bytes)
      .indices(num_blocks)
      .values(core::checked_product(num_blocks, block_size, "num_blocks x block size"), type)
      .bytes();
}

std::int64_t compact_bcsc(std::int64_t rows, std::int64_t m_block, std::int64_t nnzc, std::int64_t nnz, value_type type,
                          std::int64_t index_bytes, int column_bytes) {
  converters::require_at_least_one(m_block, "m_block");
  const int bytes = small_indices::bytes_for(m_block);
  const std::int64_t num_blocks = ceil_div(rows, m_block);
  tally all(index_bytes);
  all.indices(num_blocks).indices(1);
  if (m_block > 1) all.indices(num_blocks).indices(1);
  if (column_bytes == 0) {
    all.indices(nnzc);
  } else {
    all.small(nnzc, column_bytes);
  }
  return all.small(nnzc, bytes).small(nnz, bytes).values(nnz, type).bytes();
}

}  // namespace bcsc::footprint
