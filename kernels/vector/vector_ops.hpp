#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/forms/product_args.hpp"

/// What solvers need beside SpMM, on multivectors: n x k, row-major, packed (leading dimension k). Column j is one
/// right-hand side with its own scalars, in `double` whatever T is: the squares of floats would overflow and lose
/// digits. Every element is computed in `double` and rounded to T once.
///
/// Reductions have two stages, partial sums of fixed chunks of rows and then their sum, both in a fixed order: a run
/// repeats bit for bit, and on the CPU the result depends neither on the number of threads nor on k.
namespace bcsc::kernels::vector {

/// Shape of a multivector; both may be zero.
struct shape {
  std::int64_t n = 0;  ///< rows
  std::int64_t k = 0;  ///< columns
};

/// What becomes of a column in the next step. Only active columns change; the others keep x, r and p bit for bit.
enum class column_state : std::int32_t {
  active = 0,
  resting,       ///< r.r is at most its limit
  not_positive,  ///< p.Ap <= 0
  not_finite,    ///< a scalar is NaN or Inf, or the step length has underflowed
};

/// The scalars of the columns, [k] each, where the context computes.
struct column_scalars {
  double* rr = nullptr;     ///< r.r
  double* rz = nullptr;     ///< r.z, z = D^-1 r (z = r without a preconditioner)
  double* alpha = nullptr;  ///< step length; 0 for a column that is not active
  double* beta = nullptr;   ///< share of the former direction; 0 after a restart
  double* limit = nullptr;  ///< a column rests once r.r <= limit
  column_state* state = nullptr;

  // Records for a host that checks only occasionally; all null: nothing is recorded.
  double* pp = nullptr;             ///< p.M p, M the preconditioner; with the next two
  double* min_curvature = nullptr;  ///< the least |p.Ap| / p.M p so far
  double* max_curvature = nullptr;  ///< the largest
  std::int32_t* taken = nullptr;    ///< iterations in which the column was active
  std::int32_t* logged = nullptr;   ///< iterations noted in the log, active or not
  double* log = nullptr;            ///< [log_rows x log_cols] r.r after each iteration, a ring
  std::int32_t log_rows = 0, log_cols = 0;

  bool turns_apart = false;    ///< z is no part of step(): rz and beta come from turn()
  bool polak_ribiere = false;  ///< beta = z.(r - r_old) / rz_old, at least 0; only with turns_apart
  bool steps_again = false;  ///< along the p of the last step, with rz = r.p: either way, and not at all is no failure
  double* alpha_before = nullptr;  ///< alpha before the last step_length(), for directions::before; null: not kept
};

/// Chunks that the rows are cut into for reductions on a CPU.
constexpr std::int64_t num_chunks(std::int64_t n) { return std::clamp<std::int64_t>((n + 63) / 64, 1, 1024); }

/// Threads of a thread block of the passes on a GPU: all columns, up to so many, by as many rows as are left.
constexpr std::int64_t pass_threads = 256;
constexpr std::int64_t most_short_chunks = 512;

/// Chunks of rows on a GPU, each a thread block's. Four rows a thread, between 16 and 64 rows in all; taller where that
/// would make more than most_short_chunks, or num_chunks(n) if that is more. Monotone in n, and k times it in k, so
/// that the partials of a smaller block fit in the workspace of a larger one.
constexpr std::int64_t num_gpu_chunks(shape s) {
  const std::int64_t rows = pass_threads / std::clamp<std::int64_t>(s.k, 1, pass_threads);
  const std::int64_t height = std::max(rows, std::clamp<std::int64_t>(4 * rows, 16, 64));
  return std::clamp<std::int64_t>((s.n + height - 1) / height, 1, std::max(num_chunks(s.n), most_short_chunks));
}

/// Doubles of workspace (`partials`) that an operation with a reduction needs.
constexpr std::int64_t num_partials(shape s) { return 2 * std::max(num_chunks(s.n), num_gpu_chunks(s)) * s.k; }

/// advance() on a GPU: with more columns it is the separate operations, for whose many elements launches are nothing.
constexpr std::int64_t max_advance_cols = 16;
/// Threads of each of its thread blocks, of which there are no more than multiprocessors.
constexpr int advance_threads = 512;
constexpr std::int64_t max_advance_blocks = 256;

/// Rows of each of so many of them, in whole cache lines.
constexpr std::int64_t advance_height(std::int64_t n, std::int64_t blocks) {
  return ((n + blocks - 1) / blocks + 31) / 32 * 32;
}

/// As many as have rows for all of their threads.
constexpr std::int64_t num_advance_blocks(shape s, std::int64_t num_multiprocessors) {
  const std::int64_t rows = advance_threads / s.k;
  return std::clamp<std::int64_t>(std::min((s.n + rows - 1) / rows, num_multiprocessors), 1, max_advance_blocks);
}

/// Of p.q, what the product q = A p has left behind on a GPU, or of r.z the preconditioner: `rows` rows [k], to be
/// added up. None: p.q or r.z is computed from the blocks.
struct partial_dots {
  const double* sums = nullptr;
  std::int64_t rows = 0;
};

/// The directions of an iteration. The steps of x of two iterations may be taken together, so that one of the two does
/// not touch x, for a second block of directions: the first is given no x, and the second gets its p as `before`.
template <class T>
struct directions {
  const T* p;
  T* next;  ///< p itself, or another block, to which columns that do not turn are then copied
  /// The direction along which x has still to go, by column_scalars::alpha_before; null: none. May alias `next`, and is
  /// ignored without x.
  const T* before;

  constexpr directions(T* in_place) : directions(in_place, in_place) {}  // NOLINT(google-explicit-constructor)
  constexpr directions(const T* now, T* to, const T* untaken = nullptr) : p(now), next(to), before(untaken) {}
};

/// Doubles of workspace that advance() needs: behind num_partials() of them a round's number in two, and four for the
/// sums of each of two rounds, thread block and column.
constexpr std::int64_t num_advance_partials(shape s) {
  if (s.k == 0 || s.k > max_advance_cols) return num_partials(s);
  return num_partials(s) + 2 + 8 * num_advance_blocks(s, max_advance_blocks) * s.k;
}

/// The operations of one backend. Pointers lie where it computes; `inverse_diagonal` is [n], or null for no
/// preconditioner. CUDA operations are asynchronous on env.stream. None allocates. Each returns a cudaError_t
/// (0: started); the CPU returns 0. env.threads 0 takes what OpenMP would take.
template <class T>
struct operations {
  /// to[i * k + j] = from[i * row_stride + j * col_stride].
  int (*pack)(const launch_env& env, shape s, const T* from, std::int64_t row_stride, std::int64_t col_stride, T* to);
  /// to[i * row_stride + j * col_stride] = from[i * k + j]; nothing else of `to` is touched.
  int (*unpack)(const launch_env& env, shape s, const T* from, T* to, std::int64_t row_stride, std::int64_t col_stride);

  /// result[j] = sum over i of u(i, j) * v(i, j).
  int (*dot)(const launch_env& env, shape s, const T* u, const T* v, double* partials, double* result);
  /// result[j] = sum over i of |u(i, j)|.
  int (*abs_sum)(const launch_env& env, shape s, const T* u, double* partials, double* result);

  /// r = b - q (r = b if q is null) in every column; rr, rz of it, alpha = beta = 0. States stay. b or q may be r.
  int (*residual)(const launch_env& env, shape s, const T* b, const T* q, const T* inverse_diagonal, T* r,
                  double* partials, column_scalars scalars);
  /// next = z + beta_j p in the active columns. With x, first x += alpha_j p in every column, for one may have come
  /// to rest in the step() that left x out; and before that the step along way.before.
  int (*direction)(const launch_env& env, shape s, const T* r, const T* inverse_diagonal, T* x, directions<T> way,
                   column_scalars scalars);
  /// alpha_j = rz_j / (p.q)_j in the active columns, 0 in the others; alpha_before what alpha was. A p.q <= 0 makes the
  /// column not_positive, one that is NaN or Inf not_finite. `pq`: of as many rows as s or fewer, or none.
  int (*step_length)(const launch_env& env, shape s, const T* p, const T* q, double* partials, partial_dots pq,
                     column_scalars scalars);
  /// x += alpha_j p, r -= alpha_j q in the active columns; rr, rz of the new r, beta_j = rz_new / rz_old; a column
  /// whose rr has come down to its limit rests, one whose rr or rz is NaN or Inf becomes not_finite. Without x, x is
  /// left to direction(), which reads p anyway.
  int (*step)(const launch_env& env, shape s, const T* p, const T* q, const T* inverse_diagonal, T* x, T* r,
              double* partials, column_scalars scalars);
  /// After a step with turns_apart, or a residual: rz = r.z with z as given, else D^-1 r or r, and beta from it. q is
  /// that of the step, and read for Polak-Ribiere's beta alone. After a residual beta stays 0. `rz`: of as many rows as
  /// s or fewer, or none; none for Polak-Ribiere's.
  int (*turn)(const launch_env& env, shape s, const T* r, const T* q, const T* z, const T* inverse_diagonal,
              double* partials, partial_dots rz, column_scalars scalars);
  /// An iteration behind its product q = A p, without turns_apart: step_length(), step() and direction(), with
  /// z = D^-1 r or r. Without x, x is left to the next iteration. On a GPU one kernel where k is small. `partials` is
  /// num_advance_partials() doubles that are zero before the first of a shape's calls; in between other operations may
  /// use it. `pq` as for step_length().
  int (*advance)(const launch_env& env, shape s, const T* q, const T* inverse_diagonal, T* x, T* r, directions<T> way,
                 double* partials, partial_dots pq, column_scalars scalars);
  /// x = 0 in every column that is not active.
  int (*clear_inactive)(const launch_env& env, shape s, T* x, column_scalars scalars);
};

/// For T = float and double.
template <class T>
const operations<T>& on_cpu();
/// For T = float and double; only in a build with CUDA. env.stream's device is current.
template <class T>
const operations<T>& on_cuda();

}  // namespace bcsc::kernels::vector
