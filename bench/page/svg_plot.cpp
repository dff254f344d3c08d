#include "bench/page/svg_plot.hpp"

#include <algorithm>
#include <cmath>

#include "bench/page/html.hpp"
#include "core/format.hpp"

namespace bcsc::bench {

namespace {

/// In units of the picture: at phone width a letter is still read, at desktop width two plots stand side by side.
constexpr double width = 480, height = 330;
constexpr double left = 62, right = 22, top = 10, bottom = 40;

double share_of(const plot_axis& axis, double at) {
  if (axis.as == scale::linear) return (at - axis.low) / (axis.high - axis.low);
  return std::log(at / axis.low) / std::log(axis.high / axis.low);
}

std::string tick_label(const plot_axis& axis, double at) {
  if (axis.in_percent) return core::format("{:g} %", 100 * at);
  return at >= 1e6 || (at > 0 && at < 1e-4) ? core::format("{:.0e}", at) : core::format("{:g}", at);
}

std::vector<double> linear_ticks(const plot_axis& axis) {
  const double power = std::pow(10, std::floor(std::log10(axis.high - axis.low)));
  double step = power;
  for (const double finer : {power / 2, power / 5}) {
    if ((axis.high - axis.low) / finer <= 8) step = finer;
  }
  std::vector<double> ticks;
  for (double k = std::ceil(axis.low / step - 1e-9); k * step <= axis.high * (1 + 1e-9); ++k)
    ticks.push_back(k * step + 0.0);  // never -0
  return ticks;
}

/// Numbers f * 10^k within the axis for each f of `factors`, of every `stride`-th power.
std::vector<double> decade_ticks(const plot_axis& axis, std::span<const double> factors, int stride) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int k = first; k <= last; ++k) {
    if (k % stride != 0) continue;
    for (const double f : factors) {
      const double at = f * std::pow(10, k);
      if (at >= axis.low * (1 - 1e-9) && at <= axis.high * (1 + 1e-9)) ticks.push_back(at);
    }
  }
  return ticks;
}

}  // namespace

plot_axis axis_over(std::string label, std::span<const double> values) {
  plot_axis axis{.label = std::move(label), .low = 0, .high = 0, .as = scale::logarithmic};
  for (const double v : values) {
    if (!(v > 0) || !std::isfinite(v)) continue;
    axis.low = axis.low == 0 ? v : std::min(axis.low, v);
    axis.high = std::max(axis.high, v);
  }
  if (axis.high == 0) axis.low = axis.high = 1;
  constexpr double air = 1.25;
  axis.low /= air;
  axis.high *= air;
  return axis;
}

std::vector<double> ticks_of(const plot_axis& axis) {
  if (axis.as == scale::linear) return linear_ticks(axis);
  constexpr double fine[] = {1, 1.5, 2, 3, 5, 7}, usual[] = {1, 2, 5}, coarse[] = {1};
  const double decades = std::log10(axis.high / axis.low);
  if (decades < 1) return decade_ticks(axis, fine, 1);
  if (decades < 2.5) return decade_ticks(axis, usual, 1);
  return decade_ticks(axis, coarse, decades < 8 ? 1 : 2);
}

svg_plot::svg_plot(std::string id, std::string label, plot_axis x, plot_axis y)
    : id_(std::move(id)), label_(std::move(label)), x_(std::move(x)), y_(std::move(y)) {}

double svg_plot::x_of(double x) const { return left + share_of(x_, x) * (width - left - right); }
double svg_plot::y_of(double y) const { return height - bottom - share_of(y_, y) * (height - top - bottom); }

void svg_plot::line(std::span<const plot_point> through, int colour, std::string_view title, bool dashed) {
  std::string path, last;
  for (const plot_point& p : through) {
    // What lies within a tenth of a unit of the point before is not seen.
    std::string at = core::format("{:.1f} {:.1f}", x_of(p.x), y_of(p.y));
    if (at == last) continue;
    path += (path.empty() ? "M" : " ") + at;
    last = std::move(at);
  }
  if (path.empty()) return;
  lines_ += core::format("<path class=\"l c{}{}\" d=\"{}\"><title>{}</title></path>\n", colour, dashed ? " dash" : "",
                         path, escaped(title));
}

void svg_plot::mark(plot_point at, mark_shape shape, int colour, std::string_view title) {
  const double x = std::clamp(x_of(at.x), left, width - right), y = std::clamp(y_of(at.y), top, height - bottom);
  const std::string told = core::format("<title>{}</title>", escaped(title));
  if (shape == mark_shape::triangle) {
    marks_ +=
        core::format("<path class=\"m c{}\" d=\"M{:.1f} {:.1f}h6l-3 5.5z\">{}</path>\n", colour, x - 3, y - 2.5, told);
  } else {
    marks_ += core::format("<circle class=\"{} c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\">{}</circle>\n",
                           shape == mark_shape::dot ? "m" : "o", colour, x, y, told);
  }
}

void svg_plot::text(plot_point at, std::string_view said, bool to_the_left) {
  const double x = std::clamp(x_of(at.x), left, width - right), y = std::clamp(y_of(at.y), top + 8, height - bottom);
  texts_ += core::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y,
                         to_the_left ? " text-anchor=\"end\"" : "", escaped(said));
}

std::string svg_plot::grid() const {
  std::string lines, numbers;
  for (const double t : ticks_of(x_)) {
    const double x = x_of(t);
    lines += core::format("M{:.1f} {}V{}", x, top, height - bottom);
    numbers += core::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x, height - bottom + 14,
                            tick_label(x_, t));
  }
  for (const double t : ticks_of(y_)) {
    const double y = y_of(t);
    lines += core::format("M{} {:.1f}H{}", left, y, width - right);
    numbers +=
        core::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 5, y + 4, tick_label(y_, t));
  }
  const double middle = (top + height - bottom) / 2;
  return core::format(
      "<path class=\"grid\" d=\"{}\"/>{}<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>"
      "<text transform=\"translate(11 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      lines, numbers, (left + width - right) / 2, height - 6, escaped(x_.label), middle, escaped(y_.label));
}

std::string svg_plot::svg() const {
  return core::format(
      "<svg id=\"{0}\" viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{3}\">"
      "<clipPath id=\"{0}-inside\"><rect x=\"{4}\" y=\"{5}\" width=\"{6}\" height=\"{7}\"/></clipPath>\n{8}"
      "<g clip-path=\"url(#{0}-inside)\">{9}</g>\n{10}{11}</svg>\n",
      id_, width, height, escaped(label_), left, top, width - left - right, height - top - bottom, grid(), lines_,
      marks_, texts_);
}

}  // namespace bcsc::bench
