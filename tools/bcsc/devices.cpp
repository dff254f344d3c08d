#include <algorithm>
#include <ctime>
#include <iomanip>
#include <sstream>
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

/// Whole days since `date`, "2026-11-25"; 0 where that lies ahead.
long days_since(const std::string& date) {
  std::tm then{};
  std::istringstream(date) >> std::get_time(&then, "%Y-%m-%d");
  constexpr long day = 24 * 3600;
  return std::max(0L, static_cast<long>((std::time(nullptr) - ::timegm(&then)) / day));
}

/// What bcsc calibrate has found on it, if it was run.
void tell_calibration(const context& ctx, nlohmann::ordered_json& json, output& out) {
  const auto constants = known_constants(ctx);
  if (constants) out.line("  {}", describe_line(*constants));
  json["measured"] = constants ? bcsc::cli::describe(*constants) : nlohmann::ordered_json(nullptr);
  const auto costs = known_costs(ctx);
  json["costs"] = costs ? bcsc::cli::describe(*costs) : nlohmann::ordered_json(nullptr);
  if (!costs) return;
  const long days = days_since(costs->date);
  out.line("  {}, {} day{} old", describe_line(*costs), days, days == 1 ? "" : "s");
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
  tell_calibration(cpu, out.json()["cpu"], out);
  for (const device_info& gpu : devices()) {
    out.line("gpu {}: {} (sm_{}{}, {} SMs, {}{}){}", gpu.device, gpu.name, gpu.compute_major, gpu.compute_minor,
             gpu.num_multiprocessors, core::bytes_text(gpu.memory_bytes),
             gpu.peak_bandwidth > 0 ? fmt::format(", {:.0f} GB/s", gpu.peak_bandwidth * 1e-9) : "",
             gpu.usable ? "" : ": not usable: " + gpu.why_not);
    out.json()["gpus"].push_back(describe(gpu));
    if (gpu.usable) {
      tell_calibration(context::cuda(gpu.device), out.json()["gpus"].back(), out);
    } else {
      out.json()["gpus"].back()["measured"] = out.json()["gpus"].back()["costs"] = nullptr;
    }
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
