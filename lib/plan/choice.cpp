#include "lib/plan/choice.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/core/checked.hpp"
#include "lib/core/fail.hpp"

namespace bcsc::plan {

namespace {

/// What a GPU kernel's time is made of, by algorithm. Fitted to the sweep in bench/results/ (docs/performance.md).
struct gpu_model {
  double update_rate;    ///< multiply-adds/s the inner loop reaches on full tiles, fp32
  double fp64_factor;    ///< the same for fp64, as a share
  double tile_overhead;  ///< seconds a tile occupies a multiprocessor beside its work
};

constexpr double l2_gather_bandwidth = 5.0e12;  // bytes/s of B's rows, docs/performance.md
constexpr double launch_seconds = 2.5e-6;

gpu_model model_of(const kernel_info& kernel) {
  if (kernel.algorithm == "naive") return {1.6e12, 0.6, 1.5e-6};
  if (kernel.algorithm == "warp") return {0.45e12, 0.5, 2.0e-6};
  // More accumulators a thread: more multiply-adds for each value fetched from shared memory.
  const double accumulators = static_cast<double>(kernel.m_tile) * kernel.n_tile / kernel.threads;
  return {8.0e12 * std::min(1.0, std::sqrt(accumulators / 32.0)), 0.5, 2.5e-6};
}

double predict_gpu(const problem& p, const kernel_info& kernel, const block_statistics& s) {
  const gpu_model model = model_of(kernel);
  const double col_tiles = std::ceil(static_cast<double>(p.cols) / kernel.n_tile);
  const double padded_cols = col_tiles * kernel.n_tile;
  const double slices = std::ceil(static_cast<double>(s.m_block) / kernel.m_tile);
  const double tiles = static_cast<double>(s.num_row_blocks) * slices * col_tiles;

  // The tiled kernel multiplies the zeros of its expanded columns too; the others only what is stored.
  const double updates_per_col = kernel.algorithm == "tiled" ? static_cast<double>(s.nnzc) * slices * kernel.m_tile
                                                             : static_cast<double>(p.nnz) * slices;
  const double rate = model.update_rate * (p.type == value_type::fp64 ? model.fp64_factor : 1.0);
  const double compute = updates_per_col * padded_cols / rate;
  const double gather = static_cast<double>(s.nnzc) * slices * padded_cols * static_cast<double>(size_of(p.type)) /
                        l2_gather_bandwidth;
  // Thread blocks a multiprocessor holds at once, and so how many it needs to be full.
  const double resident = std::clamp(2048.0 / std::max(kernel.threads, 64), 1.0, 32.0);
  const double slots = std::max(1, p.num_multiprocessors) * resident;
  const double overhead = std::ceil(tiles / slots) * model.tile_overhead;
  // The heaviest row block runs alone at the end: one multiprocessor's share of the rate.
  const double heaviest = s.skew * (compute + gather) / std::max(1.0, tiles / col_tiles) / col_tiles *
                          std::max(1, p.num_multiprocessors);
  return launch_seconds + std::max({compute, gather, heaviest}) + overhead;
}

/// CPU: multiply-adds/s of one thread. `rows` keeps accumulators in registers and reads a row of B for each non-zero;
/// `columns` reads it once for all non-zeros of a column but updates C in L1.
double predict_cpu(const problem& p, const kernel_info& kernel, const block_statistics& s) {
  const double padded_cols = std::ceil(static_cast<double>(p.cols) / kernel.n_tile) * kernel.n_tile;
  const double bytes = static_cast<double>(size_of(p.type));
  const double slices = std::ceil(static_cast<double>(s.m_block) / kernel.m_tile);
  const double b_rows = static_cast<double>(s.nnzc) * slices;
  if (kernel.algorithm == "rows") return b_rows * padded_cols * bytes / 40e9 + static_cast<double>(p.nnz) * 1e-9;
  return b_rows * padded_cols * bytes / 40e9 + static_cast<double>(p.nnz) * slices * padded_cols * bytes / 25e9;
}

std::string names_of(const std::vector<const registered_kernel*>& kernels) {
  std::set<std::string> names;
  for (const auto* k : kernels) names.insert(k->info.algorithm);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<const registered_kernel*> candidates(const problem& p, const plan_options& options) {
  std::vector<const registered_kernel*> runnable, named;
  for (const registered_kernel& k : registry()) {
    const bool runs = k.launch != nullptr && k.info.where == p.where && k.info.type == p.type &&
                      (p.where == backend::cpu || k.info.shared_bytes <= p.max_shared_bytes);
    if (!runs || k.info.index_bits < p.index_bits || (p.deterministic && !k.info.deterministic)) continue;
    runnable.push_back(&k);
    // Wider indices than needed only cost bytes: they are taken when asked for by name.
    const bool fits = k.info.index_bits == p.index_bits;
    if (options.kernel == k.info.name || (fits && (options.kernel.empty() || options.kernel == k.info.algorithm))) {
      named.push_back(&k);
    }
  }
  if (named.empty()) {
    core::fail(errc::no_such_kernel,
               "plan_options::kernel = \"{}\": no such kernel for {} on {} with {}-bit indices{}; algorithms that run: {}",
               options.kernel, to_string(p.type), to_string(p.where), p.index_bits,
               p.deterministic ? " that is deterministic" : "", runnable.empty() ? "none" : names_of(runnable));
  }
  return named;
}

std::vector<std::int64_t> heights(const std::vector<const registered_kernel*>& kernels, const plan_options& options) {
  if (options.m_block > 0) return {options.m_block};
  std::set<std::int64_t> distinct;
  for (const auto* k : kernels) distinct.insert(k->info.m_tile);
  return {distinct.begin(), distinct.end()};
}

double predict(const problem& p, const kernel_info& kernel, const block_statistics& s) {
  return p.where == backend::cuda ? predict_gpu(p, kernel, s) : predict_cpu(p, kernel, s);
}

decision choose(const problem& p, const plan_options& options, const std::vector<const registered_kernel*>& kernels,
                std::span<const block_statistics> statistics) {
  decision best;
  double least = 0;
  const block_statistics* taken = nullptr;
  for (const registered_kernel* k : kernels) {
    for (const block_statistics& s : statistics) {
      if (options.m_block == 0 && s.m_block != k->info.m_tile) continue;
      const double seconds = predict(p, k->info, s);
      if (best.kernel == nullptr || seconds < least) {
        best.kernel = k;
        best.m_block = s.m_block;
        least = seconds;
        taken = &s;
      }
    }
  }
  if (best.kernel == nullptr) core::fail(errc::internal, "no statistics for the heights of {} kernels", kernels.size());
  const std::string measure =
      fmt::format("nnz/nnzc {:.2f} at m_block {}, skew {:.1f}, N = {}", taken->reuse, taken->m_block, taken->skew, p.cols);
  if (kernels.size() == 1) {
    best.reason = fmt::format("asked for by name ({})", measure);
  } else {
    best.reason = fmt::format("least predicted time of {} kernels{}: {:.1f} us ({})", kernels.size(),
                              options.kernel.empty() ? "" : " of \"" + options.kernel + "\"", least * 1e6, measure);
  }
  return best;
}

}  // namespace bcsc::plan
