#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/launch.cuh"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/passes.cuh"

// Element by element: a thread block is a tile of up to 256 columns by as many rows as make 256 threads, and strides
// down the rows; a thread has 16 bytes of a row where sizes and addresses allow, else one element. Packed blocks are
// taken as one row, so that a single column has its 16 bytes as well.
namespace bcsc::kernels::vector {

/// Threads of a thread block.
inline constexpr int element_threads = 256;

/// a (x + g w) + b y, rounded once; a factor of zero leaves its element out, NaN as well.
template <class T, class From>
constexpr T weighted(double a, From x, double g, From w, double b, T y) {
  const double sum = g != 0 ? static_cast<double>(x) + g * static_cast<double>(w) : static_cast<double>(x);
  const double left = a != 0 ? a * sum : 0, right = b != 0 ? b * static_cast<double>(y) : 0;
  return static_cast<T>(left + right);
}

/// Wide elements of a row side by side.
template <class T, int Wide>
struct alignas(Wide * sizeof(T)) bundle {
  T at[Wide];
};

template <class T>
inline constexpr int wide = 16 / sizeof(T);

struct row_tiling {
  dim3 grid, block;
};

/// For n rows of `width` elements or bundles.
inline row_tiling tile_rows(std::int64_t n, std::int64_t width) {
  const std::int64_t tiles = std::max<std::int64_t>(1, (width + element_threads - 1) / element_threads);
  const std::int64_t lanes =
      n == 1 && tiles > 1 ? element_threads : std::max<std::int64_t>(1, (width + tiles - 1) / tiles);
  const std::int64_t rows = element_threads / lanes;
  const std::int64_t high = std::clamp<std::int64_t>((n + 4 * rows - 1) / (4 * rows), 1, 4096);
  return {dim3(static_cast<unsigned>(high), static_cast<unsigned>(std::min<std::int64_t>(tiles, 65535))),
          dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(rows))};
}

/// Runs visit(i, j) for this thread's share of n rows of `width` elements or bundles.
template <class Visit>
__device__ void for_each_place(std::int64_t n, std::int64_t width, const Visit& visit) {
  const std::int64_t down = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  const std::int64_t across = static_cast<std::int64_t>(gridDim.y) * blockDim.x;
  for (std::int64_t j = static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; j < width; j += across) {
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; i < n; i += down) {
      visit(i, j);
    }
  }
}

template <int Wide, class T>
bool takes_bundles(const dense_view<T>& x) {
  return x.cols % Wide == 0 && x.ld % Wide == 0 && reinterpret_cast<std::uintptr_t>(x.data) % (Wide * sizeof(T)) == 0;
}

template <class T>
bool is_packed(const dense_view<T>& x) {
  return x.ld == x.cols;
}
template <class T>
dense_view<T> as_row(const dense_view<T>& x) {
  return {x.data, 1, x.rows * x.cols};
}

/// A factor of each row, all ones if d is null.
template <class T>
struct row_weights {
  const T* d;
  bool lies_along;  ///< the rows, of one element each, have been laid side by side
  __device__ double times(double factor, std::int64_t i, std::int64_t j) const {
    return d != nullptr && factor != 0 ? factor * static_cast<double>(d[lies_along ? j : i]) : factor;
  }
};

/// y = alpha weights (x + gamma w) + beta y.
template <class T, class From, class Weight, int Wide>
__global__ void add_weighted_kernel(std::int64_t n, std::int64_t width, row_weights<Weight> weights, factor<T> alpha,
                                    const From* x, std::int64_t ldx, double gamma, const From* w, std::int64_t ldw,
                                    factor<T> beta, T* y, std::int64_t ldy) {
  overlap_neighbours();
  const double a = alpha.get(), b = beta.get();
  for_each_place(n, width, [&](std::int64_t i, std::int64_t j) {
    bundle<From, Wide> from{}, more{};
    bundle<T, Wide> to{};
    if (a != 0) from = *reinterpret_cast<const bundle<From, Wide>*>(x + i * ldx + j * Wide);
    if (a != 0 && gamma != 0) more = *reinterpret_cast<const bundle<From, Wide>*>(w + i * ldw + j * Wide);
    auto* const at = reinterpret_cast<bundle<T, Wide>*>(y + i * ldy + j * Wide);
    if (b != 0) to = *at;
#pragma unroll
    for (int e = 0; e < Wide; ++e) {
      to.at[e] = weighted(weights.times(a, i, j * Wide + e), from.at[e], gamma, more.at[e], b, to.at[e]);
    }
    *at = to;
  });
}

/// The same with beta = 0, and a row of sums of Y'R for each thread block, whose threads keep their columns.
template <class T, class From, class Weight, int Wide>
__global__ void __launch_bounds__(element_threads)
    add_weighted_and_dot_kernel(std::int64_t n, std::int64_t width, row_weights<Weight> weights, factor<T> alpha,
                                const From* x, std::int64_t ldx, double gamma, const From* w, std::int64_t ldw, T* y,
                                std::int64_t ldy, const T* r, std::int64_t ldr, double* sums, std::int64_t rows) {
  overlap_neighbours();
  const double a = alpha.get();
  double sum[Wide] = {};
  for_each_place(n, width, [&](std::int64_t i, std::int64_t j) {
    const auto from = *reinterpret_cast<const bundle<From, Wide>*>(x + i * ldx + j * Wide);
    bundle<From, Wide> more{};
    if (gamma != 0) more = *reinterpret_cast<const bundle<From, Wide>*>(w + i * ldw + j * Wide);
    const auto with = *reinterpret_cast<const bundle<T, Wide>*>(r + i * ldr + j * Wide);
    bundle<T, Wide> to;
#pragma unroll
    for (int e = 0; e < Wide; ++e) {
      to.at[e] = weighted(weights.times(a, i, j * Wide + e), from.at[e], gamma, more.at[e], 0.0, T{0});
      sum[e] += static_cast<double>(to.at[e]) * static_cast<double>(with.at[e]);
    }
    *reinterpret_cast<bundle<T, Wide>*>(y + i * ldy + j * Wide) = to;
  });
  add_rows<element_threads>(sum);
  if (threadIdx.y != 0) return;
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {  // once, unless a grid is cut short
#pragma unroll
    for (int e = 0; e < Wide; ++e) sums[(row * width + threadIdx.x) * Wide + e] = row == blockIdx.x ? sum[e] : 0;
  }
}

template <class T, int Wide>
__global__ void scale_columns_kernel(std::int64_t n, std::int64_t width, const double* s, T* x, std::int64_t ld) {
  overlap_neighbours();
  for_each_place(n, width, [&](std::int64_t i, std::int64_t j) {
    auto* const at = reinterpret_cast<bundle<T, Wide>*>(x + i * ld + j * Wide);
    bundle<T, Wide> to = *at;
#pragma unroll
    for (int e = 0; e < Wide; ++e) {
      const double by = s[j * Wide + e];
      to.at[e] = by != 0 ? static_cast<T>(by * static_cast<double>(to.at[e])) : T{0};
    }
    *at = to;
  });
}

template <class T>
__global__ void fill_random_kernel(std::int64_t n, std::int64_t k, std::uint64_t seed, T* x, std::int64_t ld) {
  overlap_neighbours();
  for_each_place(n, k, [&](std::int64_t i, std::int64_t j) {
    x[i * ld + j] = random_element<T>(seed, static_cast<std::uint64_t>(i * k + j));
  });
}

/// Starts kernel(y.rows, y.cols / Wide, args...).
template <int Wide, class T, class... Params, class... Args>
int start_pass(const launch_env& env, const dense_view<T>& y, void (*kernel)(std::int64_t, std::int64_t, Params...),
               const Args&... args) {
  const row_tiling t = tile_rows(y.rows, y.cols / Wide);
  return core::start(core::begins::while_previous_ends, kernel, t.grid, t.block, 0, env.stream, y.rows, y.cols / Wide,
                     args...);
}

template <class T, class Weight, class From>
int add_weighted(const launch_env& env, const Weight* d, factor<T> alpha, const sum_of<From>& from, factor<T> beta,
                 dense_view<T> y) {
  if (y.rows == 0 || y.cols == 0) return cudaSuccess;
  const bool has_w = from.gamma != 0;
  dense_view<const From> x = from.x, w = has_w ? from.w : x;
  const bool is_row = is_packed(x) && is_packed(w) && is_packed(y) && (d == nullptr || y.cols == 1);
  if (is_row) {
    x = as_row(x);
    w = as_row(w);
    y = as_row(y);
  }
  constexpr int bundled = std::min(wide<T>, wide<From>);
  const row_weights<Weight> weights{d, is_row};
  return takes_bundles<bundled>(x) && takes_bundles<bundled>(w) && takes_bundles<bundled>(y)
             ? start_pass<bundled>(env, y, add_weighted_kernel<T, From, Weight, bundled>, weights, alpha, x.data, x.ld,
                                   from.gamma, w.data, w.ld, beta, y.data, y.ld)
             : start_pass<1>(env, y, add_weighted_kernel<T, From, Weight, 1>, weights, alpha, x.data, x.ld, from.gamma,
                             w.data, w.ld, beta, y.data, y.ld);
}

template <class T, class Weight, class From>
int add_weighted_and_dot(const launch_env& env, const Weight* d, factor<T> alpha, const sum_of<From>& from,
                         dense_view<T> y, dense_view<const T> r, const dots_with_b& dots) {
  constexpr int bundled = std::min(wide<T>, wide<From>);
  const dense_view<const From> x = from.x, w = from.gamma != 0 ? from.w : x;
  const bool fits = takes_bundles<bundled>(x) && takes_bundles<bundled>(w) && takes_bundles<bundled>(y) &&
                    takes_bundles<bundled>(r) && y.rows > 0 && y.cols > 0 && alpha.at == nullptr && alpha.value != 0;
  const row_tiling t = tile_rows(y.rows, y.cols / bundled);
  double* const sums = fits && t.grid.y == 1 ? dots.take(t.grid.x, y.cols) : nullptr;
  if (sums == nullptr) return add_weighted(env, d, alpha, from, factor<T>(0), y);
  return start_pass<bundled>(env, y, add_weighted_and_dot_kernel<T, From, Weight, bundled>,
                             row_weights<Weight>{d, false}, alpha, x.data, x.ld, from.gamma, w.data, w.ld, y.data, y.ld,
                             r.data, r.ld, sums, static_cast<std::int64_t>(t.grid.x));
}

template <class T>
int scale_rows(const launch_env& env, const T* d, factor<T> alpha, const sum_of<T>& from, factor<T> beta,
               dense_view<T> y) {
  return add_weighted(env, d, alpha, from, beta, y);
}

template <class T>
int axpby(const launch_env& env, factor<T> alpha, dense_view<const T> x, factor<T> beta, dense_view<T> y) {
  return scale_rows<T>(env, nullptr, alpha, x, beta, y);
}

template <class T>
int scale_columns(const launch_env& env, const double* s, dense_view<T> x) {
  if (x.rows == 0 || x.cols == 0) return cudaSuccess;
  return takes_bundles<wide<T>>(x) ? start_pass<wide<T>>(env, x, scale_columns_kernel<T, wide<T>>, s, x.data, x.ld)
                                   : start_pass<1>(env, x, scale_columns_kernel<T, 1>, s, x.data, x.ld);
}

template <class T>
int convert(const launch_env& env, const float* d, factor<T> alpha,
            const sum_of<typename block_operations<T>::other>& from, factor<T> beta, dense_view<T> y) {
  return add_weighted(env, d, alpha, from, beta, y);
}

template <class T>
int fill_random(const launch_env& env, std::uint64_t seed, dense_view<T> x) {
  if (x.rows == 0 || x.cols == 0) return cudaSuccess;
  return start_pass<1>(env, x, fill_random_kernel<T>, seed, x.data, x.ld);
}

}  // namespace bcsc::kernels::vector
