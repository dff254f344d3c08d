#pragma once

#include <cstdint>

#include "converters/files/line_reader.hpp"
#include "converters/files/source.hpp"

/// The head of a Matrix Market file: banner, comments, sizes.
namespace bcsc::files::matrix_market {

struct header {
  file_info info;
  std::int64_t size_line = 0;  ///< 1-based line of the sizes, the last one of the head
};

/// Leaves `lines` at the first line after the sizes. Throws error{bad_banner | unsupported | parse_error | truncated |
/// trailing_data | value_out_of_range | size_overflow | structure_violation} with the line, and what source::read()
/// throws.
header read_header(line_reader& lines, const source& in);

}  // namespace bcsc::files::matrix_market
