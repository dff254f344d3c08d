#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc::generate {

/// A size that a 32-bit index must hold, before anything is allocated for it.
inline void require_index_range(std::int64_t size, std::string_view what) {
  static_cast<void>(core::narrow<std::int32_t>(size, what));
}

/// `value` >= `least`, or error{invalid_argument}.
inline void require_at_least(std::int64_t value, std::int64_t least, std::string_view what) {
  if (value < least) core::fail(errc::invalid_argument, "{} = {}: must be at least {}", what, value, least);
}

/// CSR row by row, in parallel: `count(row)` says how many entries a row has, `fill(row, columns, values)` writes them,
/// columns ascending. Both are pure functions of the row, so the result does not depend on the threads.
/// Throws error{size_overflow | out_of_memory}.
template <value T, class Count, class Fill>
csr_matrix<T> build_rows(std::int64_t rows, std::int64_t cols, Count count, Fill fill) {
  require_index_range(rows, "rows");
  require_index_range(cols, "cols");
  try {
    std::vector<std::int32_t> row_ptr(static_cast<std::size_t>(rows) + 1, 0);
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      row_ptr[static_cast<std::size_t>(row) + 1] = static_cast<std::int32_t>(count(row));
    }
    std::int64_t nnz = 0;
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
    core::fail(errc::out_of_memory, "no host memory for a generated matrix of rows = {}", rows);
  }
}

}  // namespace bcsc::generate
