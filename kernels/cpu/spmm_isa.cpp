// The CPU's SpMM over BCSC. This file is compiled once for each instruction set (-DBCSC_ISA=<name>), all of it into
// that instruction set's namespace; nothing of the standard library's is called, for an inline function of theirs could
// be linked from the copy for a better machine.
//
// Who owns what   C is cut into tiles of n_tile columns, and the row blocks of each tile into pieces of equal work (as
//                 many non-zeros), some for each thread, which helps the others when it is done: whole entries of C,
//                 summed in the order of storage, so the result depends neither on the number of threads nor on chance.
// rows, blocks    for one row or block after the other, in passes of as many vector registers as there are: the
//                 accumulators stay in registers while the non-zeros go by; a row of B serves all m_tile rows of C.
// rows, N = 1     the products of some hundred rows go to a scratch in L1 as they come, whatever row they belong to.
//                 Then as many rows as a vector has lanes are summed together.
// columns         the tile of C lies in a scratch in L1; for each non-empty column a slice of the row of B is loaded
//                 into registers and added to the tile's rows of all its non-zeros. Also takes every m_block that
//                 rows and blocks are not made for.
// B not finite    only stored entries of A take part: a row without an entry in a column never meets its row of B.
//                 blocks multiplies by 0 there, and where a sum is not finite does the row block again like columns.
// fp16, bf16      rows alone: widened as they are loaded, summed in fp32, rounded once.
// scatter         C = alpha * A' * B + beta * C from the same A: each share of C, some of its rows and columns, is
//                 scaled and then added to by whatever of A reaches it, in the order of storage. No share needs
//                 another, so this depends on the number of threads as little as the others do.
// Bytes moved     A once for each n_tile columns of C, C once (past the caches when it is large), B as often as it
//                 falls out of them.
// Preconditions   a valid BCSC operand, rows > 0, n > 0; any alignment and strides.

#include "kernels/cpu/lanes.hpp"
#include "kernels/cpu/narrow.hpp"

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <utility>

#include "kernels/forms/compact/operand.hpp"
#include "kernels/tables/cpu.hpp"
#include "kernels/tables/scatter.hpp"

namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

using std::int64_t;

constexpr int max_pass = 8;     // vectors of a row of C that a pass covers at most; more of one row of a contiguous C
constexpr int group_rows = 16;  // rows of C done between two passes: their part of A stays in L1
constexpr int64_t scratch_bytes = tables::max_cpu_scratch_bytes;
constexpr int64_t stream_from = int64_t{24} << 20;  // bytes of C from which it would only displace B in the caches
constexpr int near_distance = 8;                    // non-empty columns between asking for a row of B and using it
constexpr int near_from = 4;                        // vectors of a pass below which asking costs more than it brings
constexpr int far_distance = 16;                    // the same where rows of B come from far away
constexpr int64_t far_from = int64_t{4} << 20;      // bytes of B from which they do, if they are met in no order
constexpr int64_t work_of_a_thread = 16 * 1024;     // multiply-adds below which another thread costs more than it does
constexpr int64_t work_of_a_piece = 128 * 1024;     // multiply-adds beside which taking a piece costs nothing
constexpr int64_t pieces_of_a_thread = 16;          // at most

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How a sum gets into C.
template <class T, class I>
struct target {
  T* c;
  int64_t row_stride, col_stride;
  scalar_of<T> alpha, beta;
  int streamed;     ///< bytes of the widest vector that may be stored past the caches; 0: none
  const I* row_of;  ///< the row of C that a row of A is; null: the same

  /// C[row of A's row `row`, column].
  T* at(int64_t row, int64_t column) const {
    return c + (row_of ? static_cast<int64_t>(row_of[row]) : row) * row_stride + column * col_stride;
  }
};

/// An index inside a row block.
[[gnu::always_inline]] inline int64_t small_at(const small_array& array, int64_t k) {
  if (array.bytes == 1) return static_cast<const std::uint8_t*>(array.data)[k];
  return array.bytes == 2 ? static_cast<const std::uint16_t*>(array.data)[k] : 0;
}

/// A run's arguments with alpha and beta read.
template <class T, class I>
struct job {
  bcsc_operand<T, I> a;
  const T* b;
  int64_t ldb, n;
  bool far;  ///< rows of B are met in no order, and hardly any is still in the caches
  target<T, I> out;

  explicit job(const spmm_args<T, I>& args)
      : a(args.a),
        b(args.b),
        ldb(args.ldb),
        n(args.n),
        far(args.a.scattered && args.a.cols * args.n * static_cast<int64_t>(sizeof(T)) >= far_from),
        out{args.c,
            args.c_row_stride,
            args.c_col_stride,
            args.alpha_at ? *args.alpha_at : args.alpha,
            args.beta_at ? *args.beta_at : args.beta,
            0,
            args.a.row_of} {
    const int64_t value_bytes = sizeof(T);
    if (out.beta != 0 || out.col_stride != 1 || a.rows * n * value_bytes < stream_from) return;
    const auto aligned_to = [&](int bytes) {
      return reinterpret_cast<std::uintptr_t>(out.c) % bytes == 0 && out.row_stride * value_bytes % bytes == 0;
    };
    for (int bytes = min_bytes; bytes <= vector_bytes && aligned_to(bytes); bytes *= 2) out.streamed = bytes;
  }

  /// Where a row block begins.
  int64_t row_of_block(int64_t block) const {
    return a.block_row ? static_cast<int64_t>(a.block_row[block]) : least(block * a.m_block, a.rows);
  }
  /// Work in all blocks before `block`: its non-zeros and columns are read, its rows are written.
  int64_t work_before(int64_t block) const {
    return static_cast<int64_t>(a.entry_ptr[block]) + a.brow_ptr[block] + 2 * row_of_block(block);
  }
  /// The first block with at least `work` before it.
  int64_t block_at(int64_t work) const {
    int64_t low = 0, high = a.num_row_blocks;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (work_before(middle) < work) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// c[0 .. columns of the pass) = alpha * sum + beta * c, the row contiguous. A part that is
/// `whole` goes past the caches like the others.
template <bool Part, int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void finish_row(const target<T, I>& out, T* c, const vec<T, Bytes> (&sum)[Vectors],
                                              part<T, Bytes> edge, bool whole = false) {
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) {
    T* at = c + v * width<T, Bytes>;
    vec<T, Bytes> result = out.alpha * sum[v];
    const bool partial = Part && v == Vectors - 1 && !whole;
    if (out.beta != T{0}) result = multiply_add(out.beta, partial ? load(at, edge) : load<Bytes>(at), result);
    if (partial) {
      store(at, result, edge);
    } else if (out.streamed >= Bytes) {
      stream(at, result);
    } else {
      store(at, result);
    }
  }
}

/// C[row + i, column + j] = alpha * tile[i * ld + j] + beta * C[...] for any strides.
template <class T, class I>
void finish_tile(const target<T, I>& out, const T* tile, int64_t ld, int64_t row, int64_t rows, int64_t column,
                 int64_t columns) {
  if (out.col_stride == 1) {
    const int64_t whole = columns / width<T>, rest = columns % width<T>;
    const part<T> edge(rest);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t v = 0; v < whole; ++v) {
        const vec<T> sum[1] = {load(tile + i * ld + v * width<T>)};
        finish_row<false>(out, out.at(row + i, column) + v * width<T>, sum, edge);
      }
      if (rest != 0) {
        const vec<T> sum[1] = {load(tile + i * ld + whole * width<T>)};
        finish_row<true>(out, out.at(row + i, column) + whole * width<T>, sum, edge);
      }
    }
    return;
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      T& c = *out.at(row + i, column + j);
      const T sum = out.alpha * tile[i * ld + j];
      c = out.beta != T{0} ? multiply_add(out.beta, c, sum) : sum;
    }
  }
}

// --- Asking for rows of B ahead of their use ------------------------------------------------------------------------

/// What a pass reads of B once its own non-empty columns are done: those of the next pass over the same block, or of
/// the next block.
template <class T, class I>
struct successor {
  const I* col_ind;
  const T* b;  ///< at the next pass's first column
  const I* last_col_ind;
  bool far;
};

/// Prefetches the part of a row of B that is needed some columns after position k of `count`: from near into L1; from
/// far earlier and only into L2, which can wait for more lines at a time.
template <int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void prefetch_ahead(const I* col_ind, int64_t k, int64_t count, const T* b, int64_t ldb,
                                                  const successor<T, I>& next) {
  const auto row_ahead = [&](int64_t distance) {
    const int64_t ahead = k + distance;
    const I* index = ahead < count ? col_ind + ahead : next.col_ind + (ahead - count);
    return (ahead < count ? b : next.b) +
           static_cast<int64_t>(*(index < next.last_col_ind ? index : next.last_col_ind)) * ldb;
  };
  if (next.far) {
    const T* row = row_ahead(far_distance);
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>, 0, 2);
  } else if constexpr (Vectors >= near_from) {
    const T* row = row_ahead(near_distance);
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>);
  }
}

// --- rows: one row of C in registers --------------------------------------------------------------------------------

/// sum[:] = A[row, :] * B[:, pass], `b` at the pass's first column. Short rows of C take several non-zeros at once, so
/// that an addition need not wait for the one before.
template <bool Part, int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void sum_row(const T* values, const I* col_ind, int64_t count, const T* b, int64_t ldb,
                                           const successor<T, I>& next, part<T, Bytes> edge,
                                           vec<T, Bytes> (&sum)[Vectors]) {
  constexpr int chains = Vectors <= 2 ? 2 : 1;
  vec<T, Bytes> partial[chains][Vectors] = {};
  int64_t k = 0;
  for (; k + chains <= count; k += chains) {
#pragma GCC unroll 4
    for (int u = 0; u < chains; ++u) {
      prefetch_ahead<Vectors, Bytes>(col_ind, k + u, count, b, ldb, next);
      const T* b_row = b + static_cast<int64_t>(col_ind[k + u]) * ldb;
      const T value = values[k + u];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        const T* at = b_row + v * width<T, Bytes>;
        partial[u][v] = multiply_add(value, Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at), partial[u][v]);
      }
    }
  }
  for (; k < count; ++k) {
    prefetch_ahead<Vectors, Bytes>(col_ind, k, count, b, ldb, next);
    const T* b_row = b + static_cast<int64_t>(col_ind[k]) * ldb;
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      partial[0][v] =
          multiply_add(values[k], Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at), partial[0][v]);
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) {
    sum[v] = partial[0][v];
#pragma GCC unroll 4
    for (int u = 1; u < chains; ++u) sum[v] += partial[u][v];
  }
}

/// C[first .. end) of a contiguous C, for m_block = 1: `columns` columns from `column` on. Everything is held in
/// registers, for where rows are short what surrounds their sums takes longer than the sums. Not inlined: beside others
/// of its kind the compiler does not find registers for all of it (fp64, N = 32: half as long again).
template <int Vectors, int Bytes, bool Part, bool Far, class T, class I>
[[gnu::noinline]] void rows_of_contiguous(const job<T, I>& work, int64_t first, int64_t end, int64_t column,
                                          int64_t columns) {
  constexpr bool ahead = Far || Vectors >= near_from;
  constexpr int64_t distance = Far ? far_distance : near_distance;
  const part<T, Bytes> edge(columns - (Vectors - 1) * width<T, Bytes>);
  const bool whole = columns == Vectors * width<T, Bytes>;
  const target<T, I> out = work.out;
  const T* const b = work.b + column;
  const T* const values = work.a.values;
  const I* const col_ind = work.a.col_ind;
  const I* const row_ptr = work.a.brow_ptr;
  const int64_t ldb = work.ldb, last_entry = row_ptr[work.a.num_row_blocks] - 1;

  const auto add = [&](vec<T, Bytes>(&sum)[Vectors], int64_t k) __attribute__((always_inline)) {
    if constexpr (ahead) {
      const T* row = b + static_cast<int64_t>(col_ind[least(k + distance, last_entry)]) * ldb;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>, 0, Far ? 2 : 3);
    }
    const T* b_row = b + static_cast<int64_t>(col_ind[k]) * ldb;
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      sum[v] = multiply_add(values[k], Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at), sum[v]);
    }
  };
  int64_t k = row_ptr[first];
  for (int64_t row = first; row < end; ++row) {
    const int64_t last = row_ptr[row + 1];
    vec<T, Bytes> sum[Vectors] = {};
    if constexpr (Vectors <= 2) {  // two sums, so that an addition need not wait for the one before
      vec<T, Bytes> other[Vectors] = {};
      for (; k + 2 <= last; k += 2) {
        add(sum, k);
        add(other, k + 1);
      }
      if (k < last) add(sum, k++);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[v] += other[v];
    } else {
      for (; k < last; ++k) add(sum, k);
    }
    finish_row<Part>(out, out.at(row, column), sum, edge, whole);
  }
}

// --- blocks: m_tile rows of C in registers --------------------------------------------------------------------------

template <class T>
struct bits_of;
template <>
struct bits_of<float> {
  using type = std::uint32_t;
};
template <>
struct bits_of<double> {
  using type = std::uint64_t;
};

/// to[r] = the value in row r of a column whose entries are [first, last], or 0. Without a branch: which rows a column
/// has is what no predictor can know. Worth it for up to three rows.
template <int Rows, class T>
[[gnu::always_inline]] inline void expand_column(const T* values, const std::uint8_t* rows, int64_t first, int64_t last,
                                                 T* to) {
  using bits = typename bits_of<T>::type;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const int64_t is_there = rows[first] == r;
    bits value;
    __builtin_memcpy(&value, values + first, sizeof value);
    value &= bits{0} - static_cast<bits>(is_there);
    __builtin_memcpy(to + r, &value, sizeof value);
    first = least(first + is_there, last);
  }
}

/// sum[r][:] = A[r-th row of the block, :] * B[:, pass] over the block's `count` non-empty columns from `column` on,
/// whose non-zeros begin at `entry`. A row block of 2 to 256 rows has indices of one byte.
template <bool Part, int Rows, int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void sum_block(const bcsc_operand<T, I>& a, int64_t entry, int64_t column, int64_t count,
                                             const T* b, int64_t ldb, const successor<T, I>& next, bool mostly_full,
                                             part<T, Bytes> edge, vec<T, Bytes> (&sum)[Rows][Vectors]) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) sum[r][v] = vec<T, Bytes>{};
  }
  const I* col_ind = a.col_ind + column;
  const auto* lengths = static_cast<const std::uint8_t*>(a.col_count.data) + column;
  const auto* rows = static_cast<const std::uint8_t*>(a.row_in_block.data);
  alignas(min_bytes) T expanded[Rows];
  for (int64_t i = 0; i < count; ++i) {
    prefetch_ahead<Vectors, Bytes>(col_ind, i, count, b, ldb, next);
    const T* b_row = b + static_cast<int64_t>(col_ind[i]) * ldb;
    const int64_t first = entry, last = entry + lengths[i];
    entry = last + 1;
    const T* dense = a.values + first;
    if (Rows <= 3 && !mostly_full) {
      expand_column<Rows>(a.values, rows, first, last, expanded);
      dense = expanded;
    } else if (last - first != Rows - 1) {
      for (int r = 0; r < Rows; ++r) expanded[r] = T{0};
      if constexpr (Rows <= 3 && vector_bytes < 64) {
        for (int64_t k = first; k <= last; ++k) expanded[rows[k]] = a.values[k];
      } else {
        // Unrolled: of a loop GCC makes scatter instructions where there are some, for a handful of entries.
#pragma GCC unroll 8
        for (int r = 0; r < Rows - 1; ++r) {
          if (first + r > last) break;
          expanded[rows[first + r]] = a.values[first + r];
        }
      }
      dense = expanded;
    }
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      const vec<T, Bytes> b_part = Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) sum[r][v] = multiply_add(dense[r], b_part, sum[r][v]);
    }
  }
}

/// Whether a row of B that is not finite may have come in where a column has no entry. A product with it, be it by 0,
/// is not finite either and stays so in any sum: one row of the block shows it. Two vectors are tested at a time by
/// their product; where only that overflows, each is tested by itself.
template <int Vectors, int Bytes, class T>
[[gnu::always_inline]] inline bool is_contaminated(const vec<T, Bytes> (&sum)[Vectors]) {
  vec<T, Bytes> vote = sum[Vectors - 1];
#pragma GCC unroll 8
  for (int v = 0; v + 1 < Vectors; v += 2) vote = multiply_add(sum[v], sum[v + 1], vote);
  if (!any_not_finite<T, Bytes>(vote)) [[likely]]
    return false;
  bool found = false;
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) found = found || any_not_finite<T, Bytes>(sum[v]);
  return found;
}

/// One pass over the blocks [block, end) of height Rows: `columns` columns of C from `column` on; after it comes the
/// pass at column `next_column`, over the same block if that lies further on. Returns the first block that is not done,
/// because its sums are not finite. Not inlined, for the sake of registers.
template <int Rows, int Vectors, int Bytes, bool Part, class T, class I>
[[gnu::noinline]] int64_t pass_in_registers(const job<T, I>& work, int64_t block, int64_t end, int64_t column,
                                            int64_t columns, int64_t next_column) {
  const bcsc_operand<T, I> a = work.a;
  const part<T, Bytes> edge(columns - (Vectors - 1) * width<T, Bytes>);
  const bool whole = columns == Vectors * width<T, Bytes>;
  const target<T, I> out = work.out;                        // a copy, which no store to C can change
  const bool contiguous = Rows > 1 && out.col_stride == 1;  // one row of a contiguous C goes another way
  alignas(64) T tile[group_rows * Vectors * width<T, Bytes>];
  const int64_t num_columns = a.brow_ptr[a.num_row_blocks];
  // Where columns are full but for a few, to look is cheaper than to expand.
  const bool mostly_full = 10 * static_cast<int64_t>(a.entry_ptr[a.num_row_blocks]) >= 9 * Rows * num_columns;
  const I* last_col_ind = num_columns > 0 ? a.col_ind + (num_columns - 1) : a.col_ind;
  const int64_t first_block = block, first_row = work.row_of_block(block), end_row = work.row_of_block(end);
  for (int64_t row = first_row, next_row = row; block < end; ++block, row = next_row) {
    next_row = work.row_of_block(block + 1);
    const int64_t rows = next_row - row, from = a.brow_ptr[block], to = a.brow_ptr[block + 1];
    const successor<T, I> next{a.col_ind + (next_column > column ? from : to), work.b + next_column, last_col_ind,
                               work.far};
    vec<T, Bytes> sum[Rows][Vectors];
    if constexpr (Rows == 1) {
      sum_row<Part>(a.values + from, a.col_ind + from, to - from, work.b + column, work.ldb, next, edge, sum[0]);
    } else {
      sum_block<Part>(a, a.entry_ptr[block], from, to - from, work.b + column, work.ldb, next, mostly_full, edge, sum);
      if (is_contaminated<Vectors, Bytes, T>(sum[0])) [[unlikely]] {
        return contiguous ? block : first_block;
      }
    }
    if (contiguous) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        if (r < rows) finish_row<Part>(out, out.at(row + r, column), sum[r], edge, whole);
      }
    } else {
      // A lower row block's other sums are zeros, and lie where the next block's go, or beyond what is written out.
      T* to_tile = tile + (row - first_row) * Vectors * width<T, Bytes>;
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v) store(to_tile + (r * Vectors + v) * width<T, Bytes>, sum[r][v]);
      }
    }
  }
  if (!contiguous) {
    finish_tile(out, tile, Vectors * width<T, Bytes>, first_row, end_row - first_row, column, columns);
  }
  return end;
}

// --- rows, N = 1: products first, then sums -------------------------------------------------------------------------

constexpr int64_t num_products = 1024;  // whose products lie in L1 between being made and being summed

template <class T, class I>
[[gnu::always_inline]] inline void multiply_strided(const T* values, const I* col_ind, int64_t count, const T* x,
                                                    int64_t stride, T* to) {
  int64_t k = 0;
  for (; k + width<T> <= count; k += width<T>) store(to + k, load(values + k) * gather(x, col_ind + k, stride));
  for (; k < count; ++k) to[k] = values[k] * x[col_ind[k] * stride];
}

/// to[0 .. count) = values * x[col_ind * stride], element by element.
template <class T, class I>
void multiply_entries(const T* values, const I* col_ind, int64_t count, const T* x, int64_t stride, T* to) {
  // A multiplication for each index takes as long as all the rest.
  stride == 1 ? multiply_strided(values, col_ind, count, x, 1, to)
              : multiply_strided(values, col_ind, count, x, stride, to);
}

/// The sum of a row's products, one in each lane: lane i has those of entries i, i + width, ...
template <class T>
[[gnu::always_inline]] inline vec<T> sum_products(const T* products, int64_t count) {
  vec<T> sum{};
  for (; count > width<T>; count -= width<T>, products += width<T>) sum += load(products);
  return sum + load(products, part<T>(count));
}

/// The same for a row of any length, from its entries.
template <class T, class I>
vec<T> sum_long_row(const T* values, const I* col_ind, int64_t count, const T* x, int64_t stride) {
  alignas(64) T products[num_products];
  vec<T> sum{};
  for (int64_t k = 0; k < count; k += num_products) {
    const int64_t some = least(num_products, count - k);
    multiply_entries(values + k, col_ind + k, some, x, stride, products);
    sum += sum_products(products, some);
  }
  return sum;
}

/// C[row .. row + rows of it] = alpha * sums + beta * C for one column, at most as many rows as a vector has lanes.
template <class T, class I>
[[gnu::always_inline]] inline void finish_column(const target<T, I>& out, vec<T> sums, int64_t row, int64_t rows) {
  if (out.row_stride == 1 && !out.row_of) {
    T* c = out.at(row, 0);
    const part<T> lanes(rows);
    vec<T> result = out.alpha * sums;
    if (out.beta != T{0}) result = multiply_add(out.beta, load(c, lanes), result);
    store(c, result, lanes);
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    T& c = *out.at(row + i, 0);
    const T sum = out.alpha * sums[i];
    c = out.beta != T{0} ? multiply_add(out.beta, c, sum) : sum;
  }
}

/// C[first .. end) for m_block = 1 and N = 1. A variable number of entries in a row costs a mispredicted branch a row
/// where each row is a loop of its own, and one vector in 4 to 16 is full.
template <class T, class I>
void share_of_vector(const job<T, I>& work, int64_t first, int64_t end) {
  const I* row_ptr = work.a.brow_ptr;
  const I* col_ind = work.a.col_ind;
  const T* values = work.a.values;
  alignas(64) T products[num_products];
  while (first < end) {
    const int64_t entry = row_ptr[first];
    int64_t last = first + 1;
    while (last < end && last - first < num_products / 8 && row_ptr[last + 1] - entry <= num_products) ++last;
    const int64_t count = row_ptr[last] - entry;
    if (count > num_products) {  // then it is one row
      vec<T> sums[width<T>] = {sum_long_row(values + entry, col_ind + entry, count, work.b, work.ldb)};
      finish_column(work.out, sums_of_lanes<T>(sums), first, 1);
      first = last;
      continue;
    }
    multiply_entries(values + entry, col_ind + entry, count, work.b, work.ldb, products);
    int64_t row = first;
    for (; row + width<T> <= last; row += width<T>) {
      vec<T> sums[width<T>];
      int64_t from = row_ptr[row];
#pragma GCC unroll 16
      for (int i = 0; i < width<T>; ++i) {
        const int64_t to = row_ptr[row + i + 1];
        sums[i] = sum_products(products + (from - entry), to - from);
        from = to;
      }
      finish_column(work.out, sums_of_lanes<T>(sums), row, width<T>);
    }
    if (row < last) {
      vec<T> sums[width<T>] = {};
      for (int64_t i = row; i < last; ++i) {
        sums[i - row] = sum_products(products + (row_ptr[i] - entry), row_ptr[i + 1] - row_ptr[i]);
      }
      finish_column(work.out, sums_of_lanes<T>(sums), row, last - row);
    }
    first = last;
  }
}

// --- columns: the tile of C in L1 -----------------------------------------------------------------------------------

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

// --- passes: as many vectors at a time as the registers hold --------------------------------------------------------

/// The widest pass whose accumulators, a slice of B and the values of a column fit the registers. A single row takes
/// half of them: what is added to it comes straight from memory, and a second pass would read A and pages of B again.
constexpr int widest_pass(int rows) {
  if (rows == 1) return num_registers / 2;
  const int fit = (num_registers - rows - 1) / rows;
  return fit > max_pass ? max_pass : fit < 1 ? 1 : fit;
}

template <int Vectors, int Bytes>
struct pass_width {
  static constexpr int vectors = Vectors, bytes = Bytes;
};
template <bool Part>
struct pass_edge {
  static constexpr bool part = Part;
};

/// Calls body(pass_width<vectors, their bytes>, pass_edge<whether the last vector is a part>): as few vectors as hold
/// the columns, and a single one no wider than need be. With 64-bit indices I, where memory is what takes time, a last
/// vector that is whole is done as a part, too: half as many passes to compile.
template <int Most, class T, class I, int Bytes = vector_bytes, class Body>
[[gnu::always_inline]] inline void with_pass(int64_t columns, const Body& body) {
  if constexpr (Most > 1) {
    if (columns <= (Most - 1) * width<T>) return with_pass<Most - 1, T, I>(columns, body);
  } else if constexpr (Bytes > min_bytes) {
    if (columns <= width<T, Bytes / 2>) return with_pass<1, T, I, Bytes / 2>(columns, body);
  }
  if constexpr (sizeof(I) == 4) {
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

/// A share of a tile: the row blocks [block, end), the columns [from, to) of a contiguous C, for m_block = 1.
template <class T, class I>
void share_of_contiguous(const job<T, I>& work, int64_t block, int64_t end, int64_t from, int64_t to) {
  constexpr int most = widest_pass(1);
  const pass_list<most, T> passes(from, to);
  const int64_t step = passes.count == 1 ? end - block : 1;
  for (; block < end; block += step) {
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<most, T, I>(columns, [&](auto pass, auto edge) {
        work.far
            ? rows_of_contiguous<pass.vectors, pass.bytes, edge.part, true>(work, block, block + step, column, columns)
            : rows_of_contiguous<pass.vectors, pass.bytes, edge.part, false>(work, block, block + step, column,
                                                                             columns);
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
        with_pass<max_pass, T, I>(columns, [&](auto pass, auto edge) {
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
  const pass_list<most, T> passes(from, to);
  const bool contiguous = Rows > 1 && work.out.col_stride == 1;
  // A contiguous C is written as it comes; of a strided one some rows are gathered, to fill its cache lines.
  const int64_t step = !contiguous ? group_rows / Rows : passes.count == 1 ? end - block : 1;
  for (; block < end; block += step) {
    const int64_t group_end = least(block + step, end);
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<most, T, I>(columns, [&](auto pass, auto edge) {
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

// --- shares: who does what ------------------------------------------------------------------------------------------

/// What is left of a thread's pieces, in a cache line of its own.
struct alignas(64) piece_queue {
  int64_t next, end;
};

/// Calls run(piece) for 0 <= piece < pieces. Each thread has its own pieces, neighbours all, so that what it used in
/// the last product is still in its cache; who is done helps the others, for a thread that has to share its core would
/// keep all waiting.
template <class Run>
void run_pieces(int64_t pieces, int64_t threads, const Run& run) {
  if (threads == 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) run(piece);
    return;
  }
  constexpr int64_t max_queues = 128;
  piece_queue queues[max_queues];
  const int64_t num_queues = least(threads, max_queues);
  for (int64_t q = 0; q < num_queues; ++q) queues[q] = {pieces * q / num_queues, pieces * (q + 1) / num_queues};
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
#if defined(_OPENMP)
    const int64_t thread = omp_get_thread_num();
#else
    const int64_t thread = 0;
#endif
    for (int64_t i = 0; i < num_queues; ++i) {
      piece_queue& queue = queues[(thread + i) % num_queues];
      while (true) {
        const int64_t piece = __atomic_fetch_add(&queue.next, 1, __ATOMIC_RELAXED);
        if (piece >= queue.end) break;
        run(piece);
      }
    }
  }
}

/// Cuts C into tiles of at most n_tile columns and all their row blocks into pieces of equal work, some for each
/// thread, and calls share(first block, end, first column, end) for each part of a piece.
template <class T, class I, class Share>
void for_each_share(const job<T, I>& work, int64_t n_tile, int max_threads, const Share& share) {
  const int64_t num_tiles = ceil_div(work.n, n_tile);
  const int64_t tile_columns = ceil_div(ceil_div(work.n, num_tiles), 16) * 16;
  const int64_t tile_work = work.work_before(work.a.num_row_blocks), total = tile_work * num_tiles;
  const int64_t updates = tile_work * (work.n + 3);
  const int64_t threads = least(max_threads > 1 ? max_threads : 1, 1 + updates / work_of_a_thread);
  const int64_t pieces =
      threads == 1 ? 1 : threads * least(pieces_of_a_thread, 1 + updates / threads / work_of_a_piece);

  run_pieces(pieces, threads, [&](int64_t piece) {
    const auto start_of = [&](int64_t p) { return total / pieces * p + total % pieces * p / pieces; };
    const int64_t begin = start_of(piece), end = start_of(piece + 1);
    for (int64_t tile = begin / tile_work; tile * tile_work < end; ++tile) {
      const int64_t from = tile * tile_columns, to = least(from + tile_columns, work.n);
      const int64_t first = work.block_at(begin - tile * tile_work), last = work.block_at(end - tile * tile_work);
      if (from < to && first < last) share(first, last, from, to);
    }
    if (work.out.streamed) fence_streams();
  });
}

/// C = beta * C, of so many rows: what is left when alpha = 0.
template <class T, class I>
void scale(const job<T, I>& work, int64_t rows, int max_threads) {
  const target<T, I>& out = work.out;
  const bool by_rows = out.col_stride <= out.row_stride;
  const int64_t lines = by_rows ? rows : work.n, length = by_rows ? work.n : rows;
  const int64_t line_stride = by_rows ? out.row_stride : out.col_stride;
  const int64_t stride = by_rows ? out.col_stride : out.row_stride;
  [[maybe_unused]] const int threads = static_cast<int>(least(max_threads > 1 ? max_threads : 1, lines));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t line = 0; line < lines; ++line) {
    T* c = out.c + line * line_stride;
    if constexpr (narrow_number<T>) {
      for (int64_t i = 0; i < length; ++i) {
        const float former = out.beta != 0 ? widen_one(c + i * stride) : 0;
        store_narrow<16>(c + i * stride, 1, vec<float, 16>{out.beta * former}, 1);
      }
    } else {
      for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta != T{0} ? out.beta * c[i * stride] : T{0};
    }
  }
}

// --- fp16, bf16: rows in fp32 registers, or a tile in L1 for other heights ----------------------------------------

/// `wide` gets into C: the first `count` of neighbouring columns from C[row, column] on.
template <int Bytes, class T, class I>
[[gnu::always_inline]] inline void finish_narrow(const target<T, I>& out, int64_t row, int64_t column,
                                                 vec<float, Bytes> wide, int64_t count) {
  T* c = out.at(row, column);
  const bool whole = count >= width<float, Bytes> && out.col_stride == 1;
  vec<float, Bytes> result = out.alpha * wide;
  if (out.beta != 0) {
    vec<float, Bytes> former{};
    if (whole) {
      former = load_wide<Bytes>(c);
    } else {
      for (int i = 0; i < width<float, Bytes>; ++i) {
        if (i < count) former[i] = widen_one(c + i * out.col_stride);
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
void run_narrow(const job<T, I>& work, int64_t n_tile, int threads) {
  if (work.a.m_block != 1) {
    const int64_t columns = least(n_tile, 64);
    const int64_t m_tile = scratch_bytes / static_cast<int64_t>(sizeof(float)) / columns;
    for_each_share(work, columns, threads, [&](int64_t first, int64_t last, int64_t from, int64_t to) {
      narrow_tiles(work, m_tile, first, last, from, to);
    });
    return;
  }
  for_each_share(work, n_tile, threads, [&](int64_t first, int64_t last, int64_t from, int64_t to) {
    const pass_list<max_pass, float> passes(from, to);
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<max_pass, float, I>(columns, [&](auto pass, auto edge) {
        narrow_rows<pass.vectors, pass.bytes, edge.part>(work, first, last, column, columns);
      });
    });
  });
}

// --- scatter: the transpose of A as it is stored --------------------------------------------------------------------

/// Non-empty columns [column, end) of a row block, whose non-zeros begin at `entry`.
struct column_range {
  int64_t column, end, entry;
};

/// The first non-empty column of [from, to) that is `wanted` or beyond; in a row block they ascend.
template <class I>
int64_t first_column(const I* col_ind, int64_t from, int64_t to, int64_t wanted) {
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    if (col_ind[middle] < wanted) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

/// Those columns of a row block that are rows [first, end) of C.
template <class T, class I>
column_range columns_between(const bcsc_operand<T, I>& a, int64_t block, int64_t first, int64_t end) {
  const int64_t from = a.brow_ptr[block], to = a.brow_ptr[block + 1];
  int64_t entry = a.entry_ptr[block];
  if (first == 0 && end == a.cols) return {from, to, entry};
  const int64_t begin = first_column(a.col_ind, from, to, first);
  if (a.col_count.bytes == 0) {
    entry += begin - from;
  } else {
    for (int64_t column = from; column < begin; ++column) entry += small_at(a.col_count, column) + 1;
  }
  return {begin, first_column(a.col_ind, begin, to, end), entry};
}

/// The row of B that belongs to a stored row of A.
template <class T, class I>
[[gnu::always_inline]] inline int64_t row_of_b(const bcsc_operand<T, I>& a, int64_t row) {
  return a.row_of ? static_cast<int64_t>(a.row_of[row]) : row;
}

/// C[columns of the range, pass] += alpha * A[block, range]' * B[rows of the block, pass], rows of C contiguous.
template <int Vectors, int Bytes, bool Part, class T, class I>
void pass_of_scatter(const job<T, I>& work, int64_t block, const column_range& range, int64_t first_col,
                     part<T, Bytes> edge) {
  const bcsc_operand<T, I>& a = work.a;
  const int64_t block_row = work.row_of_block(block);
  const T alpha = work.out.alpha;
  const T* const b = work.b + first_col;
  T* const c = work.out.c + first_col;
  const auto read = [&](const T* from, vec<T, Bytes>(&to)[Vectors]) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = from + v * width<T, Bytes>;
      to[v] = Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at);
    }
  };
  const auto write = [&](T * to, const vec<T, Bytes>(&from)[Vectors]) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      T* at = to + v * width<T, Bytes>;
      if (Part && v == Vectors - 1) {
        store(at, from[v], edge);
      } else {
        store(at, from[v]);
      }
    }
  };
  const bool single = a.row_in_block.bytes == 0;  // then a row of B stays in registers
  vec<T, Bytes> b_part[Vectors] = {};
  if (single) read(b + row_of_b(a, block_row) * work.ldb, b_part);
  int64_t k = range.entry;
  for (int64_t column = range.column; column < range.end; ++column) {
    if (work.far) {
      const int64_t ahead = least(column + near_distance, range.end - 1);
      const T* row = c + static_cast<int64_t>(a.col_ind[ahead]) * work.out.row_stride;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>, 1);
    }
    T* const c_row = c + static_cast<int64_t>(a.col_ind[column]) * work.out.row_stride;
    vec<T, Bytes> sum[Vectors];
    read(c_row, sum);
    for (const int64_t last = k + small_at(a.col_count, column) + 1; k < last; ++k) {
      if (!single) read(b + row_of_b(a, block_row + small_at(a.row_in_block, k)) * work.ldb, b_part);
      const T value = alpha * a.values[k];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) sum[v] = multiply_add(value, b_part[v], sum[v]);
    }
    write(c_row, sum);
  }
}

/// The same for a single column of C, which may lie in any strides.
template <class T, class I>
void column_of_scatter(const job<T, I>& work, int64_t block, const column_range& range, int64_t col) {
  const bcsc_operand<T, I>& a = work.a;
  const int64_t block_row = work.row_of_block(block);
  const T* const b = work.b + col;
  T* const c = work.out.c + col * work.out.col_stride;
  int64_t k = range.entry;
  for (int64_t column = range.column; column < range.end; ++column) {
    T& at = c[static_cast<int64_t>(a.col_ind[column]) * work.out.row_stride];
    T sum = at;
    for (const int64_t last = k + small_at(a.col_count, column) + 1; k < last; ++k) {
      const int64_t row = row_of_b(a, block_row + small_at(a.row_in_block, k));
      sum = multiply_add(work.out.alpha * a.values[k], b[row * work.ldb], sum);
    }
    at = sum;
  }
}

/// A share of C: rows [first, end), columns [from, to).
template <class T, class I>
void share_of_scatter(const job<T, I>& work, int64_t first, int64_t end, int64_t from, int64_t to) {
  const target<T, I>& out = work.out;
  const bool by_rows = out.col_stride <= out.row_stride;
  const int64_t lines = by_rows ? end - first : to - from, length = by_rows ? to - from : end - first;
  const int64_t stride = by_rows ? out.col_stride : out.row_stride;
  for (int64_t line = 0; out.beta != T{1} && line < lines; ++line) {
    T* const c = by_rows ? out.at(first + line, from) : out.at(first, from + line);
    for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta != T{0} ? out.beta * c[i * stride] : T{0};
  }
  const bool contiguous = out.col_stride == 1 && to - from > 1;
  const pass_list<max_pass, T> passes(from, to);
  for (int64_t block = 0; block < work.a.num_row_blocks; ++block) {
    const column_range range = columns_between(work.a, block, first, end);
    if (range.column == range.end) continue;
    if (!contiguous) {
      for (int64_t col = from; col < to; ++col) column_of_scatter(work, block, range, col);
      continue;
    }
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<max_pass, T, I>(columns, [&](auto pass, auto edge) {
        const part<T, pass.bytes> lanes(columns - (pass.vectors - 1) * width<T, pass.bytes>);
        pass_of_scatter<pass.vectors, pass.bytes, edge.part>(work, block, range, column, lanes);
      });
    });
  }
}

/// Each share reads of A what reaches it: columns of C are parted first, for that needs no search, down to whole cache
/// lines of fp32; then its rows, evenly, for how many entries each of them gets nobody has counted.
template <class T, class I>
void run_scatter(const job<T, I>& work, int64_t n_tile, int max_threads) {
  const int64_t rows = work.a.cols;
  const int64_t updates = (work.a.entry_ptr[work.a.num_row_blocks] + rows) * (work.n + 3);
  const int64_t threads = least(max_threads > 1 ? max_threads : 1, 1 + updates / work_of_a_thread);
  const int64_t by_cache = ceil_div(work.n, n_tile), by_threads = least(threads, ceil_div(work.n, 16));
  const int64_t slab_columns = ceil_div(ceil_div(work.n, by_cache > by_threads ? by_cache : by_threads), 16) * 16;
  const int64_t slabs = ceil_div(work.n, slab_columns);
  const int64_t ranges = least(ceil_div(threads, slabs), rows);
  run_pieces(slabs * ranges, threads, [&](int64_t piece) {
    const int64_t range = piece / slabs, from = piece % slabs * slab_columns;
    share_of_scatter(work, rows * range / ranges, rows * (range + 1) / ranges, from,
                     least(from + slab_columns, work.n));
  });
}

// --- The rows of the tables -----------------------------------------------------------------------------------------

template <class T, class I>
void run_columns(const job<T, I>& work, int64_t m_tile, int64_t n_tile, int threads) {
  for_each_share(work, n_tile, threads, [&](int64_t first, int64_t last, int64_t from, int64_t to) {
    share_in_scratch(work, m_tile, first, last, from, to);
  });
}

/// rows and blocks; a matrix of another m_block goes the way of columns, in tiles of a width that leaves room for rows.
template <int Rows, class T, class I>
void run_registers(const job<T, I>& work, int64_t n_tile, int threads) {
  if (work.a.m_block != Rows) {
    const int64_t columns = least(n_tile, 64);
    run_columns(work, scratch_bytes / static_cast<int64_t>(sizeof(T)) / columns, columns, threads);
    return;
  }
  for_each_share(work, n_tile, threads, [&](int64_t first, int64_t last, int64_t from, int64_t to) {
    if constexpr (Rows == 1) {
      if (work.n == 1) return share_of_vector(work, first, last);
      if (work.out.col_stride == 1) return share_of_contiguous(work, first, last, from, to);
    }
    share_in_registers<Rows>(work, first, last, from, to);
  });
}

template <value_type Type>
struct type_of {
  using type = float;
};
template <>
struct type_of<value_type::fp64> {
  using type = double;
};
template <>
struct type_of<value_type::fp16> {
  using type = half;
};
template <>
struct type_of<value_type::bf16> {
  using type = bfloat16;
};
template <int Bits>
struct index_of {
  using type = std::int32_t;
};
template <>
struct index_of<64> {
  using type = std::int64_t;
};

/// A launch_fn for Algorithm::configs[Index].
template <class Algorithm, std::size_t Index>
int launch(const void* args, const launch_env& env) {
  constexpr auto config = Algorithm::configs[Index];
  using T = typename type_of<config.type>::type;
  using I = typename index_of<config.index_bits>::type;
  job<T, I> work(*static_cast<const spmm_args<T, I>*>(args));
  constexpr bool scatters = __is_same(Algorithm, tables::cpu_scatter);
  if constexpr (scatters) work.out.row_of = nullptr;  // of a row of A it says the row of B
  if (work.out.alpha == 0) {
    scale(work, scatters ? work.a.cols : work.a.rows, env.threads);
  } else if constexpr (scatters) {
    run_scatter(work, config.n_tile, env.threads);
  } else if constexpr (narrow_number<T>) {
    run_narrow(work, config.n_tile, env.threads);
  } else if constexpr (__is_same(Algorithm, tables::cpu_columns)) {
    run_columns(work, config.m_tile, config.n_tile, env.threads);
  } else {
    run_registers<config.m_tile>(work, config.n_tile, env.threads);
  }
  return 0;
}

template <class Algorithm, class = decltype(std::make_index_sequence<Algorithm::configs.size()>{})>
struct launchers;
template <class Algorithm, std::size_t... Indices>
struct launchers<Algorithm, std::index_sequence<Indices...>> {
  static constexpr launch_fn of_config[] = {&launch<Algorithm, Indices>...};
};

}  // namespace

launch_fn launcher(tables::cpu_rows, std::size_t config) { return launchers<tables::cpu_rows>::of_config[config]; }
launch_fn launcher(tables::cpu_blocks, std::size_t config) { return launchers<tables::cpu_blocks>::of_config[config]; }
launch_fn launcher(tables::cpu_columns, std::size_t config) {
  return launchers<tables::cpu_columns>::of_config[config];
}
launch_fn launcher(tables::cpu_scatter, std::size_t config) {
  return launchers<tables::cpu_scatter>::of_config[config];
}

}  // namespace bcsc::kernels::cpu::BCSC_ISA
