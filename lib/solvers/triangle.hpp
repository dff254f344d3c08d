#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/types.hpp"
#include "core/function_ref.hpp"
#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers {

/// In which order the rows of a triangle are worked off. A row depends on those that its off-diagonal entries name;
/// rows of one level depend on none of each other. Levels that are worth threads are a step each, cut into pieces;
/// those between them are one step of one piece. A triangle with little to gain is one step, in its own order.
class row_schedule {
 public:
  /// The off-diagonal entries of a lower triangle, or of an upper one.
  row_schedule(const setup_matrix& off_diagonal, bool is_lower);

  std::int64_t num_levels() const { return num_levels_; }
  /// body(row) for every row, after all rows that it depends on. In parallel; on one thread, in the same order.
  void run(core::function_ref<void(std::int64_t row)> body) const;

 private:
  std::vector<std::int32_t> level_rows(const setup_matrix& off_diagonal, bool is_lower,
                                       std::vector<std::int64_t>& begin);

  std::int64_t num_levels_ = 0;
  std::vector<std::int32_t> order_;
  std::vector<std::vector<std::int64_t>> steps_;  ///< cuts of `order_`, each from where the last one ended
};

/// A triangular matrix to solve with, on the host.
template <value T>
struct triangle {
  setup_array<std::int64_t> row_ptr;
  setup_array<std::int32_t> col_ind;  ///< off the diagonal
  setup_array<T> values;              ///< off the diagonal
  setup_array<T> inverse_diagonal;
  row_schedule schedule;

  /// X = T^-1 X. Each column's sums are taken along the rows, whatever the threads and the other columns.
  void solve(const dense_view<T>& x) const;
};

/// off_diagonal + diag(diagonal), rounded to T.
template <value T>
triangle<T> to_triangle(const setup_matrix& off_diagonal, std::span<const double> diagonal, bool is_lower);

}  // namespace bcsc::solvers
