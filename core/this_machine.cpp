#include "core/this_machine.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "bcsc/tuning_cache.hpp"
#include "core/context_state.hpp"
#include "core/format.hpp"
#include "core/gpu.hpp"

namespace bcsc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view off = "off";

std::string environment(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown model";
}

}  // namespace

std::string core::tuning_file(const std::string& named) {
  const std::string told = named.empty() ? environment("BCSC_TUNING_CACHE") : named;
  if (told == off) return {};
  if (!told.empty()) return told;
  const fs::path within = fs::path("bcsc") / "tuning-1.txt";
  // The XDG specification: a relative path is to be ignored.
  if (const fs::path shared = environment("XDG_CACHE_HOME"); shared.is_absolute()) return (shared / within).string();
  if (const fs::path home = environment("HOME"); home.is_absolute()) return (home / ".cache" / within).string();
  return {};
}

std::string machine_name(const context& ctx) {
  if (ctx.kind() == backend::cpu) return core::format("{}, {}", cpu_model(), core::describe_cpu(ctx.threads()));
  return core::format("{}, driver for CUDA {}", ctx.describe(), core::gpu::this_platform().driver_version);
}

}  // namespace bcsc
