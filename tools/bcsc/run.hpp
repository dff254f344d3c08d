#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <vector>

#include "tools/bcsc/arguments.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/process.hpp"
#include "tools/bcsc/usage.hpp"

namespace bcsc::cli {

inline int run(const command& chosen) {
  output out(*chosen.shown);
  int code = exit_error;
  try {
    code = chosen.run(out);
    out.finish();
  } catch (const std::exception& problem) {
    out.fail(problem);
    code = exit_error;
  }
  return interrupted() != 0 ? exit_code_of(interrupted()) : code;
}

/// Reads the command line and runs what it asks for. Returns the exit code.
inline int run_command(CLI::App& app, const std::vector<command>& commands, int argc, char** argv) {
  begin_process();
  require_decimal_numbers(app);
  try {
    require_values(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return refuse_usage(app, problem, argc, argv);
  }
  for (const command& chosen : commands) {
    if (chosen.parser->parsed()) return run(chosen);
  }
  return exit_usage;
}

}  // namespace bcsc::cli
