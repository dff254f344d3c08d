#include "converters/files/rutherford_boeing_read.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/fortran_fields.hpp"
#include "converters/files/fortran_format.hpp"
#include "converters/files/line_reader.hpp"
#include "converters/files/location.hpp"
#include "converters/files/numbers.hpp"
#include "converters/files/pattern_values.hpp"
#include "converters/files/text_numbers.hpp"

/// Sources: I. S. Duff, R. G. Grimes, J. G. Lewis, "The Rutherford-Boeing Sparse Matrix Collection", RAL-TR-97-031,
/// 1997; the same, "Users' Guide for the Harwell-Boeing Sparse Matrix Collection", TR/PA/92/86, CERFACS, 1992.
namespace bcsc::files {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// A file's header, read; then entries() once.
class rutherford_boeing_reader {
 public:
  explicit rutherford_boeing_reader(source& in) : in_(in), lines_(in), fields_(lines_, in.path()) { read_header(); }

  const file_info& info() const { return info_; }
  /// Throws error{size_overflow} if I cannot hold the header's sizes.
  template <index I>
  void require_sizes_fit() const;
  /// The stored entries, checked, column by column.
  template <value T, index I>
  stored_entries<T, I> entries();

 private:
  void read_header();
  void read_line_counts();
  void read_type(std::string_view code);
  void read_sizes(line_cursor at);
  void read_formats(std::string_view line);
  /// The next line of the header; `what` it holds.
  std::string_view header_line(const char* what);
  std::int64_t header_number(line_cursor& at, const char* what);

  std::vector<std::int64_t> read_pointers();
  template <value T, index I>
  void read_values(stored_entries<T, I>& stored);
  template <value T>
  T read_value();
  void check_triangle(std::int64_t row, std::int64_t col);
  void require_end_of_matrix();

  /// Numbers worth reserving room for: what is announced, as far as the file can hold it.
  std::size_t credible(std::int64_t count, const fortran_format& format) const;
  file_location here() const { return {.path = in_.path(), .line = std::max<std::int64_t>(lines_.number(), 1)}; }
  template <class... Args>
  [[noreturn]] void fail_line(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at(here(), code, message, std::forward<Args>(args)...);
  }

  source& in_;
  line_reader lines_;
  field_reader fields_;
  file_info info_{.format = file_format::rutherford_boeing};
  std::int64_t value_lines_ = 0, right_hand_side_lines_ = 0;
  std::int64_t size_line_ = 0;
  fortran_format pointer_format_, index_format_, value_format_;
  std::string scratch_;
  int triangle_ = 0;  ///< symmetric storage: the triangle of the off-diagonal entries so far; -1 lower, 1 upper
};

void rutherford_boeing_reader::read_header() {
  header_line("title");
  read_line_counts();
  const std::string_view sizes = header_line("type and its sizes");
  size_line_ = lines_.number();
  read_type(sizes.substr(0, 3));
  read_sizes(line_cursor(sizes.substr(std::min<std::size_t>(3, sizes.size()))));
  read_formats(header_line("formats"));
  if (right_hand_side_lines_ == 0) return;
  // Harwell-Boeing's fifth line: in full or as the matrix, so many right-hand sides.
  const std::string_view line = header_line("kind of right-hand sides");
  const char kind = line.empty() ? ' ' : lower(line[0]);
  if (kind != 'f' && kind != 'm') {
    fail_line(errc::bad_banner, "kind of right-hand sides {}: must begin with F or M", quoted(line.substr(0, 3)));
  }
}

std::string_view rutherford_boeing_reader::header_line(const char* what) {
  std::string_view line;
  if (!lines_.next(line)) {
    if (lines_.number() == 0) fail_line(errc::bad_banner, "the file is empty");
    fail_at({.path = in_.path(), .line = lines_.number() + 1}, errc::truncated,
            "the file ends before the line of the {}", what);
  }
  if (lines_.cut()) fail_line(errc::bad_banner, "the line of the {} is longer than {} bytes", what, line.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::int64_t rutherford_boeing_reader::header_number(line_cursor& at, const char* what) {
  if (at.at_end()) {
    fail_line(lines_.unterminated() ? errc::truncated : errc::parse_error, "the line ends before the {}", what);
  }
  return size_of_token({in_.path(), lines_.number(), what}, at.take());
}

void rutherford_boeing_reader::read_line_counts() {
  line_cursor at(header_line("counts of lines"));
  // The counts follow from sizes and formats, and some files have them wrong. Two say what is in the file.
  header_number(at, "count of all lines");
  header_number(at, "count of pointer lines");
  header_number(at, "count of index lines");
  value_lines_ = header_number(at, "count of value lines");
  if (!at.at_end()) right_hand_side_lines_ = header_number(at, "count of right-hand side lines");
  if (!at.at_end()) fail_line(errc::trailing_data, "{}: more than five counts of lines", quoted(at.peek()));
}

void rutherford_boeing_reader::read_type(std::string_view code) {
  const auto letter = [&](std::size_t k) { return k < code.size() ? lower(code[k]) : ' '; };
  switch (letter(0)) {
    case 'r':
      info_.field = file_field::real;
      break;
    case 'i':
      info_.field = file_field::integer;
      break;
    case 'p':
      info_.field = file_field::pattern;
      break;
    case 'c':
      info_.field = file_field::complex;
      break;
    case 'q':
      fail_line(errc::unsupported, "type {}: the values lie in another file", quoted(code));
    default:
      fail_line(errc::bad_banner, "type {}: must begin with R, C, I, P or Q", quoted(code));
  }
  switch (letter(1)) {
    case 'u':
    case 'r':
      info_.symmetry = file_symmetry::general;
      break;
    case 's':
      info_.symmetry = file_symmetry::symmetric;
      break;
    case 'z':
      info_.symmetry = file_symmetry::skew_symmetric;
      break;
    case 'h':
      info_.symmetry = file_symmetry::hermitian;
      break;
    default:
      fail_line(errc::bad_banner, "type {}: the second letter must be S, U, Z, H or R", quoted(code));
  }
  if (letter(2) == 'e') fail_line(errc::unsupported, "type {}: the elements are not assembled", quoted(code));
  if (letter(2) != 'a') fail_line(errc::bad_banner, "type {}: must end in A or E", quoted(code));
  // Without values there is no sign to flip, and without imaginary parts no conjugate.
  const bool pattern_skew = info_.field == file_field::pattern && info_.symmetry == file_symmetry::skew_symmetric;
  if (pattern_skew || (info_.field != file_field::complex && info_.symmetry == file_symmetry::hermitian)) {
    fail_line(errc::bad_banner, "type {}: not a kind of matrix", quoted(code));
  }
  if (info_.field == file_field::complex && !in_.options().real_part) {
    fail_line(errc::unsupported, "type {}: complex values; read_options::real_part takes their real parts",
              quoted(code));
  }
}

void rutherford_boeing_reader::read_sizes(line_cursor at) {
  info_.rows = header_number(at, "number of rows");
  info_.cols = header_number(at, "number of columns");
  info_.stored_entries = header_number(at, "number of entries");
  if (!at.at_end()) header_number(at, "number of element entries");
  if (!at.at_end()) fail_line(errc::trailing_data, "{}: more than four sizes", quoted(at.peek()));
  if (std::max(info_.cols, info_.stored_entries) == std::numeric_limits<std::int64_t>::max()) {
    fail_line(errc::size_overflow, "{} columns, {} entries: their pointers do not fit 63 bits", info_.cols,
              info_.stored_entries);
  }
  if (info_.symmetry != file_symmetry::general && info_.rows != info_.cols) {
    fail_line(errc::structure_violation, "{} x {}: a symmetric matrix of whatever kind must be square", info_.rows,
              info_.cols);
  }
  const bool has_values = info_.field != file_field::pattern;
  if (has_values ? value_lines_ == 0 && info_.stored_entries > 0 : value_lines_ > 0) {
    fail_line(errc::structure_violation, "{} lines of values contradict the type", value_lines_);
  }
}

void rutherford_boeing_reader::read_formats(std::string_view line) {
  /// Each format ends with the parenthesis that closes its first.
  const auto take = [&](const char* what) {
    line = trimmed(line);
    std::size_t size = 0;
    int depth = 0;
    for (bool inside = true; inside && size < line.size(); ++size) {
      depth += line[size] == '(' ? 1 : line[size] == ')' ? -1 : 0;
      inside = depth > 0;
    }
    if (line.empty()) fail_line(errc::parse_error, "the format of the {} is missing", what);
    const std::string_view text = line.substr(0, size);
    line.remove_prefix(size);
    return parse_fortran_format(text, here());
  };
  const auto require_integers = [&](const fortran_format& format, const char* what) {
    const bool real = std::ranges::any_of(format, [](const auto& run) { return run.kind == field_kind::real; });
    if (real) fail_line(errc::parse_error, "the format of the {} must be one of integers", what);
  };
  pointer_format_ = take("pointers");
  require_integers(pointer_format_, "pointers");
  index_format_ = take("row indices");
  require_integers(index_format_, "row indices");
  if (info_.field == file_field::pattern) return;
  value_format_ = take("values");
  if (info_.field == file_field::integer) require_integers(value_format_, "values of an integer matrix");
}

template <index I>
void rutherford_boeing_reader::require_sizes_fit() const {
  if (std::max(info_.rows, info_.cols) > std::numeric_limits<I>::max()) {
    fail_at({.path = in_.path(), .line = size_line_}, errc::size_overflow, "{} x {}: does not fit {}-bit indices",
            info_.rows, info_.cols, sizeof(I) * 8);
  }
}

std::size_t rutherford_boeing_reader::credible(std::int64_t count, const fortran_format& format) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const field_run& run : format) {
    if (run.kind != field_kind::skip) least = std::min(least, run.width);
  }
  // A compressed file may hold more than this guess: vectors can grow.
  return static_cast<std::size_t>(std::min(count, in_.credible_bytes() / least + 1));
}

std::vector<std::int64_t> rutherford_boeing_reader::read_pointers() {
  std::vector<std::int64_t> pointers;
  in_.require_memory(0, core::saturating_product(in_.holdable(info_.cols + 1, 1), sizeof(std::int64_t)),
                     core::format("the pointers of {} columns", info_.cols), here());
  pointers.reserve(credible(info_.cols + 1, pointer_format_));
  fields_.begin(pointer_format_, "column pointer", info_.cols + 1);
  const std::int64_t end = info_.stored_entries + 1;
  std::int64_t last = 1;
  for (std::int64_t col = 0; col <= info_.cols; ++col) {
    const std::string_view field = fields_.next();
    const std::int64_t pointer = index_of_token(fields_.place(), field, 1, end);
    const std::int64_t wanted = col == 0 ? 1 : end;
    if (pointer < last) fail_line(errc::structure_violation, "column pointer {}: the one before is {}", pointer, last);
    if ((col == 0 || col == info_.cols) && pointer != wanted) {
      fail_line(errc::structure_violation, "column pointer {}: the {} must be {}", pointer, col == 0 ? "first" : "last",
                wanted);
    }
    pointers.push_back(pointer);
    last = pointer;
  }
  fields_.end();
  return pointers;
}

template <value T, index I>
stored_entries<T, I> rutherford_boeing_reader::entries() {
  const std::vector<std::int64_t> pointers = read_pointers();
  stored_entries<T, I> stored;
  stored.in = &in_;
  stored.require_memory(0, in_.holdable(info_.stored_entries, 1));
  const std::size_t likely = credible(info_.stored_entries, index_format_);
  stored.row.reserve(likely);
  stored.col.reserve(likely);
  stored.values.reserve(likely);
  fields_.begin(index_format_, "row index", info_.stored_entries);
  for (std::int64_t col = 0; col < info_.cols; ++col) {
    const std::int64_t end = pointers[static_cast<std::size_t>(col) + 1];
    for (std::int64_t k = pointers[static_cast<std::size_t>(col)]; k < end; ++k) {
      const std::string_view field = fields_.next();
      const std::int64_t row = index_of_token(fields_.place(), field, 1, info_.rows) - 1;
      if (info_.symmetry != file_symmetry::general) check_triangle(row, col);
      stored.push_back(static_cast<I>(row), static_cast<I>(col), T{0});
    }
  }
  fields_.end();

  if (info_.field == file_field::pattern) {
    for (std::size_t k = 0; k < stored.size(); ++k) {
      stored.values[k] = pattern_value<T>(in_.options().pattern_seed, static_cast<std::int64_t>(k));
    }
  } else {
    read_values(stored);
  }
  require_end_of_matrix();
  return stored;
}

template <value T, index I>
void rutherford_boeing_reader::read_values(stored_entries<T, I>& stored) {
  const bool complex = info_.field == file_field::complex;
  fields_.begin(value_format_, "value", complex ? 2 * info_.stored_entries : info_.stored_entries);
  for (std::size_t k = 0; k < stored.size(); ++k) {
    stored.values[k] = read_value<T>();
    if (complex) read_value<T>();  // an imaginary part, which must be a number too
    if (info_.symmetry == file_symmetry::skew_symmetric && stored.row[k] == stored.col[k] && stored.values[k] != T{0}) {
      fail_line(errc::structure_violation, "entry ({0}, {0}): a skew-symmetric matrix has a zero diagonal",
                static_cast<std::int64_t>(stored.row[k]) + 1);
    }
  }
  fields_.end();
}

template <value T>
T rutherford_boeing_reader::read_value() {
  const std::string_view field = fields_.next();
  if (info_.field == file_field::integer) {
    std::int64_t integer = 0;
    if (take_integer(fields_.place(), field, integer) == token_status::ok) return static_cast<T>(integer);
    fail_line(errc::value_out_of_range, "value {}: does not fit 64 bits", quoted(field));
  }
  return value_of_token<T>(fields_.place(), plain_number(field, fields_.kind(), scratch_));
}

void rutherford_boeing_reader::check_triangle(std::int64_t row, std::int64_t col) {
  if (row == col) return;
  const int triangle = row > col ? -1 : 1;
  if (triangle_ == 0) triangle_ = triangle;
  // Both triangles mean that a full matrix was declared symmetric by mistake: expanding it would double its values.
  if (triangle != triangle_) {
    fail_line(errc::structure_violation, "entry ({}, {}): one triangle must be stored, and the other has begun",
              row + 1, col + 1);
  }
}

void rutherford_boeing_reader::require_end_of_matrix() {
  std::string_view line;
  while (lines_.next(line)) {
    // Right-hand sides are read and ignored, so that damage to a compressed file shows.
    if (right_hand_side_lines_ == 0 && !trimmed(line).empty()) {
      fail_line(errc::trailing_data, "{}: more than the matrix announced", quoted(trimmed(line)));
    }
  }
}

}  // namespace

bool rutherford_boeing::has_header(std::string_view head) {
  const auto take_line = [&] {
    const std::size_t length = std::min(head.find('\n'), head.size());
    const std::string_view line = head.substr(0, length);
    head.remove_prefix(std::min(length + 1, head.size()));
    return line;
  };
  const auto count_integers = [](std::string_view line) -> int {
    line_cursor at(line);
    std::int64_t number = 0;
    int count = 0;
    while (at.integer(number) == token_status::ok) ++count;
    return at.at_end() ? count : -1;
  };
  const auto is_one_of = [](char c, std::string_view letters) { return letters.find(lower(c)) != letters.npos; };
  take_line();
  const int line_counts = count_integers(take_line());
  if (line_counts != 4 && line_counts != 5) return false;
  const std::string_view type = take_line();
  if (type.size() < 4 || !is_one_of(type[0], "rcipq") || !is_one_of(type[1], "suzhr") || !is_one_of(type[2], "ae")) {
    return false;
  }
  const int sizes = count_integers(type.substr(3));
  return (sizes == 3 || sizes == 4) && trimmed(take_line()).starts_with('(');
}

file_info rutherford_boeing::read_info(source& in) { return rutherford_boeing_reader(in).info(); }

template <value T, index I>
coo_matrix<T, I> rutherford_boeing::read_matrix(source& in) {
  rutherford_boeing_reader reader(in);
  reader.require_sizes_fit<I>();
  const file_info& info = reader.info();
  return assemble_coo(info.rows, info.cols, reader.entries<T, I>(), info.symmetry, in.path());
}

template coo_matrix<float, std::int32_t> rutherford_boeing::read_matrix(source&);
template coo_matrix<float, std::int64_t> rutherford_boeing::read_matrix(source&);
template coo_matrix<double, std::int32_t> rutherford_boeing::read_matrix(source&);
template coo_matrix<double, std::int64_t> rutherford_boeing::read_matrix(source&);

}  // namespace bcsc::files
