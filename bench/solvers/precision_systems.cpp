#include "bench/solvers/precision_systems.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "bcsc/plan.hpp"
#include "bench/solvers/rounded_products.hpp"

namespace bcsc::bench {

namespace {

csr_matrix<double> every_entry(std::int64_t rows, std::int64_t cols, const auto& entry) {
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      col_ind.push_back(static_cast<std::int32_t>(j));
      values.push_back(entry(i, j));
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  return {rows, cols, std::move(row_ptr), std::move(col_ind), std::move(values)};
}

}  // namespace

dense_matrix<double> random_signs(std::int64_t n, std::uint64_t seed, std::int64_t k) {
  std::mt19937_64 bits(seed);
  dense_matrix<double> y(n, k);
  std::generate_n(y.data(), n * k, [&] { return (bits() & 1) != 0 ? 1.0 : -1.0; });
  return y;
}

dense_matrix<double> random_points(std::int64_t points, std::int64_t features, double offset, double deviation) {
  std::mt19937_64 bits(1);
  std::normal_distribution<double> noise;
  dense_matrix<double> x(points, features);
  std::generate_n(x.data(), x.rows() * x.cols(), [&] { return offset + deviation * noise(bits); });
  return x;
}

support_vectors::support_vectors(const dense_matrix<double>& points)
    : x_(every_entry(points.rows(), points.cols(), [&](auto i, auto j) { return points(i, j); })),
      x_transposed_(every_entry(points.cols(), points.rows(), [&](auto i, auto j) { return points(j, i); })) {}

linear_operator<double> support_vectors::exact(const context& ctx, std::int64_t k) const {
  return shifted(
      gram<double>(spmm_plan<double>(ctx, x_transposed_, {.cols = k}), spmm_plan<double>(ctx, x_, {.cols = k})), 1.0);
}

rounded_product support_vectors::multiplied_in(const context& ctx, cg_inner precision, std::int64_t k) const {
  const rounded_product first = bench::multiplied_in(ctx, x_transposed_, precision, k),
                        second = bench::multiplied_in(ctx, x_, precision, k);
  return {shifted(gram(first.by, second.by), 1.0), first.how};
}

csr_matrix<double> formed_support_vectors(const dense_matrix<double>& points) {
  const std::int64_t n = points.rows();
  dense_matrix<double> q(n, n);
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1 : 0;
      for (std::int64_t f = 0; f < points.cols(); ++f) sum += points(i, f) * points(j, f);
      q(i, j) = sum;
    }
  }
  return every_entry(n, n, [&](auto i, auto j) { return q(std::max(i, j), std::min(i, j)); });
}

csr_matrix<double> reflected_spectrum(std::int64_t n, double condition) {
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n)), d(v.size());
  double square = 0, middle = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] = normal(bits);
    d[i] = std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1));
    square += v[i] * v[i];
    middle += v[i] * d[i] * v[i];
  }
  // H D H = D - 2 / v'v (v (Dv)' + (Dv) v') + 4 v'Dv / (v'v)^2 v v'.
  return every_entry(n, n, [&](std::int64_t row, std::int64_t col) {
    const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(col);
    const double both = v[i] * v[j];  // exactly symmetric, which (c v_i) v_j is not
    return (i == j ? d[i] : 0) + both * (4 * middle / (square * square) - 2 / square * (d[i] + d[j]));
  });
}

}  // namespace bcsc::bench
