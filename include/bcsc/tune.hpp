#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bcsc/export.hpp"
#include "bcsc/plan.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

struct tune_options {
  plan_options plan = {};  ///< `expert.kernel` may name an algorithm to search within
  int repetitions = 10;    ///< timed runs per candidate; the median counts
  std::string cache_file =
      {};  ///< remembers winners by device, matrix shape, nnz, reuse and N; empty: this process only
};

struct tune_timing {
  std::string kernel;
  std::int64_t m_block = 0;
  double seconds = 0;  ///< median, warm
};

/// Runs every kernel of the context's backend on A with seeded B, fastest first; the winner is remembered, so the next
/// call with a similar matrix answers from the cache (one timing, `seconds` as measured then).
/// A lies on the host, its rows in order. Throws what spmm_plan throws; error{io_error} if the cache file cannot be
/// written.
template <number T>
BCSC_EXPORT std::vector<tune_timing> tune(const context& ctx, const csr_view<T, std::int32_t>& a,
                                          const tune_options& options = {});

}  // namespace bcsc
#pragma GCC visibility pop
