#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/types.hpp"

/// Fortran's FORMATs, as far as files of numbers use them: (10I8), (1P,4D20.12), (3(1P,E25.16)), (4(1X,E19.12)).
/// Source: Fortran 2018 (ISO/IEC 1539-1), 13.3 to 13.8.
namespace bcsc::files {

enum class field_kind : std::uint8_t { integer, real, skip };

/// Equal fields that follow one another in a record.
struct field_run {
  field_kind kind = field_kind::skip;
  std::int64_t repeat = 1;
  std::int64_t width = 0;  ///< columns of one field
  std::int64_t scale = 0;  ///< kP: a number without an exponent is scaled by 10^-k
};

/// One record (a line); the next one starts over.
using fortran_format = std::vector<field_run>;

/// Reads a format with its outer parentheses. The repetition of equal fields is kept as a number, and a longer list is
/// refused: the result is small whatever the text. Throws error{parse_error | unsupported} at `where`.
fortran_format parse_fortran_format(std::string_view text, const file_location& where);

/// The number that a field of such a run stands for, as text that C++ reads: Fortran may leave out the exponent's
/// letter (1.5-103). `field` has no blanks around it. `scratch` holds the result if it is not the field itself.
/// A number without a decimal point is what it says (Fortran would put the point before the last d digits; files whose
/// numbers have none come from other languages).
std::string_view plain_number(std::string_view field, const field_run& run, std::string& scratch);

}  // namespace bcsc::files
