#include "bench/harness/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace bcsc::bench {

namespace {

std::string gflops_or_dash(const entry_result* e) { return e != nullptr ? fmt::format("{:.1f}", e->gflops) : "-"; }

template <class X>
std::string format_or(fmt::format_string<const X&> format, const std::optional<X>& x, std::string_view otherwise) {
  return x ? fmt::format(format, *x) : std::string(otherwise);
}

std::string describe(const ratio_summary& s) {
  return fmt::format("geometric mean {:.2f}, worst {:.2f} ({}), slower in {:.0f} % of {} cases", s.geometric_mean,
                     s.worst, s.worst_case, 100 * s.share_of_losses, s.num_cases);
}

std::int64_t count_entries(const run_result& run, entry_status status) {
  std::int64_t found = 0;
  for (const case_result& c : run.cases) found += std::ranges::count(c.entries, status, &entry_result::status);
  return found;
}

/// The plan against the faster of MKL's products, back to back, where MKL was found.
std::vector<named_ratio> ratios_to_mkl(const run_result& run) {
  std::vector<named_ratio> ratios;
  for (const case_result& c : run.cases) {
    const entry_result* const plan = fastest(c, "plan", c.order);
    std::optional<double> least;
    for (const std::string_view group : {"mkl", "mkl-mv"}) {
      if (const entry_result* const found = fastest(c, group, c.order)) {
        least = std::min(least.value_or(found->median()), found->median());
      }
    }
    if (plan != nullptr && least) ratios.push_back({*least / plan->median(), name_of(run, c)});
  }
  return ratios;
}

std::vector<text_column> columns_of(const run_result& run) {
  std::vector<text_column> columns{{"matrix", 28, false}, {"N", 6}, {"type", 4}};
  for (const std::string& algorithm : run.algorithms)
    columns.push_back({algorithm, 8, true, &algorithm == &run.algorithms.front()});
  columns.insert(columns.end(), {{"plan", 8, true, true},
                                 {"kernel", 28, false},
                                 {run.main_rival.empty() ? "rival" : run.main_rival, 9, true, true},
                                 {"its best", 20, false},
                                 {"ratio", 6, true, true},
                                 {"single", 6},
                                 {"cold", 6},
                                 {"roof%", 6},
                                 {"convert", 10, true, true},
                                 {"payback", 8},
                                 {"", 13, false}});
  return columns;
}

}  // namespace

void table_printer::say(std::string_view line) { out_ << wrapped(line, room_) << '\n'; }

void table_printer::print_header(const run_result& run) {
  const machine_facts& m = run.machine;
  say(fmt::format("bcsc {} ({}) on {}; copy bandwidth {:.0f} GB/s", m.library_version, m.git_hash, m.context,
                  m.copy_bandwidth * 1e-9));
  say("GFLOP/s on true non-zeros, back to back; ratios: plan to best rival (ratio: back to back; single: one product "
      "at a time; cold: after a flush of the cache), above 1 bcsc is faster");
  columns_ = std::make_unique<text_columns>(columns_of(run), room_);
  out_ << columns_->header();
}

void table_printer::print_case(const run_result& run, const case_result& c) {
  if (!columns_) print_header(run);
  const verdict v = judge(c, run.main_rival);
  std::vector<std::string> cells{run.matrices[c.matrix].name, std::to_string(c.cols), std::string(to_string(c.type))};
  for (const std::string& algorithm : run.algorithms) cells.push_back(gflops_or_dash(fastest(c, algorithm, c.order)));
  cells.push_back(gflops_or_dash(v.plan));
  cells.emplace_back(v.plan != nullptr ? v.plan->kernel : "-");
  cells.push_back(gflops_or_dash(v.rival));
  cells.emplace_back(v.rival != nullptr ? v.rival->name : "-");
  for (const setting in : all_settings) cells.push_back(format_or<double>("{:.2f}", v.ratios[in], "-"));
  cells.emplace_back(v.plan != nullptr ? fmt::format("{:.0f}", 100 * v.plan->roofline_shares[setting::warm]) : "-");
  cells.emplace_back(v.plan != nullptr ? fmt::format("{:.2f} ms", 1e3 * v.plan->convert_seconds) : "-");
  cells.push_back(v.plan == nullptr || v.rival == nullptr ? "-" : format_or<std::int64_t>("{}", v.payback, "never"));
  const bool failed = std::ranges::count(c.entries, entry_status::failed, &entry_result::status) > 0;
  cells.emplace_back(failed ? " FAILED" : c.skipped.empty() ? "" : " not measured");
  out_ << columns_->row(cells);
  out_.flush();
}

void table_printer::say_ratios(const run_result& run) {
  const run_ratios all = collect_ratios(run);
  if (all.plan[setting::warm].empty()) return say("no rival was timed beside the plan: no ratios");
  say(fmt::format("speed relative to the best {} in the same layout (above 1: bcsc is faster)", run.main_rival));
  const auto line = [&](std::string_view what, const std::vector<named_ratio>& ratios) {
    if (!ratios.empty()) say(fmt::format("  {:<27}{}", what, describe(summarise_ratios(ratios))));
  };
  for (const setting in : all_settings) line(fmt::format("plan, {}:", describe(in)), all.plan[in]);
  line("best config, back to back:", all.config);
  line("plan against MKL:", ratios_to_mkl(run));
  if (count_entries(run, entry_status::inaccurate) > 0) {
    line("and inaccurate rivals:", all.plan_any[setting::warm]);
  }
  std::set<std::int64_t> widths;
  for (const case_result& c : run.cases) widths.insert(c.cols);
  if (widths.size() < 2) return;
  for (const std::int64_t cols : widths) {
    line(fmt::format("plan, N = {}:", cols), collect_ratios(run, cols).plan[setting::warm]);
  }
}

void table_printer::say_what_went_wrong(const run_result& run) {
  for (const matrix_facts& m : run.matrices) {
    if (m.not_finite == 0) continue;
    say(fmt::format("not finite: {}: {} values; where they make C infinite or NaN, its class is compared", m.name,
                    m.not_finite));
  }
  for (const input_problem& p : run.problems) {
    say(fmt::format("{}: {}: {}", p.fatal ? "FAILED" : "passed over", p.name, p.message));
  }
  for (const case_result& c : run.cases) {
    if (!c.skipped.empty()) say(fmt::format("not measured: {}: {}", name_of(run, c), c.skipped));
    for (const entry_result& e : c.entries) {
      if (e.status == entry_status::failed) {
        say(fmt::format("FAILED: {}: {} ({}): {}", name_of(run, c), e.name, to_string(e.order), e.message));
      }
    }
  }
}

/// Rivals that could not be measured (unavailable), or were but do not count (inaccurate): each reason once.
void table_printer::say_rivals(const run_result& run, entry_status status) {
  std::set<std::string> told;
  for (const case_result& c : run.cases) {
    for (const entry_result& e : c.entries) {
      if (e.status != status) continue;
      const std::string line = fmt::format("{}: {} ({}): {}", to_string(status), e.name, to_string(e.order), e.message);
      if (told.insert(line).second && told.size() <= 20) say(line);
    }
  }
  if (told.size() > 20) say(fmt::format("... and {} more; the JSON has all", told.size() - 20));
}

/// Where the GPU replays products, the host's part is in no ratio.
void table_printer::say_starts(const run_result& run) {
  std::vector<double> ours, theirs;
  for (const case_result& c : run.cases) {
    const verdict v = judge(c, run.main_rival);
    if (v.plan == nullptr || v.rival == nullptr || !v.plan->start_seconds || !v.rival->start_seconds) continue;
    ours.push_back(*v.plan->start_seconds);
    theirs.push_back(*v.rival->start_seconds);
  }
  if (ours.empty()) return;
  say(fmt::format(
      "starting a product takes the host {:.1f} us, {:.1f} us for the best {} (medians); back to back the GPU "
      "replays a recorded graph",
      1e6 * summarise(std::move(ours), 1).median, 1e6 * summarise(std::move(theirs), 1).median, run.main_rival));
}

void table_printer::say_steadiness(const run_result& run) {
  std::int64_t checked = 0, unsteady = 0;
  double worst_share = 0;
  for (const case_result& c : run.cases) {
    for (const entry_result& e : c.entries) {
      if (!e.timed()) continue;
      const time_statistics& warm = *e.times[setting::warm];
      unsteady += warm.p90 > 2 * warm.p10 ? 1 : 0;
      if (!e.bounded) continue;
      ++checked;
      worst_share = std::max(worst_share, e.error.max_bound_share);
    }
  }
  if (unsteady > 0) {
    say(fmt::format("{} results are unsteady (90th percentile over twice the 10th): was the machine busy?", unsteady));
  }
  say(fmt::format("{} results checked before they were timed, the worst error {:.2f} of its bound; {} failed; {:.0f} s",
                  checked, worst_share, count_failures(run), run.seconds));
}

void table_printer::print_summary(const run_result& run) {
  if (!columns_) print_header(run);
  out_ << '\n';
  say_ratios(run);
  say_starts(run);
  say_rivals(run, entry_status::unavailable);
  say_rivals(run, entry_status::inaccurate);
  say_what_went_wrong(run);
  say_steadiness(run);
}

}  // namespace bcsc::bench
