#include "bcsc/generate.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "bcsc/error.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/generated.hpp"

namespace {

using bcsc::csr_matrix;
using bcsc::test::checksum_of;
using bcsc::test::dense;
using bcsc::test::expect_valid_csr;
namespace generate = bcsc::generate;

// --- What holds for every symmetric positive definite family --------------------------------------------------------

struct spd_case {
  std::string specification;
  std::int64_t rows, nnz;
};
void PrintTo(const spd_case& c, std::ostream* out) { *out << c.specification; }

class spd_family : public testing::TestWithParam<spd_case> {};

TEST_P(spd_family, has_the_sizes_of_its_formula) {
  const auto a = generate::from_specification<double>(GetParam().specification);
  expect_valid_csr(a);
  EXPECT_EQ(a.rows(), GetParam().rows);
  EXPECT_EQ(a.cols(), GetParam().rows);
  EXPECT_EQ(a.nnz(), GetParam().nnz);
}

TEST_P(spd_family, is_symmetric_to_the_last_bit) {
  const Eigen::MatrixXd k = dense(generate::from_specification<double>(GetParam().specification));
  EXPECT_TRUE(k == k.transpose());
  const Eigen::MatrixXd single = dense(generate::from_specification<float>(GetParam().specification));
  EXPECT_TRUE(single == single.transpose());
}

TEST_P(spd_family, is_positive_definite) {
  const Eigen::MatrixXd k = dense(generate::from_specification<double>(GetParam().specification));
  EXPECT_EQ(Eigen::LLT<Eigen::MatrixXd>(k).info(), Eigen::Success);
  const Eigen::MatrixXd single = dense(generate::from_specification<float>(GetParam().specification));
  EXPECT_EQ(Eigen::LLT<Eigen::MatrixXd>(single).info(), Eigen::Success);
}

INSTANTIATE_TEST_SUITE_P(
    families, spd_family,
    testing::Values(spd_case{"elasticity:1,1,1", 12, 9 * 1 * 4 * 4},
                    spd_case{"elasticity:4,3,2", 3 * 4 * 4 * 3, 9 * 10 * 10 * 7},
                    spd_case{"elasticity:2,5,4", 3 * 2 * 6 * 5, 9 * 4 * 16 * 13}, spd_case{"stencil5:1,1", 1, 1},
                    spd_case{"stencil5:7,9", 63, 5 * 63 - 2 * 7 - 2 * 9},
                    spd_case{"stencil9:6,8", 48, (3 * 6 - 2) * (3 * 8 - 2)},
                    spd_case{"stencil7:4,5,6", 120, 7 * 120 - 2 * (5 * 6 + 4 * 6 + 4 * 5)},
                    spd_case{"stencil27:5,4,3", 60, 13 * 10 * 7}, spd_case{"banded:50,4", 50, 50 * 9 - 4 * 5},
                    spd_case{"banded:20,0,seed=7", 20, 20}, spd_case{"banded:12,40,seed=3", 12, 12 * 12},
                    spd_case{"elasticity:4,3,2,dof=1", 1 * 4 * 4 * 3, 1 * 10 * 10 * 7},
                    spd_case{"elasticity:4,3,2,dof=2", 2 * 4 * 4 * 3, 4 * 10 * 10 * 7},
                    spd_case{"elasticity:4,3,2,dof=4", 4 * 4 * 4 * 3, 16 * 10 * 10 * 7},
                    spd_case{"elasticity:3,2,4,dof=5", 5 * 3 * 3 * 5, 25 * 7 * 7 * 13},
                    spd_case{"elasticity:3,2,4,dof=6", 6 * 3 * 3 * 5, 36 * 7 * 7 * 13}, spd_case{"spd:1,1", 1, 1},
                    spd_case{"spd:2,1000", 2, 4}, spd_case{"spd:3,1000", 3, 5}, spd_case{"blocks:7,7,7,0", 7, 49},
                    spd_case{"blocks:30,5,5,0", 30, 6 * 25}, spd_case{"blocks:13,5,5,0,seed=4", 13, 25 + 25 + 9},
                    spd_case{"blocks:12,3,3,40", 12, 144}));

// --- Elasticity -----------------------------------------------------------------------------------------------------

/// The 24x24 stiffness of a unit cube by the 2x2x2 Gauss rule and B' D B, as a textbook has it.
Eigen::Matrix<double, 24, 24> gauss_element() {
  const double e = 1, nu = 0.3, factor = e / ((1 + nu) * (1 - 2 * nu));
  Eigen::Matrix<double, 6, 6> d = Eigen::Matrix<double, 6, 6>::Zero();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) d(i, j) = factor * (i == j ? 1 - nu : nu);
    d(3 + i, 3 + i) = factor * (1 - 2 * nu) / 2;
  }
  Eigen::Matrix<double, 24, 24> k = Eigen::Matrix<double, 24, 24>::Zero();
  for (int point = 0; point < 8; ++point) {
    std::array<double, 3> x;
    for (int axis = 0; axis < 3; ++axis) x[axis] = 0.5 + ((point >> axis & 1) != 0 ? 0.5 : -0.5) / std::sqrt(3.0);
    Eigen::Matrix<double, 6, 24> b = Eigen::Matrix<double, 6, 24>::Zero();
    for (int node = 0; node < 8; ++node) {  // the bits of a node are its coordinates
      std::array<double, 3> gradient;
      for (int axis = 0; axis < 3; ++axis) {
        gradient[axis] = 1;
        for (int other = 0; other < 3; ++other) {
          const bool far = (node >> other & 1) != 0;
          gradient[axis] *= other == axis ? (far ? 1 : -1) : (far ? x[other] : 1 - x[other]);
        }
      }
      for (int axis = 0; axis < 3; ++axis) b(axis, 3 * node + axis) = gradient[axis];
      const std::array<std::array<int, 2>, 3> shears{{{0, 1}, {1, 2}, {2, 0}}};
      for (int shear = 0; shear < 3; ++shear) {
        const auto [p, q] = shears[shear];
        b(3 + shear, 3 * node + p) = gradient[q];
        b(3 + shear, 3 * node + q) = gradient[p];
      }
    }
    k += b.transpose() * d * b / 8;
  }
  return k;
}

TEST(elasticity, equals_an_element_by_element_assembly) {
  const int nx = 3, ny = 2, nz = 4;
  const auto element = gauss_element();
  const auto unknown = [&](int x, int y, int z, int axis) {
    return x == 0 ? -1 : 3 * (((x - 1) * (ny + 1) + y) * (nz + 1) + z) + axis;
  };
  const int rows = 3 * nx * (ny + 1) * (nz + 1);
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(rows, rows);
  for (int x = 0; x < nx; ++x) {
    for (int y = 0; y < ny; ++y) {
      for (int z = 0; z < nz; ++z) {
        const auto at = [&](int local) {
          const int node = local / 3;
          return unknown(x + (node & 1), y + (node >> 1 & 1), z + (node >> 2 & 1), local % 3);
        };
        for (int i = 0; i < 24; ++i) {
          for (int j = 0; j < 24; ++j) {
            if (at(i) >= 0 && at(j) >= 0) expected(at(i), at(j)) += element(i, j);
          }
        }
      }
    }
  }
  const Eigen::MatrixXd k = dense(generate::elasticity<double>(nx, ny, nz));
  EXPECT_LT((k - expected).cwiseAbs().maxCoeff(), 1e-14);
}

/// Two nodes of the mesh are coupled where they belong to one unit cube.
TEST(elasticity, knows_where_its_nodes_are) {
  const auto points = generate::node_coordinates("elasticity:4,3,2");
  ASSERT_EQ(points.rows(), 4 * 4 * 3);
  ASSERT_EQ(points.cols(), 3);
  const Eigen::MatrixXd k = dense(generate::elasticity<double>(4, 3, 2));
  for (std::int64_t i = 0; i < points.rows(); ++i) {
    EXPECT_GE(points(i, 0), 1) << "the nodes at x = 0 are held";
    for (std::int64_t j = 0; j < points.rows(); ++j) {
      double apart = 0;
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        apart = std::max(apart, std::abs(points(i, axis) - points(j, axis)));
      }
      EXPECT_EQ(apart <= 1, k.block(3 * i, 3 * j, 3, 3).cwiseAbs().maxCoeff() > 0) << i << " and " << j;
    }
  }
  EXPECT_EQ(generate::node_coordinates("elasticity:4,3,2,dof=3").rows(), points.rows());
  for (const char* const unknown : {"elasticity:4,3,2,dof=2", "stencil7:4,4,4", "elastic.mtx", ""}) {
    EXPECT_EQ(generate::node_coordinates(unknown).rows(), 0) << unknown;
  }
  EXPECT_THROW((void)generate::node_coordinates("elasticity:4,3"), bcsc::error);
}

/// The energy of `dof` unknowns per node, by the 2x2x2 Gauss rule: that of the summed displacements, in Lamé's form,
/// and for two bodies each one's own resistance.
Eigen::MatrixXd gauss_element_of(int dof) {
  const double lambda = 3.0 * 5 / 26, mu = 2.0 * 5 / 26;
  Eigen::MatrixXd k = Eigen::MatrixXd::Zero(8 * dof, 8 * dof);
  for (int point = 0; point < 8; ++point) {
    Eigen::Matrix<double, 8, 3> gradient;
    for (int node = 0; node < 8; ++node) {
      for (int axis = 0; axis < 3; ++axis) {
        gradient(node, axis) = 1;
        for (int other = 0; other < 3; ++other) {
          const bool far = (node >> other & 1) != 0;
          const double x = 0.5 + ((point >> other & 1) != 0 ? 0.5 : -0.5) / std::sqrt(3.0);
          gradient(node, axis) *= other == axis ? (far ? 1 : -1) : (far ? x : 1 - x);
        }
      }
    }
    // Twice the density: 2 mu |e|^2 + lambda (div w)^2 of w, where w_i sums the unknowns along axis i; and for two
    // bodies mu |grad u|^2 on top, which outweighs what their sum may lose.
    Eigen::MatrixXd div = Eigen::MatrixXd::Zero(1, 8 * dof);
    Eigen::MatrixXd strain = Eigen::MatrixXd::Zero(9, 8 * dof), sum = strain,
                    own = Eigen::MatrixXd::Zero(3 * dof, 8 * dof);
    for (int node = 0; node < 8; ++node) {
      for (int a = 0; a < dof; ++a) {
        const int i = a % 3, column = node * dof + a;
        div(0, column) += gradient(node, i);
        for (int j = 0; j < 3; ++j) {
          strain(3 * i + j, column) += gradient(node, j) / 2;
          strain(3 * j + i, column) += gradient(node, j) / 2;
          sum(3 * i + j, column) += gradient(node, j);
          own(3 * a + j, column) += gradient(node, j);
        }
      }
    }
    const double bodies = dof > 3 ? 2 : 1;
    k += (lambda * div.transpose() * div + 2 * mu * strain.transpose() * strain - mu * sum.transpose() * sum +
          bodies * mu * own.transpose() * own) /
         8;
  }
  return k;
}

class elasticity_of : public testing::TestWithParam<int> {};

TEST_P(elasticity_of, so_many_unknowns_equals_an_element_by_element_assembly) {
  const int dof = GetParam(), nx = 3, ny = 2, nz = 2;
  const Eigen::MatrixXd element = gauss_element_of(dof);
  if (dof == 3) {
    EXPECT_LT((element - gauss_element()).cwiseAbs().maxCoeff(), 1e-15);
  }
  const int rows = dof * nx * (ny + 1) * (nz + 1);
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(rows, rows);
  for (int x = 0; x < nx; ++x) {
    for (int y = 0; y < ny; ++y) {
      for (int z = 0; z < nz; ++z) {
        const auto at = [&](int local) {
          const int node = local / dof;
          const int px = x + (node & 1), py = y + (node >> 1 & 1), pz = z + (node >> 2 & 1);
          return px == 0 ? -1 : dof * (((px - 1) * (ny + 1) + py) * (nz + 1) + pz) + local % dof;
        };
        for (int i = 0; i < 8 * dof; ++i) {
          for (int j = 0; j < 8 * dof; ++j) {
            if (at(i) >= 0 && at(j) >= 0) expected(at(i), at(j)) += element(i, j);
          }
        }
      }
    }
  }
  const Eigen::MatrixXd k = dense(generate::elasticity<double>(nx, ny, nz, dof));
  ASSERT_EQ(k.rows(), rows);
  EXPECT_LT((k - expected).cwiseAbs().maxCoeff(), 1e-14);
}

/// Whole blocks: what a block format at that height stores without fill.
TEST_P(elasticity_of, so_many_unknowns_has_dense_blocks) {
  const int dof = GetParam();
  const auto a = generate::elasticity<float>(4, 3, 3, dof);
  const auto v = a.view();
  for (std::int64_t i = 0; i < v.rows; ++i) {
    ASSERT_EQ((v.row_ptr[i + 1] - v.row_ptr[i]) % dof, 0);
    for (auto k = v.row_ptr[i]; k < v.row_ptr[i + 1]; k += dof) {
      ASSERT_EQ(v.col_ind[k] % dof, 0);
      ASSERT_EQ(v.col_ind[k + dof - 1], v.col_ind[k] + dof - 1);
    }
    const auto first = i / dof * dof;  // all rows of a node have the same columns
    ASSERT_TRUE(std::equal(v.col_ind.begin() + v.row_ptr[i], v.col_ind.begin() + v.row_ptr[i + 1],
                           v.col_ind.begin() + v.row_ptr[first]));
  }
}

INSTANTIATE_TEST_SUITE_P(dof, elasticity_of, testing::Range(1, 7));

TEST(elasticity, of_fewer_unknowns_holds_the_others_at_0) {
  const Eigen::MatrixXd full = dense(generate::elasticity<double>(3, 2, 2));
  for (const int dof : {1, 2}) {
    const Eigen::MatrixXd part = dense(generate::elasticity<double>(3, 2, 2, dof));
    for (Eigen::Index i = 0; i < part.rows(); ++i) {
      for (Eigen::Index j = 0; j < part.cols(); ++j) {
        ASSERT_EQ(part(i, j), full(3 * (i / dof) + i % dof, 3 * (j / dof) + j % dof));
      }
    }
  }
}

/// Rows whose node touches no clamped one feel nothing of a rigid motion.
class rigid_body : public testing::TestWithParam<int> {};

TEST_P(rigid_body, mode_has_no_energy_away_from_the_clamp) {
  const std::int64_t nx = 5, ny = 3, nz = 4, plane = (ny + 1) * (nz + 1);
  const Eigen::MatrixXd k = dense(generate::elasticity<double>(nx, ny, nz));
  Eigen::VectorXd motion = Eigen::VectorXd::Zero(k.rows());
  for (std::int64_t node = 0; node < nx * plane; ++node) {
    const std::array<double, 3> x{static_cast<double>(node / plane + 1), static_cast<double>(node % plane / (nz + 1)),
                                  static_cast<double>(node % (nz + 1))};
    const int mode = GetParam(), axis = mode % 3;
    if (mode < 3) {
      motion[3 * node + axis] = 1;
    } else {
      motion[3 * node + (axis + 1) % 3] = -x[(axis + 2) % 3];
      motion[3 * node + (axis + 2) % 3] = x[(axis + 1) % 3];
    }
  }
  const Eigen::VectorXd force = k * motion;
  EXPECT_LT(force.tail(3 * (nx - 1) * plane).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_GT(force.head(3 * plane).cwiseAbs().maxCoeff(), 0.1) << "the clamp must hold";
}

INSTANTIATE_TEST_SUITE_P(translations_and_rotations, rigid_body, testing::Range(0, 6));

// --- Values ---------------------------------------------------------------------------------------------------------

TEST(banded, is_dominant_and_seeded) {
  const Eigen::MatrixXd a = dense(generate::banded<double>(64, 5, 1));
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) {
      if (i == j) continue;
      EXPECT_EQ(a(i, j) != 0, std::abs(i - j) <= 5);
      EXPECT_LT(std::abs(a(i, j)), 1.0);
    }
    EXPECT_NEAR(a(i, i) - (a.row(i).cwiseAbs().sum() - a(i, i)), 1.0, 1e-14);
  }
}

struct uniform_case {
  double sparsity;
  std::int64_t rows, cols;
};
void PrintTo(const uniform_case& c, std::ostream* out) { *out << c.rows << "x" << c.cols << " at " << c.sparsity; }

class uniform_density : public testing::TestWithParam<uniform_case> {};

TEST_P(uniform_density, is_what_was_asked_for) {
  const auto [sparsity, rows, cols] = GetParam();
  const auto a = generate::uniform<double>(rows, cols, sparsity, 11);
  expect_valid_csr(a);
  const double cells = static_cast<double>(rows) * static_cast<double>(cols);
  const double deviation = std::sqrt(cells * sparsity * (1 - sparsity));
  EXPECT_NEAR(static_cast<double>(a.nnz()), cells * (1 - sparsity), 5 * deviation);
  const auto v = a.view();
  std::int64_t negative = 0;
  std::vector<std::int64_t> by_half(2, 0);
  for (std::size_t k = 0; k < v.values.size(); ++k) {
    EXPECT_GE(std::abs(v.values[k]), 0.5);
    EXPECT_LT(std::abs(v.values[k]), 1.5);
    negative += v.values[k] < 0;
    ++by_half[v.col_ind[k] >= cols / 2];
  }
  const double nnz = static_cast<double>(a.nnz());
  EXPECT_NEAR(static_cast<double>(negative), nnz / 2, 3 * std::sqrt(nnz) + 1);
  EXPECT_NEAR(static_cast<double>(by_half[0]), nnz / 2, 3 * std::sqrt(nnz) + 1);
}

INSTANTIATE_TEST_SUITE_P(sparsities, uniform_density,
                         testing::Values(uniform_case{0.0, 30, 40}, uniform_case{0.3, 200, 300},
                                         uniform_case{0.6, 256, 256}, uniform_case{0.9, 512, 256},
                                         uniform_case{0.999, 1000, 4000}, uniform_case{0.9999995, 4, 1000000000},
                                         uniform_case{1.0, 50, 50}, uniform_case{0.5, 0, 10},
                                         uniform_case{0.5, 10, 0}));

TEST(rmat, keeps_every_edge_and_is_skewed) {
  const int scale = 12, degree = 8;
  const auto a = generate::rmat<double>(scale, degree, 5);
  expect_valid_csr(a);
  EXPECT_EQ(a.rows(), 4096);
  EXPECT_LT(a.nnz(), degree * a.rows()) << "duplicates are summed";
  EXPECT_GT(a.nnz(), degree * a.rows() / 2);
  const auto v = a.view();
  std::int64_t upper_left = 0, heaviest = 0;
  for (std::int64_t i = 0; i < v.rows; ++i) {
    heaviest = std::max<std::int64_t>(heaviest, v.row_ptr[i + 1] - v.row_ptr[i]);
    for (auto k = v.row_ptr[i]; k < v.row_ptr[i + 1]; ++k) upper_left += i < 2048 && v.col_ind[k] < 2048;
  }
  EXPECT_GT(static_cast<double>(upper_left) / static_cast<double>(a.nnz()), 0.4);
  EXPECT_GT(heaviest, 20 * degree);
}

TEST(rmat, sums_duplicates_of_a_single_vertex) {
  const auto a = generate::rmat<double>(0, 7, 3);
  ASSERT_EQ(a.nnz(), 1);
  const double weight = std::abs(viewed(generate::rmat<double>(0, 1, 3)).values[0]);
  EXPECT_EQ(std::abs(a.view().values[0]), 7 * weight);
}

TEST(rmat, follows_its_probabilities) {
  const auto a = generate::rmat<float>(6, 4, 1, 1.0, 0.0, 0.0);
  ASSERT_EQ(a.nnz(), 1);
  EXPECT_EQ(a.view().col_ind[0], 0);
  const auto lower_right = generate::rmat<float>(6, 4, 1, 0.0, 0.0, 0.0);
  ASSERT_EQ(lower_right.nnz(), 1);
  EXPECT_EQ(lower_right.view().col_ind[0], 63);
  const auto upper_right = generate::rmat<float>(6, 4, 1, 0.0, 1.0, 0.0);
  ASSERT_EQ(upper_right.nnz(), 1);
  EXPECT_EQ(upper_right.view().row_ptr[1], 1);
  EXPECT_EQ(upper_right.view().col_ind[0], 63);
}

// --- Structured, hypersparse ----------------------------------------------------------------------------------------

struct nm_case {
  std::int64_t rows, cols, n, m;
};
void PrintTo(const nm_case& c, std::ostream* out) { *out << c.n << ":" << c.m << " of " << c.rows << "x" << c.cols; }

class nm_sparsity : public testing::TestWithParam<nm_case> {};

TEST_P(nm_sparsity, keeps_n_of_every_m) {
  const auto [rows, cols, n, m] = GetParam();
  const auto a = generate::nm<double>(rows, cols, n, m, 1);
  expect_valid_csr(a);
  ASSERT_EQ(a.rows(), rows);
  ASSERT_EQ(a.cols(), cols);
  const auto v = a.view();
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<std::int64_t> kept(static_cast<std::size_t>((cols + m - 1) / m), 0);
    for (auto k = v.row_ptr[i]; k < v.row_ptr[i + 1]; ++k) ++kept[static_cast<std::size_t>(v.col_ind[k] / m)];
    for (std::size_t group = 0; group < kept.size(); ++group) {
      const std::int64_t width = std::min(m, cols - static_cast<std::int64_t>(group) * m);
      ASSERT_EQ(kept[group], std::min(n, width)) << "row " << i << ", group " << group;
    }
  }
  for (double x : v.values) {
    EXPECT_GE(std::abs(x), 0.5);
    EXPECT_LT(std::abs(x), 1.5);
  }
}

INSTANTIATE_TEST_SUITE_P(shapes, nm_sparsity,
                         testing::Values(nm_case{64, 128, 2, 4}, nm_case{33, 70, 1, 4}, nm_case{20, 33, 4, 8},
                                         nm_case{10, 31, 3, 7}, nm_case{9, 40, 0, 4}, nm_case{9, 10, 4, 4},
                                         nm_case{5, 3, 2, 100}, nm_case{0, 8, 2, 4}, nm_case{8, 0, 2, 4},
                                         nm_case{7, 12, 1, 1}));

/// Each of the six choices of 2:4 equally often: chi-squared with 5 degrees of freedom stays below 20.5 with 99.9 %.
TEST(nm, prefers_no_choice) {
  const std::int64_t rows = 500, groups = 60;
  const auto a = generate::nm<float>(rows, 4 * groups, 2, 4, 3);
  const auto v = a.view();
  std::map<std::int64_t, double> chosen;
  for (std::int64_t k = 0; k < v.nnz(); k += 2) ++chosen[v.col_ind[k] % 4 * 4 + v.col_ind[k + 1] % 4];
  EXPECT_EQ(chosen.size(), 6u);
  const double expected = static_cast<double>(rows * groups) / 6;
  double chi_squared = 0;
  for (const auto& [choice, times] : chosen) chi_squared += (times - expected) * (times - expected) / expected;
  EXPECT_LT(chi_squared, 20.5);
}

struct hypersparse_case {
  std::int64_t rows, cols, nnz;
};
void PrintTo(const hypersparse_case& c, std::ostream* out) { *out << c.nnz << " in " << c.rows << "x" << c.cols; }

class hypersparse_matrix : public testing::TestWithParam<hypersparse_case> {};

TEST_P(hypersparse_matrix, has_exactly_so_many_entries_all_over_the_place) {
  const auto [rows, cols, nnz] = GetParam();
  const auto a = generate::hypersparse<double>(rows, cols, nnz, 1);
  expect_valid_csr(a);
  EXPECT_EQ(a.rows(), rows);
  EXPECT_EQ(a.cols(), cols);
  ASSERT_EQ(a.nnz(), nnz);
  const auto v = a.view();
  std::int64_t upper = 0, left = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    upper += i < rows / 2 ? v.row_ptr[i + 1] - v.row_ptr[i] : 0;
  }
  for (auto j : v.col_ind) left += j < cols / 2;
  const double half = static_cast<double>(nnz) / 2, deviation = std::sqrt(static_cast<double>(nnz)) / 2;
  EXPECT_NEAR(static_cast<double>(upper), half, 4 * deviation + 1);
  EXPECT_NEAR(static_cast<double>(left), half, 4 * deviation + 1);
}

INSTANTIATE_TEST_SUITE_P(shapes, hypersparse_matrix,
                         testing::Values(hypersparse_case{3000000, 2000000, 4000},
                                         hypersparse_case{100, 2147483647, 500}, hypersparse_case{20, 20, 200},
                                         hypersparse_case{3, 3, 5}, hypersparse_case{1, 1, 1},
                                         hypersparse_case{50, 40, 0}, hypersparse_case{0, 5, 0},
                                         hypersparse_case{5, 0, 0}));

TEST(linking_matrix, has_short_rows_and_as_many_long_ones_as_asked_for) {
  const auto a = generate::linking<double>(5000, 700, 3, 7, 600, 1);
  expect_valid_csr(a);
  EXPECT_EQ(a.rows(), 5000);
  EXPECT_EQ(a.cols(), 700);
  const auto v = a.view();
  std::map<std::int64_t, int> lengths;
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const std::int64_t entries = v.row_ptr[i + 1] - v.row_ptr[i];
    ++lengths[entries];
    if (entries != 600) continue;
    EXPECT_TRUE(before < 0 || std::abs(static_cast<double>(i - before) - 5000.0 / 7) <= 1) << "evenly spread";
    before = i;
  }
  EXPECT_EQ(lengths[600], 7);
  EXPECT_EQ(lengths.size(), 6u);
  for (int entries = 1; entries <= 5; ++entries) EXPECT_NEAR(lengths[entries], 4993.0 / 5, 150) << entries;
  // Every other row has one of the last columns.
  const auto crossed = generate::linking<double>(4000, 500, 2, 0, 0, 3, 4);
  expect_valid_csr(crossed);
  std::vector<int> entries(500);
  for (const std::int32_t col : crossed.view().col_ind) ++entries[static_cast<std::size_t>(col)];
  for (std::size_t col = 496; col < 500; ++col) EXPECT_NEAR(entries[col], 500, 100) << col;
  EXPECT_LT(*std::max_element(entries.begin(), entries.begin() + 496), 50);
  // No more than there are columns; none at all; nothing but linking rows.
  EXPECT_LE(generate::linking<float>(10, 2, 8, 0, 0, 1).nnz(), 20);
  EXPECT_EQ(generate::linking<float>(10, 0, 8, 0, 0, 1).nnz(), 0);
  EXPECT_EQ(generate::linking<float>(0, 10, 8, 0, 10, 1).nnz(), 0);
  EXPECT_EQ(generate::linking<float>(10, 9, 1, 10, 9, 1).nnz(), 90);
}

// --- Chosen spectrum ------------------------------------------------------------------------------------------------

struct condition_case {
  std::int64_t rows;
  double condition;
};
void PrintTo(const condition_case& c, std::ostream* out) { *out << c.rows << " rows, condition " << c.condition; }

class spd_condition : public testing::TestWithParam<condition_case> {};

/// Long double, so that a condition of 2^40 leaves digits for the least eigenvalue.
TEST_P(spd_condition, is_the_one_asked_for) {
  using matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const auto [rows, condition] = GetParam();
  const auto a = generate::spd<double>(rows, condition, 1);
  expect_valid_csr(a);
  const auto values =
      Eigen::SelfAdjointEigenSolver<matrix>(dense(a).cast<long double>(), Eigen::EigenvaluesOnly).eigenvalues().eval();
  const long double tolerance = 1e-17L * condition * static_cast<long double>(rows) + 1e-15L;
  EXPECT_NEAR(static_cast<double>(values[0] - 1), 0, static_cast<double>(tolerance));
  EXPECT_NEAR(static_cast<double>(values[rows - 1] - condition), 0, static_cast<double>(tolerance));
}

INSTANTIATE_TEST_SUITE_P(conditions, spd_condition,
                         testing::Values(condition_case{2, 10}, condition_case{7, 1.5}, condition_case{64, 1},
                                         condition_case{100, 100}, condition_case{101, 1e6}, condition_case{150, 1e9},
                                         condition_case{120, 0x1p40}, condition_case{1, 1}));

TEST(spd, fills_every_octave_alike) {
  const double octaves = 10;
  const Eigen::MatrixXd a = dense(generate::spd<double>(400, std::exp2(octaves), 5));
  const Eigen::VectorXd values =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a, Eigen::EigenvaluesOnly).eigenvalues();
  std::vector<int> in_octave(static_cast<std::size_t>(octaves), 0);
  for (const double value : values.head(399)) ++in_octave[static_cast<std::size_t>(std::log2(value + 1e-9))];
  for (const int count : in_octave) EXPECT_NEAR(count, 40, 24);
}

TEST(spd, stays_sparse_and_without_order) {
  const auto a = generate::spd<float>(20000, 1e4, 1);
  const auto v = a.view();
  std::int64_t longest = 0, far = 0;
  for (std::int64_t i = 0; i < v.rows; ++i) {
    longest = std::max<std::int64_t>(longest, v.row_ptr[i + 1] - v.row_ptr[i]);
    for (auto k = v.row_ptr[i]; k < v.row_ptr[i + 1]; ++k) far += std::abs(v.col_ind[k] - i) > 2000;
  }
  EXPECT_EQ(longest, 22);
  EXPECT_GT(static_cast<double>(far) / static_cast<double>(a.nnz()), 0.7);
}

TEST(spd, rounds_to_single_precision_once) {
  const auto a = generate::spd<double>(300, 1e9, 1);
  const auto single = generate::spd<float>(300, 1e9, 1);
  ASSERT_EQ(a.nnz(), single.nnz());
  for (std::int64_t k = 0; k < a.nnz(); ++k) {
    ASSERT_EQ(single.view().values[k], static_cast<float>(a.view().values[k]));
  }
}

// --- Blocks of unequal heights --------------------------------------------------------------------------------------

TEST(blocks, have_heights_within_their_limits_and_equal_columns) {
  const auto a = generate::blocks<double>(500, 3, 9, 2, 1);
  expect_valid_csr(a);
  const auto v = a.view();
  const auto columns = [&](std::int64_t row) {
    return std::vector<std::int32_t>(v.col_ind.begin() + v.row_ptr[row], v.col_ind.begin() + v.row_ptr[row + 1]);
  };
  std::set<std::int64_t> heights;
  for (std::int64_t begin = 0; begin < v.rows;) {
    // Two nodes almost never have equal column sets, so a change of the set is a node's end.
    std::int64_t end = begin + 1;
    while (end < v.rows && columns(end) == columns(begin)) ++end;
    if (end < v.rows) {
      EXPECT_GE(end - begin, 3);
      EXPECT_LE(end - begin, 9);
      heights.insert(end - begin);
    }
    const auto own = columns(begin);
    for (std::int64_t row = begin; row < end; ++row) {
      EXPECT_TRUE(std::binary_search(own.begin(), own.end(), static_cast<std::int32_t>(row)));
    }
    begin = end;
  }
  EXPECT_EQ(heights.size(), 7u) << "3 .. 9";
  const Eigen::MatrixXd d = dense(a);
  EXPECT_TRUE(d == d.transpose());
  for (int i = 0; i < 500; ++i) EXPECT_NEAR(d(i, i) - (d.row(i).cwiseAbs().sum() - d(i, i)), 1.0, 1e-12);
}

// --- Reproducibility ------------------------------------------------------------------------------------------------

struct fixed_case {
  std::string specification;
  std::uint64_t fp64, fp32;
};
void PrintTo(const fixed_case& c, std::ostream* out) { *out << c.specification; }

class fixed_matrix : public testing::TestWithParam<fixed_case> {};

/// The sums were computed once: a platform, compiler or change that gives other matrices shows up here.
TEST_P(fixed_matrix, is_the_same_everywhere) {
  const auto& [specification, fp64, fp32] = GetParam();
  EXPECT_EQ(checksum_of(generate::from_specification<double>(specification)), fp64);
  EXPECT_EQ(checksum_of(generate::from_specification<float>(specification)), fp32);
}

INSTANTIATE_TEST_SUITE_P(
    checksums, fixed_matrix,
    testing::Values(fixed_case{"elasticity:6,5,4", 0xddc54dd7c7444849u, 0x86da79cfc87a5a61u},
                    fixed_case{"stencil5:20,30", 0x3db9a56d7fbb9b22u, 0x4c41ff68cdb6d362u},
                    fixed_case{"stencil9:20,30", 0xc404da711d7b2d75u, 0x394b5cf3cc936335u},
                    fixed_case{"stencil7:8,9,10", 0x535082288b0caad3u, 0x691af203a56604d3u},
                    fixed_case{"stencil27:8,9,10", 0x436d53cdae707dfau, 0x7e919d377687c35au},
                    fixed_case{"banded:500,12,seed=1", 0xd253eee761873fb1u, 0xd0864ebebbef3a6du},
                    fixed_case{"uniform:300,200,0.9,seed=1", 0xdb0ea226fa370b79u, 0x400dace5308af6cfu},
                    fixed_case{"rmat:10,8,seed=1", 0x65aaea2d11cb58a8u, 0x735b87e33cf19d79u},
                    fixed_case{"elasticity:4,3,2,dof=1", 0xa196bbf721fa3dddu, 0xe5b0de8130d12c6du},
                    fixed_case{"elasticity:4,3,2,dof=6", 0xc15b154282cebf47u, 0x3d328f4ec30e7647u},
                    fixed_case{"nm:100,203,2,4,seed=1", 0x7627bb047de168b7u, 0x3569f16513eb93efu},
                    fixed_case{"nm:50,64,3,16,seed=9", 0x069b9bcfd850e197u, 0x8494c0ddc58240acu},
                    fixed_case{"hypersparse:100000,5000,700,seed=1", 0x3cd7234379650ed4u, 0xf91b2f060ec64587u},
                    fixed_case{"linking:2000,300,2,5,200,seed=1", 0xf352d3726f9bd9cfu, 0xe7e88855326737d4u},
                    fixed_case{"linking:2000,300,2,5,200,seed=1,linking_cols=3", 0xcc107f655397efdu,
                               0x59ef3b1c51a9361au},
                    fixed_case{"spd:500,1e6,seed=1", 0xd3f9c45677364f76u, 0x6e6167a7cb5e52fcu},
                    fixed_case{"spd:301,1099511627776,seed=2", 0x079847b4c45e21a8u, 0xe89b7719ea451826u},
                    fixed_case{"blocks:400,2,11,3,seed=1", 0xac20230ed305febeu, 0x4d87e6340ea5b68bu}));

class seeded_family : public testing::TestWithParam<std::string> {};

TEST_P(seeded_family, changes_with_its_seed_and_only_with_it) {
  const std::string form = GetParam();
  const auto first = checksum_of(generate::from_specification<double>(form + ",seed=1"));
  EXPECT_EQ(checksum_of(generate::from_specification<double>(form + ",seed=1")), first);
  EXPECT_EQ(checksum_of(generate::from_specification<double>(form)), first) << "the seed is 1 if not given";
  EXPECT_NE(checksum_of(generate::from_specification<double>(form + ",seed=2")), first);
}

INSTANTIATE_TEST_SUITE_P(families, seeded_family,
                         testing::Values("banded:100,3", "uniform:100,100,0.8", "rmat:7,4", "nm:40,40,2,4",
                                         "hypersparse:1000,1000,50", "linking:100,50,2,3,20", "spd:50,100",
                                         "blocks:60,2,5,1"));

TEST(generators, do_not_depend_on_the_number_of_threads) {
  for (const std::string form :
       {"elasticity:9,8,7", "uniform:999,500,0.95", "rmat:11,8", "banded:3000,9", "nm:999,500,2,4",
        "hypersparse:9999,999,5000", "linking:9999,999,3,5,400", "spd:9999,1e5", "blocks:9999,1,12,3"}) {
    const auto sum_by = [&](int threads) {
      const bcsc::test::with_threads of_many(threads);
      return checksum_of(generate::from_specification<double>(form));
    };
    const auto alone = sum_by(1);
    for (const int threads : bcsc::test::thread_counts) EXPECT_EQ(sum_by(threads), alone) << form << ", " << threads;
  }
}

// --- The catalogue --------------------------------------------------------------------------------------------------

TEST(catalogue, names_every_matrix_once) {
  std::set<std::string> names;
  for (const auto& entry : generate::catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.kind.empty());
  }
  for (const char* name : {"elasticity-30", "elasticity-45", "band-20000-20", "stencil9-400", "stencil27-64", "rmat-17",
                           "rmat-20", "uniform-2048-0.6", "uniform-4096-0.95", "nm-4096-2-4", "spd-200000-1e6",
                           "hypersparse-4000000", "blocks-100000", "elasticity-24-dof6"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

class catalogue_matrix : public testing::TestWithParam<std::string> {};

TEST_P(catalogue_matrix, is_made_by_its_name) {
  const auto& all = generate::catalogue();
  const auto entry = std::find_if(all.begin(), all.end(), [](const auto& e) { return e.name == GetParam(); });
  ASSERT_NE(entry, all.end());
  const auto by_name = generate::from_specification<float>(entry->name);
  EXPECT_GT(by_name.nnz(), 100000);
  EXPECT_EQ(checksum_of(by_name), checksum_of(generate::from_specification<float>(entry->specification)));
}

INSTANTIATE_TEST_SUITE_P(small_ones, catalogue_matrix,
                         testing::Values("band-20000-20", "stencil9-400", "uniform-2048-0.95", "hypersparse-4000000",
                                         "spd-200000-1e6", "blocks-100000"));

TEST(catalogue, elasticity_30_is_large_enough) {
  const auto a = generate::from_specification<float>("elasticity-30");
  EXPECT_EQ(a.rows(), 3 * 30 * 31 * 31);
  EXPECT_EQ(a.nnz(), 9 * 88 * 91 * 91);
}

// --- Errors ---------------------------------------------------------------------------------------------------------

struct refused_case {
  const char* what;
  std::function<void()> call;
  bcsc::errc code;
  const char* names;  ///< the message holds this
};
void PrintTo(const refused_case& c, std::ostream* out) { *out << c.what; }

class refused : public testing::TestWithParam<refused_case> {};

TEST_P(refused, names_the_parameter_and_its_value) {
  try {
    GetParam().call();
    FAIL() << "no error";
  } catch (const bcsc::error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().names), std::string::npos) << error.what();
  }
}

refused_case specification(const char* text, const char* names) {
  return {text, [=] { generate::from_specification<double>(text); }, bcsc::errc::invalid_argument, names};
}

constexpr auto invalid = bcsc::errc::invalid_argument;
constexpr auto overflow = bcsc::errc::size_overflow;
constexpr std::int64_t huge = std::int64_t{1} << 40;

INSTANTIATE_TEST_SUITE_P(
    parameters, refused,
    testing::Values(
        refused_case{"nx", [] { generate::elasticity<double>(0, 2, 2); }, invalid, "nx = 0"},
        refused_case{"ny", [] { generate::elasticity<double>(2, -3, 2); }, invalid, "ny = -3"},
        refused_case{"nz", [] { generate::elasticity<float>(2, 3, 0); }, invalid, "nz = 0"},
        refused_case{"rows", [] { generate::elasticity<float>(1000, 1000, 1000); }, overflow, "rows = 3,006,003,000"},
        refused_case{"nnz", [] { generate::elasticity<float>(300, 300, 300); }, overflow, "nnz = "},
        refused_case{"63 bits", [] { generate::elasticity<float>(huge, huge, huge); }, overflow, "nx = "},
        refused_case{"points", [] { generate::stencil<double>(6, 4, 4); }, invalid, "points = 6"},
        refused_case{"plane", [] { generate::stencil<double>(5, 4, 4, 2); }, invalid, "nz = 2"},
        refused_case{"stencil rows", [] { generate::stencil<double>(7, 2000, 2000, 2000); }, overflow, "rows = "},
        refused_case{"stencil nnz", [] { generate::stencil<double>(27, 600, 600, 600); }, overflow, "nnz = "},
        refused_case{"stencil product", [] { generate::stencil<double>(5, huge, huge); }, overflow, "rows"},
        refused_case{"half_width", [] { generate::banded<double>(10, -1, 1); }, invalid, "half_width = -1"},
        refused_case{"banded rows", [] { generate::banded<double>(-1, 1, 1); }, invalid, "rows = -1"},
        refused_case{"banded nnz", [] { generate::banded<double>(2000000, 1000, 1); }, overflow, "nnz = "},
        refused_case{"sparsity", [] { generate::uniform<double>(9, 9, 1.5, 1); }, invalid, "sparsity = 1.5"},
        refused_case{"sparsity nan", [] { generate::uniform<double>(9, 9, std::nan(""), 1); }, invalid, "nan"},
        refused_case{"uniform cols", [] { generate::uniform<double>(9, -9, 0.5, 1); }, invalid, "cols = -9"},
        refused_case{"uniform wide", [] { generate::uniform<double>(1, huge, 0.5, 1); }, overflow, "cols = "},
        refused_case{"uniform nnz", [] { generate::uniform<double>(100000, 100000, 0.5, 1); }, overflow, "nnz = "},
        refused_case{"scale", [] { generate::rmat<double>(-1, 8, 1); }, invalid, "scale = -1"},
        refused_case{"scale 31", [] { generate::rmat<double>(31, 1, 1); }, overflow, "scale = 31"},
        refused_case{"edges", [] { generate::rmat<double>(30, 16, 1); }, overflow, "edges = "},
        refused_case{"degree", [] { generate::rmat<double>(3, -8, 1); }, invalid, "degree = -8"},
        refused_case{"a", [] { generate::rmat<double>(3, 1, 1, -0.1); }, invalid, "a = -0.1"},
        refused_case{"a + b + c", [] { generate::rmat<double>(3, 1, 1, 0.6, 0.3, 0.3); }, invalid, "a + b + c = 1.2"},
        refused_case{"dof 0", [] { generate::elasticity<double>(2, 2, 2, 0); }, invalid, "dof = 0"},
        refused_case{"dof 7", [] { generate::elasticity<double>(2, 2, 2, 7); }, invalid, "dof = 7"},
        refused_case{"dof nnz", [] { generate::elasticity<float>(150, 150, 150, 6); }, overflow, "nnz = "},
        refused_case{"nm rows", [] { generate::nm<double>(-1, 8, 2, 4, 1); }, invalid, "rows = -1"},
        refused_case{"nm cols", [] { generate::nm<double>(8, huge, 2, 4, 1); }, overflow, "cols = "},
        refused_case{"nm n", [] { generate::nm<double>(8, 8, 5, 4, 1); }, invalid, "n = 5"},
        refused_case{"nm n < 0", [] { generate::nm<double>(8, 8, -1, 4, 1); }, invalid, "n = -1"},
        refused_case{"nm m", [] { generate::nm<double>(8, 8, 0, 0, 1); }, invalid, "m = 0"},
        refused_case{"nm nnz", [] { generate::nm<double>(100000, 100000, 2, 4, 1); }, overflow, "nnz = "},
        refused_case{"hypersparse rows", [] { generate::hypersparse<double>(huge, 8, 2, 1); }, overflow, "rows = "},
        refused_case{"hypersparse cols", [] { generate::hypersparse<double>(8, -8, 2, 1); }, invalid, "cols = -8"},
        refused_case{"hypersparse nnz", [] { generate::hypersparse<double>(8, 8, -2, 1); }, invalid, "nnz = -2"},
        refused_case{"hypersparse full", [] { generate::hypersparse<double>(4, 4, 9, 1); }, invalid, "nnz = 9"},
        refused_case{"linking rows", [] { generate::linking<double>(huge, 8, 2, 1, 1, 1); }, overflow, "rows = "},
        refused_case{"linking cols", [] { generate::linking<double>(8, -8, 2, 1, 1, 1); }, invalid, "cols = -8"},
        refused_case{"linking degree", [] { generate::linking<double>(8, 8, 0, 1, 1, 1); }, invalid, "degree = 0"},
        refused_case{"linking more rows", [] { generate::linking<double>(8, 8, 2, 9, 1, 1); }, invalid,
                     "linking_rows = 9"},
        refused_case{"linking longer rows", [] { generate::linking<double>(8, 8, 2, 1, 9, 1); }, invalid,
                     "linking_degree = 9"},
        refused_case{"linking more cols", [] { generate::linking<double>(8, 8, 2, 1, 1, 1, 9); }, invalid,
                     "linking_cols = 9"},
        refused_case{"hypersparse of none", [] { generate::hypersparse<double>(0, 4, 1, 1); }, invalid, "nnz = 1"},
        refused_case{"spd rows", [] { generate::spd<double>(0, 10, 1); }, invalid, "rows = 0"},
        refused_case{"spd condition", [] { generate::spd<double>(9, 0.5, 1); }, invalid, "condition = 0.5"},
        refused_case{"spd nan", [] { generate::spd<double>(9, std::nan(""), 1); }, invalid, "condition = nan"},
        refused_case{"spd 2^41", [] { generate::spd<double>(9, 0x1p41, 1); }, invalid, "condition = 2"},
        refused_case{"spd one row", [] { generate::spd<double>(1, 3, 1); }, invalid, "condition = 3"},
        refused_case{"spd wide", [] { generate::spd<double>(huge, 3, 1); }, overflow, "rows = "},
        refused_case{"blocks least", [] { generate::blocks<double>(9, 0, 3, 1, 1); }, invalid, "least = 0"},
        refused_case{"blocks most", [] { generate::blocks<double>(9, 4, 3, 1, 1); }, invalid, "most = 3"},
        refused_case{"blocks degree", [] { generate::blocks<double>(9, 1, 3, -1, 1); }, invalid, "degree = -1"},
        refused_case{"blocks rows", [] { generate::blocks<double>(huge, 1, 3, 1, 1); }, overflow, "rows = "},
        refused_case{"blocks couplings", [] { generate::blocks<double>(9999, 1, 1, 1 << 20, 1); }, overflow,
                     "couplings"},
        refused_case{"blocks nnz", [] { generate::blocks<double>(60000, 60000, 60000, 0, 1); }, overflow, "nnz = "}));

INSTANTIATE_TEST_SUITE_P(
    specifications, refused,
    testing::Values(specification("", "the families are elasticity, stencil5"), specification("cube:3", "\"cube\""),
                    specification("elasticity", "nx is missing"), specification("elasticity:3,3", "nz is missing"),
                    specification("elasticity:3,3,3,3", "one too many"), specification("stencil5:3,3,", "one too many"),
                    specification("elasticity:3,,3", "ny = \"\""), specification("elasticity:3,x,3", "ny = \"x\""),
                    specification("elasticity:3,3.5,3", "ny = \"3.5\""),
                    specification("banded:9,99999999999999999999", "half_width = \"99999999999999999999\""),
                    specification("banded:9,2,seed=-1", "seed = \"-1\""),
                    specification("banded:9,2,seed=1,seed=2", "seed is given twice"),
                    specification("banded:9,2,speed=1", "\"speed\""),
                    specification("stencil7:4,4,4,seed=1", "\"seed\""),
                    specification("uniform:8,8,dense", "sparsity = \"dense\""),
                    specification("uniform:8,8,2", "sparsity = 2"), specification("elasticity:3,3,3,dof=9", "dof = 9"),
                    specification("elasticity:3,3,3,dof=x", "dof"), specification("nm:8,8,2", "m is missing"),
                    specification("nm:8,8,2,4,1", "one too many"), specification("hypersparse:8,8", "nnz is missing"),
                    specification("spd:8", "condition is missing"), specification("spd:8,high", "condition = \"high\""),
                    specification("blocks:8,1,2", "degree is missing"),
                    specification("spd:8", "its form is spd:rows,condition[,seed=]"),
                    specification("nm:8", "its form is nm:rows,cols,n,m[,seed=]"),
                    specification("elasticity:3", "its form is elasticity:nx,ny,nz[,dof=]")));

}  // namespace
