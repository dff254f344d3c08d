#pragma once

#include "converters/files/source.hpp"

/// LIBSVM's and SVMlight's data sets: one row per line. What is accepted and what is refused: docs/text-formats.md.
namespace bcsc::files::libsvm {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);
/// With the first number of each line.
template <value T, index I>
labelled_matrix<T, I> read_labelled(source& in);

}  // namespace bcsc::files::libsvm
