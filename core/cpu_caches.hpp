#pragma once

#include <cstdint>
#include <filesystem>

namespace bcsc::core {

/// Bytes of the CPU's data caches, each as one core sees it. The defaults stand for what the system does not report.
struct cpu_caches {
  std::int64_t l1 = std::int64_t{32} << 10;
  std::int64_t l2 = std::int64_t{1} << 20;
  std::int64_t l3 = std::int64_t{32} << 20;  ///< the last level, whatever its number
};

/// Reads /sys/devices/system/cpu/cpu0/cache below `root`. Never throws: what cannot be read keeps its default.
cpu_caches find_cpu_caches(const std::filesystem::path& root = "/");

}  // namespace bcsc::core
