#include "lib/solvers/triangle.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/checked.hpp"

namespace bcsc::solvers {

using core::at;

namespace {

/// Entries of a level from which a parallel region is cheaper than doing without.
constexpr std::int64_t least_work = 1 << 14;

/// The level of each row: 0 where nothing is needed first.
std::vector<std::int32_t> levels_of(const setup_matrix& a, bool is_lower) {
  std::vector<std::int32_t> level(at(a.rows), 0);
  for (std::int64_t step = 0; step < a.rows; ++step) {
    const std::int64_t i = is_lower ? step : a.rows - 1 - step;
    std::int32_t mine = 0;
    for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
      mine = std::max(mine, level[at(a.col_ind[at(p)])] + 1);
    }
    level[at(i)] = mine;
  }
  return level;
}

}  // namespace

std::vector<std::int32_t> row_schedule::level_rows(const setup_matrix& a, bool is_lower,
                                                   std::vector<std::int64_t>& begin) {
  const std::vector<std::int32_t> level = levels_of(a, is_lower);
  num_levels_ = a.rows == 0 ? 0 : *std::ranges::max_element(level) + 1;
  begin.assign(at(num_levels_) + 1, 0);
  for (const std::int32_t l : level) ++begin[at(l) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int64_t> next = begin;
  std::vector<std::int32_t> order(at(a.rows));
  for (std::int64_t i = 0; i < a.rows; ++i) order[at(next[at(level[at(i)])]++)] = static_cast<std::int32_t>(i);
  return order;
}

row_schedule::row_schedule(const setup_matrix& a, bool is_lower) {
  std::vector<std::int64_t> begin;
  order_ = level_rows(a, is_lower, begin);
  std::vector<std::int64_t> work(at(a.rows) + 1, 0);  // before each place of the order
  for (std::int64_t place = 0; place < a.rows; ++place) {
    const std::int64_t i = order_[at(place)];
    work[at(place) + 1] = work[at(place)] + a.row_ptr[at(i) + 1] - a.row_ptr[at(i)] + 1;
  }
  const auto work_of = [&](std::int64_t first, std::int64_t last) { return work[at(last)] - work[at(first)]; };

  std::int64_t shared = 0, alone_from = 0;
  for (std::int64_t level = 0; level < num_levels_; ++level) {
    const std::int64_t first = begin[at(level)], last = begin[at(level) + 1];
    if (work_of(first, last) < least_work) continue;
    if (alone_from < first) steps_.push_back({alone_from, first});
    std::vector<std::int64_t> cuts =
        converters::even_cuts(last - first, 64, [&](std::int64_t i) { return work_of(first, first + i); });
    for (std::int64_t& cut : cuts) cut += first;
    steps_.push_back(std::move(cuts));
    shared += work_of(first, last);
    alone_from = last;
  }
  if (alone_from < a.rows) steps_.push_back({alone_from, a.rows});
  if (2 * shared >= work.back()) return;
  // One thread works faster along the memory.
  std::iota(order_.begin(), order_.end(), 0);
  if (!is_lower) std::ranges::reverse(order_);
  steps_.clear();
  if (a.rows > 0) steps_.push_back({0, a.rows});
}

void row_schedule::run(core::function_ref<void(std::int64_t)> body) const {
  for (const std::vector<std::int64_t>& cuts : steps_) {
    converters::for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
      for (std::int64_t place = first; place < last; ++place) body(order_[at(place)]);
    });
  }
}

template <value T>
void triangle<T>::solve(const dense_view<T>& x) const {
  const std::int64_t k = x.cols, ld = x.row_stride();
  const std::int32_t* const columns = col_ind.data();
  const T* const entries = values.data();
  if (k == 1) {  // the sum stays in a register
    schedule.run([&](std::int64_t i) {
      T sum = x.data[i * ld];
      for (std::int64_t p = row_ptr[at(i)]; p < row_ptr[at(i) + 1]; ++p) sum -= entries[p] * x.data[columns[p] * ld];
      x.data[i * ld] = sum * inverse_diagonal[at(i)];
    });
    return;
  }
  schedule.run([&](std::int64_t i) {
    T* const mine = x.data + i * ld;
    for (std::int64_t p = row_ptr[at(i)]; p < row_ptr[at(i) + 1]; ++p) {
      const T* const other = x.data + columns[p] * ld;
      for (std::int64_t j = 0; j < k; ++j) mine[j] -= entries[p] * other[j];
    }
    for (std::int64_t j = 0; j < k; ++j) mine[j] *= inverse_diagonal[at(i)];
  });
}

template <value T>
triangle<T> to_triangle(const setup_matrix& off_diagonal, std::span<const double> diagonal, bool is_lower) {
  constexpr const char* what = "a triangular factor";
  triangle<T> made{off_diagonal.row_ptr, off_diagonal.col_ind, unset<T>(off_diagonal.nnz(), what),
                   unset<T>(off_diagonal.rows, what), row_schedule(off_diagonal, is_lower)};
  for_each_of(off_diagonal.nnz(),
              [&](std::int64_t p) { made.values[at(p)] = static_cast<T>(off_diagonal.values[at(p)]); });
  for_each_of(off_diagonal.rows,
              [&](std::int64_t i) { made.inverse_diagonal[at(i)] = static_cast<T>(1 / diagonal[at(i)]); });
  return made;
}

template struct triangle<float>;
template struct triangle<double>;
template triangle<float> to_triangle(const setup_matrix&, std::span<const double>, bool);
template triangle<double> to_triangle(const setup_matrix&, std::span<const double>, bool);

}  // namespace bcsc::solvers
