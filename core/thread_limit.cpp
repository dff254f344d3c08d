#include "core/thread_limit.hpp"

#include <unistd.h>

#include <algorithm>

namespace bcsc::core {

int most_threads() noexcept {
  constexpr long least = 1024, of_a_cpu = 8, largest = 1 << 20;
  // Asked once: it reads a file.
  static const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  return static_cast<int>(std::clamp(of_a_cpu * cpus, least, largest));
}

}  // namespace bcsc::core
