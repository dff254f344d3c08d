#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bcsc/types.hpp"

/// Solves with sparse triangles by a library that is loaded when one is first asked for (cusparse_sm.cpp). No CUDA
/// header.
namespace bcsc::kernels::cuda {

/// CSR with its diagonal, on a device.
struct triangular_matrix {
  value_type type;  ///< fp32 or fp64
  std::int64_t rows, nnz;
  const std::int32_t* row_ptr;
  const std::int32_t* col_ind;
  const void* values;
  bool is_lower;
};

/// X = T^-1 B for row-major blocks of a number of columns, packed. From one thread at a time; what it keeps serves one
/// solve at a time, so that each waits for the one before, on whatever streams.
class triangular_solve {
 public:
  virtual ~triangular_solve() = default;
  /// Enqueues it; B and X share no element. Throws error{cuda_error | out_of_memory}.
  virtual void run(const void* b, void* x, CUstream_st* stream) = 0;
};

/// Loads the library where that has not happened. Empty, or why there are no such solves. From any thread.
std::string ready_triangular_library();

/// Analyses the triangle, which outlives the result, for k columns. The library is ready, the device the current one.
/// Returns when the analysis is done. Throws as run().
std::unique_ptr<triangular_solve> prepare_triangular_solve(int device, const triangular_matrix& a, std::int64_t k);

}  // namespace bcsc::kernels::cuda
