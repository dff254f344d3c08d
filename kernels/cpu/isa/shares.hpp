#pragma once

#include "core/by_all.hpp"
#include "kernels/cpu/isa/job.hpp"

/// Shares: which thread does what.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

/// What is left of a thread's pieces, in a cache line of its own: the first in the lower half, the end in the upper
/// one.
class alignas(64) piece_queue {
 public:
  void fill(int64_t first, int64_t end) {
    range_ = static_cast<std::uint64_t>(end) << 32 | static_cast<std::uint32_t>(first);
  }
  /// -1: there are none.
  int64_t take_first() {
    return take([](std::uint64_t range) { return range + 1; }, [](std::uint64_t range) { return range & last_half; });
  }
  int64_t take_last() {
    return take([](std::uint64_t range) { return range - (last_half + 1); },
                [](std::uint64_t range) { return (range >> 32) - 1; });
  }

 private:
  static constexpr std::uint64_t last_half = 0xffffffff;
  template <class Rest, class Piece>
  int64_t take(const Rest& rest, const Piece& piece) {
    std::uint64_t range = __atomic_load_n(&range_, __ATOMIC_RELAXED);
    while ((range & last_half) < range >> 32) {
      if (__atomic_compare_exchange_n(&range_, &range, rest(range), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        return static_cast<int64_t>(piece(range));
      }
    }
    return -1;
  }
  std::uint64_t range_;
};

/// A copy of `part` for the team to read, written only where it differs from the last one: the cores that read it last
/// still hold its cache lines, and to take them back costs the caller a tenth of a product of 8 us on 16 cores.
template <class Part>
const Part& kept(const Part& part) {
  alignas(64) static thread_local unsigned char bytes[512];
  static_assert(sizeof(Part) <= sizeof bytes);
  if (__builtin_memcmp(bytes, &part, sizeof part) != 0) __builtin_memcpy(bytes, &part, sizeof part);
  return *__builtin_launder(reinterpret_cast<const Part*>(bytes));
}

/// Calls run(piece) for 0 <= piece < pieces. Each thread has pieces of its own, all neighbours, so that what it used in
/// the last product is still in its cache. If it has several, a finished thread helps the others, since one that has to
/// share its core would keep all waiting: from their last piece on, so that they keep their first. `run` holds what it
/// needs: each thread copies it at once, and finds nothing through the caller's stack.
template <class Run>
void run_pieces(int64_t pieces, const team& who, const Run& run) {
  if (who.threads == 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) run(piece);
    return;
  }
  if (pieces <= who.threads || pieces > INT32_MAX) {
    const auto share = [=](int64_t thread, int64_t threads) {
      const Run own = run;
      for (int64_t piece = pieces * thread / threads; piece < pieces * (thread + 1) / threads; ++piece) own(piece);
    };
    core::by_all(who, kept(share));
    return;
  }
  constexpr int64_t max_queues = 128;
  const int64_t num_queues = least(who.threads, max_queues);
  piece_queue on_stack[max_queues];
  piece_queue* const queues = on_stack;
  for (int64_t q = 0; q < num_queues; ++q) queues[q].fill(pieces * q / num_queues, pieces * (q + 1) / num_queues);
  const auto share = [=](int64_t thread, int64_t) {
    const Run own = run;
    for (int64_t i = 0; i < num_queues; ++i) {
      piece_queue& queue = queues[(thread + i) % num_queues];
      const auto take = [&] { return i == 0 ? queue.take_first() : queue.take_last(); };
      for (int64_t piece = take(); piece >= 0; piece = take()) own(piece);
    }
  };
  core::by_all(who, kept(share));
}

/// Into how many pieces the work of n columns is cut, of `entries` and the columns they share: one for each thread, or
/// several if helping is worth it. Rows that are only written do not count: to write them takes a helper longer, since
/// they lie in another cache.
inline int64_t num_pieces(int64_t entries, int64_t n, int64_t threads) {
  if (threads == 1) return 1;
  // Of many threads one always lags behind. For one column a piece can move cheaply: no rows of B and C go with it.
  const int64_t of_a_piece = n == 1 && threads >= many_threads ? piece_of_a_column : work_of_a_piece;
  const int64_t of_a_thread = least(pieces_of_a_thread, 1 + entries * (n + 3) / threads / of_a_piece);
  return of_a_thread < least_pieces_to_share ? threads : threads * of_a_thread;
}

/// Cuts C into tiles of at most n_tile columns and all their row blocks into pieces of equal work, some for each
/// thread, and calls share(a copy of work, first block, end, first column, end) for each part of a piece.
template <class T, class I, class Share>
void for_each_share(const job<T, I>& work, int64_t n_tile, const team& who, const Share& share) {
  const int64_t num_tiles = ceil_div(work.n, n_tile);
  const int64_t tile_columns = ceil_div(ceil_div(work.n, num_tiles), 16) * 16;
  const int64_t tile_work = work.work_before(work.a.num_row_blocks), total = tile_work * num_tiles;
  const int64_t pieces = num_pieces(work.read_before(work.a.num_row_blocks), work.n, who.threads);
  run_pieces(pieces, who, [=](int64_t piece) {
    const auto start_of = [&](int64_t p) { return total / pieces * p + total % pieces * p / pieces; };
    const int64_t begin = start_of(piece), end = start_of(piece + 1);
    for (int64_t tile = begin / tile_work; tile * tile_work < end; ++tile) {
      const int64_t from = tile * tile_columns, to = least(from + tile_columns, work.n);
      const int64_t first = work.block_at(begin - tile * tile_work), last = work.block_at(end - tile * tile_work);
      if (from < to && first < last) share(work, first, last, from, to);
    }
    if (work.out.streamed) fence_streams();
  });
}

/// C = beta * Z, of so many rows: what is left when alpha = 0.
template <class T, class I>
void scale(const target<T, I>& out, int64_t rows, int64_t n, const team& who) {
  const bool by_rows = out.col_stride <= out.row_stride;
  const int64_t lines = by_rows ? rows : n, length = by_rows ? n : rows;
  const int64_t line_stride = by_rows ? out.row_stride : out.col_stride;
  const int64_t stride = by_rows ? out.col_stride : out.row_stride;
  core::for_each(who, lines, [&](int64_t line) {
    T* c = out.c + line * line_stride;
    const T* z = out.addend_of(c);
    if constexpr (narrow_number<T>) {
      for (int64_t i = 0; i < length; ++i) {
        const float former = out.beta != 0 ? widen_one(z + i * stride) : 0;
        store_narrow<16>(c + i * stride, 1, vec<float, 16>{out.beta * former}, 1);
      }
    } else {
      for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta != T{0} ? out.beta * z[i * stride] : T{0};
    }
  });
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
