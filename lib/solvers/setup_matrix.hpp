#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/function_ref.hpp"
#include "lib/solvers/setup_array.hpp"

/// Sparse matrices on the host as the set-up of a preconditioner computes with them: always in double, however A is
/// stored, in parallel, and with sums whose order does not depend on the number of threads.
namespace bcsc::solvers {

/// CSR, columns strictly increasing. 64-bit positions, since a product may hold more entries than its factors; 32-bit
/// columns.
struct setup_matrix {
  std::int64_t rows = 0, cols = 0;
  setup_array<std::int64_t> row_ptr = {0};
  setup_array<std::int32_t> col_ind;
  setup_array<double> values;

  std::int64_t nnz() const { return static_cast<std::int64_t>(values.size()); }
};

/// A copy, checked, from wherever A lies (on a device: the current one). Throws what validate() throws, and
/// error{size_overflow} for more than 2^31 - 1 rows or columns.
template <value T, index I>
setup_matrix to_setup(const csr_view<T, I>& a);

/// y = A x. Every y is summed along its row.
void multiply(const setup_matrix& a, std::span<const double> x, std::span<double> y);
/// y = S A x with S = diag(scale), and x is read as given; returns v'y, in an order that depends on the length alone.
double multiply_scaled(const setup_matrix& a, std::span<const double> scale, std::span<const double> x,
                       std::span<const double> v, std::span<double> y);

/// What becomes of row i of a product before it is stored.
using row_change =
    core::function_ref<void(std::int64_t i, std::span<const std::int32_t> columns, std::span<double> values)>;
/// A B, row by row (Gustavson 1978). Entries that cancel to 0 stay. `what` names the product if it does not fit the
/// memory: error{out_of_memory}, before it is computed where that can be seen.
setup_matrix multiply(const setup_matrix& a, const setup_matrix& b, const char* what);
setup_matrix multiply(const setup_matrix& a, const setup_matrix& b, const char* what, row_change change);
setup_matrix transpose(const setup_matrix& a);

/// The diagonal; 0 where nothing is stored.
std::vector<double> diagonal_of(const setup_matrix& a);

/// Sum of part(first, last) over pieces of [0, n), in an order that depends on n alone; in parallel.
double sum_of(std::int64_t n, core::function_ref<double(std::int64_t first, std::int64_t last)> part);
/// Sum of x_i y_i, likewise.
double dot(std::span<const double> x, std::span<const double> y);

/// Numbers in [-1, 1) that depend on the seed and the place alone.
setup_array<double> random_vector(std::int64_t n, std::uint64_t seed);

}  // namespace bcsc::solvers
