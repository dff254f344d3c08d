#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"

struct CUstream_st;

namespace bcsc::kernels::cuda {

/// The B's of a batch: 1 .. most_members, and the elements from one to the next.
struct pack_members {
  std::int64_t count = 1, b_stride = 0, packed_stride = 0;
};

/// packed[k, j] = b[k + j * ldb] for k < rows, j < cols: a slab of a column-major B made row-major with leading
/// dimension `ld_packed` >= cols, through a shared-memory transpose; zeros behind column `cols`, so that every row may
/// be read in whole 16-byte pieces. All of a batch's in one launch. Returns a cudaError_t.
int pack_row_major(const float* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, float* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members = {});
int pack_row_major(const double* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, double* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members = {});
int pack_row_major(const half* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, half* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members = {});
int pack_row_major(const bfloat16* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, bfloat16* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members = {});

}  // namespace bcsc::kernels::cuda
