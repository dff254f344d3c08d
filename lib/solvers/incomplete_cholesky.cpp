#include "lib/solvers/incomplete_cholesky.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/checked.hpp"
#include "lib/solvers/triangle.hpp"

namespace bcsc::solvers {

using core::at;

namespace {

constexpr double first_shift = 1e-3, max_shift = 1;
/// Of a pivot, beside a diagonal of 1: what is below is rounding, or too steep to divide by.
constexpr double least_pivot = 1e-12;

/// S A S below its diagonal.
setup_matrix scaled_lower(const setup_matrix& a, std::span<const double> scale) {
  constexpr const char* what = "an incomplete factor";
  setup_matrix made{a.rows, a.cols, unset<std::int64_t>(a.rows + 1, what), {}, {}};
  for_each_of(a.rows, [&](std::int64_t i) {
    const auto begin = a.col_ind.begin() + a.row_ptr[at(i)], end = a.col_ind.begin() + a.row_ptr[at(i) + 1];
    made.row_ptr[at(i) + 1] = std::lower_bound(begin, end, static_cast<std::int32_t>(i)) - begin;
  });
  point_to_segments(made.row_ptr);
  made.col_ind = unset<std::int32_t>(made.row_ptr.back(), what);
  made.values = unset<double>(made.row_ptr.back(), what);
  for_each_of(a.rows, [&](std::int64_t i) {
    std::int64_t from = a.row_ptr[at(i)];
    for (std::int64_t to = made.row_ptr[at(i)]; to < made.row_ptr[at(i) + 1]; ++to, ++from) {
      made.col_ind[at(to)] = a.col_ind[at(from)];
      made.values[at(to)] = scale[at(i)] * a.values[at(from)] * scale[at(a.col_ind[at(from)])];
    }
  });
  return made;
}

/// Sum of L_ik L_jk over k < j, of which both rows have a part: p runs over row i, up to `last`.
double product_of_rows(const setup_matrix& l, std::int64_t p, std::int64_t last, std::int64_t j) {
  double sum = 0;
  std::int64_t q = l.row_ptr[at(j)];
  const std::int64_t end = l.row_ptr[at(j) + 1];
  while (p < last && q < end) {
    const std::int32_t mine = l.col_ind[at(p)], other = l.col_ind[at(q)];
    if (mine == other) sum += l.values[at(p)] * l.values[at(q)];
    p += mine <= other ? 1 : 0;
    q += other <= mine ? 1 : 0;
  }
  return sum;
}

/// L in the place of the lower triangle, row by row. False: a pivot was not positive.
bool factorise_in_place(setup_matrix& l, std::vector<double>& diagonal, double shift, const row_schedule& schedule) {
  std::atomic<bool> is_positive = true;
  schedule.run([&](std::int64_t i) {
    if (!is_positive.load(std::memory_order_relaxed)) return;
    const std::int64_t begin = l.row_ptr[at(i)], end = l.row_ptr[at(i) + 1];
    double pivot = 1 + shift;
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t j = l.col_ind[at(p)];
      const double entry = (l.values[at(p)] - product_of_rows(l, begin, p, j)) / diagonal[at(j)];
      l.values[at(p)] = entry;
      pivot -= entry * entry;
    }
    if (!(pivot > least_pivot)) is_positive.store(false, std::memory_order_relaxed);
    diagonal[at(i)] = std::sqrt(pivot);
  });
  return is_positive;
}

}  // namespace

incomplete_cholesky factorise(const setup_matrix& a, std::span<const double> scale, double shift) {
  const setup_matrix lower = scaled_lower(a, scale);
  const row_schedule schedule(lower, true);
  incomplete_cholesky made{{}, std::vector<double>(at(a.rows)), shift, schedule.num_levels()};
  while (true) {
    made.lower = lower;
    if (factorise_in_place(made.lower, made.diagonal, made.shift, schedule)) return made;
    if (made.shift >= max_shift) break;
    made.shift = std::clamp(2 * made.shift, first_shift, max_shift);
  }
  core::fail(errc::invalid_argument,
             "the incomplete Cholesky factorisation has a pivot that is not positive, even with {} times its diagonal "
             "added to A: not positive definite, or too far from diagonally dominant",
             max_shift);
}

}  // namespace bcsc::solvers
