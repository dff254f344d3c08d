#include "bench/harness/matrix_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/bound.hpp"
#include "bench/harness/own_kernels.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

// For each N the operands and the reference are made; every contender is made ready and checked; those that are right
// are timed.
namespace bcsc::bench {

namespace {

/// B and C in one layout, on the stage.
template <number T>
class operands {
 public:
  operands(stage& where, dense_view<const T> host_b, std::int64_t rows)
      : b_(where, host_b.rows * host_b.cols),
        c_(where, rows * host_b.cols),
        rows_(rows),
        inner_(host_b.rows),
        cols_(host_b.cols),
        order_(host_b.order) {
    where.upload(b_.data(), host_b.data, b_.bytes());
  }
  layout order() const { return order_; }
  dense_view<const T> b() const { return {b_.data(), inner_, cols_, order_}; }
  dense_view<T> c() const { return {c_.data(), rows_, cols_, order_}; }
  std::int64_t c_bytes() const { return c_.bytes(); }

 private:
  stage_array<T> b_, c_;
  std::int64_t rows_, inner_, cols_;
  layout order_;
};

/// Trying the entries and timing those that are right each count as half of a case.
constexpr double share_of_trying = 0.5;

/// Aimed at for all samples of one matrix; preparing and checking take about as long again. --thorough knows no limit.
constexpr double timing_seconds_per_matrix = 8;

/// An entry, and what starts it if it may be timed.
struct candidate {
  entry_result result;
  launch start;
  double estimate = 0;
};

/// One matrix in one value type.
template <number T>
class matrix_bench {
 public:
  matrix_bench(bench_room& room, const matrix_facts& facts, const csr_view<T, std::int32_t>& a)
      : room_(room),
        facts_(facts),
        host_(a),
        placed_(*room.where, a),
        own_(room.ctx, *room.where, host_, placed_.view(), room.options.compute) {
    if (room_.others) rivals_ = room_.others->on(problem<T>{host_, placed_.view()});
  }

  /// With nothing measured.
  case_result described(std::size_t matrix, std::int64_t cols) const {
    return {.matrix = matrix,
            .cols = cols,
            .type = value_type_of<T>,
            .order = room_.options.order,
            .roofline_seconds = roofline_seconds(host_.rows, host_.cols, cols, host_.nnz(), value_type_of<T>,
                                                 room_.machine.copy_bandwidth, peak())};
  }

  case_result run(std::size_t matrix, std::int64_t cols) {
    case_result result = described(matrix, cols);
    try {
      core::checked_product(core::checked_product(std::max(host_.rows, host_.cols), cols, "dense operand"), 16,
                            "bytes");
      result.entries = measure_case(cols);
      result.sweep = std::exchange(sweep_, {});
    } catch (const error& e) {
      if (e.code() != errc::out_of_memory && e.code() != errc::size_overflow) throw;
      result.skipped = e.what();
    } catch (const std::bad_alloc&) {
      result.skipped = "not enough host memory for the operands and the reference";
    }
    for (entry_result& entry : result.entries) rate(entry, cols, result.roofline_seconds);
    return result;
  }

 private:
  /// flop/s of the plain cores; for narrow values, which the tensor cores multiply, memory alone counts.
  double peak() const {
    if constexpr (narrow_number<T>) return 0;
    return std::is_same_v<T, float> ? room_.machine.peak_fp32 : room_.machine.peak_fp64;
  }

  std::vector<entry_result> measure_case(std::int64_t cols) {
    const layout order = room_.options.order;
    const layout other = order == layout::row_major ? layout::col_major : layout::row_major;
    dense_matrix<T> host_b(host_.cols, cols, order);
    fill_seeded<T>(host_b.view(), room_.options.seed);
    const expectation<T> expected(host_, row_major_view_or_copy(host_b));
    row_major_b_ = {};
    const operands<T> same(*room_.where, host_b.view(), host_.rows);

    candidates_.clear();
    sweep_.clear();
    const auto configs = configs_to_try();
    const auto rivals = rivals_to_try(cols);
    num_tried_ = 0;
    num_to_try_ = 1 + static_cast<std::int64_t>(rivals.size());
    for (const auto& algorithm : configs) num_to_try_ += static_cast<std::int64_t>(algorithm.size());
    add_own(configs, expected, same);
    for (const rival<T>* r : rivals) add_rival(*r, expected, same);
    std::optional<operands<T>> opposite;  // lives until all are timed
    if (room_.options.is_thorough() && std::ranges::any_of(rivals, &rival<T>::other_layout)) {
      dense_matrix<T> turned(host_.cols, cols, other);
      copy_elements<T>(host_b.view(), turned.view());
      opposite.emplace(*room_.where, turned.view(), host_.rows);
      for (const rival<T>* r : rivals) {
        if (r->other_layout) add_rival(*r, expected, *opposite);
      }
    }
    return time_candidates(cols);
  }

  /// The library's own configs to measure besides the plan, by algorithm.
  std::vector<std::vector<kernel_info>> configs_to_try() const {
    const auto& named = room_.options.kernels;
    if (named.empty() && !room_.options.is_thorough()) return {};
    auto configs = own_.configs_by_algorithm(room_.options.full || !named.empty());
    if (named.empty()) return configs;
    for (auto& algorithm : configs) {
      std::erase_if(algorithm, [&](const kernel_info& config) {
        return std::ranges::count(named, config.name) + std::ranges::count(named, config.algorithm) == 0;
      });
    }
    return configs;
  }

  std::vector<const rival<T>*> rivals_to_try(std::int64_t cols) const {
    std::vector<const rival<T>*> some;
    for (const rival<T>& r : rivals_) {
      if (r.computes(cols) && (room_.options.is_thorough() || !r.thorough)) some.push_back(&r);
    }
    return some;
  }

  /// The reference walks rows of B.
  dense_view<const T> row_major_view_or_copy(const dense_matrix<T>& b) {
    if (b.view().order == layout::row_major) return b.view();
    row_major_b_ = dense_matrix<T>(b.rows(), b.cols(), layout::row_major);
    copy_elements<T>(b.view(), row_major_b_.view());
    return row_major_b_.view();
  }

  void add_own(const std::vector<std::vector<kernel_info>>& by_algorithm, const expectation<T>& expected,
               const operands<T>& on) {
    for (const auto& configs : by_algorithm) {
      if (!room_.options.kernels.empty()) {
        for (const kernel_info& config : configs) add_shared_config(config, expected, on);
      } else if (room_.options.full) {
        for (const kernel_info& config : configs) add_config(config, expected, on);
      } else {
        add_best_config(configs, expected, on);
      }
    }
    candidate plan{.result = {.name = "plan", .group = "plan", .ours = true, .order = on.order()}};
    add(std::move(plan), expected, on, [&] { return own_.chosen(on.b(), on.c()); });
  }

  static candidate entry_of(const kernel_info& config, const operands<T>& on) {
    return {.result = {.name = config.name, .group = config.algorithm, .ours = true, .order = on.order()}};
  }

  void add_shared_config(const kernel_info& config, const expectation<T>& expected, const operands<T>& on) {
    add(entry_of(config, on), expected, on, [&] { return own_.config_prepared(config.name, on.b(), on.c()); });
  }

  bool add_config(const kernel_info& config, const expectation<T>& expected, const operands<T>& on) {
    return add(entry_of(config, on), expected, on, [&] { return own_.config_from_host(config.name, on.b(), on.c()); });
  }

  /// Times all configs quickly and takes the fastest; should its result be wrong, that is kept as a failure and the
  /// next one takes its place.
  void add_best_config(const std::vector<kernel_info>& configs, const expectation<T>& expected, const operands<T>& on) {
    std::vector<std::pair<double, const kernel_info*>> ranking;
    double best = std::numeric_limits<double>::infinity();
    for (const kernel_info& config : configs) {
      try {
        tell_of_trying(config.name);
        const double seconds = quick_seconds(*room_.where, own_.config(config.name, on.b(), on.c()), best);
        best = std::min(best, seconds);
        ranking.emplace_back(seconds, &config);
        sweep_.push_back({config.algorithm, config.name, seconds});
      } catch (const error& e) {
        if (is_fatal(e)) throw;
        note_failure(config.name, config.algorithm, on.order(), e);
      }
    }
    std::ranges::sort(ranking);
    for (const auto& [seconds, config] : ranking) {
      if (add_config(*config, expected, on)) break;
    }
  }

  /// How far the case is, before something is tried.
  void tell_of_trying(const std::string& name) {
    const double tried = static_cast<double>(num_tried_++) / static_cast<double>(num_to_try_);
    room_.say(fmt::format("{}: trying {}", facts_.name, name), share_of_trying * std::min(1.0, tried));
  }

  void add_rival(const rival<T>& r, const expectation<T>& expected, const operands<T>& on) {
    candidate entry{.result = {.name = r.name, .group = r.group, .order = on.order(), .bounded = r.bounded}};
    add(std::move(entry), expected, on, [&] { return r.prepare(on.b(), on.c()); });
  }

  /// Makes an entry ready, runs it on a poisoned C, compares. Returns whether it may be timed.
  template <class Prepare>
  bool add(candidate entry, const expectation<T>& expected, const operands<T>& on, Prepare prepare) {
    entry_result& r = entry.result;
    tell_of_trying(r.name);
    try {
      prepared ready = prepare();
      r.kernel = ready.kernel;
      r.reason = ready.reason;
      r.m_block = ready.m_block;
      r.convert_seconds = ready.convert_seconds;
      room_.where->poison(on.c().data, on.c_bytes());
      entry.estimate = room_.where->seconds(ready.start, 1);
      r.error = compare(expected, on, ready.bound);
      r.status = judged(r, expected, on);
      if (r.status != entry_status::ok) r.message = r.error.describe(expected.rows() * expected.cols());
      if (r.status != entry_status::failed) {
        entry.estimate = seconds_after_first(*room_.where, ready.start, entry.estimate);
        entry.start = std::move(ready.start);
      }
    } catch (const error& e) {
      if (is_fatal(e)) throw;
      const bool cannot = e.code() == errc::out_of_memory || e.code() == errc::unsupported;
      r.status = r.ours && !cannot ? entry_status::failed : entry_status::unavailable;
      r.message = e.what();
    }
    candidates_.push_back(std::move(entry));
    return candidates_.back().result.status == entry_status::ok;
  }

  /// Reduced precision is no excuse for a NaN or for an element that was never written.
  entry_status judged(const entry_result& r, const expectation<T>& expected, const operands<T>& on) const {
    if (r.bounded ? r.error.passed() : r.error.not_finite == 0) return entry_status::ok;
    if (!r.ours && compare(expected, on, coarse_bound<T>(facts_.max_row)).passed()) return entry_status::inaccurate;
    return entry_status::failed;
  }

  accuracy compare(const expectation<T>& expected, const operands<T>& on, const error_bound& bound) const {
    const void* data = room_.where->fetch(on.c().data, on.c_bytes());
    return expected.compare({static_cast<const T*>(data), on.c().rows, on.c().cols, on.c().order}, bound);
  }

  /// After a sticky CUDA error nothing that follows would mean anything.
  bool is_fatal(const error& e) const {
    return e.code() == errc::context_poisoned || (e.code() == errc::cuda_error && !stage_is_well());
  }
  bool stage_is_well() const {
    try {
      room_.where->wait();
      return true;
    } catch (const error&) {
      return false;
    }
  }

  void note_failure(const std::string& name, const std::string& group, layout order, const error& e) {
    candidates_.push_back({.result = {.name = name,
                                      .group = group,
                                      .ours = true,
                                      .order = order,
                                      .status = entry_status::failed,
                                      .message = e.what()}});
  }

  /// Fewer samples of what takes long, so that a first answer does not take minutes.
  timing_options affordable_timing(std::size_t num_requests) const {
    timing_options timing = room_.options.timing;
    if (room_.options.is_thorough()) return timing;
    const std::size_t shares =
        room_.options.cols.size() * room_.options.types.size() * num_requests * timing.settings.size();
    timing.max_seconds =
        std::min(timing.max_seconds, timing_seconds_per_matrix / static_cast<double>(std::max<std::size_t>(shares, 1)));
    timing.fewest_samples = 1;
    return timing;
  }

  std::vector<entry_result> time_candidates(std::int64_t cols) {
    std::vector<timing_request> requests;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const candidate& c = candidates_[i];
      if (!c.start) continue;
      requests.push_back({fmt::format("{}/N:{}/{}/{}/{}#{}", facts_.name, cols, to_string(value_type_of<T>),
                                      to_string(c.result.order), c.result.name, i),
                          c.start, c.estimate});
      who.push_back(i);
    }
    const auto timings = measure(*room_.where, requests, affordable_timing(requests.size()), [&](double done) {
      room_.say(fmt::format("{}: N = {}, {}, timing", facts_.name, cols, to_string(value_type_of<T>)),
                share_of_trying + (1 - share_of_trying) * std::min(1.0, done));
    });
    for (std::size_t i = 0; i < who.size(); ++i) {
      entry_result& r = candidates_[who[i]].result;
      r.times = timings[i].times;
      r.start_seconds = timings[i].start_seconds;
      if (timings[i].error.empty()) continue;
      r.status = entry_status::failed;
      r.message = timings[i].error;
    }
    std::vector<entry_result> results;
    for (candidate& c : candidates_) results.push_back(std::move(c.result));
    candidates_.clear();
    return results;
  }

  void rate(entry_result& entry, std::int64_t cols, double min_seconds) const {
    if (entry.times[setting::warm]) {
      entry.gflops = 2e-9 * static_cast<double>(host_.nnz()) * static_cast<double>(cols) / entry.median();
    }
    for (const setting in : all_settings) {
      if (entry.times[in]) entry.roofline_shares[in] = min_seconds / entry.median(in);
    }
  }

  bench_room& room_;
  const matrix_facts& facts_;
  csr_view<T, std::int32_t> host_;
  placed_csr<T> placed_;
  own_kernels<T> own_;
  std::vector<rival<T>> rivals_;
  std::vector<candidate> candidates_;
  std::vector<swept_config> sweep_;              ///< of the present case
  std::int64_t num_tried_ = 0, num_to_try_ = 1;  ///< of the present case
  dense_matrix<T> row_major_b_;
};

}  // namespace

template <number T>
void run_matrix(bench_room& room, run_result& run, const csr_matrix<T>& a,
                const std::function<void(const run_result&)>& on_case) {
  const std::size_t matrix = run.matrices.size() - 1;
  const matrix_facts facts = run.matrices.back();
  matrix_bench<T> bench(room, facts, a.view());
  const double limit = room.options.seconds_per_matrix;
  const auto begin = std::chrono::steady_clock::now();
  double seconds_per_col = 0;  // of the last N measured
  for (const std::int64_t cols : room.options.cols) {
    const double so_far = seconds_since(begin);
    const double foreseen = seconds_per_col * static_cast<double>(cols);
    if (foreseen > 0 && so_far + foreseen > limit) {
      run.cases.push_back(bench.described(matrix, cols));
      run.cases.back().skipped =
          fmt::format("it would take about {:.0f} s, and a matrix has {:.0f}; --cols {} or --thorough measures it",
                      foreseen, limit, cols);
    } else {
      room.say(fmt::format("{}: {} x {}, {} non-zeros, N = {}, {}", facts.name, facts.rows, facts.cols, facts.nnz, cols,
                           to_string(value_type_of<T>)));
      run.cases.push_back(bench.run(matrix, cols));
      seconds_per_col = (seconds_since(begin) - so_far) / static_cast<double>(cols);
    }
    room.done += room.case_share;
    if (on_case) on_case(run);
  }
}

#define BCSC_INSTANTIATE(T)                                                \
  template void run_matrix(bench_room&, run_result&, const csr_matrix<T>&, \
                           const std::function<void(const run_result&)>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::bench
