#include "converters/formats/device_analysis.hpp"

#include <algorithm>
#include <utility>

#include "converters/formats/checks.hpp"
#include "converters/formats/device_arrays.hpp"
#include "converters/formats/device_steps.hpp"
#include "converters/formats/instantiate.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::ceil_div;
using core::device_buffer;
namespace gpu = core::gpu;

/// The column of each non-zero.
template <number T, index I>
device_buffer<I> expand_columns(int device, const bcsc_view<T, I>& a) {
  device_buffer<I> columns(device, a.nnz());
  steps::expand_pointers(a.col_ptr.data(), a.nnzc(), a.col_ind.data(), columns.data(), a.nnz());
  return columns;
}

/// The row of each non-zero.
template <number T, index I>
device_buffer<I> expand_rows(int device, const csr_view<T, I>& a) {
  device_buffer<I> rows(device, a.nnz());
  steps::expand_pointers<I>(a.row_ptr.data(), a.rows, nullptr, rows.data(), a.nnz());
  return rows;
}

/// `by_column` holds the entries sorted by column, then row: the keys are the columns.
template <index I>
std::vector<block_statistics> analyse_sorted(int device, std::int64_t rows, const I* row_ptr,
                                             const steps::sorted_pairs<I>& by_column,
                                             std::span<const std::int64_t> m_blocks) {
  const std::int64_t nnz = by_column.keys.size();
  std::vector<block_statistics> list;
  for (const std::int64_t m_block : m_blocks) {
    block_statistics facts;
    facts.m_block = m_block;
    facts.num_row_blocks = ceil_div(rows, m_block);
    if (nnz > 0) {
      const auto columns = steps::count_block_columns(device, by_column.keys.data(), by_column.payload.data(), nnz,
                                                      facts.num_row_blocks, m_block);
      facts.nnzc = columns.all;
      facts.max_block_nnzc = columns.most;
      facts.max_block_nnz = steps::max_block_nnz(device, row_ptr, rows, m_block);
      facts.reuse = static_cast<double>(nnz) / static_cast<double>(facts.nnzc);
      facts.skew = static_cast<double>(facts.max_block_nnz) /
                   (static_cast<double>(nnz) / static_cast<double>(facts.num_row_blocks));
    }
    list.push_back(facts);
  }
  return list;
}

/// The rows of all entries, sorted by column; rows ascend within one.
template <index I>
steps::sorted_pairs<I> sort_by_column(int device, device_buffer<I> row_of, const I* col_of, std::int64_t rows,
                                      std::int64_t cols) {
  device_buffer<std::uint64_t> keys(device, row_of.size());
  steps::make_keys(row_of.data(), col_of, row_of.size(), std::max<std::int64_t>(rows, 1), cols, keys.data());
  return steps::sort_pairs(device, std::move(keys), std::move(row_of), cols);
}

}  // namespace

template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const csr_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks) {
  for (const std::int64_t m_block : m_blocks) require_at_least_one(m_block, "m_block");
  const gpu::device_guard guard(device);
  require_on_device(device, a);
  const auto by_column = sort_by_column(device, expand_rows(device, a), a.col_ind.data(), a.rows, a.cols);
  return analyse_sorted(device, a.rows, a.row_ptr.data(), by_column, m_blocks);
}

template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const bcsc_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks) {
  for (const std::int64_t m_block : m_blocks) require_at_least_one(m_block, "m_block");
  const gpu::device_guard guard(device);
  require_on_device(device, a);
  device_buffer<I> row_of(device, a.nnz());
  if (a.nnz() > 0) gpu::copy_on_device(row_of.data(), a.row_ind.data(), row_of.bytes());
  const device_buffer<I> row_ptr(device, a.rows + 1);
  steps::count_rows(row_of.data(), a.nnz(), a.rows, row_ptr.data());
  const device_buffer<I> col_of = expand_columns(device, a);
  const auto by_column = sort_by_column(device, std::move(row_of), col_of.data(), a.rows, a.cols);
  return analyse_sorted(device, a.rows, row_ptr.data(), by_column, m_blocks);
}

#define BCSC_INSTANTIATE(T, I)                                                                    \
  template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<T, I>&,     \
                                                                  std::span<const std::int64_t>); \
  template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<T, I>&,    \
                                                                  std::span<const std::int64_t>);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
