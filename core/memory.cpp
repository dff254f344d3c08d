#include "core/memory.hpp"
#include "core/format.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace bcsc::core {
namespace fs = std::filesystem;
namespace {

using amount = std::optional<std::int64_t>;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

amount lesser(const amount& a, const amount& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// The number after `word` at the beginning of a line such as "MemAvailable: 123 kB".
amount number_behind(std::istream& text, const std::string& word) {
  for (std::string line; std::getline(text, line);) {
    std::istringstream in(line);
    std::string first;
    std::int64_t number = 0;
    if (in >> first && first == word && in >> number && number >= 0) return number;
  }
  return std::nullopt;
}
amount number_behind(const fs::path& file, const std::string& word) {
  std::ifstream text(file);
  return number_behind(text, word);
}

/// The number that a file begins with; none for "max".
amount number_in(const fs::path& file) {
  std::ifstream text(file);
  std::int64_t number = 0;
  if (text >> number && number >= 0) return number;
  return std::nullopt;
}

/// What one cgroup leaves available. Its page cache counts as use but is reclaimed on demand.
amount left_in_group(const fs::path& group, const char* limit, const char* use, const std::string& prefix) {
  const amount limit_bytes = number_in(group / limit), use_bytes = number_in(group / use);
  if (!limit_bytes || !use_bytes) return std::nullopt;
  const std::int64_t cached = number_behind(group / "memory.stat", prefix + "active_file").value_or(0) +
                              number_behind(group / "memory.stat", prefix + "inactive_file").value_or(0);
  return std::max<std::int64_t>(*limit_bytes - std::max<std::int64_t>(*use_bytes - cached, 0), 0);
}

/// The minimum over a cgroup and its ancestors. In a container the path may be the host's and not exist: then the root
/// counts, which the container sees as its own group.
amount left_up_from(const fs::path& mount, fs::path group, const char* limit, const char* use,
                    const std::string& prefix) {
  amount least;
  for (;;) {
    const fs::path folder = group.empty() ? mount : mount / group;
    least = lesser(least, left_in_group(folder, limit, use, prefix));
    if (group.empty()) return least;
    group = group.parent_path();
  }
}

amount left_in_groups(const fs::path& root) {
  amount least;
  std::ifstream groups(root / "proc/self/cgroup");
  // Each line: number:controllers:/path. Version 2 names no controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    const fs::path mount = root / "sys/fs/cgroup";
    if (controllers == ",,") {
      least = lesser(least, left_up_from(mount, group, "memory.max", "memory.current", ""));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = lesser(least,
                     left_up_from(mount / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"));
    }
  }
  return least;
}

}  // namespace

std::int64_t memory_limits::least() const {
  return lesser(lesser(system, control_group), address_space).value_or(most);
}

std::optional<std::int64_t> address_space_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(most)));
}

memory_limits measure_memory(const fs::path& root, std::optional<std::int64_t> address_space) noexcept {
  memory_limits limits;
  try {
    if (const amount kilobytes = number_behind(root / "proc/meminfo", "MemAvailable:")) {
      limits.system = saturating_product(*kilobytes, 1024);
    }
    limits.control_group = left_in_groups(root);
    if (address_space) {
      const amount pages = number_in(root / "proc/self/statm");
      const std::int64_t mapped = saturating_product(pages.value_or(0), ::sysconf(_SC_PAGESIZE));
      limits.address_space = std::max<std::int64_t>(*address_space - mapped, 0);
    }
  } catch (const std::exception&) {
    // Out of memory even for these lines: the next allocation will report it.
  }
  return limits;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return core::format("{} B", bytes);
  double scaled = static_cast<double>(bytes);
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < std::size(units); ++unit) scaled /= 1024;
  return core::format("{:.1f} {}", scaled, units[unit]);
}

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::ptrdiff_t sign = count < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > sign; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace bcsc::core
