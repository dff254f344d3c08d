#include "bcsc/tune.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "lib/plan/recipe.hpp"
#include "lib/tune/cached_choice.hpp"
#include "lib/tune/contest.hpp"
#include "lib/tune/operands.hpp"

namespace bcsc {

namespace {

/// Plans of one matrix by name, the last few of which others share their form with.
template <number T>
class plans_by_name {
 public:
  plans_by_name(const context& ctx, const csr_view<T>& a, const plan_options& options)
      : ctx_(ctx), a_(a), options_(options) {}

  spmm_plan<T> of(const std::string& kernel) {
    for (const spmm_plan<T>& made : made_) {
      if (auto shared = made.sharing(kernel)) return std::move(*shared);
    }
    plan_options forced = options_;
    forced.expert.kernel = kernel;
    if (made_.size() == max_held) made_.erase(made_.begin());
    made_.emplace_back(ctx_, a_, forced);
    return std::move(*made_.back().sharing(kernel));
  }

 private:
  static constexpr std::size_t max_held = 4;
  const context& ctx_;
  const csr_view<T>& a_;
  const plan_options& options_;
  std::vector<spmm_plan<T>> made_;
};

}  // namespace

template <number T>
std::vector<tune_timing> tune(const context& ctx, const csr_view<T, std::int32_t>& a, const tune_options& options) {
  if (options.repetitions < 1) {
    core::fail(errc::invalid_argument, "tune_options::repetitions = {}: must be at least 1", options.repetitions);
  }
  if (a.space != memory_space::host)
    core::fail(errc::wrong_memory_space, "tune: A lies on a device; it is wanted on the host");
  if (options.plan.check == trust::validate) validate(a);

  const bool transposed = options.plan.transpose == op::transpose;
  const std::int64_t rows = transposed ? a.cols : a.rows, inner = transposed ? a.rows : a.cols;
  const choice::problem product = plan::recipe(ctx, options.plan, value_type_of<T>).described(rows, inner, a.nnz());
  std::vector<const choice::registered_kernel*> candidates = choice::allowed(product, options.plan);
  // Wider indices than A needs are allowed by name alone.
  std::erase_if(candidates, [&](const auto* k) { return k->info.index_bits != product.index_bits; });
  if (candidates.empty()) {
    core::fail(errc::no_such_kernel, "tune: no kernel \"{}\" runs here", options.plan.expert.kernel);
  }

  const tuning_cache cache(options.cache_file);
  const std::string key =
      tuning::key_of(ctx, value_type_of<T>, converters::hash_pattern(converters::csr_pattern(a)), options.plan);
  const auto known = tuning::find_choice(ctx, cache, key, effort::search);
  const auto is_known = [&](const auto* k) { return k->info.name == known->kernel; };
  if (known && !known->reordered && std::ranges::any_of(candidates, is_known)) {
    return {{known->kernel, known->m_block, known->seconds}};
  }

  tuning::trial_operands<T> operands(ctx, rows, inner, options.plan);
  const auto make_stopwatch = tuning::stopwatches_of(ctx);
  plans_by_name<T> plans(ctx, a, options.plan);
  std::vector<tune_timing> timings;
  for (const choice::registered_kernel* kernel : candidates) {
    const std::string& name = kernel->info.name;
    const spmm_plan<T> plan = plans.of(name);
    operands.reserve(plan.workspace_bytes());
    const std::array alone{tuning::contestant{name, [&](cuda_stream stream) { operands.run(plan, stream); }}};
    timings.push_back(
        {name, plan.facts().m_block, tuning::seconds_of_samples(*make_stopwatch(alone), options.repetitions)});
  }
  std::ranges::sort(timings, {}, &tune_timing::seconds);
  const tune_timing& best = timings.front();
  tuning::keep_choice(
      ctx, cache, key,
      {.kernel = best.kernel, .m_block = best.m_block, .seconds = best.seconds, .effort = effort::search});
  return timings;
}

template std::vector<tune_timing> tune(const context&, const csr_view<float>&, const tune_options&);
template std::vector<tune_timing> tune(const context&, const csr_view<double>&, const tune_options&);
template std::vector<tune_timing> tune(const context&, const csr_view<half>&, const tune_options&);
template std::vector<tune_timing> tune(const context&, const csr_view<bfloat16>&, const tune_options&);

}  // namespace bcsc
