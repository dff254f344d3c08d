#include "kernels/forms/row_slices/row_slices.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::forms {

namespace {

using converters::parallel_for;
using converters::require_host;
using converters::storage;
using core::at;

/// What a step costs, in entries that are gathered one by one: a gather as many as it has lanes, a diagonal the loads
/// of two vectors and a mask. A listed slice costs some more, since its rows lie apart in C.
constexpr std::int64_t diagonal_cost = 3, listed_cost = 8;

/// Where A is streamed its bytes count as much as its instructions. By bytes alone a diagonal costs 6 gathered entries
/// in fp64 and 9 in fp32; these are the means with diagonal_cost (docs/history, 65). Such a diagonal has to serve five
/// lanes of eight.
template <class T>
constexpr std::int64_t streamed_diagonal_cost = sizeof(T) == 8 ? 5 : 6;

/// Steps that a row pays for the sum over its lanes where it is a slice by itself.
constexpr std::int64_t alone_cost = 2;

/// The slices of a window, as if it were alone.
template <class T>
class window_builder {
 public:
  static constexpr int lanes = slice_lanes<T>;
  static constexpr std::int64_t entry_bytes = sizeof(T) + sizeof(std::int32_t);

  template <class I>
  window_builder(const csr_view<T, I>& a, std::int64_t first, std::int64_t last)
      : streamed_(a.nnz() * entry_bytes >= streamed_bytes) {
    std::vector<std::int32_t> others, alone;
    for (std::int64_t row = first; row < last; row += lanes) {
      const std::int64_t end = std::min(row + lanes, last);
      take_neighbours(a, row, end);
      const steps found = find_steps();
      if (cost_of(found) <= num_entries_ + listed_cost) {
        append({.first_row = static_cast<std::int32_t>(row), .rows = slice_rows::neighbours}, found);
      } else {
        for (std::int64_t r = row; r < end; ++r) {
          if (length(a, r) <= max_shared_row) others.push_back(static_cast<std::int32_t>(r));
        }
      }
      for (std::int64_t r = row; r < end; ++r) {
        if (length(a, r) > max_shared_row) alone.push_back(static_cast<std::int32_t>(r));
      }
    }
    std::ranges::stable_sort(others, std::ranges::greater{}, [&](std::int32_t row) { return length(a, row); });
    const std::size_t num_alone = num_better_alone(a, others);
    alone.insert(alone.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(num_alone));
    for (std::size_t i = num_alone; i < others.size(); i += lanes) {
      const std::size_t count = std::min<std::size_t>(lanes, others.size() - i);
      take_rows(a, std::span(others).subspan(i, count));
      const auto at_listed = static_cast<std::int32_t>(made_.listed.size());
      for (std::size_t lane = 0; lane < count; ++lane) made_.listed.push_back(others[i + lane]);
      append({.first_row = at_listed, .rows = slice_rows::listed}, find_steps());
    }
    for (const std::int32_t row : alone) append_long(a, row);
  }

  row_slices<T>& made() { return made_; }

 private:
  struct entry {
    std::int32_t column;
    T value;
  };
  /// How the current lanes are combined.
  struct steps {
    std::vector<std::int32_t> diagonals;  ///< columns of lane 0, ascending
    std::int64_t num_gathers = 0;
  };
  std::int64_t cost_of(const steps& found) const {
    const std::int64_t of_diagonal = streamed_ ? streamed_diagonal_cost<T> : diagonal_cost;
    return of_diagonal * static_cast<std::int64_t>(found.diagonals.size()) + lanes * found.num_gathers;
  }

  template <class I>
  static std::int64_t length(const csr_view<T, I>& a, std::int64_t row) {
    return std::int64_t{a.row_ptr[at(row + 1)]} - std::int64_t{a.row_ptr[at(row)]};
  }

  /// How many of `rows`, the longest first, take fewer steps one by one: all lanes have a share of such a row, while a
  /// slice of several rows has as many steps as the longest of them has entries.
  template <class I>
  static std::size_t num_better_alone(const csr_view<T, I>& a, const std::vector<std::int32_t>& rows) {
    std::vector<std::int64_t> together(rows.size() + lanes);  // [i]: the steps of the rows from i on
    for (std::size_t i = rows.size(); i-- > 0;) together[i] = length(a, rows[i]) + together[i + lanes];
    std::int64_t one_by_one = 0, least = together[0];
    std::size_t best = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      one_by_one += core::ceil_div(length(a, rows[i]), std::int64_t{lanes}) + alone_cost;
      if (one_by_one + together[i + 1] >= least) continue;
      least = one_by_one + together[i + 1];
      best = i + 1;
    }
    return best;
  }

  template <class I>
  void take(const csr_view<T, I>& a, int lane, std::int64_t row) {
    present_ = static_cast<std::uint16_t>(present_ | 1U << lane);
    for (auto k = at(a.row_ptr[at(row)]); k < at(a.row_ptr[at(row + 1)]); ++k) {
      lane_[at(lane)].push_back({static_cast<std::int32_t>(a.col_ind[k]), a.values[k]});
    }
    num_entries_ += length(a, row);
  }
  void clear() {
    for (auto& one : lane_) one.clear();
    present_ = 0;
    num_entries_ = 0;
  }
  template <class I>
  void take_neighbours(const csr_view<T, I>& a, std::int64_t first, std::int64_t last) {
    clear();
    for (std::int64_t row = first; row < last; ++row) {
      if (length(a, row) <= max_shared_row) take(a, static_cast<int>(row - first), row);
    }
  }
  template <class I>
  void take_rows(const csr_view<T, I>& a, std::span<const std::int32_t> rows) {
    clear();
    for (std::size_t lane = 0; lane < rows.size(); ++lane) take(a, static_cast<int>(lane), rows[lane]);
  }

  /// The diagonals that at least half of the lanes have an entry on, five eighths where A is streamed, of those that
  /// the first, the middle and the last lane know; the others' entries are gathered.
  steps find_steps() const {
    std::vector<std::int32_t> known;
    for (const int lane : {0, lanes / 2, lanes - 1}) {
      for (const entry& e : lane_[at(lane)]) known.push_back(e.column - lane);
    }
    std::ranges::sort(known);
    known.erase(std::unique(known.begin(), known.end()), known.end());
    std::vector<int> on(known.size());
    for_each_entry(known, [&](int, const entry&, std::size_t diagonal) {
      if (diagonal < known.size()) ++on[diagonal];
    });
    const std::int64_t least_lanes = streamed_ ? lanes * 5 / 8 : lanes / 2;
    steps found;
    for (std::size_t d = 0; d < known.size(); ++d) {
      if (on[d] >= least_lanes) found.diagonals.push_back(known[d]);
    }
    std::array<std::int64_t, at(lanes)> left{};
    for_each_entry(found.diagonals, [&](int lane, const entry&, std::size_t diagonal) {
      if (diagonal == found.diagonals.size()) ++left[at(lane)];
    });
    found.num_gathers = *std::ranges::max_element(left);
    return found;
  }

  /// Calls visit(lane, entry, diagonal), lane by lane, in their order; for an entry on none, `diagonal` is their
  /// number.
  template <class Visit>
  void for_each_entry(const std::vector<std::int32_t>& diagonals, const Visit& visit) const {
    for (int lane = 0; lane < lanes; ++lane) {
      std::size_t d = 0;
      for (const entry& e : lane_[at(lane)]) {
        while (d < diagonals.size() && diagonals[d] + lane < e.column) ++d;
        const bool on_one = d < diagonals.size() && diagonals[d] + lane == e.column;
        visit(lane, e, on_one ? d++ : diagonals.size());
      }
    }
  }

  void append(row_slice slice, const steps& found) {
    const std::size_t num_diagonals = found.diagonals.size(), first = made_.masks.size();
    slice.first_step = static_cast<std::int64_t>(first);
    slice.first_column = static_cast<std::int64_t>(made_.columns.size());
    slice.num_diagonals = static_cast<std::int32_t>(num_diagonals);
    slice.num_gathers = static_cast<std::int32_t>(found.num_gathers);
    slice.present = present_;
    made_.slices.push_back(slice);
    made_.masks.resize(first + num_diagonals + at(found.num_gathers));
    made_.values.resize(made_.masks.size() * lanes);
    made_.columns.insert(made_.columns.end(), found.diagonals.begin(), found.diagonals.end());
    const std::size_t gathered = made_.columns.size();
    // A masked lane's column has to be one that can be read: 0.
    made_.columns.resize(gathered + at(found.num_gathers) * lanes);
    std::array<std::size_t, at(lanes)> next{};
    for_each_entry(found.diagonals, [&](int lane, const entry& e, std::size_t diagonal) {
      std::size_t step = diagonal;
      if (diagonal == num_diagonals) {
        made_.columns[gathered + next[at(lane)] * lanes + at(lane)] = e.column;
        step += next[at(lane)]++;
      } else {
        ++made_.in_diagonals;
      }
      made_.masks[first + step] = static_cast<std::uint16_t>(made_.masks[first + step] | 1U << lane);
      made_.values[(first + step) * lanes + at(lane)] = e.value;
    });
    made_.slices.back().full = num_entries_ == (std::ssize(made_.masks) - static_cast<std::int64_t>(first)) * lanes;
  }

  /// A row that is a slice: runs of neighbouring columns are its diagonals.
  template <class I>
  void append_long(const csr_view<T, I>& a, std::int32_t row) {
    const std::int64_t begin = a.row_ptr[at(row)], end = a.row_ptr[at(row + 1)];
    row_slice slice{.first_step = std::ssize(made_.masks),
                    .first_column = std::ssize(made_.columns),
                    .first_row = row,
                    .present = 1,
                    .rows = slice_rows::one};
    const auto is_run = [&](std::int64_t k) {
      return k + lanes <= end && a.col_ind[at(k + lanes - 1)] - a.col_ind[at(k)] == lanes - 1;
    };
    const auto append_step = [&](std::int64_t k) {
      const std::int64_t count = std::min<std::int64_t>(lanes, end - k);
      made_.masks.push_back(static_cast<std::uint16_t>((1U << count) - 1));
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        made_.values.push_back(lane < count ? a.values[at(k + lane)] : T{});
      }
      return count;
    };
    for (std::int64_t k = begin; k < end; k += lanes) {
      if (!is_run(k)) continue;
      made_.columns.push_back(static_cast<std::int32_t>(a.col_ind[at(k)]));
      made_.in_diagonals += append_step(k);
      ++slice.num_diagonals;
    }
    for (std::int64_t k = begin; k < end; k += lanes) {
      if (is_run(k)) continue;
      const std::int64_t count = append_step(k);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        made_.columns.push_back(lane < count ? static_cast<std::int32_t>(a.col_ind[at(k + lane)]) : 0);
      }
      ++slice.num_gathers;
    }
    slice.full = (end - begin) % lanes == 0;
    made_.slices.push_back(slice);
  }

  bool streamed_;  ///< A comes from memory
  row_slices<T> made_;
  std::array<std::vector<entry>, at(lanes)> lane_;
  std::uint16_t present_ = 0;
  std::int64_t num_entries_ = 0;
};

/// Where each window's part of an array begins, and the sum.
template <class T, class Array>
std::vector<std::int64_t> starts_of(const std::vector<row_slices<T>>& windows, Array row_slices<T>::*array) {
  std::vector<std::int64_t> starts(windows.size() + 1);
  for (std::size_t w = 0; w < windows.size(); ++w) starts[w + 1] = starts[w] + std::ssize(windows[w].*array);
  return starts;
}

}  // namespace

template <number T, index I>
row_slices<T> to_row_slices(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  (void)core::narrow<std::int32_t>(a.rows, "rows");
  (void)core::narrow<std::int32_t>(a.cols, "cols");
  (void)core::narrow<std::int32_t>(a.nnz(), "non-zeros");
  const std::int64_t window = slice_window(a.rows);
  const std::int64_t num_windows = core::ceil_div(a.rows, window);
  std::vector<row_slices<T>> windows(at(num_windows));
  parallel_for(num_windows, [&](std::int64_t w) {
    window_builder<T> builder(a, w * window, std::min(a.rows, (w + 1) * window));
    windows[at(w)] = std::move(builder.made());
  });

  using made = row_slices<T>;
  const auto slices = starts_of(windows, &made::slices), masks = starts_of(windows, &made::masks),
             columns = starts_of(windows, &made::columns), listed = starts_of(windows, &made::listed);
  made out{.rows = a.rows, .cols = a.cols, .nnz = a.nnz()};
  out.slices = storage<row_slice>(slices.back() + 1, "slices");
  out.masks = storage<std::uint16_t>(masks.back(), "masks of steps");
  out.values = storage<T>(masks.back() * slice_lanes<T>, "values of steps");
  out.columns = storage<std::int32_t>(columns.back(), "columns of steps");
  out.listed = storage<std::int32_t>(listed.back(), "rows of slices");
  for (const made& window : windows) out.in_diagonals += window.in_diagonals;
  parallel_for(num_windows, [&](std::int64_t w) {
    made& window = windows[at(w)];
    for (row_slice& slice : window.slices) {
      slice.first_step += masks[at(w)];
      slice.first_column += columns[at(w)];
      if (slice.rows == slice_rows::listed) slice.first_row += static_cast<std::int32_t>(listed[at(w)]);
    }
    std::ranges::copy(window.slices, out.slices.begin() + slices[at(w)]);
    std::ranges::copy(window.masks, out.masks.begin() + masks[at(w)]);
    std::ranges::copy(window.values, out.values.begin() + masks[at(w)] * slice_lanes<T>);
    std::ranges::copy(window.columns, out.columns.begin() + columns[at(w)]);
    std::ranges::copy(window.listed, out.listed.begin() + listed[at(w)]);
    window = {};
  });
  out.slices.back() = {.first_step = masks.back(), .first_column = columns.back()};
  return out;
}

#define BCSC_INSTANTIATE(T, I) template row_slices<T> to_row_slices(const csr_view<T, I>&);
BCSC_FOR_VALUES(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
