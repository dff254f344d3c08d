#include "bcsc/dense.hpp"

#include "core/checked.hpp"

namespace bcsc::detail {

std::size_t dense_size(std::int64_t rows, std::int64_t cols, std::size_t value_bytes) {
  if (rows < 0) core::fail(errc::invalid_argument, "rows = {}: must be at least 0", rows);
  if (cols < 0) core::fail(errc::invalid_argument, "cols = {}: must be at least 0", cols);
  const std::int64_t size = core::checked_product(rows, cols, "rows x cols");
  (void)core::checked_product(size, static_cast<std::int64_t>(value_bytes), "rows x cols x bytes of a value");
  return static_cast<std::size_t>(size);
}

void require_dense_size(std::int64_t rows, std::int64_t cols, std::size_t value_bytes, std::size_t size) {
  const std::size_t wanted = dense_size(rows, cols, value_bytes);
  if (size == wanted) return;
  core::fail(errc::size_mismatch, "values has {} entries: must have {} (rows x cols = {} x {})", size, wanted, rows,
             cols);
}

}  // namespace bcsc::detail
