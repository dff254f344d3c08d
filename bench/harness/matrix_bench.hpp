#pragma once

#include <functional>

#include "bcsc/formats.hpp"
#include "bench/harness/bench_room.hpp"
#include "bench/harness/results.hpp"

namespace bcsc::bench {

/// Measures `a`, the last of run's matrices, for each N, and adds these cases to `run`. `on_case` as in measure_all().
template <number T>
void run_matrix(bench_room& room, run_result& run, const csr_matrix<T>& a,
                const std::function<void(const run_result&)>& on_case);

}  // namespace bcsc::bench
