#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
/// Readers and writers of matrix files.
namespace bcsc {

/// The kinds of matrix files. `bcsc formats` lists them with their extensions.
enum class file_format : std::uint8_t {
  matrix_market,      ///< .mtx: text, coordinate or array
  rutherford_boeing,  ///< .rb, and Harwell-Boeing's .rua .rsa .psa ...: text in Fortran's columns
  smtx,               ///< .smtx: the DLMC collection's text of a CSR pattern
  libsvm,             ///< .libsvm .svm: label index:value ..., a row a line
  npz,                ///< .npz: SciPy's save_npz of csr, csc or coo
  mat,                ///< .mat: a sparse variable of MATLAB 5 to 7.2 (7.3 where built with HDF5)
  edge_list,          ///< .el .edges .txt: row column [value], a line each
  container,          ///< .bcsc: this library's own
};
std::string_view to_string(file_format format) noexcept;

/// What this build does with a format of files.
struct file_format_info {
  file_format format = file_format::matrix_market;
  std::string_view name;                     ///< to_string(format)
  std::vector<std::string_view> extensions;  ///< the usual one first, which tells the format to write
  bool has_mark = false;                     ///< recognised by its content, whatever its name
  bool can_read = false, can_write = false;
  bool has_triangles = false;  ///< may store one triangle of a symmetric or skew-symmetric matrix
};
/// All formats, in the order of the enumeration.
std::vector<file_format_info> file_formats();
/// The format whose usual extension `path` has (".gz" left out), or nothing: a file to be written has only its name to
/// go by, and extensions such as .txt may mean anything.
std::optional<file_format> format_of_name(const std::filesystem::path& path);

enum class file_symmetry : std::uint8_t { general, symmetric, skew_symmetric, hermitian };
enum class file_field : std::uint8_t { real, integer, pattern, complex };

/// Called from time to time with the progress of a long operation: bytes done, bytes in all (of the file as stored).
/// Returning false stops it with error{cancelled}.
using progress_callback = std::function<bool(std::int64_t done, std::int64_t total)>;

struct read_options {
  /// What the file is; empty: recognised by its content, then by its name.
  std::optional<file_format> format = {};
  /// Which matrix, where the file holds several: the path inside a .tar, the variable of a .mat. Empty: the only one,
  /// or, in a .tar as the SuiteSparse collection ships it, the one named like its folder.
  std::string member = {};
  /// Complex values are an error, or, with this, lose their imaginary parts.
  bool real_part = false;
  /// Indices of edge lists and LIBSVM files begin at 0 or 1; empty: 1 for LIBSVM; an edge list's smallest index
  /// decides.
  std::optional<int> index_base = {};
  /// Sizes that LIBSVM files (columns) and edge lists (both) may leave open; empty: as the largest index requires. An
  /// index beyond them is an error.
  std::optional<std::int64_t> rows = {}, cols = {};
  /// Pattern files carry no values: 1 for each, or, with a seed, uniform in ±[0.5, 1.5), drawn in the order of the
  /// file's entries, so that a kernel which ignores A's values is caught. Equal on every platform.
  std::optional<std::uint64_t> pattern_seed = {};
  /// A .gz may expand to at most this many times its size ...
  double max_expansion_ratio = 1000.0;
  /// ... and to at most this many bytes.
  std::int64_t max_expanded_bytes = std::int64_t{64} << 30;
  /// How much memory a file's expanded or announced content may take; empty: all that is available: the minimum of the
  /// system's available memory, what its control groups leave to the process, and RLIMIT_AS.
  std::optional<std::int64_t> max_memory_bytes = {};
  /// A plain .bcsc file is mapped while it is read, and a process that shortens it meanwhile kills this one (SIGBUS).
  /// False: it is read into memory like all other files, and a change while it is read is an error.
  bool map_containers = true;
  progress_callback progress = {};
};

/// What a file's header says, read without its entries.
struct file_info {
  file_format format = file_format::matrix_market;
  std::int64_t rows = 0, cols = 0;
  std::int64_t stored_entries = 0;                  ///< announced, before symmetric expansion
  file_symmetry symmetry = file_symmetry::general;  ///< of a container, which holds whole matrices: what it says it was
  file_field field = file_field::real;
  bool array = false;  ///< Matrix Market array form
  std::string member;  ///< which of the file's matrices, where it may hold several
};

/// The header of a matrix file (gzip is recognised by content). LIBSVM files and edge lists have none: they are read to
/// the end, in constant memory. Throws as read_csr.
file_info read_file_info(const std::filesystem::path& path, const read_options& options = {});

/// A matrix file of any format above, plain, gzip or in a tar archive, as sorted COO: symmetric storage expanded,
/// duplicates summed, explicit zeros kept. What each format's reader accepts: docs/matrix-market.md,
/// docs/text-formats.md. Matrix Market's array form: zeros are dropped. Throws error with the line (or the byte offset,
/// or the path) in where(); see errc's "Files" section. A file that is written while it is read is error{truncated |
/// io_error}, or what its mixed content gives.
template <value T, index I = std::int32_t>
BCSC_EXPORT coo_matrix<T, I> read_coo(const std::filesystem::path& path, const read_options& options = {});

/// The same, as CSR.
template <value T, index I = std::int32_t>
BCSC_EXPORT csr_matrix<T, I> read_csr(const std::filesystem::path& path, const read_options& options = {});

/// A dense file as a matrix in the layout it is stored in: right-hand sides, say (bcsc/dense_files.hpp).
template <value T>
BCSC_EXPORT dense_matrix<T> read_dense(const std::filesystem::path& path, const read_options& options = {});

/// Whatever the file holds: a container's matrix as it is stored, any other file's as CSR, its values read as `element`
/// (fp32 or fp64), its indices as wide as they need be. Throws as read_csr.
any_matrix read_matrix(const std::filesystem::path& path, const read_options& options = {},
                       value_type element = value_type::fp64);

/// A data set: row i of the matrix and its label.
template <value T, index I = std::int32_t>
struct labelled_matrix {
  csr_matrix<T, I> matrix;
  std::vector<double> labels;  ///< [rows]
};

/// A LIBSVM file with its labels (read_csr gives the matrix alone), whatever its name. Throws as read_csr.
template <value T, index I = std::int32_t>
BCSC_EXPORT labelled_matrix<T, I> read_libsvm(const std::filesystem::path& path, const read_options& options = {});

struct write_options {
  file_symmetry symmetry = file_symmetry::general;  ///< symmetric, skew: only the lower triangle is written; checked
  file_field field = file_field::real;              ///< integer: values must be integers; pattern: values are dropped
  /// Written as the format's comment, line by line; as Rutherford-Boeing's title, 72 characters of the first line.
  std::string comment = {};
  int index_base = 1;  ///< for LIBSVM files and edge lists: 0 or 1
  /// For write_matrix(): the format to write; empty: told by the file's name.
  std::optional<file_format> format = {};
  /// For containers: their metadata (container.hpp).
  std::map<std::string, std::string, std::less<>> metadata = {};
  progress_callback progress = {};
};

/// Writes a host matrix in any file format. Containers hold it as it is; the others hold CSR, so it is converted, and
/// 16-bit values are written as the numbers they are; a dense matrix becomes Matrix Market's array form; a pattern is
/// written as one, whatever options.field says (as ones, where the format has no patterns). gzip if the path ends in
/// ".gz". Throws error{invalid_argument} where the name tells no format, error{unsupported} for a format that this
/// build does not write, and what the format's writer throws.
void write_matrix(const std::filesystem::path& path, const any_view& a, const write_options& options = {});

/// Writes Matrix Market coordinate form, gzip if the path ends in ".gz". The file is written beside its target and
/// renamed, so a failure leaves nothing behind. Values are printed to the shortest digits that read back equal.
/// Throws error{io_error | structure_violation | value_out_of_range}.
template <value T, index I>
BCSC_EXPORT void write_matrix_market(const std::filesystem::path& path, const csr_view<T, I>& a,
                                     const write_options& options = {});
template <value T, index I>
void write_matrix_market(const std::filesystem::path& path, const csr_matrix<T, I>& a,
                         const write_options& options = {}) {
  write_matrix_market(path, a.view(), options);
}
/// Array form of a dense matrix.
template <value T>
BCSC_EXPORT void write_matrix_market(const std::filesystem::path& path, const dense_matrix<T>& a,
                                     const write_options& options = {});

/// Writes a Rutherford-Boeing file, its name's first eight letters as its key. Symmetric storage, values, gzip, safety
/// and errors as write_matrix_market; error{size_overflow} for a size of more than 13 digits.
template <value T, index I>
BCSC_EXPORT void write_rutherford_boeing(const std::filesystem::path& path, const csr_view<T, I>& a,
                                         const write_options& options = {});
template <value T, index I>
void write_rutherford_boeing(const std::filesystem::path& path, const csr_matrix<T, I>& a,
                             const write_options& options = {}) {
  write_rutherford_boeing(path, a.view(), options);
}

/// Writes the pattern of `a` as a .smtx file: `rows, cols, nnz`, row offsets, column indices. The format has no values:
/// those of `a` are left out. Of the options only `progress` counts. Throws error{io_error | cancelled}.
template <value T, index I>
BCSC_EXPORT void write_smtx(const std::filesystem::path& path, const csr_view<T, I>& a,
                            const write_options& options = {});
template <value T, index I>
void write_smtx(const std::filesystem::path& path, const csr_matrix<T, I>& a, const write_options& options = {}) {
  write_smtx(path, a.view(), options);
}

/// Writes a LIBSVM file, line i: labels[i] (0 if `labels` is empty, else one a row) and row i's index:value pairs,
/// zeros included, indices from options.index_base. How many columns there are is not in the file: see
/// read_options::cols. Throws error{size_mismatch | value_out_of_range | invalid_argument | io_error}.
template <value T, index I>
BCSC_EXPORT void write_libsvm(const std::filesystem::path& path, const csr_view<T, I>& a,
                              std::span<const double> labels = {}, const write_options& options = {});
template <value T, index I>
void write_libsvm(const std::filesystem::path& path, const csr_matrix<T, I>& a, std::span<const double> labels = {},
                  const write_options& options = {}) {
  write_libsvm(path, a.view(), labels, options);
}

/// Writes an edge list: a comment that tells the sizes as SNAP does, then one `row column value` (a pattern: no value)
/// per line, separated by tabs, indices from options.index_base. A reader that goes by the smallest index, as read_csr
/// does, can tell 1 from 0 in every case only if they are from 1. Throws error{value_out_of_range | invalid_argument |
/// io_error}.
template <value T, index I>
BCSC_EXPORT void write_edge_list(const std::filesystem::path& path, const csr_view<T, I>& a,
                                 const write_options& options = {});
template <value T, index I>
void write_edge_list(const std::filesystem::path& path, const csr_matrix<T, I>& a, const write_options& options = {}) {
  write_edge_list(path, a.view(), options);
}

/// Writes what scipy.sparse.load_npz reads as a csr_matrix: every bit of the values, stored zeros and infinities too.
/// `compressed` as in save_npz: deflated rather than stored. Equal matrices give equal files; the file is written
/// beside its target and renamed. Throws error{io_error | cancelled | unsupported}, the last in a build without
/// libarchive.
template <value T, index I>
BCSC_EXPORT void write_npz(const std::filesystem::path& path, const csr_view<T, I>& a, bool compressed = true,
                           const progress_callback& progress = {});
template <value T, index I>
void write_npz(const std::filesystem::path& path, const csr_matrix<T, I>& a, bool compressed = true,
               const progress_callback& progress = {}) {
  write_npz(path, a.view(), compressed, progress);
}

}  // namespace bcsc
#pragma GCC visibility pop
