#pragma once

#include <algorithm>

#include "bcsc_config.h"

#if BCSC_WITH_OPENMP
#include <omp.h>
#endif

namespace bcsc::core {

/// How many threads work that takes one of them `seconds` is worth: all that are `allowed` (0: as many as OpenMP
/// gives), or one. Nothing between: libgomp ends the threads that a smaller team leaves over and starts them again for
/// the next larger one, which takes hundreds of us, and products, sums and other libraries follow each other.
inline int team_for([[maybe_unused]] double seconds, [[maybe_unused]] int allowed) {
#if BCSC_WITH_OPENMP
  // To fork and join: 1.2 us for two threads, 4 to 5 for sixteen.
  constexpr double fork_seconds = 0.8e-6, seconds_of_a_thread = 0.22e-6;
  const int all = std::max(allowed > 0 ? allowed : omp_get_max_threads(), 1);
  return seconds > seconds / all + fork_seconds + seconds_of_a_thread * all ? all : 1;
#else
  return 1;
#endif
}

}  // namespace bcsc::core
