#include "tools/bcsc/product_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <utility>

#include "bcsc/convert.hpp"
#include "bcsc/reference.hpp"

namespace bcsc::cli {
namespace {

/// A kernel is not run more often than fits in this.
constexpr double timing_budget_seconds = 2.0;

/// Size of the blocks that the reference of BSR multiplies.
constexpr std::int64_t bsr_block = 3;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median of up to `repeat` runs, each waited for.
double median_seconds(int repeat, const std::function<void()>& run) {
  std::vector<double> samples;
  const auto begin = std::chrono::steady_clock::now();
  while (static_cast<int>(samples.size()) < repeat &&
         (samples.empty() || seconds_since(begin) < timing_budget_seconds)) {
    const auto start = std::chrono::steady_clock::now();
    run();
    samples.push_back(seconds_since(start));
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

/// Mean of `repeat` runs started one behind the other, so that a GPU's start-up latency is hidden as in real use.
double mean_seconds(int repeat, const std::function<void()>& run, const std::function<void()>& wait) {
  wait();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeat; ++i) run();
  wait();
  return seconds_since(start) / repeat;
}

}  // namespace

template <number T>
product_bench<T>::product_bench(const context& ctx, const csr_matrix<T>& a, const csr_matrix<T>& given,
                                const spmm_options& options, const operand_files& files, const output& out)
    : options_(options),
      out_(out),
      ctx_(ctx),
      a_(a),
      given_(given),
      alpha_(static_cast<scalar_of<T>>(options.alpha)),
      beta_(static_cast<scalar_of<T>>(options.beta)),
      b_(files.b ? files.b->read<T>(options.order, out)
                 : random_dense<T>(a.cols(), options.cols, options.order, options.source.seed, options.batch)),
      c0_(files.c0 ? files.c0->read<T>(options.order, out) : start_of_c()),
      checks_(make_checks()),
      staged_(ctx, b_, c0_, options.batch) {}

template <number T>
product_result product_bench<T>::with_plan(const std::string& kernel) {
  const spmm_plan<T> plan = plan_by(kernel);
  const plan_facts& facts = plan.facts();
  product_result result{.kernel = facts.kernel.name,
                        .algorithm = facts.kernel.algorithm,
                        .where = std::string(to_string(ctx_.kind())),
                        .m_block = facts.m_block,
                        .format_bytes = facts.format_bytes,
                        .convert_seconds = facts.convert_seconds,
                        .reason = facts.reason,
                        .explain = plan.explain()};
  const auto run = [&] { staged_.run(plan, alpha_, beta_); };
  const auto wait = [&] { staged_.wait(); };
  staged_.reset();
  run();
  wait();
  result.checked = compare(staged_.result(), facts.kernel.bound);
  keep(result);
  result.seconds =
      ctx_.kind() == backend::cuda ? mean_seconds(options_.repeat, run, wait) : median_seconds(options_.repeat, run);
  return rated(std::move(result));
}

template <number T>
product_result product_bench<T>::with_reference(const std::string& format) {
  if (format == "coo") return reference(format, 0, [&] { return to_coo(a_); });
  if (format == "csr") return reference(format, 0, [&] { return a_; });
  if (format == "csc") return reference(format, 0, [&] { return to_csc(a_); });
  if (format == "bsr") return reference(format, bsr_block, [&] { return to_bsr(a_, bsr_block, bsr_block); });
  const std::int64_t m_block = options_.m_block > 0 ? options_.m_block : 32;
  return reference(format, m_block, [&] { return to_bcsc(a_, m_block); });
}

template <number T>
spmm_plan<T> product_bench<T>::plan_by(const std::string& kernel) const {
  const bool stores_transpose = options_.transpose && !options_.no_copy;
  spmm_plan<T> plan = tuned_plan(ctx_, given_,
                                 {.plan = {.cols = options_.cols,
                                           .transpose = stores_transpose ? op::transpose : op::none,
                                           .b_layout = options_.order,
                                           .compute = options_.compute,
                                           .transposable = options_.no_copy,
                                           .batch = options_.batch,
                                           .expert = {.kernel = kernel, .m_block = options_.m_block}},
                                  .effort = options_.effort});
  return options_.no_copy ? std::move(plan.transposed().value()) : std::move(plan);
}

template <number T>
dense_matrix<T> product_bench<T>::start_of_c() const {
  if (beta_ != 0) {
    return random_dense<T>(a_.rows(), options_.cols, options_.order, options_.source.seed + 1, options_.batch);
  }
  dense_matrix<T> c = stacked<T>(options_.batch, a_.rows(), options_.cols, options_.order);
  std::fill_n(c.data(), c.rows() * c.cols(), std::numeric_limits<T>::quiet_NaN());
  return c;
}

template <number T>
template <class U>
dense_view<U> product_bench<T>::member(const dense_view<U>& all, std::int64_t k) const {
  return member_of(all, options_.batch, k);
}

/// Writes the product, if it is right and wanted, before timing: where beta is not 0, timed runs change C.
template <number T>
void product_bench<T>::keep(const product_result& result) {
  if (options_.c.empty() || !result.passed()) return;
  progress_bar bar = out_.progress("writing " + options_.c);
  write_dense<T>(options_.c, staged_.host_c(),
                 {.comment = fmt::format("C = {} * A{} * B + {} * C, A = {}", options_.alpha,
                                         options_.transpose ? "'" : "", options_.beta, options_.source.name),
                  .name = "C",
                  .progress = bar.callback()});
}

/// The check walks along the rows of B; a column-major one is made row-major for it.
template <number T>
std::vector<product_check<T>> product_bench<T>::make_checks() const {
  dense_matrix<T> in_rows;
  dense_view<const T> b = b_.view();
  if (options_.order != layout::row_major) {
    in_rows = stacked<T>(options_.batch, a_.cols(), options_.cols, layout::row_major);
    for (std::int64_t k = 0; k < options_.batch; ++k) {
      const dense_view<const T> from = member(b, k);
      const dense_view<T> to = member(in_rows.view(), k);
      for (std::int64_t i = 0; i < from.rows; ++i) {
        for (std::int64_t j = 0; j < from.cols; ++j) to(i, j) = from(i, j);
      }
    }
    b = in_rows.view();
  }
  std::vector<product_check<T>> checks;
  for (std::int64_t k = 0; k < options_.batch; ++k) {
    checks.emplace_back(alpha_, a_.view(), member(b, k), beta_, member<const T>(c0_.view(), k));
  }
  return checks;
}

/// Of all members; the worst entry's place is that in its member.
template <number T>
verdict product_bench<T>::compare(const dense_view<const T>& c, const error_bound& allowed) const {
  verdict all;
  for (std::int64_t k = 0; k < options_.batch; ++k) {
    const verdict one = checks_[static_cast<std::size_t>(k)].compare(member(c, k), allowed);
    if (one.bound_share > all.bound_share) all.row = one.row, all.col = one.col;
    all.bound_share = std::max(all.bound_share, one.bound_share);
    all.max_error = std::max(all.max_error, one.max_error);
    all.violations += one.violations;
    all.by_class += one.by_class;
  }
  return all;
}

template <number T>
template <class Convert>
product_result product_bench<T>::reference(const std::string& format, std::int64_t block, Convert convert) {
  const auto start = std::chrono::steady_clock::now();
  const auto converted = convert();
  product_result result{.kernel = "reference-" + format,
                        .algorithm = "reference",
                        .where = "cpu",
                        .m_block = block,
                        .convert_seconds = seconds_since(start),
                        .reason = "one readable serial loop"};
  const auto run = [&] {
    for (std::int64_t k = 0; k < options_.batch; ++k) {
      reference::spmm<T>(alpha_, converted.view(), member<const T>(b_.view(), k), beta_, member(staged_.host_c(), k));
    }
  };
  staged_.reset();
  const auto begin = std::chrono::steady_clock::now();
  run();
  const double first = seconds_since(begin);
  result.checked = compare(staged_.host_c());
  keep(result);
  // Serial code is slow: if the first run took long, its time is taken.
  result.seconds = first > timing_budget_seconds / 8 ? first : median_seconds(options_.repeat, run);
  return rated(std::move(result));
}

template <number T>
product_result product_bench<T>::rated(product_result result) const {
  const double flops =
      2.0 * static_cast<double>(a_.nnz()) * static_cast<double>(options_.cols) * static_cast<double>(options_.batch);
  result.gflops = result.seconds > 0 ? flops / result.seconds * 1e-9 : 0;
  return result;
}

template class product_bench<float>;
template class product_bench<double>;
template class product_bench<half>;
template class product_bench<bfloat16>;

}  // namespace bcsc::cli
