#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "core/dynamic_shared.cuh"
#include "core/launch.cuh"
#include "core/posted.cuh"
#include "kernels/vector/column_steps.hpp"
#include "kernels/vector/passes.cuh"
#include "kernels/vector/vector_ops.hpp"

// An iteration of conjugate gradients behind its product, in one kernel: launches and what small kernels wait for were
// most of the time of small systems.
//
// - Thread blocks of 512 threads, at most one a multiprocessor, all resident (core::start_together). Each has a chunk
//   of rows; a thread keeps its column and walks down the rows of its chunk, so that no element of x, r, p or q is
//   touched by two threads, and nothing but sums passes between blocks.
// - p.q; x += alpha p and r -= alpha q; p = z + beta p: two rounds of sums between them. Each block posts its
//   sums of a column and adds up those of all blocks in one order, so all of them find the same bits and each takes the
//   columns' steps for itself; the first block writes the scalars down.
// - No barrier, no fence, no atomic: a sum is posted as two words of 8 bytes, each half of it and the number of the
//   round, and who reads a word knows by it whether it is there. A round is as long as a store and a load take; a
//   barrier would be an atomic and a fence longer, and the sums would be read behind it. The number of the last round
//   is in memory, since a graph's launches all have the same arguments.
// - The first rows of a thread, 12 of fp32 or 6 of fp64, stay in registers from phase to phase (4 reads, 3 writes an
//   element); the others are read again (7 reads, 3 writes), each phase beginning where the one before has ended, whose
//   lines are still in L2. x waits for the last phase, which has p as well.
// - Where the product has left parts of p.q behind, these are added up instead: 5 reads of the others, 3 writes.
// - Of two iterations whose steps x takes at once (directions), the first leaves x alone, 4 reads and 2 writes, and the
//   second reads both directions, 6 and 3, likewise.
namespace bcsc::kernels::vector {

constexpr int advance_warps = advance_threads / 32;
static_assert(max_advance_cols <= advance_warps);

/// A column's sums of one thread block, in a round.
struct posted_sums {
  core::two_words first, second;
};

/// What the thread blocks leave for each other, in the memory behind the partial sums of other operations.
struct advance_posts {
  std::uint64_t* round;      ///< the last one
  posted_sums* of_step;      ///< [k x blocks] p.q; the second sum is not used
  posted_sums* of_residual;  ///< [k x blocks] r.r and r.z
};

struct two_sums {
  double first = 0, second = 0;

  __device__ void add(const two_sums& other) {
    first += other.first;
    second += other.second;
  }
};

/// A column's scalars in one thread's hands.
struct own_column {
  double rr, rz, alpha, alpha_before, beta, limit, pp, min_curvature, max_curvature;
  column_state state;
  std::int32_t taken;

  __device__ void read(const column_scalars& from, std::int64_t j) {
    rr = from.rr[j];
    rz = from.rz[j];
    alpha = from.alpha[j];
    beta = from.beta[j];
    limit = from.limit[j];
    state = from.state[j];
    pp = from.pp != nullptr ? from.pp[j] : 0;
    min_curvature = from.min_curvature != nullptr ? from.min_curvature[j] : 0;
    max_curvature = from.max_curvature != nullptr ? from.max_curvature[j] : 0;
    taken = from.taken != nullptr ? from.taken[j] : 0;
  }
  /// As column 0 of itself; without the log.
  __device__ column_scalars scalars() {
    column_scalars s{&rr, &rz, &alpha, &beta, &limit, &state};
    s.alpha_before = &alpha_before;
    s.pp = &pp;
    s.min_curvature = &min_curvature;
    s.max_curvature = &max_curvature;
    s.taken = &taken;
    return s;
  }
  __device__ void write(const column_scalars& to, std::int64_t j) const {
    to.rr[j] = rr;
    to.rz[j] = rz;
    to.alpha[j] = alpha;
    to.beta[j] = beta;
    to.state[j] = state;
    if (to.alpha_before != nullptr) to.alpha_before[j] = alpha_before;
    if (to.pp != nullptr) to.pp[j] = pp;
    if (to.min_curvature != nullptr) to.min_curvature[j] = min_curvature;
    if (to.max_curvature != nullptr) to.max_curvature[j] = max_curvature;
    if (to.taken != nullptr) to.taken[j] = taken;
  }
};

/// In shared memory.
struct advance_shared {
  own_column columns[max_advance_cols];  ///< column j is that of the first lane of warp j
  double staged[2][advance_threads];
  double of_warps[2][2][advance_warps];  ///< [of the block, of the grid][first, second]
  double alpha[max_advance_cols], alpha_before[max_advance_cols], beta[max_advance_cols];
  bool turns[max_advance_cols];  ///< the column goes on, in a new direction
};

__device__ inline core::two_words sealed(double sum, std::uint32_t round) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(sum));
  return {bits << 32 | round, (bits >> 32) << 32 | round};
}
__device__ inline bool is_of(const core::two_words& words, std::uint32_t round) {
  return static_cast<std::uint32_t>(words.first) == round && static_cast<std::uint32_t>(words.second) == round;
}
__device__ inline double opened(const core::two_words& words) {
  return __longlong_as_double(static_cast<long long>(words.first >> 32 | (words.second >> 32) << 32));
}

/// For sums the threads form a group for each column, whole warps of equal number; some may be left over.
struct column_groups {
  unsigned k, size;

  __device__ explicit column_groups(unsigned num_cols) : k(num_cols), size(advance_threads) {
    while (size > advance_threads / k) size /= 2;
  }
  __device__ unsigned column() const { return threadIdx.x / size; }
  __device__ unsigned member() const { return threadIdx.x % size; }
};

/// Of the warp's first `Lanes`, a power of two; the first lane gets it.
template <unsigned Lanes>
__device__ two_sums add_lanes(two_sums mine) {
#pragma unroll
  for (unsigned distance = Lanes / 2; distance > 0; distance /= 2) {
    const double first = __shfl_down_sync(0xffffffffu, mine.first, distance);
    const double second = __shfl_down_sync(0xffffffffu, mine.second, distance);
    mine.add({first, second});
  }
  return mine;
}

/// Adds up what the threads of each column's group have; the first lane of warp j < k gets column j's.
__device__ inline two_sums add_groups(const column_groups& groups, double (*of_warps)[advance_warps],
                                      const two_sums& mine) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = groups.size / 32;
  const two_sums of_warp = add_lanes<32>(mine);
  if (lane == 0) {
    of_warps[0][warp] = of_warp.first;
    of_warps[1][warp] = of_warp.second;
  }
  __syncthreads();
  if (warp >= groups.k) return {};
  two_sums sums;
  if (lane < warps) sums = {of_warps[0][warp * warps + lane], of_warps[1][warp * warps + lane]};
  return add_lanes<advance_warps>(sums);
}

/// The sums of thread blocks member, member + size, ... as they come in, `AtOnce` looked at together.
template <unsigned AtOnce>
__device__ inline two_sums gather(const column_groups& groups, const posted_sums* of_column, std::uint32_t round) {
  two_sums sum;
  for (unsigned first = groups.member(); first < gridDim.x; first += AtOnce * groups.size) {
    posted_sums seen[AtOnce];
    while (true) {
      bool complete = true;
#pragma unroll
      for (unsigned u = 0; u < AtOnce; ++u) {
        const unsigned block = first + u * groups.size;
        if (block >= gridDim.x) break;
        seen[u] = {core::look_at(&of_column[block].first), core::look_at(&of_column[block].second)};
      }
#pragma unroll
      for (unsigned u = 0; u < AtOnce; ++u) {
        if (first + u * groups.size >= gridDim.x) break;
        complete = complete && is_of(seen[u].first, round) && is_of(seen[u].second, round);
      }
      if (complete) break;
      core::look_again();
    }
#pragma unroll
    for (unsigned u = 0; u < AtOnce; ++u) {
      if (first + u * groups.size >= gridDim.x) break;
      sum.add({opened(seen[u].first), opened(seen[u].second)});
    }
  }
  return sum;
}

/// Adds up the sums of all threads of the grid, `mine` being of column threadIdx.x % k; the first lane of warp j < k
/// gets column j's.
template <unsigned AtOnce>
__device__ two_sums add_all(advance_shared& shared, const column_groups& groups, posted_sums* posts,
                            std::uint32_t round, const two_sums& mine) {
  const unsigned t = threadIdx.x, k = groups.k;
  shared.staged[0][t] = mine.first;
  shared.staged[1][t] = mine.second;
  __syncthreads();
  two_sums sums;
  if (groups.column() < k) {
    for (unsigned at = groups.member() * k + groups.column(); at < advance_threads / k * k; at += groups.size * k) {
      sums.add({shared.staged[0][at], shared.staged[1][at]});
    }
  }
  sums = add_groups(groups, shared.of_warps[0], sums);
  if (t % 32 == 0 && t / 32 < k) {
    posted_sums& to = posts[t / 32 * gridDim.x + blockIdx.x];
    core::post(&to.first, sealed(sums.first, round));
    core::post(&to.second, sealed(sums.second, round));
  }
  sums = {};
  if (groups.column() < k) sums = gather<AtOnce>(groups, posts + groups.column() * gridDim.x, round);
  return add_groups(groups, shared.of_warps[1], sums);
}

/// Where a thread finds its rows: its n-th lies n * step rows and n * step * k elements behind the pointers.
template <class T>
struct own_rows {
  const T *q, *inverse_diagonal;
  T *x, *r;
  directions<T> way;
  unsigned step, stride, count;

  __device__ T weight(unsigned n) const { return weight_of(inverse_diagonal, n * step); }
};

/// Runs write(n, read(n)) for a thread's rows n from first on, `AtOnce` of them read before the first is written.
template <unsigned AtOnce, bool Backwards, class Read, class Write>
__device__ void stream_rows(unsigned first, unsigned count, const Read& read, const Write& write) {
  if (first >= count) return;
  const unsigned behind = first + (count - 1 - first) / AtOnce * AtOnce;
#pragma unroll 1
  for (unsigned done = 0; first + done <= behind; done += AtOnce) {
    const unsigned n = Backwards ? behind - done : first + done;
    decltype(read(n)) row[AtOnce];
#pragma unroll
    for (unsigned u = 0; u < AtOnce; ++u) {
      if (n + u < count) row[u] = read(n + u);
    }
#pragma unroll
    for (unsigned u = 0; u < AtOnce; ++u) {
      if (n + u < count) write(n + u, row[u]);
    }
  }
}

/// This thread's part of what the product has left of p.q in column threadIdx.x % k.
__device__ inline double add_partial_dots(const partial_dots& pq, unsigned k) {
  const unsigned step = advance_threads / k;
  const std::int64_t height = (pq.rows + gridDim.x - 1) / gridDim.x, first = blockIdx.x * height;
  const std::int64_t last = min(first + height, pq.rows);
  double sum = 0;
  if (threadIdx.x >= step * k) return sum;  // some threads may be left over
#pragma unroll 8
  for (std::int64_t i = first + threadIdx.x / k; i < last; i += step) sum += pq.sums[i * k + threadIdx.x % k];
  return sum;
}

/// `Kept`: the rows of a thread that stay in registers; with `Streams` it may have more, and x may take two steps at
/// once or none. k is 1 to max_advance_cols, and a block has fewer than 2^31 elements: no device's memory holds five
/// vectors of more for each multiprocessor.
template <class T, unsigned Kept, bool Streams>
__global__ void __launch_bounds__(advance_threads)
    advance_kernel(shape s, const T* q, const T* inverse_diagonal, T* x, T* r, directions<T> way, advance_posts posts,
                   partial_dots pq, column_scalars scalars) {
  constexpr unsigned looked_at = 2;  // no more than there are registers for
  const unsigned t = threadIdx.x, k = static_cast<unsigned>(s.k), j = t % k;
  const column_groups groups(k);
  const unsigned own = t / 32;  // the column whose scalars are this thread's
  const bool owns = t % 32 == 0 && own < k;
  auto& shared = *core::dynamic_shared<advance_shared>();
  auto rows = [&] {
    const unsigned step = advance_threads / k;
    const std::int64_t height = advance_height(s.n, gridDim.x), first = blockIdx.x * height + t / k;
    const std::int64_t last = t / k < step ? min((blockIdx.x + 1) * height, s.n) : 0;  // some threads may be left over
    const auto count = first < last ? static_cast<unsigned>(last - first + step - 1) / step : 0u;
    const std::int64_t at = first * k + j;
    const auto moved = [](auto* pointer, std::int64_t by) { return pointer != nullptr ? pointer + by : nullptr; };
    return own_rows<T>{q + at,
                       moved(inverse_diagonal, first),
                       moved(x, at),
                       r + at,
                       {way.p + at, way.next + at, moved(way.before, at)},
                       step,
                       step * k,
                       count};
  }();
  if constexpr (!Streams) rows.way = directions<T>(rows.way.next);  // in place, by one pointer instead of three
  overlap_neighbours();

  // Runs visit(n, offset of the element) for the rows in registers.
  const auto for_kept = [&](const auto& visit) {
#pragma unroll
    for (unsigned n = 0; n < Kept; ++n) {
      if (n >= rows.count) break;
      visit(n, n * rows.stride);
    }
  };
  T p_kept[Kept], q_kept[Kept], r_kept[Kept], weight[Kept], x_kept[Kept];
  for_kept([&](unsigned n, unsigned at) {
    p_kept[n] = rows.way.p[at];
    q_kept[n] = rows.q[at];
  });
  const auto round = static_cast<std::uint32_t>(*posts.round + 1);
  if (owns) shared.columns[own].read(scalars, own);

  two_sums sums;  // p.q
  const auto add_step = [&](T along, T product) {
    sums.first += static_cast<double>(along) * static_cast<double>(product);
  };
  if (pq.rows > 0) {
    sums.first = add_partial_dots(pq, k);
  } else {
    for_kept([&](unsigned n, unsigned) { add_step(p_kept[n], q_kept[n]); });
    if constexpr (Streams) {
      struct row {
        T p, q;
      };
      stream_rows<8, false>(
          Kept, rows.count,
          [&](unsigned n) {
            return row{rows.way.p[n * rows.stride], rows.q[n * rows.stride]};
          },
          [&](unsigned, const row& old) { add_step(old.p, old.q); });
    }
  }
  for_kept([&](unsigned n, unsigned at) {  // arrives while the sums do
    r_kept[n] = rows.r[at];
    weight[n] = rows.weight(n);
  });
  sums = add_all<looked_at>(shared, groups, posts.of_step, round, sums);
  if (owns) {
    own_column column = shared.columns[own];
    choose_step(column.scalars(), 0, sums.first);
    shared.alpha[own] = column.alpha;
    shared.alpha_before[own] = column.alpha_before;
    shared.columns[own] = column;
  }
  __syncthreads();

  const double alpha = shared.alpha[j];
  sums = {};         // r.r and r.z
  if (alpha != 0) {  // the sums of a column that does not step are not looked at
    const auto shorten = [&](unsigned at, T old, T product, T by) {
      const T left = static_cast<T>(static_cast<double>(old) - alpha * static_cast<double>(product));
      rows.r[at] = left;
      const double square = static_cast<double>(left) * static_cast<double>(left);
      sums.add({square, square * static_cast<double>(by)});
      return left;
    };
    for_kept([&](unsigned n, unsigned at) { r_kept[n] = shorten(at, r_kept[n], q_kept[n], weight[n]); });
    if constexpr (Streams) {
      struct row {
        T r, q, weight;
      };
      stream_rows<4, true>(
          Kept, rows.count,
          [&](unsigned n) {
            return row{rows.r[n * rows.stride], rows.q[n * rows.stride], rows.weight(n)};
          },
          [&](unsigned n, const row& old) { shorten(n * rows.stride, old.r, old.q, old.weight); });
    }
  }
  if (!Streams || x != nullptr) {  // arrives while the sums do
    for_kept([&](unsigned n, unsigned at) { x_kept[n] = rows.x[at]; });
  }
  sums = add_all<looked_at>(shared, groups, posts.of_residual, round, sums);
  if (owns) {
    own_column column = shared.columns[own];
    judge_step(column.scalars(), 0, sums.first, sums.second);
    shared.beta[own] = column.beta;
    shared.turns[own] = column.state == column_state::active;
    shared.columns[own] = column;
  }
  __syncthreads();

  const double beta = shared.beta[j];
  const bool turns = shared.turns[j];
  // Takes `Steps` steps of x: none, the one along p, or the one before it as well.
  const auto go_and_turn = [&]<int Steps>(std::integral_constant<int, Steps>) {
    const double alpha_before = Steps == 2 ? shared.alpha_before[j] : 0;
    if (alpha == 0 && alpha_before == 0 && rows.way.next == rows.way.p) return;
    struct row {
      T x, before, p, r, weight;
    };
    const auto write = [&](unsigned at, const row& old) {
      // L2 keeps p and r instead of x.
      if (Steps > 0) __stcs(&rows.x[at], step_along(step_along(old.x, alpha_before, old.before), alpha, old.p));
      const double z = static_cast<double>(old.weight) * static_cast<double>(old.r);
      const auto turned = static_cast<T>(beta != 0 ? z + beta * static_cast<double>(old.p) : z);
      rows.way.next[at] = turns ? turned : old.p;
    };
    for_kept([&](unsigned n, unsigned at) {
      const T before = Steps == 2 ? rows.way.before[at] : T{0};
      write(at, {x_kept[n], before, p_kept[n], r_kept[n], weight[n]});
    });
    if constexpr (Streams) {
      stream_rows<6, false>(
          Kept, rows.count,
          [&](unsigned n) {
            const unsigned at = n * rows.stride;
            return row{Steps > 0 ? rows.x[at] : T{0}, Steps == 2 ? rows.way.before[at] : T{0}, rows.way.p[at],
                       rows.r[at], rows.weight(n)};
          },
          [&](unsigned n, const row& old) { write(n * rows.stride, old); });
    }
  };
  if constexpr (!Streams) {
    go_and_turn(std::integral_constant<int, 1>{});
  } else if (x == nullptr) {
    go_and_turn(std::integral_constant<int, 0>{});
  } else if (way.before == nullptr) {
    go_and_turn(std::integral_constant<int, 1>{});
  } else {
    go_and_turn(std::integral_constant<int, 2>{});
  }

  // All blocks have read the scalars and the round's number: what they have posted since was made of them.
  if (blockIdx.x != 0) return;
  if (owns) {
    shared.columns[own].write(scalars, own);
    log_step(scalars, own);
  }
  if (t == 0) *posts.round = round;
}

/// Starts it on the multiprocessors that have rows for all threads of a block.
template <class T>
int advance_together(const launch_env& env, shape s, const T* q, const T* inverse_diagonal, T* x, T* r,
                     directions<T> way, double* partials, partial_dots pq, column_scalars scalars) {
  const std::int64_t blocks = num_advance_blocks(s, env.num_multiprocessors), step = advance_threads / s.k;
  double* const posted = partials + num_partials(s);
  auto* const sums = reinterpret_cast<posted_sums*>(posted + 2);
  const advance_posts posts{reinterpret_cast<std::uint64_t*>(posted), sums, sums + blocks * s.k};
  // Few registers where that is enough, so that the next product's blocks find room beside these.
  const bool in_place = x != nullptr && way.before == nullptr && way.next == way.p;
  const auto kernel = in_place && advance_height(s.n, blocks) <= 2 * step ? advance_kernel<T, 2, false>
                                                                          : advance_kernel<T, 48 / sizeof(T), true>;
  return core::start_together(core::begins::while_previous_ends, kernel, dim3(static_cast<unsigned>(blocks)),
                              dim3(advance_threads), sizeof(advance_shared), env.stream, s, q, inverse_diagonal, x, r,
                              way, posts, pq, scalars);
}

}  // namespace bcsc::kernels::vector
