#pragma once

#include "converters/files/source.hpp"

/// MATLAB's .mat of level 5 (save -v6, -v7). What is accepted and what is refused: docs/binary-formats.md.
namespace bcsc::files::mat {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);

}  // namespace bcsc::files::mat
