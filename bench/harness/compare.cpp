#include "bench/harness/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/format.hpp"

namespace bcsc::bench {

namespace {

/// The distribution of Mann and Whitney's U for n and m samples without ties, P(U = u) for u = 0 ... n m: the
/// coefficients of the Gaussian binomial, product of (1 - q^(m+i)) / (1 - q^i), over their sum.
std::vector<double> mann_whitney(std::size_t n, std::size_t m) {
  std::vector<double> ways(n * m + 1, 0.0);
  ways[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t u = ways.size(); u-- > m + i;) ways[u] -= ways[u - m - i];
    for (std::size_t u = i; u < ways.size(); ++u) ways[u] += ways[u - i];
  }
  double sum = 0;
  for (const double w : ways) sum += w;
  for (double& w : ways) w /= sum;
  return ways;
}

/// Up to this many samples by the exact distribution, beyond that by the normal one.
constexpr std::size_t max_exact = 25;

/// z with P(Z > z) = `tail` of a standard normal Z, by bisection.
double normal_quantile(double tail) {
  double low = 0, high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > tail ? low : high) = middle;
  }
  return low;
}

/// How many of the smallest, and of the greatest, of the n m ratios lie outside the interval.
std::size_t outside(std::size_t n, std::size_t m, double confidence) {
  const double tail = (1 - confidence) / 2;
  if (std::max(n, m) > max_exact) {
    const auto a = static_cast<double>(n), b = static_cast<double>(m);
    const double count = a * b / 2 - normal_quantile(tail) * std::sqrt(a * b * (a + b + 1) / 12);
    return count < 1 ? 0 : static_cast<std::size_t>(count);
  }
  const auto probability = mann_whitney(n, m);
  double below = 0;
  std::size_t count = 0;
  while (count < probability.size() && below + probability[count] <= tail) below += probability[count++];
  return count;
}

/// At most this many samples, evenly by rank: more hardly narrow the interval, and all ratios are looked at.
std::vector<double> thinned(std::span<const double> samples) {
  constexpr std::size_t most = 400;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  if (sorted.size() <= most) return sorted;
  std::vector<double> some;
  for (std::size_t k = 0; k < most; ++k) some.push_back(sorted[k * (sorted.size() - 1) / (most - 1)]);
  return some;
}

/// What an entry is compared by. The best config of a kernel is one contender, whichever it is.
std::string contender_name(const case_result& c, const entry_result& e) {
  const auto same_group = [&](const entry_result& other) {
    return other.ours && other.group == e.group && other.order == e.order && other.times[setting::warm].has_value();
  };
  if (!e.ours || e.group == "plan" || std::ranges::count_if(c.entries, same_group) != 1) return e.name;
  return "best " + e.group;
}

using line_key = std::tuple<std::string, value_type, layout, std::int64_t, std::string, layout>;

struct located {
  const case_result* of;
  const entry_result* entry;
};

/// Entries that have times or should have.
std::map<line_key, located> entries_by_key(const run_result& run) {
  std::map<line_key, located> found;
  for (const case_result& c : run.cases) {
    for (const entry_result& e : c.entries) {
      found[{run.matrices[c.matrix].name, c.type, c.order, c.cols, contender_name(c, e), e.order}] = {&c, &e};
    }
  }
  return found;
}

bool is_timed(const entry_result& e) {
  return (e.status == entry_status::ok || e.status == entry_status::inaccurate) && e.times[setting::warm].has_value();
}

std::string line_name(const run_result& run, const case_result& c) {
  return name_of(run, c) + (c.order == layout::col_major ? " col-major" : "");
}

}  // namespace

std::optional<ratio_interval> estimate_ratio(std::span<const double> before, std::span<const double> after,
                                             double confidence) {
  if (before.empty() || after.empty()) return std::nullopt;
  const auto old_samples = thinned(before), new_samples = thinned(after);
  const std::size_t skipped = outside(old_samples.size(), new_samples.size(), confidence);
  if (skipped == 0) return std::nullopt;
  std::vector<double> ratios;
  for (const double b : old_samples) {
    for (const double a : new_samples) ratios.push_back(a / b);
  }
  std::ranges::sort(ratios);
  return ratio_interval{quantile(ratios, 0.5), ratios[skipped - 1], ratios[ratios.size() - skipped]};
}

std::vector<double> samples_of(const time_statistics& times) {
  if (!times.samples.empty()) return times.samples;
  const std::pair<double, double> known[] = {
      {0.0, times.min}, {0.1, times.p10}, {0.5, times.median}, {0.9, times.p90}, {1.0, times.max}};
  const auto count = std::clamp<std::int64_t>(times.num_samples, 1, 400);
  if (count == 1) return {times.median};
  std::vector<double> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    const double p = static_cast<double>(i) / static_cast<double>(count - 1);
    std::size_t k = 1;
    while (k < 4 && p > known[k].first) ++k;
    const auto [from, low] = known[k - 1];
    const auto [to, high] = known[k];
    samples.push_back(low + (p - from) / (to - from) * (high - low));
  }
  return samples;
}

std::string_view to_string(change what) {
  switch (what) {
    case change::same:
      return "same";
    case change::faster:
      return "faster";
    case change::slower:
      return "slower";
    case change::unclear:
      return "unclear";
  }
  return "unknown";
}

change judge_change(const std::optional<ratio_interval>& ratio, const compare_options& options) {
  if (!ratio) return change::unclear;
  if (ratio->low > 1 + options.min_change) return change::slower;
  if (ratio->high < 1 / (1 + options.min_change)) return change::faster;
  const double most = 1 + options.same_within;
  return ratio->low >= 1 / most && ratio->high <= most ? change::same : change::unclear;
}

std::int64_t run_comparison::count(change what, bool ours) const {
  return std::ranges::count_if(lines, [&](const compared_line& l) { return l.verdict == what && l.ours == ours; });
}

bool run_comparison::is_worse() const { return count(change::slower, true) > 0 || !broken.empty(); }

run_comparison compare_runs(const run_result& before, const run_result& after, const compare_options& options) {
  run_comparison all;
  std::map<std::string, std::uint64_t> checksums;
  for (const matrix_facts& m : before.matrices) checksums[m.name] = m.checksum;
  for (const matrix_facts& m : after.matrices) {
    const auto known = checksums.find(m.name);
    if (known != checksums.end() && known->second != m.checksum) all.other_matrices.push_back(m.name);
  }
  const auto is_other = [&](const std::string& name) { return std::ranges::count(all.other_matrices, name) > 0; };
  const auto now = entries_by_key(after), then = entries_by_key(before);
  for (const auto& [key, found] : now) {
    const auto old = then.find(key);
    all.num_added += is_timed(*found.entry) && (old == then.end() || !is_timed(*old->second.entry)) ? 1 : 0;
  }
  for (const case_result& c : before.cases) {
    const std::string& matrix = before.matrices[c.matrix].name;
    if (is_other(matrix)) continue;
    for (const entry_result& e : c.entries) {
      if (!is_timed(e)) continue;
      const std::string contender = contender_name(c, e);
      const std::string entry = e.order == c.order ? contender : core::format("{} ({})", contender, to_string(e.order));
      const auto found = now.find({matrix, c.type, c.order, c.cols, contender, e.order});
      if (found == now.end() || !is_timed(*found->second.entry)) {
        const bool is_broken = e.ours && found != now.end() && found->second.entry->status != entry_status::ok;
        (is_broken ? all.broken : all.gone).push_back(core::format("{}: {}", line_name(before, c), entry));
        continue;
      }
      const entry_result& later = *found->second.entry;
      for (const setting in : all_settings) {
        if (!e.times[in] || !later.times[in]) continue;
        const time_statistics &t0 = *e.times[in], &t1 = *later.times[in];
        compared_line line{.name = line_name(before, c), .entry = entry, .ours = e.ours, .in = in};
        line.before = t0.median;
        line.after = t1.median;
        line.ratio = estimate_ratio(samples_of(t0), samples_of(t1), options.confidence);
        line.verdict = judge_change(line.ratio, options);
        line.by_quantiles = t0.samples.empty() || t1.samples.empty();
        line.kernel_before = e.kernel;
        line.kernel_after = later.kernel;
        all.lines.push_back(std::move(line));
      }
    }
  }
  return all;
}

}  // namespace bcsc::bench
