#include "bench/harness/own_kernels.hpp"

#include <algorithm>

#include "bcsc/registry.hpp"

namespace bcsc::bench {

namespace {

/// Plans of all configs together may take this much memory before they are dropped and made again.
constexpr std::int64_t keep_bytes = std::int64_t{8} << 30;

}  // namespace

template <number T>
std::vector<std::vector<kernel_info>> own_kernels<T>::configs_by_algorithm(bool all) const {
  std::vector<std::vector<kernel_info>> algorithms;
  for (const kernel_info& config : kernel_table(ctx_.kind(), value_type_of<T>)) {
    if (!runs_on(config, ctx_) || (config.index_bits != 32 && !all)) continue;
    const auto same = [&](const auto& configs) { return configs.front().algorithm == config.algorithm; };
    if (const auto found = std::ranges::find_if(algorithms, same); found != algorithms.end()) {
      found->push_back(config);
    } else {
      algorithms.push_back({config});
    }
  }
  return algorithms;
}

template <number T>
typename own_kernels<T>::shared_plan own_kernels<T>::make(const csr_view<T, std::int32_t>& a, const std::string& kernel,
                                                          std::int64_t cols, layout order, trust check) const {
  const plan_options options{.cols = std::max<std::int64_t>(cols, 1),
                             .b_layout = order,
                             .compute = compute_,
                             .check = check,
                             .expert = {.kernel = kernel}};
  return std::make_shared<const spmm_plan<T>>(ctx_, a, options);
}

template <number T>
launch own_kernels<T>::start(shared_plan plan, dense_view<const T> b, dense_view<T> c) const {
  return [plan = std::move(plan), b, c, stream = where_.stream()] { plan->run(1, b, 0, c, {.stream = stream}); };
}

template <number T>
typename own_kernels<T>::shared_plan own_kernels<T>::plan_of(const std::string& kernel, dense_view<const T> b) {
  // A plan for column-major B holds a workspace as large as B, or as B and C: made for this call only.
  if (b.order == layout::col_major) return make(placed_, kernel, b.cols, b.order, trust::trusted);
  // The workspace is for one N.
  for (const auto& [name, made] : kept_) {
    if (auto shared = made->sharing(kernel, b.cols)) return std::make_shared<const spmm_plan<T>>(std::move(*shared));
  }
  shared_plan plan = make(placed_, kernel, b.cols, b.order, trust::trusted);
  if (kept_bytes_ + plan->facts().format_bytes > keep_bytes) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += plan->facts().format_bytes;
  kept_.emplace(kernel, plan);
  return plan;
}

template <number T>
prepared own_kernels<T>::prepare(const shared_plan& plan, dense_view<const T> b, dense_view<T> c) const {
  const plan_facts& facts = plan->facts();
  return {.start = start(plan, b, c),
          .kernel = facts.kernel.name,
          .reason = facts.reason,
          .m_block = facts.m_block,
          .bound = facts.kernel.bound,
          .convert_seconds = facts.convert_seconds};
}

template <number T>
launch own_kernels<T>::config(const std::string& kernel, dense_view<const T> b, dense_view<T> c) {
  return start(plan_of(kernel, b), b, c);
}

template <number T>
prepared own_kernels<T>::config_prepared(const std::string& kernel, dense_view<const T> b, dense_view<T> c) {
  return prepare(plan_of(kernel, b), b, c);
}

template <number T>
prepared own_kernels<T>::config_from_host(const std::string& kernel, dense_view<const T> b, dense_view<T> c) const {
  return prepare(make(host_, kernel, b.cols, b.order, trust::validate), b, c);
}

template <number T>
prepared own_kernels<T>::planned(plan_options options, dense_view<const T> b, dense_view<T> c) const {
  options.cols = std::max<std::int64_t>(b.cols, 1);
  options.b_layout = b.order;
  options.compute = compute_;
  options.check = trust::trusted;
  return prepare(std::make_shared<const spmm_plan<T>>(ctx_, placed_, options), b, c);
}

template class own_kernels<float>;
template class own_kernels<double>;
template class own_kernels<half>;
template class own_kernels<bfloat16>;

}  // namespace bcsc::bench
