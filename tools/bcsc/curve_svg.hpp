#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace bcsc::cli {

/// A curve of positive numbers over its index as an SVG picture: logarithmic, with a line for each decade, and a dashed
/// one at `aim` if that is above 0. Numbers that are not positive and finite are left out.
std::string log_curve_svg(std::span<const double> curve, const std::string& title, double aim);

/// The same to a file. Throws error{io_error}.
void write_log_curve_svg(const std::filesystem::path& path, std::span<const double> curve, const std::string& title,
                         double aim);

}  // namespace bcsc::cli
