#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bcsc/plan.hpp"
#include "bench/harness/contender.hpp"

namespace bcsc::bench {

/// The library's kernels on one matrix: plans are made once and kept while they fit a budget.
template <number T>
class own_kernels {
 public:
  own_kernels(const context& ctx, stage& where, const csr_view<T, std::int32_t>& host,
              const csr_view<T, std::int32_t>& placed, compute_class compute = compute_class::full)
      : ctx_(ctx), where_(where), host_(host), placed_(placed), compute_(compute) {}

  /// The configs that can run here, by algorithm, in the tables' order. `all`: also those with wider indices than the
  /// matrix needs.
  std::vector<std::vector<kernel_info>> configs_by_algorithm(bool all) const;

  /// The named config on these operands, from CSR where the stage is. Throws what spmm_plan throws.
  launch config(const std::string& kernel, dense_view<const T> b, dense_view<T> c);

  /// The same, with what the plan is.
  prepared config_prepared(const std::string& kernel, dense_view<const T> b, dense_view<T> c);

  /// The same with the time of its conversion, from CSR on the host.
  prepared config_from_host(const std::string& kernel, dense_view<const T> b, dense_view<T> c) const;
  /// A plan with these options for B's columns and layout, from CSR where the stage is.
  prepared planned(plan_options options, dense_view<const T> b, dense_view<T> c) const;
  /// The plan's own choice, from CSR on the host.
  prepared chosen(dense_view<const T> b, dense_view<T> c) const { return config_from_host("", b, c); }

 private:
  using shared_plan = std::shared_ptr<const spmm_plan<T>>;
  shared_plan make(const csr_view<T, std::int32_t>& a, const std::string& kernel, std::int64_t cols, layout order,
                   trust check) const;
  shared_plan plan_of(const std::string& kernel, dense_view<const T> b);
  prepared prepare(const shared_plan& plan, dense_view<const T> b, dense_view<T> c) const;
  launch start(shared_plan plan, dense_view<const T> b, dense_view<T> c) const;

  context ctx_;
  stage& where_;
  csr_view<T, std::int32_t> host_, placed_;
  compute_class compute_;
  std::map<std::string, shared_plan> kept_;
  std::int64_t kept_bytes_ = 0;
};

}  // namespace bcsc::bench
