#pragma once

#include "converters/files/source.hpp"

/// Edge lists: one entry per line. What is accepted and what is refused: docs/text-formats.md.
namespace bcsc::files::edge_list {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);

}  // namespace bcsc::files::edge_list
