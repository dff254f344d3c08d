#include "bcsc/fetch.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/process.hpp"

namespace bcsc::cli {
namespace {

struct fetch_command_options : output_options {
  std::string name, cache;
  bool list = false;
  bool not_spd = false, spd = false;
  suitesparse::filter wanted;
  suitesparse::fetch_options fetch;
};

constexpr std::array symmetries{file_symmetry::general, file_symmetry::symmetric, file_symmetry::skew_symmetric,
                                file_symmetry::hermitian};
constexpr std::array fields{file_field::real, file_field::integer, file_field::pattern, file_field::complex};

/// An option that takes the words which to_string has for some values.
template <class Value, std::size_t n>
CLI::Option* add_word(CLI::App& parser, const std::string& name, std::optional<Value>& target,
                      const std::array<Value, n>& values, const std::string& description) {
  std::vector<std::string> words;
  for (const Value value : values) words.emplace_back(to_string(value));
  const auto assign = [&target, values](const std::string& given) {
    for (const Value value : values) {
      if (to_string(value) == given) target = value;
    }
  };
  return parser.add_option_function<std::string>(name, assign, description)->check(CLI::IsMember(words));
}

nlohmann::ordered_json describe(const suitesparse::entry& e) {
  return {{"number", e.number},
          {"name", e.full_name()},
          {"kind", e.kind},
          {"rows", e.rows},
          {"cols", e.cols},
          {"nnz", e.nnz},
          {"explicit_zeros", e.explicit_zeros},
          {"field", to_string(e.field)},
          {"symmetry", to_string(e.symmetry)},
          {"pattern_symmetry", e.pattern_symmetry},
          {"numeric_symmetry", e.numeric_symmetry},
          {"cholesky_candidate", e.cholesky_candidate},
          {"positive_definite", e.positive_definite}};
}

int list_collection(const fetch_command_options& options, output& out) {
  suitesparse::filter wanted = options.wanted;
  wanted.pattern = options.name;
  if (options.spd || options.not_spd) wanted.positive_definite = options.spd;
  const auto found = suitesparse::search(wanted);
  out.json()["attribution"] = suitesparse::attribution;
  out.json()["matrices"] = nlohmann::ordered_json::array();
  table shown({"matrix", "no.", "rows", "cols", "non-zeros", "field", "symmetry", "spd", "cached", "kind"});
  for (const auto& e : found) {
    const auto path = suitesparse::cached_path(e, options.fetch.cache);
    const bool cached = std::filesystem::exists(path);
    shown.add({e.full_name(), std::to_string(e.number), core::count_text(e.rows), core::count_text(e.cols),
               core::count_text(e.nnz), std::string(to_string(e.field)), std::string(to_string(e.symmetry)),
               e.positive_definite ? "yes" : "", cached ? "yes" : "", std::string(e.kind)});
    nlohmann::ordered_json described = describe(e);
    described["cached"] = cached ? nlohmann::ordered_json(path.string()) : nullptr;
    out.json()["matrices"].push_back(std::move(described));
  }
  if (!found.empty()) shown.print(out);
  out.line("{} of {} matrices; {}", found.size(), suitesparse::catalogue().size(), suitesparse::attribution);
  return exit_ok;
}

int fetch_one(const fetch_command_options& options, output& out) {
  const suitesparse::entry matrix = suitesparse::find(options.name);
  suitesparse::fetch_options chosen = options.fetch;
  progress_bar bar = out.progress(matrix.full_name());
  chosen.progress = [&bar](std::int64_t done, std::int64_t total) {
    bar.show(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0,
             total > 0 ? core::bytes_text(done) + " of " + core::bytes_text(total) : core::bytes_text(done));
    return true;
  };
  chosen.log = [&bar](std::string_view text) {
    bar.clear();
    tell(fmt::format("bcsc: {}\n", text));
  };
  const suitesparse::fetched got = suitesparse::fetch(matrix, chosen);
  bar.clear();

  out.line("{}: {} x {}, {} non-zeros, {} {}, {}{}", matrix.full_name(), core::count_text(matrix.rows),
           core::count_text(matrix.cols), core::count_text(matrix.nnz), to_string(matrix.symmetry),
           to_string(matrix.field), matrix.kind, matrix.positive_definite ? ", positive definite" : "");
  const std::string joined =
      got.resumed_at > 0 ? fmt::format(", resumed at byte {}", core::count_text(got.resumed_at)) : "";
  out.line("{} {}, {}{}", got.from_cache ? "in the cache:" : "fetched:", got.path.string(), core::bytes_text(got.bytes),
           joined);
  out.line("sha256 {}", got.sha256.empty() ? "unknown: there is no libcrypto" : got.sha256);
  out.line("{}", suitesparse::attribution);
  out.json()["matrix"] = describe(matrix);
  out.json()["path"] = got.path.string();
  out.json()["bytes"] = got.bytes;
  out.json()["sha256"] = got.sha256.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(got.sha256);
  out.json()["from_cache"] = got.from_cache;
  out.json()["resumed_at"] = got.resumed_at;
  out.json()["attempts"] = got.attempts;
  out.json()["attribution"] = suitesparse::attribution;
  return exit_ok;
}

int run_fetch(const fetch_command_options& given, output& out) {
  fetch_command_options options = given;
  options.fetch.cache = options.cache.empty() ? suitesparse::cache_folder() : std::filesystem::path(options.cache);
  out.json()["command"] = "fetch";
  return options.list ? list_collection(options, out) : fetch_one(options, out);
}

/// The options of --list, which mean nothing without it.
void add_filters(CLI::App& parser, CLI::Option* list, fetch_command_options& options) {
  const auto filter = [list](CLI::Option* option) { return option->group("Filters of --list")->needs(list); };
  const auto add_range = [&](suitesparse::range& limits, const std::string& what, const std::string& text) {
    filter(parser.add_option("--min-" + what, limits.least, "At least this many " + text));
    filter(parser.add_option("--max-" + what, limits.most, "At most this many " + text));
  };
  filter(parser.add_option("--kind", options.wanted.kind, "Part of the kind, such as structural or graph"));
  add_range(options.wanted.rows, "rows", "rows");
  add_range(options.wanted.cols, "cols", "columns");
  add_range(options.wanted.nnz, "nnz", "non-zeros");
  CLI::Option* spd = filter(parser.add_flag("--spd", options.spd, "Positive definite only"));
  filter(parser.add_flag("--not-spd", options.not_spd, "Not positive definite only"))->excludes(spd);
  filter(add_word(parser, "--symmetry", options.wanted.symmetry, symmetries, "With this symmetry"));
  filter(add_word(parser, "--field", options.wanted.field, fields, "With values of this kind"));
}

}  // namespace

command add_fetch(CLI::App& app) {
  auto [cmd, options] = make_command<fetch_command_options>(
      app, "fetch", "Get a matrix from the SuiteSparse collection into a cache, or search the collection's catalogue",
      "  bcsc fetch HB/bcsstk16\n"
      "  bcsc fetch bcsstk16 --cache /data/matrices --json\n"
      "  bcsc fetch --list 'cage*'\n"
      "  bcsc fetch --list --spd --kind structural --min-rows 10000 --max-nnz 5000000\n"
      "The cache is --cache, else BCSC_CACHE, XDG_CACHE_HOME/bcsc or ~/.cache/bcsc; a matrix lies there as\n"
      "GROUP/NAME.tar.gz. An interrupted download resumes at the next call.",
      run_fetch);
  CLI::App& parser = *cmd.parser;
  suitesparse::fetch_options& fetch = options->fetch;
  parser.add_option("NAME", options->name,
                    "GROUP/NAME, a name alone, or a number of --list (not the collection's id); with --list a part of "
                    "GROUP/NAME, or a glob");
  CLI::Option* list =
      parser.add_flag("--list", options->list, "Show the catalogue, or the part of it that passes the filters");
  add_filters(parser, list, *options);
  parser.add_option("--cache", options->cache, "Folder of fetched matrices")->type_name("FOLDER");
  parser.add_option("--url", fetch.url, "Address of the collection; default: BCSC_COLLECTION_URL")
      ->default_str(std::string(suitesparse::default_url));
  parser.add_option("--sha256", fetch.sha256, "Expected SHA-256 of the archive");
  parser.add_option("--ca-file", fetch.ca_file, "Certificate authorities to trust (PEM) instead of the system's")
      ->type_name("FILE");
  parser.add_flag("--again", fetch.again, "Download it even if it is in the cache");
  parser
      .add_option("--max-bytes", fetch.max_bytes,
                  "Accept at most this much from the server; 0: what the matrix can need")
      ->check(at_least(0))
      ->capture_default_str();
  parser.add_option("--timeout", fetch.timeout_seconds, "Abandon an attempt after this many seconds below 1 KiB/s")
      ->check(above_zero())
      ->capture_default_str();
  parser.add_option("--retries", fetch.retries, "How often to repeat a failed attempt")
      ->check(at_least(0))
      ->capture_default_str();
  parser
      .add_option("--retry-delay", fetch.retry_delay_seconds, "Seconds before the first retry, then doubled each time")
      ->check(not_below_zero())
      ->capture_default_str();
  parser.callback([given = options] {
    if (!given->list && given->name.empty()) throw CLI::RequiredError("NAME");
  });
  return cmd;
}

}  // namespace bcsc::cli
