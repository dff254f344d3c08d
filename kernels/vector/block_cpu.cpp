#include <algorithm>
#include <cstddef>

#include "core/by_all.hpp"
#include "core/context_state.hpp"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/rows.hpp"
#include "kernels/vector/vector_ops.hpp"

// A thread owns whole chunks of rows. gram: the sums of a chunk are a small matrix of their own; then the chunks'
// matrices are added in their order. What is done with the rows of a chunk is compiled for each instruction set
// (rows.hpp).

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

/// The rows of a block from `first` on.
template <class T>
row_range<T> rows_from(const dense_view<T>& of, std::int64_t first) {
  return {of.data + first * of.ld, of.ld, of.cols};
}

template <class T>
const T* weights_from(const T* d, std::int64_t first) {
  return d != nullptr ? d + first : nullptr;
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

template <class T, core::cpu_isa Isa>
int gram(const launch_env& env, dense_view<const T> x, const T* d, dense_view<const T> y, double* partials, double* g) {
  const std::int64_t n = x.rows, entries = x.cols * y.cols;
  if (entries == 0) return 0;
  const std::int64_t chunks = num_gram_chunks(n, x.cols, y.cols);
  const double work = static_cast<double>(n) * static_cast<double>(entries);
  for_each_part(env, n, chunks, work, [=](std::int64_t chunk, std::int64_t first, std::int64_t last) {
    rows_for<T>(Isa).gram(last - first, rows_from(x, first), weights_from(d, first), rows_from(y, first),
                          partials + chunk * entries);
  });
  add_chunks(chunks, entries, partials, g);
  return 0;
}

template <class T, core::cpu_isa Isa>
int combine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, factor<T> beta,
            dense_view<T> y) {
  const double share = beta.is_zero() ? 0 : beta.get();
  const double work = static_cast<double>(y.rows) * static_cast<double>(y.cols) * static_cast<double>(x.cols + 1);
  for_each_part(env, y.rows, num_chunks(y.rows), work, [=](std::int64_t, std::int64_t first, std::int64_t last) {
    rows_for<T>(Isa).combine(last - first, rows_from(x, first), weights_from(d, first), s, {}, nullptr, share,
                             rows_from(y, first));
  });
  return 0;
}

/// The rows of a chunk are measured while they are in a cache.
template <class T, core::cpu_isa Isa>
int recombine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
              const double* r, dense_view<T> y, const grams_of_result<T>& grams) {
  const std::int64_t n = y.rows, l = y.cols, num_grams = grams.e != nullptr ? 2 : 1;
  if (l == 0) return 0;
  const bool measures = grams.g != nullptr;
  const std::int64_t chunks = measures ? num_gram_chunks(n, l, l) : num_chunks(n);
  const double work = static_cast<double>(n) * static_cast<double>(l) *
                      static_cast<double>(x.cols + z.cols + (measures ? num_grams * l : 0));
  const row_operations<T>& run = rows_for<T>(Isa);
  for_each_part(env, n, chunks, work, [=, &run](std::int64_t chunk, std::int64_t first, std::int64_t last) {
    const std::int64_t rows = last - first;
    run.combine(rows, rows_from(x, first), weights_from(d, first), s, rows_from(z, first), r, 0, rows_from(y, first));
    if (!measures) return;
    double* sums = grams.partials + chunk * num_grams * l * l;
    const row_range<const T> made = rows_from(dense_view<const T>(y), first);
    if (grams.e != nullptr) {
      run.gram(rows, made, grams.e + first, made, sums);
      sums += l * l;
    }
    run.gram(rows, made, nullptr, made, sums);
  });
  if (measures) add_chunks(chunks, num_grams * l * l, grams.partials, grams.g);
  return 0;
}

/// y[j] = a (x[j] + gamma w[j]) + beta y[j] for `count` neighbours, a = alpha, times d[j] unless d is null. What has a
/// factor of zero is left out, known when this is compiled, so that a few elements are a loop over vectors.
template <bool HasX, bool HasW, bool HasY, class T, class Weight, class From>
void add_terms(std::int64_t count, double alpha, const Weight* d, const From* x, double gamma, const From* w,
               double beta, T* y) {
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) {
    double sum = 0;
    if (HasX) sum = static_cast<double>(x[j]);
    if (HasW) sum += gamma * static_cast<double>(w[j]);
    if (HasX) sum *= d != nullptr ? alpha * static_cast<double>(d[j]) : alpha;
    if (HasY) sum += beta * static_cast<double>(y[j]);
    y[j] = static_cast<T>(sum);
  }
}

template <class T>
bool is_packed(const dense_view<T>& x) {
  return x.ld == x.cols;
}

/// The rows of packed blocks are one long row, unless each has a factor for several elements.
template <bool HasX, bool HasW, bool HasY, class T, class Weight, class From>
void add_rows_of_terms(const launch_env& env, const Weight* d, double alpha, const sum_of<From>& of, double beta,
                       dense_view<T> y) {
  const bool is_one_row =
      is_packed(y) && (!HasX || is_packed(of.x)) && (!HasW || is_packed(of.w)) && (d == nullptr || y.cols == 1);
  const auto add = [=](std::int64_t first, std::int64_t count, double factor, const Weight* along) {
    add_terms<HasX, HasW, HasY>(count, factor, along, HasX ? of.x.data + first * of.x.ld : nullptr, of.gamma,
                                HasW ? of.w.data + first * of.w.ld : nullptr, beta, y.data + first * y.ld);
  };
  for_each_part(env, y.rows, num_chunks(y.rows), static_cast<double>(y.rows) * static_cast<double>(y.cols),
                [=](std::int64_t, std::int64_t first, std::int64_t last) {
                  if (is_one_row) return add(first, (last - first) * y.cols, alpha, weights_from(d, first));
                  for (std::int64_t i = first; i < last; ++i) {
                    const double weight = d != nullptr ? alpha * static_cast<double>(d[i]) : alpha;
                    add(i, y.cols, weight, static_cast<const Weight*>(nullptr));
                  }
                });
}

/// d may be null: all ones.
template <class T, class Weight, class From>
int add_weighted(const launch_env& env, const Weight* d, factor<T> alpha, const sum_of<From>& of, factor<T> beta,
                 dense_view<T> y) {
  if (y.rows == 0 || y.cols == 0) return 0;
  const double a = alpha.get(), b = beta.get();
  const auto run = [&]<bool HasX, bool HasW>() {
    const Weight* const weights = HasX ? d : nullptr;
    if (b != 0) return add_rows_of_terms<HasX, HasW, true>(env, weights, a, of, b, y);
    add_rows_of_terms<HasX, HasW, false>(env, weights, a, of, b, y);
  };
  if (a == 0) {
    run.template operator()<false, false>();
  } else if (of.gamma == 0) {
    run.template operator()<true, false>();
  } else {
    run.template operator()<true, true>();
  }
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

template <class T, core::cpu_isa Isa>
constexpr block_operations<T> table{
    .gram = &gram<T, Isa>,
    .combine = &combine<T, Isa>,
    .recombine = &recombine<T, Isa>,
    .axpby = &axpby<T>,
    .scale_rows = &scale_rows<T>,
    .scale_rows_and_dot = &add_weighted_and_dot<T, T, T>,
    .convert_and_dot = &add_weighted_and_dot<T, float, typename block_operations<T>::other>,
    .scale_columns = &scale_columns<T>,
    .convert = &convert<T>,
    .fill_random = &fill_random<T>,
};

}  // namespace

template <class T>
const block_operations<T>& block_on_cpu(core::cpu_isa isa) {
  switch (isa) {
    case core::cpu_isa::avx512:
      return table<T, core::cpu_isa::avx512>;
    case core::cpu_isa::avx2:
      return table<T, core::cpu_isa::avx2>;
    case core::cpu_isa::baseline:
      break;
  }
  return table<T, core::cpu_isa::baseline>;
}

template <class T>
const block_operations<T>& block_on_cpu() {
  return block_on_cpu<T>(core::best_cpu_isa());
}

template const block_operations<float>& block_on_cpu<float>();
template const block_operations<double>& block_on_cpu<double>();
template const block_operations<float>& block_on_cpu<float>(core::cpu_isa);
template const block_operations<double>& block_on_cpu<double>(core::cpu_isa);

}  // namespace bcsc::kernels::vector
