#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "bcsc/files.hpp"

/// The words of a Matrix Market banner. Source: R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange
/// Formats: Initial Design", NISTIR 5935, 1996.
namespace bcsc::files {

inline constexpr std::string_view banner_mark = "%%MatrixMarket";

inline constexpr std::array<std::pair<file_field, std::string_view>, 4> field_names{{{file_field::real, "real"},
                                                                                     {file_field::integer, "integer"},
                                                                                     {file_field::pattern, "pattern"},
                                                                                     {file_field::complex, "complex"}}};

inline constexpr std::array<std::pair<file_symmetry, std::string_view>, 4> symmetry_names{
    {{file_symmetry::general, "general"},
     {file_symmetry::symmetric, "symmetric"},
     {file_symmetry::skew_symmetric, "skew-symmetric"},
     {file_symmetry::hermitian, "hermitian"}}};

constexpr std::string_view to_string(file_field field) { return field_names[static_cast<std::size_t>(field)].second; }
constexpr std::string_view to_string(file_symmetry symmetry) {
  return symmetry_names[static_cast<std::size_t>(symmetry)].second;
}
static_assert(to_string(file_field::complex) == "complex" && to_string(file_symmetry::hermitian) == "hermitian");

/// What a banner may say: a pattern has no values to print densely, and none whose sign could be flipped.
constexpr bool is_valid_banner(bool array, file_field field, file_symmetry symmetry) {
  const bool turns_sign = symmetry == file_symmetry::skew_symmetric || symmetry == file_symmetry::hermitian;
  return field != file_field::pattern || (!array && !turns_sign);
}

}  // namespace bcsc::files
