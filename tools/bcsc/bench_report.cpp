#include "tools/bcsc/bench_report.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bench/harness/compare.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/read_results.hpp"
#include "bench/page/page.hpp"
#include "core/fail.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/process.hpp"

namespace bcsc::cli {
namespace {

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

/// "-1.2 % to +0.4 %"
std::string as_interval(const std::optional<bench::ratio_interval>& ratio) {
  return ratio ? percent(ratio->low) + " to " + percent(ratio->high) : "too few samples";
}

/// What the rivals, whose code is the same in both runs, differ by: what the machine does.
struct control {
  std::int64_t lines = 0;
  double median = 1, p10 = 1, p90 = 1;
};
control control_of(const bench::run_comparison& found) {
  std::vector<double> ratios;
  for (const bench::compared_line& line : found.lines) {
    if (!line.ours) ratios.push_back(line.after / line.before);
  }
  if (ratios.empty()) return {};
  std::ranges::sort(ratios);
  const auto at = [&](double p) { return bench::quantile(ratios, p); };
  return {static_cast<std::int64_t>(ratios.size()), at(0.5), at(0.1), at(0.9)};
}

/// Geometric mean of after over before, of our lines.
std::optional<double> mean_ratio(const bench::run_comparison& found) {
  double sum = 0;
  std::int64_t count = 0;
  for (const bench::compared_line& line : found.lines) {
    if (!line.ours) continue;
    sum += std::log(line.after / line.before);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(count));
}

nlohmann::ordered_json to_json(const bench::compared_line& line) {
  nlohmann::ordered_json j{{"case", line.name},
                           {"entry", line.entry},
                           {"ours", line.ours},
                           {"timing", to_string(line.in)},
                           {"before", line.before},
                           {"after", line.after},
                           {"verdict", to_string(line.verdict)}};
  for (const char* const key : {"ratio", "low", "high"}) j[key] = nullptr;
  if (line.ratio) {
    j["ratio"] = line.ratio->estimate;
    j["low"] = line.ratio->low;
    j["high"] = line.ratio->high;
  }
  j["by_quantiles"] = line.by_quantiles;
  if (line.kernel_before != line.kernel_after) {
    j["kernel_before"] = line.kernel_before;
    j["kernel_after"] = line.kernel_after;
  }
  return j;
}

nlohmann::ordered_json counts_of(const bench::run_comparison& found, bool ours) {
  nlohmann::ordered_json counts;
  for (const bench::change what :
       {bench::change::same, bench::change::faster, bench::change::slower, bench::change::unclear}) {
    counts[std::string(to_string(what))] = found.count(what, ours);
  }
  return counts;
}

void fill_json(const bench::run_comparison& found, nlohmann::ordered_json& json) {
  json["ours"] = counts_of(found, true);
  json["rivals"] = counts_of(found, false);
  const auto mean = mean_ratio(found);
  json["geometric_mean_ratio"] = mean ? nlohmann::ordered_json(*mean) : nlohmann::ordered_json(nullptr);
  const control rivals = control_of(found);
  json["rivals_ratio"] = {{"lines", rivals.lines}, {"median", rivals.median}, {"p10", rivals.p10}, {"p90", rivals.p90}};
  json["broken"] = found.broken;
  json["gone"] = found.gone;
  json["added"] = found.num_added;
  json["other_matrices"] = found.other_matrices;
  json["worse"] = found.is_worse();
  auto& lines = json["lines"] = nlohmann::ordered_json::array();
  for (const bench::compared_line& line : found.lines) lines.push_back(to_json(line));
}

/// Those of ours that are not the same, the worst first.
void show_changes(const bench::run_comparison& found, const output& out) {
  std::vector<const bench::compared_line*> changed;
  for (const bench::compared_line& line : found.lines) {
    if (line.ours && line.verdict != bench::change::same) changed.push_back(&line);
  }
  if (changed.empty()) return;
  std::ranges::stable_sort(changed, std::greater<>(),
                           [](const bench::compared_line* l) { return l->after / l->before; });
  table shown({"case", "entry", "timing", "before", "after", "change", "95 % interval", "verdict"});
  for (const bench::compared_line* l : changed) {
    const std::string verdict(to_string(l->verdict));
    shown.add({l->name, l->entry, std::string(bench::describe(l->in)), as_seconds(l->before), as_seconds(l->after),
               percent(l->ratio ? l->ratio->estimate : l->after / l->before), as_interval(l->ratio),
               l->kernel_before == l->kernel_after
                   ? verdict
                   : fmt::format("{}, {} instead of {}", verdict, l->kernel_after, l->kernel_before)});
  }
  shown.print(out);
  out.line();
}

void show_counts(std::string_view who, const bench::run_comparison& found, bool ours, const output& out) {
  const auto count = [&](bench::change what) { return found.count(what, ours); };
  out.line("{}: {} slower, {} faster, {} the same, {} unclear", who, count(bench::change::slower),
           count(bench::change::faster), count(bench::change::same), count(bench::change::unclear));
}

void show_names(std::string_view what, const std::vector<std::string>& names, const output& out) {
  constexpr std::size_t most = 20;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) out.line("{}: {}", what, names[i]);
  if (names.size() > most) out.line("{}: {} more; --json has all", what, names.size() - most);
}

/// That something is compared: two files that have nothing in common show no change, and prove nothing.
void require_common_cases(const bench::run_comparison& found, const bench_command_options& options) {
  if (!found.lines.empty() || found.is_worse()) return;
  core::fail(errc::invalid_argument,
             "--compare {} {}: nothing can be compared: no case is timed in both ({} only before, {} only after{})",
             options.compare.at(0), options.compare.at(1), found.gone.size(), found.num_added,
             found.other_matrices.empty() ? "" : fmt::format(", {} of another matrix", found.other_matrices.size()));
}

void show_differences(const bench::machine_facts& before, const bench::machine_facts& after, const output& out) {
  const auto differ = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) out.line("{} differ: {} before, {} after", what, a, b);
  };
  differ("devices", before.context, after.context);
  differ("clocks", before.gpu_clocks, after.gpu_clocks);
  differ("compilers", before.compiler, after.compiler);
}

}  // namespace

void write_report(const std::string& folder, const bench::run_result& run,
                  std::span<const bench::results_source> sources, output& out) {
  const std::filesystem::path path = std::filesystem::path(folder) / report_page;
  const std::string page = sources.empty() ? bench::page_of(run) : bench::page_of(run, sources);
  {
    const ends_by_itself soon;
    bench::write_page(page, path);
  }
  out.json()["report"] = path.string();
  out.line("written: {}", path.string());
}

int report_results_of(const bench_command_options& options, output& out) {
  require_output_folder("--report", options.report);
  const std::vector<std::filesystem::path> files(options.results.begin(), options.results.end());
  const bench::merged_results merged = bench::merge_results(files);
  out.json()["cases"] = merged.run.cases.size();
  write_report(options.report, merged.run, merged.sources, out);
  return exit_ok;
}

int compare_results(const bench_command_options& options, output& out) {
  const bench::run_result before = bench::read_results(options.compare.at(0));
  const bench::run_result after = bench::read_results(options.compare.at(1));
  const bench::run_comparison found = bench::compare_runs(before, after);
  require_common_cases(found, options);
  fill_json(found, out.json());
  show_differences(before.machine, after.machine, out);
  show_changes(found, out);
  show_names("broken", found.broken, out);
  show_names("not measured again", found.gone, out);
  show_names("another matrix of this name", found.other_matrices, out);
  if (std::ranges::any_of(found.lines, &bench::compared_line::by_quantiles)) {
    out.line("a file holds no samples: they are taken on the line through its quantiles");
  }
  show_counts("ours", found, true, out);
  show_counts("rivals", found, false, out);
  if (const control rivals = control_of(found); rivals.lines > 0) {
    out.line("the rivals, whose code is the same, take {} (median; 80 % of them {} to {}): what the machine differs by",
             percent(rivals.median), percent(rivals.p10), percent(rivals.p90));
  }
  if (const auto mean = mean_ratio(found)) out.line("ours take {} in the geometric mean", percent(*mean));
  return found.is_worse() ? exit_not_met : exit_ok;
}

}  // namespace bcsc::cli
