#pragma once

#include <string>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc_config.h"
#include "core/crew.hpp"
#include "core/team.hpp"

#if BCSC_WITH_OPENMP
#include <omp.h>
#endif

namespace bcsc::test {

/// The thread counts that threaded tests run with, whatever the cores: what hides on two shows on sixteen, and primes
/// split no work evenly. The work has to be large enough that all of them take part.
inline constexpr int thread_counts[] = {1, 2, 3, 7, 16, 61};

/// Teams of all these sizes of OpenMP's threads, and of crews with a CPU for each thread and without; made once.
inline const std::vector<core::team>& teams() {
  static const std::vector<core::team> all = [] {
    std::vector<core::team> made;
    for (const int threads : thread_counts) made.push_back({threads, nullptr});
    static core::crew two(2), seven(7);
    made.push_back({2, &two});
    made.push_back({7, &seven});
    return made;
  }();
  return all;
}

inline std::string words(const core::team& who) {
  return std::to_string(who.threads) + (who.own != nullptr ? " threads of a crew" : " threads");
}

/// The same as contexts.
inline std::vector<context> cpu_contexts() {
  std::vector<context> made;
  for (const int threads : thread_counts) {
    for (const workers whose : {workers::openmp, workers::own}) made.push_back(context::cpu(threads, whose));
  }
  return made;
}

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
