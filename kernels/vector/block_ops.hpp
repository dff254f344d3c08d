#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bcsc/dense.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::core {
enum class cpu_isa : int;
}

/// What block solvers need on blocks of vectors besides products with A: blocks are n x k, row-major with any leading
/// dimension, n large and k up to some hundreds. Small matrices are in double, row-major, packed. Every element is
/// computed in double and rounded to T once; sums run in a fixed order, so that a run repeats bit for bit.
namespace bcsc::kernels::vector {

/// A factor of a whole block: value, times *at where the context computes unless that is null.
template <class T>
struct factor {
  double value = 0;
  const T* at = nullptr;

  constexpr factor(double known) : value(known) {}
  constexpr factor(double known, const T* times) : value(known), at(times) {}
  constexpr bool is_zero() const { return at == nullptr && value == 0; }
  /// Reads *at.
  constexpr double get() const { return at != nullptr ? value * static_cast<double>(*at) : value; }
};

/// X + gamma W, of the same shape. W only where gamma is not 0.
template <class T>
struct sum_of {
  dense_view<const T> x;
  double gamma = 0;
  dense_view<const T> w = {};

  template <class Of>
  sum_of(const dense_view<Of>& only) : x(only) {}
  sum_of(dense_view<const T> left, double factor, dense_view<const T> right) : x(left), gamma(factor), w(right) {}
};

inline constexpr std::int64_t most_gram_chunks = 512;
/// As many chunks of n rows as are worth their partial sums.
constexpr std::int64_t useful_gram_chunks(std::int64_t n) {
  return std::clamp<std::int64_t>((n + 255) / 256, 1, most_gram_chunks);
}

/// Chunks of rows that gram() sums by themselves: enough for every core, as long as the partial sums stay small.
constexpr std::int64_t num_gram_chunks(std::int64_t n, std::int64_t k, std::int64_t l) {
  const std::int64_t entries = std::max<std::int64_t>(1, k * l);
  return std::min(useful_gram_chunks(n), std::max<std::int64_t>((std::int64_t{1} << 22) / entries, 1));
}

/// Doubles of workspace (`partials`) that gram() of an n x k and an n x l block needs; enough for narrower ones, too.
constexpr std::int64_t num_block_partials(std::int64_t n, std::int64_t k, std::int64_t l) {
  return std::max(k * l, std::min(useful_gram_chunks(n) * k * l, std::int64_t{1} << 22));
}

/// What recombine() leaves of the Y that it stores: G = Y' diag(e) Y and, behind it, Y'Y unless e is null, all ones.
template <class T>
struct grams_of_result {
  const T* e = nullptr;        ///< [n], or null
  double* partials = nullptr;  ///< twice what num_block_partials(n, l, l) says
  double* g = nullptr;         ///< [l x l], twice with e; null: not wanted
};

/// The number that fill_random gives element `index` = i * k + j: uniform in [-1, 1), of as many bits as T has.
/// The mixing steps are those of SplitMix64 (Steele, Lea, Flood 2014).
template <class T>
constexpr T random_element(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t bits = seed + 0x9e3779b97f4a7c15u * (index + 1);
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
  } else {
    return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
  }
}

/// The operations of one backend. Blocks and small matrices lie where it computes. CUDA operations are asynchronous on
/// env.stream. None allocates. Each returns a cudaError_t (0: started); the CPU returns 0. A factor of zero keeps its
/// block out: it is not read, and NaN there does not matter.
template <class T>
struct block_operations {
  using other = std::conditional_t<std::is_same_v<T, float>, double, float>;

  /// G = X' diag(d) Y: X n x k, Y n x l, which may be the same block; d [n], or null: all ones; g [k x l]; partials as
  /// num_block_partials says.
  int (*gram)(const launch_env& env, dense_view<const T> x, const T* d, dense_view<const T> y, double* partials,
              double* g);
  /// Y = diag(d) X S + beta Y: X n x k, d [n] or null: all ones, s [k x l], Y n x l, which shares no element with X.
  int (*combine)(const launch_env& env, dense_view<const T> x, const T* d, const double* s, factor<T> beta,
                 dense_view<T> y);
  /// Y = diag(d) X S + Z R: X n x k, d [n] or null, s [k x l], Z n x m, r [m x l], Y n x l, which shares no element
  /// with X and Z; and what `grams` asks for, in the same pass where the blocks are narrow.
  int (*recombine)(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
                   const double* r, dense_view<T> y, const grams_of_result<T>& grams);
  /// Y = alpha X + beta Y. X and Y are the same block or share no element.
  int (*axpby)(const launch_env& env, factor<T> alpha, dense_view<const T> x, factor<T> beta, dense_view<T> y);
  /// Y = alpha diag(d) (X + gamma W) + beta Y, d [n]. Blocks are the same or share no element.
  int (*scale_rows)(const launch_env& env, const T* d, factor<T> alpha, const sum_of<T>& from, factor<T> beta,
                    dense_view<T> y);
  /// scale_rows() and convert() with beta = 0 that also leave the dot products of the columns of Y and R, of Y's shape.
  /// Only on a GPU, where X, W, Y and R can be loaded in vectors, a thread block spans a row, alpha is on the host and
  /// not 0, and there is room.
  int (*scale_rows_and_dot)(const launch_env& env, const T* d, factor<T> alpha, const sum_of<T>& from, dense_view<T> y,
                            dense_view<const T> r, const dots_with_b& dots);
  int (*convert_and_dot)(const launch_env& env, const float* d, factor<T> alpha, const sum_of<other>& from,
                         dense_view<T> y, dense_view<const T> r, const dots_with_b& dots);
  /// X = X diag(s), s [k].
  int (*scale_columns)(const launch_env& env, const double* s, dense_view<T> x);
  /// Y = alpha diag(d) (X + gamma W) + beta Y between the two types, d [n] in the narrower one, or null: all ones.
  int (*convert)(const launch_env& env, const float* d, factor<T> alpha, const sum_of<other>& from, factor<T> beta,
                 dense_view<T> y);
  /// x(i, j) = random_element(seed, i * k + j): the same on every backend, whatever the leading dimension.
  int (*fill_random)(const launch_env& env, std::uint64_t seed, dense_view<T> x);
};

/// For T = float and double: by the best instructions of this machine.
template <class T>
const block_operations<T>& block_on_cpu();
/// By those of one instruction set, which the machine must have.
template <class T>
const block_operations<T>& block_on_cpu(core::cpu_isa isa);
/// For T = float and double; only in a build with CUDA. env.stream's device is current.
template <class T>
const block_operations<T>& block_on_cuda();

}  // namespace bcsc::kernels::vector
