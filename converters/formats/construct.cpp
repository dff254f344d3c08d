#include "bcsc/formats.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "converters/formats/structure.hpp"
#include "core/checked.hpp"

namespace bcsc {

namespace {

using converters::check_arrays;
using converters::even_segment_cuts;
using converters::first_disorder;
using converters::for_pieces;
using converters::is_ordered;
using converters::structure_of;
using core::at;
using core::length;

// --- COO ------------------------------------------------------------------------------------------------------------

/// Sorts by row, then column, and sums duplicates in the order in which they came.
template <element T, index I>
void sort_and_sum(std::int64_t rows, std::vector<I>& row_ind, std::vector<I>& col_ind, element_array<T>& values) {
  struct entry {
    I row, col;
    T value;
  };
  const auto before = [](const entry& a, const entry& b) { return std::pair(a.row, a.col) < std::pair(b.row, b.col); };
  const std::int64_t nnz = length(values);

  // Entries are binned into buckets of 2^shift rows: of one row each, unless that took far more buckets than entries.
  int shift = 0;
  while (((rows - 1) >> shift) > 2 * nnz) ++shift;
  const std::int64_t num_buckets = ((rows - 1) >> shift) + 1;
  auto start = converters::storage<std::int64_t>(num_buckets + 1, "row buckets");
  for (const I row : row_ind) ++start[at(row >> shift) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  auto entries = converters::storage<entry>(nnz, "entries");
  auto next = start;
  for (std::size_t k = 0; k < values.size(); ++k) {
    entries[at(next[at(row_ind[k] >> shift)]++)] = {row_ind[k], col_ind[k], values[k]};
  }
  for_pieces(even_segment_cuts(start, num_buckets), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t bucket = first; bucket < last; ++bucket) {
      const auto begin = entries.begin() + start[at(bucket)], end = entries.begin() + start[at(bucket) + 1];
      if (!std::is_sorted(begin, end, before)) std::stable_sort(begin, end, before);
    }
  });

  std::size_t kept = 0;
  for (const entry& e : entries) {
    if (kept > 0 && row_ind[kept - 1] == e.row && col_ind[kept - 1] == e.col) {
      values[kept - 1] += e.value;
      continue;
    }
    row_ind[kept] = e.row;
    col_ind[kept] = e.col;
    values[kept++] = e.value;
  }
  row_ind.resize(kept);
  col_ind.resize(kept);
  values.resize(kept);
}

// --- CSR and CSC: one compressed axis -------------------------------------------------------------------------------

/// The indices of segment i, ascending, each with its entry's place in the segment; equal ones in the order in which
/// they came.
template <index I>
void sort_segment(std::int64_t i, std::span<const I> ptr, std::span<const I> ind,
                  std::vector<std::pair<I, I>>& sorted) {
  const std::int64_t first = ptr[at(i)];
  sorted.clear();
  for (std::int64_t k = first; k < ptr[at(i) + 1]; ++k) sorted.emplace_back(ind[at(k)], static_cast<I>(k - first));
  std::sort(sorted.begin(), sorted.end());
}

/// Writes the entries of segment i as sort_segment() has put them, duplicates summed; returns how many remain, at the
/// segment's front. `own`: scratch for its values.
template <element T, index I>
I sum_segment(std::int64_t i, const std::vector<I>& ptr, const std::vector<std::pair<I, I>>& sorted,
              std::vector<I>& ind, element_array<T>& values, element_array<T>& own) {
  const std::size_t first = at(ptr[at(i)]);
  own.resize(sorted.size());
  for (std::size_t k = 0; k < sorted.size(); ++k) own[k] = values[first + k];
  std::size_t kept = first;
  for (const auto& [index, from] : sorted) {
    if (kept > first && ind[kept - 1] == index) {
      values[kept - 1] += own[at(from)];
      continue;
    }
    ind[kept] = index;
    values[kept++] = own[at(from)];
  }
  return static_cast<I>(kept - first);
}

template <element T, index I>
void sort_and_sum(std::vector<I>& ptr, std::vector<I>& ind, element_array<T>& values) {
  if (first_disorder<I>(ptr, ind) < 0) return;
  const std::int64_t num_segments = length(ptr) - 1;
  auto kept = converters::storage<I>(num_segments, "entries left in each segment");
  for_pieces(even_segment_cuts(ptr, num_segments), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    std::vector<std::pair<I, I>> sorted;
    element_array<T> own;
    for (std::int64_t i = first; i < last; ++i) {
      kept[at(i)] = static_cast<I>(ptr[at(i) + 1] - ptr[at(i)]);
      if (is_ordered<I>(ptr, ind, i)) continue;
      sort_segment<I>(i, ptr, ind, sorted);
      kept[at(i)] = sum_segment<T>(i, ptr, sorted, ind, values, own);
    }
  });
  I end = 0;
  for (std::int64_t i = 0; i < num_segments; ++i) {
    const I from = std::exchange(ptr[at(i)], end);
    if (from != end) {
      std::copy_n(ind.begin() + from, kept[at(i)], ind.begin() + end);
      std::copy_n(values.begin() + from, kept[at(i)], values.begin() + end);
    }
    end = static_cast<I>(end + kept[at(i)]);
  }
  ptr[at(num_segments)] = end;
  ind.resize(at(end));
  values.resize(at(end));
}

// --- BSR ------------------------------------------------------------------------------------------------------------

/// Sorts the blocks of each block row and sums duplicate blocks in the order in which they came.
template <number T, index I>
void sort_and_sum_blocks(std::int64_t block_size, std::vector<I>& ptr, std::vector<I>& ind, element_array<T>& values) {
  if (first_disorder<I>(ptr, ind) < 0) return;
  std::vector<I> new_ptr(ptr.size()), new_ind;
  std::vector<T> new_values;
  new_values.reserve(values.size());
  std::vector<std::pair<I, I>> sorted;
  for (std::size_t b = 0; b + 1 < ptr.size(); ++b) {
    sort_segment<I>(static_cast<std::int64_t>(b), ptr, ind, sorted);
    for (const auto& [col, from] : sorted) {
      const auto block = values.begin() + (std::int64_t{ptr[b]} + from) * block_size;
      if (length(new_ind) > new_ptr[b] && new_ind.back() == col) {
        std::transform(block, block + block_size, new_values.end() - block_size, new_values.end() - block_size,
                       [](T more, T sum) { return static_cast<T>(sum + more); });
        continue;
      }
      new_ind.push_back(col);
      new_values.insert(new_values.end(), block, block + block_size);
    }
    new_ptr[b + 1] = static_cast<I>(new_ind.size());
  }
  ptr = std::move(new_ptr);
  ind = std::move(new_ind);
  values = std::move(new_values);
}

}  // namespace

// --- The owning matrices --------------------------------------------------------------------------------------------

template <element T, index I>
coo_matrix<T, I>::coo_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ind, std::vector<I> col_ind,
                             element_array<T> values, trust check)
    : rows_(rows), cols_(cols), row_ind_(std::move(row_ind)), col_ind_(std::move(col_ind)), values_(std::move(values)) {
  if (check == trust::trusted) return;
  const auto structure = structure_of(view());
  check_arrays(structure);
  if (first_disorder(structure) >= 0) sort_and_sum<T>(rows_, row_ind_, col_ind_, values_);
}

template <element T, index I>
csr_matrix<T, I>::csr_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ptr, std::vector<I> col_ind,
                             element_array<T> values, trust check)
    : rows_(rows), cols_(cols), row_ptr_(std::move(row_ptr)), col_ind_(std::move(col_ind)), values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_arrays(structure_of(view()));
  sort_and_sum<T>(row_ptr_, col_ind_, values_);
}

template <element T, index I>
csc_matrix<T, I>::csc_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> col_ptr, std::vector<I> row_ind,
                             element_array<T> values, trust check)
    : rows_(rows), cols_(cols), col_ptr_(std::move(col_ptr)), row_ind_(std::move(row_ind)), values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_arrays(structure_of(view()));
  sort_and_sum<T>(col_ptr_, row_ind_, values_);
}

template <number T, index I>
bsr_matrix<T, I>::bsr_matrix(std::int64_t rows, std::int64_t cols, std::int64_t row_block, std::int64_t col_block,
                             std::vector<I> brow_ptr, std::vector<I> bcol_ind, element_array<T> values, trust check)
    : rows_(rows),
      cols_(cols),
      row_block_(row_block),
      col_block_(col_block),
      brow_ptr_(std::move(brow_ptr)),
      bcol_ind_(std::move(bcol_ind)),
      values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_arrays(view());
  sort_and_sum_blocks<T>(row_block_ * col_block_, brow_ptr_, bcol_ind_, values_);
}

template <element T, index I>
bcsc_matrix<T, I>::bcsc_matrix(std::int64_t rows, std::int64_t cols, std::int64_t m_block, std::vector<I> brow_ptr,
                               std::vector<I> col_ind, std::vector<I> col_ptr, std::vector<I> row_ind,
                               element_array<T> values, trust check)
    : rows_(rows),
      cols_(cols),
      m_block_(m_block),
      brow_ptr_(std::move(brow_ptr)),
      col_ind_(std::move(col_ind)),
      col_ptr_(std::move(col_ptr)),
      row_ind_(std::move(row_ind)),
      values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_arrays(structure_of(view()));
}

#define BCSC_INSTANTIATE(T, I)     \
  template class coo_matrix<T, I>; \
  template class csr_matrix<T, I>; \
  template class csc_matrix<T, I>; \
  template class bcsc_matrix<T, I>;
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I) template class bsr_matrix<T, I>;
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
