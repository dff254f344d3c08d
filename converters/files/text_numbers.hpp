#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bcsc/error.hpp"
#include "bcsc/types.hpp"
#include "converters/files/location.hpp"
#include "converters/files/numbers.hpp"

/// Whole tokens as numbers, or the error that says what is wrong with them and where.
namespace bcsc::files {

/// Which number of a text is read: "row offset", on such a line of such a file.
struct number_place {
  const std::string& path;
  std::int64_t line;
  const char* what;

  file_location where() const { return {.path = path, .line = line}; }
};

/// An integer of 63 bits; beyond them: out_of_range, and `value` has its sign.
inline token_status take_integer(const number_place& place, std::string_view token, std::int64_t& value) {
  line_cursor at(token);
  const token_status status = at.integer(value);
  const bool is_whole = status == token_status::out_of_range || (status == token_status::ok && at.at_end());
  if (!is_whole) fail_at(place.where(), errc::parse_error, "{} {}: not an integer", place.what, quoted(token));
  return status;
}

/// A size: 0 or more. Throws error{parse_error | value_out_of_range | size_overflow}.
inline std::int64_t size_of_token(const number_place& place, std::string_view token) {
  std::int64_t size = 0;
  const token_status status = take_integer(place, token, size);
  if (size < 0) fail_at(place.where(), errc::value_out_of_range, "{} {}: is negative", place.what, quoted(token));
  if (status != token_status::ok) {
    fail_at(place.where(), errc::size_overflow, "{} {}: does not fit 63 bits", place.what, quoted(token));
  }
  return size;
}

/// An index in first .. last. Throws error{parse_error | index_out_of_range}.
inline std::int64_t index_of_token(const number_place& place, std::string_view token, std::int64_t first,
                                   std::int64_t last) {
  std::int64_t index = 0;
  const token_status status = take_integer(place, token, index);
  if (status != token_status::ok || index < first || index > last) {
    fail_at(place.where(), errc::index_out_of_range, "{} {}: must lie in {} .. {}", place.what, quoted(token), first,
            last);
  }
  return index;
}

/// A value. Throws error{parse_error | value_out_of_range}.
template <value T>
T value_of_token(const number_place& place, std::string_view token) {
  T value{};
  line_cursor at(token);
  const token_status status = at.real(value);
  if (status == token_status::out_of_range) {
    fail_at(place.where(), errc::value_out_of_range, "{} {}: does not fit its type", place.what, quoted(token));
  }
  if (status != token_status::ok || !at.at_end()) {
    fail_at(place.where(), errc::parse_error, "{} {}: not a number", place.what, quoted(token));
  }
  return value;
}

}  // namespace bcsc::files
