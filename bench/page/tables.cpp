#include "bench/page/tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "bench/harness/report.hpp"
#include "bench/page/html.hpp"
#include "core/format.hpp"

namespace bcsc::bench {

namespace {

constexpr std::size_t name_width = 60;

html_cell text_cell(std::string_view text) { return {shortened(text, name_width), std::nullopt}; }

using table_row = std::vector<html_cell>;

const std::vector<std::string> spread_header{"cases",          "geometric mean", "lower quartile", "median",
                                             "upper quartile", "worst",          "worst case",     "slower"};

std::vector<std::string> headed(std::vector<std::string> header, const std::vector<std::string>& more) {
  header.insert(header.end(), more.begin(), more.end());
  return header;
}

table_row with_spread(table_row row, const ratio_spread& s) {
  row.push_back(count_cell(s.summary.num_cases));
  for (const double number :
       {s.summary.geometric_mean, s.lower_quartile, s.median, s.upper_quartile, s.summary.worst}) {
    row.push_back(fixed_cell(number));
  }
  row.push_back(text_cell(s.summary.worst_case));
  row.push_back(percent_cell(s.summary.share_of_losses));
  return row;
}

/// Geometric mean of the time in a setting over that back to back, of the plan or of the best rival.
std::optional<double> slow_down(std::span<const judged_case> cases, setting in, bool of_plan) {
  double sum = 0;
  std::int64_t count = 0;
  for (const judged_case& c : cases) {
    const entry_result* entry = of_plan ? c.found.plan : c.found.rival;
    if (entry == nullptr || !entry->timed(in)) continue;
    sum += std::log(entry->median(in) / entry->median());
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(count));
}

std::optional<double> at_share(std::span<const double> ascending, double p) {
  if (ascending.empty()) return std::nullopt;
  return quantile(ascending, p);
}

std::string type_and_layout(const case_result& c) {
  return core::format("{}{}", to_string(c.type), c.order == layout::col_major ? " col-major" : "");
}

}  // namespace

std::string timings_table(std::span<const judged_case> cases) {
  html_table table("timings", "The plan against the best rival, in three timings",
                   headed({"timing"}, headed(spread_header, {"plan slows down", "rival slows down"})));
  for (const setting in : all_settings) {
    const auto ratios = ratios_of(cases, in);
    if (ratios.empty()) continue;
    table_row row = with_spread({text_cell(describe(in))}, spread_of(ratios));
    row.push_back(fixed_cell(slow_down(cases, in, true)));
    row.push_back(fixed_cell(slow_down(cases, in, false)));
    table.add(row);
  }
  return table.html();
}

std::string kinds_table(std::span<const judged_case> cases) {
  std::map<std::string, std::vector<judged_case>> kinds;
  for (const judged_case& c : cases) kinds[c.kind].push_back(c);
  html_table table("by-kind", "By kind of matrix, back to back", headed({"kind"}, spread_header));
  for (const auto& [kind, some] : kinds) {
    const auto ratios = ratios_of(some, setting::warm);
    if (!ratios.empty()) table.add(with_spread({text_cell(kind)}, spread_of(ratios)));
  }
  if (const auto all = ratios_of(cases, setting::warm); !all.empty()) {
    table.add(with_spread({text_cell("all")}, spread_of(all)));
  }
  return table.html();
}

std::string zeros_table(std::span<const judged_case> cases) {
  std::map<double, std::vector<judged_case>> groups;
  for (const judged_case& c : cases) {
    const double all = static_cast<double>(c.matrix->rows) * static_cast<double>(c.matrix->cols);
    const double zeros = all > 0 ? 1 - static_cast<double>(c.matrix->nnz) / all : 1;
    // To 5 % as far as that tells matrices apart; nearly all of the others have more than 99 %.
    groups[zeros < 0.975 ? std::round(20 * zeros) / 20 : zeros < 0.995 ? 0.99 : 1].push_back(c);
  }
  html_table table("by-zeros", "By the share of zeros, back to back", headed({"zeros"}, spread_header));
  for (const auto& [zeros, some] : groups) {
    const auto ratios = ratios_of(some, setting::warm);
    const html_cell label{zeros == 1      ? "above 99.5 %"
                          : zeros == 0.99 ? "97.5 to 99.5 %"
                                          : core::format("about {:.0f} %", 100 * zeros),
                          zeros};
    if (!ratios.empty()) table.add(with_spread({label}, spread_of(ratios)));
  }
  return table.html();
}

std::string columns_table(std::span<const judged_case> cases) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<judged_case>> groups;
  for (const judged_case& c : cases) groups[{type_and_layout(*c.of), c.of->cols}].push_back(c);
  html_table table("by-columns", "By type and N, back to back", headed({"type", "N"}, spread_header));
  for (const auto& [key, some] : groups) {
    const auto ratios = ratios_of(some, setting::warm);
    if (!ratios.empty()) table.add(with_spread({text_cell(key.first), count_cell(key.second)}, spread_of(ratios)));
  }
  return table.html();
}

std::string profile_table(std::span<const judged_case> cases) {
  const auto count = static_cast<std::int64_t>(cases.size());
  html_table table("contenders",
                   "Contenders: the share of all cases in which one is at most this many times as slow as the fastest",
                   {"contender", "timed", "fastest", "1.1 times", "1.5 times", "2 times", "4 times", "worst"});
  for (const performance_profile& p : performance_profiles(cases)) {
    table_row row{text_cell(p.name), count_cell(static_cast<std::int64_t>(p.ratios.size()))};
    for (const double tau : {1.0, 1.1, 1.5, 2.0, 4.0}) row.push_back(percent_cell(p.at(tau, count)));
    row.push_back(fixed_cell(p.ratios.back()));
    table.add(row);
  }
  return table.html();
}

std::string break_even_table(std::span<const judged_case> cases) {
  std::map<std::int64_t, std::vector<judged_case>> by_cols;
  for (const judged_case& c : cases) by_cols[c.of->cols].push_back(c);
  html_table table("conversion",
                   "Conversion: from CSR on the host to a plan that is ready, and the products that pay it back",
                   {"N", "cases", "median time", "median, in products", "paid back after: lower quartile", "median",
                    "upper quartile", "90 %", "never"});
  for (const auto& [cols, some] : by_cols) {
    const break_even found = break_even_of(some);
    if (found.num_cases == 0) continue;
    const std::vector<double> products(found.products.begin(), found.products.end());
    const auto never = static_cast<double>(found.num_cases) - static_cast<double>(products.size());
    table_row row{count_cell(cols), count_cell(found.num_cases), duration_cell(at_share(found.convert_seconds, 0.5)),
                  number_cell(at_share(found.convert_products, 0.5))};
    for (const double p : {0.25, 0.5, 0.75, 0.9}) row.push_back(number_cell(at_share(products, p)));
    row.push_back(percent_cell(never / static_cast<double>(found.num_cases)));
    table.add(row);
  }
  return table.html();
}

std::string best_parameters_table(const run_result& run) {
  const auto all = best_parameters_of(run);
  if (all.empty()) return {};
  html_table table("parameters", "Best parameters of each kernel, over all matrices",
                   {"kernel", "type", "N", "config", "time over the best of each matrix", "matrices", "configs",
                    "fastest most often", "on"});
  for (const best_parameters& b : all) {
    table.add({text_cell(b.algorithm), text_cell(to_string(b.type)), count_cell(b.cols), text_cell(b.config),
               fixed_cell(b.loss), count_cell(b.num_matrices), count_cell(b.num_configs), text_cell(b.most_often),
               count_cell(b.times_fastest)});
  }
  return table.html();
}

std::string cases_table(std::span<const judged_case> drawn) {
  html_table table("cases", "Every case, the worst ratio first",
                   {"matrix", "N", "type", "kernel", "GFLOP/s", "best rival", "its GFLOP/s", "ratio", "one at a time",
                    "cold", "of the roof", "convert", "break-even", "error / bound", "rival's"});
  std::vector<const judged_case*> ranked;
  for (const judged_case& c : drawn) ranked.push_back(&c);
  std::ranges::stable_sort(ranked, {},
                           [](const judged_case* c) { return c->found.ratios[setting::warm].value_or(1e300); });
  for (const judged_case* c : ranked) {
    const entry_result& plan = *c->found.plan;
    const entry_result* rival = c->found.rival;
    const auto of_rival = [&](double value) { return rival != nullptr ? std::optional(value) : std::nullopt; };
    table.add({text_cell(c->matrix->name), count_cell(c->of->cols), text_cell(type_and_layout(*c->of)),
               text_cell(plan.kernel), number_cell(plan.gflops), text_cell(rival != nullptr ? rival->name : "–"),
               number_cell(of_rival(rival != nullptr ? rival->gflops : 0)), fixed_cell(c->found.ratios[setting::warm]),
               fixed_cell(c->found.ratios[setting::single]), fixed_cell(c->found.ratios[setting::cold]),
               percent_cell(plan.roofline_shares[setting::warm]), duration_cell(plan.convert_seconds),
               rival != nullptr && !c->found.payback ? html_cell{"never", std::nullopt} : count_cell(c->found.payback),
               number_cell(plan.error.max_bound_share),
               number_cell(of_rival(rival != nullptr ? rival->error.max_bound_share : 0))});
  }
  return table.html();
}

std::string matrices_table(const run_result& run) {
  html_table table("matrices", "Matrices",
                   {"matrix", "kind", "pattern", "rows", "columns", "non-zeros", "longest row", "checksum", "read in"});
  for (const matrix_facts& m : run.matrices) {
    table.add({text_cell(m.name), text_cell(kind_of(m)), text_cell(m.pattern_class), count_cell(m.rows),
               count_cell(m.cols), count_cell(m.nnz), count_cell(m.max_row),
               text_cell(core::format("{:016x}", m.checksum)), duration_cell(m.load_seconds)});
  }
  return table.html();
}

std::string environment_table(std::span<const results_source> sources) {
  std::vector<std::string> header{"environment"};
  for (const results_source& s : sources) header.push_back(s.name.empty() ? "this run" : s.name);
  html_table table("environment", "Where, when and with what", header);
  const auto row = [&](std::string_view what, const auto& fact) {
    table_row cells{text_cell(what)};
    bool known = false;
    for (const results_source& s : sources) {
      const std::string value = fact(s.machine);
      known = known || !value.empty();
      cells.push_back({value.empty() ? "–" : value, std::nullopt});
    }
    if (known) table.add(cells);
  };
  const auto rate = [](double number, std::string_view unit) {
    return number > 0 ? core::format("{} {}", in_three_digits(1e-9 * number), unit) : std::string();
  };
  const auto mebibytes = [](std::int64_t bytes) {
    return bytes > 0 ? core::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20)) : std::string();
  };
  using facts = const machine_facts&;
  row("date (UTC)", [](facts m) { return m.date; });
  row("bcsc", [](facts m) { return core::format("{} ({})", m.library_version, m.git_hash); });
  row("compiler", [](facts m) { return m.compiler; });
  row("device", [](facts m) { return m.context; });
  row("GPU", [](facts m) { return m.gpu_name; });
  row("GPU memory", [&](facts m) { return mebibytes(m.gpu_memory_bytes); });
  row("GPU L2", [&](facts m) { return mebibytes(m.gpu_l2_bytes); });
  row("driver, SM clock (now, most), memory clock (now, most)", [](facts m) { return m.gpu_clocks; });
  row("CPU", [](facts m) { return m.cpu_model; });
  row("CPUs, threads used", [](facts m) { return core::format("{}, {}", m.num_cpus, m.threads); });
  row("last-level cache", [&](facts m) { return mebibytes(m.caches.l3); });
  row("copy bandwidth", [&](facts m) { return rate(m.copy_bandwidth, "GB/s"); });
  row("cache bandwidth", [&](facts m) { return rate(m.cache_bandwidth, "GB/s"); });
  row("plain cores, fp32", [&](facts m) { return rate(m.peak_fp32, "GFLOP/s"); });
  row("plain cores, fp64", [&](facts m) { return rate(m.peak_fp64, "GFLOP/s"); });
  std::map<std::string, bool> libraries;
  for (const results_source& s : sources) {
    for (const auto& [name, version] : s.machine.versions) libraries[name] = true;
  }
  for (const auto& [name, unused] : libraries) {
    row(name, [&](facts m) {
      const auto found = m.versions.find(name);
      return found != m.versions.end() ? found->second : std::string();
    });
  }
  return table.html();
}

std::string problems_list(const run_result& run) {
  constexpr std::size_t max_listed = 200;
  std::vector<std::string> told;
  for (const input_problem& p : run.problems) {
    told.push_back(core::format("{}: {}: {}", p.fatal ? "failed" : "passed over", p.name, p.message));
  }
  for (const case_result& c : run.cases) {
    if (!c.skipped.empty()) told.push_back(core::format("not measured: {}: {}", name_of(run, c), c.skipped));
    for (const entry_result& e : c.entries) {
      if (e.status != entry_status::failed) continue;
      told.push_back(core::format("failed: {}: {} ({}): {}", name_of(run, c), e.name, to_string(e.order), e.message));
    }
  }
  if (told.empty()) return {};
  std::string items;
  for (std::size_t i = 0; i < std::min(told.size(), max_listed); ++i) {
    items += core::format("<li>{}</li>\n", escaped(shortened(told[i], 400)));
  }
  if (told.size() > max_listed) items += core::format("<li>and {} more</li>\n", told.size() - max_listed);
  return core::format("<ul id=\"problems\">\n{}</ul>\n", items);
}

}  // namespace bcsc::bench
