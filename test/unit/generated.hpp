#pragma once

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "bcsc/formats.hpp"

/// What tests of generated matrices look at.
namespace bcsc::test {

/// Whether a view holds the invariants of CSR, checked here by hand.
template <class T>
void expect_valid_csr(const csr_matrix<T>& a) {
  const auto v = a.view();
  ASSERT_EQ(v.row_ptr.size(), static_cast<std::size_t>(v.rows) + 1);
  ASSERT_EQ(v.col_ind.size(), v.values.size());
  ASSERT_EQ(v.row_ptr.front(), 0);
  ASSERT_EQ(v.row_ptr.back(), v.nnz());
  for (std::int64_t i = 0; i < v.rows; ++i) {
    ASSERT_LE(v.row_ptr[i], v.row_ptr[i + 1]);
    for (auto k = v.row_ptr[i]; k < v.row_ptr[i + 1]; ++k) {
      ASSERT_GE(v.col_ind[k], 0);
      ASSERT_LT(v.col_ind[k], v.cols);
      ASSERT_TRUE(k == v.row_ptr[i] || v.col_ind[k - 1] < v.col_ind[k]) << "row " << i;
      ASSERT_TRUE(std::isfinite(v.values[k]));
    }
  }
}

template <class T>
Eigen::MatrixXd dense(const csr_matrix<T>& a) {
  Eigen::MatrixXd d = Eigen::MatrixXd::Zero(a.rows(), a.cols());
  const auto v = a.view();
  for (std::int64_t i = 0; i < v.rows; ++i) {
    for (auto k = v.row_ptr[i]; k < v.row_ptr[i + 1]; ++k) d(i, v.col_ind[k]) += static_cast<double>(v.values[k]);
  }
  return d;
}

/// FNV-1a over the bytes of the numbers, least significant first.
class checksum {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) hash_ = (hash_ ^ ((word >> (8 * byte)) & 0xff)) * 0x100000001b3u;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

template <class T>
std::uint64_t checksum_of(const csr_matrix<T>& a) {
  checksum sum;
  const auto v = a.view();
  sum.add(static_cast<std::uint64_t>(v.rows));
  sum.add(static_cast<std::uint64_t>(v.cols));
  for (auto p : v.row_ptr) sum.add(static_cast<std::uint64_t>(p));
  for (auto j : v.col_ind) sum.add(static_cast<std::uint64_t>(j));
  for (auto x : v.values) {
    using bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
    sum.add(std::bit_cast<bits>(x));
  }
  return sum.value();
}

}  // namespace bcsc::test
