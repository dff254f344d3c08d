#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "bcsc/version.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/process.hpp"
#include "tools/bcsc/run.hpp"
#if BCSC_WITH_BENCHMARK
#include "tools/bcsc/bench_options.hpp"
#endif

namespace {

/// Replaces this process by a command's own program, which lies beside this one. Returns only if that fails.
int become(const char* program, char** argv) {
  using namespace bcsc::cli;
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::filesystem::path path = self.parent_path() / program;
  ::execv(path.c_str(), argv);
  tell(fmt::format("bcsc: error: {}: {}\n", path.string(), std::strerror(errno)));
  return exit_error;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bcsc::cli;
#if BCSC_WITH_BENCHMARK
  if (argc > 1 && std::string_view(argv[1]) == "bench") return become("bcsc-bench", argv);
#endif
  CLI::App app{"sparse matrix times dense matrix around the block compressed sparse column format", "bcsc"};
  app.set_version_flag("--version", bcsc::version);
  app.require_subcommand(1);
  app.footer(fmt::format("Exit codes: {}.\n`bcsc COMMAND --help` shows a command's options and examples.", exit_codes));

  // Every command is one file beside this one; a new one is listed here.
  std::vector<command> commands{add_info(app),      add_spmm(app),     add_solve(app),  add_eigs(app), add_convert(app),
                                add_formats(app),   add_generate(app), add_fetch(app),  add_tune(app), add_cache(app),
                                add_calibrate(app), add_devices(app),  add_kernels(app)};
#if BCSC_WITH_BENCHMARK
  add_bench(app, nullptr);  // to be described: to run it is the other program's
#endif
  // Of all that are above.
  commands.push_back(add_completion(app));
  commands.push_back(add_man(app));
  return run_command(app, commands, argc, argv);
}
