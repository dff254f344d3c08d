#include "converters/files/matrix_market_header.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "converters/files/matrix_market_lines.hpp"
#include "converters/files/matrix_market_names.hpp"
#include "converters/files/numbers.hpp"

namespace bcsc::files::matrix_market {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

template <class Names>
auto find_name(const Names& names, std::string_view word) {
  std::optional<typename Names::value_type::first_type> found;
  for (const auto& [value, name] : names) {
    if (equal_ignoring_case(name, word)) found = value;
  }
  return found;
}

void read_banner(line_reader& lines, const source& in, file_info& info) {
  std::string_view text;
  const bool any = lines.next(text);
  numbered_line line(in.path(), 1);
  if (!any) line.fail(errc::bad_banner, "the file is empty");
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  line_cursor at(text);

  const std::string_view mark = at.peek();
  if (text.empty() || mark.data() != text.data() || !equal_ignoring_case(mark, banner_mark)) {
    line.fail(errc::bad_banner, "must begin with {}, not {}", banner_mark, quoted(text));
  }
  at.take();
  const std::string_view object = at.take(), format = at.take(), field = at.take(), symmetry = at.take();
  if (symmetry.empty() || !at.at_end() || lines.cut()) {
    line.fail(errc::bad_banner, "must be '{} matrix <format> <field> <symmetry>', not {}", banner_mark, quoted(text));
  }

  if (equal_ignoring_case(object, "vector")) line.fail(errc::unsupported, "object 'vector': only 'matrix' is held");
  if (!equal_ignoring_case(object, "matrix")) line.fail(errc::bad_banner, "object {}: unknown", quoted(object));
  info.array = equal_ignoring_case(format, "array");
  if (!info.array && !equal_ignoring_case(format, "coordinate")) {
    line.fail(errc::bad_banner, "format {}: must be coordinate or array", quoted(format));
  }
  const auto known_field = find_name(field_names, field);
  if (!known_field) line.fail(errc::bad_banner, "field {}: unknown", quoted(field));
  const auto known_symmetry = find_name(symmetry_names, symmetry);
  if (!known_symmetry) line.fail(errc::bad_banner, "symmetry {}: unknown", quoted(symmetry));
  info.field = *known_field;
  info.symmetry = *known_symmetry;
  if (!is_valid_banner(info.array, info.field, info.symmetry)) {
    line.fail(errc::bad_banner, "'{} {} {}': not a kind of Matrix Market file", format, field, symmetry);
  }
  if (info.symmetry == file_symmetry::hermitian && info.field != file_field::complex) {
    line.fail(errc::unsupported, "symmetry 'hermitian' with field '{}': it belongs to complex values", field);
  }
  if (info.field == file_field::complex && !in.options().real_part) {
    line.fail(errc::unsupported,
              "field 'complex': only real values are held; --real-part (read_options::real_part) drops the imaginary "
              "parts");
  }
}

std::int64_t read_size(numbered_line& line, const char* what) {
  std::int64_t size = 0;
  const token_status status = line.at.integer(size);
  if (status == token_status::out_of_range && size > 0) {
    line.fail(errc::size_overflow, "{} = {}: does not fit 63 bits", what, quoted(line.at.peek()));
  }
  if (status == token_status::ok && size < 0) line.fail(errc::value_out_of_range, "{} = {}: is negative", what, size);
  if (status != token_status::ok) line.fail_token(status, what);
  return size;
}

/// How many values an array of these sizes and this symmetry stores.
std::int64_t array_entries(const file_info& info, numbered_line& line) {
  std::int64_t full = 0;
  if (__builtin_mul_overflow(info.rows, info.cols, &full)) {
    line.fail(errc::size_overflow, "rows x cols = {} x {}: does not fit 63 bits", info.rows, info.cols);
  }
  if (info.symmetry == file_symmetry::general) return full;
  const std::int64_t below_diagonal = (full - info.rows) / 2;
  return info.symmetry == file_symmetry::skew_symmetric ? below_diagonal : below_diagonal + info.rows;
}

}  // namespace

header read_header(line_reader& lines, const source& in) {
  header head;
  file_info& info = head.info;
  read_banner(lines, in, info);

  numbered_line line(in.path(), 1);
  bool found = false;
  for (std::string_view text; !found && lines.next(text);) {
    line.begin(text, lines.number(), lines.unterminated());
    found = line.holds_data();
  }
  if (!found) {
    fail_at({.path = in.path(), .line = lines.number() + 1}, errc::truncated, "the file ends before its sizes");
  }
  head.size_line = lines.number();
  info.rows = read_size(line, "rows");
  info.cols = read_size(line, "cols");
  if (!info.array) info.stored_entries = read_size(line, "entries");
  line.require_end();
  if (info.symmetry != file_symmetry::general && info.rows != info.cols) {
    line.fail(errc::structure_violation, "{} x {}: a {} matrix must be square", info.rows, info.cols,
              to_string(info.symmetry));
  }
  if (info.array) info.stored_entries = array_entries(info, line);
  return head;
}

}  // namespace bcsc::files::matrix_market
