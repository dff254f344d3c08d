#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "converters/files/fortran_format.hpp"
#include "converters/files/line_reader.hpp"
#include "converters/files/numbers.hpp"
#include "converters/files/text_numbers.hpp"

/// Numbers that lie in columns of lines, as a Fortran program wrote them.
namespace bcsc::files {

/// `text` without the blanks around it.
std::string_view trimmed(std::string_view text);

/// Gives out the fields of one list of numbers after the other; each list begins on a line of its own.
///
/// Columns tell numbers that touch apart. But a line that has a blank between any two of the numbers it should have is
/// read by its blanks: that is the same where the columns are right, and much-used writers (SciPy's hb_write) make
/// columns narrower than their format says, where a column could end inside a number.
class field_reader {
 public:
  field_reader(line_reader& lines, const std::string& path) : lines_(lines), path_(path) {}

  /// Begins a list of `count` numbers, called `what` in errors. `format` must outlive it.
  void begin(const fortran_format& format, const char* what, std::int64_t count) {
    format_ = &format;
    what_ = what;
    count_ = count;
    done_ = 0;
    run_ = format.size();  // as if a line had been used up
    per_line_ = 0;
    skips_ = false;
    for (const field_run& run : format) {
      if (run.kind == field_kind::skip) {
        skips_ = true;
      } else {
        per_line_ = run.repeat < count - per_line_ ? per_line_ + run.repeat : count;
      }
    }
    column_ = 0;
    line_ = {};
    by_blanks_ = false;
  }
  /// The next number's columns without the blanks around it, valid until the next call.
  std::string_view next();
  /// Nothing but what the format skips may follow the last number on its line.
  void end();

  /// The run that the last field of next() belongs to.
  const field_run& kind() const { return *kind_; }
  number_place place() const { return {path_, lines_.number(), what_}; }

 private:
  /// Goes to the next run of the format, which may be at the beginning of the next line.
  void advance() {
    used_ = 0;
    if (++run_ >= format_->size()) begin_line();
  }
  void begin_line();
  void require_blank_rest() const;

  line_reader& lines_;
  const std::string& path_;
  const fortran_format* format_ = nullptr;
  const field_run* kind_ = nullptr;
  const char* what_ = "";
  std::int64_t count_ = 0, done_ = 0;
  std::int64_t per_line_ = 0;  ///< numbers that a line holds, except for the last one
  bool skips_ = false;         ///< what the format skips may be anything, so blanks tell nothing
  std::string_view line_;
  line_cursor tokens_;
  bool by_blanks_ = false;  ///< this line: by tokens_ rather than by columns
  std::size_t column_ = 0;
  std::size_t run_ = 0;
  std::int64_t used_ = 0;  ///< fields of this run that have been read
};

}  // namespace bcsc::files
