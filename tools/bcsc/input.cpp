#include "tools/bcsc/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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

read_options matrix_source::options() const {
  read_options with_seed = reading;
  with_seed.pattern_seed = seed;
  return with_seed;
}

void add_source(CLI::App& parser, matrix_source& source) {
  parser
      .add_option("FILE", source.name,
                  "Matrix file (.mtx, .rb, .smtx ...: `bcsc formats`; gzip too), generator (elasticity:30,30,30) or "
                  "catalogue name (stencil9-400); `bcsc generate --list` shows them")
      ->required();
  parser.add_option("--seed", source.seed, "Seed of the random values: a pattern file's, B's, the solution's")
      ->capture_default_str();
  add_reading(parser, source.reading);
}

CLI::Option* add_file_format(CLI::App& parser, const std::string& name, std::optional<file_format>& target,
                             const std::string& description, bool (*fits)(const file_format_info&)) {
  std::vector<std::pair<std::string, std::optional<file_format>>> choices;
  for (const file_format_info& format : file_formats()) {
    if (fits(format)) choices.emplace_back(format.name, format.format);
  }
  return add_choice<std::optional<file_format>>(parser, name, target, choices, description);
}

void add_reading(CLI::App& parser, read_options& reading) {
  constexpr const char* group = "What FILE is, where it does not say so itself";
  add_file_format(parser, "--from", reading.format, "Its format; else its content tells, then its name",
                  [](const file_format_info& format) { return format.can_read; })
      ->group(group);
  parser.add_option("--member", reading.member, "Which of several: the path in a .tar, the variable of a .mat")
      ->group(group);
  parser.add_flag("--real-part", reading.real_part, "Complex values lose their imaginary parts")->group(group);
  parser
      .add_option_function<int>(
          "--index-base", [&reading](int base) { reading.index_base = base; },
          "First index of an edge list or LIBSVM file")
      ->check(CLI::IsMember({0, 1}))
      ->group(group);
  parser.add_flag("!--no-map", reading.map_containers,
                  "Read a .bcsc into memory, not map it: then it may be shortened meanwhile");
}

namespace {

/// How `source` is to be had: from_file(options) or made() by a generator; sets origin, file and seconds of `loaded`.
template <class Loaded, class FromFile, class Made>
Loaded load_by(const matrix_source& source, const output& out, FromFile&& from_file, Made&& made) {
  const auto start = std::chrono::steady_clock::now();
  Loaded loaded;
  if (std::filesystem::exists(source.name)) {
    read_options options = source.options();
    loaded.origin = "file";
    loaded.file = read_file_info(source.name, options);
    progress_bar bar = out.progress("reading");
    options.progress = bar.callback();
    loaded.a = from_file(options);
  } else if (names_generator(source.name)) {
    loaded.origin = "generator";
    loaded.a = made();
  } else {
    core::fail(errc::io_error, "FILE = \"{}\": there is no such file, and no generated matrix of that name",
               source.name);
  }
  loaded.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return loaded;
}

template <value T>
matrix_facts facts_of(const loaded_matrix<T>& loaded) {
  return {loaded.a.rows(), loaded.a.cols(), loaded.a.nnz(), value_type_of<T>};
}

}  // namespace

template <value T>
loaded_matrix<T> load(const matrix_source& source, const output& out) {
  return load_by<loaded_matrix<T>>(
      source, out, [&](const read_options& options) { return read_csr<T>(source.name, options); },
      [&] { return generate::from_specification<T>(source.name); });
}

loaded_any load_any(const matrix_source& source, const output& out, value_type element) {
  return load_by<loaded_any>(
      source, out, [&](const read_options& options) { return read_matrix(source.name, options, element); },
      [&] { return any_matrix(generate::from_specification<double>(source.name)); });
}

nlohmann::ordered_json describe(const matrix_source& source, const matrix_facts& facts, const std::string& origin,
                                const std::optional<file_info>& file, double seconds) {
  nlohmann::ordered_json described{{"name", source.name}, {"origin", origin}, {"rows", facts.rows},
                                   {"cols", facts.cols},  {"nnz", facts.nnz}, {"type", to_string(facts.type)},
                                   {"seconds", seconds}};
  if (file) {
    described["file"] = {{"format", to_string(file->format)},
                         {"symmetry", to_string(file->symmetry)},
                         {"field", to_string(file->field)},
                         {"array", file->array},
                         {"stored_entries", file->stored_entries}};
    if (!file->member.empty()) described["file"]["member"] = file->member;
    if (file->field == file_field::pattern) described["value_seed"] = source.seed;
  }
  return described;
}

std::string describe_line(const matrix_source& source, const matrix_facts& facts, const std::string& origin,
                          const std::optional<file_info>& file, double seconds) {
  std::string text = fmt::format("{}: {} x {}, {} non-zeros", source.name, grouped(facts.rows), grouped(facts.cols),
                                 grouped(facts.nnz));
  if (file) {
    text += fmt::format(" ({}, {} {}, {} entries stored)", to_string(file->format), to_string(file->symmetry),
                        to_string(file->field), grouped(file->stored_entries));
    if (!file->member.empty()) text += fmt::format(", member {}", file->member);
    if (file->field == file_field::pattern && facts.type != value_type::pattern) {
      text += fmt::format(", values random, seed {}", source.seed);
    }
  }
  return text + fmt::format(", {} in {}", origin == "file" ? "read" : "generated", as_seconds(seconds));
}

template <value T>
nlohmann::ordered_json describe(const matrix_source& source, const loaded_matrix<T>& loaded) {
  return describe(source, facts_of(loaded), loaded.origin, loaded.file, loaded.seconds);
}

template <value T>
std::string describe_line(const matrix_source& source, const loaded_matrix<T>& loaded) {
  return describe_line(source, facts_of(loaded), loaded.origin, loaded.file, loaded.seconds);
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
