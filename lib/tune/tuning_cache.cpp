#include "bcsc/tuning_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "lib/tune/store.hpp"

namespace bcsc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view off = "off";

std::string environment(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// Empty: none.
std::string file_named(const std::string& name) {
  const std::string told = name.empty() ? environment("BCSC_TUNING_CACHE") : name;
  if (told == off) return {};
  if (!told.empty()) return told;
  const fs::path within = fs::path("bcsc") / "tuning-1.txt";
  // The XDG specification: a relative path is to be ignored.
  if (const fs::path shared = environment("XDG_CACHE_HOME"); shared.is_absolute()) return (shared / within).string();
  if (const fs::path home = environment("HOME"); home.is_absolute()) return (home / ".cache" / within).string();
  return {};
}

/// The last entry of each key, in the order of writing.
std::vector<cache_entry> newest(std::vector<cache_entry> entries) {
  std::map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < entries.size(); ++i) last[entries[i].key] = i;
  std::vector<cache_entry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (last[entries[i].key] == i) kept.push_back(entries[i]);
  }
  return kept;
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

tuning_cache::tuning_cache(const std::string& named) : file_(file_named(named)) {}

std::vector<cache_entry> tuning_cache::entries() const {
  return is_off() ? std::vector<cache_entry>() : newest(tuning::read_store(file_).entries);
}

std::optional<std::string> tuning_cache::find(std::string_view key) const {
  if (is_off()) return std::nullopt;
  if (std::string value = tuning::find_in_store(file_, key); !value.empty()) return value;
  return std::nullopt;
}

void tuning_cache::put(std::span<const cache_entry> added) const {
  for (const cache_entry& entry : added) {
    for (const std::string& part : {entry.key, entry.value}) {
      if (part.empty() || part.find_first_of("\t\r\n") != part.npos) {
        core::fail(errc::invalid_argument, "tuning_cache::put: \"{}\": empty, or with a tab or a line break", part);
      }
    }
  }
  if (is_off()) return;
  tuning::change_store(file_, [&](std::vector<cache_entry>& all) {
    all.insert(all.end(), added.begin(), added.end());
    all = newest(std::move(all));
    if (all.size() > max_entries) all.erase(all.begin(), all.end() - max_entries);
  });
}

void tuning_cache::clear() const {
  if (is_off()) return;
  std::error_code unknown;
  if (!fs::exists(file_, unknown)) return;
  tuning::change_store(file_, [](std::vector<cache_entry>& all) { all.clear(); });
}

std::string machine_name(const context& ctx) {
  if (ctx.kind() == backend::cpu) return core::format("{}, {}", cpu_model(), ctx.describe());
  return core::format("{}, driver for CUDA {}", ctx.describe(), core::gpu::this_platform().driver_version);
}

}  // namespace bcsc
