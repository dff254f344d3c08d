#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"

/// Pictures: of a pattern (terminal or PNG) and of a curve (terminal).
namespace bcsc::cli {

/// Cells of a picture of a rows x cols matrix in its proportions, at most `max_width` x `max_height`, and no more than
/// there are rows and columns. `cell_aspect` is a cell's height over its width (2 for a terminal's characters).
struct picture_size {
  std::int64_t width = 0, height = 0;
};
picture_size fit_picture(std::int64_t rows, std::int64_t cols, std::int64_t max_width, std::int64_t max_height,
                         double cell_aspect);

/// Lines of shaded block characters in a frame, the shade by the logarithm of a cell's count: at most 60 x 30
/// characters, and no wider than stdout's terminal.
template <value T>
std::vector<std::string> draw_pattern(const csr_view<T, std::int32_t>& a);

/// A grey PNG of at most 1024 x 1024 pixels, dark where the non-zeros are.
/// Throws error{unsupported} in a build without libpng, error{io_error} if it cannot be written.
template <value T>
void write_pattern_png(const std::filesystem::path& path, const csr_view<T, std::int32_t>& a);

/// A curve of positive numbers over its index, logarithmic, in braille dots with an axis; 60 x 12 characters or less,
/// and no wider than stdout's terminal. Numbers that are not positive and finite are left out; nothing to draw gives no
/// lines.
std::vector<std::string> draw_log_curve(std::span<const double> curve);

}  // namespace bcsc::cli
