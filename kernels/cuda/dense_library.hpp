#pragma once

#include <cstdint>
#include <string>

#include "bcsc/types.hpp"
#include "kernels/forms/product_args.hpp"

/// Dense products by a library that is loaded when a plan first asks for it (cublas_lt.cpp). No CUDA header.
namespace bcsc::kernels::cuda {

/// A row-major or column-major matrix on the current device.
struct dense_side_of_product {
  const void* data;
  std::int64_t ld;
  bool row_major;
};

/// C = alpha * A * B.
struct dense_product {
  value_type type;     ///< of A and B
  value_type c_type;   ///< that, or that of the sums
  bool rounds_values;  ///< of fp32: to TF32
  std::int64_t rows, inner, cols;
  dense_side_of_product a, b;  ///< a: row-major
  void* c;
  std::int64_t c_ld;
  bool c_row_major;
  double alpha;
  void* workspace;
  std::int64_t workspace_bytes;
};

/// Loads the library and makes it ready for products on `device`, where that has not happened; takes up to a few
/// hundred milliseconds then, and both last as long as the process. Empty, or why there are no such products. From any
/// thread.
std::string ready_dense_library(int device);

/// Enqueues the product on `stream`, on whose device the library is ready; neither allocates device memory nor
/// synchronises. Returns a cudaError_t.
int multiply_dense(const dense_product& product, CUstream_st* stream);

}  // namespace bcsc::kernels::cuda
