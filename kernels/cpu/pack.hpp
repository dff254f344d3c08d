#pragma once

#include <cstdint>

#include "core/team.hpp"

namespace bcsc::kernels::cpu {

/// packed[k * ld_packed + j] = b[k + j * ldb] for k < rows, j < cols: a slab of a column-major B made row-major with
/// leading dimension `ld_packed` >= cols, in square blocks that stay in L1, by as many of `all` as that is worth.
template <class T>
void pack_row_major(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed,
                    std::int64_t ld_packed, const core::team& all);

}  // namespace bcsc::kernels::cpu
