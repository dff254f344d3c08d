#include "converters/formats/structure.hpp"

#include <algorithm>
#include <utility>

#include "converters/formats/ascending.hpp"
#include "converters/formats/instantiate.hpp"

namespace bcsc {
namespace converters {

namespace {

using core::at;
using core::ceil_div;
using core::fail;
using core::length;

/// `ptr` starts at 0, never falls (strict: always rises) and ends at `num_entries`.
template <index I>
void check_pointers(std::span<const I> ptr, std::int64_t num_segments, std::int64_t num_entries,
                    const array_names& names, bool strict = false) {
  check_pointer_length(ptr, num_segments, num_entries, names);
  const std::int64_t fault = first_fault(num_segments, [&](std::int64_t i) {
    return strict ? ptr[at(i) + 1] <= ptr[at(i)] : ptr[at(i) + 1] < ptr[at(i)];
  });
  if (fault >= 0) fail_pointer_step(fault + 1, ptr[at(fault) + 1], ptr[at(fault)], strict, names);
  check_pointer_ends(ptr.front(), ptr.back(), num_segments, num_entries, names);
}

template <index I>
void check_range(std::span<const I> ind, std::int64_t size, const char* array) {
  const std::int64_t fault =
      first_fault(length(ind), [&](std::int64_t k) { return ind[at(k)] < 0 || ind[at(k)] >= size; });
  if (fault >= 0) fail_range(fault, ind[at(fault)], size, array);
}

template <index I>
void check_order(std::span<const I> ptr, std::span<const I> ind, const array_names& names) {
  const std::int64_t segment = first_disorder(ptr, ind);
  if (segment < 0) return;
  std::int64_t k = ptr[at(segment)] + std::int64_t{1};
  while (ind[at(k)] > ind[at(k) - 1]) ++k;
  fail_order(k, ind[at(k)], ind[at(k) - 1], segment, names);
}

template <index I>
void check_compressed(std::span<const I> ptr, std::span<const I> ind, std::int64_t nnz, std::int64_t num_segments,
                      std::int64_t size, const array_names& names) {
  check_length(length(ind), nnz, names.indices, "one for each value");
  check_pointers(ptr, num_segments, length(ind), names);
  check_range(ind, size, names.indices);
}

/// Whether CSR or CSC is valid, without saying what is wrong: the checks above and that of the order in one pass.
template <index I>
bool is_valid(memory_space space, std::span<const I> ptr, std::span<const I> ind, std::int64_t nnz,
              std::int64_t num_segments, std::int64_t size) {
  return space == memory_space::host && length(ind) == nnz && ascends_in_segments(ptr, ind, num_segments, size);
}

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

/// Every row index lies in its row block.
template <index I>
void check_rows_in_blocks(const bcsc_view<pattern, I>& a) {
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
  fail_outside_block(k, a.row_ind[at(k)], block, a.m_block);
}

/// As is_valid() of CSR: only whether, not why not.
template <index I>
bool is_valid(const bcsc_view<pattern, I>& a) {
  if (a.space != memory_space::host || a.rows < 0 || a.m_block < 1 || a.row_ind.size() != a.values.size()) return false;
  if (!ascends_in_segments(a.brow_ptr, a.col_ind, ceil_div(a.rows, a.m_block), a.cols) ||
      !ascends_in_segments(a.col_ptr, a.row_ind, a.nnzc(), a.rows)) {
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

}  // namespace

template <index I>
void check_arrays(const coo_view<pattern, I>& a) {
  require_host(a.space, "coo");
  check_shape<I>(a.rows, a.cols);
  check_length(length(a.row_ind), a.nnz(), "row_ind", "one for each value");
  check_length(length(a.col_ind), a.nnz(), "col_ind", "one for each value");
  check_range(a.row_ind, a.rows, "row_ind");
  check_range(a.col_ind, a.cols, "col_ind");
}

template <index I>
std::int64_t first_disorder(const coo_view<pattern, I>& a) {
  const std::int64_t fault = first_fault(a.nnz() - 1, [&](std::int64_t k) {
    return std::pair(a.row_ind[at(k) + 1], a.col_ind[at(k) + 1]) <= std::pair(a.row_ind[at(k)], a.col_ind[at(k)]);
  });
  return fault < 0 ? -1 : fault + 1;
}

template <index I>
void check_arrays(const csr_view<pattern, I>& a) {
  require_host(a.space, "csr");
  check_shape<I>(a.rows, a.cols);
  check_compressed(a.row_ptr, a.col_ind, a.nnz(), a.rows, a.cols, csr_names);
}

template <index I>
void check_arrays(const csc_view<pattern, I>& a) {
  require_host(a.space, "csc");
  check_shape<I>(a.rows, a.cols);
  check_compressed(a.col_ptr, a.row_ind, a.nnz(), a.cols, a.rows, csc_names);
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

template <index I>
void check_arrays(const bcsc_view<pattern, I>& a) {
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

#define BCSC_INSTANTIATE(I)                                          \
  template std::int64_t first_disorder(const coo_view<pattern, I>&); \
  template void check_arrays(const coo_view<pattern, I>&);           \
  template void check_arrays(const csr_view<pattern, I>&);           \
  template void check_arrays(const csc_view<pattern, I>&);           \
  template void check_arrays(const bcsc_view<pattern, I>&);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I) template void check_arrays(const bsr_view<T, I>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

namespace {

// --- Order included: valid or not at the speed of memory, then what is wrong -----------------------------------------

template <index I>
void check(const coo_view<pattern, I>& a) {
  check_arrays(a);
  const std::int64_t k = first_disorder(a);
  if (k < 0) return;
  fail(errc::invalid_format, "entry {} at (row_ind, col_ind) = ({}, {}): must come after entry {} at ({}, {})", k,
       a.row_ind[at(k)], a.col_ind[at(k)], k - 1, a.row_ind[at(k) - 1], a.col_ind[at(k) - 1]);
}

template <index I>
void check(const csr_view<pattern, I>& a) {
  if (is_valid(a.space, a.row_ptr, a.col_ind, a.nnz(), a.rows, a.cols)) return;
  check_arrays(a);
  check_order(a.row_ptr, a.col_ind, csr_names);
}

template <index I>
void check(const csc_view<pattern, I>& a) {
  if (is_valid(a.space, a.col_ptr, a.row_ind, a.nnz(), a.cols, a.rows)) return;
  check_arrays(a);
  check_order(a.col_ptr, a.row_ind, csc_names);
}

template <index I>
void check(const bcsc_view<pattern, I>& a) {
  if (!is_valid(a)) check_arrays(a);
}

}  // namespace

}  // namespace converters

template <element T, index I>
void validate(const coo_view<T, I>& a) {
  converters::check(converters::structure_of(a));
}
template <element T, index I>
void validate(const csr_view<T, I>& a) {
  converters::check(converters::structure_of(a));
}
template <element T, index I>
void validate(const csc_view<T, I>& a) {
  converters::check(converters::structure_of(a));
}
template <element T, index I>
void validate(const bcsc_view<T, I>& a) {
  converters::check(converters::structure_of(a));
}

template <number T, index I>
void validate(const bsr_view<T, I>& a) {
  converters::check_arrays(a);
  converters::check_order(a.brow_ptr, a.bcol_ind, converters::bsr_names);
}

#define BCSC_INSTANTIATE(T, I)                   \
  template void validate(const coo_view<T, I>&); \
  template void validate(const csr_view<T, I>&); \
  template void validate(const csc_view<T, I>&); \
  template void validate(const bcsc_view<T, I>&);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I) template void validate(const bsr_view<T, I>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
