#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "bcsc/registry.hpp"
#include "lib/choice/gpu_scales.hpp"

/// What a product with A's zeros takes on a GPU. It depends on sizes alone, so a few measured constants take the place
/// of the terms and neighbours of sparse products.
namespace bcsc::choice {

/// Of one config of `gemm`: us.
struct dense_costs {
  std::string_view kernel;
  std::int64_t columns;  ///< N counts in whole multiples of these
  double a_bytes;        ///< of a value of A, as `mb` counts them; of B and C it counts what a value has
  double once;           ///< starting, and the look at the sums
  double gflop;          ///< a billion operations, zeros and all
  double mb;             ///< a million bytes of A, B and C
  double inner;          ///< a thousand columns of A: what a tile takes one after the other
};

/// Fitted to an H200, where they err by 8 to 13 % (docs/history, 60, 127 and 139).
inline constexpr dense_costs measured_dense_costs[] = {
    {"gemm-f32", 64, 4, 8.21, 19.3, 0.321, 3.58},  {"gemm-3xf16", 64, 4, 8.81, 3.78, 0.229, 0.338},
    {"gemm-tf32", 64, 4, 7.71, 2.02, 0.151, 2.20}, {"gemm-1xf16", 64, 0.5, 7.19, 1.05, 0.466, 0.828},
    {"gemm-f64", 1, 8, 4.21, 15.7, 0.0745, 2.75},  {"gemm-f16", 128, 2, 4.80, 1.31, 0, 0.397},
    {"gemm-bf16", 128, 2, 4.77, 1.29, 0, 0.443},
};

/// C of rows x cols from A of rows x inner by a config of `gemm`.
inline double dense_seconds(std::int64_t rows, std::int64_t inner, std::int64_t cols, const kernel_info& kernel,
                            const gpu_scales& scales = {}) {
  const auto costs = std::ranges::find(measured_dense_costs, kernel.name, &dense_costs::kernel);
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double m = number(rows), k = number(inner), n = number(cols);
  const double gflop = 2e-9 * m * k * std::ceil(n / number(costs->columns)) * number(costs->columns);
  const double mb = 1e-6 * (costs->a_bytes * m * k + static_cast<double>(size_of(kernel.type)) * (k * n + 2 * m * n));
  const double once = costs->once * scales.launch;
  const double us =
      once + costs->gflop * scales.multiprocessors * gflop + costs->mb * scales.memory * mb + 1e-3 * costs->inner * k;
  // What L2 does not hold comes from memory, at some 4 TB/s. That is more than was measured of 16-bit values, and less
  // where A counts for less than its bytes.
  constexpr double l2_mb = 50, us_a_mb_from_memory = 0.25;
  return 1e-6 * (mb > l2_mb ? std::max(us, once + us_a_mb_from_memory * scales.memory * mb) : us);
}

}  // namespace bcsc::choice
