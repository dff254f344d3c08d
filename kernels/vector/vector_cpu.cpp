#include <cmath>
#include <cstddef>
#include <type_traits>

#include "core/by_all.hpp"
#include "kernels/vector/column_steps.hpp"
#include "kernels/vector/vector_ops.hpp"

// A thread owns whole chunks of rows and walks each row by row, all k columns of a row at once (they are neighbours in
// memory, so the inner loop vectorises). Sums run down the rows of a chunk, then over the chunks: an order that neither
// the threads nor the number of columns can change. Every pass reads and writes each operand once.

namespace bcsc::kernels::vector {

namespace {

/// An element of a block that lies in the caches.
constexpr double seconds_of_an_element = 0.4e-9;

/// Calls visit(chunk, first_row, last_row) for every chunk of rows, on the environment's threads.
template <class Visit>
void for_each_chunk(const launch_env& env, shape s, const Visit& visit) {
  const std::int64_t chunks = num_chunks(s.n);
  const std::int64_t height = (s.n + chunks - 1) / chunks;
  const double seconds = seconds_of_an_element * static_cast<double>(s.n) * static_cast<double>(s.k);
  core::for_each(core::team_for(seconds, env.who), chunks, [&](std::int64_t chunk) {
    visit(chunk, std::min(chunk * height, s.n), std::min((chunk + 1) * height, s.n));
  });
}

/// Calls visit(integral_constant): the number of columns if it is one the compiler should know, else 0. With few
/// columns the running sums then live in registers.
template <class Visit>
void with_width(std::int64_t k, const Visit& visit) {
  switch (k) {
    case 1:
      return visit(std::integral_constant<int, 1>{});
    case 2:
      return visit(std::integral_constant<int, 2>{});
    case 4:
      return visit(std::integral_constant<int, 4>{});
    case 8:
      return visit(std::integral_constant<int, 8>{});
    default:
      return visit(std::integral_constant<int, 0>{});
  }
}

/// The rows first .. last of a chunk, element by element: visit(i, j, sums), where sums[0][j] and sums[1][j] are the
/// column's running sums. They end in partials[0 .. k) and partials[k .. 2k) of the chunk.
template <int Width, class Visit>
void sum_chunk(std::int64_t first, std::int64_t last, std::int64_t width, double* partials, const Visit& visit) {
  const std::int64_t k = Width > 0 ? Width : width;
  double few[2 * (Width > 0 ? Width : 1)];
  double* sums = Width > 0 ? few : partials;
  std::fill_n(sums, 2 * k, 0.0);
  for (std::int64_t i = first; i < last; ++i) {
#pragma omp simd
    for (std::int64_t j = 0; j < k; ++j) visit(i, j, sums[j], sums[k + j]);
  }
  if (Width > 0) std::copy_n(few, 2 * k, partials);
}

/// Runs visit over every element and calls finish(j, sum 0, sum 1) for every column at the end.
template <class Visit, class Finish>
void reduce(const launch_env& env, shape s, double* partials, const Visit& visit, const Finish& finish) {
  if (s.k == 0) return;
  with_width(s.k, [&](auto width) {
    for_each_chunk(env, s, [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
      sum_chunk<width.value>(first, last, s.k, partials + chunk * 2 * s.k, visit);
    });
  });
  for (std::int64_t chunk = 1; chunk < num_chunks(s.n); ++chunk) {
    const double* part = partials + chunk * 2 * s.k;
#pragma omp simd
    for (std::int64_t j = 0; j < 2 * s.k; ++j) partials[j] += part[j];
  }
  for (std::int64_t j = 0; j < s.k; ++j) finish(j, partials[j], partials[s.k + j]);
}

template <class T>
int pack(const launch_env& env, shape s, const T* from, std::int64_t row_stride, std::int64_t col_stride, T* to) {
  for_each_chunk(env, s, [=](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < s.k; ++j) to[i * s.k + j] = from[i * row_stride + j * col_stride];
    }
  });
  return 0;
}

template <class T>
int unpack(const launch_env& env, shape s, const T* from, T* to, std::int64_t row_stride, std::int64_t col_stride) {
  for_each_chunk(env, s, [=](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < s.k; ++j) to[i * row_stride + j * col_stride] = from[i * s.k + j];
    }
  });
  return 0;
}

template <class T>
int dot(const launch_env& env, shape s, const T* u, const T* v, double* partials, double* result) {
  reduce(
      env, s, partials,
      [=](std::int64_t i, std::int64_t j, double& sum, double&) {
        const std::int64_t at = i * s.k + j;
        sum += static_cast<double>(u[at]) * static_cast<double>(v[at]);
      },
      [=](std::int64_t j, double sum, double) { result[j] = sum; });
  return 0;
}

template <class T>
int abs_sum(const launch_env& env, shape s, const T* u, double* partials, double* result) {
  reduce(
      env, s, partials,
      [=](std::int64_t i, std::int64_t j, double& sum, double&) {
        sum += std::abs(static_cast<double>(u[i * s.k + j]));
      },
      [=](std::int64_t j, double sum, double) { result[j] = sum; });
  return 0;
}

template <class T>
int residual(const launch_env& env, shape s, const T* b, const T* q, const T* inverse_diagonal, T* r, double* partials,
             column_scalars scalars) {
  reduce(
      env, s, partials,
      [=](std::int64_t i, std::int64_t j, double& rr, double& rz) {
        const std::int64_t at = i * s.k + j;
        const T left = q != nullptr ? static_cast<T>(static_cast<double>(b[at]) - static_cast<double>(q[at])) : b[at];
        r[at] = left;
        const double square = static_cast<double>(left) * static_cast<double>(left);
        rr += square;
        rz += inverse_diagonal != nullptr ? square * static_cast<double>(inverse_diagonal[i]) : square;
      },
      [=](std::int64_t j, double rr, double rz) { restart_column(scalars, j, rr, rz); });
  return 0;
}

template <class T>
int direction(const launch_env& env, shape s, const T* r, const T* inverse_diagonal, T* x, directions<T> way,
              column_scalars scalars) {
  const T *const p = way.p, *const before = x != nullptr ? way.before : nullptr;
  const auto take = [=](std::int64_t i, const double* alpha, const T* along) {
#pragma omp simd
    for (std::int64_t j = 0; j < s.k; ++j) {
      const std::int64_t at = i * s.k + j;
      const T moved = static_cast<T>(static_cast<double>(x[at]) + alpha[j] * static_cast<double>(along[at]));
      x[at] = alpha[j] != 0 ? moved : x[at];
    }
  };
  for_each_chunk(env, s, [=](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const double weight = inverse_diagonal != nullptr ? static_cast<double>(inverse_diagonal[i]) : 1.0;
      if (before != nullptr) take(i, scalars.alpha_before, before);
      if (x != nullptr) take(i, scalars.alpha, p);
#pragma omp simd
      for (std::int64_t j = 0; j < s.k; ++j) {
        const std::int64_t at = i * s.k + j;
        const double z = weight * static_cast<double>(r[at]);
        const T along = static_cast<T>(z + scalars.beta[j] * static_cast<double>(p[at]));
        const T turned = scalars.beta[j] != 0 ? along : static_cast<T>(z);
        way.next[at] = scalars.state[j] == column_state::active ? turned : p[at];
      }
    }
  });
  return 0;
}

template <class T>
int step_length(const launch_env& env, shape s, const T* p, const T* q, double* partials, partial_dots,
                column_scalars scalars) {
  reduce(
      env, s, partials,
      [=](std::int64_t i, std::int64_t j, double& pq, double&) {
        const std::int64_t at = i * s.k + j;
        pq += static_cast<double>(p[at]) * static_cast<double>(q[at]);
      },
      [=](std::int64_t j, double pq, double) { choose_step(scalars, j, pq); });
  return 0;
}

template <class T>
int step(const launch_env& env, shape s, const T* p, const T* q, const T* inverse_diagonal, T* x, T* r,
         double* partials, column_scalars scalars) {
  reduce(
      env, s, partials,
      [=](std::int64_t i, std::int64_t j, double& rr, double& rz) {
        const std::int64_t at = i * s.k + j;
        const double alpha = scalars.alpha[j];
        // Selected, not multiplied by zero: a resting column may hold -0, NaN or Inf and keeps it.
        if (x != nullptr) {
          const T new_x = static_cast<T>(static_cast<double>(x[at]) + alpha * static_cast<double>(p[at]));
          x[at] = alpha != 0 ? new_x : x[at];
        }
        const T new_r = static_cast<T>(static_cast<double>(r[at]) - alpha * static_cast<double>(q[at]));
        const T left = alpha != 0 ? new_r : r[at];
        r[at] = left;
        const double square = static_cast<double>(left) * static_cast<double>(left);
        rr += square;
        rz += inverse_diagonal != nullptr ? square * static_cast<double>(inverse_diagonal[i]) : square;
      },
      [=](std::int64_t j, double rr, double rz) { judge_step(scalars, j, rr, rz); });
  return 0;
}

template <class T>
int turn(const launch_env& env, shape s, const T* r, const T* q, const T* z, const T* inverse_diagonal,
         double* partials, partial_dots, column_scalars scalars) {
  const T* const along = scalars.polak_ribiere ? q : nullptr;
  reduce(
      env, s, partials,
      [=](std::int64_t i, std::int64_t j, double& rz, double& qz) {
        const std::int64_t at = i * s.k + j;
        const double weight = inverse_diagonal != nullptr ? static_cast<double>(inverse_diagonal[i]) : 1.0;
        const auto left = static_cast<double>(r[at]);
        const double turned = z != nullptr ? static_cast<double>(z[at]) : weight * left;
        rz += left * turned;
        if (along != nullptr) qz += static_cast<double>(along[at]) * turned;
      },
      [=](std::int64_t j, double rz, double qz) { turn_column(scalars, j, rz, qz); });
  return 0;
}

template <class T>
int advance(const launch_env& env, shape s, const T* q, const T* inverse_diagonal, T* x, T* r, directions<T> way,
            double* partials, partial_dots pq, column_scalars scalars) {
  step_length(env, s, way.p, q, partials, pq, scalars);
  step<T>(env, s, way.p, q, inverse_diagonal, nullptr, r, partials, scalars);
  return direction(env, s, r, inverse_diagonal, x, way, scalars);
}

template <class T>
int clear_inactive(const launch_env& env, shape s, T* x, column_scalars scalars) {
  for_each_chunk(env, s, [=](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t j = 0; j < s.k; ++j) {
        if (scalars.state[j] != column_state::active) x[i * s.k + j] = T{0};
      }
    }
  });
  return 0;
}

}  // namespace

template <class T>
const operations<T>& on_cpu() {
  static constexpr operations<T> table{
      .pack = &pack<T>,
      .unpack = &unpack<T>,
      .dot = &dot<T>,
      .abs_sum = &abs_sum<T>,
      .residual = &residual<T>,
      .direction = &direction<T>,
      .step_length = &step_length<T>,
      .step = &step<T>,
      .turn = &turn<T>,
      .advance = &advance<T>,
      .clear_inactive = &clear_inactive<T>,
  };
  return table;
}

template const operations<float>& on_cpu<float>();
template const operations<double>& on_cpu<double>();

}  // namespace bcsc::kernels::vector
