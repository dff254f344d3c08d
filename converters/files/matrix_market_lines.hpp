#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "converters/files/line_reader.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_names.hpp"
#include "converters/files/numbers.hpp"

/// Lines of a Matrix Market file taken one by one, with every rule of the format and all of its error messages.
namespace bcsc::files::matrix_market {

/// A line being read, which knows its number.
class numbered_line {
 public:
  numbered_line(const std::string& path, std::int64_t number) : path_(path), number_(number) {}

  void begin(std::string_view text, std::int64_t number, bool unterminated) {
    at = line_cursor(text);
    number_ = number;
    unterminated_ = unterminated;
    too_long_ = text.size() >= line_reader::max_line;
  }

  /// Neither blank nor a comment. Only a comment may be longer than max_line.
  bool holds_data() {
    const bool blank = at.at_end();
    if (!blank && at.front() == '%') return false;
    if (too_long_) fail(errc::parse_error, "the line is longer than {} bytes", line_reader::max_line);
    return !blank;
  }

  void require_end() {
    if (!at.at_end()) fail(errc::trailing_data, "{}: more than belongs on this line", quoted(at.peek()));
  }

  template <class... Args>
  [[noreturn]] void fail(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at({.path = path_, .line = number_}, code, message, std::forward<Args>(args)...);
  }

  [[noreturn]] void fail_token(token_status status, const char* what) {
    if (status == token_status::missing) {
      fail(unterminated_ ? errc::truncated : errc::parse_error, "the line ends before the {}", what);
    }
    if (status == token_status::out_of_range) {
      fail(errc::value_out_of_range, "{} {}: does not fit its type", what, quoted(at.peek()));
    }
    fail(errc::parse_error, "{} {}: not a number of this kind", what, quoted(at.peek()));
  }

  line_cursor at;

 private:
  const std::string& path_;
  std::int64_t number_;
  bool unterminated_ = false;
  bool too_long_ = false;
};

/// One stored entry, 0-based; of an array only the value.
template <value T>
struct stored_entry {
  std::int64_t row = 0, col = 0;
  T value{1};
};

/// Which triangles the off-diagonal entries lie in, as bits.
enum triangle : std::uint8_t { no_triangle = 0, lower = 1, upper = 2 };

/// Takes the lines after the sizes. What the lines before have told is part of its state.
class entry_lines {
 public:
  entry_lines(const file_info& info, const std::string& path, std::int64_t lines_before, std::int64_t entries_before,
              std::uint8_t triangles_before)
      : info_(info),
        line_(path, lines_before),
        num_lines_(lines_before),
        num_entries_(entries_before),
        triangles_(triangles_before) {}

  /// The next line of the file; true if it holds an entry. Throws error with the line.
  template <value T>
  bool take(std::string_view text, bool unterminated, stored_entry<T>& entry) {
    line_.begin(text, ++num_lines_, unterminated);
    if (!line_.holds_data()) return false;
    if (num_entries_ == info_.stored_entries) {
      line_.fail(errc::trailing_data, "{}: more than the {} entries announced", quoted(line_.at.peek()), num_entries_);
    }
    if (!info_.array) {
      entry.row = read_index("row", info_.rows);
      entry.col = read_index("column", info_.cols);
    }
    T imaginary{0};
    if (info_.field == file_field::integer) {
      entry.value = static_cast<T>(read_integer());
    } else if (info_.field != file_field::pattern) {
      entry.value = read_real<T>("value");
      if (info_.field == file_field::complex) imaginary = read_real<T>("imaginary part");
    }
    line_.require_end();
    if (!info_.array && info_.symmetry != file_symmetry::general) check_structure(entry, imaginary);
    ++num_entries_;
    return true;
  }

 private:
  std::int64_t read_index(const char* what, std::int64_t size) {
    std::int64_t one_based = 0;
    const token_status status = line_.at.integer(one_based);
    if (status == token_status::out_of_range) {
      line_.fail(errc::index_out_of_range, "{} index {}: must lie in 1 .. {}", what, quoted(line_.at.peek()), size);
    }
    if (status != token_status::ok) line_.fail_token(status, what);
    if (one_based < 1 || one_based > size) {
      line_.fail(errc::index_out_of_range, "{} index {}: must lie in 1 .. {}", what, one_based, size);
    }
    return one_based - 1;
  }

  std::int64_t read_integer() {
    std::int64_t integer = 0;
    const token_status status = line_.at.integer(integer);
    if (status != token_status::ok) line_.fail_token(status, "integer value");
    return integer;
  }

  template <value T>
  T read_real(const char* what) {
    T value{};
    const token_status status = line_.at.real(value);
    if (status != token_status::ok) line_.fail_token(status, what);
    return value;
  }

  template <value T>
  void check_structure(const stored_entry<T>& entry, T imaginary) {
    if (entry.row == entry.col) {
      const std::int64_t place = entry.row + 1;
      if (info_.symmetry == file_symmetry::skew_symmetric && (entry.value != T{0} || imaginary != T{0})) {
        line_.fail(errc::structure_violation, "entry ({0}, {0}): a skew-symmetric matrix has a zero diagonal", place);
      }
      if (info_.symmetry == file_symmetry::hermitian && imaginary != T{0}) {
        line_.fail(errc::structure_violation, "entry ({0}, {0}): a hermitian matrix has a real diagonal", place);
      }
      return;
    }
    const triangle mine = entry.row > entry.col ? lower : upper;
    // Both triangles mean that a full matrix was declared symmetric by mistake: expanding it would double its values.
    if ((triangles_ | mine) == (lower | upper)) {
      line_.fail(errc::structure_violation,
                 "entry ({}, {}): a {} file must store one triangle, and the other has begun", entry.row + 1,
                 entry.col + 1, to_string(info_.symmetry));
    }
    triangles_ |= mine;
  }

  const file_info& info_;
  numbered_line line_;
  std::int64_t num_lines_, num_entries_;
  std::uint8_t triangles_;
};

}  // namespace bcsc::files::matrix_market
