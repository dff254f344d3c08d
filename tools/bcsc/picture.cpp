#include "tools/bcsc/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "bcsc_config.h"
#include "core/fail.hpp"
#include "core/new_file.hpp"
#include "tools/bcsc/output.hpp"
#if BCSC_WITH_PNG
#include <png.h>
#endif

namespace bcsc::cli {
namespace {

/// 0 for an empty cell, else in (0, 1] by the logarithm of the count.
double log_shade(std::int64_t count, std::int64_t most) {
  return count <= 0 ? 0.0 : std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
}

std::string repeated(const char* character, std::int64_t times) {
  std::string text;
  for (std::int64_t i = 0; i < times; ++i) text += character;
  return text;
}

/// The usual width of a picture, or what a narrow terminal leaves beside this many columns.
std::int64_t room_beside(std::int64_t columns, std::int64_t usual) {
  constexpr std::int64_t least = 10;
  const std::optional<std::size_t> terminal = stdout_width();
  if (!terminal) return usual;
  return std::clamp(static_cast<std::int64_t>(*terminal) - columns, least, usual);
}

/// Dots of 2 x 4 to a character, as Unicode's braille patterns have them.
class braille_canvas {
 public:
  braille_canvas(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), cells_(static_cast<std::size_t>(width * height), 0) {}

  std::int64_t dots_wide() const { return 2 * width_; }
  std::int64_t dots_high() const { return 4 * height_; }
  /// (0, 0) is at the top left.
  void set(std::int64_t x, std::int64_t y) {
    constexpr std::array<std::array<unsigned, 2>, 4> bits{{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    cells_[static_cast<std::size_t>(y / 4 * width_ + x / 2)] |= bits[static_cast<std::size_t>(y % 4)][x % 2];
  }
  std::string row(std::int64_t y) const {
    std::string text;
    for (std::int64_t x = 0; x < width_; ++x) {
      const unsigned dots = cells_[static_cast<std::size_t>(y * width_ + x)];
      // U+2800 + dots in UTF-8.
      text += {static_cast<char>(0xe2), static_cast<char>(0xa0 | (dots >> 6)), static_cast<char>(0x80 | (dots & 0x3f))};
    }
    return text;
  }

 private:
  std::int64_t width_, height_;
  std::vector<unsigned> cells_;
};

}  // namespace

picture_size fit_picture(std::int64_t rows, std::int64_t cols, std::int64_t max_width, std::int64_t max_height,
                         double cell_aspect) {
  if (rows <= 0 || cols <= 0) return {};
  const double width_per_row = cell_aspect * static_cast<double>(cols) / static_cast<double>(rows);
  double width = static_cast<double>(max_width), height = width / width_per_row;
  if (height > static_cast<double>(max_height)) {
    height = static_cast<double>(max_height);
    width = height * width_per_row;
  }
  return {std::min(cols, std::max<std::int64_t>(std::llround(width), 1)),
          std::min(rows, std::max<std::int64_t>(std::llround(height), 1))};
}

template <value T>
std::vector<std::string> draw_pattern(const csr_view<T, std::int32_t>& a) {
  constexpr std::int64_t usual = 58, frame = 2;
  const auto [width, height] = fit_picture(a.rows, a.cols, room_beside(frame, usual), 28, 2.0);
  if (width == 0) return {};
  const std::vector<std::int64_t> counts = pattern_grid(a, height, width);
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  constexpr std::array<const char*, 5> shades{" ", "░", "▒", "▓", "█"};

  std::vector<std::string> lines{"┌" + repeated("─", width) + "┐"};
  for (std::int64_t y = 0; y < height; ++y) {
    std::string line = "│";
    for (std::int64_t x = 0; x < width; ++x) {
      const double shade = log_shade(counts[static_cast<std::size_t>(y * width + x)], most);
      line += shades[static_cast<std::size_t>(std::ceil(4 * shade))];
    }
    lines.push_back(line + "│");
  }
  lines.push_back("└" + repeated("─", width) + "┘");
  return lines;
}

template <value T>
void write_pattern_png(const std::filesystem::path& path, const csr_view<T, std::int32_t>& a) {
#if BCSC_WITH_PNG
  const auto [width, height] = fit_picture(a.rows, a.cols, 1024, 1024, 1.0);
  if (width == 0)
    core::fail(errc::invalid_argument, "png = {}: a {} x {} matrix has no picture", path.string(), a.rows, a.cols);
  const std::vector<std::int64_t> counts = pattern_grid(a, height, width);
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<std::uint8_t> pixels(counts.size());
  // The lightest entry is still plainly grey on white.
  std::transform(counts.begin(), counts.end(), pixels.begin(), [&](std::int64_t count) {
    return static_cast<std::uint8_t>(count == 0 ? 255 : std::lround(176 * (1 - log_shade(count, most))));
  });

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_GRAY;
  // Through memory: libpng removes what it could not write to, were it a device, and keeps the reason to itself.
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    core::fail(errc::internal, "png = {}: {}", path.string(), image.message);
  }
  bytes.resize(size);
  core::write_new_file(path, bytes);
#else
  static_cast<void>(a);
  core::fail(errc::unsupported, "png = {}: this bcsc was built without libpng", path.string());
#endif
}

std::vector<std::string> draw_log_curve(std::span<const double> curve) {
  constexpr std::int64_t usual = 50, height = 10, axis = 9;
  const std::int64_t width = room_beside(axis, usual);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto drawable = [](double x) { return x > 0 && std::isfinite(x); };
  for (double x : curve) {
    if (!drawable(x)) continue;
    low = std::min(low, std::log10(x));
    high = std::max(high, std::log10(x));
  }
  if (low > high) return {};

  braille_canvas canvas(width, height);
  const double range = std::max(high - low, 1e-9);
  const double steps = static_cast<double>(std::max<std::size_t>(curve.size() - 1, 1));
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (!drawable(curve[i])) continue;
    const double x = static_cast<double>(i) / steps, y = (high - std::log10(curve[i])) / range;
    canvas.set(std::llround(x * static_cast<double>(canvas.dots_wide() - 1)),
               std::llround(y * static_cast<double>(canvas.dots_high() - 1)));
  }
  std::vector<std::string> lines;
  for (std::int64_t y = 0; y < height; ++y) {
    const double at = high - range * static_cast<double>(y) / static_cast<double>(height - 1);
    lines.push_back(fmt::format("{} ┤{}", y % 3 == 0 ? fmt::format("{:7.0e}", std::pow(10.0, at)) : std::string(7, ' '),
                                canvas.row(y)));
  }
  lines.push_back(fmt::format("        └{}", repeated("─", width)));
  lines.push_back(fmt::format("         0{:>{}}", curve.size() - 1, width - 1));
  return lines;
}

template std::vector<std::string> draw_pattern<float>(const csr_view<float, std::int32_t>&);
template std::vector<std::string> draw_pattern<double>(const csr_view<double, std::int32_t>&);
template void write_pattern_png<float>(const std::filesystem::path&, const csr_view<float, std::int32_t>&);
template void write_pattern_png<double>(const std::filesystem::path&, const csr_view<double, std::int32_t>&);

}  // namespace bcsc::cli
