#include "lib/choice/choice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "kernels/forms/block_slices/layout.hpp"
#include "kernels/forms/dense/stored.hpp"
#include "kernels/forms/fma_tiles/layout.hpp"
#include "kernels/forms/row_stream/layout.hpp"
#include "lib/choice/built_in_costs.hpp"
#include "lib/choice/column_major.hpp"
#include "lib/choice/cost_terms.hpp"
#include "lib/choice/dense_costs.hpp"
#include "lib/choice/shares.hpp"

namespace bcsc::choice {

namespace {

/// Whether the kernel multiplies A's zeros, too: its time depends on sizes alone.
bool is_dense(const registered_kernel& kernel) { return kernels::is_dense(kernel.form); }
bool names_dense(const std::string& kernel) { return kernel == "gemm" || kernel.starts_with("gemm-"); }

/// Their lanes read neighbouring rows of B, which lie side by side in a column. A CPU unpacks slices for more of them.
bool is_slices(const registered_kernel& kernel) {
  return kernel.form == kernels::operand_form::block_slices || kernel.form == kernels::operand_form::row_slices;
}

/// Whether slices are considered without being asked for by name: for one column, or where B's are read as they lie.
bool suits_slices(const problem& p, const registered_kernel& kernel, const plan_options& options) {
  const bool can_be_chosen = kernel.measured_in_place && options.expert.reading != col_major_b::packed;
  return suits_columns(kernel, p.cols, p.b_is_col_major) && (p.cols == 1 || can_be_chosen);
}

/// About as many rows as share an L1.
constexpr std::int64_t shared_height = 16;

bool has_row_major_costs(const registered_kernel& kernel) {
  return kernel.measured || kernel.family || is_dense(kernel);
}

bool has_costs(const problem& p, const registered_kernel& kernel) {
  const bool in_place = p.b_is_col_major && p.cols > 1 && kernel.measured_in_place;
  return in_place || has_row_major_costs(kernel);
}

constexpr estimate never{std::numeric_limits<double>::infinity(), 0};

/// In seconds, as all estimates here.
estimate predict_measured(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  const cost_terms terms = cost_terms_of(shape_of(p), kernel.info, kernel.info.n_tile, s);
  const measured_config& costs = costs_of(p).configs[kernel.measured->place];
  return corrected(1e-6 * us_by_terms(costs.min_us, costs.us, terms), p.near.correct(kernel.measured->index));
}

estimate predict_cpu(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  const cost_terms terms = cpu_cost_terms_of(shape_of(p), kernel.info, s);
  const cpu_family& costs = costs_of(p).families[p.cols == 1 ? *kernel.family_of_vector : *kernel.family];
  const double us = us_by_terms(costs.min_us, costs.us, terms);
  // Tiles that hold all N columns do the same work; the narrowest wins the tie.
  const double seconds = 1e-6 * us * (1 + 1e-6 * kernel.info.n_tile);
  if (takes_a_detour(kernel.info, p.cols, s.m_block)) return {2 * seconds, 0};
  const auto place = place_of(kernel.info, p.cols, costs_of(p).cpu_configs);
  return corrected(seconds, place ? p.near.correct(*place) : correction{});
}

/// Whether B is considered to be read in place: few columns of it, or any number by MMA tiles, whose row blocks share
/// what they read, and by slices whose lanes find their values side by side. Where these are scattered each value costs
/// a sector: that did not pay once it is more than packing B and C would move (docs/history, 91).
bool suits_in_place(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  if (kernel.form == kernels::operand_form::mma_tiles) return true;
  if (!is_slices(kernel)) return p.cols <= columns_in_place::max_gathered;
  constexpr double scattered = 0.75, sector_mb = 32e-6, few_mb = 100, worth = 2;
  const double sectors = sectors_per_column(kernel.info, p.sectors_per_entry);
  const double read_mb = sector_mb * sectors * static_cast<double>(s.nnzc) * static_cast<double>(p.cols);
  return p.sectors_per_entry[0] > 0 &&
         (sectors < scattered || read_mb < few_mb + worth * (megabytes(p, p.rows) + megabytes(p, p.inner)));
}

/// The whole product with a column-major B that is read where it lies; infinite where that was not measured.
estimate in_place_estimate(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  if (!p.b_is_col_major || !kernel.measured_in_place || p.cols <= 1 || !suits_in_place(p, kernel, s)) return never;
  const cost_terms terms = cost_terms_of(shape_of(p, true), kernel.info, kernel.info.strided_cols, s);
  const measured_config& costs = costs_of(p).configs_in_place[kernel.measured_in_place->place];
  return corrected(1e-6 * us_by_terms(costs.min_us, costs.us, terms),
                   p.near_in_place.correct(kernel.measured_in_place->index));
}

estimate row_major_estimate(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  if (!has_row_major_costs(kernel)) return {};
  if (p.where == backend::cpu) return predict_cpu(p, kernel, s);
  if (!is_dense(kernel)) return predict_measured(p, kernel, s);
  return {dense_seconds(p.rows, p.inner, p.cols, kernel.info, costs_of(p).scales), 0};
}

estimate packed_estimate(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  const bool never_packs = p.where == backend::cuda && p.b_is_col_major && p.cols > 1 && is_slices(kernel);
  if (never_packs || !has_row_major_costs(kernel)) return never;
  const auto [seconds, doubt] = row_major_estimate(p, kernel, s);
  return {seconds + packing_seconds(p, kernel.info), doubt};
}

/// With B read as wanted, or in the better way; nothing without costs.
estimate estimate_of(const problem& p, const registered_kernel& kernel, const block_statistics& s,
                     col_major_b reading) {
  if (!has_costs(p, kernel)) return {};
  if (is_dense(kernel) && reading != col_major_b::packed) return row_major_estimate(p, kernel, s);
  const estimate packed = packed_estimate(p, kernel, s);
  if (reading == col_major_b::packed) return packed;
  const estimate in_place = in_place_estimate(p, kernel, s);
  // Configs that have not been measured have to be ranked as well.
  if (reading == col_major_b::in_place) return std::isinf(in_place.time) ? packed : in_place;
  return in_place.time < packed.time ? in_place : packed;
}

/// ", give or take 12 %"; nothing where it is not known.
std::string doubt_text(double doubt) {
  return doubt > 0 ? core::format(", give or take {:.0f} %", 100 * std::expm1(doubt)) : std::string();
}

/// How far the tile of a config without costs is from the one that is usually best, in powers of two: as wide as C, up
/// to 128 columns, and as high as the row block, or 8 rows where that follows the tile. Among 80 products on an H200
/// this costs naive 1.01, warp 1.28 and tiled 1.22 times its best config (docs/history, 2).
double misfit(const problem& p, const kernel_info& kernel, std::int64_t m_block) {
  const auto between = [](std::int64_t wanted, int is) {
    return std::fabs(std::log2(static_cast<double>(is) / static_cast<double>(wanted)));
  };
  return between(std::clamp<std::int64_t>(p.cols, 8, 128), kernel.n_tile) +
         between(m_block > 0 ? m_block : 8, kernel.m_tile);
}

/// The same among block slices: their bytes, and how far they are from about as many lanes as a GPU has places for,
/// which counts for less.
double misfit_of_slices(const problem& p, const prediction& one) {
  constexpr double places = 132 * 1024, weight = 0.25;
  const kernel_info& kernel = one.kernel->info;
  const double word_bytes = 4 + static_cast<double>(kernel.m_tile) * static_cast<double>(size_of(p.type));
  const double bytes = std::max(1.0, static_cast<double>(one.at->nnzc)) * word_bytes;
  const double lanes = std::clamp(places / std::max(1.0, static_cast<double>(one.at->num_row_blocks)), 1.0, 8.0);
  return std::log2(bytes) + weight * std::fabs(std::log2(kernel.columns_at_once / lanes));
}

/// The smallest rank wins: the shortest time; without costs a row stream, then of tiles what takes several columns at
/// once, then what fits best, with more threads on a tie.
auto rank_of(const problem& p, const prediction& one, std::int64_t m_block) {
  using rank = std::tuple<bool, double, bool, bool, double, int>;
  if (has_costs(p, *one.kernel) || one.seconds > 0) return rank(false, one.seconds, false, false, 0, 0);
  const kernel_info& kernel = one.kernel->info;
  const bool slices = one.kernel->form == kernels::operand_form::block_slices;
  return rank(true, 0, one.kernel->form != kernels::operand_form::row_stream, !slices && kernel.columns_at_once == 1,
              slices ? misfit_of_slices(p, one) : misfit(p, kernel, m_block), -kernel.threads);
}

/// Whether tiles on the tensor cores have so few zeros that the plain cores are not worth a prediction: of the bands
/// whose columns meet eleven of 16 rows `fma` was slower on all but one, and its costs do not tell (docs/history, 82).
bool fills_tiles(const problem& p) {
  constexpr double nearly_all = 11;
  return static_cast<double>(p.nnz) > nearly_all * static_cast<double>(std::max<std::int64_t>(1, p.shared_nnzc));
}

/// Whether `k` can compute `p` at all.
bool runs(const registered_kernel& k, const problem& p, const plan_options& options) {
  const bool here =
      k.launch != nullptr && k.info.where == p.where && k.info.type == p.type &&
      (p.where == backend::cpu || (k.info.shared_bytes <= p.max_shared_bytes && suits(k.info, p.compute_capability)));
  // Only compact BCSC is made for any height.
  const bool of_height = options.expert.m_block == 0 || k.info.any_m_block || options.expert.m_block == k.info.m_tile;
  const bool as_wanted =
      !p.b_is_col_major || options.expert.reading != col_major_b::in_place || k.info.strided_cols > 0;
  const bool has_library = !is_dense(k) || p.no_dense_library.empty();
  return here && of_height && as_wanted && has_library && holds(k, p) && (!p.deterministic || k.info.deterministic) &&
         (!options.transposable || !transposing(p, k).empty());
}

void refuse_kernel_of_other_gpus(const problem& p, const plan_options& options) {
  for (const registered_kernel& k : registry()) {
    const bool is_meant = options.expert.kernel == k.info.name || options.expert.kernel == k.info.algorithm;
    if (is_meant && k.info.where == p.where && !suits(k.info, p.compute_capability)) {
      core::fail(errc::no_such_kernel,
                 "plan_options::expert.kernel = \"{}\": needs compute capability {}.{}, not {}.{}",
                 options.expert.kernel, k.info.compute_capability / 10, k.info.compute_capability % 10,
                 p.compute_capability / 10, p.compute_capability % 10);
    }
  }
}

}  // namespace

int index_bits_for(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return rows < most && cols < most && nnz < most ? 32 : 64;
}

bool holds(const registered_kernel& kernel, const problem& p) {
  if (is_dense(kernel)) return p.index_bits == 32 && forms::dense_holds(p.rows, p.inner);
  if (kernel.form == kernels::operand_form::block_slices && p.inner > forms::max_slice_columns) return false;
  if (kernel.form == kernels::operand_form::fma_tiles && p.inner > forms::max_fma_columns) return false;
  return kernel.info.index_bits >= p.index_bits ||
         (kernel.form == kernels::operand_form::row_stream && forms::stream_holds(p.rows, p.inner, p.nnz));
}

std::vector<const registered_kernel*> transposing(const problem& p, const registered_kernel& kernel) {
  std::vector<const registered_kernel*> chosen;
  for (const registered_kernel& k : transposing_registry()) {
    const bool runs = k.launch != nullptr && (!p.deterministic || k.info.deterministic);
    if (runs && reads_what_is_stored_for(kernel, k)) chosen.push_back(&k);
  }
  return chosen;
}

const registered_kernel* choose_transposing(const problem& p, const std::vector<const registered_kernel*>& kernels) {
  // Columns over all tiles, plus the cost of reading A once a tile; then how far a step is from a mean row.
  const double row = std::max(1.0, static_cast<double>(p.nnz) / static_cast<double>(std::max<std::int64_t>(1, p.rows)));
  const auto cost = [&](const registered_kernel* k) {
    constexpr std::int64_t columns_a_pass = 16;
    const std::int64_t tiles = core::ceil_div(p.cols, std::int64_t{k->info.n_tile});
    return std::pair(tiles * (k->info.n_tile + columns_a_pass), std::fabs(std::log2(row / k->info.columns_at_once)));
  };
  const auto best = std::ranges::min_element(kernels, {}, cost);
  return best != kernels.end() ? *best : nullptr;
}

std::vector<const registered_kernel*> allowed(const problem& p, const plan_options& options) {
  std::vector<const registered_kernel*> chosen;
  for (const registered_kernel& k : registry()) {
    if (!runs(k, p, options)) continue;
    // Wider indices than needed only cost bytes: they are taken only when asked for by name.
    const bool fits = k.info.index_bits <= p.index_bits;
    const bool precise = !k.info.rounds_values || options.compute == compute_class::tf32;
    const bool suits = k.info.stored_entries_only && (!is_slices(k) || suits_slices(p, k, options));
    const bool asked_for = options.expert.kernel.empty() ? suits : options.expert.kernel == k.info.algorithm;
    if (options.expert.kernel == k.info.name || (fits && precise && asked_for)) chosen.push_back(&k);
  }
  return chosen;
}

bool suits_columns(const registered_kernel& kernel, std::int64_t cols, bool b_is_col_major) {
  if (!is_slices(kernel)) return true;
  const bool on_gpu = kernel.info.where == backend::cuda;
  return cols == 1 ? !on_gpu || kernel.info.n_tile == 1 : on_gpu && b_is_col_major;
}

bool is_passed_over(const registered_kernel& kernel, std::int64_t cols, bool b_is_col_major) {
  using kernels::operand_form;
  constexpr std::int64_t few_cols = 4, many_tiles = 4;
  constexpr int few_threads = 2, narrow = 16;
  if (b_is_col_major && cols > 1) return false;
  const bool takes_tiles = kernel.form == operand_form::mma_tiles || kernel.form == operand_form::fma_tiles ||
                           kernel.form == operand_form::staged_tiles;
  const bool has_small_teams =
      kernel.form == operand_form::row_stream && kernel.info.threads <= few_threads * kernel.info.teams;
  const bool is_narrow = kernel.form == operand_form::mma_tiles && kernel.info.n_tile <= narrow;
  return (takes_tiles && cols <= few_cols) ||
         ((has_small_teams || is_narrow) && cols > many_tiles * kernel.info.n_tile);
}

std::vector<const registered_kernel*> candidates(const problem& p, const plan_options& options) {
  auto chosen = allowed(p, options);
  const auto prefer_others = [&](const auto& unwanted) {
    if (options.expert.kernel.empty() && !std::ranges::all_of(chosen, unwanted)) std::erase_if(chosen, unwanted);
  };
  const auto can_be_predicted = [&, others = chosen](const registered_kernel* k) {
    return has_costs(p, *k) || (has_share(p, *k) && std::ranges::any_of(others, [&](const registered_kernel* other) {
                                  return has_costs(p, *other) && takes_share_of(*k, *other);
                                }));
  };
  prefer_others([&](const registered_kernel* k) { return !can_be_predicted(k); });
  prefer_others([&](const registered_kernel* k) { return is_passed_over(*k, p.cols, p.b_is_col_major); });
  if (!chosen.empty()) return chosen;
  if (p.where == backend::cuda && names_dense(options.expert.kernel) && !forms::dense_holds(p.rows, p.inner)) {
    core::fail(errc::unsupported,
               "plan_options::expert.kernel = \"{}\": {} x {} values are too many for A with its zeros",
               options.expert.kernel, p.rows, p.inner);
  }
  if (names_dense(options.expert.kernel) && !p.no_dense_library.empty()) {
    core::fail(errc::no_such_kernel, "plan_options::expert.kernel = \"{}\": needs cuBLASLt: {}", options.expert.kernel,
               p.no_dense_library);
  }
  refuse_kernel_of_other_gpus(p, options);
  std::set<std::string> names;
  for (const registered_kernel& k : registry()) {
    if (runs(k, p, options)) names.insert(k.info.algorithm);
  }
  core::fail(errc::no_such_kernel,
             "plan_options::expert.kernel = \"{}\": no such kernel for {} on {} with {}-bit indices{}{}{}{}; "
             "algorithms that run: {}",
             options.expert.kernel, to_string(p.type), to_string(p.where), p.index_bits,
             p.deterministic ? " that is deterministic" : "",
             p.b_is_col_major && options.expert.reading == col_major_b::in_place
                 ? " that reads a column-major B in place"
                 : "",
             options.expert.m_block > 0 ? core::format(" and m_block = {}", options.expert.m_block) : "",
             options.transposable ? " from whose matrix transposed() multiplies" : "",
             names.empty() ? "none" : core::joined(names, ", "));
}

bool considers_dense(const problem& p, const plan_options& options) {
  constexpr std::int64_t min_cols = 16, vector_bytes = 16, index_bytes = 4;
  if (p.where != backend::cuda || p.index_bits != 32 || !forms::dense_holds(p.rows, p.inner)) return false;
  if (!options.expert.kernel.empty()) return names_dense(options.expert.kernel);
  // Lines of B and C that begin anywhere take a library up to eight times as long.
  const auto value_bytes = static_cast<std::int64_t>(size_of(p.type));
  const std::int64_t max_bytes = std::max(std::int64_t{1} << 30, p.nnz * (value_bytes + index_bytes));
  const auto is_aligned = [&](std::int64_t line) { return line * value_bytes % vector_bytes == 0; };
  const bool aligned = p.b_is_col_major ? is_aligned(p.inner) && is_aligned(p.rows) : is_aligned(p.cols);
  return aligned && p.cols >= min_cols && p.nnz > 0 && p.rows * p.inner <= max_bytes / value_bytes &&
         p.rows * p.inner / max_dense_values_per_entry <= p.nnz;
}

std::vector<std::int64_t> heights(const std::vector<const registered_kernel*>& kernels, const plan_options& options) {
  if (options.expert.m_block > 0) return {options.expert.m_block};
  std::set<std::int64_t> distinct;
  for (const auto* k : kernels) {
    distinct.insert(k->info.m_tile);
    if (k->measured) distinct.insert({1, shared_height});
  }
  return {distinct.begin(), distinct.end()};
}

columns_in_place reads_in_place(const problem& p, const registered_kernel& kernel,
                                std::span<const block_statistics> statistics) {
  columns_in_place chosen;
  const auto s = std::ranges::find(statistics, kernel.info.m_tile, &block_statistics::m_block);
  if (s == statistics.end() || !kernel.measured_in_place) return chosen;
  problem one = with_statistics(p, statistics);
  for (std::int64_t n = 2; n <= 2 * columns_in_place::max_gathered; n *= 2) {
    // The range that holds the plan's own N is judged at that N.
    one.cols = columns_in_place::same_range(p.cols, n) ? p.cols : n;
    one = with_experience(one);
    if (in_place_estimate(one, kernel, *s).time < packed_estimate(one, kernel, *s).time) chosen.add(n);
  }
  return chosen;
}

const cost_table& costs_of(const problem& p) { return p.costs != nullptr ? *p.costs : built_in_costs(p.where); }

product_shape shape_of(const problem& p, bool in_place) {
  constexpr std::int64_t max_cols = std::int64_t{1} << 50;  // whose bytes can be counted
  return {p.rows,
          p.inner,
          p.nnz,
          std::min(p.cols, max_cols),
          static_cast<std::int64_t>(size_of(p.type)),
          p.shared_nnzc,
          p.longest_row,
          /*pads_b=*/p.b_is_col_major && p.cols > 1,
          in_place,
          p.sectors_per_entry,
          p.num_multiprocessors,
          p.read_by_height,
          p.caches};
}

problem with_statistics(problem p, std::span<const block_statistics> statistics) {
  for (const block_statistics& s : statistics) {
    if (s.m_block == shared_height) p.shared_nnzc = s.nnzc;
    if (s.m_block == 1) p.longest_row = s.max_block_nnz;
    if (p.where == backend::cpu) p.read_by_height.push_back({s.m_block, s.nnzc});
  }
  return p;
}

problem with_experience(problem p) {
  const cost_table& known = costs_of(p);
  p.near = neighbours(known.cases, p.type, shape_of(p));
  if (p.where == backend::cuda && p.b_is_col_major) {
    p.near_in_place = neighbours(known.cases_in_place, p.type, shape_of(p, true));
  }
  return p;
}

double predict(const problem& p, const registered_kernel& kernel, const block_statistics& s) {
  return row_major_estimate(p, kernel, s).time;
}

std::vector<prediction> predictions(const problem& given, const plan_options& options,
                                    const std::vector<const registered_kernel*>& kernels,
                                    std::span<const block_statistics> statistics) {
  const problem p = with_experience(with_statistics(given, statistics));
  std::vector<prediction> all;
  const bool passes_over_fma = options.expert.kernel.empty() && p.shared_nnzc > 0 && fills_tiles(p);
  for (const registered_kernel* k : kernels) {
    if (passes_over_fma && k->info.algorithm == "fma") continue;
    for (const block_statistics& s : statistics) {
      if (options.expert.m_block == 0 && s.m_block != k->info.m_tile) continue;
      const auto [seconds, doubt] = estimate_of(p, *k, s, options.expert.reading);
      all.push_back({k, &s, seconds, doubt});
    }
  }
  predict_shares(p, all);
  std::ranges::stable_sort(all, {}, [&](const prediction& one) { return rank_of(p, one, options.expert.m_block); });
  return all;
}

decision choose(const problem& p, const plan_options& options, const std::vector<const registered_kernel*>& kernels,
                std::span<const block_statistics> statistics) {
  const std::vector<prediction> all = predictions(p, options, kernels, statistics);
  if (all.empty()) core::fail(errc::internal, "no statistics for the heights of {} kernels", kernels.size());
  const auto& [kernel, at, seconds, doubt] = all.front();
  decision best{.kernel = kernel, .m_block = at->m_block};
  const std::string measure =
      core::format("nnz/nnzc {:.2f} at m_block {}, skew {:.1f}, N = {}", at->reuse, at->m_block, at->skew, p.cols);
  const std::string those = core::format("{} configs{}", kernels.size(),
                                         options.expert.kernel.empty() ? "" : " of \"" + options.expert.kernel + "\"");
  if (kernels.size() == 1) {
    best.reason = core::format("asked for by name ({})", measure);
  } else if (seconds > 0 && std::isfinite(seconds)) {
    const std::string_view share = share_text(*kernel);
    best.reason = core::format("least predicted time of {}: {}{}, by {}{} ({})", those, core::time_text(seconds),
                               doubt_text(doubt), share, costs_of(p).origin, measure);
  } else {
    best.reason = core::format("best fitting tile of {}, which have no measured costs ({})", those, measure);
  }
  return best;
}

}  // namespace bcsc::choice
