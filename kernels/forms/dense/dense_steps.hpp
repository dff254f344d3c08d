#pragma once

#include <cstdint>

/// The device's step from CSR to a dense matrix, named without any CUDA header. Values are moved by their size alone.
namespace bcsc::forms::steps {

/// A CSR matrix whose rows are sorted, and where it goes; device pointers.
struct dense_job {
  std::int64_t rows = 0, cols = 0, ld = 0, row_words = 0;
  const std::int32_t* row_ptr = nullptr;
  const std::int32_t* col_ind = nullptr;
  const void* from = nullptr;
  const std::int32_t* row_of = nullptr;  ///< the row of the dense matrix that row m of the CSR is; null: m
  void* values = nullptr;                ///< [rows][ld]
  std::uint32_t* mask = nullptr;         ///< [rows][row_words]
};

/// `value_bytes`: 2, 4 or 8. Does not wait.
void fill_dense(const dense_job& job, int value_bytes);

}  // namespace bcsc::forms::steps
