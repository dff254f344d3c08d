#pragma once

#include <cstdint>

#include "bcsc/types.hpp"

struct CUstream_st;

/// The foreign kernels of chained_test.cpp: one writes B before a product, one compares C after it. They share no code
/// with the library. Every launcher returns a cudaError_t.
namespace bcsc::test {

/// Matrices of one shape, as the members of a batch lie.
struct chained_matrix {
  void* data;
  value_type type;
  std::int64_t rows, cols, row_stride, col_stride;
  std::int64_t count, stride;
};

/// B of a round is this + what the round adds.
constexpr int base_value(std::int64_t member, std::int64_t k, std::int64_t j) {
  return static_cast<int>((7 * k + 5 * j + 3 * member) % 5) - 2;
}

/// How a foreign kernel behaves towards those before and after it on the stream.
struct manners {
  bool begins_early = false;     ///< is started with the attribute, and waits before it touches anything
  bool lets_next_begin = false;  ///< lets the next begin before it writes or reads
  unsigned delay = 0;            ///< clock cycles that it waits after that
};

/// alpha and beta in device memory, of the sums' type; null: not written.
struct device_scalars {
  void *alpha = nullptr, *beta = nullptr;
  int alpha_value = 1, beta_value = 0;
};

int write_round(const chained_matrix& b, int added, const device_scalars& scalars, const manners& how,
                CUstream_st* stream);

/// What C should be: by_product * product[i] + by_row_sum * row_sum[row], exact or rounded once to C's type. `product`
/// is row-major, member by member; both lie on the device.
struct chained_result {
  const int* product;
  const int* row_sum;
  int by_product, by_row_sum;
};

/// Of all rounds, on the device.
struct chained_counts {
  std::uint64_t mismatches = 0;
  std::uint64_t first_round = ~std::uint64_t{0};  ///< with a mismatch
  std::uint64_t rounds = 0;
};

int read_round(const chained_matrix& c, const chained_result& wanted, chained_counts* counts, std::uint64_t round,
               const manners& how, CUstream_st* stream);

/// Whether the foreign kernels can begin early here: their code is for sm_90 or later.
bool may_begin_early();

}  // namespace bcsc::test
