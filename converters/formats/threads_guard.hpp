#pragma once

#include "bcsc_config.h"

#if BCSC_WITH_OPENMP
#include <omp.h>
#endif

namespace bcsc::converters {

/// The converters use as many threads as OpenMP gives; while this lives, that is `threads`, or unchanged for 0.
class threads_guard {
 public:
#if BCSC_WITH_OPENMP
  explicit threads_guard(int threads) : former_(omp_get_max_threads()) {
    if (threads > 0) omp_set_num_threads(threads);
  }
  ~threads_guard() { omp_set_num_threads(former_); }
#else
  explicit threads_guard(int) {}
#endif
  threads_guard(const threads_guard&) = delete;
  threads_guard& operator=(const threads_guard&) = delete;

 private:
  [[maybe_unused]] int former_ = 0;
};

}  // namespace bcsc::converters
