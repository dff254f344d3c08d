#pragma once

#include <cstdint>
#include <optional>

#include "bcsc/linear_operator.hpp"
#include "bcsc/lobpcg.hpp"
#include "lib/solvers/small_dense.hpp"

namespace bcsc::solvers {

/// The matrix of an operator, by its product with the identity. Throws error{out_of_memory} where it, and what is made
/// of it, would not fit.
template <value T>
small_matrix matrix_of(const linear_operator<T>& op);

/// Eigenpairs of a dense pencil, or what is wrong with it.
struct dense_solution {
  std::vector<double> values;  ///< [k], the outermost first
  small_matrix vectors;        ///< [n x k], X'BX = I
  std::optional<lobpcg_stop> objection;
};

/// The k smallest or largest eigenpairs of A x = lambda B x, in the B-orthogonal complement of the columns of Y ([n x
/// any], with Y'BY = I). A singular B leaves the finite eigenvalues: those are found if the smallest are wanted and A
/// is positive definite, by way of B x = mu A x. `symmetric`: how far from symmetric A and B may be, relative to their
/// largest entry.
dense_solution solve_pencil(const small_matrix& a, const std::optional<small_matrix>& b, const small_matrix& y,
                            std::int64_t k, spectrum_end which, double symmetric);

}  // namespace bcsc::solvers
