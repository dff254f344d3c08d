#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/files.hpp"
#include "converters/files/location.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

/// Writing Rutherford-Boeing files. Sources: rutherford_boeing_read.cpp. Everything is checked before the first byte is
/// written.
namespace bcsc {
namespace files {
namespace {

constexpr std::int64_t line_columns = 80;

/// Equal columns for a list of numbers, with at least one blank between them.
struct column_layout {
  std::int64_t width = 0;  ///< of a number with the blank before it
  std::string format;      ///< as Fortran writes it

  std::int64_t per_line() const { return std::max<std::int64_t>(1, line_columns / width); }
  std::int64_t num_lines(std::int64_t count) const { return core::ceil_div(count, per_line()); }
};

column_layout integer_layout(std::int64_t longest) {
  column_layout layout{.width = longest + 1};
  layout.format = core::format("({}I{})", layout.per_line(), layout.width);
  return layout;
}

/// A value's shortest scientific form, taken apart: -1.25e-07 is '-', "1", "25", '-', "07".
template <value T>
class scientific {
 public:
  explicit scientific(T value)
      : end_(std::to_chars(text_, text_ + sizeof text_, value, std::chars_format::scientific).ptr),
        exponent_at_(std::find<const char*>(text_, end_, 'e')) {}

  bool negative() const { return text_[0] == '-'; }
  char digit() const { return text_[negative() ? 1 : 0]; }
  std::string_view decimals() const {
    const char* const point = std::find<const char*>(text_, exponent_at_, '.');
    return point == exponent_at_ ? std::string_view() : std::string_view(point + 1, exponent_at_);
  }
  char exponent_sign() const { return exponent_at_[1]; }
  std::string_view exponent() const { return {exponent_at_ + 2, end_}; }

 private:
  char text_[32];
  const char* end_;
  const char* exponent_at_;
};

/// Columns for values as d.dddE+ee: as many digits as the longest of them needs, as Fortran's Ew.d wants them.
struct real_layout : column_layout {
  std::size_t decimals = 1, exponent_digits = 2;

  template <value T>
  void make_room(T value) {
    const scientific<T> parts(value);
    decimals = std::max(decimals, parts.decimals().size());
    exponent_digits = std::max(exponent_digits, parts.exponent().size());
  }
  void settle() {
    constexpr std::size_t blank_sign_digit_point_letter_sign = 6;
    width = static_cast<std::int64_t>(blank_sign_digit_point_letter_sign + decimals + exponent_digits);
    format = core::format("({}E{}.{}", per_line(), width, decimals);
    if (exponent_digits > 2) format += core::format("E{}", exponent_digits);
    format += ")";
  }
  template <value T>
  void put(std::string& line, T value) const {
    const scientific<T> parts(value);
    line += parts.negative() ? " -" : "  ";
    line += parts.digit();
    line += '.';
    line += parts.decimals();
    line.append(decimals - parts.decimals().size(), '0');
    line += 'E';
    line += parts.exponent_sign();
    line.append(exponent_digits - parts.exponent().size(), '0');
    line += parts.exponent();
  }
};

std::int64_t num_characters(std::int64_t number) {
  return static_cast<std::int64_t>(core::format("{}", number).size());
}

/// Puts `count` numbers of put_one(line, k), `per_line` in a line.
template <class F>
void put_lines(sink& out, std::int64_t count, std::int64_t per_line, F&& put_one) {
  std::string line;
  for (std::int64_t k = 0; k < count;) {
    line.clear();
    for (const std::int64_t end = std::min(count, k + per_line); k < end; ++k) put_one(line, k);
    line += '\n';
    out.put(line);
  }
}

void append_integer(std::string& line, std::int64_t number, std::int64_t width) {
  std::array<char, 20> digits;  // -2^63
  const char* const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  const auto size = static_cast<std::size_t>(end - digits.begin());
  if (size < static_cast<std::size_t>(width)) line.append(static_cast<std::size_t>(width) - size, ' ');
  line.append(digits.begin(), size);
}

/// Exactly `size` printable characters of the first line of `text`.
std::string cut_to_columns(std::string_view text, std::size_t size) {
  std::string columns(text.substr(0, std::min(text.find('\n'), size)));
  // Beyond ASCII a character takes several bytes, and a cut could halve it.
  std::ranges::replace_if(
      columns, [](char c) { return c < ' ' || c > '~'; }, ' ');
  columns.resize(size, ' ');
  return columns;
}

std::string type_code(std::int64_t rows, std::int64_t cols, const write_options& options) {
  std::string code;
  switch (options.field) {
    case file_field::real:
      code = "r";
      break;
    case file_field::integer:
      code = "i";
      break;
    case file_field::pattern:
      code = "p";
      break;
    case file_field::complex:
      core::fail(errc::invalid_argument, "options.field: the matrix has no complex values");
  }
  switch (options.symmetry) {
    case file_symmetry::general:
      return code + (rows == cols ? "ua" : "ra");
    case file_symmetry::symmetric:
      return code + "sa";
    case file_symmetry::skew_symmetric:
      if (options.field == file_field::pattern) {
        core::fail(errc::invalid_argument, "options: there is no skew-symmetric pattern");
      }
      return code + "za";
    case file_symmetry::hermitian:
      break;
  }
  core::fail(errc::invalid_argument, "options.symmetry: the matrix has no complex values");
}

/// The stored entries, column by column.
template <value T, index I>
struct stored_columns {
  std::vector<std::int64_t> pointers;  ///< 1-based
  std::vector<I> row_ind;
  std::vector<T> values;
};

template <value T, index I>
stored_columns<T, I> columns_to_store(const csr_view<T, I>& a, const write_options& options) {
  const csc_matrix<T, I> by_column = to_csc(a);
  const csc_view<T, I> columns = by_column.view();
  stored_columns<T, I> stored;
  stored.pointers = {1};
  for (std::int64_t col = 0; col < columns.cols; ++col) {
    for (I k = columns.col_ptr[col]; k < columns.col_ptr[col + 1]; ++k) {
      if (options.symmetry != file_symmetry::general && columns.row_ind[k] < col) continue;
      stored.row_ind.push_back(columns.row_ind[k]);
      stored.values.push_back(columns.values[k]);
    }
    stored.pointers.push_back(static_cast<std::int64_t>(stored.row_ind.size()) + 1);
  }
  return stored;
}

template <value T, index I>
void write_columns(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  require_valid_on_host(a);
  const std::string type = type_code(a.rows, a.cols, options);
  require_square(a.rows, a.cols, options, path.string());
  require_all_writable(a, options, path.string());
  require_symmetry(a, options, path.string());

  constexpr std::int64_t max_size = 9'999'999'999'999;  // the header's I13
  for (const std::int64_t size : {a.rows, a.cols, a.nnz()}) {
    if (size > max_size) fail_at({.path = path.string()}, errc::size_overflow, "{}: has more than 13 digits", size);
  }

  const stored_columns<T, I> stored = columns_to_store(a, options);
  const auto num_stored = static_cast<std::int64_t>(stored.values.size());
  const column_layout pointers = integer_layout(num_characters(num_stored + 1));
  const column_layout indices = integer_layout(num_characters(a.rows));
  const bool has_values = options.field != file_field::pattern;
  const bool integers = options.field == file_field::integer;
  std::int64_t longest_integer = 1;
  real_layout values;
  for (const T value : stored.values) {
    if (integers) {
      longest_integer = std::max(longest_integer, num_characters(static_cast<std::int64_t>(value)));
    } else if (has_values) {
      values.make_room(value);
    }
  }
  if (integers) {
    static_cast<column_layout&>(values) = integer_layout(longest_integer);
  } else {
    values.settle();
  }

  const std::int64_t pointer_lines = pointers.num_lines(a.cols + 1), index_lines = indices.num_lines(num_stored);
  const std::int64_t value_lines = has_values ? values.num_lines(num_stored) : 0;
  sink out(path);
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz") name.replace_extension();
  out.put(cut_to_columns(options.comment, 72) + cut_to_columns(name.stem().string(), 8) + "\n");
  out.put(core::format("{:14} {:13} {:13} {:13}\n", pointer_lines + index_lines + value_lines, pointer_lines,
                       index_lines, value_lines));
  out.put(core::format("{}{:11} {:13} {:13} {:13} {:13}\n", type, "", a.rows, a.cols, num_stored, 0));
  out.put(core::format("{:16}{:16}{:20}\n", pointers.format, indices.format, has_values ? values.format : ""));

  write_progress progress(options, a.cols + 1 + num_stored * (has_values ? 2 : 1), out.path());
  put_lines(out, a.cols + 1, pointers.per_line(), [&](std::string& line, std::int64_t k) {
    progress.advance();
    append_integer(line, stored.pointers[static_cast<std::size_t>(k)], pointers.width);
  });
  put_lines(out, num_stored, indices.per_line(), [&](std::string& line, std::int64_t k) {
    progress.advance();
    append_integer(line, static_cast<std::int64_t>(stored.row_ind[static_cast<std::size_t>(k)]) + 1, indices.width);
  });
  if (has_values) {
    put_lines(out, num_stored, values.per_line(), [&](std::string& line, std::int64_t k) {
      progress.advance();
      const T value = stored.values[static_cast<std::size_t>(k)];
      if (integers) {
        append_integer(line, static_cast<std::int64_t>(value), values.width);
      } else {
        values.put(line, value);
      }
    });
  }
  out.commit();
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_rutherford_boeing(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  files::write_columns(path, a, options);
}

template void write_rutherford_boeing(const std::filesystem::path&, const csr_view<float, std::int32_t>&,
                                      const write_options&);
template void write_rutherford_boeing(const std::filesystem::path&, const csr_view<float, std::int64_t>&,
                                      const write_options&);
template void write_rutherford_boeing(const std::filesystem::path&, const csr_view<double, std::int32_t>&,
                                      const write_options&);
template void write_rutherford_boeing(const std::filesystem::path&, const csr_view<double, std::int64_t>&,
                                      const write_options&);

}  // namespace bcsc
