// Every config of the CPU kernels, on every instruction set this machine has, and the reference, with rows of B that
// are NaN, infinite, near overflow or denormal: only stored entries of A take part.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bcsc/reference.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/tables/cpu.hpp"
#include "kernels/tables/scatter.hpp"
#include "test/support/battery.hpp"
#include "test/support/nonfinite.hpp"
#include "test/support/operands.hpp"
#include "test/unit/cpu_kernels.hpp"
#include "test/unit/cpu_product.hpp"

namespace bcsc::test {
namespace {

namespace tables = kernels::tables;

// --- Matrices, and what is planted into B and C0 --------------------------------------------------------------------

/// Thin, with an empty column, empty rows, a full row and explicit zeros.
sparse_case thin_case() {
  auto positions = scatter(45, 40, 450, 21);
  std::erase_if(positions, [](const auto& p) { return p.second == 17 || (p.first >= 20 && p.first < 25); });
  for (std::int64_t j = 0; j < 40; ++j) {
    if (j != 17) positions.insert({6, j});
  }
  sparse_case a = make_case("thin", 45, 40, positions, values::real, 22);
  for (std::size_t k = 0; k < a.entries.size(); k += 5) a.entries[k].value = 0;
  return a;
}

/// Full except for a few entries, some of them explicit zeros: the kernels look at columns instead of expanding them.
sparse_case nearly_full_case() {
  sparse_case a{"nearly full", 29, 23, {}};
  test_random random(23);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.cols; ++j) {
      if (random.below(40) != 0) a.entries.push_back({i, j, random.below(9) == 0 ? 0 : random.real()});
    }
  }
  return a;
}

/// Rows too long for one column's products to lie in L1 at once.
sparse_case heavy_case() {
  sparse_case a{"heavy", 9, 2100, {}};
  test_random random(24);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = i; j < a.cols; j += i == 4 ? 1 : 150) a.entries.push_back({i, j, random.real()});
  }
  return a;
}

struct matrix_and_widths {
  sparse_case a;
  std::vector<std::int64_t> widths;
};

const std::vector<matrix_and_widths>& matrices() {
  static const std::vector<matrix_and_widths> all{
      {thin_case(), {1, 2, 7, 33, 130}}, {nearly_full_case(), {1, 2, 7, 33, 130}}, {heavy_case(), {1, 7}}};
  return all;
}

/// What C0 is, and beta.
enum class former { not_read, finite, nan_in_a_row };
constexpr former all_former[] = {former::not_read, former::finite, former::nan_in_a_row};

/// A product with one odd row of B, or where C0 is finite a single element, and what may come of it.
template <class T>
struct odd_product {
  double alpha, beta;
  dense_table<T> b, c0;
  stored_product wanted;
  std::string what;

  odd_product(const sparse_case& a, bool transposed, std::int64_t n, odd kind, std::int64_t row, former c)
      : alpha(c == former::not_read ? 1 : -1.5),
        beta(c == former::not_read ? 0 : 0.5),
        b(random_table<T>(transposed ? a.rows : a.cols, n, values::real, 31)),
        c0(random_table<T>(transposed ? a.cols : a.rows, n, values::real, 32)),
        what(a.name + ", row " + std::to_string(row) + " of B " + to_string(kind) + ", ") {
    if (c == former::finite) {
      plant(b, row, (13 * row + 29 * static_cast<std::int64_t>(kind)) % n, kind);
    } else {
      plant(b, row, kind);
    }
    if (c == former::nan_in_a_row) plant(c0, row % c0.rows, odd::nan);
    if (c == former::not_read) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
    wanted = multiply_stored<T>(a, transposed, alpha, b, beta, c0);
  }
};

/// Calls check(a, product) for all of them. They are made once and shared by the kernels of one type.
template <class T, class Check>
void for_each_odd_product(bool transposed, const Check& check) {
  using key = std::tuple<std::size_t, bool, std::int64_t, odd, std::int64_t, former>;
  static std::map<key, odd_product<T>> known;
  for (std::size_t m = 0; m < matrices().size(); ++m) {
    const sparse_case& a = matrices()[m].a;
    for (const std::int64_t n : matrices()[m].widths) {
      for (const odd kind : all_odd) {
        for (const std::int64_t row : telling_rows(a, transposed)) {
          for (const former c : all_former) {
            const auto at = known.try_emplace({m, transposed, n, kind, row, c}, a, transposed, n, kind, row, c).first;
            check(a, at->second);
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

// --- Every row x instruction set ------------------------------------------------------------------------------------

class cpu_nonfinite : public ::testing::TestWithParam<kernel_case> {};

template <class T, class I>
void check_kernel(const kernel_case& kernel) {
  // The height that the kernel is made for, even and uneven, and others.
  std::vector<cpu_setting> stored(2, {.form = kernel.form, .m_block = kernel.m_tile});
  stored[1].own_heights = true;
  for (const std::int64_t m_block : {1, 3, 16, 300}) {
    stored.push_back({.form = kernel.form, .m_block = m_block, .permuted = m_block != 3});
  }
  std::map<std::pair<const sparse_case*, std::size_t>, cpu_stored<T, I>> operands;
  test_random random(41);
  layout own = layout::row_major, others = layout::col_major;
  for_each_odd_product<T>(kernel.transposed, [&](const sparse_case& a, const odd_product<T>& p) {
    const auto other = static_cast<std::size_t>(1 + random.below(std::ssize(stored) - 1));
    for (const std::size_t which : {std::size_t{0}, other}) {
      cpu_setting s = stored[which];
      s.n = p.b.cols;
      s.for_b.padding = random.below(2) * 3;
      s.for_c = {which == 0 ? own : others, random.below(2) * 3, random.below(2)};
      s.alpha = p.alpha;
      s.beta = p.beta;
      s.scattered = random.below(4) == 0;
      const auto& operand = operands.try_emplace({&a, which}, cpu_operand<T, I>(a, s)).first->second;
      expect_stored_only<T>(p.wanted, run_on_cpu(kernel.launch, operand, s, p.b, p.c0), p.what + words(s));
    }
    std::swap(own, others);
  });
}

TEST_P(cpu_nonfinite, only_stored_entries_take_part) {
  const kernel_case& kernel = GetParam();
  with_value_type(kernel.type, [&]<class T>() {
    kernel.index_bits == 64 ? check_kernel<T, std::int64_t>(kernel) : check_kernel<T, std::int32_t>(kernel);
  });
}

INSTANTIATE_TEST_SUITE_P(tables, cpu_nonfinite, ::testing::ValuesIn(every_cpu_kernel()),
                         [](const auto& info) { return info.param.name; });

// --- The reference --------------------------------------------------------------------------------------------------

template <class T>
class reference_nonfinite : public ::testing::Test {};
using number_types = ::testing::Types<float, double, half, bfloat16>;
TYPED_TEST_SUITE(reference_nonfinite, number_types);

TYPED_TEST(reference_nonfinite, only_stored_entries_take_part) {
  using T = TypeParam;
  for_each_odd_product<T>(false, [](const sparse_case& a, const odd_product<T>& p) {
    const csr_matrix<T> csr = csr_of<T>(a);
    const auto expect = [&](const auto& matrix, const char* format) {
      operand<T> on_b(context::cpu(1), p.b, {}), on_c(context::cpu(1), p.c0, {layout::col_major});
      const dense_view<const T> b = on_b.view();
      reference::spmm<T, std::int32_t>(static_cast<scalar_of<T>>(p.alpha), matrix.view(), b,
                                       static_cast<scalar_of<T>>(p.beta), on_c.view());
      expect_stored_only<T>(p.wanted, on_c.read(), p.what + format);
    };
    expect(csr, "csr");
    expect(to_coo(csr), "coo");
    expect(to_csc(csr), "csc");
    expect(to_bcsc(csr, 4), "bcsc");
  });
}

// --- The oracle -----------------------------------------------------------------------------------------------------

/// C = A * B, where A = [a ...] and B = [b ...]' are a single row and a single column.
unsigned classes_of(const std::vector<float>& a, const std::vector<float>& b) {
  sparse_case row{"row", 1, std::ssize(a), {}};
  dense_table<float> column(std::ssize(b), 1), c0(1, 1);
  for (std::size_t k = 0; k < a.size(); ++k) {
    row.entries.push_back({0, static_cast<std::int64_t>(k), a[k]});
    column.at[k] = b[k];
  }
  return multiply_stored<float>(row, false, 1, column, 0, c0).classes(0, 0);
}

TEST(oracle, tells_classes_apart) {
  constexpr float inf = std::numeric_limits<float>::infinity(), top = std::numeric_limits<float>::max();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(classes_of({1, 2}, {3, 4}), is_finite);
  EXPECT_EQ(classes_of({1, 2}, {3, nan}), is_nan);
  EXPECT_EQ(classes_of({1, -2}, {3, inf}), is_minus_infinity);
  EXPECT_EQ(classes_of({1, 0}, {3, inf}), is_nan);
  EXPECT_EQ(classes_of({1, 1}, {inf, -inf}), is_nan);
  EXPECT_EQ(classes_of({0.25F, 1}, {top, 1}), is_finite);
  EXPECT_EQ(classes_of({1, 1}, {top, 1}), is_finite | is_plus_infinity);
  EXPECT_EQ(classes_of({3, 1}, {top, 1}), is_plus_infinity);
  EXPECT_EQ(classes_of({1, 1}, {top, -top}), is_finite | is_plus_infinity | is_minus_infinity | is_nan);
  EXPECT_EQ(classes_of({3, 1}, {top, -inf}), is_minus_infinity | is_nan);
}

}  // namespace
}  // namespace bcsc::test
