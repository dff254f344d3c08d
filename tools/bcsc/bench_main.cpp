#include "bcsc/version.hpp"
#include "tools/bcsc/bench_options.hpp"
#include "tools/bcsc/run.hpp"

/// `bcsc bench ...`: what `bcsc` becomes for this command.
int main(int argc, char** argv) {
  using namespace bcsc::cli;
  CLI::App app{"bcsc bench: times kernels beside the libraries one would use instead", "bcsc"};
  app.set_version_flag("--version", bcsc::version);
  app.require_subcommand(1);
  const std::vector<command> commands{add_bench(app, run_bench_command)};
  return run_command(app, commands, argc, argv);
}
