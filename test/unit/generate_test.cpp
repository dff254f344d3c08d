#include "bcsc/generate.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc_config.h"
#if BCSC_WITH_OPENMP
#include <omp.h>
#endif

namespace {

using bcsc::csr_matrix;
namespace generate = bcsc::generate;

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
                    spd_case{"banded:20,0,seed=7", 20, 20}, spd_case{"banded:12,40,seed=3", 12, 12 * 12}));

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
  const double weight = std::abs(generate::rmat<double>(0, 1, 3).values()[0]);
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

// --- Reproducibility ------------------------------------------------------------------------------------------------

struct fixed_case {
  std::string specification;
  std::uint64_t fp64, fp32;
};
void PrintTo(const fixed_case& c, std::ostream* out) { *out << c.specification; }

class fixed_matrix : public testing::TestWithParam<fixed_case> {};

/// The sums were computed once: a platform, compiler or change that gives other matrices is noticed here.
TEST_P(fixed_matrix, is_the_same_everywhere) {
  const auto& [specification, fp64, fp32] = GetParam();
  EXPECT_EQ(checksum_of(generate::from_specification<double>(specification)), fp64);
  EXPECT_EQ(checksum_of(generate::from_specification<float>(specification)), fp32);
}

INSTANTIATE_TEST_SUITE_P(checksums, fixed_matrix,
                         testing::Values(fixed_case{"elasticity:6,5,4", 0xddc54dd7c7444849u, 0x86da79cfc87a5a61u},
                                         fixed_case{"stencil5:20,30", 0x3db9a56d7fbb9b22u, 0x4c41ff68cdb6d362u},
                                         fixed_case{"stencil9:20,30", 0xc404da711d7b2d75u, 0x394b5cf3cc936335u},
                                         fixed_case{"stencil7:8,9,10", 0x535082288b0caad3u, 0x691af203a56604d3u},
                                         fixed_case{"stencil27:8,9,10", 0x436d53cdae707dfau, 0x7e919d377687c35au},
                                         fixed_case{"banded:500,12,seed=1", 0xd253eee761873fb1u, 0xd0864ebebbef3a6du},
                                         fixed_case{"uniform:300,200,0.9,seed=1", 0xdb0ea226fa370b79u,
                                                    0x400dace5308af6cfu},
                                         fixed_case{"rmat:10,8,seed=1", 0x65aaea2d11cb58a8u, 0x735b87e33cf19d79u}));

class seeded_family : public testing::TestWithParam<std::string> {};

TEST_P(seeded_family, changes_with_its_seed_and_only_with_it) {
  const std::string form = GetParam();
  const auto first = checksum_of(generate::from_specification<double>(form + ",seed=1"));
  EXPECT_EQ(checksum_of(generate::from_specification<double>(form + ",seed=1")), first);
  EXPECT_EQ(checksum_of(generate::from_specification<double>(form)), first) << "the seed is 1 if not given";
  EXPECT_NE(checksum_of(generate::from_specification<double>(form + ",seed=2")), first);
}

INSTANTIATE_TEST_SUITE_P(families, seeded_family, testing::Values("banded:100,3", "uniform:100,100,0.8", "rmat:7,4"));

#if BCSC_WITH_OPENMP
TEST(generators, do_not_depend_on_the_number_of_threads) {
  const int before = omp_get_max_threads();
  for (const std::string form : {"elasticity:9,8,7", "uniform:999,500,0.95", "rmat:11,8", "banded:3000,9"}) {
    omp_set_num_threads(1);
    const auto alone = checksum_of(generate::from_specification<double>(form));
    omp_set_num_threads(5);
    EXPECT_EQ(checksum_of(generate::from_specification<double>(form)), alone) << form;
  }
  omp_set_num_threads(before);
}
#endif

// --- The catalogue --------------------------------------------------------------------------------------------------

TEST(catalogue, names_every_matrix_once) {
  std::set<std::string> names;
  for (const auto& entry : generate::catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.kind.empty());
  }
  for (const char* name : {"elasticity-30", "elasticity-45", "band-20000-20", "stencil9-400", "stencil27-64", "rmat-17",
                           "rmat-20", "uniform-2048-0.6", "uniform-4096-0.95"}) {
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
                         testing::Values("band-20000-20", "stencil9-400", "uniform-2048-0.95"));

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
        refused_case{"rows", [] { generate::elasticity<float>(1000, 1000, 1000); }, overflow, "rows = 3006003000"},
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
        refused_case{"a + b + c", [] { generate::rmat<double>(3, 1, 1, 0.6, 0.3, 0.3); }, invalid, "a + b + c = 1.2"}));

INSTANTIATE_TEST_SUITE_P(
    specifications, refused,
    testing::Values(specification("", "elasticity:nx,ny,nz"), specification("cube:3", "\"cube\""),
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
                    specification("uniform:8,8,2", "sparsity = 2")));

}  // namespace
