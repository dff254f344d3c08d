#include "bcsc/tune.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "bcsc/analysis.hpp"
#include "core/buffer.hpp"
#include "core/fail.hpp"
#include "lib/plan/choice.hpp"

namespace bcsc {

namespace {

/// The library's only mutable state shared by all threads: winners by key.
struct tuning_cache {
  std::mutex mutex;
  std::map<std::string, tune_timing> winners;
};

tuning_cache& cache() {
  static tuning_cache instance;
  return instance;
}

/// What two problems must share for one's winner to serve the other.
template <class T>
std::string key_of(const context& ctx, const csr_view<T>& a, const tune_options& options) {
  const std::int64_t heights[] = {8, 64};
  const auto blocks = analyse_blocks(a, std::span<const std::int64_t>(heights));
  return core::format(
      "{}|{}|{}x{}|nnz {}|nnzc {} {}|N {}|m_block {}|B {}|{}|{}{}{}{}{}{}{}", ctx.describe(),
      to_string(value_type_of<T>), a.rows, a.cols, a.nnz(), blocks[0].nnzc, blocks[1].nnzc, options.plan.cols,
      options.plan.expert.m_block, to_string(options.plan.b_layout),
      options.plan.expert.kernel.empty() ? "any" : options.plan.expert.kernel,
      options.plan.transpose == op::transpose ? "transposed" : "as given",
      options.plan.compute == compute_class::tf32 ? "|tf32" : "", options.plan.deterministic ? "|deterministic" : "",
      options.plan.expert.reorder_rows ? "|reordered" : "", options.plan.transposable ? "|transposable" : "",
      options.plan.expert.boundaries == row_blocks::uniform
          ? ""
          : core::format("|{}", to_string(options.plan.expert.boundaries)),
      options.plan.expert.reading == col_major_b::as_predicted
          ? ""
          : core::format("|{}", to_string(options.plan.expert.reading)));
}

/// One line per winner: key, kernel, m_block, seconds, separated by tabs. Lines of another shape are skipped: a cache
/// may be lost without harm.
void load(const std::string& file, std::map<std::string, tune_timing>& winners) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string key, kernel, m_block, seconds;
    if (!std::getline(fields, key, '\t') || !std::getline(fields, kernel, '\t') ||
        !std::getline(fields, m_block, '\t') || !std::getline(fields, seconds, '\t')) {
      continue;
    }
    try {
      winners.emplace(key, tune_timing{kernel, std::stoll(m_block), std::stod(seconds)});
    } catch (const std::logic_error&) {
      continue;
    }
  }
}

void save(const std::string& file, const std::map<std::string, tune_timing>& winners) {
  const std::string beside = file + ".new";
  {
    std::ofstream out(beside, std::ios::trunc);
    for (const auto& [key, t] : winners) out << core::format("{}\t{}\t{}\t{}\n", key, t.kernel, t.m_block, t.seconds);
    out.flush();
    if (!out) throw error(errc::io_error, "tune_options::cache_file: cannot write " + beside, {beside});
  }
  std::error_code failure;
  std::filesystem::rename(beside, file, failure);
  if (failure) throw error(errc::io_error, "tune_options::cache_file: cannot write " + file, {file});
}

bool fits(const context& ctx, const kernel_info& k) {
  return k.where == ctx.kind() && k.built &&
         (ctx.kind() == backend::cpu || k.shared_bytes <= ctx.device().shared_bytes_per_block);
}

/// Whether this build still has the kernel that a cache names: the cache may come from another build.
bool runs_here(const context& ctx, const tune_timing& winner) {
  return std::any_of(kernel_table().begin(), kernel_table().end(),
                     [&](const kernel_info& k) { return k.name == winner.kernel && fits(ctx, k); });
}

/// B and C of the right shape where the context computes, B seeded.
template <class T>
class trial_operands {
 public:
  trial_operands(const context& ctx, std::int64_t rows, std::int64_t inner, const plan_options& plan)
      : ctx_(ctx), b_(inner, plan.cols, plan.b_layout), c_(rows, plan.cols, plan.b_layout) {
    std::uint64_t state = 1;
    for (std::int64_t i = 0; i < inner * plan.cols; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      b_.data()[i] = static_cast<T>(static_cast<double>(state >> 40) * 0x1p-24 - 0.5);
    }
    if (ctx.kind() == backend::cuda) {
      const int device = ctx.device().device;
      b_there_ =
          core::device_buffer<T>(device, std::span<const T>(b_.data(), static_cast<std::size_t>(inner * plan.cols)));
      c_there_ = core::device_buffer<T>(device, rows * plan.cols);
    }
  }

  double seconds_of_one(const spmm_plan<T>& plan) {
    dense_view<const T> b = b_;
    dense_view<T> c = c_;
    if (ctx_.kind() == backend::cuda) {
      b.data = b_there_.data();
      c.data = c_there_.data();
    }
    const auto begin = std::chrono::steady_clock::now();
    plan.run(1, b, 0, c);
    if (ctx_.kind() == backend::cuda) {
      const core::gpu::device_guard guard(ctx_.device().device);
      core::gpu::synchronize();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  context ctx_;
  dense_matrix<T> b_, c_;
  core::device_buffer<T> b_there_, c_there_;
};

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

template <number T>
std::vector<tune_timing> tune(const context& ctx, const csr_view<T, std::int32_t>& a, const tune_options& options) {
  if (options.repetitions < 1) {
    core::fail(errc::invalid_argument, "tune_options::repetitions = {}: must be at least 1", options.repetitions);
  }
  if (a.space != memory_space::host)
    core::fail(errc::wrong_memory_space, "tune: A lies on a device; it is wanted on the host");
  if (options.plan.check == trust::validate) validate(a);
  const std::string key = key_of(ctx, a, options);
  {
    const std::lock_guard lock(cache().mutex);
    if (!options.cache_file.empty()) load(options.cache_file, cache().winners);
    if (const auto found = cache().winners.find(key); found != cache().winners.end() && runs_here(ctx, found->second)) {
      return {found->second};
    }
  }

  const bool transposed = options.plan.transpose == op::transpose;
  trial_operands<T> operands(ctx, transposed ? a.cols : a.rows, transposed ? a.rows : a.cols, options.plan);
  std::vector<tune_timing> timings;
  std::vector<spmm_plan<T>> plans;  // for the ways in which A was stored last
  constexpr std::size_t max_plans = 4;
  const auto plan_of = [&](const std::string& kernel) {
    for (const spmm_plan<T>& made : plans) {
      if (auto shared = made.sharing(kernel)) return std::move(*shared);
    }
    plan_options forced = options.plan;
    forced.expert.kernel = kernel;
    if (plans.size() == max_plans) plans.erase(plans.begin());
    plans.emplace_back(ctx, a, forced);
    return std::move(*plans.back().sharing(kernel));
  };
  const plan::problem product{.where = ctx.kind(),
                              .type = value_type_of<T>,
                              .deterministic = options.plan.deterministic,
                              .b_is_col_major = options.plan.b_layout == layout::col_major,
                              .max_shared_bytes = ctx.device().shared_bytes_per_block};
  for (const plan::registered_kernel* kernel : plan::allowed(product, options.plan)) {
    const kernel_info& k = kernel->info;
    if (k.index_bits != product.index_bits) continue;  // allowed by name, but A's indices have 32
    const spmm_plan<T> plan = plan_of(k.name);
    (void)operands.seconds_of_one(plan);
    std::vector<double> samples;
    for (int r = 0; r < options.repetitions; ++r) samples.push_back(operands.seconds_of_one(plan));
    timings.push_back({k.name, plan.facts().m_block, median(std::move(samples))});
  }
  if (timings.empty()) core::fail(errc::no_such_kernel, "tune: no kernel \"{}\" runs here", options.plan.expert.kernel);
  std::ranges::sort(timings, {}, &tune_timing::seconds);

  const std::lock_guard lock(cache().mutex);
  cache().winners.insert_or_assign(key, timings.front());
  if (!options.cache_file.empty()) save(options.cache_file, cache().winners);
  return timings;
}

template std::vector<tune_timing> tune(const context&, const csr_view<float>&, const tune_options&);
template std::vector<tune_timing> tune(const context&, const csr_view<double>&, const tune_options&);
template std::vector<tune_timing> tune(const context&, const csr_view<half>&, const tune_options&);
template std::vector<tune_timing> tune(const context&, const csr_view<bfloat16>&, const tune_options&);

}  // namespace bcsc
