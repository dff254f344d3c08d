#pragma once

#include "converters/files/source.hpp"

/// The .smtx files of the deep-learning matrix collection: the text of a CSR pattern. What is accepted and what is
/// refused: docs/text-formats.md.
namespace bcsc::files::smtx {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);

}  // namespace bcsc::files::smtx
