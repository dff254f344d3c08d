#pragma once

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "kernels/cpu/isa/job.hpp"

/// Shares: which thread does what.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

/// What is left of a thread's pieces, in a cache line of its own.
struct alignas(64) piece_queue {
  int64_t next, end;
};

/// Calls run(piece) for 0 <= piece < pieces. Each thread has pieces of its own, all neighbours, so that what it used in
/// the last product is still in its cache; a finished thread helps the others, since one that has to share its core
/// would keep all waiting. `run` holds what it needs: each thread copies it at once. What it referred to on the
/// caller's stack would come from the caller's cache line by line, each found through the one before (0.4 us of a
/// product of 3).
template <class Run>
void run_pieces(int64_t pieces, int64_t threads, Run run) {
  if (threads == 1) {
    for (int64_t piece = 0; piece < pieces; ++piece) run(piece);
    return;
  }
  constexpr int64_t max_queues = 128;
  piece_queue queues[max_queues];
  const int64_t num_queues = least(threads, max_queues);
  for (int64_t q = 0; q < num_queues; ++q) queues[q] = {pieces * q / num_queues, pieces * (q + 1) / num_queues};
#pragma omp parallel num_threads(static_cast <int>(threads)) firstprivate(run)
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
/// thread, and calls share(a copy of work, first block, end, first column, end) for each part of a piece.
template <class T, class I, class Share>
void for_each_share(const job<T, I>& work, int64_t n_tile, int max_threads, const Share& share) {
  const int64_t num_tiles = ceil_div(work.n, n_tile);
  const int64_t tile_columns = ceil_div(ceil_div(work.n, num_tiles), 16) * 16;
  const int64_t tile_work = work.work_before(work.a.num_row_blocks), total = tile_work * num_tiles;
  const int64_t updates = tile_work * (work.n + 3);
  const int64_t threads = least(max_threads > 1 ? max_threads : 1, 1 + updates / work_of_a_thread);
  const int64_t pieces =
      threads == 1 ? 1 : threads * least(pieces_of_a_thread, 1 + updates / threads / work_of_a_piece);

  run_pieces(pieces, threads, [=](int64_t piece) {
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

/// C = beta * C, of so many rows: what is left when alpha = 0.
template <class T, class I>
void scale(const target<T, I>& out, int64_t rows, int64_t n, int max_threads) {
  const bool by_rows = out.col_stride <= out.row_stride;
  const int64_t lines = by_rows ? rows : n, length = by_rows ? n : rows;
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

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
