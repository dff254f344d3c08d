#include "tools/bcsc/curve_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/new_file.hpp"

namespace bcsc::cli {

namespace {

constexpr double plot_left = 70, plot_top = 40, plot_width = 640, plot_height = 360;

bool is_plotted(double x) { return x > 0 && std::isfinite(x); }

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

/// The least step of 1, 2 or 5 times a power of ten with at most `most` of them up to `length`.
double tick_step(double length, int most) {
  for (double decade = 1;; decade *= 10) {
    for (const double step : {decade, 2 * decade, 5 * decade}) {
      if (length / step <= most) return step;
    }
  }
}

}  // namespace

std::string log_curve_svg(std::span<const double> curve, const std::string& title, double aim) {
  double low = is_plotted(aim) ? std::log10(aim) : std::numeric_limits<double>::infinity(), high = -low;
  if (is_plotted(aim)) high = low;
  for (const double x : curve) {
    if (!is_plotted(x)) continue;
    low = std::min(low, std::log10(x));
    high = std::max(high, std::log10(x));
  }
  if (low > high) low = high = 0;
  low = std::floor(low);
  high = std::max(std::ceil(high), low + 1);
  const double last = static_cast<double>(std::max<std::size_t>(curve.size(), 2) - 1);
  const auto across = [&](double i) { return plot_left + plot_width * i / last; };
  const auto down = [&](double log) { return plot_top + plot_height * (high - log) / (high - low); };
  const double right = plot_left + plot_width, bottom = plot_top + plot_height;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 740 450\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"740\" height=\"450\" fill=\"white\"/>\n<text x=\"{}\" y=\"24\" font-size=\"14\">{}</text>\n",
      plot_left, escaped(title));
  for (double log = low, step = tick_step(high - low, 12); log <= high; log += step) {
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">1e{5:+03.0f}</text>\n",
        plot_left, right, down(log), plot_left - 8, down(log) + 4, log);
  }
  for (double i = 0, step = tick_step(last, 10); i <= last; i += step) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n", across(i), bottom + 18, i);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">iteration</text>\n", plot_left + plot_width / 2,
                     bottom + 36);
  if (is_plotted(aim)) {
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{2:.1f}\" x2=\"{1}\" y2=\"{2:.1f}\" stroke=\"#888\" stroke-dasharray=\"6 4\"/>\n",
        plot_left, right, down(std::log10(aim)));
  }
  std::string points;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (!is_plotted(curve[i])) continue;
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", across(static_cast<double>(i)),
                          down(std::log10(curve[i])));
  }
  svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\"/>\n", points);
  svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"black\"/>\n</svg>\n",
                     plot_left, plot_top, plot_width, plot_height);
  return svg;
}

void write_log_curve_svg(const std::filesystem::path& path, std::span<const double> curve, const std::string& title,
                         double aim) {
  core::write_new_file(path, log_curve_svg(curve, title, aim));
}

}  // namespace bcsc::cli
