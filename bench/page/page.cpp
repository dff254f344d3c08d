#include "bench/page/page.hpp"

#include <array>

#include "bench/page/figures.hpp"
#include "bench/page/html.hpp"
#include "bench/page/report_facts.hpp"
#include "bench/page/style.hpp"
#include "bench/page/tables.hpp"
#include "core/format.hpp"
#include "core/new_file.hpp"

namespace bcsc::bench {

namespace {

/// The answer in a few sentences.
std::string summary_of(const run_result& run, std::span<const judged_case> cases) {
  const auto warm = ratios_of(cases, setting::warm);
  if (warm.empty()) return "<p id=\"summary\">No rival was timed beside the plan: there are no ratios.</p>\n";
  std::string text;
  for (const setting in : all_settings) {
    const auto ratios = ratios_of(cases, in);
    if (ratios.empty()) continue;
    const ratio_summary s = summarise_ratios(ratios);
    text += core::format(
        "<p id=\"summary-{}\"><b>{:.2f}×</b> the fastest {} {} (geometric mean of {} products). Slower in {:.1f} %; "
        "worst "
        "{:.2f} ({}).</p>\n",
        to_string(in), s.geometric_mean, escaped(run.main_rival), describe(in), s.num_cases, 100 * s.share_of_losses,
        s.worst, escaped(shortened(s.worst_case, 80)));
  }
  return text;
}

std::string place_of(const machine_facts& m) {
  return m.gpu_name.empty() ? core::format("{}, {} threads", m.cpu_model, m.threads) : m.gpu_name;
}

std::string section(std::string_view title, const std::string& content) {
  return content.empty() ? "" : core::format("<section><h2>{}</h2>\n{}</section>\n", escaped(title), content);
}

}  // namespace

std::string page_of(const run_result& run, std::span<const results_source> sources) {
  const auto cases = judged_cases(run);
  const auto drawn = drawn_cases(cases);
  const std::string title =
      core::format("bcsc against {} on {}", run.main_rival.empty() ? "nothing" : run.main_rival, place_of(run.machine));
  std::string note = core::format(
      "<p class=\"faint\">bcsc {} ({}), {}. Every result was compared with a reference in higher precision before it "
      "was "
      "timed. Ratios are the fastest rival's time over the plan's, in the same layout.</p>\n",
      escaped(run.machine.library_version), escaped(run.machine.git_hash), escaped(run.machine.date));
  if (drawn.size() < cases.size()) {
    note += core::format(
        "<p class=\"faint\">Of {} cases {} are drawn and listed one by one, evenly by the rank of their ratio; all "
        "other "
        "numbers are over all of them.</p>\n",
        cases.size(), drawn.size());
  }
  std::string body = core::format("<h1>{}</h1>\n", escaped(title)) + summary_of(run, cases) + note;
  if (!cases.empty()) {
    body +=
        section("Plots", "<div class=\"plots\">\n" + roofline_figure(run, drawn) + profile_figure(cases) +
                             ratio_figure(cases, drawn) + break_even_figure(cases) + error_figure(drawn) + "</div>\n");
    body += section("Three timings", timings_table(cases));
    body += section("Kinds of matrices", kinds_table(cases) + zeros_table(cases));
    body += section("Types and columns", columns_table(cases));
    body += section("Contenders", profile_table(cases));
    body += section("Conversion", break_even_table(cases));
    body += section("Parameters", best_parameters_table(run));
    body += section("Cases", "<div class=\"tall\">" + cases_table(drawn) + "</div>\n");
  }
  body += section("Not measured, or wrong", problems_list(run));
  body += section("Matrices", "<div class=\"tall\">" + matrices_table(run) + "</div>\n");
  body += section("Environment", environment_table(sources));
  return core::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src "
      "'unsafe-inline'\"/>\n<title>{}</title>\n<style>{}</style></head>\n<body>\n{}<script>{}</script>\n</body></"
      "html>\n",
      escaped(title), page_style, body, page_script);
}

std::string page_of(const run_result& run) {
  const std::array<results_source, 1> source{{{"", run.machine, run.seconds}}};
  return page_of(run, source);
}

void write_page(const std::string& page, const std::filesystem::path& path) { core::write_new_file(path, page); }

}  // namespace bcsc::bench
