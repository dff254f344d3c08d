#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// Messages about command lines that make no sense.
namespace bcsc::cli {

/// ": did you mean spmm?", or nothing where no known word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// A whole number within bounds, told as bounds.
CLI::Validator at_least(std::int64_t least);
/// The same, with an upper bound.
CLI::Validator within(std::int64_t least, std::int64_t most);
/// A finite number above 0.
CLI::Validator above_zero();
/// A finite number that is 0 or above.
CLI::Validator not_below_zero();
/// One of the words that `list` gives; else names the nearest. `what` they are is said in the message.
CLI::Validator known(std::string what, std::function<std::vector<std::string>()> list);

/// Where an SVG goes: a name that does not end like another kind of picture's.
CLI::Validator svg_name();

/// Says on stderr what is wrong with the command line, with --json also as {"error": ...} on stdout; or prints the help
/// or the version, where that was asked for. Returns the exit code.
int refuse_usage(CLI::App& app, const CLI::ParseError& problem, int argc, char** argv);

}  // namespace bcsc::cli
