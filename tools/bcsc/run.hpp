#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <vector>

#include "tools/bcsc/command.hpp"

namespace bcsc::cli {

/// Reads the command line and runs what it asks for. Returns what the process answers.
inline int run_command(CLI::App& app, const std::vector<command>& commands, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? exit_ok : exit_usage;
  }
  for (const command& chosen : commands) {
    if (!chosen.parser->parsed()) continue;
    output out(*chosen.shown);
    try {
      const int code = chosen.run(out);
      out.finish();
      return code;
    } catch (const std::exception& problem) {
      out.fail(problem);
      return exit_error;
    }
  }
  return exit_usage;
}

}  // namespace bcsc::cli
