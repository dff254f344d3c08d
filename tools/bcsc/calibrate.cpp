#include "bcsc/calibrate.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "bcsc/generate.hpp"
#include "tools/bcsc/cache_witness.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/constants.hpp"
#include "tools/bcsc/effort.hpp"
#include "tools/bcsc/input.hpp"

namespace bcsc::cli {
namespace {

struct calibrate_command_options : output_options {
  device_options where;
  std::string cache;
  bool quick = false;
  double seconds = 540;
};

int run_calibrate(const calibrate_command_options& options, output& out) {
  const context ctx = make_context(options.where);
  progress_bar bar = out.progress("calibrating");
  const cache_witness witness(ctx, bar, options.cache);
  const auto progress = [&](double done, std::string_view now) { bar.show(done, now); };
  const machine_constants found = calibrate(ctx, {.cache = options.cache, .progress = progress});
  std::optional<calibrated_costs> costs;
  if (!options.quick) {
    costs = calibrate_costs(ctx, generate::from_specification<double>,
                            {.max_seconds = options.seconds, .cache = options.cache, .progress = progress});
  }
  bar.clear();
  out.line("{}", ctx.describe());
  out.line("{}", describe_line(found));
  out.line("{}", witness.outcome());
  if (costs) out.line("{}", describe_line(*costs));
  out.json() = {
      {"command", "calibrate"},
      {"device", ctx.describe()},
      {"constants", describe(found)},
      {"costs", costs ? describe(*costs) : nlohmann::ordered_json(nullptr)},
      {"cache", witness.has_kept() ? nlohmann::ordered_json(witness.cache().file()) : nlohmann::ordered_json(nullptr)}};
  return exit_ok;
}

}  // namespace

command add_calibrate(CLI::App& app) {
  auto [cmd, options] = make_command<calibrate_command_options>(
      app, "calibrate", "Measure what kernels cost on this machine, for the choice of all later plans",
      "  bcsc calibrate\n"
      "  bcsc calibrate --device cpu --threads 4 --seconds 120\n"
      "  bcsc calibrate --quick --device cpu --threads 4 --json",
      run_calibrate);
  cmd.parser->add_flag("--quick", options->quick,
                       "Only the time to start a product and the bandwidths of caches and memory, in at most 20 s");
  cmd.parser
      ->add_option("--seconds", options->seconds,
                   "Begins no further measurement of costs after these; what was measured so far counts")
      ->check(above_zero())
      ->capture_default_str();
  add_device(*cmd.parser, options->where);
  add_tuning_cache(*cmd.parser, options->cache);
  return cmd;
}

}  // namespace bcsc::cli
