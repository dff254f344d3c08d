#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bcsc/files.hpp"
#include "converters/files/location.hpp"
#include "converters/files/source.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/memory.hpp"

/// From the entries of a file, in its order, to a sorted COO or CSR matrix. The result does not depend on the number of
/// threads.
namespace bcsc::files {

/// One stored entry, 0-based.
template <value T, index I>
struct entry {
  I row, col;
  T value;
};

/// Asks for large pages where the system gives them on request: faulting in 4 KiB at a time costs as much as reading
/// the numbers that go there.
inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t size) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t page = std::size_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (address + page - 1) / page * page, last = (address + size) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

/// Room for `size` elements in all, at least doubled where there is too little.
template <class E>
void make_room(std::vector<E>& array, std::size_t size) {
  if (size <= array.capacity()) return;
  std::vector<E> larger;
  larger.reserve(std::max(size, 2 * array.capacity()));
  prefer_large_pages(larger.data(), larger.capacity() * sizeof(E));
  larger.assign(array.begin(), array.end());
  array = std::move(larger);
}

/// An array of zeros in large pages.
template <class E>
std::vector<E> zeros(std::size_t size) {
  std::vector<E> array;
  make_room(array, size);
  array.resize(size);
  return array;
}

/// Entries in the order of the file; for the array form only the values.
template <value T, index I>
struct stored_entries {
  std::vector<I> row, col;
  std::vector<T> values;
  bool ordered = true;         ///< sorted by row, then column, no two at the same place
  const source* in = nullptr;  ///< where they come from: knows how much memory they may take

  static constexpr std::int64_t bytes_each = sizeof(T) + 2 * sizeof(I);

  std::size_t size() const { return values.size(); }
  /// Throws error{out_of_memory}.
  void require_memory(std::int64_t held, std::int64_t more) const {
    if (in == nullptr) return;
    in->require_memory(core::saturating_product(held, bytes_each), core::saturating_product(more, bytes_each),
                       "the list of entries", {.path = in->path()});
  }
  void push_back(I i, I j, T value) {
    if (values.size() == values.capacity()) {  // all will double
      require_memory(static_cast<std::int64_t>(size()), 2 * static_cast<std::int64_t>(size()) + 1);
    }
    ordered = ordered && (values.empty() || std::pair(i, j) > std::pair(row.back(), col.back()));
    row.push_back(i);
    col.push_back(j);
    values.push_back(value);
  }
};

namespace assembly {

using core::at;

/// Calls place(row, col, value) for the entries [first, last), and for those that symmetric storage leaves out.
template <value T, index I, class F>
void for_each_expanded(const stored_entries<T, I>& stored, std::int64_t first, std::int64_t last,
                       file_symmetry symmetry, F&& place) {
  const bool twins = symmetry != file_symmetry::general;
  const T twin_sign = symmetry == file_symmetry::skew_symmetric ? T{-1} : T{1};
  for (std::int64_t k = first; k < last; ++k) {
    const I row = stored.row[at(k)], col = stored.col[at(k)];
    const T value = stored.values[at(k)];
    place(row, col, value);
    if (twins && row != col) place(col, row, twin_sign * value);
  }
}

template <index I>
[[noreturn]] void fail_sum(I row, I col, const std::string& path) {
  fail_at({.path = path}, errc::value_out_of_range, "the duplicates of entry ({}, {}) add up beyond the range",
          static_cast<std::int64_t>(row) + 1, static_cast<std::int64_t>(col) + 1);
}

template <index I>
void require_pointers_fit(std::int64_t num_entries, const std::string& path) {
  if (num_entries <= std::numeric_limits<I>::max()) return;
  fail_at({.path = path}, errc::size_overflow, "{} entries: do not fit {}-bit indices", num_entries, sizeof(I) * 8);
}

/// Where each row begins among sorted row indices, and the end.
template <index I>
std::vector<I> pointers_of(const std::vector<I>& row_ind, std::int64_t rows, const std::string& path) {
  const auto size = static_cast<std::int64_t>(row_ind.size());
  require_pointers_fit<I>(size, path);
  std::vector<I> row_ptr = converters::storage<I>(rows + 1, "row_ptr");
  // Entry k is the first one of its row, and of the empty rows before it.
  const auto row_of = [&](std::int64_t k) { return k < 0 ? -1 : k < size ? std::int64_t{row_ind[at(k)]} : rows; };
  converters::for_pieces(converters::even_cuts(size + 1), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      for (std::int64_t row = row_of(k - 1) + 1; row <= row_of(k); ++row) row_ptr[at(row)] = static_cast<I>(k);
    }
  });
  return row_ptr;
}

/// Entries binned into buckets of 2^shift rows, in the order in which they came: a bucket fits into a cache, where
/// writes may be scattered over many rows.
template <value T, index I>
struct buckets {
  struct record {  // members in the order with the least padding
    T value;
    std::uint32_t row;  ///< within the bucket
    I col;
  };
  int shift = 0;
  std::vector<std::int64_t> start{0};  ///< of each bucket in `records`, and the end
  std::vector<record> records;

  std::int64_t count() const { return static_cast<std::int64_t>(start.size()) - 1; }
};

template <value T, index I>
buckets<T, I> throw_into_buckets(std::int64_t rows, const stored_entries<T, I>& stored, file_symmetry symmetry) {
  constexpr std::int64_t entries_in_cache = 16384, max_buckets = 2048;
  const auto size = static_cast<std::int64_t>(stored.size());
  const std::int64_t wanted = std::clamp<std::int64_t>(size / entries_in_cache, 1, max_buckets);
  const std::int64_t last_row = std::max<std::int64_t>(rows - 1, 0);
  buckets<T, I> b;
  while (last_row >> b.shift >= wanted) ++b.shift;
  const std::int64_t num_buckets = (last_row >> b.shift) + 1;

  // next[piece][bucket]: first how many entries, then where the next one goes.
  const std::vector<std::int64_t> cuts = converters::even_cuts(size);
  std::vector<std::vector<std::int64_t>> next(cuts.size() - 1, std::vector<std::int64_t>(at(num_buckets), 0));
  const auto for_each = [&](auto&& place) {
    converters::for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
      std::vector<std::int64_t>& mine = next[at(piece)];
      for_each_expanded(stored, first, last, symmetry, [&](I row, I col, T value) {
        place(mine[at(static_cast<std::int64_t>(row) >> b.shift)], row, col, value);
      });
    });
  };
  for_each([](std::int64_t& count, I, I, T) { ++count; });
  std::int64_t end = 0;
  for (std::int64_t bucket = 0; bucket < num_buckets; ++bucket) {
    for (auto& piece : next) end += std::exchange(piece[at(bucket)], end);
    b.start.push_back(end);
  }
  stored.require_memory(size, end);
  b.records = zeros<typename buckets<T, I>::record>(at(end));
  const auto within = static_cast<I>((std::int64_t{1} << b.shift) - 1);
  for_each([&](std::int64_t& to, I row, I col, T value) {
    b.records[at(to++)] = {value, static_cast<std::uint32_t>(row & within), col};
  });
  return b;
}

/// Sorted by row, then column, duplicates summed. Rows either for each entry or as pointers, as asked.
template <value T, index I>
struct ordered_entries {
  std::vector<I> row_ind, row_ptr, col_ind;
  std::vector<T> values;
};

enum class row_form : std::uint8_t { indices, pointers };

/// What became of a bucket.
template <index I>
struct bucket_outcome {
  std::int64_t kept = 0;                         ///< entries, at the front of its place
  I overflowing_row = -1, overflowing_col = -1;  ///< of the first sum that is not finite
};

/// Sorts one bucket into its place in the result, which begins at entry `begin` and row `first_row`: a stable counting
/// sort by row, then each row by column, then sums.
template <value T, index I>
class bucket_sorter {
 public:
  bucket_sorter(ordered_entries<T, I>& result, row_form form) : result_(result), form_(form) {}

  bucket_outcome<I> sort(std::span<const typename buckets<T, I>::record> records, std::int64_t begin,
                         std::int64_t first_row, std::int64_t num_rows) {
    I* const col = result_.col_ind.data() + begin;
    T* const values = result_.values.data() + begin;
    next_.assign(at(num_rows) + 1, 0);
    for (const auto& record : records) ++next_[std::size_t{record.row} + 1];
    std::partial_sum(next_.begin(), next_.end(), next_.begin());
    for (const auto& record : records) {
      const std::int64_t to = next_[record.row]++;
      col[to] = record.col;
      values[to] = record.value;
    }
    // `next_[row]` has arrived at the row's end.
    bucket_outcome<I> outcome;
    for (std::int64_t row = 0, first = 0; row < num_rows; first = next_[at(row++)]) {
      const std::int64_t last = next_[at(row)], to = outcome.kept;
      const auto here = static_cast<I>(first_row + row);
      sort_row(col, values, first, last);
      for (std::int64_t k = first; k < last; ++k) {
        if (outcome.kept == to || col[outcome.kept - 1] != col[k]) {
          col[outcome.kept] = col[k];
          values[outcome.kept++] = values[k];
          continue;
        }
        T& sum = values[outcome.kept - 1];
        sum += values[k];
        if (!std::isfinite(sum) && outcome.overflowing_row < 0) {
          outcome.overflowing_row = here;
          outcome.overflowing_col = col[k];
        }
      }
      if (form_ == row_form::indices) {
        std::fill(result_.row_ind.data() + begin + to, result_.row_ind.data() + begin + outcome.kept, here);
      } else {
        result_.row_ptr[at(first_row + row) + 1] = static_cast<I>(outcome.kept);
      }
    }
    return outcome;
  }

 private:
  /// Files sorted by column (the usual order) or by row have nothing to sort here.
  void sort_row(I* col, T* values, std::int64_t first, std::int64_t last) {
    if (std::is_sorted(col + first, col + last)) return;
    row_.clear();
    for (std::int64_t k = first; k < last; ++k) row_.emplace_back(col[k], values[k]);
    std::stable_sort(row_.begin(), row_.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (std::int64_t k = first; k < last; ++k) std::tie(col[k], values[k]) = row_[at(k - first)];
  }

  ordered_entries<T, I>& result_;
  row_form form_;
  std::vector<std::int64_t> next_;
  std::vector<std::pair<I, T>> row_;
};

/// For matrices whose rows are not many more than their entries.
template <value T, index I>
ordered_entries<T, I> order_by_counting(std::int64_t rows, stored_entries<T, I> stored, file_symmetry symmetry,
                                        row_form form, const std::string& path) {
  const buckets<T, I> b = throw_into_buckets(rows, stored, symmetry);
  ordered_entries<T, I> result;
  if (form == row_form::pointers) stored.row = {};
  // The arrays that were read are reused for the result if it has the same size.
  const auto reuse = [size = b.records.size()](auto& array) {
    if (array.size() == size) return std::move(array);
    array = {};
    return zeros<typename std::remove_reference_t<decltype(array)>::value_type>(size);
  };
  converters::parallel_for(3, [&](std::int64_t which) {
    if (which == 0) result.values = reuse(stored.values);
    if (which == 1) result.col_ind = reuse(stored.col);
    if (which == 2 && form == row_form::indices) result.row_ind = reuse(stored.row);
  });
  stored = {};
  if (form == row_form::pointers) result.row_ptr = converters::storage<I>(rows + 1, "row_ptr");

  std::vector<bucket_outcome<I>> outcomes(at(b.count()));
  converters::for_pieces(converters::even_segment_cuts(b.start, b.count()), [&](std::int64_t, std::int64_t first,
                                                                                std::int64_t last) {
    bucket_sorter<T, I> sorter(result, form);
    for (std::int64_t bucket = first; bucket < last; ++bucket) {
      const std::int64_t begin = b.start[at(bucket)], first_row = bucket << b.shift;
      outcomes[at(bucket)] = sorter.sort(std::span(b.records).subspan(at(begin), at(b.start[at(bucket) + 1] - begin)),
                                         begin, first_row, std::min(std::int64_t{1} << b.shift, rows - first_row));
    }
  });
  // Where duplicates left gaps, later buckets close them.
  std::vector<std::int64_t> start{0};
  for (std::int64_t bucket = 0; bucket < b.count(); ++bucket) {
    const bucket_outcome<I>& outcome = outcomes[at(bucket)];
    if (outcome.overflowing_row >= 0) fail_sum(outcome.overflowing_row, outcome.overflowing_col, path);
    const auto close_gap = [&, from = b.start[at(bucket)], to = start.back()](auto& array) {
      if (from != to) std::copy_n(array.begin() + from, outcome.kept, array.begin() + to);
    };
    close_gap(result.col_ind);
    close_gap(result.values);
    if (form == row_form::indices) close_gap(result.row_ind);
    start.push_back(start.back() + outcome.kept);
  }
  result.col_ind.resize(at(start.back()));
  result.values.resize(at(start.back()));
  if (form == row_form::indices) {
    result.row_ind.resize(at(start.back()));
    return result;
  }
  require_pointers_fit<I>(start.back(), path);
  converters::parallel_for(b.count(), [&](std::int64_t bucket) {
    const auto first = result.row_ptr.begin() + (bucket << b.shift) + 1;
    const auto last = result.row_ptr.begin() + std::min((bucket + 1) << b.shift, rows) + 1;
    for (auto row = first; row < last; ++row) *row = static_cast<I>(*row + start[at(bucket)]);
  });
  return result;
}

/// The same by comparison, for matrices with so many empty rows that a counter for each would take most of the memory.
template <value T, index I>
ordered_entries<T, I> order_by_comparison(const stored_entries<T, I>& stored, file_symmetry symmetry,
                                          const std::string& path) {
  std::vector<entry<T, I>> expanded;
  expanded.reserve(stored.size() * (symmetry == file_symmetry::general ? 1 : 2));
  for_each_expanded(stored, 0, static_cast<std::int64_t>(stored.size()), symmetry, [&](I row, I col, T value) {
    expanded.push_back({row, col, value});
  });
  std::stable_sort(expanded.begin(), expanded.end(),
                   [](const auto& x, const auto& y) { return std::pair(x.row, x.col) < std::pair(y.row, y.col); });
  ordered_entries<T, I> result;
  for (const auto& [row, col, value] : expanded) {
    if (!result.values.empty() && result.row_ind.back() == row && result.col_ind.back() == col) {
      result.values.back() += value;
      if (!std::isfinite(result.values.back())) fail_sum(row, col, path);
      continue;
    }
    result.row_ind.push_back(row);
    result.col_ind.push_back(col);
    result.values.push_back(value);
  }
  return result;
}

/// Symmetric storage expanded, sorted, duplicates summed. O(nnz + rows) for files sorted by row or by column; nothing
/// to do for those already sorted by row and column. Takes no more memory for `rows` than for the entries, except for
/// the row pointers, if they are asked for.
template <value T, index I>
ordered_entries<T, I> order(std::int64_t rows, stored_entries<T, I> stored, file_symmetry symmetry, row_form form,
                            const std::string& path) {
  const bool rows_are_few = rows / 4 <= static_cast<std::int64_t>(stored.size());
  ordered_entries<T, I> result;
  if (stored.ordered && symmetry == file_symmetry::general) {
    result.row_ind = std::move(stored.row);
    result.col_ind = std::move(stored.col);
    result.values = std::move(stored.values);
  } else if (rows_are_few) {
    return order_by_counting(rows, std::move(stored), symmetry, form, path);
  } else {
    result = order_by_comparison(stored, symmetry, path);
    stored = {};
  }
  if (form == row_form::pointers) {
    result.row_ptr = pointers_of<I>(result.row_ind, rows, path);
    result.row_ind = {};
  }
  return result;
}

}  // namespace assembly

template <value T, index I>
coo_matrix<T, I> assemble_coo(std::int64_t rows, std::int64_t cols, stored_entries<T, I> stored, file_symmetry symmetry,
                              const std::string& path) {
  auto a = assembly::order(rows, std::move(stored), symmetry, assembly::row_form::indices, path);
  return {rows, cols, std::move(a.row_ind), std::move(a.col_ind), std::move(a.values), trust::trusted};
}

/// Throws error{size_overflow} where I cannot count the entries.
template <value T, index I>
csr_matrix<T, I> assemble_csr(std::int64_t rows, std::int64_t cols, stored_entries<T, I> stored, file_symmetry symmetry,
                              const std::string& path) {
  auto a = assembly::order(rows, std::move(stored), symmetry, assembly::row_form::pointers, path);
  return {rows, cols, std::move(a.row_ptr), std::move(a.col_ind), std::move(a.values), trust::trusted};
}

/// The COO matrix of entries that were collected one by one.
template <value T, index I>
coo_matrix<T, I> assemble(std::int64_t rows, std::int64_t cols, const std::vector<entry<T, I>>& entries,
                          file_symmetry symmetry, const std::string& path) {
  stored_entries<T, I> stored;
  for (const auto& [row, col, value] : entries) stored.push_back(row, col, value);
  return assemble_coo(rows, cols, std::move(stored), symmetry, path);
}

}  // namespace bcsc::files
