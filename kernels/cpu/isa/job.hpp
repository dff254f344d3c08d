#pragma once

#include "core/team.hpp"
#include "kernels/cpu/isa/lanes.hpp"
#include "kernels/forms/compact/operand.hpp"
#include "kernels/tables/cpu.hpp"

/// What all products share: the job, how a sum reaches C, and prefetching rows of B. As in all files of this folder
/// names are local to the one file that includes them, so that the compiler may inline what has a single caller.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

using core::team;
using std::int64_t;

constexpr int max_pass = 8;     // vectors of a row of C that a pass covers at most; more of one row of a contiguous C
constexpr int group_rows = 16;  // rows of C done between two passes: their part of A stays in L1
constexpr int64_t scratch_bytes = tables::max_cpu_scratch_bytes;
constexpr int64_t stream_from = int64_t{24} << 20;  // bytes of C from which it would only displace B in the caches
constexpr int near_distance = 8;                    // non-empty columns between asking for a row of B and using it
constexpr int near_from = 4;                        // vectors of a pass below which asking costs more than it brings
constexpr int far_distance = 16;                    // the same where rows of B come from far away
constexpr int64_t far_from = int64_t{4} << 20;      // bytes of B from which they do, if they are met in no order
constexpr int64_t far_reached = int64_t{1} << 20;   // and the bytes of its rows that a thread reads: less stays in L2
constexpr int64_t near_bytes = int64_t{13} << 18;   // bytes of B per thread in a pass from which prefetching pays
constexpr int64_t work_of_a_piece = 128 * 1024;     // multiply-adds beside which taking a piece costs nothing
constexpr int64_t piece_of_a_column = 16 * 1024;    // the same for one column by many threads
constexpr int64_t many_threads = 8;                 // with two, small pieces cost a fiftieth
constexpr int64_t pieces_of_a_thread = 16;          // at most
constexpr int64_t least_pieces_to_share = 3;        // of a thread: of two, half the work would move to other caches

/// The widest pass whose accumulators, a slice of B and the values of a column fit the registers. A single row takes
/// half of them: what is added to it comes straight from memory, and a second pass would read A and pages of B again.
constexpr int widest_pass(int rows) {
  if (rows == 1) return num_registers / 2;
  const int fit = (num_registers - rows - 1) / rows;
  return fit > max_pass ? max_pass : fit < 1 ? 1 : fit;
}

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Which rows of B are prefetched: none, those needed soon, or those needed later, into L2 alone.
enum class prefetching { none, near, far };

/// How a sum gets into C.
template <class T, class I>
struct target {
  T* c;
  int64_t row_stride, col_stride;
  scalar_of<T> alpha, beta;
  int streamed;      ///< bytes of the widest vector that may be stored past the caches; 0: none
  const I* row_of;   ///< the row of C that a row of A is; null: the same
  int64_t z_offset;  ///< product_args::z_offset

  /// C[row of A's row `row`, column].
  T* at(int64_t row, int64_t column) const {
    return c + (row_of ? static_cast<int64_t>(row_of[row]) : row) * row_stride + column * col_stride;
  }
  /// What beta multiplies for an element of C.
  const T* addend_of(const T* element) const { return element + z_offset; }
};

template <class T, class I, class Args>
target<T, I> target_of(const Args& args, const I* row_of) {
  return {args.c,
          args.c_row_stride,
          args.c_col_stride,
          args.alpha_at ? *args.alpha_at : args.alpha,
          args.beta_at ? *args.beta_at : args.beta,
          0,
          row_of,
          args.z_offset};
}

/// The first of 0 .. count with at least `work` before it; before(i) never falls.
template <class Before>
int64_t first_with(int64_t count, int64_t work, const Before& before) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (before(middle) < work) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

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
  prefetching ahead;
  target<T, I> out;

  explicit job(const spmm_args<T, I>& args, const team& who = {})
      : a(args.a),
        b(args.b),
        ldb(args.ldb),
        n(args.n),
        ahead(prefetching_of(args, who)),
        out(target_of<T>(args, args.a.row_of)) {
    const int64_t value_bytes = sizeof(T);
    const bool reads_c = out.beta != 0 && out.z_offset == 0;
    if (reads_c || out.col_stride != 1 || a.rows * n * value_bytes < stream_from) return;
    const auto aligned_to = [&](int bytes) {
      return reinterpret_cast<std::uintptr_t>(out.c) % bytes == 0 && out.row_stride * value_bytes % bytes == 0;
    };
    for (int bytes = min_bytes; bytes <= vector_bytes && aligned_to(bytes); bytes *= 2) out.streamed = bytes;
  }

  /// Where a thread's share of B stays in its L2, prefetching costs up to a third of the time; beyond L2 it saves as
  /// much.
  static prefetching prefetching_of(const spmm_args<T, I>& args, const team& who) {
    const int64_t row_bytes = args.n * static_cast<int64_t>(sizeof(T));
    if (args.a.scattered && args.a.cols * row_bytes >= far_from) {
      // An almost empty A reads few rows of a large B.
      const int64_t reached = args.a.entry_ptr[args.a.num_row_blocks] / who.threads * row_bytes;
      return reached >= far_reached ? prefetching::far : prefetching::none;
    }
    const int64_t of_a_thread = args.a.cols * least(row_bytes, widest_pass(1) * vector_bytes) / who.threads;
    return of_a_thread >= near_bytes ? prefetching::near : prefetching::none;
  }
  /// Where a row block begins.
  int64_t row_of_block(int64_t block) const {
    return a.block_row ? static_cast<int64_t>(a.block_row[block]) : least(block * a.m_block, a.rows);
  }
  /// Non-zeros and columns in all blocks before `block`.
  int64_t read_before(int64_t block) const { return static_cast<int64_t>(a.entry_ptr[block]) + a.brow_ptr[block]; }
  /// Work in all blocks before `block`: what is read of them, and their rows, which are written.
  int64_t work_before(int64_t block) const { return read_before(block) + 2 * row_of_block(block); }
  /// The first block with at least `work` before it.
  int64_t block_at(int64_t work) const {
    return first_with(a.num_row_blocks, work, [&](int64_t block) { return work_before(block); });
  }
};

/// c[0 .. columns of the pass) = alpha * sum + beta * z, the row contiguous. A part that is `whole` goes past the
/// caches like the others.
template <bool Part, int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void finish_row(const target<T, I>& out, T* c, const vec<T, Bytes> (&sum)[Vectors],
                                              part<T, Bytes> edge, bool whole = false) {
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) {
    T* at = c + v * width<T, Bytes>;
    vec<T, Bytes> result = out.alpha * sum[v];
    const bool partial = Part && v == Vectors - 1 && !whole;
    if (out.beta != T{0}) {
      const T* z = out.addend_of(at);
      result = multiply_add(out.beta, partial ? load(z, edge) : load<Bytes>(z), result);
    }
    if (partial) {
      store(at, result, edge);
    } else if (out.streamed >= Bytes) {
      stream(at, result);
    } else {
      store(at, result);
    }
  }
}

/// Each vector of c[0 .. columns of the pass) = value.
template <bool Part, int Vectors, int Bytes, class T>
[[gnu::always_inline]] inline void fill_row(T* c, vec<T, Bytes> value, part<T, Bytes> edge, bool whole) {
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) {
    T* at = c + v * width<T, Bytes>;
    if (Part && v == Vectors - 1 && !whole) {
      store(at, value, edge);
    } else {
      store(at, value);
    }
  }
}

/// C[row + i, column + j] = alpha * tile[i * ld + j] + beta * Z[...] for any strides.
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
      c = out.beta != T{0} ? multiply_add(out.beta, *out.addend_of(&c), sum) : sum;
    }
  }
}

// --- Prefetching rows of B ------------------------------------------------------------------------------------------

/// What a pass reads of B once its own non-empty columns are done: those of the next pass over the same block, or of
/// the next block.
template <class T, class I>
struct successor {
  const I* col_ind;
  const T* b;  ///< at the next pass's first column
  const I* last_col_ind;
  prefetching ahead;
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
  if (next.ahead == prefetching::none) return;
  if (next.ahead == prefetching::far) {
    const T* row = row_ahead(far_distance);
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>, 0, 2);
  } else if constexpr (Vectors >= near_from) {
    const T* row = row_ahead(near_distance);
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>);
  }
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
