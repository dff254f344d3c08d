#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bcsc/cg.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/linear_operator.hpp"
#include "bench/solvers/rounded_products.hpp"

/// The systems that less precision is tried on; drawn from fixed seeds.
namespace bcsc::bench {

/// n x k of -1 and 1.
dense_matrix<double> random_signs(std::int64_t n, std::uint64_t seed, std::int64_t k = 1);

/// Points of a least-squares support vector machine: each feature `offset` and noise of `deviation`.
dense_matrix<double> random_points(std::int64_t points, std::int64_t features, double offset, double deviation);

/// Q = X X' + I, its matrix (C = 1), by two products and never formed.
class support_vectors {
 public:
  explicit support_vectors(const dense_matrix<double>& points);

  /// For k vectors at once.
  linear_operator<double> exact(const context& ctx, std::int64_t k) const;
  /// X, X' and the vectors that they multiply in `precision`.
  rounded_product multiplied_in(const context& ctx, cg_inner precision, std::int64_t k) const;

 private:
  csr_matrix<double> x_, x_transposed_;
};

/// Q with every entry stored.
csr_matrix<double> formed_support_vectors(const dense_matrix<double>& points);

/// H D H of order n, H a random reflection and D geometric from 1 down to 1 / condition, every entry stored.
csr_matrix<double> reflected_spectrum(std::int64_t n, double condition);

}  // namespace bcsc::bench
