#pragma once

#include <cstdint>

#include "core/team.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace bcsc::core {

/// crew::run(). Kernels are compiled for several instruction sets, so crew.hpp with its standard headers stays out.
void run_by(crew& own, void (*part)(const void* data, int thread, int threads), const void* data);

/// Calls part(thread, threads) on each thread of a team, 0 on the caller's, and returns when all are done. `part` must
/// not throw.
template <class Part>
void by_all(const team& who, const Part& part) {
  if (who.threads <= 1) return part(0, 1);
  if (who.own != nullptr) {
    return run_by(
        *who.own, [](const void* data, int thread, int threads) { (*static_cast<const Part*>(data))(thread, threads); },
        &part);
  }
#if defined(_OPENMP)
#pragma omp parallel num_threads(who.threads)
  part(omp_get_thread_num(), omp_get_num_threads());
#else
  for (int thread = 0; thread < who.threads; ++thread) part(thread, who.threads);
#endif
}

/// visit(i) for each i of [0, n), neighbours by the same thread.
template <class Visit>
void for_each(const team& who, std::int64_t n, const Visit& visit) {
  by_all(who, [&](std::int64_t thread, std::int64_t threads) {
    for (std::int64_t i = n * thread / threads; i < n * (thread + 1) / threads; ++i) visit(i);
  });
}

}  // namespace bcsc::core
