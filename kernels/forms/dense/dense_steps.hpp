#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"

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

/// A dense matrix and what kernels::halves_of_a holds of it; device pointers.
struct halves_job {
  int count = 0;  ///< fp16 numbers stored for a value: 3 or 1
  std::int64_t rows = 0, cols = 0, ld = 0, halves_ld = 0;
  const float* values = nullptr;  ///< [rows][ld]
  half* parts = nullptr;          ///< [rows][count * halves_ld]
  float* back = nullptr;
  std::int32_t* num_lossy = nullptr;
};

/// Does not wait.
void split_dense(const halves_job& job);

}  // namespace bcsc::forms::steps
