#include "core/cpu_caches.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace bcsc::core {

namespace {

/// Linux's description of one cache, e.g. "2", "Unified", "512K". Leaves `to` as it is where there is none.
void read_cache(const std::filesystem::path& folder, cpu_caches& to) {
  const auto text = [&](const char* name) {
    std::ifstream file(folder / name);
    std::string word;
    file >> word;
    return word;
  };
  const std::string level = text("level"), type = text("type"), size = text("size");
  if (level.empty() || size.size() < 2 || size.back() != 'K' || type == "Instruction") return;
  const std::int64_t bytes = std::strtoll(size.c_str(), nullptr, 10) * 1024;
  if (bytes <= 0) return;
  if (level == "1") to.l1 = bytes;
  if (level == "2") to.l2 = bytes;
  if (level >= "3") to.l3 = bytes;
}

}  // namespace

cpu_caches find_cpu_caches(const std::filesystem::path& root) {
  cpu_caches found{.l1 = 0, .l2 = 0, .l3 = 0};
  // Not sysconf(): on AMD it adds up the last-level caches of all cores.
  const std::filesystem::path caches = root / "sys/devices/system/cpu/cpu0/cache";
  std::error_code ignored;
  for (int i = 0; std::filesystem::exists(caches / ("index" + std::to_string(i)), ignored); ++i) {
    read_cache(caches / ("index" + std::to_string(i)), found);
  }
  const cpu_caches usual;
  if (found.l1 == 0) found.l1 = usual.l1;
  if (found.l3 == 0) found.l3 = found.l2 > 0 ? found.l2 : usual.l3;
  if (found.l2 == 0) found.l2 = usual.l2;
  return found;
}

}  // namespace bcsc::core
