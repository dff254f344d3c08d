#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
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
/// A finite number above 0.
CLI::Validator above_zero();

/// Says on stderr what is wrong with the command line, with --json also as {"error": ...} on stdout; or prints the help
/// or the version, where that was asked for. Returns the exit code.
int refuse_usage(CLI::App& app, const CLI::ParseError& problem, int argc, char** argv);

}  // namespace bcsc::cli
