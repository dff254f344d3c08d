#include "converters/files/fortran_format.hpp"

#include <algorithm>

#include "converters/files/location.hpp"

namespace bcsc::files {
namespace {

/// No number has more columns; and products with such a width stay far below 63 bits.
constexpr std::int64_t max_width = 1000;
/// No line has more.
constexpr std::int64_t max_skip = std::int64_t{1} << 20;
constexpr std::int64_t max_scale = 100;
constexpr std::int64_t max_number = std::int64_t{1} << 40;
/// What a header's 20 characters can sensibly ask for.
constexpr std::size_t max_runs = 10'000;
constexpr int max_depth = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent over the format's text.
class format_parser {
 public:
  format_parser(std::string_view text, const file_location& where) : text_(text), where_(where) {}

  fortran_format parse() {
    if (!accept('(')) fail(errc::parse_error, "must begin with '('");
    const fortran_format format = group(0);
    skip_blanks();
    if (at_ != text_.size()) fail(errc::parse_error, "continues after its last ')'");
    if (std::ranges::all_of(format, [](const field_run& run) { return run.kind == field_kind::skip; })) {
      fail(errc::parse_error, "has no fields");
    }
    return format;
  }

 private:
  /// What follows an opening parenthesis, up to and including the closing one.
  fortran_format group(int depth);
  /// Iw, Iw.m, Fw.d, Ew.d, Ew.dEe, Dw.d, Gw.d, ESw.d, ENw.d.
  field_run field(std::int64_t repeat);
  void append(fortran_format& runs, fortran_format group, std::int64_t repeat);
  /// Skips that follow one another become one, so that no line costs more steps than it has fields.
  void append(fortran_format& runs, const field_run& run);

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  /// The next character as a capital, blanks skipped (they mean nothing in a format); NUL at the end.
  char peek() {
    skip_blanks();
    if (at_ == text_.size()) return '\0';
    const char c = text_[at_];
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::int64_t number(const char* what);

  template <class... Args>
  [[noreturn]] void fail(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at(where_, code, "format {}: {}", quoted(text_), core::format(message, std::forward<Args>(args)...));
  }

  std::string_view text_;
  const file_location& where_;
  std::size_t at_ = 0;
  std::int64_t scale_ = 0;  ///< kP holds for all that follows
};

std::int64_t format_parser::number(const char* what) {
  if (!is_digit(peek())) fail(errc::parse_error, "{} is missing", what);
  std::int64_t value = 0;
  for (; is_digit(peek()); ++at_) {
    value = value * 10 + (text_[at_] - '0');
    if (value > max_number) fail(errc::parse_error, "{} is too large", what);
  }
  return value;
}

fortran_format format_parser::group(int depth) {
  if (depth > max_depth) fail(errc::parse_error, "has more than {} parentheses inside one another", max_depth);
  fortran_format runs;
  for (;;) {
    while (accept(',')) {
    }
    if (accept(')')) return runs;
    const bool negative = accept('-');
    const bool counted = is_digit(peek());
    const std::int64_t count = counted ? number("a number") : 1;
    if (counted && accept('P')) {
      if (count > max_scale) fail(errc::parse_error, "a scale factor of {}: must not exceed {}", count, max_scale);
      scale_ = negative ? -count : count;
      continue;
    }
    if (negative) fail(errc::parse_error, "'-' belongs before a scale factor only");
    if (count == 0) fail(errc::parse_error, "a repetition of 0");
    if (accept('X')) {
      append(runs, {.width = count});
    } else if (accept('(')) {
      // A format that is used up starts again at its last inner group, not at its beginning.
      if (depth == 0 && !runs.empty()) fail(errc::unsupported, "what stands before an inner group is read only once");
      append(runs, group(depth + 1), count);
    } else {
      append(runs, field(count));
    }
    if (runs.size() > max_runs) fail(errc::unsupported, "has more than {} unequal fields", max_runs);
  }
}

void format_parser::append(fortran_format& runs, fortran_format group, std::int64_t repeat) {
  if (group.empty()) fail(errc::parse_error, "a group without fields");
  if (group.size() == 1) {
    std::int64_t& multiple = group[0].kind == field_kind::skip ? group[0].width : group[0].repeat;
    if (__builtin_mul_overflow(multiple, repeat, &multiple)) fail(errc::parse_error, "a repetition is too large");
    repeat = 1;
  }
  if (repeat > static_cast<std::int64_t>(max_runs / group.size())) {
    fail(errc::unsupported, "has more than {} unequal fields", max_runs);
  }
  for (std::int64_t k = 0; k < repeat; ++k) {
    for (const field_run& run : group) append(runs, run);
  }
}

void format_parser::append(fortran_format& runs, const field_run& run) {
  if (run.kind == field_kind::skip && !runs.empty() && runs.back().kind == field_kind::skip) {
    runs.back().width += run.width;
  } else {
    runs.push_back(run);
  }
  if (run.kind == field_kind::skip && runs.back().width > max_skip) {
    fail(errc::parse_error, "skips more than {} columns", max_skip);
  }
}

field_run format_parser::field(std::int64_t repeat) {
  const char letter = peek();
  if (letter == '\0') fail(errc::parse_error, "has no closing ')'");
  constexpr std::string_view letters = "IFEDG";
  if (letters.find(letter) == std::string_view::npos) {
    fail(errc::parse_error, "{}: does not describe a number", quoted(std::string_view(&letter, 1)));
  }
  ++at_;
  if (letter == 'E' && (peek() == 'S' || peek() == 'N')) ++at_;
  const field_run run{.kind = letter == 'I' ? field_kind::integer : field_kind::real,
                      .repeat = repeat,
                      .width = number("a width"),
                      .scale = scale_};
  if (run.width < 1 || run.width > max_width) {
    fail(errc::parse_error, "a width of {}: must lie in 1 .. {}", run.width, max_width);
  }
  if (accept('.')) number("the number of decimals");
  if ((letter == 'E' || letter == 'G') && accept('E')) number("the exponent's width");
  return run;
}

}  // namespace

fortran_format parse_fortran_format(std::string_view text, const file_location& where) {
  return format_parser(text, where).parse();
}

std::string_view plain_number(std::string_view field, const field_run& run, std::string& scratch) {
  constexpr std::string_view number_characters = "+-.0123456789";
  const std::size_t letter = field.find_first_not_of(number_characters);
  if (letter != std::string_view::npos) return field;
  const std::size_t sign = field.find_first_of("+-", 1);
  if (sign == std::string_view::npos && run.scale == 0) return field;
  scratch = field;
  if (sign != std::string_view::npos) {
    scratch.insert(sign, 1, 'e');
  } else {
    scratch += core::format("e{}", -run.scale);
  }
  return scratch;
}

}  // namespace bcsc::files
