#include "converters/files/fortran_fields.hpp"

#include <algorithm>

#include "converters/files/location.hpp"

namespace bcsc::files {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\v\f";
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::string_view field_reader::next() {
  if (run_ == format_->size()) begin_line();
  while ((*format_)[run_].kind == field_kind::skip || used_ == (*format_)[run_].repeat) {
    if ((*format_)[run_].kind == field_kind::skip) column_ += static_cast<std::size_t>((*format_)[run_].width);
    advance();
  }
  kind_ = &(*format_)[run_];
  const std::size_t first = std::min(column_, line_.size());
  column_ += static_cast<std::size_t>(kind_->width);
  ++used_;
  ++done_;
  const std::string_view field = by_blanks_ ? tokens_.take() : trimmed(line_.substr(first, column_ - first));
  // At the end of the file, an incomplete field is a number that has lost digits.
  if (lines_.unterminated() && column_ > line_.size()) {
    fail_at(place().where(), errc::truncated, "the file ends inside {} {} of {}", what_, done_, count_);
  }
  if (field.empty()) {
    fail_at(place().where(), errc::parse_error, "columns {} .. {} are blank: {} {} of {} is missing", first + 1,
            column_, what_, done_, count_);
  }
  return field;
}

void field_reader::end() {
  for (std::size_t k = run_ + 1; k < format_->size() && (*format_)[k].kind == field_kind::skip; ++k) {
    column_ += static_cast<std::size_t>((*format_)[k].width);
  }
  require_blank_rest();
}

void field_reader::begin_line() {
  require_blank_rest();
  do {
    if (!lines_.next(line_)) {
      fail_at({.path = path_, .line = lines_.number() + 1}, errc::truncated, "the file ends after {} of {}: {}", done_,
              count_, what_);
    }
    if (lines_.cut()) {
      fail_at(place().where(), errc::parse_error, "the line is longer than {} bytes", line_reader::max_line);
    }
    if (line_.ends_with('\r')) line_.remove_suffix(1);
  } while (trimmed(line_).empty());
  column_ = 0;
  run_ = 0;
  used_ = 0;
  const std::int64_t wanted = std::min(per_line_, count_ - done_);
  std::int64_t num_tokens = 0;
  for (line_cursor at(line_); num_tokens <= wanted && !at.take().empty();) ++num_tokens;
  by_blanks_ = !skips_ && num_tokens == wanted;
  tokens_ = line_cursor(line_);
}

void field_reader::require_blank_rest() const {
  if (by_blanks_) return;
  const std::string_view rest = trimmed(line_.substr(std::min(column_, line_.size())));
  if (rest.empty()) return;
  fail_at(place().where(), errc::trailing_data, "{}: stands behind the {} columns of the format", quoted(rest),
          column_);
}

}  // namespace bcsc::files
