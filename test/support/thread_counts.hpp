#pragma once

#include "bcsc_config.h"

#if BCSC_WITH_OPENMP
#include <omp.h>
#endif

namespace bcsc::test {

/// The thread counts that threaded tests run with, whatever the cores: what hides on two shows on sixteen, and primes
/// split no work evenly. The work has to be large enough that all of them take part.
inline constexpr int thread_counts[] = {1, 2, 3, 7, 16, 61};

/// Sets the number of OpenMP's threads for a while. Nothing happens in a build without OpenMP.
class with_threads {
 public:
#if BCSC_WITH_OPENMP
  explicit with_threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~with_threads() { omp_set_num_threads(before_); }
#else
  explicit with_threads(int) {}
  ~with_threads() {}
#endif
  with_threads(const with_threads&) = delete;
  with_threads& operator=(const with_threads&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

}  // namespace bcsc::test
