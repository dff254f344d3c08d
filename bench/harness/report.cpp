#include "bench/harness/report.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <ostream>
#include <set>

#include "bench/harness/json.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

// --- JSON -----------------------------------------------------------------------------------------------------------

template <class X>
json value_or_null(const std::optional<X>& x) {
  return x ? json(*x) : json(nullptr);
}

/// Keys for warm products have the plain name, others the setting as a prefix: "ratio", "cold_ratio".
std::string key(std::string_view what, setting in) {
  return in == setting::warm ? std::string(what) : fmt::format("{}_{}", to_string(in), what);
}

json to_json(const entry_result& e) {
  json j = {{"name", e.name},
            {"group", e.group},
            {"ours", e.ours},
            {"layout", to_string(e.order)},
            {"status", to_string(e.status)},
            {"message", e.message}};
  if (e.ours) {
    j["kernel"] = e.kernel;
    j["reason"] = e.reason;
    j["m_block"] = e.m_block;
  }
  j["convert_seconds"] = e.convert_seconds;
  j["bounded"] = e.bounded;
  j["max_error"] = finite_or_null(e.error.max_error);
  j["bound_share"] = finite_or_null(e.error.max_bound_share);
  j["violations"] = e.error.violations;
  j["by_class"] = e.error.by_class;
  j["unchecked"] = e.error.unchecked;
  j["gflops"] = e.gflops;
  for (const setting in : all_settings) {
    j[std::string(to_string(in))] = to_json(e.times[in]);
    j[key("roofline_share", in)] = e.roofline_shares[in];
  }
  return j;
}

json name_or_null(const entry_result* e) { return e != nullptr ? json(e->name) : json(nullptr); }

json to_json(const run_result& run, const case_result& c) {
  const verdict v = judge(c, run.main_rival);
  json entries = json::array();
  for (const entry_result& e : c.entries) entries.push_back(to_json(e));
  json j = {{"matrix", run.matrices[c.matrix].name},
            {"cols", c.cols},
            {"type", to_string(c.type)},
            {"layout", to_string(c.order)},
            {"roofline_seconds", c.roofline_seconds},
            {"skipped", c.skipped},
            {"best_row", name_or_null(v.config)},
            {"best_rival", name_or_null(v.rival)},
            {"best_row_ratio", value_or_null(v.config_ratio)},
            {"payback_products", value_or_null(v.payback)}};
  for (const setting in : all_settings) {
    j[key("ratio", in)] = value_or_null(v.ratios[in]);
    j[key("ratio_any", in)] = value_or_null(v.any_ratios[in]);
  }
  j["entries"] = std::move(entries);
  return j;
}

// --- Ratios over all cases ------------------------------------------------------------------------------------------

struct run_ratios {
  per_setting<std::vector<named_ratio>> plan, plan_any;
  std::vector<named_ratio> config;
};

template <class Keep>
run_ratios collect_ratios(const run_result& run, Keep keep) {
  run_ratios all;
  for (const case_result& c : run.cases) {
    if (!keep(c)) continue;
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

run_ratios collect_ratios(const run_result& run) {
  return collect_ratios(run, [](const case_result&) { return true; });
}

json to_json(const ratio_summary& s) {
  return {{"cases", s.num_cases},
          {"geometric_mean", s.geometric_mean},
          {"worst", s.worst},
          {"worst_case", s.worst_case},
          {"share_of_losses", s.share_of_losses}};
}

// --- Files ----------------------------------------------------------------------------------------------------------

std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip_header = 16;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_header, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    core::fail(errc::io_error, "zlib: deflateInit2 failed");
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) core::fail(errc::io_error, "zlib: deflate failed with {}", status);
  return packed;
}

// --- Table ----------------------------------------------------------------------------------------------------------

constexpr int name_width = 28;

std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 1) + "~";
}

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

void print_ratios(std::ostream& out, const run_result& run) {
  const run_ratios all = collect_ratios(run);
  if (all.plan[setting::warm].empty()) {
    out << "no rival was timed beside the plan: no ratios\n";
    return;
  }
  out << fmt::format("speed relative to the best {} in the same layout (above 1: bcsc is faster)\n", run.main_rival);
  const auto line = [&](std::string_view what, const std::vector<named_ratio>& ratios) {
    if (!ratios.empty()) out << fmt::format("  {:<27}{}\n", what, describe(summarise_ratios(ratios)));
  };
  for (const setting in : all_settings) line(fmt::format("plan, {}:", describe(in)), all.plan[in]);
  line("best config, back to back:", all.config);
  if (count_entries(run, entry_status::inaccurate) > 0) {
    line("and inaccurate rivals:", all.plan_any[setting::warm]);
  }
  std::set<std::int64_t> widths;
  for (const case_result& c : run.cases) widths.insert(c.cols);
  if (widths.size() < 2) return;
  for (const std::int64_t cols : widths) {
    const auto some = collect_ratios(run, [&](const case_result& c) { return c.cols == cols; });
    line(fmt::format("plan, N = {}:", cols), some.plan[setting::warm]);
  }
}

void print_what_went_wrong(std::ostream& out, const run_result& run) {
  for (const matrix_facts& m : run.matrices) {
    if (m.not_finite == 0) continue;
    out << fmt::format("not finite: {}: {} values; where they make C infinite or NaN, its class is compared\n", m.name,
                       m.not_finite);
  }
  for (const input_problem& p : run.problems) {
    out << fmt::format("{}: {}: {}\n", p.fatal ? "FAILED" : "passed over", p.name, p.message);
  }
  for (const case_result& c : run.cases) {
    if (!c.skipped.empty()) out << fmt::format("not measured: {}: {}\n", name_of(run, c), c.skipped);
    for (const entry_result& e : c.entries) {
      if (e.status == entry_status::failed) {
        out << fmt::format("FAILED: {}: {} ({}): {}\n", name_of(run, c), e.name, to_string(e.order), e.message);
      }
    }
  }
}

/// Rivals that could not be measured (unavailable), or were but do not count (inaccurate): each reason once.
void print_rivals(std::ostream& out, const run_result& run, entry_status status) {
  std::set<std::string> told;
  for (const case_result& c : run.cases) {
    for (const entry_result& e : c.entries) {
      if (e.status != status) continue;
      const std::string line = fmt::format("{}: {} ({}): {}", to_string(status), e.name, to_string(e.order), e.message);
      if (told.insert(line).second && told.size() <= 20) out << line << '\n';
    }
  }
  if (told.size() > 20) out << fmt::format("... and {} more; the JSON has all\n", told.size() - 20);
}

}  // namespace

std::string name_of(const run_result& run, const case_result& c) {
  return fmt::format("{} N={} {}", run.matrices[c.matrix].name, c.cols, to_string(c.type));
}

std::string to_json_text(const run_result& run) {
  json matrices = json::array(), cases = json::array(), problems = json::array();
  for (const matrix_facts& m : run.matrices) matrices.push_back(to_json(m));
  for (const case_result& c : run.cases) cases.push_back(to_json(run, c));
  for (const input_problem& p : run.problems) {
    problems.push_back({{"name", p.name}, {"message", p.message}, {"fatal", p.fatal}});
  }
  const run_ratios ratios = collect_ratios(run);
  json summary = {{"best_row_warm", to_json(summarise_ratios(ratios.config))}, {"failures", count_failures(run)}};
  for (const setting in : all_settings) {
    summary[fmt::format("plan_{}", to_string(in))] = to_json(summarise_ratios(ratios.plan[in]));
    summary[fmt::format("plan_{}_any", to_string(in))] = to_json(summarise_ratios(ratios.plan_any[in]));
  }
  const json all = {{"schema", json_schema},
                    {"machine", to_json(run.machine)},
                    {"main_rival", run.main_rival},
                    {"algorithms", run.algorithms},
                    {"seed", run.seed},
                    {"compute", to_string(run.compute)},
                    {"thorough", run.thorough},
                    {"seconds", run.seconds},
                    {"matrices", matrices},
                    {"cases", cases},
                    {"problems", problems},
                    {"summary", summary}};
  // Names come from file names, which need not be UTF-8.
  return all.dump(1, ' ', false, json::error_handler_t::replace);
}

std::filesystem::path write_text(std::string_view text, const std::filesystem::path& path) {
  const bool asks_for_gzip = path.extension() == ".gz";
  const bool compress = asks_for_gzip || text.size() > gzip_above_bytes;
  std::filesystem::path target = path;
  if (compress && !asks_for_gzip) target += ".gz";
  std::filesystem::path beside = target;
  beside += ".part";
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    if (compress) {
      file << gzip(text);
    } else {
      file << text;
    }
    file.close();
    if (!file) {
      std::error_code ignored;
      std::filesystem::remove(beside, ignored);
      core::fail(errc::io_error, "{}: cannot be written", target.string());
    }
  }
  std::error_code status;
  std::filesystem::rename(beside, target, status);
  if (status) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    core::fail(errc::io_error, "{}: {}", target.string(), status.message());
  }
  return target;
}

std::filesystem::path write_json(const run_result& run, const std::filesystem::path& path) {
  return write_text(to_json_text(run) + '\n', path);
}

void table_printer::print_header(const run_result& run) {
  const machine_facts& m = run.machine;
  out_ << fmt::format("bcsc {} ({}) on {}; copy bandwidth {:.0f} GB/s\n", m.library_version, m.git_hash, m.context,
                      m.copy_bandwidth * 1e-9);
  out_ << "GFLOP/s on true non-zeros, back to back; ratios: plan to best rival (ratio: back to back; single: one "
          "product "
          "at a time; cold: after a flush of the cache), above 1 bcsc is faster\n";
  out_ << fmt::format("{:<{}} {:>6} {:>4}", "matrix", name_width, "N", "type");
  if (!run.algorithms.empty()) out_ << " |";
  for (const std::string& algorithm : run.algorithms) out_ << fmt::format(" {:>8}", algorithm);
  out_ << fmt::format(" | {:>8} {:<28} | {:>8} {:<20} | {:>6} {:>6} {:>6} {:>6} | {:>9} {:>8}\n", "plan", "kernel",
                      run.main_rival.empty() ? "rival" : run.main_rival, "its best", "ratio", "single", "cold", "roof%",
                      "convert", "payback");
  header_done_ = true;
}

void table_printer::print_case(const run_result& run, const case_result& c) {
  if (!header_done_) print_header(run);
  const verdict v = judge(c, run.main_rival);
  out_ << fmt::format("{:<{}} {:>6} {:>4}", shortened(run.matrices[c.matrix].name, name_width), name_width, c.cols,
                      to_string(c.type));
  if (!run.algorithms.empty()) out_ << " |";
  for (const std::string& algorithm : run.algorithms) {
    out_ << fmt::format(" {:>8}", gflops_or_dash(fastest(c, algorithm, c.order)));
  }
  const bool failed = std::ranges::count(c.entries, entry_status::failed, &entry_result::status) > 0;
  const auto ratio = [&](setting in) { return format_or<double>("{:.2f}", v.ratios[in], "-"); };
  const std::string pays =
      v.plan == nullptr || v.rival == nullptr ? "-" : format_or<std::int64_t>("{}", v.payback, "never");
  out_ << fmt::format(" | {:>8} {:<28} | {:>8} {:<20} | {:>6} {:>6} {:>6} {:>6} | {:>9} {:>8}{}\n",
                      gflops_or_dash(v.plan), v.plan != nullptr ? shortened(v.plan->kernel, 28) : "-",
                      gflops_or_dash(v.rival), v.rival != nullptr ? shortened(v.rival->name, 20) : "-",
                      ratio(setting::warm), ratio(setting::single), ratio(setting::cold),
                      v.plan != nullptr ? fmt::format("{:.0f}", 100 * v.plan->roofline_shares[setting::warm]) : "-",
                      v.plan != nullptr ? fmt::format("{:.2f} ms", 1e3 * v.plan->convert_seconds) : "-", pays,
                      failed              ? "  FAILED"
                      : c.skipped.empty() ? ""
                                          : "  not measured");
  out_.flush();
}

void table_printer::print_summary(const run_result& run) {
  if (!header_done_) print_header(run);
  out_ << '\n';
  print_ratios(out_, run);
  print_rivals(out_, run, entry_status::unavailable);
  print_rivals(out_, run, entry_status::inaccurate);
  print_what_went_wrong(out_, run);
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
    out_ << fmt::format("{} results are unsteady (90th percentile over twice the 10th): was the machine busy?\n",
                        unsteady);
  }
  out_ << fmt::format(
      "{} results checked before they were timed, the worst error {:.2f} of its bound; {} failed; {:.0f} s\n", checked,
      worst_share, count_failures(run), run.seconds);
}

}  // namespace bcsc::bench
