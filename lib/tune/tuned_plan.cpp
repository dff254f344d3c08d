#include "lib/tune/tuned_plan.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <utility>
#include <variant>

#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "lib/plan/explain.hpp"
#include "lib/tune/cached_choice.hpp"
#include "lib/tune/trials.hpp"

namespace bcsc {

std::string_view to_string(effort kind) {
  switch (kind) {
    case effort::predict:
      return "predict";
    case effort::check:
      return "check";
    case effort::search:
      return "search";
  }
  return "unknown";
}

namespace tuning {
namespace {

void require_sensible(const tuning_options& options) {
  if (!(options.budget_seconds >= 0) || std::isinf(options.budget_seconds)) {
    core::fail(errc::invalid_argument, "tuning_options::budget_seconds = {}: must be 0 (as effort says) or more",
               options.budget_seconds);
  }
  if (to_string(options.effort) == "unknown") {
    core::fail(errc::invalid_argument, "tuning_options::effort = {}: no such effort", static_cast<int>(options.effort));
  }
}

/// Of the pattern as it is given; nothing where only the plan can say what is wrong with it.
template <class T, index I>
std::optional<converters::pattern_hash> fingerprint(const context& ctx, const csr_view<T, I>& a) {
  const auto num_rows = static_cast<std::size_t>(std::max<std::int64_t>(a.rows, 0));
  if (a.row_ptr.size() != num_rows + 1 || a.col_ind.size() != a.values.size()) return std::nullopt;
  const converters::csr_pattern<I> pattern(a);
  if (a.space == memory_space::host) return converters::hash_pattern(pattern);
  if (ctx.kind() != backend::cuda) return std::nullopt;
  return converters::hash_pattern_on_device(ctx.device().device, pattern);
}

template <number T>
spmm_plan<T> planned(const context& ctx, const plan::source<T>& a, const plan_options& options) {
  return std::visit([&](const auto& view) { return spmm_plan<T>(ctx, view, options); }, a);
}

/// Sizes of op(A) and its non-zeros.
struct product_sizes {
  std::int64_t rows, inner, nnz;
};
product_sizes sizes_of(const auto& a, const plan_options& options) {
  const bool turned = options.transpose == op::transpose;
  return {turned ? a.cols : a.rows, turned ? a.rows : a.cols, a.nnz()};
}

/// Whether a plan with these options could have made the choice: a cache says what is fast, not what is right.
template <number T>
bool may_take(const context& ctx, const cached_choice& choice, const product_sizes& sizes,
              const plan_options& options) {
  const choice::problem p = plan::recipe(ctx, options, value_type_of<T>).described(sizes.rows, sizes.inner, sizes.nnz);
  return std::ranges::any_of(choice::allowed(p, options),
                             [&](const auto* kernel) { return kernel->info.name == choice.kernel; });
}

/// The plan that a cache has the choice for.
template <number T>
std::optional<spmm_plan<T>> remembered(const context& ctx, const plan::source<T>& a, const tuning_options& options,
                                       const tuning_cache& cache, const std::string& key) {
  const auto choice = find_choice(ctx, cache, key, options.effort);
  if (!choice) return std::nullopt;
  const product_sizes sizes = std::visit([&](const auto& view) { return sizes_of(view, options.plan); }, a);
  if (!may_take<T>(ctx, *choice, sizes, options.plan)) {
    ctx.state().say(core::format("tuning cache {}: {} cannot be taken here", cache.file(), choice->kernel));
    return std::nullopt;
  }
  plan_options wanted = options.plan;
  wanted.expert.kernel = choice->kernel;
  wanted.expert.reorder_rows = options.plan.expert.reorder_rows || choice->reordered;
  std::optional<spmm_plan<T>> plan;
  try {
    plan.emplace(planned<T>(ctx, a, wanted));
  } catch (const error& e) {
    if (e.code() != errc::out_of_memory) throw;
    ctx.state().say(core::format("tuning: {}, as remembered, does not fit: {}", choice->kernel, e.what()));
    return std::nullopt;
  }
  plan_facts facts = plan->facts();
  facts.reason =
      core::format("remembered: found fastest on this pattern by {}, {}",
                   choice->effort == effort::search ? "a search" : "a check", core::time_text(choice->seconds));
  ctx.state().say(core::format("tuning: {} for N = {}: {}", choice->kernel, options.plan.cols, facts.reason));
  return plan::access<T>::restated(*plan, std::move(facts));
}

/// The predicted plan if trials fail; they may need more memory than there is.
template <number T>
spmm_plan<T> tried(const context& ctx, const plan::source<T>& a, const tuning_options& options,
                   const make_stopwatch_fn& make_stopwatch) {
  try {
    return trials<T>(ctx, a, options, planned<T>(ctx, a, options.plan), make_stopwatch).best();
  } catch (const std::bad_alloc&) {
    ctx.state().say("tuning: no memory for it: the choice is the predicted one");
  } catch (const error& e) {
    if (e.code() != errc::out_of_memory && e.code() != errc::cuda_error) throw;
    ctx.state().say(core::format("tuning: {}: the choice is the predicted one", e.what()));
  }
  return planned<T>(ctx, a, options.plan);
}

template <number T, index I>
spmm_plan<T> tuned_from_csr(const context& ctx, const csr_view<T, I>& a, const tuning_options& options,
                            const make_stopwatch_fn& make_stopwatch) {
  require_sensible(options);
  const tuning_cache cache(options.cache);
  const auto pattern = cache.is_off() ? std::nullopt : fingerprint(ctx, a);
  const std::string key = pattern ? key_of(ctx, value_type_of<T>, *pattern, options.plan) : "";
  if (pattern && !options.again) {
    if (auto plan = remembered<T>(ctx, a, options, cache, key)) return std::move(*plan);
  }
  spmm_plan<T> plan = tried<T>(ctx, a, options, make_stopwatch);
  const plan_facts& facts = plan.facts();
  if (pattern && facts.trials.size() > 1) {
    keep_choice(ctx, cache, key,
                {.kernel = facts.kernel.name,
                 .m_block = facts.m_block,
                 .reordered = facts.trials.front().reordered,
                 .seconds = facts.trials.front().seconds,
                 .effort = options.effort});
  }
  return plan;
}

}  // namespace

template <number T>
spmm_plan<T> make_tuned_plan(const context& ctx, const plan::source<T>& a, const tuning_options& options,
                             const make_stopwatch_fn& make_stopwatch) {
  if (options.effort == effort::predict) return planned<T>(ctx, a, options.plan);
  return core::guarded(ctx.state(), "a plan", [&] {
    return std::visit(
        [&]<class View>(const View& view) {
          if constexpr (requires { view.row_ptr; }) {
            return tuned_from_csr<T>(ctx, view, options, make_stopwatch);
          } else {
            // Several forms are made of it: it is turned into CSR once.
            const bool on_host = view.space == memory_space::host;
            if (on_host && options.plan.check == trust::validate) validate(view);
            const auto tuned_from = [&](const auto& csr) {
              return tuned_from_csr<T>(ctx, csr.view(), options, make_stopwatch);
            };
            const auto plan = on_host ? tuned_from(to_csr(view)) : tuned_from(to_csr_on_device(ctx, view));
            plan_facts facts = plan.facts();
            facts.reblocked = options.plan.transpose == op::none && facts.m_block != view.m_block;
            return plan::access<T>::restated(plan, std::move(facts));
          }
        },
        a);
  });
}

}  // namespace tuning

template <number T, index I>
spmm_plan<T> tuned_plan(const context& ctx, const csr_view<T, I>& a, const tuning_options& options) {
  return tuning::make_tuned_plan<T>(ctx, a, options, tuning::stopwatches_of(ctx));
}

template <number T, index I>
spmm_plan<T> tuned_plan(const context& ctx, const bcsc_view<T, I>& a, const tuning_options& options) {
  return tuning::make_tuned_plan<T>(ctx, a, options, tuning::stopwatches_of(ctx));
}

#define BCSC_INSTANTIATE(T)                                                                                    \
  template spmm_plan<T> tuning::make_tuned_plan(const context&, const plan::source<T>&, const tuning_options&, \
                                                const make_stopwatch_fn&);                                     \
  template spmm_plan<T> tuned_plan(const context&, const csr_view<T, std::int32_t>&, const tuning_options&);   \
  template spmm_plan<T> tuned_plan(const context&, const csr_view<T, std::int64_t>&, const tuning_options&);   \
  template spmm_plan<T> tuned_plan(const context&, const bcsc_view<T, std::int32_t>&, const tuning_options&);  \
  template spmm_plan<T> tuned_plan(const context&, const bcsc_view<T, std::int64_t>&, const tuning_options&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
