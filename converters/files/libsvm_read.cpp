#include "converters/files/libsvm_read.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "converters/files/coo_assembly.hpp"
#include "converters/files/location.hpp"
#include "converters/files/text_numbers.hpp"
#include "converters/files/token_reader.hpp"

/// Sources: the READMEs of LIBSVM (C.-C. Chang, C.-J. Lin) and of SVMlight (T. Joachims).
namespace bcsc::files {
namespace {

/// Goes through a file once.
class libsvm_reader {
 public:
  explicit libsvm_reader(source& in)
      : in_(in), tokens_(in, {.comment = '#'}), base_(in.options().index_base.value_or(1)) {
    require_sensible_options();
  }

  /// Calls begin_row(label) for each row, and add(col, value) for each of its entries, checked, columns increasing and
  /// at most `last_col`.
  template <value T, class Row, class Entry>
  void scan(std::int64_t last_col, Row&& begin_row, Entry&& add);

  /// After scan().
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return in_.options().cols.value_or(max_col_ + 1); }

 private:
  void require_sensible_options() const;
  double take_label(std::string_view token) const;
  std::int64_t take_col(std::string_view token, std::int64_t previous, std::int64_t last_col) const;

  number_place place(const char* what) const { return {in_.path(), tokens_.number(), what}; }
  template <class... Args>
  [[noreturn]] void fail_line(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at(place("").where(), code, message, std::forward<Args>(args)...);
  }

  source& in_;
  token_reader tokens_;
  std::int64_t base_;
  std::int64_t rows_ = 0, max_col_ = -1;
};

void libsvm_reader::require_sensible_options() const {
  if (base_ != 0 && base_ != 1) {
    fail_at({.path = in_.path()}, errc::invalid_argument, "index_base = {}: must be 0 or 1", base_);
  }
  const std::int64_t cols = in_.options().cols.value_or(0);
  if (cols < 0) fail_at({.path = in_.path()}, errc::invalid_argument, "cols = {}: is negative", cols);
}

template <value T, class Row, class Entry>
void libsvm_reader::scan(std::int64_t last_col, Row&& begin_row, Entry&& add) {
  while (tokens_.next_line()) {
    std::string_view token = tokens_.next();
    if (token.empty()) continue;  // a blank line, or only a comment
    begin_row(take_label(token));
    ++rows_;

    token = tokens_.next();
    constexpr std::string_view query = "qid:";
    if (token.starts_with(query)) {
      std::int64_t ignored = 0;
      take_integer(place("query"), token.substr(query.size()), ignored);
      token = tokens_.next();
    }
    for (std::int64_t previous = -1; !token.empty(); token = tokens_.next()) {
      const std::size_t colon = token.find(':');
      if (colon == std::string_view::npos) fail_line(errc::parse_error, "{}: must be index:value", quoted(token));
      previous = take_col(token.substr(0, colon), previous, last_col);
      add(previous, value_of_token<T>(place("value"), token.substr(colon + 1)));
      max_col_ = std::max(max_col_, previous);
    }
  }
}

double libsvm_reader::take_label(std::string_view token) const {
  if (token.find(':') != std::string_view::npos) {
    fail_line(errc::parse_error, "{}: a line must begin with its label", quoted(token));
  }
  if (token.find(',') != std::string_view::npos) {
    fail_line(errc::unsupported, "{}: several labels for one row", quoted(token));
  }
  return value_of_token<double>(place("label"), token);
}

std::int64_t libsvm_reader::take_col(std::string_view token, std::int64_t previous, std::int64_t last_col) const {
  std::int64_t index = 0;
  const token_status status = take_integer(place("index"), token, index);
  if (index < base_) fail_line(errc::index_out_of_range, "index {}: must not be below {}", quoted(token), base_);
  if (in_.options().cols && (status != token_status::ok || index - base_ >= *in_.options().cols)) {
    fail_line(errc::index_out_of_range, "index {}: lies beyond the {} columns asked for", quoted(token),
              *in_.options().cols);
  }
  if (status != token_status::ok || index - base_ > last_col) {
    fail_line(errc::size_overflow, "index {}: the columns would not fit the index type", quoted(token));
  }
  if (index - base_ <= previous) {
    fail_line(errc::structure_violation, "index {}: must be greater than the one before, {}", index, previous + base_);
  }
  return index - base_;
}

/// The rows and, with `labels`, the numbers they begin with.
template <value T, index I>
coo_matrix<T, I> read_rows(source& in, std::vector<double>* labels) {
  constexpr std::int64_t max_size = std::numeric_limits<I>::max();
  libsvm_reader reader(in);
  if (in.options().cols.value_or(0) > max_size) {
    fail_at({.path = in.path()}, errc::size_overflow, "cols = {}: does not fit {}-bit indices", *in.options().cols,
            sizeof(I) * 8);
  }
  stored_entries<T, I> stored;
  stored.in = &in;
  std::int64_t row = -1;
  reader.scan<T>(
      max_size - 1,
      [&](double label) {
        if (++row == max_size) {
          fail_at({.path = in.path()}, errc::size_overflow, "{} rows do not fit {}-bit indices", row + 1,
                  sizeof(I) * 8);
        }
        if (labels == nullptr) return;
        if (labels->size() == labels->capacity()) {
          in.require_memory(row * std::int64_t{sizeof label}, (2 * row + 1) * std::int64_t{sizeof label}, "the labels",
                            {.path = in.path()});
        }
        labels->push_back(label);
      },
      [&](std::int64_t col, T value) { stored.push_back(static_cast<I>(row), static_cast<I>(col), value); });
  return {reader.rows(), reader.cols(), std::move(stored.row), std::move(stored.col), std::move(stored.values),
          trust::trusted};
}

}  // namespace

file_info libsvm::read_info(source& in) {
  file_info info{.format = file_format::libsvm};
  libsvm_reader reader(in);
  reader.scan<double>(
      std::numeric_limits<std::int64_t>::max() - 1, [](double) {},
      [&](std::int64_t, double) { ++info.stored_entries; });
  info.rows = reader.rows();
  info.cols = reader.cols();
  return info;
}

template <value T, index I>
coo_matrix<T, I> libsvm::read_matrix(source& in) {
  return read_rows<T, I>(in, nullptr);
}

template <value T, index I>
labelled_matrix<T, I> libsvm::read_labelled(source& in) {
  std::vector<double> labels;
  const coo_matrix<T, I> rows = read_rows<T, I>(in, &labels);
  return {to_csr(rows), std::move(labels)};
}

template coo_matrix<float, std::int32_t> libsvm::read_matrix(source&);
template coo_matrix<float, std::int64_t> libsvm::read_matrix(source&);
template coo_matrix<double, std::int32_t> libsvm::read_matrix(source&);
template coo_matrix<double, std::int64_t> libsvm::read_matrix(source&);
template labelled_matrix<float, std::int32_t> libsvm::read_labelled(source&);
template labelled_matrix<float, std::int64_t> libsvm::read_labelled(source&);
template labelled_matrix<double, std::int32_t> libsvm::read_labelled(source&);
template labelled_matrix<double, std::int64_t> libsvm::read_labelled(source&);

}  // namespace bcsc::files
