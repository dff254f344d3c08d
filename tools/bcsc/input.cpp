#include "tools/bcsc/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "bcsc/generate.hpp"
#include "lib/core/fail.hpp"
#include "tools/bcsc/command.hpp"

namespace bcsc::cli {
namespace {

bool names_generator(const std::string& name) {
  const auto& all = generate::catalogue();
  return name.find(':') != std::string::npos ||
         std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.name == name; });
}

}  // namespace

void add_source(CLI::App& parser, matrix_source& source) {
  parser
      .add_option(
          "FILE", source.name,
          "Matrix Market file (.mtx, .mtx.gz), generator (elasticity:30,30,30) or catalogue name (stencil9-400); "
          "`bcsc generate --list` shows them")
      ->required();
  parser.add_option("--seed", source.seed, "Seed of the random values: a pattern file's, B's, the solution's")
      ->capture_default_str();
}

template <value T>
loaded_matrix<T> load(const matrix_source& source, const output& out) {
  const auto start = std::chrono::steady_clock::now();
  loaded_matrix<T> loaded;
  if (std::filesystem::exists(source.name)) {
    progress_bar bar = out.progress("reading");
    const read_options options{.pattern_seed = source.seed, .progress = bar.callback()};
    loaded.origin = "file";
    loaded.file = read_file_info(source.name);
    loaded.a = read_csr<T>(source.name, options);
  } else if (names_generator(source.name)) {
    loaded.origin = "generator";
    loaded.a = generate::from_specification<T>(source.name);
  } else {
    core::fail(errc::io_error, "FILE = \"{}\": there is no such file, and no generated matrix of that name",
               source.name);
  }
  loaded.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return loaded;
}

template <value T>
nlohmann::ordered_json describe(const matrix_source& source, const loaded_matrix<T>& loaded) {
  nlohmann::ordered_json described{{"name", source.name},      {"origin", loaded.origin},
                                   {"rows", loaded.a.rows()},  {"cols", loaded.a.cols()},
                                   {"nnz", loaded.a.nnz()},    {"type", to_string(value_type_of<T>)},
                                   {"seconds", loaded.seconds}};
  if (loaded.file) {
    described["file"] = {{"symmetry", to_string(loaded.file->symmetry)},
                         {"field", to_string(loaded.file->field)},
                         {"array", loaded.file->array},
                         {"stored_entries", loaded.file->stored_entries}};
    if (loaded.file->field == file_field::pattern) described["value_seed"] = source.seed;
  }
  return described;
}

template <value T>
std::string describe_line(const matrix_source& source, const loaded_matrix<T>& loaded) {
  std::string text = fmt::format("{}: {} x {}, {} non-zeros", source.name, grouped(loaded.a.rows()),
                                 grouped(loaded.a.cols()), grouped(loaded.a.nnz()));
  if (loaded.file) {
    text += fmt::format(" ({} {}, {} entries stored)", to_string(loaded.file->symmetry), to_string(loaded.file->field),
                        grouped(loaded.file->stored_entries));
    if (loaded.file->field == file_field::pattern) text += fmt::format(", values random, seed {}", source.seed);
  }
  return text + fmt::format(", {} in {}", loaded.origin == "file" ? "read" : "generated", as_seconds(loaded.seconds));
}

void add_device(CLI::App& parser, device_options& options) {
  add_choice<device_choice>(parser, "--device", options.device,
                            {{"cpu", device_choice::cpu}, {"cuda", device_choice::cuda}, {"best", device_choice::best}},
                            "Where to compute; best: the first usable GPU, else the CPU");
  parser.add_option("--threads", options.threads, "Threads of the CPU; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

context make_context(const device_options& options) {
  if (options.device == device_choice::cpu) return context::cpu(options.threads);
  context chosen = options.device == device_choice::cuda ? context::cuda() : context::best();
  if (options.threads == 0) return chosen;
  if (chosen.kind() == backend::cpu) return context::cpu(options.threads);
  core::fail(errc::invalid_argument, "threads = {}: the product runs on {}; threads need --device cpu", options.threads,
             chosen.describe());
}

std::string_view to_string(file_symmetry symmetry) {
  switch (symmetry) {
    case file_symmetry::general:
      return "general";
    case file_symmetry::symmetric:
      return "symmetric";
    case file_symmetry::skew_symmetric:
      return "skew-symmetric";
    case file_symmetry::hermitian:
      return "hermitian";
  }
  return "unknown";
}

std::string_view to_string(file_field field) {
  switch (field) {
    case file_field::real:
      return "real";
    case file_field::integer:
      return "integer";
    case file_field::pattern:
      return "pattern";
    case file_field::complex:
      return "complex";
  }
  return "unknown";
}

template loaded_matrix<float> load<float>(const matrix_source&, const output&);
template loaded_matrix<double> load<double>(const matrix_source&, const output&);
template nlohmann::ordered_json describe<float>(const matrix_source&, const loaded_matrix<float>&);
template nlohmann::ordered_json describe<double>(const matrix_source&, const loaded_matrix<double>&);
template std::string describe_line<float>(const matrix_source&, const loaded_matrix<float>&);
template std::string describe_line<double>(const matrix_source&, const loaded_matrix<double>&);

}  // namespace bcsc::cli
