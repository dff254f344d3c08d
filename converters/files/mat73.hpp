#pragma once

#include "converters/files/source.hpp"

/// MATLAB's level 7.3: HDF5. A build without that library (option `hdf5`, off by default) answers error{unsupported}
/// and says how to save again.
namespace bcsc::files::mat73 {

file_info read_info(source& in);
template <value T, index I>
coo_matrix<T, I> read_matrix(source& in);

}  // namespace bcsc::files::mat73
