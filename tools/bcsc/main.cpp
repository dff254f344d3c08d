#include <CLI/CLI.hpp>
#include <exception>
#include <vector>

#include "bcsc/version.hpp"
#include "tools/bcsc/command.hpp"

int main(int argc, char** argv) {
  using namespace bcsc::cli;
  CLI::App app{"bcsc: sparse matrix times dense matrix around the block compressed sparse column format"};
  app.set_version_flag("--version", bcsc::version);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 all is well, 1 an error, 2 a command line that makes no sense, 3 a check failed or a solver did "
      "not "
      "converge.\n`bcsc COMMAND --help` shows a command's options and examples.");

  // Every command is one file beside this one; a new one is listed here.
  const std::vector<command> commands {
    add_info(app), add_spmm(app), add_solve(app), add_convert(app), add_formats(app), add_generate(app), add_fetch(app),
        add_devices(app), add_kernels(app),
#if BCSC_WITH_BENCHMARK
        add_bench(app),
#endif
  };

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
