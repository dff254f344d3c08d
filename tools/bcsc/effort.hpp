#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc/tune.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/process.hpp"

namespace bcsc::cli {

/// Adds --effort with the words for what `least` asks for and more.
inline void add_effort(CLI::App& parser, effort& target, effort least) {
  std::vector<std::pair<std::string, effort>> words;
  for (const effort one : {effort::predict, effort::check, effort::search}) {
    if (one >= least) words.emplace_back(to_string(one), one);
  }
  add_choice<effort>(parser, "--effort", target, words,
                     "How the kernel is chosen: check times the few that are predicted to be fastest, search "
                     "everything that runs" +
                         std::string(least == effort::predict ? "; predict times nothing" : ""));
}

/// Says on stderr, beside the bar, what the log says of the tuning cache; false: the line is about something else.
inline bool tell_of_cache(std::string_view line, progress_bar& bar) {
  if (!line.starts_with("tuning cache")) return false;
  bar.clear();
  tell(fmt::format("bcsc: {}\n", line));
  return true;
}

/// Says so for all that the context logs.
inline void tell_of_cache(context ctx, progress_bar& bar) {
  ctx.set_log([&bar](std::string_view line) { tell_of_cache(line, bar); });
}

/// Adds --cache.
inline void add_tuning_cache(CLI::App& parser, std::string& file) {
  parser
      .add_option("--cache", file,
                  "Tuning cache: a file, or off; default: BCSC_TUNING_CACHE, else bcsc/tuning-1.txt below "
                  "XDG_CACHE_HOME or ~/.cache")
      ->type_name("FILE");
}

}  // namespace bcsc::cli
