#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Residuals are most of a file of costs. As an arithmetic code, which deflate cannot shrink any further, a GPU's take
/// a fifth less than by deflate alone.
namespace bcsc::choice {

/// `residuals`: those of cases, one behind the other, `width` of each.
std::string encode_residuals(std::string_view residuals, std::size_t width);
/// The reverse; `count`: of all residuals. Throws error{invalid_format} for what cannot be so many.
std::string decode_residuals(std::string_view code, std::size_t width, std::size_t count);

}  // namespace bcsc::choice
