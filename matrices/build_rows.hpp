#pragma once

#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"

namespace bcsc::generate {

/// A size that a 32-bit index must hold, before anything is allocated for it.
inline void require_index_range(std::int64_t size, std::string_view what) {
  if (size >= 0 && size <= std::numeric_limits<std::int32_t>::max()) return;
  core::fail(errc::size_overflow, "{} = {} does not fit a 32-bit index", what, core::count_text(size));
}

/// `value` >= `least`, or error{invalid_argument}.
inline void require_at_least(std::int64_t value, std::int64_t least, std::string_view what) {
  if (value < least) core::fail(errc::invalid_argument, "{} = {}: must be at least {}", what, value, least);
}

/// What a generator that has run out of memory throws: how much `what` takes, and how much there is.
[[noreturn]] inline void fail_for_memory(const std::string& what, std::int64_t bytes) {
  core::fail(errc::out_of_memory, "no host memory for {}: {} were asked for, {} are available", what,
             core::bytes_text(bytes), core::bytes_text(core::measure_memory().least()));
}

/// Bytes of a matrix in CSR with 32-bit indices.
template <value T>
std::int64_t csr_bytes(std::int64_t rows, std::int64_t nnz) {
  constexpr auto index = static_cast<std::int64_t>(sizeof(std::int32_t)), number = static_cast<std::int64_t>(sizeof(T));
  return index * (rows + 1) + (index + number) * nnz;
}

/// CSR row by row, in parallel: `count(row)` says how many entries a row has, `fill(row, columns, values)` writes them,
/// columns ascending. Both are pure functions of the row, so the result does not depend on the threads.
/// Throws error{size_overflow | out_of_memory}.
template <value T, class Count, class Fill>
csr_matrix<T> build_rows(std::int64_t rows, std::int64_t cols, Count count, Fill fill) {
  require_index_range(rows, "rows");
  require_index_range(cols, "cols");
  std::int64_t nnz = 0;
  try {
    std::vector<std::int32_t> row_ptr(static_cast<std::size_t>(rows) + 1, 0);
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      row_ptr[static_cast<std::size_t>(row) + 1] = static_cast<std::int32_t>(count(row));
    }
    for (std::int32_t& end : row_ptr) {
      nnz += end;
      require_index_range(nnz, "nnz");
      end = static_cast<std::int32_t>(nnz);
    }

    std::vector<std::int32_t> col_ind(static_cast<std::size_t>(nnz));
    std::vector<T> values(static_cast<std::size_t>(nnz));
#pragma omp parallel for schedule(dynamic, 256)
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<std::size_t>(row_ptr[static_cast<std::size_t>(row)]);
      const auto size = static_cast<std::size_t>(row_ptr[static_cast<std::size_t>(row) + 1]) - begin;
      fill(row, std::span(col_ind).subspan(begin, size), std::span(values).subspan(begin, size));
    }
    return csr_matrix<T>(rows, cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted);
  } catch (const std::bad_alloc&) {
    fail_for_memory(core::format("a generated matrix of {} rows and {}{} entries", core::count_text(rows),
                                 nnz > 0 ? "" : "no less than ", core::count_text(nnz)),
                    csr_bytes<T>(rows, nnz));
  }
}

}  // namespace bcsc::generate
