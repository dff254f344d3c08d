#pragma once

#include "kernels/cpu/isa/blocks.hpp"
#include "kernels/cpu/isa/columns.hpp"
#include "kernels/cpu/isa/rows.hpp"

/// Passes over a row block: as many vectors at a time as the registers hold.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

template <int Vectors, int Bytes>
struct pass_width {
  static constexpr int vectors = Vectors, bytes = Bytes;
};
template <bool Part>
struct pass_edge {
  static constexpr bool part = Part;
};

template <prefetching Ahead>
struct prefetching_is {
  static constexpr prefetching value = Ahead;
};

/// With 64-bit indices memory is what takes time.
template <class I>
inline constexpr bool whole_passes = sizeof(I) == 4;

/// Calls body(pass_width<vectors, their bytes>, pass_edge<whether the last vector is a part>): as few vectors as hold
/// the columns, and a single one no wider than need be. Without Whole, a last vector that is whole is done as a part,
/// too: half as many passes to compile.
template <int Most, class T, bool Whole, int Bytes = vector_bytes, class Body>
[[gnu::always_inline]] inline void with_pass(int64_t columns, const Body& body) {
  if constexpr (Most > 1) {
    if (columns <= (Most - 1) * width<T>) return with_pass<Most - 1, T, Whole>(columns, body);
  } else if constexpr (Bytes > min_bytes) {
    if (columns <= width<T, Bytes / 2>) return with_pass<1, T, Whole, Bytes / 2>(columns, body);
  }
  if constexpr (Whole) {
    if (columns % width<T, Bytes> == 0) return body(pass_width<Most, Bytes>{}, pass_edge<false>{});
  }
  body(pass_width<Most, Bytes>{}, pass_edge<true>{});
}

/// Columns [from, to) in passes of at most `Most` vectors, as even as may be.
template <int Most, class T>
struct pass_list {
  int64_t from, to, count, step;  ///< step: columns of a pass

  pass_list(int64_t from_column, int64_t to_column) : from(from_column), to(to_column) {
    const int64_t vectors = ceil_div(to - from, width<T>);
    count = ceil_div(vectors, Most);
    step = ceil_div(vectors, count) * width<T>;
  }
  /// Calls body(column, columns) for each.
  template <class Body>
  [[gnu::always_inline]] void for_each(const Body& body) const {
    for (int64_t column = from; column < to; column += step) body(column, least(step, to - column));
  }
};

/// How many of the rows [first, end) are done between two passes: where rows are short several, or starting a pass
/// takes longer than its sums; where they are long one, since the next pass reads A and the pages of B again.
template <class T, class I>
int64_t rows_between_passes(const job<T, I>& work, int64_t first, int64_t end) {
  constexpr int64_t entries = 8, max_rows = 64;
  const int64_t present = static_cast<int64_t>(work.a.brow_ptr[end]) - work.a.brow_ptr[first];
  return least(ceil_div(entries * (end - first), present > 0 ? present : 1), max_rows);
}

/// A share of a tile: the row blocks [block, end), the columns [from, to) of a contiguous C, for m_block = 1.
template <class T, class I>
void share_of_contiguous(const job<T, I>& work, int64_t block, int64_t end, int64_t from, int64_t to) {
  constexpr int most = widest_pass(1);
  const pass_list<most, T> passes(from, to);
  const int64_t step = passes.count == 1 ? end - block : rows_between_passes(work, block, end);
  for (; block < end; block += step) {
    const int64_t group_end = least(block + step, end);
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<most, T, whole_passes<I>>(columns, [&](auto pass, auto edge) {
        const auto rows = [&](auto ahead) {
          rows_of_contiguous<pass.vectors, pass.bytes, edge.part, ahead.value>(work, block, group_end, column, columns);
        };
        if (work.ahead == prefetching::far) return rows(prefetching_is<prefetching::far>{});
        if constexpr (pass.vectors >= near_from) {
          if (work.ahead == prefetching::near) return rows(prefetching_is<prefetching::near>{});
        }
        rows(prefetching_is<prefetching::none>{});
      });
    });
  }
}

/// The same for row blocks of any height and any strides of C, m_tile rows at a time, entry by entry.
template <class T, class I>
void share_in_scratch(const job<T, I>& work, int64_t m_tile, int64_t block, int64_t end, int64_t from, int64_t to) {
  alignas(64) T tile[scratch_bytes / sizeof(T)];
  const bcsc_operand<T, I>& a = work.a;
  const int64_t ld = ceil_div(to - from, width<T>) * width<T>;
  const pass_list<max_pass, T> passes(from, to);
  for (; block < end; ++block) {
    const int64_t block_row = work.row_of_block(block), height = work.row_of_block(block + 1) - block_row;
    for (int64_t row = 0; row < height; row += m_tile) {
      const int64_t rows = least(m_tile, height - row);
      for (int64_t i = 0; i < rows * ld; i += width<T>) store(tile + i, vec<T>{});
      passes.for_each([&](int64_t column, int64_t columns) {
        with_pass<max_pass, T, whole_passes<I>>(columns, [&](auto pass, auto edge) {
          const part<T, pass.bytes> lanes(columns - (pass.vectors - 1) * width<T, pass.bytes>);
          pass_in_scratch<pass.vectors, pass.bytes, edge.part>(a, block, row, rows, work.b + column, work.ldb, lanes,
                                                               tile + (column - from), ld);
        });
      });
      finish_tile(work.out, tile, ld, block_row + row, rows, from, to - from);
    }
  }
}

/// The same in registers; what is not finite, entry by entry.
template <int Rows, class T, class I>
void share_in_registers(const job<T, I>& work, int64_t block, int64_t end, int64_t from, int64_t to) {
  constexpr int most = widest_pass(Rows) < max_pass ? widest_pass(Rows) : max_pass;
  constexpr bool whole = !masked_loads && whole_passes<I>;  // one load in `Rows` operations
  const pass_list<most, T> passes(from, to);
  const bool contiguous = Rows > 1 && work.out.col_stride == 1;
  // A contiguous C is written as it comes; of a strided one some rows are gathered, to fill its cache lines.
  const int64_t step = !contiguous ? group_rows / Rows : passes.count == 1 ? end - block : 1;
  for (; block < end; block += step) {
    const int64_t group_end = least(block + step, end);
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<most, T, whole>(columns, [&](auto pass, auto edge) {
        const int64_t next = group_end - block > 1 ? column : column + columns < to ? column + columns : from;
        for (int64_t first = block; first < group_end;) {
          first = pass_in_registers<Rows, pass.vectors, pass.bytes, edge.part>(work, first, group_end, column, columns,
                                                                               next);
          if (first == group_end) break;
          const int64_t last = contiguous ? first + 1 : group_end;
          share_in_scratch(work, work.a.m_block, first, last, column, column + columns);
          first = last;
        }
      });
    });
  }
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
