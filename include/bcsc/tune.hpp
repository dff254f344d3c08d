#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/export.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/tuning_cache.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// How much may be measured to choose a plan's kernel and the form of A.
enum class effort {
  predict,  ///< nothing is timed and nothing remembered: spmm_plan's own choice
  check,    ///< the two to six configs that are predicted to be fastest, in at most four forms of A (CPU: four, in at
            ///< most three), are timed on A
  search,   ///< so is everything that is allowed: every config, in every form that one reads, also with reordered rows
};
std::string_view to_string(effort kind);

struct tuning_options {
  plan_options plan = {};  ///< what the plan is for; `expert` narrows what is tried
  bcsc::effort effort = bcsc::effort::check;
  /// For timing; conversions and other set-up are extra (plan_facts::trial_setup_seconds). 0: 5 ms to check and 100 ms
  /// to search, or as long as 30 and 300 products take, whichever is more, and on a CPU that others use as well up to
  /// four times that. No sample begins later.
  double budget_seconds = 0;
  std::string cache = {};  ///< as tuning_cache takes it: empty is the machine's own, "off" none
  bool again = false;      ///< time it even if it is remembered, and renew that
  /// Receives the share done and what is tried next.
  std::function<void(double done, std::string_view now)> progress = {};
};

/// A plan whose kernel was chosen by timing products of A with a seeded B; explain() and facts() say what was tried,
/// compared and spent. What was found is remembered, and the next plan for the same pattern, N and options on such a
/// machine is made at once. Measurements affect the choice alone: a cache that cannot be used, or a lack of memory for
/// a trial, is reported in the context's log, and the choice is then made from what is known.
/// A: as for spmm_plan. Throws error{invalid_argument} for the options, and what spmm_plan throws.
template <number T, index I>
BCSC_EXPORT spmm_plan<T> tuned_plan(const context& ctx, const csr_view<T, I>& a, const tuning_options& options = {});
template <number T, index I>
BCSC_EXPORT spmm_plan<T> tuned_plan(const context& ctx, const bcsc_view<T, I>& a, const tuning_options& options = {});
template <number T, index I>
spmm_plan<T> tuned_plan(const context& ctx, const csr_matrix<T, I>& a, const tuning_options& options = {}) {
  return tuned_plan(ctx, a.view(), options);
}
template <number T, index I>
spmm_plan<T> tuned_plan(const context& ctx, const bcsc_matrix<T, I>& a, const tuning_options& options = {}) {
  return tuned_plan(ctx, a.view(), options);
}

struct tune_options {
  plan_options plan = {};       ///< `expert.kernel` may name an algorithm to search within
  int repetitions = 10;         ///< samples of each candidate; their median counts
  std::string cache_file = {};  ///< as tuning_cache takes it: empty is the machine's own, "off" none
};

struct tune_timing {
  std::string kernel;
  std::int64_t m_block = 0;
  double seconds = 0;  ///< median, warm
};

/// Times every kernel of the context's backend on A with seeded B, fastest first, for comparisons: tuned_plan() drops
/// early what cannot win. The winner is remembered, so the next call for the same pattern answers from the cache (one
/// timing, `seconds` as measured then), as tuned_plan() does.
/// A lies on the host, its rows in order. Throws what spmm_plan throws.
template <number T>
BCSC_EXPORT std::vector<tune_timing> tune(const context& ctx, const csr_view<T, std::int32_t>& a,
                                          const tune_options& options = {});

}  // namespace bcsc
#pragma GCC visibility pop
