#pragma once

namespace bcsc {

/// The view of a possible temporary, for the rest of the expression and no longer. Found by argument-dependent lookup.
template <class Matrix>
auto viewed(const Matrix& matrix) {
  return matrix.view();
}

}  // namespace bcsc
