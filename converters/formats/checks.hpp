#pragma once

#include <cstdint>
#include <span>

#include "core/checked.hpp"

/// The messages of the checks, shared by the host and the device.
namespace bcsc::converters {

/// What a compressed format calls its arrays.
struct array_names {
  const char* pointers;
  const char* indices;
  const char* num_segments;  ///< plural of `segment`
  const char* segment;
};
inline constexpr array_names csr_names{"row_ptr", "col_ind", "rows", "row"};
inline constexpr array_names csc_names{"col_ptr", "row_ind", "columns", "column"};
inline constexpr array_names bsr_names{"brow_ptr", "bcol_ind", "block rows", "block row"};
inline constexpr array_names bcsc_block_names{"brow_ptr", "col_ind", "row blocks", "row block"};
inline constexpr array_names bcsc_column_names{"col_ptr", "row_ind", "non-empty columns", "non-empty column"};

template <class I>
void check_shape(std::int64_t rows, std::int64_t cols) {
  if (rows < 0) core::fail(errc::invalid_argument, "rows = {}: must be at least 0", rows);
  if (cols < 0) core::fail(errc::invalid_argument, "cols = {}: must be at least 0", cols);
  (void)core::narrow<I>(rows, "rows");
  (void)core::narrow<I>(cols, "cols");
}

inline void require_at_least_one(std::int64_t size, const char* what) {
  if (size < 1) core::fail(errc::invalid_argument, "{} = {}: must be at least 1", what, size);
}

inline void check_length(std::int64_t actual, std::int64_t wanted, const char* array, const char* why) {
  if (actual == wanted) return;
  core::fail(errc::invalid_format, "{} has {} entries: must have {} ({})", array, actual, wanted, why);
}

/// A pointer array's length, and that it can count the entries.
template <class I>
void check_pointer_length(std::span<const I> ptr, std::int64_t num_segments, std::int64_t num_entries,
                          const array_names& names) {
  (void)core::narrow<I>(num_entries, "number of entries");
  if (!ptr.empty() && static_cast<std::int64_t>(ptr.size()) - 1 == num_segments) return;
  core::fail(errc::invalid_format, "{} has {} entries: must have one more than there are {}, {}", names.pointers,
             ptr.size(), names.num_segments, num_segments);
}

inline void check_pointer_ends(std::int64_t first, std::int64_t last, std::int64_t num_segments,
                               std::int64_t num_entries, const array_names& names) {
  if (first != 0) core::fail(errc::invalid_format, "{}[0] = {}: must be 0", names.pointers, first);
  if (last == num_entries) return;
  core::fail(errc::invalid_format, "{}[{}] = {}: must be the length of {}, {}", names.pointers, num_segments, last,
             names.indices, num_entries);
}

[[noreturn]] inline void fail_pointer_step(std::int64_t i, std::int64_t value, std::int64_t former, bool strict,
                                           const array_names& names) {
  core::fail(errc::invalid_format, "{0}[{1}] = {2}: must be {3} {0}[{4}] = {5}", names.pointers, i, value,
             strict ? "greater than" : "at least", i - 1, former);
}

[[noreturn]] inline void fail_range(std::int64_t k, std::int64_t value, std::int64_t size, const char* array) {
  core::fail(errc::index_out_of_range, "{}[{}] = {}: must be at least 0 and below {}", array, k, value, size);
}

[[noreturn]] inline void fail_order(std::int64_t k, std::int64_t value, std::int64_t former, std::int64_t segment,
                                    const array_names& names) {
  core::fail(errc::invalid_format, "{0}[{1}] = {2}: must be greater than {0}[{3}] = {4}, in {5} {6}", names.indices, k,
             value, k - 1, former, names.segment, segment);
}

[[noreturn]] inline void fail_outside_block(std::int64_t k, std::int64_t row, std::int64_t block,
                                            std::int64_t m_block) {
  core::fail(errc::invalid_format, "row_ind[{}] = {}: must lie in row block {}, whose first row is {} (m_block = {})",
             k, row, block, block * m_block, m_block);
}

}  // namespace bcsc::converters
