#include <fmt/format.h>

#include <string>

#include "bcsc/error.hpp"
#include "bcsc/tuning_cache.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/effort.hpp"

namespace bcsc::cli {
namespace {

enum class cache_action { show, clear, write, read };

struct cache_options : output_options {
  cache_action action = cache_action::show;
  std::string file, cache;
};

std::string counted(std::size_t count) { return fmt::format("{} {}", count, count == 1 ? "entry" : "entries"); }

void show(const tuning_cache& cache, output& out) {
  const auto entries = cache.entries();
  out.json()["entries"] = nlohmann::ordered_json::array();
  for (const cache_entry& entry : entries) {
    out.line("{}", entry.key);
    out.line("  {}", entry.value);
    out.json()["entries"].push_back({{"key", entry.key}, {"value", entry.value}});
  }
  out.line("{} in {}", counted(entries.size()), cache.file());
}

/// The cache that FILE names: only an option's "off" stands for none.
tuning_cache cache_in(const std::string& file) { return tuning_cache(file == "off" ? "./off" : file); }

/// From one cache into another, whose entries stay unless they are renewed.
void merge(const tuning_cache& from, const tuning_cache& into, output& out) {
  const auto entries = from.entries();
  if (entries.empty()) {
    core::fail(errc::io_error, "tuning cache {}: there is nothing in it, or no such file", from.file());
  }
  into.put(entries);
  out.json()["num_entries"] = entries.size();
  out.line("{} from {} into {}", counted(entries.size()), from.file(), into.file());
}

int run_cache(const cache_options& options, output& out) {
  const tuning_cache cache(options.cache);
  if (cache.is_off()) {
    core::fail(errc::invalid_argument,
               "the tuning cache is off: BCSC_TUNING_CACHE or --cache says so, or there is no "
               "HOME to keep it in");
  }
  const bool needs_file = options.action == cache_action::write || options.action == cache_action::read;
  if (needs_file && options.file.empty()) core::fail(errc::invalid_argument, "FILE: export and import need one");
  if (!needs_file && !options.file.empty()) {
    core::fail(errc::invalid_argument, "FILE = {}: only export and import take one", options.file);
  }
  out.json() = {{"command", "cache"}, {"cache", cache.file()}};
  switch (options.action) {
    case cache_action::show:
      show(cache, out);
      break;
    case cache_action::clear:
      out.json()["num_entries"] = cache.entries().size();
      out.line("{} forgotten of {}", counted(cache.entries().size()), cache.file());
      cache.clear();
      break;
    case cache_action::write:
      merge(cache, cache_in(options.file), out);
      break;
    case cache_action::read:
      merge(cache_in(options.file), cache, out);
      break;
  }
  return exit_ok;
}

}  // namespace

command add_cache(CLI::App& app) {
  auto [cmd, options] = make_command<cache_options>(app, "cache", "What tuning has found: show it, forget it, carry it",
                                                    "  bcsc cache show\n"
                                                    "  bcsc cache export cluster.txt\n"
                                                    "  bcsc cache import cluster.txt\n"
                                                    "  bcsc cache clear\n"
                                                    "Entries are of one machine, library and pattern; those of "
                                                    "another do no harm. FILE is a cache like the other: what it\n"
                                                    "holds stays unless it is renewed.",
                                                    run_cache);
  add_choice<cache_action>(*cmd.parser, "ACTION", options->action,
                           {{"show", cache_action::show},
                            {"clear", cache_action::clear},
                            {"export", cache_action::write},
                            {"import", cache_action::read}},
                           "What to do with it")
      ->required();
  cmd.parser->add_option("FILE", options->file, "Export to it, import from it");
  add_tuning_cache(*cmd.parser, options->cache);
  return cmd;
}

}  // namespace bcsc::cli
