#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// The residuals of a file of costs, which are most of it, as an arithmetic code: bytes that the file's compression
/// leaves as they are, of a GPU's residuals a fifth fewer than it would make by itself.
namespace bcsc::plan {

/// `residuals`: those of cases, one behind the other, `width` of each.
std::string coded(std::string_view residuals, std::size_t width);
/// The reverse; `count`: of all residuals. Throws error{invalid_format} for what cannot be so many.
std::string decoded(std::string_view code, std::size_t width, std::size_t count);

}  // namespace bcsc::plan
