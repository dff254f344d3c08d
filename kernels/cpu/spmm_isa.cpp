// The CPU's SpMM over BCSC. This file is compiled once for each instruction set (-DBCSC_ISA=<name>), all of it into
// that instruction set's namespace; nothing of the standard library's is called, for an inline function of theirs could
// be linked from the copy for a better machine.
//
// Who owns what   C is cut into tiles of n_tile columns, and the row blocks of each tile into shares of equal work (as
//                 many non-zeros), one share for each thread: whole entries of C, summed in the order of storage, so
//                 the result does not depend on the number of threads.
// rows, blocks    for 16 rows of C at a time, for each pass of as many vector registers as there are: the accumulators
//                 stay in registers while a block's non-zeros go by once; a row of B serves all m_tile rows of C.
// columns         the tile of C lies in a scratch in L1; for each non-empty column a slice of the row of B is loaded
//                 into registers and added to the tile's rows of all its non-zeros. Also takes every m_block that
//                 rows and blocks are not made for.
// Bytes moved     A once for each n_tile columns of C, C once (past the caches when it is large), B as often as it
//                 falls out of them.
// Preconditions   a valid BCSC operand, rows > 0, n > 0; any alignment and strides.

#include "kernels/cpu/lanes.hpp"

#include <utility>

#include "kernels/spmm_args.hpp"
#include "kernels/tables/cpu.hpp"

namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

using std::int64_t;

constexpr int max_pass = 8;     // vectors of a row of C that one pass covers at most
constexpr int group_rows = 16;  // rows of C done between two passes: their part of A stays in L1
constexpr int64_t scratch_bytes = tables::max_cpu_scratch_bytes;
constexpr int64_t stream_from = int64_t{24} << 20;  // bytes of C from which it would only displace B in the caches
constexpr int prefetch_distance = 8;                // non-empty columns between asking for a row of B and using it
constexpr int prefetch_from = 4;                    // vectors of a pass below which asking costs more than it brings
constexpr int64_t work_of_a_thread = 16 * 1024;     // multiply-adds below which another thread costs more than it does

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How a sum gets into C.
template <class T, class I>
struct target {
  T* c;
  int64_t row_stride, col_stride;
  T alpha, beta;
  bool streamed;
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
  target<T, I> out;

  explicit job(const spmm_args<T, I>& args)
      : a(args.a),
        b(args.b),
        ldb(args.ldb),
        n(args.n),
        out{args.c,
            args.c_row_stride,
            args.c_col_stride,
            args.alpha_at ? *args.alpha_at : args.alpha,
            args.beta_at ? *args.beta_at : args.beta,
            false,
            args.a.row_of} {
    const int64_t values_of_vector = width<T>;
    out.streamed = out.beta == T{0} && out.col_stride == 1 && out.row_stride % values_of_vector == 0 &&
                   reinterpret_cast<std::uintptr_t>(out.c) % vector_bytes == 0 &&
                   a.rows * n * static_cast<int64_t>(sizeof(T)) >= stream_from;
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

/// c[0 .. columns of the pass) = alpha * sum + beta * c, the row contiguous.
template <int Vectors, bool Part, class T, class I>
[[gnu::always_inline]] inline void finish_row(const target<T, I>& out, T* c, const vec<T> (&sum)[Vectors],
                                              part<T> edge) {
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    T* at = c + v * width<T>;
    vec<T> result = out.alpha * sum[v];
    const bool partial = Part && v == Vectors - 1;
    if (out.beta != T{0}) result += out.beta * (partial ? load(at, edge) : load(at));
    if (partial) {
      store(at, result, edge);
    } else if (out.streamed) {
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
        finish_row<1, false>(out, out.at(row + i, column) + v * width<T>, sum, edge);
      }
      if (rest != 0) {
        const vec<T> sum[1] = {load(tile + i * ld + whole * width<T>)};
        finish_row<1, true>(out, out.at(row + i, column) + whole * width<T>, sum, edge);
      }
    }
    return;
  }
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      T& c = *out.at(row + i, column + j);
      const T sum = out.alpha * tile[i * ld + j];
      c = out.beta != T{0} ? sum + out.beta * c : sum;
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
};

/// Prefetches the part of a row of B that is needed prefetch_distance columns after position k of `count`.
template <int Vectors, class T, class I>
[[gnu::always_inline]] inline void prefetch_ahead(const I* col_ind, int64_t k, int64_t count, const T* b, int64_t ldb,
                                                  const successor<T, I>& next) {
  if constexpr (Vectors >= prefetch_from) {
    const int64_t ahead = k + prefetch_distance;
    const I* index = ahead < count ? col_ind + ahead : next.col_ind + (ahead - count);
    const T* row = (ahead < count ? b : next.b) +
                   static_cast<int64_t>(*(index < next.last_col_ind ? index : next.last_col_ind)) * ldb;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T>);
  }
}

// --- rows: one row of C in registers --------------------------------------------------------------------------------

/// sum[:] = A[row, :] * B[:, pass], `b` at the pass's first column. Short rows of C take several non-zeros at once, so
/// that an addition need not wait for the one before.
template <int Vectors, bool Part, class T, class I>
[[gnu::always_inline]] inline void sum_row(const T* values, const I* col_ind, int64_t count, const T* b, int64_t ldb,
                                           const successor<T, I>& next, part<T> edge, vec<T> (&sum)[Vectors]) {
  constexpr int chains = Vectors >= 4 ? 1 : 4 / Vectors;
  vec<T> partial[chains][Vectors] = {};
  int64_t k = 0;
  for (; k + chains <= count; k += chains) {
    prefetch_ahead<Vectors>(col_ind, k, count, b, ldb, next);
#pragma GCC unroll 4
    for (int u = 0; u < chains; ++u) {
      const T* b_row = b + static_cast<int64_t>(col_ind[k + u]) * ldb;
      const T value = values[k + u];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) {
        const T* at = b_row + v * width<T>;
        partial[u][v] += value * (Part && v == Vectors - 1 ? load(at, edge) : load(at));
      }
    }
  }
  for (; k < count; ++k) {
    const T* b_row = b + static_cast<int64_t>(col_ind[k]) * ldb;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T>;
      partial[0][v] += values[k] * (Part && v == Vectors - 1 ? load(at, edge) : load(at));
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) {
    sum[v] = partial[0][v];
#pragma GCC unroll 4
    for (int u = 1; u < chains; ++u) sum[v] += partial[u][v];
  }
}

// --- blocks: m_tile rows of C in registers --------------------------------------------------------------------------

/// sum[r][:] = A[r-th row of the block, :] * B[:, pass] over the block's `count` non-empty columns from `column` on,
/// whose non-zeros begin at `entry`. A row block of 2 to 256 rows has indices of one byte.
template <int Rows, int Vectors, bool Part, class T, class I>
[[gnu::always_inline]] inline void sum_block(const bcsc_operand<T, I>& a, int64_t entry, int64_t column, int64_t count,
                                             const T* b, int64_t ldb, const successor<T, I>& next, part<T> edge,
                                             vec<T> (&sum)[Rows][Vectors]) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[r][v] = vec<T>{};
  }
  const I* col_ind = a.col_ind + column;
  const auto* lengths = static_cast<const std::uint8_t*>(a.col_count.data) + column;
  const auto* rows = static_cast<const std::uint8_t*>(a.row_in_block.data);
  T expanded[Rows];
  for (int64_t i = 0; i < count; ++i) {
    prefetch_ahead<Vectors>(col_ind, i, count, b, ldb, next);
    const T* b_row = b + static_cast<int64_t>(col_ind[i]) * ldb;
    const int64_t first = entry, last = entry + lengths[i] + 1;
    entry = last;
    const T* dense = a.values + first;
    if (last - first != Rows) {
      for (int r = 0; r < Rows; ++r) expanded[r] = T{0};
      for (int64_t k = first; k < last; ++k) expanded[rows[k]] = a.values[k];
      dense = expanded;
    }
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T>;
      const vec<T> b_part = Part && v == Vectors - 1 ? load(at, edge) : load(at);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sum[r][v] += dense[r] * b_part;
    }
  }
}

/// One pass over the blocks [block, end) of height Rows: `columns` columns of C from `column` on; after it comes the
/// pass at column `next_column`, over the same block if that lies further on.
template <int Rows, int Vectors, bool Part, class T, class I>
void pass_in_registers(const job<T, I>& work, int64_t block, int64_t end, int64_t column, int64_t columns,
                       int64_t next_column) {
  const bcsc_operand<T, I>& a = work.a;
  const part<T> edge(columns - (Vectors - 1) * width<T>);
  const bool contiguous = work.out.col_stride == 1;
  alignas(64) T tile[group_rows * Vectors * width<T>];
  const int64_t num_columns = a.brow_ptr[a.num_row_blocks];
  const I* last_col_ind = num_columns > 0 ? a.col_ind + (num_columns - 1) : a.col_ind;
  const int64_t first_row = work.row_of_block(block), end_row = work.row_of_block(end);
  for (; block < end; ++block) {
    const int64_t row = work.row_of_block(block), rows = work.row_of_block(block + 1) - row;
    const int64_t from = a.brow_ptr[block], to = a.brow_ptr[block + 1];
    const successor<T, I> next{a.col_ind + (next_column > column ? from : to), work.b + next_column, last_col_ind};
    vec<T> sum[Rows][Vectors];
    if constexpr (Rows == 1) {
      sum_row<Vectors, Part>(a.values + from, a.col_ind + from, to - from, work.b + column, work.ldb, next, edge,
                             sum[0]);
    } else {
      sum_block<Rows, Vectors, Part>(a, a.entry_ptr[block], from, to - from, work.b + column, work.ldb, next, edge,
                                     sum);
    }
    if (contiguous) {
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if (r < rows) finish_row<Vectors, Part>(work.out, work.out.at(row + r, column), sum[r], edge);
      }
    } else {
      // A lower row block's other sums are zeros, and lie where the next block's go, or beyond what is written out.
      T* to_tile = tile + (row - first_row) * Vectors * width<T>;
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) store(to_tile + (r * Vectors + v) * width<T>, sum[r][v]);
      }
    }
  }
  if (!contiguous) {
    finish_tile(work.out, tile, Vectors * width<T>, first_row, end_row - first_row, column, columns);
  }
}

// --- columns: the tile of C in L1 -----------------------------------------------------------------------------------

/// tile[:, pass] += A[rows of the block from `first_row` on, `rows` of them, :] * B[:, pass] for one row block, `tile`
/// and `b` at the pass's first column. Non-zeros of rows outside are skipped by one unsigned compare.
template <int Vectors, bool Part, class T, class I>
void pass_in_scratch(const bcsc_operand<T, I>& a, int64_t block, int64_t first_row, int64_t rows, const T* b,
                     int64_t ldb, part<T> edge, T* tile, int64_t ld) {
  const int64_t end = a.brow_ptr[block + 1];
  int64_t k = a.entry_ptr[block];
  for (int64_t column = a.brow_ptr[block]; column < end; ++column) {
    const T* b_row = b + static_cast<int64_t>(a.col_ind[column]) * ldb;
    vec<T> b_part[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      b_part[v] = Part && v == Vectors - 1 ? load(b_row + v * width<T>, edge) : load(b_row + v * width<T>);
    }
    for (const int64_t last = k + small_at(a.col_count, column) + 1; k < last; ++k) {
      const int64_t row = small_at(a.row_in_block, k) - first_row;
      if (static_cast<std::uint64_t>(row) >= static_cast<std::uint64_t>(rows)) continue;
      T* c = tile + row * ld;
      const T value = a.values[k];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) store(c + v * width<T>, load(c + v * width<T>) + value * b_part[v]);
    }
  }
}

// --- passes: as many vectors at a time as the registers hold --------------------------------------------------------

/// The widest pass whose accumulators, a slice of B and the values of a column fit the registers.
constexpr int widest_pass(int rows) {
  const int fit = (num_registers - rows - 1) / rows;
  return fit > max_pass ? max_pass : fit < 1 ? 1 : fit;
}

template <int Vectors>
struct pass_width {
  static constexpr int vectors = Vectors;
};
template <bool Part>
struct pass_edge {
  static constexpr bool part = Part;
};

/// Calls body(pass_width<ceil(columns / width)>, pass_edge<whether the last vector is a part>).
template <int Most, class T, class Body>
[[gnu::always_inline]] inline void with_pass(int64_t columns, const Body& body) {
  if constexpr (Most > 1) {
    if (columns <= (Most - 1) * width<T>) return with_pass<Most - 1, T>(columns, body);
  }
  if (columns % width<T> == 0) {
    body(pass_width<Most>{}, pass_edge<false>{});
  } else {
    body(pass_width<Most>{}, pass_edge<true>{});
  }
}

/// Splits columns [from, to) into passes of at most `Most` vectors, as even as may be, and calls body(column, columns).
template <int Most, class T, class Body>
[[gnu::always_inline]] inline void for_each_pass(int64_t from, int64_t to, const Body& body) {
  const int64_t vectors = ceil_div(to - from, width<T>);
  const int64_t step = ceil_div(vectors, ceil_div(vectors, Most)) * width<T>;
  for (int64_t column = from; column < to; column += step) body(column, least(step, to - column));
}

/// A share of a tile: the row blocks [block, end), the columns [from, to) of C.
template <int Rows, class T, class I>
void share_in_registers(const job<T, I>& work, int64_t block, int64_t end, int64_t from, int64_t to) {
  // A contiguous C is written as it comes; otherwise some rows are gathered, to fill its cache lines.
  const int64_t step = work.out.col_stride == 1 ? 1 : group_rows / Rows;
  constexpr int most = widest_pass(Rows);
  for (; block < end; block += step) {
    const int64_t group_end = least(block + step, end);
    for_each_pass<most, T>(from, to, [&](int64_t column, int64_t columns) {
      with_pass<most, T>(columns, [&](auto pass, auto edge) {
        const int64_t next = group_end - block > 1 ? column : column + columns < to ? column + columns : from;
        pass_in_registers<Rows, pass.vectors, edge.part>(work, block, group_end, column, columns, next);
      });
    });
  }
}

template <class T, class I>
void share_in_scratch(const job<T, I>& work, int64_t m_tile, int64_t block, int64_t end, int64_t from, int64_t to) {
  alignas(64) T tile[scratch_bytes / sizeof(T)];
  const bcsc_operand<T, I>& a = work.a;
  const int64_t ld = ceil_div(to - from, width<T>) * width<T>;
  for (; block < end; ++block) {
    const int64_t block_row = work.row_of_block(block), height = work.row_of_block(block + 1) - block_row;
    for (int64_t row = 0; row < height; row += m_tile) {
      const int64_t rows = least(m_tile, height - row);
      for (int64_t i = 0; i < rows * ld; i += width<T>) store(tile + i, vec<T>{});
      for_each_pass<max_pass, T>(from, to, [&](int64_t column, int64_t columns) {
        with_pass<max_pass, T>(columns, [&](auto pass, auto edge) {
          const part<T> lanes(columns - (pass.vectors - 1) * width<T>);
          pass_in_scratch<pass.vectors, edge.part>(a, block, row, rows, work.b + column, work.ldb, lanes,
                                                   tile + (column - from), ld);
        });
      });
      finish_tile(work.out, tile, ld, block_row + row, rows, from, to - from);
    }
  }
}

// --- shares: who does what ------------------------------------------------------------------------------------------

/// Cuts C into tiles of at most n_tile columns and all their row blocks into a share for each thread, and calls
/// share(first block, end, first column, end) for every piece.
template <class T, class I, class Share>
void for_each_share(const job<T, I>& work, int64_t n_tile, int max_threads, const Share& share) {
  const int64_t num_tiles = ceil_div(work.n, n_tile);
  const int64_t tile_columns = ceil_div(ceil_div(work.n, num_tiles), 16) * 16;
  const int64_t tile_work = work.work_before(work.a.num_row_blocks), total = tile_work * num_tiles;
  const int64_t threads = least(max_threads > 1 ? max_threads : 1, 1 + tile_work * (work.n + 3) / work_of_a_thread);

  const auto run_thread = [&](int64_t thread) {
    const auto start_of = [&](int64_t t) { return total / threads * t + total % threads * t / threads; };
    const int64_t begin = start_of(thread), end = start_of(thread + 1);
    for (int64_t tile = begin / tile_work; tile * tile_work < end; ++tile) {
      const int64_t from = tile * tile_columns, to = least(from + tile_columns, work.n);
      const int64_t first = work.block_at(begin - tile * tile_work), last = work.block_at(end - tile * tile_work);
      if (from < to && first < last) share(first, last, from, to);
    }
    if (work.out.streamed) fence_streams();
  };

  if (threads == 1) {
    run_thread(0);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(threads))
  for (int64_t thread = 0; thread < threads; ++thread) run_thread(thread);
}

/// C = beta * C: what is left when alpha = 0.
template <class T, class I>
void scale(const job<T, I>& work, int max_threads) {
  const target<T, I>& out = work.out;
  const bool by_rows = out.col_stride <= out.row_stride;
  const int64_t lines = by_rows ? work.a.rows : work.n, length = by_rows ? work.n : work.a.rows;
  const int64_t line_stride = by_rows ? out.row_stride : out.col_stride;
  const int64_t stride = by_rows ? out.col_stride : out.row_stride;
  [[maybe_unused]] const int threads = static_cast<int>(least(max_threads > 1 ? max_threads : 1, lines));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t line = 0; line < lines; ++line) {
    T* c = out.c + line * line_stride;
    for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta != T{0} ? out.beta * c[i * stride] : T{0};
  }
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
template <int Bits>
struct index_of {
  using type = std::int32_t;
};
template <>
struct index_of<64> {
  using type = std::int64_t;
};

/// A launch_fn for Algorithm::rows[Row].
template <class Algorithm, std::size_t Row>
int launch(const void* args, const launch_env& env) {
  constexpr auto row = Algorithm::rows[Row];
  using T = typename type_of<row.type>::type;
  using I = typename index_of<row.index_bits>::type;
  const job<T, I> work(*static_cast<const spmm_args<T, I>*>(args));
  if (work.out.alpha == T{0}) {
    scale(work, env.threads);
  } else if constexpr (__is_same(Algorithm, tables::cpu_columns)) {
    run_columns(work, row.m_tile, row.n_tile, env.threads);
  } else {
    run_registers<row.m_tile>(work, row.n_tile, env.threads);
  }
  return 0;
}

template <class Algorithm, class = decltype(std::make_index_sequence<Algorithm::rows.size()>{})>
struct launchers;
template <class Algorithm, std::size_t... Rows>
struct launchers<Algorithm, std::index_sequence<Rows...>> {
  static constexpr launch_fn of_row[] = {&launch<Algorithm, Rows>...};
};

}  // namespace

launch_fn launcher(tables::cpu_rows, std::size_t row) { return launchers<tables::cpu_rows>::of_row[row]; }
launch_fn launcher(tables::cpu_blocks, std::size_t row) { return launchers<tables::cpu_blocks>::of_row[row]; }
launch_fn launcher(tables::cpu_columns, std::size_t row) { return launchers<tables::cpu_columns>::of_row[row]; }

}  // namespace bcsc::kernels::cpu::BCSC_ISA
