#include "converters/files/edge_list_read.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/line_reader.hpp"
#include "converters/files/location.hpp"
#include "converters/files/numbers.hpp"
#include "converters/files/pattern_values.hpp"
#include "converters/files/text_numbers.hpp"

/// Source of the comment that tells sizes: the files of SNAP (J. Leskovec, A. Krevl, "SNAP Datasets", 2014).
namespace bcsc::files {
namespace {

constexpr std::int64_t max_int64 = std::numeric_limits<std::int64_t>::max();

/// A number of the file and where it stands.
struct located {
  std::int64_t value = 0;
  std::int64_t line = 0;
};

/// What a comment says: `# Nodes: 5 Edges: 8`, or, of a matrix that is not square, `# Rows: 5 Cols: 4 Edges: 8`.
struct told_sizes {
  std::optional<located> nodes, rows, cols, edges;
};

/// Goes through a file once.
class edge_list_reader {
 public:
  explicit edge_list_reader(source& in) : in_(in), lines_(in) { require_sensible_options(); }

  /// Calls add(u, v, value) for each edge, its vertices as the file numbers them. Sizes will fit `max_size`.
  template <value T, class F>
  void scan(std::int64_t max_size, F&& add);

  // After scan().
  bool is_pattern() const { return width_ == 2; }
  std::int64_t num_edges() const { return num_edges_; }
  std::int64_t base() const { return in_.options().index_base.value_or(num_edges_ > 0 && least_ == 0 ? 0 : 1); }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

 private:
  using edge_tokens = std::array<std::string_view, 3>;

  void require_sensible_options() const;
  bool next_edge_line(std::string_view& line);
  void read_comment(line_cursor at);
  edge_tokens split(std::string_view line);
  std::int64_t take_vertex(const char* what, std::string_view token, std::int64_t max_size, located& greatest);
  void settle_sizes(std::int64_t max_size);
  std::int64_t settle_size(const char* what, std::optional<std::int64_t> wanted, const std::optional<located>& told,
                           const located& greatest, std::int64_t max_size) const;

  number_place place(const char* what) const { return {in_.path(), lines_.number(), what}; }
  template <class... Args>
  [[noreturn]] void fail_line(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at(place("").where(), code, message, std::forward<Args>(args)...);
  }

  source& in_;
  line_reader lines_;
  told_sizes told_;
  std::size_t width_ = 0;  ///< numbers per line; 0 before the first
  std::int64_t width_line_ = 0;
  std::int64_t num_edges_ = 0;
  std::int64_t least_ = max_int64;
  located max_row_{.value = -1}, max_col_{.value = -1};
  std::int64_t rows_ = 0, cols_ = 0;
};

void edge_list_reader::require_sensible_options() const {
  const read_options& options = in_.options();
  if (options.index_base && *options.index_base != 0 && *options.index_base != 1) {
    fail_at({.path = in_.path()}, errc::invalid_argument, "index_base = {}: must be 0 or 1", *options.index_base);
  }
  for (const std::optional<std::int64_t>& size : {options.rows, options.cols}) {
    if (size.value_or(0) < 0) {
      fail_at({.path = in_.path()}, errc::invalid_argument, "rows or cols = {}: is negative", *size);
    }
  }
}

template <value T, class F>
void edge_list_reader::scan(std::int64_t max_size, F&& add) {
  std::string_view line;
  while (next_edge_line(line)) {
    const edge_tokens tokens = split(line);
    const std::int64_t u = take_vertex("row", tokens[0], max_size, max_row_);
    const std::int64_t v = take_vertex("column", tokens[1], max_size, max_col_);
    add(u, v,
        is_pattern() ? pattern_value<T>(in_.options().pattern_seed, num_edges_)
                     : value_of_token<T>(place("value"), tokens[2]));
    ++num_edges_;
  }
  if (told_.edges && told_.edges->value > num_edges_) {
    fail_at({.path = in_.path(), .line = lines_.number() + 1}, errc::truncated,
            "the file ends after {} of the {} edges that line {} announces", num_edges_, told_.edges->value,
            told_.edges->line);
  }
  settle_sizes(max_size);
}

bool edge_list_reader::next_edge_line(std::string_view& line) {
  while (lines_.next(line)) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (lines_.number() == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    line_cursor at(line);
    if (at.at_end() && !lines_.cut()) continue;
    if (!at.at_end() && (at.front() == '#' || at.front() == '%')) {
      if (width_ == 0 && !lines_.cut()) read_comment(at);
      continue;
    }
    if (lines_.cut()) fail_line(errc::parse_error, "the line is longer than {} bytes", line_reader::max_line);
    return true;
  }
  return false;
}

void edge_list_reader::read_comment(line_cursor at) {
  constexpr std::array<std::pair<std::string_view, std::optional<located> told_sizes::*>, 4> words{
      {{"Nodes:", &told_sizes::nodes},
       {"Rows:", &told_sizes::rows},
       {"Cols:", &told_sizes::cols},
       {"Edges:", &told_sizes::edges}}};
  told_sizes told;
  for (std::string_view token = at.take(); !token.empty(); token = at.take()) {
    for (const auto& [word, size] : words) {
      if (!token.ends_with(word)) continue;  // "#Nodes:" too
      std::int64_t number = 0;
      line_cursor ahead = at;
      const token_status status = ahead.integer(number);
      if (status != token_status::ok && status != token_status::out_of_range) return;  // just a comment
      told.*size = located{size_of_token(place(word.data()), at.peek()), lines_.number()};
    }
  }
  if (told.edges && (told.nodes || (told.rows && told.cols))) told_ = told;
}

edge_list_reader::edge_tokens edge_list_reader::split(std::string_view line) {
  edge_tokens tokens;
  std::size_t count = 0;
  const auto append = [&](std::string_view token) {
    if (count == tokens.size() || (width_ != 0 && count == width_)) {
      fail_line(errc::trailing_data, "{}: more than the {} numbers of a line", quoted(token), count);
    }
    tokens[count++] = token;
  };
  if (line.find(',') == std::string_view::npos) {
    line_cursor at(line);
    while (!at.at_end()) append(at.take());
  } else {
    for (std::size_t first = 0; first <= line.size();) {
      const std::size_t comma = std::min(line.find(',', first), line.size());
      const std::string_view token = line.substr(first, comma - first);
      if (line_cursor(token).at_end()) fail_line(errc::parse_error, "nothing stands beside a comma");
      append(token);
      first = comma + 1;
    }
  }
  const errc too_few = lines_.unterminated() ? errc::truncated : errc::parse_error;
  if (count < 2) fail_line(too_few, "the line ends before the column index");
  if (count < width_) fail_line(too_few, "the line ends before the value, which line {} has", width_line_);
  if (width_ == 0) {
    width_ = count;
    width_line_ = lines_.number();
  }
  return tokens;
}

std::int64_t edge_list_reader::take_vertex(const char* what, std::string_view token, std::int64_t max_size,
                                           located& greatest) {
  const std::optional<int> base = in_.options().index_base;
  std::int64_t vertex = 0;
  const token_status status = take_integer(place(what), token, vertex);
  if (vertex < base.value_or(0)) {
    fail_line(errc::index_out_of_range, "{} index {}: must not be below {}", what, quoted(token), base.value_or(0));
  }
  // From 0, a matrix has one row more than its last index says; if no base is given, that is known only at the end.
  if (status != token_status::ok || vertex > max_size - (base == 0 ? 1 : 0)) {
    fail_line(errc::size_overflow, "{} index {}: does not fit the index type", what, quoted(token));
  }
  least_ = std::min(least_, vertex);
  if (vertex > greatest.value) greatest = {vertex, lines_.number()};
  return vertex;
}

void edge_list_reader::settle_sizes(std::int64_t max_size) {
  const std::int64_t base_index = base();
  located max_row = max_row_, max_col = max_col_;
  max_row.value -= num_edges_ > 0 ? base_index : 0;
  max_col.value -= num_edges_ > 0 ? base_index : 0;
  const located greatest = max_row.value > max_col.value ? max_row : max_col;
  if (greatest.value >= max_size) {
    fail_at({.path = in_.path(), .line = greatest.line}, errc::size_overflow,
            "index {} of indices from 0: the size does not fit the index type", greatest.value);
  }
  // SNAP counts the vertices that have edges; their numbers may have gaps, and then reach beyond the count.
  located square{greatest.value + 1, greatest.line};
  if (told_.nodes && told_.nodes->value > square.value) square = *told_.nodes;
  if (square.value > max_size) {
    fail_at({.path = in_.path(), .line = square.line}, errc::size_overflow, "{} vertices do not fit the index type",
            square.value);
  }
  rows_ = cols_ = square.value;
  if (in_.options().rows || told_.rows) {
    rows_ = settle_size("row", in_.options().rows, told_.rows, max_row, max_size);
  }
  if (in_.options().cols || told_.cols) {
    cols_ = settle_size("column", in_.options().cols, told_.cols, max_col, max_size);
  }
}

std::int64_t edge_list_reader::settle_size(const char* what, std::optional<std::int64_t> wanted,
                                           const std::optional<located>& told, const located& greatest,
                                           std::int64_t max_size) const {
  const located size = wanted ? located{*wanted, 0} : *told;
  if (size.value > max_size) {
    fail_at({.path = in_.path(), .line = size.line}, errc::size_overflow, "{} {}s do not fit the index type",
            size.value, what);
  }
  if (greatest.value >= size.value) {
    fail_at({.path = in_.path(), .line = greatest.line}, errc::index_out_of_range,
            "{} index {}: lies beyond the {} {}s {}", what, greatest.value + base(), size.value, what,
            wanted ? "asked for" : "that a comment tells of");
  }
  return size.value;
}

/// Leaves the first of the entries at each position.
template <value T, index I>
stored_entries<T, I> without_repetitions(const stored_entries<T, I>& stored) {
  std::vector<entry<T, I>> entries;
  entries.reserve(stored.size());
  for (std::size_t k = 0; k < stored.size(); ++k) {
    entries.push_back({stored.row[k], stored.col[k], stored.values[k]});
  }
  const auto position = [](const entry<T, I>& e) { return std::pair(e.row, e.col); };
  std::ranges::stable_sort(entries, {}, position);
  const auto alike = [&](const auto& a, const auto& b) { return position(a) == position(b); };
  entries.erase(std::unique(entries.begin(), entries.end(), alike), entries.end());
  stored_entries<T, I> unique;
  for (const auto& [row, col, value] : entries) unique.push_back(row, col, value);
  return unique;
}

}  // namespace

file_info edge_list::read_info(source& in) {
  edge_list_reader reader(in);
  reader.scan<double>(max_int64, [](std::int64_t, std::int64_t, double) {});
  return {.format = file_format::edge_list,
          .rows = reader.rows(),
          .cols = reader.cols(),
          .stored_entries = reader.num_edges(),
          .field = reader.is_pattern() ? file_field::pattern : file_field::real};
}

template <value T, index I>
coo_matrix<T, I> edge_list::read_matrix(source& in) {
  stored_entries<T, I> stored;
  stored.in = &in;
  edge_list_reader reader(in);
  reader.scan<T>(std::numeric_limits<I>::max(), [&](std::int64_t u, std::int64_t v, T value) {
    stored.push_back(static_cast<I>(u), static_cast<I>(v), value);
  });
  const I base = static_cast<I>(reader.base());
  for (I& row : stored.row) row -= base;
  for (I& col : stored.col) col -= base;
  // An edge is in a pattern or not, however often it is listed.
  const bool seeded = in.options().pattern_seed.has_value();
  if (reader.is_pattern() && seeded && !stored.ordered) stored = without_repetitions(stored);
  coo_matrix<T, I> a = assemble_coo(reader.rows(), reader.cols(), std::move(stored), file_symmetry::general, in.path());
  if (reader.is_pattern() && !seeded) std::ranges::fill(a.values(), T{1});
  return a;
}

template coo_matrix<float, std::int32_t> edge_list::read_matrix(source&);
template coo_matrix<float, std::int64_t> edge_list::read_matrix(source&);
template coo_matrix<double, std::int32_t> edge_list::read_matrix(source&);
template coo_matrix<double, std::int64_t> edge_list::read_matrix(source&);

}  // namespace bcsc::files
