#pragma once

#include <CLI/CLI.hpp>

/// What the command line must be for every option alike, before an option's own checks.
namespace bcsc::cli {

/// The command that the first word names; null if it names none.
const CLI::App* command_named(const CLI::App& app, int argc, char** argv);

/// Whole numbers are decimal, in every option of every command, and fit their type: left to itself, CLI11 takes 032
/// for 26 and a seed of -1 for the largest there is.
void require_decimal_numbers(CLI::App& app);

/// That no option has an empty value: CLI11 takes the next word for that of `--png=`, and computes with 0 for
/// `--alpha ''`. Throws CLI::ParseError.
void require_values(const CLI::App& app, int argc, char** argv);

}  // namespace bcsc::cli
