#include "tools/bcsc/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <system_error>

#include "tools/bcsc/arguments.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/description.hpp"
#include "tools/bcsc/output.hpp"
#include "tools/bcsc/process.hpp"

namespace bcsc::cli {
namespace {

/// Levenshtein's distance, in which two neighbours exchanged count as one edit, too (Damerau; restricted).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

/// The command that the line has named, or the program itself.
const CLI::App& deepest(const CLI::App& app, int argc, char** argv) {
  const CLI::App* const named = command_named(app, argc, argv);  // even if nothing has been parsed yet
  const auto parsed = app.get_subcommands();
  return !parsed.empty() ? *parsed.front() : named != nullptr ? *named : app;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// Why `given` is no finite number, or not within these bounds; empty if it is.
std::string misfit(const std::string& given, bool (*is_within)(double), std::string_view bounds) {
  double number = 0;
  const char* const end = given.data() + given.size();
  const auto [at, status] = std::from_chars(given.data(), end, number);
  if (status == std::errc::invalid_argument || at != end) return fmt::format("must be a number, not {}", given);
  if (status != std::errc() || !std::isfinite(number)) return fmt::format("must be a finite number, not {}", given);
  return is_within(number) ? "" : fmt::format("must be {}, not {}", bounds, given);
}

/// The option that CLI11 has handed another's name, or nothing, instead of a value; empty if that is not the problem.
std::string without_value(const CLI::App& command, const std::string& name, std::string_view given) {
  const std::vector<std::string> options = options_of(command);
  const bool is_option_name = std::ranges::find(options, given) != options.end();
  return given.empty() || is_option_name ? fmt::format("{}: needs a value", name) : std::string();
}

/// CLI11's words for a value that is missing or of another kind are about its types: "1 required FLOAT missing".
std::string value_message(const CLI::App& command, const CLI::ParseError& problem) {
  const std::string said = problem.what();
  constexpr std::string_view unconverted = "Could not convert: ";
  if (dynamic_cast<const CLI::ConversionError*>(&problem) != nullptr && said.starts_with(unconverted)) {
    const std::size_t equals = said.find(" = ");
    const std::string name = said.substr(unconverted.size(), equals - unconverted.size());
    const std::string given = equals == std::string::npos ? "" : said.substr(equals + 3);
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option != nullptr && option->get_expected_max() == 0) {
      return fmt::format("{}: takes no value, not {}", name, given);
    }
    const std::string missing = without_value(command, name, given);
    return missing.empty() ? fmt::format("{}: must be a number, not {}", name, given) : missing;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr && said.ends_with(" missing")) {
    return without_value(command, said.substr(0, said.find(':')), "");
  }
  if (dynamic_cast<const CLI::ValidationError*>(&problem) != nullptr) {
    const std::size_t colon = said.find(": "), by_bounds = said.rfind(", not "), by_words = said.find(" not in {");
    const std::string given = by_words != std::string::npos    ? said.substr(colon + 2, by_words - colon - 2)
                              : by_bounds != std::string::npos ? said.substr(by_bounds + 6)
                                                               : said;
    const std::string missing = without_value(command, said.substr(0, colon), given);
    if (!missing.empty()) return missing;
  }
  return said;
}

/// What is wrong, in terms of what was typed. Where something is missing because of an unknown word, that is the cause.
std::string usage_message(const CLI::App& app, const CLI::App& command, const CLI::ParseError& problem) {
  std::vector<std::string> unknown = app.remaining(true);
  if (&command == &app) std::erase(unknown, "--json");  // every command's, and wanted for this message
  const auto option = std::ranges::find_if(unknown, is_option);
  const bool is_cause = dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr ||
                        dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr;
  if (is_cause && &command == &app && !unknown.empty() && !is_option(unknown.front())) {
    return fmt::format("there is no command {}{}", unknown.front(),
                       did_you_mean(unknown.front(), names_of_commands(app)));
  }
  if (is_cause && option != unknown.end()) {
    const std::string word = option->substr(0, option->find('='));
    return fmt::format("there is no option {}{}", word, did_you_mean(word, options_of(command)));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr && !unknown.empty()) {
    return fmt::format("\"{}\" is one argument too many", unknown.front());
  }
  if (&command == &app && dynamic_cast<const CLI::RequiredError*>(&problem) != nullptr) return "no command is named";
  return value_message(command, problem);
}

/// The width to wrap help to: the usual one where there is no terminal.
std::size_t help_width() {
  constexpr std::size_t usual = 80, least = 20;
  return std::max(stdout_width().value_or(usual), least);
}

/// Where the text of a line of help begins, and what continues it; npos: what is to be typed stays as it is.
std::size_t text_begin(std::string_view line, std::size_t column) {
  if (!line.starts_with(' ')) return 0;
  return line.size() > column && line[column - 1] == ' ' ? column : std::string::npos;
}

/// Breaks lines of help between words.
std::string wrapped(const std::string& help, std::size_t width, std::size_t column) {
  std::istringstream lines(help);
  std::string made;
  bool in_examples = false;
  for (std::string line; std::getline(lines, line);) {
    in_examples = in_examples || line == "Examples:";
    const std::size_t indent = text_begin(line, column);
    const bool is_example = in_examples && line.starts_with("  ");
    while (indent != std::string::npos && !is_example && line.size() > width) {
      std::size_t end = line.rfind(' ', width);
      if (end == std::string::npos || end <= indent) end = line.find(' ', width);
      if (end == std::string::npos) break;
      made.append(line, 0, end).append("\n");
      line = std::string(indent, ' ') + line.substr(end + 1);
    }
    made += line + '\n';
  }
  return made;
}

bool is_asked_for_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  // A third of the letters may be wrong, and at least two: --colz, --layuot.
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& candidate : known) {
    const std::size_t distance = edits(word, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? "" : fmt::format(": did you mean {}?", *nearest);
}

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](const std::string& given) -> std::string {
    std::int64_t number = 0;
    const char* const end = given.data() + given.size();
    const auto [at, status] = std::from_chars(given.data(), end, number);
    if (status == std::errc::result_out_of_range && at == end && given.front() != '-') {
      return fmt::format("must fit 63 bits, not {}", given);
    }
    if (status == std::errc::invalid_argument || at != end) return fmt::format("must be a whole number, not {}", given);
    if (status != std::errc() || number < least) return fmt::format("must be at least {}, not {}", least, given);
    return {};
  };
  return {check, fmt::format("AT LEAST {}", least)};
}

CLI::Validator within(std::int64_t least, std::int64_t most) {
  CLI::Validator low = at_least(least);
  const auto check = [low, most](const std::string& given) -> std::string {
    const std::string below = low(given);
    if (!below.empty()) return below;
    return std::stoll(given) <= most ? "" : fmt::format("must be at most {}, not {}", most, given);
  };
  return {check, low.get_description()};
}

CLI::Validator above_zero() {
  const auto check = [](const std::string& given) {
    return misfit(
        given, [](double number) { return number > 0; }, "above 0");
  };
  return {check, "ABOVE 0"};
}

CLI::Validator not_below_zero() {
  const auto check = [](const std::string& given) {
    return misfit(
        given, [](double number) { return number >= 0; }, "at least 0");
  };
  return {check, "AT LEAST 0"};
}

CLI::Validator known(std::string what, std::function<std::vector<std::string>()> list) {
  const auto check = [what = std::move(what), list = std::move(list)](const std::string& given) -> std::string {
    const std::vector<std::string> words = list();
    if (std::ranges::find(words, given) != words.end()) return {};
    const std::string near = did_you_mean(given, words);
    return fmt::format("there is no {} {}{}", what, given, near.empty() ? ", only " + joined(words, ", ") : near);
  };
  return {check, ""};
}

CLI::Validator svg_name() {
  const auto check = [](const std::string& given) -> std::string {
    static constexpr std::array others{".png",  ".jpg", ".jpeg", ".gif", ".bmp",  ".tif", ".tiff",
                                       ".webp", ".pdf", ".ps",   ".eps", ".svgz", ".emf", ".avif"};
    std::string ending = std::filesystem::path(given).extension().string();
    for (char& letter : ending)
      letter = 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    if (std::ranges::find(others, ending) == others.end()) return {};
    return fmt::format("an SVG is written, whose name ends in .svg: {}", given);
  };
  return {check, ""};
}

int refuse_usage(CLI::App& app, const CLI::ParseError& problem, int argc, char** argv) {
  const output out{output_options()};
  const auto finish = [&](int code) -> int {
    try {
      out.finish();
      return code;
    } catch (const std::exception& failure) {
      out.fail(failure);
      return exit_error;
    }
  };
  if (problem.get_exit_code() == 0) {  // help, version
    const std::size_t width = help_width(), column = width < 60 ? 8 : 30;
    app.get_formatter()->column_width(column);
    std::ostringstream wanted, unused;
    (void)app.exit(problem, wanted, unused);
    out.text(wrapped(wanted.str(), width, column));
    return finish(exit_ok);
  }
  const CLI::App& command = deepest(app, argc, argv);
  const std::string message = usage_message(app, command, problem);
  tell(fmt::format("bcsc: error: {}\n`bcsc{} --help` lists what there is\n", message,
                   &command == &app ? "" : " " + command.get_name()));
  if (is_asked_for_json(argc, argv)) {
    const nlohmann::ordered_json told{{"error", {{"code", "usage"}, {"message", message}}}};
    out.text(told.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  }
  return finish(exit_usage);
}

}  // namespace bcsc::cli
