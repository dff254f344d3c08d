#include <string>

#include "bcsc/calibrate.hpp"
#include "bcsc/context.hpp"
#include "bcsc/error.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/constants.hpp"

namespace bcsc::cli {
namespace {

struct devices_options : output_options {};

nlohmann::ordered_json describe(const device_info& gpu) {
  return {{"device", gpu.device},
          {"name", gpu.name},
          {"compute_capability", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)},
          {"num_multiprocessors", gpu.num_multiprocessors},
          {"memory_bytes", gpu.memory_bytes},
          {"l2_bytes", gpu.l2_bytes},
          {"shared_bytes_per_block", gpu.shared_bytes_per_block},
          {"peak_bandwidth", gpu.peak_bandwidth},
          {"usable", gpu.usable},
          {"why_not", gpu.why_not}};
}

/// Why context::cuda() would be refused; empty if it would not.
std::string why_no_cuda() {
  try {
    static_cast<void>(context::cuda());
    return {};
  } catch (const error& refusal) {
    return refusal.what();
  }
}

/// What bcsc calibrate has found on it, if it was run.
nlohmann::ordered_json tell_constants(const context& ctx, output& out) {
  const auto known = known_constants(ctx);
  if (known) out.line("  {}", describe_line(*known));
  return known ? bcsc::cli::describe(*known) : nlohmann::ordered_json(nullptr);
}

int run_devices(const devices_options&, output& out) {
  const context cpu = context::cpu(), best = context::best();
  const std::string refusal = why_no_cuda();
  out.line("{}", cpu.describe());
  out.json() = {{"command", "devices"},
                {"best", {{"backend", to_string(best.kind())}, {"description", best.describe()}}},
                {"cpu", {{"threads", cpu.threads()}, {"description", cpu.describe()}}},
                {"cuda", {{"usable", refusal.empty()}, {"why_not", refusal}}},
                {"gpus", nlohmann::ordered_json::array()}};
  out.json()["cpu"]["measured"] = tell_constants(cpu, out);
  for (const device_info& gpu : devices()) {
    out.line("gpu {}: {} (sm_{}{}, {} SMs, {}{}){}", gpu.device, gpu.name, gpu.compute_major, gpu.compute_minor,
             gpu.num_multiprocessors, core::bytes_text(gpu.memory_bytes),
             gpu.peak_bandwidth > 0 ? fmt::format(", {:.0f} GB/s", gpu.peak_bandwidth * 1e-9) : "",
             gpu.usable ? "" : ": not usable: " + gpu.why_not);
    out.json()["gpus"].push_back(describe(gpu));
    out.json()["gpus"].back()["measured"] =
        gpu.usable ? tell_constants(context::cuda(gpu.device), out) : nlohmann::ordered_json(nullptr);
  }
  if (!refusal.empty()) out.line("cuda: {}", refusal);
  out.line("best: {}", best.describe());
  return exit_ok;
}

}  // namespace

command add_devices(CLI::App& app) {
  return make_command<devices_options>(app, "devices", "Which devices can compute, and why the others cannot",
                                       "  bcsc devices\n"
                                       "  bcsc devices --json",
                                       run_devices)
      .first;
}

}  // namespace bcsc::cli
