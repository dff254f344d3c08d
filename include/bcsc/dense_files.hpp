#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/files.hpp"

#pragma GCC visibility push(default)
/// Dense matrices and vectors as files: Matrix Market's array form, NumPy's .npy and .npz, this library's .bcsc.
namespace bcsc {

/// What a dense file's header says, read without its values.
struct dense_file_info {
  std::string_view format;           ///< "matrix-market", "npy", "npz" or "bcsc"
  std::int64_t rows = 0, cols = 0;   ///< a vector is one column
  layout order = layout::col_major;  ///< that read_dense() gives
  std::string member;                ///< of a .npz: which of its arrays
};

/// The header of a dense file, recognised by its content, then by its name. In a .npz, read_options::member names the
/// array; empty: the only one. Throws as read_dense() does for a header.
dense_file_info read_dense_info(const std::filesystem::path& path, const read_options& options = {});

// read_dense<T>(path, options) is in bcsc/files.hpp.

struct write_dense_options {
  std::string comment = {};    ///< of Matrix Market files, line by line
  std::string name = "arr_0";  ///< of the array in a .npz, as numpy.load() knows it
  progress_callback progress = {};
};

/// Writes a dense host matrix in the format of its file name: .npy, .npz, .mtx, .bcsc (with ".gz" appended: gzip).
/// NumPy files hold every bit of the values and the layout (fp16 as it is, bf16 widened to fp32); text has the shortest
/// digits that read back equal, and no NaN or infinity. Written beside its target and renamed: a failure leaves nothing
/// behind. Throws error{invalid_argument} where the name is none of these, error{unsupported} for a .npz in a build
/// without libarchive, error{value_out_of_range | io_error | cancelled}, and what validate() throws.
template <number T>
BCSC_EXPORT void write_dense(const std::filesystem::path& path, dense_view<const T> a,
                             const write_dense_options& options = {});
template <number T>
void write_dense(const std::filesystem::path& path, const dense_matrix<T>& a, const write_dense_options& options = {}) {
  write_dense<T>(path, a.view(), options);
}

/// Whether write_dense() knows a format for this name.
bool is_dense_file_name(const std::filesystem::path& path);

}  // namespace bcsc
#pragma GCC visibility pop
