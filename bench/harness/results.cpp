#include "bench/harness/results.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "bcsc/analysis.hpp"
#include "bcsc/any_matrix.hpp"
#include "core/format.hpp"

namespace bcsc::bench {

namespace {

const entry_result* faster(const entry_result* a, const entry_result& b, setting in = setting::warm) {
  return a == nullptr || b.median(in) < a->median(in) ? &b : a;
}

}  // namespace

std::string_view to_string(entry_status status) {
  switch (status) {
    case entry_status::ok:
      return "ok";
    case entry_status::inaccurate:
      return "inaccurate";
    case entry_status::failed:
      return "failed";
    case entry_status::unavailable:
      return "unavailable";
  }
  return "unknown";
}

matrix_facts facts_of(const loaded_matrix& m) {
  return {.name = m.from.name,
          .source = m.from.is_file ? std::filesystem::path(m.from.source).filename().string() : m.from.source,
          .kind = m.from.kind,
          .pattern_class = m.pattern_class,
          .rows = m.a.rows(),
          .cols = m.a.cols(),
          .nnz = m.a.nnz(),
          .max_row = m.max_row,
          .checksum = m.checksum,
          .seeded_values = m.seeded_values,
          .not_finite = m.a.nnz() - analyse_values(m.a.view()).finite_values(),
          .load_seconds = m.load_seconds};
}

const entry_result* fastest(const case_result& c, std::string_view group, layout order, setting in) {
  const entry_result* best = nullptr;
  for (const entry_result& entry : c.entries) {
    if (entry.timed(in) && entry.group == group && entry.order == order) best = faster(best, entry, in);
  }
  return best;
}

const entry_result* fastest_of_any_accuracy(const case_result& c, std::string_view group, layout order, setting in) {
  const entry_result* best = fastest(c, group, order, in);
  for (const entry_result& entry : c.entries) {
    const bool timed = entry.status == entry_status::inaccurate && entry.times[in].has_value();
    if (timed && entry.group == group && entry.order == order) best = faster(best, entry, in);
  }
  return best;
}

const entry_result* fastest_config(const case_result& c) {
  const entry_result* best = nullptr;
  for (const entry_result& entry : c.entries) {
    if (entry.timed() && entry.ours && entry.group != "plan") best = faster(best, entry);
  }
  return best;
}

double roofline_seconds(std::int64_t rows, std::int64_t inner, std::int64_t cols, std::int64_t nnz, value_type type,
                        double bandwidth, double peak) {
  const roofline_model model = model_spmm(rows, inner, cols, nnz, footprint::csr(rows, nnz, type), type);
  const double moving = bandwidth > 0 ? model.bytes / bandwidth : 0;
  const double computing = peak > 0 ? model.flops / peak : 0;
  return std::max(moving, computing);
}

std::optional<std::int64_t> payback(double convert_seconds, double ours, double rival) {
  const double gain = rival - ours;
  if (!(gain > 0)) return std::nullopt;
  const double products = std::ceil(convert_seconds / gain);
  if (!(products < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(products);
}

verdict judge(const case_result& c, std::string_view main_rival) {
  verdict v{.plan = fastest(c, "plan", c.order), .config = fastest_config(c), .rival = fastest(c, main_rival, c.order)};
  for (const setting in : all_settings) {
    const entry_result* plan = fastest(c, "plan", c.order, in);
    const auto ratio_to = [&](const entry_result* rival) -> std::optional<double> {
      if (plan == nullptr || rival == nullptr) return std::nullopt;
      return rival->median(in) / plan->median(in);
    };
    v.ratios[in] = ratio_to(fastest(c, main_rival, c.order, in));
    v.any_ratios[in] = ratio_to(fastest_of_any_accuracy(c, main_rival, c.order, in));
  }
  if (v.rival == nullptr) return v;
  if (v.config != nullptr) v.config_ratio = v.rival->median() / v.config->median();
  if (v.plan != nullptr) v.payback = payback(v.plan->convert_seconds, v.plan->median(), v.rival->median());
  return v;
}

ratio_summary summarise_ratios(std::span<const named_ratio> ratios) {
  ratio_summary s;
  s.num_cases = static_cast<std::int64_t>(ratios.size());
  if (ratios.empty()) return s;
  double sum_of_logs = 0;
  std::int64_t losses = 0;
  const named_ratio* worst = &ratios.front();
  for (const named_ratio& r : ratios) {
    sum_of_logs += std::log(r.ratio);
    losses += r.ratio < 1 ? 1 : 0;
    if (r.ratio < worst->ratio) worst = &r;
  }
  const auto count = static_cast<double>(ratios.size());
  s.geometric_mean = std::exp(sum_of_logs / count);
  s.worst = worst->ratio;
  s.worst_case = worst->name;
  s.share_of_losses = static_cast<double>(losses) / count;
  return s;
}

std::string name_of(const run_result& run, const case_result& c) {
  return core::format("{} N={} {}", run.matrices[c.matrix].name, c.cols, to_string(c.type));
}

run_ratios collect_ratios(const run_result& run, std::optional<std::int64_t> cols) {
  run_ratios all;
  for (const case_result& c : run.cases) {
    if (cols && c.cols != *cols) continue;
    const verdict v = judge(c, run.main_rival);
    const auto add = [&](std::vector<named_ratio>& to, const std::optional<double>& ratio) {
      if (ratio) to.push_back({*ratio, name_of(run, c)});
    };
    for (const setting in : all_settings) {
      add(all.plan[in], v.ratios[in]);
      add(all.plan_any[in], v.any_ratios[in]);
    }
    add(all.config, v.config_ratio);
  }
  return all;
}

std::int64_t count_failures(const run_result& run) {
  std::int64_t failures = std::ranges::count_if(run.problems, &input_problem::fatal);
  for (const case_result& c : run.cases) {
    failures += std::ranges::count(c.entries, entry_status::failed, &entry_result::status);
  }
  return failures;
}

}  // namespace bcsc::bench
