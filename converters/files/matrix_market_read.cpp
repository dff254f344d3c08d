#include "converters/files/matrix_market_read.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <utility>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_names.hpp"
#include "converters/files/numbers.hpp"
#include "converters/files/source.hpp"

/// Reading Matrix Market files in one pass. What is accepted and what is refused: docs/matrix-market.md.
namespace bcsc::files {
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

/// The values of a pattern file: ones, or ±[0.5, 1.5) from SplitMix64 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", OOPSLA 2014). Bits 41..63 are the magnitude, bit 0 is the sign: few enough bits for
/// fp32 and fp64 to hold the very same value.
class pattern_values {
 public:
  explicit pattern_values(std::optional<std::uint64_t> seed) : seeded_(seed.has_value()), state_(seed.value_or(0)) {}

  template <value T>
  T next() {
    if (!seeded_) return T{1};
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    const T magnitude = T{0.5} + static_cast<T>(bits >> 41) / static_cast<T>(1 << 23);
    return (bits & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  bool seeded_;
  std::uint64_t state_;
};

/// One open file whose header has been read; then either coordinates() or array_values() once.
class matrix_market_reader {
 public:
  explicit matrix_market_reader(source& in) : in_(in), lines_(in), pattern_(in.options().pattern_seed) {
    read_banner();
    read_sizes();
  }

  const file_info& info() const { return info_; }
  const std::string& path() const { return in_.path(); }

  /// The entries of a coordinate file, checked, in the order of the file.
  template <value T, index I>
  std::vector<entry<T, I>> coordinates();
  /// Calls take(i, j, value) for each stored value of an array file, checked, in the order of the file.
  template <value T, class F>
  void array_values(F&& take);
  /// Throws error{size_overflow} if I cannot hold the header's sizes.
  template <index I>
  void require_sizes_fit() const;
  /// Entries worth reserving room for: what is announced, as far as the file can hold it.
  std::size_t credible_entries() const;

 private:
  void read_banner();
  void read_sizes();
  std::int64_t read_size(const char* what);
  std::int64_t read_index(const char* what, std::int64_t size);
  template <value T>
  T read_value();
  void check_structure(std::int64_t row, std::int64_t col, bool is_zero);
  /// The next line that holds data: not blank, no comment. False at the end of the file.
  bool next_data_line();
  void require_data_line(std::int64_t num_read);
  void require_end_of_line();
  void require_end_of_file();

  [[noreturn]] void fail_token(token_status status, const char* what);
  template <class... Args>
  [[noreturn]] void fail_line(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at({.path = path(), .line = std::max<std::int64_t>(lines_.number(), 1)}, code, message,
            std::forward<Args>(args)...);
  }
  template <class... Args>
  [[noreturn]] void fail_past_end(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at({.path = path(), .line = lines_.number() + 1}, code, message, std::forward<Args>(args)...);
  }

  source& in_;
  line_reader lines_;
  line_cursor at_;
  file_info info_;
  std::int64_t size_line_ = 0;
  pattern_values pattern_;
  int triangle_ = 0;  ///< symmetric storage: the triangle of the off-diagonal entries so far; -1 lower, 1 upper
};

void matrix_market_reader::read_banner() {
  std::string_view line;
  if (!lines_.next(line)) fail_line(errc::bad_banner, "the file is empty");
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  at_ = line_cursor(line);

  const std::string_view mark = at_.peek();
  if (line.empty() || mark.data() != line.data() || !equal_ignoring_case(mark, banner_mark)) {
    fail_line(errc::bad_banner, "must begin with {}, not {}", banner_mark, quoted(line));
  }
  at_.take();
  const std::string_view object = at_.take(), format = at_.take(), field = at_.take(), symmetry = at_.take();
  if (symmetry.empty() || !at_.at_end() || lines_.cut()) {
    fail_line(errc::bad_banner, "must be '{} matrix <format> <field> <symmetry>', not {}", banner_mark, quoted(line));
  }

  if (equal_ignoring_case(object, "vector")) fail_line(errc::unsupported, "object 'vector': only 'matrix' is held");
  if (!equal_ignoring_case(object, "matrix")) fail_line(errc::bad_banner, "object {}: unknown", quoted(object));
  info_.array = equal_ignoring_case(format, "array");
  if (!info_.array && !equal_ignoring_case(format, "coordinate")) {
    fail_line(errc::bad_banner, "format {}: must be coordinate or array", quoted(format));
  }
  if (equal_ignoring_case(field, "complex")) fail_line(errc::unsupported, "field 'complex': only real values are held");
  if (equal_ignoring_case(symmetry, "hermitian")) {
    fail_line(errc::unsupported, "symmetry 'hermitian': only real values are held");
  }
  const auto known_field = find_name(field_names, field);
  if (!known_field) fail_line(errc::bad_banner, "field {}: unknown", quoted(field));
  const auto known_symmetry = find_name(symmetry_names, symmetry);
  if (!known_symmetry) fail_line(errc::bad_banner, "symmetry {}: unknown", quoted(symmetry));
  info_.field = *known_field;
  info_.symmetry = *known_symmetry;
  if (!is_valid_banner(info_.array, info_.field, info_.symmetry)) {
    fail_line(errc::bad_banner, "'{} pattern {}': not a kind of Matrix Market file", format, symmetry);
  }
}

void matrix_market_reader::read_sizes() {
  if (!next_data_line()) fail_past_end(errc::truncated, "the file ends before its sizes");
  size_line_ = lines_.number();
  info_.rows = read_size("rows");
  info_.cols = read_size("cols");
  if (!info_.array) info_.stored_entries = read_size("entries");
  require_end_of_line();
  if (info_.symmetry != file_symmetry::general && info_.rows != info_.cols) {
    fail_line(errc::structure_violation, "{} x {}: a {} matrix must be square", info_.rows, info_.cols,
              to_string(info_.symmetry));
  }
  if (!info_.array) return;
  std::int64_t full = 0;
  if (__builtin_mul_overflow(info_.rows, info_.cols, &full)) {
    fail_line(errc::size_overflow, "rows x cols = {} x {}: does not fit 63 bits", info_.rows, info_.cols);
  }
  const std::int64_t diagonal = info_.rows;
  switch (info_.symmetry) {
    case file_symmetry::general:
      info_.stored_entries = full;
      break;
    case file_symmetry::symmetric:
    case file_symmetry::hermitian:
      info_.stored_entries = (full - diagonal) / 2 + diagonal;
      break;
    case file_symmetry::skew_symmetric:
      info_.stored_entries = (full - diagonal) / 2;
      break;
  }
}

std::int64_t matrix_market_reader::read_size(const char* what) {
  std::int64_t size = 0;
  const token_status status = at_.integer(size);
  if (status == token_status::out_of_range && size > 0) {
    fail_line(errc::size_overflow, "{} = {}: does not fit 63 bits", what, quoted(at_.peek()));
  }
  if (status == token_status::ok && size < 0) fail_line(errc::value_out_of_range, "{} = {}: is negative", what, size);
  if (status != token_status::ok) fail_token(status, what);
  return size;
}

template <index I>
void matrix_market_reader::require_sizes_fit() const {
  if (std::max(info_.rows, info_.cols) > std::numeric_limits<I>::max()) {
    fail_at({.path = path(), .line = size_line_}, errc::size_overflow, "{} x {}: does not fit {}-bit indices",
            info_.rows, info_.cols, sizeof(I) * 8);
  }
}

std::size_t matrix_market_reader::credible_entries() const {
  // An entry takes at least "1 1\n" (array: "0\n"). A compressed file may hold more than this guess: vectors can grow.
  const std::int64_t bytes = in_.compressed() ? 8 * in_.stored_bytes() : in_.stored_bytes();
  const std::int64_t least = info_.array ? 2 : info_.field == file_field::pattern ? 4 : 6;
  return static_cast<std::size_t>(std::min(info_.stored_entries, bytes / least + 1));
}

template <value T, index I>
std::vector<entry<T, I>> matrix_market_reader::coordinates() {
  std::vector<entry<T, I>> entries;
  entries.reserve(credible_entries());
  for (std::int64_t k = 0; k < info_.stored_entries; ++k) {
    require_data_line(k);
    const std::int64_t row = read_index("row", info_.rows);
    const std::int64_t col = read_index("column", info_.cols);
    const T value = read_value<T>();
    require_end_of_line();
    if (info_.symmetry != file_symmetry::general) check_structure(row, col, value == T{0});
    entries.push_back({static_cast<I>(row), static_cast<I>(col), value});
  }
  require_end_of_file();
  return entries;
}

template <value T, class F>
void matrix_market_reader::array_values(F&& take) {
  // By the count and not by the columns: a file of 0 rows may announce any number of columns.
  const bool lower = info_.symmetry != file_symmetry::general;
  const std::int64_t below_diagonal = info_.symmetry == file_symmetry::skew_symmetric ? 1 : 0;
  std::int64_t row = lower ? below_diagonal : 0, col = 0;
  for (std::int64_t k = 0; k < info_.stored_entries; ++k) {
    require_data_line(k);
    const T value = read_value<T>();
    require_end_of_line();
    take(row, col, value);
    if (++row == info_.rows) {
      ++col;
      row = lower ? col + below_diagonal : 0;
    }
  }
  require_end_of_file();
}

std::int64_t matrix_market_reader::read_index(const char* what, std::int64_t size) {
  std::int64_t one_based = 0;
  const token_status status = at_.integer(one_based);
  if (status == token_status::out_of_range) {
    fail_line(errc::index_out_of_range, "{} index {}: must lie in 1 .. {}", what, quoted(at_.peek()), size);
  }
  if (status != token_status::ok) fail_token(status, what);
  if (one_based < 1 || one_based > size) {
    fail_line(errc::index_out_of_range, "{} index {}: must lie in 1 .. {}", what, one_based, size);
  }
  return one_based - 1;
}

template <value T>
T matrix_market_reader::read_value() {
  if (info_.field == file_field::pattern) return pattern_.next<T>();
  if (info_.field == file_field::real) {
    T value{};
    const token_status status = at_.real(value);
    if (status != token_status::ok) fail_token(status, "value");
    return value;
  }
  std::int64_t integer = 0;
  const token_status status = at_.integer(integer);
  if (status != token_status::ok) fail_token(status, "integer value");
  return static_cast<T>(integer);
}

void matrix_market_reader::check_structure(std::int64_t row, std::int64_t col, bool is_zero) {
  if (row == col) {
    if (info_.symmetry == file_symmetry::skew_symmetric && !is_zero) {
      fail_line(errc::structure_violation, "entry ({0}, {0}): a skew-symmetric matrix has a zero diagonal", row + 1);
    }
    return;
  }
  const int triangle = row > col ? -1 : 1;
  if (triangle_ == 0) triangle_ = triangle;
  // Both triangles mean that a full matrix was declared symmetric by mistake: expanding it would double its values.
  if (triangle != triangle_) {
    fail_line(errc::structure_violation, "entry ({}, {}): a {} file must store one triangle, and the other has begun",
              row + 1, col + 1, to_string(info_.symmetry));
  }
}

bool matrix_market_reader::next_data_line() {
  std::string_view line;
  while (lines_.next(line)) {
    at_ = line_cursor(line);
    const bool blank = at_.at_end();
    if (!blank && at_.front() == '%') continue;
    if (lines_.cut()) fail_line(errc::parse_error, "the line is longer than {} bytes", line_reader::max_line);
    if (!blank) return true;
  }
  return false;
}

void matrix_market_reader::require_data_line(std::int64_t num_read) {
  if (next_data_line()) return;
  fail_past_end(errc::truncated, "the file ends after {} of {} entries", num_read, info_.stored_entries);
}

void matrix_market_reader::require_end_of_line() {
  if (!at_.at_end()) fail_line(errc::trailing_data, "{}: more than belongs on this line", quoted(at_.peek()));
}

void matrix_market_reader::require_end_of_file() {
  if (next_data_line()) {
    fail_line(errc::trailing_data, "{}: more than the {} entries announced", quoted(at_.peek()), info_.stored_entries);
  }
}

void matrix_market_reader::fail_token(token_status status, const char* what) {
  if (status == token_status::missing) {
    fail_line(lines_.unterminated() ? errc::truncated : errc::parse_error, "the line ends before the {}", what);
  }
  if (status == token_status::out_of_range) {
    fail_line(errc::value_out_of_range, "{} {}: does not fit its type", what, quoted(at_.peek()));
  }
  fail_line(errc::parse_error, "{} {}: not a number of this kind", what, quoted(at_.peek()));
}

}  // namespace

file_info matrix_market::read_info(source& in) { return matrix_market_reader(in).info(); }

template <value T, index I>
coo_matrix<T, I> matrix_market::read_matrix(source& in) {
  matrix_market_reader reader(in);
  reader.require_sizes_fit<I>();
  const file_info& info = reader.info();
  std::vector<entry<T, I>> entries;
  if (info.array) {
    reader.array_values<T>([&](std::int64_t row, std::int64_t col, T value) {
      if (value != T{0}) entries.push_back({static_cast<I>(row), static_cast<I>(col), value});
    });
  } else {
    entries = reader.coordinates<T, I>();
  }
  return assemble(info.rows, info.cols, std::move(entries), info.symmetry, reader.path());
}

template <value T>
dense_matrix<T> matrix_market::read_dense(source& in) {
  matrix_market_reader reader(in);
  const file_info& info = reader.info();
  if (!info.array) {
    fail_at({.path = reader.path(), .line = 1}, errc::unsupported, "coordinate form: a dense matrix needs array form");
  }
  // The matrix is made only when the file has proved to hold it.
  std::vector<T> stored;
  stored.reserve(reader.credible_entries());
  reader.array_values<T>([&](std::int64_t, std::int64_t, T value) { stored.push_back(value); });

  dense_matrix<T> dense(info.rows, info.cols, layout::col_major);
  if (info.symmetry == file_symmetry::general) {
    std::copy(stored.begin(), stored.end(), dense.data());
    return dense;
  }
  const bool skew = info.symmetry == file_symmetry::skew_symmetric;
  auto next = stored.begin();
  for (std::int64_t col = 0; col < info.cols; ++col) {
    for (std::int64_t row = skew ? col + 1 : col; row < info.rows; ++row, ++next) {
      dense(col, row) = skew ? -*next : *next;
      dense(row, col) = *next;
    }
  }
  return dense;
}

template coo_matrix<float, std::int32_t> matrix_market::read_matrix(source&);
template coo_matrix<float, std::int64_t> matrix_market::read_matrix(source&);
template coo_matrix<double, std::int32_t> matrix_market::read_matrix(source&);
template coo_matrix<double, std::int64_t> matrix_market::read_matrix(source&);
template dense_matrix<float> matrix_market::read_dense(source&);
template dense_matrix<double> matrix_market::read_dense(source&);

}  // namespace bcsc::files
