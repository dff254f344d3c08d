#include "converters/files/smtx_read.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/location.hpp"
#include "converters/files/pattern_values.hpp"
#include "converters/files/text_numbers.hpp"
#include "converters/files/token_reader.hpp"

/// Source: T. Gale, M. Zaharia, C. Young, E. Elsen, "Sparse GPU Kernels for Deep Learning", SC20, and the README of the
/// collection that came with it.
namespace bcsc::files {
namespace {

/// A file whose first line has been read; then entries() once.
class smtx_reader {
 public:
  explicit smtx_reader(source& in) : in_(in), tokens_(in, {.separator = ','}) { read_sizes(); }

  const file_info& info() const { return info_; }
  template <index I>
  void require_sizes_fit() const;
  /// The entries, checked, in the order of the file.
  template <value T, index I>
  stored_entries<T, I> entries();

 private:
  void read_sizes();
  std::vector<std::int64_t> read_offsets();
  /// The next line, which must hold `count` numbers called `what`.
  void begin_line(const char* what, std::int64_t count);
  std::string_view next_token(std::int64_t num_read);
  void end_line();
  void require_end_of_file();

  /// Numbers worth reserving room for: what is announced, as far as the file can hold it ("0 ").
  std::size_t credible(std::int64_t count) const {
    // A compressed file may hold more than this guess: vectors can grow.
    return static_cast<std::size_t>(std::min(count, in_.credible_bytes() / 2 + 1));
  }
  number_place place() const { return {in_.path(), tokens_.number(), what_}; }
  template <class... Args>
  [[noreturn]] void fail_line(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at(place().where(), code, message, std::forward<Args>(args)...);
  }

  source& in_;
  token_reader tokens_;
  file_info info_{.format = file_format::smtx, .field = file_field::pattern};
  const char* what_ = "";
  std::int64_t count_ = 0;
};

void smtx_reader::begin_line(const char* what, std::int64_t count) {
  what_ = what;
  count_ = count;
  if (tokens_.next_line()) return;
  fail_at({.path = in_.path(), .line = tokens_.number() + 1}, errc::truncated, "the file ends before its {} {}s", count,
          what);
}

std::string_view smtx_reader::next_token(std::int64_t num_read) {
  const std::string_view token = tokens_.next();
  if (token.empty()) {
    fail_line(tokens_.unterminated() ? errc::truncated : errc::parse_error, "the line ends after {} of {} {}s",
              num_read, count_, what_);
  }
  return token;
}

void smtx_reader::end_line() {
  const std::string_view token = tokens_.next();
  if (!token.empty()) fail_line(errc::trailing_data, "{}: more than the {} {}s", quoted(token), count_, what_);
}

void smtx_reader::read_sizes() {
  begin_line("size", 3);
  info_.rows = size_of_token({in_.path(), tokens_.number(), "number of rows"}, next_token(0));
  info_.cols = size_of_token({in_.path(), tokens_.number(), "number of columns"}, next_token(1));
  info_.stored_entries = size_of_token({in_.path(), tokens_.number(), "number of entries"}, next_token(2));
  end_line();
  if (info_.rows == std::numeric_limits<std::int64_t>::max()) {
    fail_line(errc::size_overflow, "{} rows: their offsets do not fit 63 bits", info_.rows);
  }
}

template <index I>
void smtx_reader::require_sizes_fit() const {
  if (std::max(info_.rows, info_.cols) > std::numeric_limits<I>::max()) {
    fail_at({.path = in_.path(), .line = 1}, errc::size_overflow, "{} x {}: does not fit {}-bit indices", info_.rows,
            info_.cols, sizeof(I) * 8);
  }
}

std::vector<std::int64_t> smtx_reader::read_offsets() {
  std::vector<std::int64_t> offsets;
  in_.require_memory(0, core::saturating_product(in_.holdable(info_.rows + 1, 2), sizeof(std::int64_t)),
                     core::format("the offsets of {} rows", info_.rows), {.path = in_.path(), .line = 1});
  offsets.reserve(credible(info_.rows + 1));
  begin_line("row offset", info_.rows + 1);
  std::int64_t last = 0;
  for (std::int64_t row = 0; row <= info_.rows; ++row) {
    const std::int64_t offset = index_of_token(place(), next_token(row), 0, info_.stored_entries);
    if (offset < last) fail_line(errc::structure_violation, "row offset {}: the one before is {}", offset, last);
    if (row == 0 && offset != 0) fail_line(errc::structure_violation, "row offset {}: the first must be 0", offset);
    offsets.push_back(offset);
    last = offset;
  }
  if (last != info_.stored_entries) {
    fail_line(errc::structure_violation, "row offset {}: the last must be {}, the number of entries", last,
              info_.stored_entries);
  }
  end_line();
  return offsets;
}

template <value T, index I>
stored_entries<T, I> smtx_reader::entries() {
  const std::vector<std::int64_t> offsets = read_offsets();
  stored_entries<T, I> stored;
  stored.in = &in_;
  stored.require_memory(0, in_.holdable(info_.stored_entries, 2));
  const std::size_t likely = credible(info_.stored_entries);
  stored.row.reserve(likely);
  stored.col.reserve(likely);
  stored.values.reserve(likely);
  // Without entries the last line may be missing or empty.
  if (info_.stored_entries > 0) begin_line("column index", info_.stored_entries);
  for (std::int64_t row = 0; row < info_.rows; ++row) {
    for (std::int64_t k = offsets[static_cast<std::size_t>(row)]; k < offsets[static_cast<std::size_t>(row) + 1]; ++k) {
      const std::int64_t col = index_of_token(place(), next_token(k), 0, info_.cols - 1);
      stored.push_back(static_cast<I>(row), static_cast<I>(col), pattern_value<T>(in_.options().pattern_seed, k));
    }
  }
  if (info_.stored_entries > 0) end_line();
  require_end_of_file();
  return stored;
}

void smtx_reader::require_end_of_file() {
  while (tokens_.next_line()) {
    const std::string_view token = tokens_.next();
    if (!token.empty())
      fail_line(errc::trailing_data, "{}: more than the {} entries", quoted(token), info_.stored_entries);
  }
}

}  // namespace

file_info smtx::read_info(source& in) { return smtx_reader(in).info(); }

template <value T, index I>
coo_matrix<T, I> smtx::read_matrix(source& in) {
  smtx_reader reader(in);
  reader.require_sizes_fit<I>();
  const file_info& info = reader.info();
  coo_matrix<T, I> a = assemble_coo(info.rows, info.cols, reader.entries<T, I>(), info.symmetry, in.path());
  // A position is in a pattern or not: adding two up would make a value that no other entry has.
  if (a.nnz() != info.stored_entries) {
    constexpr std::int64_t index_line = 3;
    fail_at({.path = in.path(), .line = index_line}, errc::structure_violation,
            "{} column indices repeat one of their row", info.stored_entries - a.nnz());
  }
  return a;
}

template coo_matrix<float, std::int32_t> smtx::read_matrix(source&);
template coo_matrix<float, std::int64_t> smtx::read_matrix(source&);
template coo_matrix<double, std::int32_t> smtx::read_matrix(source&);
template coo_matrix<double, std::int64_t> smtx::read_matrix(source&);

}  // namespace bcsc::files
