#pragma once

#include "converters/files/source.hpp"

/// Matrix Market: text, coordinate or array. What is accepted and what is refused: docs/matrix-market.md.
namespace bcsc::files::matrix_market {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);
template <value T>
dense_matrix<T> read_dense(source& in);

}  // namespace bcsc::files::matrix_market
