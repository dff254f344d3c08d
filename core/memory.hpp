#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

/// How much memory this process can still take, as the system reports it.
namespace bcsc::core {

/// In bytes; empty where unknown or unlimited.
struct memory_limits {
  std::optional<std::int64_t> system;         ///< MemAvailable of /proc/meminfo
  std::optional<std::int64_t> control_group;  ///< the smallest of its groups' limits, minus their use
  std::optional<std::int64_t> address_space;  ///< RLIMIT_AS, less what is mapped already

  /// The smallest of them; the largest number if none is known.
  std::int64_t least() const;
};

/// RLIMIT_AS of this process; empty if there is none.
std::optional<std::int64_t> address_space_limit();

/// Reads /proc and /sys/fs/cgroup (versions 1 and 2) below `root`. Never throws: what cannot be read stays empty.
memory_limits measure_memory(const std::filesystem::path& root = "/",
                             std::optional<std::int64_t> address_space = address_space_limit()) noexcept;

/// For messages: "50.4 MiB".
std::string bytes_text(std::int64_t bytes);
/// The same for a count: "6,558,552".
std::string count_text(std::int64_t count);

/// a * b, saturated.
inline std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace bcsc::core
