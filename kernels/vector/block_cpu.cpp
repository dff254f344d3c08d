#include <algorithm>
#include <cstddef>

#include "core/by_all.hpp"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/vector_ops.hpp"

// A thread owns whole chunks of rows. Inner loops run along a row of Y or of a small matrix, which lie side by side.
// gram: the sums of a chunk are a small matrix of their own, to which four rows are added at once so that it is read
// and written a quarter as often; then the chunks' matrices are added in their order.

namespace bcsc::kernels::vector {

namespace {

constexpr double seconds_of_a_multiplication = 0.2e-9;

/// Calls visit(chunk, first_row, last_row) for `chunks` chunks of n rows; `work` is that of all rows.
template <class Visit>
void for_each_part(const launch_env& env, std::int64_t n, std::int64_t chunks, double work, const Visit& visit) {
  const std::int64_t height = (n + chunks - 1) / chunks;
  core::for_each(core::team_for(seconds_of_a_multiplication * work, env.who), chunks, [&](std::int64_t chunk) {
    visit(chunk, std::min(chunk * height, n), std::min((chunk + 1) * height, n));
  });
}

/// Calls visit(i) for every row of an n x k block, where a row takes `work` multiplications.
template <class Visit>
void for_each_row(const launch_env& env, std::int64_t n, double work, const Visit& visit) {
  for_each_part(env, n, num_chunks(n), static_cast<double>(n) * work,
                [&](std::int64_t, std::int64_t first, std::int64_t last) {
                  for (std::int64_t i = first; i < last; ++i) visit(i);
                });
}

/// sums[a * l + b] += the sum over Rows rows of x(i, a) * d(i) * y(i, b).
template <int Rows, class T>
void add_rows(const T* x, std::int64_t ldx, std::int64_t k, const T* d, const T* y, std::int64_t ldy, std::int64_t l,
              double* sums) {
  double share[Rows];
  for (int r = 0; r < Rows; ++r) share[r] = d != nullptr ? static_cast<double>(d[r]) : 1.0;
  for (std::int64_t a = 0; a < k; ++a) {
    double weight[Rows];
    for (int r = 0; r < Rows; ++r) weight[r] = share[r] * static_cast<double>(x[r * ldx + a]);
    double* const row = sums + a * l;
#pragma omp simd
    for (std::int64_t b = 0; b < l; ++b) {
      double sum = row[b];
      for (int r = 0; r < Rows; ++r) sum += weight[r] * static_cast<double>(y[r * ldy + b]);
      row[b] = sum;
    }
  }
}

/// sums = X' diag(d) Y over the rows [first, last).
template <class T>
void gram_of_rows(dense_view<const T> x, const T* d, dense_view<const T> y, std::int64_t first, std::int64_t last,
                  double* sums) {
  std::fill_n(sums, x.cols * y.cols, 0.0);
  const auto weights_from = [=](std::int64_t i) { return d != nullptr ? d + i : nullptr; };
  std::int64_t i = first;
  for (; i + 4 <= last; i += 4) {
    add_rows<4>(x.data + i * x.ld, x.ld, x.cols, weights_from(i), y.data + i * y.ld, y.ld, y.cols, sums);
  }
  for (; i < last; ++i) {
    add_rows<1>(x.data + i * x.ld, x.ld, x.cols, weights_from(i), y.data + i * y.ld, y.ld, y.cols, sums);
  }
}

/// g = the chunks' partial sums, in their order.
void add_chunks(std::int64_t chunks, std::int64_t entries, const double* partials, double* g) {
  std::copy_n(partials, entries, g);
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
    const double* const sums = partials + chunk * entries;
#pragma omp simd
    for (std::int64_t at = 0; at < entries; ++at) g[at] += sums[at];
  }
}

template <class T>
int gram(const launch_env& env, dense_view<const T> x, const T* d, dense_view<const T> y, double* partials, double* g) {
  const std::int64_t n = x.rows, entries = x.cols * y.cols;
  if (entries == 0) return 0;
  const std::int64_t chunks = num_gram_chunks(n, x.cols, y.cols);
  const double work = static_cast<double>(n) * static_cast<double>(entries);
  for_each_part(env, n, chunks, work, [=](std::int64_t chunk, std::int64_t first, std::int64_t last) {
    gram_of_rows(x, d, y, first, last, partials + chunk * entries);
  });
  add_chunks(chunks, entries, partials, g);
  return 0;
}

/// sums[b] += the sum over Terms rows of s, each times its weight.
template <int Terms, class T>
void add_terms(const T* weights, const double* s, std::int64_t l, std::int64_t count, double* sums) {
#pragma omp simd
  for (std::int64_t b = 0; b < count; ++b) {
    double sum = sums[b];
    for (int a = 0; a < Terms; ++a) sum += static_cast<double>(weights[a]) * s[a * l + b];
    sums[b] = sum;
  }
}

/// Sums of a row that are kept at once.
constexpr std::int64_t combined_width = 64;

/// sums[0 .. count) += row i of X times the columns of s from `first` on.
template <class T>
void add_row(dense_view<const T> x, std::int64_t i, const double* s, std::int64_t l, std::int64_t first,
             std::int64_t count, double* sums) {
  const T* const from = x.data + i * x.ld;
  std::int64_t a = 0;
  for (; a + 4 <= x.cols; a += 4) add_terms<4>(from + a, s + a * l + first, l, count, sums);
  for (; a < x.cols; ++a) add_terms<1>(from + a, s + a * l + first, l, count, sums);
}

/// The same times d[i], d null: 1, to sums that are 0.
template <class T>
void add_weighted_row(dense_view<const T> x, const T* d, std::int64_t i, const double* s, std::int64_t l,
                      std::int64_t first, std::int64_t count, double* sums) {
  add_row(x, i, s, l, first, count, sums);
  if (d == nullptr) return;
  for (std::int64_t b = 0; b < count; ++b) sums[b] *= static_cast<double>(d[i]);
}

template <class T>
int combine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, factor<T> beta,
            dense_view<T> y) {
  const std::int64_t l = y.cols;
  const double share = beta.is_zero() ? 0 : beta.get();
  for_each_row(env, y.rows, static_cast<double>(l) * static_cast<double>(x.cols + 1), [=](std::int64_t i) {
    for (std::int64_t first = 0; first < l; first += combined_width) {
      const std::int64_t count = std::min(combined_width, l - first);
      double sums[combined_width] = {};
      add_weighted_row(x, d, i, s, l, first, count, sums);
      T* const to = y.data + i * y.ld + first;
      for (std::int64_t b = 0; b < count; ++b) {
        const double more = share != 0 ? share * static_cast<double>(to[b]) : 0;
        to[b] = static_cast<T>(sums[b] + more);
      }
    }
  });
  return 0;
}

/// The rows of a chunk are measured while they are in a cache.
template <class T>
int recombine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
              const double* r, dense_view<T> y, const grams_of_result<T>& grams) {
  const std::int64_t n = y.rows, l = y.cols, num_grams = grams.e != nullptr ? 2 : 1;
  if (l == 0) return 0;
  const bool measures = grams.g != nullptr;
  const std::int64_t chunks = measures ? num_gram_chunks(n, l, l) : num_chunks(n);
  const double work = static_cast<double>(n) * static_cast<double>(l) *
                      static_cast<double>(x.cols + z.cols + (measures ? num_grams * l : 0));
  for_each_part(env, n, chunks, work, [=](std::int64_t chunk, std::int64_t from, std::int64_t end) {
    for (std::int64_t i = from; i < end; ++i) {
      for (std::int64_t first = 0; first < l; first += combined_width) {
        const std::int64_t count = std::min(combined_width, l - first);
        double sums[combined_width] = {};
        add_weighted_row(x, d, i, s, l, first, count, sums);
        add_row(z, i, r, l, first, count, sums);
        for (std::int64_t b = 0; b < count; ++b) y.data[i * y.ld + first + b] = static_cast<T>(sums[b]);
      }
    }
    if (!measures) return;
    double* const sums = grams.partials + chunk * num_grams * l * l;
    gram_of_rows<T>(y, grams.e, y, from, end, sums);
    if (grams.e != nullptr) gram_of_rows<T>(y, nullptr, y, from, end, sums + l * l);
  });
  if (measures) add_chunks(chunks, num_grams * l * l, grams.partials, grams.g);
  return 0;
}

/// d may be null: all ones.
template <class T, class Weight, class From>
int add_weighted(const launch_env& env, const Weight* d, factor<T> alpha, const sum_of<From>& of, factor<T> beta,
                 dense_view<T> y) {
  if (y.rows == 0 || y.cols == 0) return 0;
  const double a = alpha.get(), b = beta.get();
  for_each_row(env, y.rows, static_cast<double>(y.cols), [=](std::int64_t i) {
    const double weight = d != nullptr && a != 0 ? a * static_cast<double>(d[i]) : a;
    const From* const from = of.x.data + i * of.x.ld;
    T* const to = y.data + i * y.ld;
    if (of.gamma == 0) {
#pragma omp simd
      for (std::int64_t j = 0; j < y.cols; ++j) to[j] = weighted(weight, from[j], 0, From{0}, b, to[j]);
      return;
    }
    const From* const more = of.w.data + i * of.w.ld;
#pragma omp simd
    for (std::int64_t j = 0; j < y.cols; ++j) to[j] = weighted(weight, from[j], of.gamma, more[j], b, to[j]);
  });
  return 0;
}

template <class T>
int scale_rows(const launch_env& env, const T* d, factor<T> alpha, const sum_of<T>& from, factor<T> beta,
               dense_view<T> y) {
  return add_weighted(env, d, alpha, from, beta, y);
}

template <class T, class Weight, class From>
int add_weighted_and_dot(const launch_env& env, const Weight* d, factor<T> alpha, const sum_of<From>& from,
                         dense_view<T> y, dense_view<const T>, const dots_with_b&) {
  return add_weighted(env, d, alpha, from, factor<T>(0), y);
}

template <class T>
int axpby(const launch_env& env, factor<T> alpha, dense_view<const T> x, factor<T> beta, dense_view<T> y) {
  return scale_rows<T>(env, nullptr, alpha, x, beta, y);
}

template <class T>
int scale_columns(const launch_env& env, const double* s, dense_view<T> x) {
  for_each_row(env, x.rows, static_cast<double>(x.cols), [=](std::int64_t i) {
    T* const to = x.data + i * x.ld;
#pragma omp simd
    for (std::int64_t j = 0; j < x.cols; ++j)
      to[j] = s[j] != 0 ? static_cast<T>(s[j] * static_cast<double>(to[j])) : T{0};
  });
  return 0;
}

template <class T>
int convert(const launch_env& env, const float* d, factor<T> alpha,
            const sum_of<typename block_operations<T>::other>& from, factor<T> beta, dense_view<T> y) {
  return add_weighted(env, d, alpha, from, beta, y);
}

template <class T>
int fill_random(const launch_env& env, std::uint64_t seed, dense_view<T> x) {
  for_each_row(env, x.rows, static_cast<double>(x.cols), [=](std::int64_t i) {
    for (std::int64_t j = 0; j < x.cols; ++j) {
      x.data[i * x.ld + j] = random_element<T>(seed, static_cast<std::uint64_t>(i * x.cols + j));
    }
  });
  return 0;
}

}  // namespace

template <class T>
const block_operations<T>& block_on_cpu() {
  static constexpr block_operations<T> table{
      .gram = &gram<T>,
      .combine = &combine<T>,
      .recombine = &recombine<T>,
      .axpby = &axpby<T>,
      .scale_rows = &scale_rows<T>,
      .scale_rows_and_dot = &add_weighted_and_dot<T, T, T>,
      .convert_and_dot = &add_weighted_and_dot<T, float, typename block_operations<T>::other>,
      .scale_columns = &scale_columns<T>,
      .convert = &convert<T>,
      .fill_random = &fill_random<T>,
  };
  return table;
}

template const block_operations<float>& block_on_cpu<float>();
template const block_operations<double>& block_on_cpu<double>();

}  // namespace bcsc::kernels::vector
