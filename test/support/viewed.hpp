#pragma once

namespace bcsc {

/// The view of what may be a temporary, for the rest of the expression and no longer. Found by its argument.
template <class Matrix>
auto viewed(const Matrix& matrix) {
  return matrix.view();
}

}  // namespace bcsc
