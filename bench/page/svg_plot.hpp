#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// One plot as inline SVG: two axes, lines and marks. Colours are classes of the page's style sheet (c0, c1, ...), so
/// that a page in the dark, or in print, chooses others.
namespace bcsc::bench {

struct plot_point {
  double x = 0, y = 0;
};

enum class scale : std::uint8_t { linear, logarithmic };

/// From `low` to `high`, both finite, low < high, above 0 where logarithmic.
struct plot_axis {
  std::string label;
  double low = 0, high = 1;
  scale as = scale::linear;
  bool in_percent = false;  ///< numbers are shares
};

/// A logarithmic axis that holds the `values` above 0, with some air; one around 1 where there are none.
plot_axis axis_over(std::string label, std::span<const double> values);

/// Numbers of an axis where lines of the grid stand: 1, 2, 5 times powers of ten, at most eight or so.
std::vector<double> ticks_of(const plot_axis& axis);

enum class mark_shape : std::uint8_t { dot, ring, triangle };

class svg_plot {
 public:
  /// `label`: what a screen reader says instead of the picture.
  svg_plot(std::string id, std::string label, plot_axis x, plot_axis y);

  /// Through the points, as far as they lie within the axes.
  void line(std::span<const plot_point> through, int colour, std::string_view title, bool dashed = false);
  /// At a point, or at the border next to it; `title` is shown by a mouse over it.
  void mark(plot_point at, mark_shape shape, int colour, std::string_view title);
  /// Text that begins at a point; `to_the_left`: that ends there.
  void text(plot_point at, std::string_view said, bool to_the_left = false);

  std::string svg() const;

 private:
  double x_of(double x) const;
  double y_of(double y) const;
  std::string grid() const;

  std::string id_, label_;
  plot_axis x_, y_;
  std::string lines_, marks_, texts_;
};

}  // namespace bcsc::bench
