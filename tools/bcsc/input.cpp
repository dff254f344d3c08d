#include "tools/bcsc/input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/generate.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "core/new_file.hpp"
#include "core/thread_limit.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

/// What stands before the colon of a family's form.
std::vector<std::string> generator_families() {
  std::vector<std::string> names;
  for (const std::string& form : generate::forms()) names.push_back(form.substr(0, form.find(':')));
  return names;
}

std::vector<std::string> catalogue_names() {
  std::vector<std::string> names;
  for (const auto& entry : generate::catalogue()) names.push_back(entry.name);
  return names;
}

}  // namespace

void require_generator(std::string_view parameter, const std::string& specification) {
  const std::size_t colon = specification.find(':');
  const std::vector<std::string> known = colon == std::string::npos ? catalogue_names() : generator_families();
  const std::string name = specification.substr(0, colon);
  if (std::ranges::count(known, name) > 0) return;
  if (colon == std::string::npos) {
    core::fail(errc::io_error, "{} = \"{}\": there is no such file, and no generated matrix of that name{}", parameter,
               specification, did_you_mean(name, known));
  }
  core::fail(errc::invalid_argument, "{} = \"{}\": there is no generator {}{} (`bcsc generate --list` shows them)",
             parameter, specification, name, did_you_mean(name, known));
}

template <number T>
csr_matrix<T> multiplied_as(csr_matrix<scalar_of<T>> a) {
  if constexpr (value<T>) {
    return a;
  } else {
    any_matrix narrow = convert(any_matrix(std::move(a)), matrix_format::csr,
                                {.element = value_type_of<T>, .indices = index_type::int32});
    return std::move(*narrow.get_if<csr_matrix<T>>());
  }
}

read_options matrix_source::options() const {
  read_options with_seed = reading;
  with_seed.pattern_seed = seed;
  return with_seed;
}

void add_source(CLI::App& parser, matrix_source& source) {
  parser
      .add_option("FILE", source.name,
                  "Matrix file (.mtx, .rb, .smtx ...: `bcsc formats`; gzip too), - for standard input, generator "
                  "(elasticity:30,30,30) or catalogue name (stencil9-400); `bcsc generate --list` shows them")
      ->required();
  parser.add_option("--seed", source.seed, "Seed of the random values: a pattern file's, B's, the solution's")
      ->capture_default_str();
  add_reading(parser, source.reading);
}

CLI::Option* add_file_format(CLI::App& parser, const std::string& name, std::optional<file_format>& target,
                             const std::string& description, bool (*fits)(const file_format_info&)) {
  std::vector<std::pair<std::string, std::optional<file_format>>> choices;
  for (const file_format_info& format : file_formats()) {
    if (!fits(format)) continue;
    choices.emplace_back(format.name, format.format);
    if (format.extensions.front() != format.name) choices.emplace_back(format.extensions.front(), format.format);
  }
  return add_choice<std::optional<file_format>>(parser, name, target, choices, description);
}

void add_reading(CLI::App& parser, read_options& reading) {
  constexpr const char* group = "How to read FILE, if it does not say so itself";
  add_file_format(parser, "--from", reading.format, "Its format; default: recognised by its content, then by its name",
                  [](const file_format_info& format) { return format.can_read; })
      ->group(group);
  parser
      .add_option("--member", reading.member,
                  "Which one, if there are several: the path in a .tar, the variable of a .mat")
      ->group(group);
  parser.add_flag("--real-part", reading.real_part, "Drop the imaginary parts of complex values")->group(group);
  parser
      .add_option_function<int>(
          "--index-base", [&reading](int base) { reading.index_base = base; },
          "First index of an edge list or LIBSVM file")
      ->check(CLI::IsMember({0, 1}))
      ->group(group);
  parser.add_flag("!--no-map", reading.map_containers,
                  "Read a .bcsc into memory instead of mapping it: safe if the file may be truncated meanwhile");
}

namespace {

/// read_file_info(). Text whose name tells nothing is taken for Matrix Market: what it may be instead is for the user
/// to say, and how is said here.
file_info info_of(const matrix_source& source, const std::string& path, const read_options& options) {
  try {
    return read_file_info(path, options);
  } catch (const error& problem) {
    std::error_code ignored;
    const bool is_empty = std::filesystem::file_size(path, ignored) == 0;
    if (problem.code() != errc::bad_banner || options.format || is_empty || format_of_name(source.name)) throw;
    throw error(problem.code(),
                fmt::format("{} (the name {} tells no format; --from does, such as --from edge-list)", problem.what(),
                            source.name),
                problem.where());
  }
}

/// How `source` is obtained: from_file(options) or made() by a generator; sets origin, file and seconds of `loaded`.
template <class Loaded, class FromFile, class Made>
Loaded load_by(const matrix_source& source, const output& out, const on_sizes& told, FromFile&& from_file,
               Made&& made) {
  const auto start = std::chrono::steady_clock::now();
  Loaded loaded;
  if (is_readable(source.name)) {
    read_options options = source.options();
    loaded.origin = "file";
    loaded.path = rereadable_path(source.name);
    loaded.file = info_of(source, loaded.path, options);
    if (told) told(loaded.file->rows, loaded.file->cols);
    progress_bar bar = out.progress("reading");
    options.progress = bar.callback();
    loaded.a = from_file(loaded.path, options);
  } else {
    require_generator("FILE", source.name);
    loaded.origin = "generator";
    loaded.a = made();
    if (told) told(loaded.a.rows(), loaded.a.cols());
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
loaded_matrix<T> load(const matrix_source& source, const output& out, const on_sizes& told) {
  return load_by<loaded_matrix<T>>(
      source, out, told,
      [&](const std::string& path, const read_options& options) { return read_csr<T>(path, options); },
      [&] { return generate::from_specification<T>(source.name); });
}

loaded_any load_any(const matrix_source& source, const output& out, value_type element) {
  return load_by<loaded_any>(
      source, out, {},
      [&](const std::string& path, const read_options& options) { return read_matrix(path, options, element); },
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
  std::string text = fmt::format("{}: {} x {}, {} non-zeros", source.name, core::count_text(facts.rows),
                                 core::count_text(facts.cols), core::count_text(facts.nnz));
  if (file) {
    text += fmt::format(" ({}, {} {}, {} entries stored)", to_string(file->format), to_string(file->symmetry),
                        to_string(file->field), core::count_text(file->stored_entries));
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

void require_output(std::string_view option, const std::string& path) {
  std::error_code ignored;
  const auto refuse = [&](std::string_view why) {
    core::fail(errc::io_error, "{} {}: cannot be written: {}", option, path, why);
  };
  if (std::filesystem::is_directory(path, ignored)) refuse("is a directory");
  if (core::is_written_directly(path)) {
    if (::access(path.c_str(), W_OK) != 0) refuse(std::generic_category().message(errno));
    return;
  }
  const std::filesystem::path parent = core::behind_links(path).parent_path();
  const std::filesystem::path folder = parent.empty() ? std::filesystem::path(".") : parent;
  if (!std::filesystem::is_directory(folder, ignored)) refuse(fmt::format("there is no folder {}", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(std::generic_category().message(errno));
}

void begin_file(std::string_view option, const std::string& path, output& out) {
  if (is_standard_output(path)) {
    out.leave_stdout_to_a_file();
  } else {
    require_output(option, path);
  }
}

void require_output_folder(std::string_view option, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code status;
  const auto refuse = [&](const std::string& why) {
    core::fail(errc::io_error, "{} {}: cannot be written to: {}", option, path, why);
  };
  if (path.empty()) refuse("the name is empty");
  if (!fs::exists(path, status) && !status) {
    const fs::path parent = fs::absolute(path).lexically_normal().parent_path();
    std::error_code ignored;
    if (!fs::is_directory(parent, ignored)) refuse(fmt::format("there is no folder {}", parent.string()));
    fs::create_directory(path, status);
  }
  if (status) refuse(status.message());
  if (!fs::is_directory(path, status)) refuse("is no folder");
  if (::access(path.c_str(), W_OK | X_OK) != 0) refuse(std::generic_category().message(errno));
}

void add_device(CLI::App& parser, device_options& options) {
  add_choice<device_choice>(parser, "--device", options.device,
                            {{"cpu", device_choice::cpu}, {"cuda", device_choice::cuda}, {"best", device_choice::best}},
                            "Where to compute; best: the first usable GPU, else the CPU");
  parser.add_option("--threads", options.threads, "Threads of the CPU; 0: all")
      ->check(within(0, core::most_threads()))
      ->capture_default_str();
}

context make_context(const device_options& options) {
  if (options.device == device_choice::cpu) return context::cpu(options.threads);
  context chosen = options.device == device_choice::cuda ? context::cuda() : context::best();
  if (options.threads == 0) return chosen;
  if (chosen.kind() == backend::cpu) return context::cpu(options.threads);
  core::fail(errc::invalid_argument, "--threads {}: the product runs on {}; threads need --device cpu", options.threads,
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

template loaded_matrix<float> load<float>(const matrix_source&, const output&, const on_sizes&);
template loaded_matrix<double> load<double>(const matrix_source&, const output&, const on_sizes&);
template csr_matrix<float> multiplied_as<float>(csr_matrix<float>);
template csr_matrix<double> multiplied_as<double>(csr_matrix<double>);
template csr_matrix<half> multiplied_as<half>(csr_matrix<float>);
template csr_matrix<bfloat16> multiplied_as<bfloat16>(csr_matrix<float>);
template nlohmann::ordered_json describe<float>(const matrix_source&, const loaded_matrix<float>&);
template nlohmann::ordered_json describe<double>(const matrix_source&, const loaded_matrix<double>&);
template std::string describe_line<float>(const matrix_source&, const loaded_matrix<float>&);
template std::string describe_line<double>(const matrix_source&, const loaded_matrix<double>&);

}  // namespace bcsc::cli
