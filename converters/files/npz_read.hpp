#pragma once

#include "converters/files/source.hpp"

/// SciPy's .npz: a zip of NumPy arrays, as scipy.sparse.save_npz writes them. What is accepted and what is refused:
/// docs/binary-formats.md.
namespace bcsc::files::npz {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);

}  // namespace bcsc::files::npz
