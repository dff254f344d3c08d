#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/files.hpp"
#include "bcsc/formats.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_names.hpp"
#include "converters/files/sink.hpp"
#include "core/fail.hpp"

/// What writers share: what a matrix must be to be written as a file of some field and symmetry (everything is checked
/// before the first byte is written), and comments.
namespace bcsc::files {

/// A matrix on the host whose arrays hold its format's invariants. Throws error{wrong_memory_space} and validate()'s.
template <value T, index I>
void require_valid_on_host(const csr_view<T, I>& a) {
  if (a.space != memory_space::host) core::fail(errc::wrong_memory_space, "a: must lie on the host");
  validate(a);
}

inline void require_square(std::int64_t rows, std::int64_t cols, const write_options& options,
                           const std::string& path) {
  if (options.symmetry == file_symmetry::general || rows == cols) return;
  fail_at({.path = path}, errc::structure_violation, "{} x {}: a {} matrix must be square", rows, cols,
          to_string(options.symmetry));
}

template <value T>
void require_writable(T value, std::int64_t row, std::int64_t col, file_field field, const std::string& path) {
  if (field == file_field::pattern) return;
  const T two_to_63 = static_cast<T>(9223372036854775808.0);
  const bool fits_field = field == file_field::real || (value == std::trunc(value) && std::abs(value) < two_to_63);
  if (std::isfinite(value) && fits_field) return;
  fail_at({.path = path}, errc::value_out_of_range, "entry ({}, {}) = {}: is not a finite {}", row + 1, col + 1, value,
          field == file_field::real ? "number" : "integer of 64 bits");
}

template <value T, index I>
void require_all_writable(const csr_view<T, I>& a, const write_options& options, const std::string& path) {
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (I k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      require_writable(a.values[k], row, static_cast<std::int64_t>(a.col_ind[k]), options.field, path);
    }
  }
}

/// For formats without symmetric storage. No matrix to be written has complex values.
inline void require_general(const write_options& options) {
  if (options.symmetry != file_symmetry::general) {
    core::fail(errc::invalid_argument, "options.symmetry: the format stores matrices in full");
  }
  if (options.field == file_field::complex) {
    core::fail(errc::invalid_argument, "options.field: the matrix has no complex values");
  }
}

inline void require_index_base(const write_options& options) {
  if (options.index_base != 0 && options.index_base != 1) {
    core::fail(errc::invalid_argument, "options.index_base = {}: must be 0 or 1", options.index_base);
  }
}

/// What stands at (col, row) when `value` stands at (row, col), in a symmetric or skew-symmetric matrix.
template <value T>
bool is_twin(T value, T twin, const write_options& options) {
  if (options.field == file_field::pattern) return true;
  return options.symmetry == file_symmetry::symmetric ? twin == value : twin == -value;
}

template <value T>
[[noreturn]] void fail_twin(std::int64_t row, std::int64_t col, T value, const write_options& options,
                            const std::string& path) {
  fail_at({.path = path}, errc::structure_violation, "entry ({}, {}) = {}: has no {} counterpart", row + 1, col + 1,
          value, to_string(options.symmetry));
}

/// Whether every entry has its twin, in O(nnz): as rows are visited in order, the entries of row j meet their twins in
/// order, so one position per row suffices.
template <value T, index I>
void require_symmetry(const csr_view<T, I>& a, const write_options& options, const std::string& path) {
  if (options.symmetry == file_symmetry::general) return;
  std::vector<I> next(a.row_ptr.begin(), a.row_ptr.end());
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (I k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      const auto col = static_cast<std::int64_t>(a.col_ind[k]);
      const I twin = next[col]++;
      if (twin >= a.row_ptr[col + 1] || a.col_ind[twin] != row || !is_twin(a.values[k], a.values[twin], options)) {
        fail_twin(row, col, a.values[k], options, path);
      }
    }
  }
}

/// Reports to options.progress how much of the work is done, from time to time and at the end.
class write_progress {
 public:
  write_progress(const write_options& options, std::int64_t total, const std::string& path)
      : callback_(options.progress), total_(total), path_(path), next_(options.progress ? 0 : never) {}

  /// Throws error{cancelled}.
  void advance(std::int64_t steps = 1) {
    done_ += steps;
    if (done_ >= next_) tell();
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t tell_every = std::int64_t{1} << 18;

  void tell() {
    next_ = done_ < total_ ? std::min(total_, done_ + tell_every) : never;
    if (!callback_(done_, total_)) fail_at({.path = path_}, errc::cancelled, "writing was cancelled");
  }

  const progress_callback& callback_;
  std::int64_t total_, done_ = 0;
  const std::string& path_;
  std::int64_t next_;
};

/// Writes a value that has passed require_writable().
template <value T>
void put_value(sink& out, T value, file_field field) {
  if (field == file_field::integer) {
    out.put_number(static_cast<std::int64_t>(value));
  } else {
    out.put_number(value);
  }
}

/// Writes `comment` line by line, each after `mark`.
inline void put_comment(sink& out, std::string_view mark, std::string_view comment) {
  while (!comment.empty()) {
    const std::size_t length = std::min(comment.find('\n'), comment.size());
    out.put(mark);
    out.put(comment.substr(0, length));
    out.put("\n");
    comment.remove_prefix(std::min(length + 1, comment.size()));
  }
}

}  // namespace bcsc::files
