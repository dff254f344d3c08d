#pragma once

#include "kernels/cpu/isa/job.hpp"

/// columns: the tile of C in L1.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

/// tile[:, pass] += A[rows of the block from `first_row` on, `rows` of them, :] * B[:, pass] for one row block, `tile`
/// and `b` at the pass's first column. Non-zeros of rows outside are skipped by one unsigned compare. Not inlined, for
/// the sake of registers.
template <int Vectors, int Bytes, bool Part, class T, class I>
[[gnu::noinline]] void pass_in_scratch(const bcsc_operand<T, I>& operand, int64_t block, int64_t first_row,
                                       int64_t rows, const T* b, int64_t ldb, part<T, Bytes> edge, T* tile,
                                       int64_t ld) {
  const bcsc_operand<T, I> a = operand;  // a copy, which no store to the tile can change
  const int64_t end = a.brow_ptr[block + 1];
  int64_t k = a.entry_ptr[block];
  for (int64_t column = a.brow_ptr[block]; column < end; ++column) {
    const T* b_row = b + static_cast<int64_t>(a.col_ind[column]) * ldb;
    vec<T, Bytes> b_part[Vectors];
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      b_part[v] = Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at);
    }
    for (const int64_t last = k + small_at(a.col_count, column) + 1; k < last; ++k) {
      const int64_t row = small_at(a.row_in_block, k) - first_row;
      if (static_cast<std::uint64_t>(row) >= static_cast<std::uint64_t>(rows)) continue;
      T* c = tile + row * ld;
      const T value = a.values[k];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        T* at = c + v * width<T, Bytes>;
        store(at, multiply_add(value, b_part[v], load<Bytes>(at)));
      }
    }
  }
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
