#include "bench/page/figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "bcsc/analysis.hpp"
#include "bench/page/html.hpp"
#include "bench/page/svg_plot.hpp"
#include "core/format.hpp"

namespace bcsc::bench {

namespace {

/// Classes of the style sheet.
constexpr int plan_colour = 0, rival_colour = 1;
constexpr std::size_t num_colours = 8;
constexpr std::size_t name_width = 60;

enum class key_shape { dot, ring, triangle, line, dashes };

std::string legend_key(key_shape shape, int colour, std::string_view text) {
  std::string sign;
  switch (shape) {
    case key_shape::dot:
      sign = core::format("<circle class=\"m c{}\" cx=\"9\" cy=\"6\" r=\"4\"/>", colour);
      break;
    case key_shape::ring:
      sign = core::format("<circle class=\"o c{}\" cx=\"9\" cy=\"6\" r=\"4\"/>", colour);
      break;
    case key_shape::triangle:
      sign = core::format("<path class=\"m c{}\" d=\"M4 2h10l-5 9z\"/>", colour);
      break;
    case key_shape::line:
    case key_shape::dashes:
      sign = core::format("<path class=\"l c{}{}\" d=\"M0 6H18\"/>", colour, shape == key_shape::dashes ? " dash" : "");
      break;
  }
  return core::format("<span class=\"key\"><svg width=\"18\" height=\"12\" aria-hidden=\"true\">{}</svg>{}</span> ",
                      sign, escaped(text));
}

std::string figure(const svg_plot& plot, std::string_view title, const std::string& keys, std::string_view text) {
  return core::format("<figure><h3>{}</h3>\n{}<figcaption>{}{}</figcaption></figure>\n", escaped(title), plot.svg(),
                      keys.empty() ? "" : "<p class=\"keys\">" + keys + "</p>", escaped(text));
}

std::string gflops(double number) { return in_three_digits(number) + " GFLOP/s"; }

double intensity_of(const judged_case& c) {
  const matrix_facts& m = *c.matrix;
  return model_spmm(m.rows, m.cols, c.of->cols, m.nnz, footprint::csr(m.rows, m.nnz, c.of->type), c.of->type)
      .intensity();
}

/// The roofs that a machine's constants give.
class roofs {
 public:
  roofs(svg_plot& plot, const plot_axis& x) : plot_(plot), x_(x) {}

  /// `bandwidth` in bytes/s, up to `peak` in flop/s (0: unknown).
  void slope(double bandwidth, double peak, std::string_view name, int colour) {
    if (!(bandwidth > 0)) return;
    double end = x_.high;
    if (peak > 0) end = std::clamp(peak / bandwidth, x_.low, x_.high);
    const std::vector<plot_point> through{{x_.low, 1e-9 * bandwidth * x_.low}, {end, 1e-9 * bandwidth * end}};
    const std::string told = core::format("{}: {} GB/s", name, in_three_digits(1e-9 * bandwidth));
    plot_.line(through, colour, told);
    keys_ += legend_key(key_shape::line, colour, told);
  }
  void level(double peak, std::string_view name, int colour) {
    if (!(peak > 0)) return;
    const std::vector<plot_point> through{{x_.low, 1e-9 * peak}, {x_.high, 1e-9 * peak}};
    const std::string told = core::format("{}: {}", name, gflops(1e-9 * peak));
    plot_.line(through, colour, told, true);
    keys_ += legend_key(key_shape::dashes, colour, told);
  }
  const std::string& keys() const { return keys_; }

 private:
  svg_plot& plot_;
  const plot_axis& x_;
  std::string keys_;
};

bool has_type(std::span<const judged_case> cases, value_type type) {
  return std::ranges::any_of(cases, [&](const judged_case& c) { return c.of->type == type; });
}

/// Points of a curve that says which share of `count` values is at most x.
std::vector<plot_point> shares(std::span<const double> ascending, double low, double high, std::int64_t count) {
  std::vector<plot_point> steps{{low, 0}};
  for (std::size_t i = 0; i < ascending.size() && ascending[i] <= high; ++i) {
    const double x = std::max(ascending[i], low);
    steps.push_back({x, steps.back().y});
    steps.push_back({x, static_cast<double>(i + 1) / static_cast<double>(count)});
  }
  steps.push_back({high, steps.back().y});
  return steps;
}

}  // namespace

std::vector<judged_case> drawn_cases(std::span<const judged_case> cases) {
  if (cases.size() <= max_drawn_cases) return {cases.begin(), cases.end()};
  std::vector<std::size_t> ranked(cases.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = i;
  std::ranges::stable_sort(ranked, {}, [&](std::size_t i) { return cases[i].found.ratios[setting::warm].value_or(0); });
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < max_drawn_cases; ++k) {
    kept.push_back(ranked[k * (cases.size() - 1) / (max_drawn_cases - 1)]);
  }
  std::ranges::sort(kept);
  std::vector<judged_case> drawn;
  for (const std::size_t i : kept) drawn.push_back(cases[i]);
  return drawn;
}

std::string roofline_figure(const run_result& run, std::span<const judged_case> drawn) {
  const machine_facts& m = run.machine;
  const bool fp32 = has_type(drawn, value_type::fp32), fp64 = has_type(drawn, value_type::fp64);
  std::vector<double> xs, ys;
  for (const judged_case& c : drawn) {
    xs.push_back(intensity_of(c));
    ys.push_back(c.found.plan->gflops);
    if (c.found.rival != nullptr) ys.push_back(c.found.rival->gflops);
  }
  const plot_axis x = axis_over("flops per byte, every operand moved once", xs);
  // The roofs above the points belong into the picture, what lies far above them does not.
  const double highest = ys.empty() ? 1 : *std::ranges::max_element(ys);
  for (const double roof :
       {1e-9 * m.copy_bandwidth * x.high, fp32 ? 1e-9 * m.peak_fp32 : 0, fp64 ? 1e-9 * m.peak_fp64 : 0}) {
    if (roof > 0) ys.push_back(std::min(roof, 8 * highest));
  }
  const plot_axis y = axis_over("GFLOP/s on true non-zeros", ys);
  svg_plot plot("roofline", "Roofline: speed over arithmetic intensity", x, y);
  roofs over(plot, x);
  const double peak = fp32 ? m.peak_fp32 : m.peak_fp64;
  over.slope(m.copy_bandwidth, peak, m.backend == "cuda" ? "HBM, copying" : "memory, copying", 2);
  over.slope(m.cache_bandwidth, peak, m.backend == "cuda" ? "L2" : "last-level cache", 3);
  if (fp32) over.level(m.peak_fp32, "plain cores, fp32", 4);
  if (fp64) over.level(m.peak_fp64, "plain cores, fp64", 5);
  for (const judged_case& c : drawn) {
    const double at = intensity_of(c);
    const entry_result& plan = *c.found.plan;
    const std::string name = shortened(c.name, name_width);
    if (const entry_result* rival = c.found.rival) {
      plot.mark({at, rival->gflops}, mark_shape::ring, rival_colour,
                core::format("{}: {}, {}", name, rival->name, gflops(rival->gflops)));
    }
    plot.mark({at, plan.gflops}, mark_shape::dot, plan_colour,
              core::format("{}: plan, {}, {:.0f} % of the roof ({})", name, gflops(plan.gflops),
                           100 * plan.roofline_shares[setting::warm], plan.kernel));
  }
  const std::string keys = legend_key(key_shape::dot, plan_colour, "plan") +
                           legend_key(key_shape::ring, rival_colour, "best " + run.main_rival) + over.keys();
  std::string text =
      "Back to back. Bytes are A as CSR, B and C once; operands that stay in the cache can lie above the roof of "
      "memory.";
  if (!(m.cache_bandwidth > 0)) text += " The bandwidth of the last-level cache is not known: its roof is not drawn.";
  return figure(plot, "Roofline", keys, text);
}

std::string profile_figure(std::span<const judged_case> cases) {
  const auto profiles = performance_profiles(cases);
  const auto count = static_cast<std::int64_t>(cases.size());
  const plot_axis x{"time over that of the fastest contender", 1, 8, scale::logarithmic};
  const plot_axis y{"share of cases", 0, 1, scale::linear, true};
  svg_plot plot("profile", "Performance profile", x, y);
  std::string keys;
  const std::size_t drawn = std::min(profiles.size(), num_colours);
  for (std::size_t i = 0; i < drawn; ++i) {
    const performance_profile& p = profiles[i];
    const int colour = static_cast<int>(i);
    const std::string told = core::format("{}: fastest in {:.0f} %, at most twice as slow in {:.0f} %", p.name,
                                          100 * p.at(1, count), 100 * p.at(2, count));
    plot.line(shares(p.ratios, x.low, x.high, count), colour, told, i % 2 == 1);
    keys += legend_key(i % 2 == 1 ? key_shape::dashes : key_shape::line, colour, p.name);
  }
  std::string text = core::format(
      "The share of {} cases in which a contender is at most this many times as slow as the fastest (Dolan and Moré); "
      "where it was not measured, or not right, it does not count as done.",
      count);
  if (drawn < profiles.size())
    text += core::format(" {} more contenders stand in the table below alone.", profiles.size() - drawn);
  return figure(plot, "Performance profile", keys, text);
}

std::string ratio_figure(std::span<const judged_case> cases, std::span<const judged_case> drawn) {
  std::vector<double> all;
  for (const setting in : all_settings) {
    for (const named_ratio& r : ratios_of(cases, in)) all.push_back(r.ratio);
  }
  all.push_back(1);
  const plot_axis x{"share of cases, the worst first", 0, 1, scale::linear, true};
  const plot_axis y = axis_over("rival's time over the plan's", all);
  svg_plot plot("ratios", "Ratios of the best rival's time to the plan's, by rank", x, y);
  plot.line(std::vector<plot_point>{{0, 1}, {1, 1}}, 7, "as fast as the best rival");
  std::string keys = legend_key(key_shape::dot, plan_colour, "plan faster, back to back") +
                     legend_key(key_shape::triangle, rival_colour, "plan slower");
  for (const setting in : {setting::single, setting::cold}) {
    auto ratios = ratios_of(cases, in);
    if (ratios.empty()) continue;
    std::ranges::sort(ratios, {}, &named_ratio::ratio);
    std::vector<plot_point> through;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      through.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(ratios.size()), ratios[i].ratio});
    }
    const int colour = in == setting::single ? 2 : 3;
    plot.line(through, colour, describe(in), in == setting::cold);
    keys += legend_key(in == setting::cold ? key_shape::dashes : key_shape::line, colour, describe(in));
  }
  auto marks = ratios_of(drawn, setting::warm);
  std::ranges::sort(marks, {}, &named_ratio::ratio);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(marks.size());
    const bool loss = marks[i].ratio < 1;
    plot.mark({at, marks[i].ratio}, loss ? mark_shape::triangle : mark_shape::dot, loss ? rival_colour : plan_colour,
              core::format("{}: {:.2f}", shortened(marks[i].name, name_width), marks[i].ratio));
  }
  return figure(
      plot, "The plan against the best rival", keys,
      "Above 1 the plan is faster. In each timing the rival is the one that is the fastest there, in the same "
      "layout.");
}

std::string break_even_figure(std::span<const judged_case> cases) {
  std::map<std::int64_t, std::vector<judged_case>> by_cols;
  for (const judged_case& c : cases) by_cols[c.of->cols].push_back(c);
  const plot_axis x{"products", 1, 1e5, scale::logarithmic};
  const plot_axis y{"share of cases", 0, 1, scale::linear, true};
  svg_plot plot("break-even", "Products after which the conversion is paid back", x, y);
  std::string keys;
  std::size_t i = 0;
  for (const auto& [cols, some] : by_cols) {
    const break_even found = break_even_of(some);
    if (found.num_cases == 0) continue;
    const std::vector<double> products(found.products.begin(), found.products.end());
    const int colour = static_cast<int>(i % num_colours);
    const bool dashed = i++ % 2 == 1;
    plot.line(shares(products, x.low, x.high, found.num_cases), colour, core::format("N = {}", cols), dashed);
    keys += legend_key(dashed ? key_shape::dashes : key_shape::line, colour, core::format("N = {}", cols));
  }
  return figure(
      plot, "Break-even", keys,
      "The share of cases in which a plan has paid back analysis, conversion and upload after this many products, "
      "against the best rival back to back. The rival's own preprocessing is not counted, in its favour.");
}

std::string error_figure(std::span<const judged_case> drawn) {
  struct point {
    plot_point at;
    const judged_case* of;
    const entry_result* entry;
  };
  std::vector<point> points;
  std::vector<double> xs{1}, ys{1};
  for (const judged_case& c : drawn) {
    const double plan = c.found.plan->median();
    for (const entry_result& e : c.of->entries) {
      const bool timed =
          e.times[setting::warm] && (e.status == entry_status::ok || e.status == entry_status::inaccurate);
      const double share = e.error.max_bound_share;
      const bool shown = &e == c.found.plan || &e == c.found.rival || e.status == entry_status::inaccurate;
      if (!timed || !shown || e.order != c.of->order || !(share > 0) || !std::isfinite(share)) continue;
      points.push_back({{e.median() / plan, share}, &c, &e});
      xs.push_back(e.median() / plan);
      ys.push_back(share);
    }
  }
  svg_plot plot("errors", "Error over time", axis_over("time over the plan's", xs),
                axis_over("error over its bound", ys));
  plot.line(std::vector<plot_point>{{1e-9, 1}, {1e9, 1}}, 7, "the bound");
  for (const point& p : points) {
    const bool ours = p.entry->ours, wrong = p.entry->status == entry_status::inaccurate;
    plot.mark(p.at,
              ours    ? mark_shape::dot
              : wrong ? mark_shape::triangle
                      : mark_shape::ring,
              ours    ? plan_colour
              : wrong ? 4
                      : rival_colour,
              core::format("{}: {}, error {} of |A||B|, {} of its bound", shortened(p.of->name, name_width),
                           p.entry->name, in_three_digits(p.entry->error.max_error), in_three_digits(p.at.y)));
  }
  const std::string keys = legend_key(key_shape::dot, plan_colour, "plan") +
                           legend_key(key_shape::ring, rival_colour, "best rival") +
                           legend_key(key_shape::triangle, 4, "inaccurate rival");
  return figure(
      plot, "Error beside time", keys,
      "The largest error of an entry as a share of the bound of its type; above 1 a result is inaccurate, and "
      "does not count as a rival. Left of the plan what is faster.");
}

}  // namespace bcsc::bench
