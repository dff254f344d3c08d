#include "bcsc/formats.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "converters/formats/ascending.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc {

namespace {

using converters::array_names;
using converters::bcsc_block_names;
using converters::bcsc_column_names;
using converters::bsr_names;
using converters::check_length;
using converters::check_shape;
using converters::csc_names;
using converters::csr_names;
using converters::even_segment_cuts;
using converters::first_fault;
using converters::for_pieces;
using converters::require_at_least_one;
using converters::require_host;
using core::at;
using core::ceil_div;
using core::fail;
using core::length;

/// `ptr` starts at 0, never falls (strict: always rises) and ends at `num_entries`.
template <index I>
void check_pointers(std::span<const I> ptr, std::int64_t num_segments, std::int64_t num_entries,
                    const array_names& names, bool strict = false) {
  converters::check_pointer_length(ptr, num_segments, num_entries, names);
  const std::int64_t fault = first_fault(num_segments, [&](std::int64_t i) {
    return strict ? ptr[at(i) + 1] <= ptr[at(i)] : ptr[at(i) + 1] < ptr[at(i)];
  });
  if (fault >= 0) converters::fail_pointer_step(fault + 1, ptr[at(fault) + 1], ptr[at(fault)], strict, names);
  converters::check_pointer_ends(ptr.front(), ptr.back(), num_segments, num_entries, names);
}

template <index I>
void check_range(std::span<const I> ind, std::int64_t size, const char* array) {
  const std::int64_t fault =
      first_fault(length(ind), [&](std::int64_t k) { return ind[at(k)] < 0 || ind[at(k)] >= size; });
  if (fault >= 0) converters::fail_range(fault, ind[at(fault)], size, array);
}

/// Whether the indices of segment i strictly increase.
template <index I>
bool is_ordered(std::span<const I> ptr, std::span<const I> ind, std::int64_t i) {
  for (std::int64_t k = ptr[at(i)] + std::int64_t{1}; k < ptr[at(i) + 1]; ++k) {
    if (ind[at(k)] <= ind[at(k) - 1]) return false;
  }
  return true;
}

/// The first segment whose indices do not strictly increase, or -1.
template <index I>
std::int64_t first_disorder(std::span<const I> ptr, std::span<const I> ind) {
  return first_fault(length(ptr) - 1, [&](std::int64_t i) { return !is_ordered(ptr, ind, i); });
}

template <index I>
void check_order(std::span<const I> ptr, std::span<const I> ind, const array_names& names) {
  const std::int64_t segment = first_disorder(ptr, ind);
  if (segment < 0) return;
  std::int64_t k = ptr[at(segment)] + std::int64_t{1};
  while (ind[at(k)] > ind[at(k) - 1]) ++k;
  converters::fail_order(k, ind[at(k)], ind[at(k) - 1], segment, names);
}

// --- COO ------------------------------------------------------------------------------------------------------------

template <element T, index I>
void check_entries(const coo_view<T, I>& a) {
  require_host(a.space, "coo");
  check_shape<I>(a.rows, a.cols);
  check_length(length(a.row_ind), a.nnz(), "row_ind", "one for each value");
  check_length(length(a.col_ind), a.nnz(), "col_ind", "one for each value");
  check_range(a.row_ind, a.rows, "row_ind");
  check_range(a.col_ind, a.cols, "col_ind");
}

/// The first entry that does not come after the one before it, or -1.
template <element T, index I>
std::int64_t first_disorder(const coo_view<T, I>& a) {
  const std::int64_t fault = first_fault(a.nnz() - 1, [&](std::int64_t k) {
    return std::pair(a.row_ind[at(k) + 1], a.col_ind[at(k) + 1]) <= std::pair(a.row_ind[at(k)], a.col_ind[at(k)]);
  });
  return fault < 0 ? -1 : fault + 1;
}

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

template <element T, index I>
void check_compressed(std::span<const I> ptr, std::span<const I> ind, element_span<T> values, std::int64_t num_segments,
                      std::int64_t size, const array_names& names) {
  check_length(length(ind), length(values), names.indices, "one for each value");
  check_pointers(ptr, num_segments, length(ind), names);
  check_range(ind, size, names.indices);
}

/// Whether CSR or CSC is valid, without saying what is wrong: the checks above and that of the order in one pass.
template <element T, index I>
bool is_valid(memory_space space, std::span<const I> ptr, std::span<const I> ind, element_span<T> values,
              std::int64_t num_segments, std::int64_t size) {
  return space == memory_space::host && ind.size() == values.size() &&
         converters::ascends_in_segments(ptr, ind, num_segments, size);
}

template <element T, index I>
void check_arrays(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  check_shape<I>(a.rows, a.cols);
  check_compressed<T, I>(a.row_ptr, a.col_ind, a.values, a.rows, a.cols, csr_names);
}

template <element T, index I>
void check_arrays(const csc_view<T, I>& a) {
  require_host(a.space, "csc");
  check_shape<I>(a.rows, a.cols);
  check_compressed<T, I>(a.col_ptr, a.row_ind, a.values, a.cols, a.rows, csc_names);
}

/// Sorts segment i by index and sums duplicates in the order in which they came; returns how many entries remain, at
/// the segment's front.
template <element T, index I>
I sort_and_sum_segment(std::int64_t i, const std::vector<I>& ptr, std::vector<I>& ind, element_array<T>& values,
                       std::vector<std::pair<I, T>>& scratch) {
  const std::size_t first = at(ptr[at(i)]), last = at(ptr[at(i) + 1]);
  scratch.clear();
  for (std::size_t k = first; k < last; ++k) scratch.emplace_back(ind[k], values[k]);
  std::stable_sort(scratch.begin(), scratch.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t kept = first;
  for (const auto& [index, value] : scratch) {
    if (kept > first && ind[kept - 1] == index) {
      values[kept - 1] += value;
      continue;
    }
    ind[kept] = index;
    values[kept++] = value;
  }
  return static_cast<I>(kept - first);
}

template <element T, index I>
void sort_and_sum(std::vector<I>& ptr, std::vector<I>& ind, element_array<T>& values) {
  if (first_disorder<I>(ptr, ind) < 0) return;
  const std::int64_t num_segments = length(ptr) - 1;
  auto kept = converters::storage<I>(num_segments, "entries left in each segment");
  for_pieces(even_segment_cuts(ptr, num_segments), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    std::vector<std::pair<I, T>> scratch;
    for (std::int64_t i = first; i < last; ++i) {
      kept[at(i)] = is_ordered<I>(ptr, ind, i) ? static_cast<I>(ptr[at(i) + 1] - ptr[at(i)])
                                               : sort_and_sum_segment<T>(i, ptr, ind, values, scratch);
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

template <number T, index I>
void check_padding(const bsr_view<T, I>& a) {
  const std::int64_t block_size = a.row_block * a.col_block;
  for (std::int64_t b = 0; b < length(a.brow_ptr) - 1; ++b) {
    const std::int64_t height = std::min(a.row_block, a.rows - b * a.row_block);
    for (std::int64_t k = a.brow_ptr[at(b)]; k < a.brow_ptr[at(b) + 1]; ++k) {
      const std::int64_t width = std::min(a.col_block, a.cols - a.bcol_ind[at(k)] * a.col_block);
      if (height == a.row_block && width == a.col_block) continue;
      for (std::int64_t e = 0; e < block_size; ++e) {
        if (e / a.col_block < height && e % a.col_block < width) continue;
        const T value = a.values[at(k * block_size + e)];
        if (!is_zero_element(value)) {
          fail(errc::invalid_format, "values[{}] = {}: lies beyond the edge of the {} x {} matrix, must be 0",
               k * block_size + e, static_cast<double>(value), a.rows, a.cols);
        }
      }
    }
  }
}

template <number T, index I>
void check_arrays(const bsr_view<T, I>& a) {
  require_host(a.space, "bsr");
  check_shape<I>(a.rows, a.cols);
  require_at_least_one(a.row_block, "row_block");
  require_at_least_one(a.col_block, "col_block");
  const std::int64_t block_size = core::checked_product(a.row_block, a.col_block, "row_block x col_block");
  check_length(length(a.values), core::checked_product(a.num_blocks(), block_size, "num_blocks x block size"), "values",
               "num_blocks * row_block * col_block");
  check_pointers(a.brow_ptr, ceil_div(a.rows, a.row_block), a.num_blocks(), bsr_names);
  check_range(a.bcol_ind, ceil_div(a.cols, a.col_block), "bcol_ind");
  check_padding(a);
}

/// Sorts the blocks of each block row and sums duplicate blocks in the order in which they came.
template <number T, index I>
void sort_and_sum_blocks(std::int64_t block_size, std::vector<I>& ptr, std::vector<I>& ind, element_array<T>& values) {
  if (first_disorder<I>(ptr, ind) < 0) return;
  std::vector<I> new_ptr(ptr.size()), new_ind;
  std::vector<T> new_values;
  new_values.reserve(values.size());
  std::vector<I> order;
  for (std::size_t b = 0; b + 1 < ptr.size(); ++b) {
    order.resize(at(ptr[b + 1] - ptr[b]));
    std::iota(order.begin(), order.end(), ptr[b]);
    std::stable_sort(order.begin(), order.end(), [&](I x, I y) { return ind[at(x)] < ind[at(y)]; });
    for (const I k : order) {
      const auto block = values.begin() + k * block_size;
      if (length(new_ind) > new_ptr[b] && new_ind.back() == ind[at(k)]) {
        std::transform(block, block + block_size, new_values.end() - block_size, new_values.end() - block_size,
                       [](T more, T sum) { return static_cast<T>(sum + more); });
        continue;
      }
      new_ind.push_back(ind[at(k)]);
      new_values.insert(new_values.end(), block, block + block_size);
    }
    new_ptr[b + 1] = static_cast<I>(new_ind.size());
  }
  ptr = std::move(new_ptr);
  ind = std::move(new_ind);
  values = std::move(new_values);
}

// --- BCSC -----------------------------------------------------------------------------------------------------------

/// Every row index lies in its row block.
template <element T, index I>
void check_rows_in_blocks(const bcsc_view<T, I>& a) {
  const auto is_outside = [&](std::int64_t b, std::int64_t k) {
    const std::int64_t row_in_block = a.row_ind[at(k)] - b * a.m_block;
    return row_in_block < 0 || row_in_block >= a.m_block;
  };
  const std::int64_t block = first_fault(a.num_row_blocks(), [&](std::int64_t b) {
    for (std::int64_t k = a.col_ptr[at(a.brow_ptr[at(b)])]; k < a.col_ptr[at(a.brow_ptr[at(b) + 1])]; ++k) {
      if (is_outside(b, k)) return true;
    }
    return false;
  });
  if (block < 0) return;
  std::int64_t k = a.col_ptr[at(a.brow_ptr[at(block)])];
  while (!is_outside(block, k)) ++k;
  converters::fail_outside_block(k, a.row_ind[at(k)], block, a.m_block);
}

/// As is_valid() of CSR: only whether, not why not.
template <element T, index I>
bool is_valid(const bcsc_view<T, I>& a) {
  if (a.space != memory_space::host || a.rows < 0 || a.m_block < 1 || a.row_ind.size() != a.values.size()) return false;
  if (!converters::ascends_in_segments(a.brow_ptr, a.col_ind, ceil_div(a.rows, a.m_block), a.cols) ||
      !converters::ascends_in_segments(a.col_ptr, a.row_ind, a.nnzc(), a.rows)) {
    return false;
  }
  // Rows ascend in a column: its first and its last tell whether all lie in the block.
  return first_fault(a.num_row_blocks(), [&](std::int64_t b) {
           for (std::int64_t j = a.brow_ptr[at(b)]; j < a.brow_ptr[at(b) + 1]; ++j) {
             const std::int64_t first = a.col_ptr[at(j)], last = a.col_ptr[at(j) + 1];
             if (first == last || a.row_ind[at(first)] < b * a.m_block ||
                 a.row_ind[at(last) - 1] - b * a.m_block >= a.m_block) {
               return true;
             }
           }
           return false;
         }) < 0;
}

template <element T, index I>
void check_arrays(const bcsc_view<T, I>& a) {
  require_host(a.space, "bcsc");
  check_shape<I>(a.rows, a.cols);
  require_at_least_one(a.m_block, "m_block");
  check_length(length(a.row_ind), a.nnz(), "row_ind", "one for each value");
  check_pointers(a.brow_ptr, ceil_div(a.rows, a.m_block), a.nnzc(), bcsc_block_names);
  check_pointers(a.col_ptr, a.nnzc(), a.nnz(), bcsc_column_names, true);
  check_range(a.col_ind, a.cols, "col_ind");
  check_range(a.row_ind, a.rows, "row_ind");
  check_order(a.brow_ptr, a.col_ind, bcsc_block_names);
  check_rows_in_blocks(a);
  check_order(a.col_ptr, a.row_ind, bcsc_column_names);
}

}  // namespace

// --- The checks of views --------------------------------------------------------------------------------------------

template <element T, index I>
void validate(const coo_view<T, I>& a) {
  check_entries(a);
  const std::int64_t k = first_disorder(a);
  if (k < 0) return;
  fail(errc::invalid_format, "entry {} at (row_ind, col_ind) = ({}, {}): must come after entry {} at ({}, {})", k,
       a.row_ind[at(k)], a.col_ind[at(k)], k - 1, a.row_ind[at(k) - 1], a.col_ind[at(k) - 1]);
}

template <element T, index I>
void validate(const csr_view<T, I>& a) {
  if (is_valid<T, I>(a.space, a.row_ptr, a.col_ind, a.values, a.rows, a.cols)) return;
  check_arrays(a);
  check_order(a.row_ptr, a.col_ind, csr_names);
}

template <element T, index I>
void validate(const csc_view<T, I>& a) {
  if (is_valid<T, I>(a.space, a.col_ptr, a.row_ind, a.values, a.cols, a.rows)) return;
  check_arrays(a);
  check_order(a.col_ptr, a.row_ind, csc_names);
}

template <number T, index I>
void validate(const bsr_view<T, I>& a) {
  check_arrays(a);
  check_order(a.brow_ptr, a.bcol_ind, bsr_names);
}

template <element T, index I>
void validate(const bcsc_view<T, I>& a) {
  if (is_valid(a)) return;
  check_arrays(a);
}

// --- The owning matrices --------------------------------------------------------------------------------------------

template <element T, index I>
coo_matrix<T, I>::coo_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ind, std::vector<I> col_ind,
                             element_array<T> values, trust check)
    : rows_(rows), cols_(cols), row_ind_(std::move(row_ind)), col_ind_(std::move(col_ind)), values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_entries(view());
  if (first_disorder(view()) >= 0) sort_and_sum<T>(rows_, row_ind_, col_ind_, values_);
}

template <element T, index I>
csr_matrix<T, I>::csr_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> row_ptr, std::vector<I> col_ind,
                             element_array<T> values, trust check)
    : rows_(rows), cols_(cols), row_ptr_(std::move(row_ptr)), col_ind_(std::move(col_ind)), values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_arrays(view());
  sort_and_sum<T>(row_ptr_, col_ind_, values_);
}

template <element T, index I>
csc_matrix<T, I>::csc_matrix(std::int64_t rows, std::int64_t cols, std::vector<I> col_ptr, std::vector<I> row_ind,
                             element_array<T> values, trust check)
    : rows_(rows), cols_(cols), col_ptr_(std::move(col_ptr)), row_ind_(std::move(row_ind)), values_(std::move(values)) {
  if (check == trust::trusted) return;
  check_arrays(view());
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
  check_arrays(view());
}

#define BCSC_INSTANTIATE(T, I)                    \
  template void validate(const coo_view<T, I>&);  \
  template void validate(const csr_view<T, I>&);  \
  template void validate(const csc_view<T, I>&);  \
  template void validate(const bcsc_view<T, I>&); \
  template class coo_matrix<T, I>;                \
  template class csr_matrix<T, I>;                \
  template class csc_matrix<T, I>;                \
  template class bcsc_matrix<T, I>;
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I)                   \
  template void validate(const bsr_view<T, I>&); \
  template class bsr_matrix<T, I>;
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
