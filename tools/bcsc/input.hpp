#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bcsc/any_matrix.hpp"
#include "bcsc/context.hpp"
#include "bcsc/files.hpp"
#include "bcsc/formats.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// A matrix as the user names it: a file of any format that is read, a generator's specification, or a name of the
/// catalogue.
struct matrix_source {
  std::string name;
  std::uint64_t seed = 1;  ///< of the values of a pattern file
  read_options reading;    ///< what the user says of the file

  /// `reading`, with the seed.
  read_options options() const;
};
/// Adds FILE, --seed and add_reading()'s.
void add_source(CLI::App& parser, matrix_source& source);
/// An option that takes the name of one of the file formats that `fits`.
CLI::Option* add_file_format(CLI::App& parser, const std::string& name, std::optional<file_format>& target,
                             const std::string& description, bool (*fits)(const file_format_info&));
/// Adds --from, --member, --real-part and --index-base: what a file may need to be told to be read; and --no-map.
void add_reading(CLI::App& parser, read_options& reading);

template <value T>
struct loaded_matrix {
  csr_matrix<T> a;
  std::string origin;             ///< "file" or "generator"
  std::string path;               ///< under which the file may be read again; empty of a generator
  std::optional<file_info> file;  ///< what the file's header says
  double seconds = 0;             ///< reading or generating
};

/// Told rows and columns of a matrix, of a file as soon as its header is read: to refuse what does not fit.
using on_sizes = std::function<void(std::int64_t rows, std::int64_t cols)>;

/// Reads or generates it. Throws what the reader, the generator or `told` throws; error{io_error} if it is neither.
template <value T>
loaded_matrix<T> load(const matrix_source& source, const output& out, const on_sizes& told = {});

/// That a specification names a generator or a matrix of the catalogue, with the nearest name otherwise. `parameter` is
/// where it was named. Throws error{invalid_argument}, or error{io_error} where it might have been a file.
void require_generator(std::string_view parameter, const std::string& specification);

/// The matrix in the type it is multiplied in. Throws error{value_out_of_range}.
template <number T>
csr_matrix<T> multiplied_as(csr_matrix<scalar_of<T>> a);

/// As the file holds it, or fp64 CSR; text is read as `element` (fp32 or fp64).
struct loaded_any {
  any_matrix a;
  std::string origin;
  std::string path;
  std::optional<file_info> file;
  double seconds = 0;
};
loaded_any load_any(const matrix_source& source, const output& out, value_type element = value_type::fp64);

/// What the matrix is called, whatever it was read or made as.
struct matrix_facts {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  value_type type = value_type::fp64;
};
/// Both of describe(), of a matrix whose type is known when the program runs.
nlohmann::ordered_json describe(const matrix_source& source, const matrix_facts& facts, const std::string& origin,
                                const std::optional<file_info>& file, double seconds);
std::string describe_line(const matrix_source& source, const matrix_facts& facts, const std::string& origin,
                          const std::optional<file_info>& file, double seconds);

/// {"name", "origin", "rows", "cols", "nnz", ...} and, as text, one line.
template <value T>
nlohmann::ordered_json describe(const matrix_source& source, const loaded_matrix<T>& loaded);
template <value T>
std::string describe_line(const matrix_source& source, const loaded_matrix<T>& loaded);

/// That a file can come to lie at `path`, or that what lies there takes it, before the work for it begins. Throws
/// error{io_error}.
void require_output(std::string_view option, const std::string& path);
/// The same of a file that may be standard output, "-" among its names: then text goes elsewhere from here on.
void begin_file(std::string_view option, const std::string& path, output& out);

/// The same of files in a folder, which is made if its own folder is there. Throws error{io_error}.
void require_output_folder(std::string_view option, const std::string& path);

/// Where to compute, as the user says it.
enum class device_choice : std::uint8_t { cpu, cuda, best };
struct device_options {
  device_choice device = device_choice::best;
  int threads = 0;
};
/// Adds --device and --threads.
void add_device(CLI::App& parser, device_options& options);
/// Throws error{invalid_argument} for threads on a GPU, error{no_device | ...} where there is no such device.
context make_context(const device_options& options);

std::string_view to_string(file_symmetry symmetry);
std::string_view to_string(file_field field);

}  // namespace bcsc::cli
