#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"

struct CUstream_st;

namespace bcsc::kernels::cuda {

/// The members of a batch: 1 .. max_members, and the elements from one to the next.
struct pack_members {
  std::int64_t count = 1, col_major_stride = 0, row_major_stride = 0;
};

/// packed[k * ld_packed + j] = b[k + j * ldb] for k < rows, j < cols: a slab of a column-major B, or C, made row-major
/// with leading dimension `ld_packed` >= cols; zeros behind column `cols`, so that every row may be read in whole
/// 16-byte pieces. All of a batch's in one launch; fp32, fp64, fp16 and bf16. Returns a cudaError_t.
template <class T>
int pack_row_major(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members = {});

/// The way back: c[i + j * ldc] = packed[i * ld_packed + j] for i < rows, j < cols, and nothing else of C is touched.
template <class T>
int unpack_row_major(const T* packed, std::int64_t ld_packed, std::int64_t rows, std::int64_t cols, T* c,
                     std::int64_t ldc, CUstream_st* stream, const pack_members& members = {});

}  // namespace bcsc::kernels::cuda
