#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bcsc/context.hpp"
#include "bcsc/files.hpp"
#include "bcsc/formats.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// A matrix as the user names it: a Matrix Market file, a generator's specification, or a name of the catalogue.
struct matrix_source {
  std::string name;
  std::uint64_t seed = 1;  ///< of the values of a pattern file
};
/// Adds FILE and --seed.
void add_source(CLI::App& parser, matrix_source& source);

template <value T>
struct loaded_matrix {
  csr_matrix<T> a;
  std::string origin;             ///< "file" or "generator"
  std::optional<file_info> file;  ///< what the file's header says
  double seconds = 0;             ///< reading or generating
};

/// Reads or generates it. Throws what the reader or the generator throws; error{io_error} if it is neither.
template <value T>
loaded_matrix<T> load(const matrix_source& source, const output& out);

/// {"name", "origin", "rows", "cols", "nnz", ...} and, as text, one line.
template <value T>
nlohmann::ordered_json describe(const matrix_source& source, const loaded_matrix<T>& loaded);
template <value T>
std::string describe_line(const matrix_source& source, const loaded_matrix<T>& loaded);

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
