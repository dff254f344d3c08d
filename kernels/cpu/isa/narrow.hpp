#pragma once

#include "kernels/cpu/isa/columns.hpp"
#include "kernels/cpu/isa/narrow_lanes.hpp"
#include "kernels/cpu/isa/passes.hpp"
#include "kernels/cpu/isa/shares.hpp"

/// fp16, bf16: rows in fp32 registers, or a tile in L1 for other heights.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

/// Stores `wide` to C: the first `count` of neighbouring columns from C[row, column] on.
template <int Bytes, class T, class I>
[[gnu::always_inline]] inline void finish_narrow(const target<T, I>& out, int64_t row, int64_t column,
                                                 vec<float, Bytes> wide, int64_t count) {
  T* c = out.at(row, column);
  const bool whole = count >= width<float, Bytes> && out.col_stride == 1;
  vec<float, Bytes> result = out.alpha * wide;
  if (out.beta != 0) {
    const T* z = out.addend_of(c);
    vec<float, Bytes> former{};
    if (whole) {
      former = load_wide<Bytes>(z);
    } else {
      for (int i = 0; i < width<float, Bytes>; ++i) {
        if (i < count) former[i] = widen_one(z + i * out.col_stride);
      }
    }
    result = multiply_add(out.beta, former, result);
  }
  if (whole) {
    store_narrow<Bytes>(c, result);
  } else {
    store_narrow<Bytes>(c, out.col_stride, result, count);
  }
}

/// C[first .. end) for m_block = 1: `columns` columns from `column` on.
template <int Vectors, int Bytes, bool Part, class T, class I>
void narrow_rows(const job<T, I>& work, int64_t first, int64_t end, int64_t column, int64_t columns) {
  constexpr int64_t lanes = width<float, Bytes>;
  const int64_t rest = columns - (Vectors - 1) * lanes;  // lanes of the last vector
  const I* const row_ptr = work.a.brow_ptr;
  const T* const b = work.b + column;
  for (int64_t row = first; row < end; ++row) {
    vec<float, Bytes> sum[Vectors] = {};
    for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
      const float value = widen_one(work.a.values + k);
      const T* b_row = b + static_cast<int64_t>(work.a.col_ind[k]) * work.ldb;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        const T* at = b_row + v * lanes;
        sum[v] =
            multiply_add(value, Part && v == Vectors - 1 ? load_wide<Bytes>(at, rest) : load_wide<Bytes>(at), sum[v]);
      }
    }
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      finish_narrow<Bytes>(work.out, row, column + v * lanes, sum[v], v == Vectors - 1 ? rest : lanes);
    }
  }
}

/// The row blocks [block, end) of any height, the columns [from, to): a tile of sums in L1.
template <class T, class I>
void narrow_tiles(const job<T, I>& work, int64_t m_tile, int64_t block, int64_t end, int64_t from, int64_t to) {
  constexpr int64_t lanes = width<float>;
  alignas(64) float tile[scratch_bytes / sizeof(float)];
  const bcsc_operand<T, I>& a = work.a;
  const int64_t ld = ceil_div(to - from, lanes) * lanes;
  for (; block < end; ++block) {
    const int64_t block_row = work.row_of_block(block), height = work.row_of_block(block + 1) - block_row;
    for (int64_t first = 0; first < height; first += m_tile) {
      const int64_t rows = least(m_tile, height - first);
      for (int64_t i = 0; i < rows * ld; i += lanes) store(tile + i, vec<float>{});
      int64_t k = a.entry_ptr[block];
      for (int64_t col = a.brow_ptr[block]; col < a.brow_ptr[block + 1]; ++col) {
        const T* b = work.b + from + static_cast<int64_t>(a.col_ind[col]) * work.ldb;
        for (const int64_t last = k + small_at(a.col_count, col) + 1; k < last; ++k) {
          const int64_t row = small_at(a.row_in_block, k) - first;
          if (static_cast<std::uint64_t>(row) >= static_cast<std::uint64_t>(rows)) continue;
          const float value = widen_one(a.values + k);
          for (int64_t j = 0; j < to - from; j += lanes) {
            float* at = tile + row * ld + j;
            const bool whole = j + lanes <= to - from;
            store(at, multiply_add(value, whole ? load_wide(b + j) : load_wide(b + j, to - from - j), load(at)));
          }
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < to - from; j += lanes) {
          finish_narrow<vector_bytes>(work.out, block_row + first + i, from + j, load(tile + i * ld + j),
                                      to - from - j);
        }
      }
    }
  }
}

template <class T, class I>
void run_narrow(const job<T, I>& work, int64_t n_tile, const team& who) {
  if (work.a.m_block != 1) {
    const int64_t columns = least(n_tile, 64);
    const int64_t m_tile = scratch_bytes / static_cast<int64_t>(sizeof(float)) / columns;
    for_each_share(work, columns, who, [=](const auto& own, int64_t first, int64_t last, int64_t from, int64_t to) {
      narrow_tiles(own, m_tile, first, last, from, to);
    });
    return;
  }
  for_each_share(work, n_tile, who, [](const auto& own, int64_t first, int64_t last, int64_t from, int64_t to) {
    const pass_list<max_pass, float> passes(from, to);
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<max_pass, float, whole_passes<I>>(columns, [&](auto pass, auto edge) {
        narrow_rows<pass.vectors, pass.bytes, edge.part>(own, first, last, column, columns);
      });
    });
  });
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
