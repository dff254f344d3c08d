#include "bcsc/reference.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "bcsc/error.hpp"

namespace {

using namespace bcsc;

/// The 6x6 example of docs/formats.md, written down in every format by hand.
template <class T, class I>
struct golden {
  std::vector<I> coo_row{0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5};
  std::vector<I> coo_col{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5};
  std::vector<T> by_rows;
  std::vector<I> row_ptr{0, 4, 7, 10, 12, 14, 16};
  std::vector<I> csc_row{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5};
  std::vector<T> by_cols;
  std::vector<I> csc_ptr{0, 4, 7, 10, 12, 14, 16};
  std::vector<I> bsr_ptr{0, 1, 2}, bsr_col{0, 1};  // blocks of 4 x 4: ragged on both sides
  std::vector<T> bsr_values;
  std::vector<I> bcsc_brow{0, 4, 6}, bcsc_col{0, 1, 2, 3, 4, 5}, bcsc_ptr{0, 4, 7, 10, 12, 14, 16};  // m_block 4
  std::vector<I> bcsc_row{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5};
  std::vector<T> bcsc_values;

  /// `v` are the 16 values by rows.
  explicit golden(const std::array<T, 16>& v) : by_rows(v.begin(), v.end()) {
    by_cols = {v[0], v[4], v[7], v[10], v[1], v[5], v[8], v[2], v[6], v[9], v[3], v[11], v[12], v[14], v[13], v[15]};
    bcsc_values = by_cols;
    const T o = 0;
    bsr_values = {v[0],  v[1],  v[2], v[3], v[4],  v[5],  v[6], o, v[7], v[8], v[9], o, v[10], o, o, v[11],
                  v[12], v[13], o,    o,    v[14], v[15], o,    o, o,    o,    o,    o, o,     o, o, o};
  }
  coo_view<T, I> coo() const { return {6, 6, coo_row, coo_col, by_rows}; }
  csr_view<T, I> csr() const { return {6, 6, row_ptr, coo_col, by_rows}; }
  csc_view<T, I> csc() const { return {6, 6, csc_ptr, csc_row, by_cols}; }
  bsr_view<T, I> bsr() const { return {6, 6, 4, 4, bsr_ptr, bsr_col, bsr_values}; }
  bcsc_view<T, I> bcsc() const { return {6, 6, 4, bcsc_brow, bcsc_col, bcsc_ptr, bcsc_row, bcsc_values}; }
};

template <class T>
constexpr std::array<T, 16> golden_values{T(7.5), T(2.9), T(2.8), T(2.7), T(6.8), T(5.7), T(3.8), T(2.4),
                                          T(6.2), T(3.2), T(9.7), T(2.3), T(5.8), T(5.0), T(6.6), T(8.1)};
template <class T>
constexpr std::array<T, 16> whole_values{7, -3, 2, 5, 6, 4, -8, 2, 9, 3, -1, 2, 5, 11, 6, -4};

/// Calls body(name, view) for each of the five formats.
template <class T, class I, class Body>
void for_each_format(const golden<T, I>& a, const Body& body) {
  body("coo", a.coo());
  body("csr", a.csr());
  body("csc", a.csc());
  body("bsr", a.bsr());
  body("bcsc", a.bcsc());
}

template <class Types>
class reference_spmm : public testing::Test {};
using types = testing::Types<std::pair<float, std::int32_t>, std::pair<float, std::int64_t>,
                             std::pair<double, std::int32_t>, std::pair<double, std::int64_t>>;
TYPED_TEST_SUITE(reference_spmm, types);

// B = [1 .. 6 | 1, -1, 1, -1, 1, -1]; the products were computed by hand.
TYPED_TEST(reference_spmm, golden_product) {
  using T = typename TypeParam::first_type;
  const golden<T, typename TypeParam::second_type> a(golden_values<T>);
  const std::vector<T> b{1, 1, 2, -1, 3, 1, 4, -1, 5, 1, 6, -1};
  const double expected[6][2] = {{32.5, 4.7}, {29.6, 4.9}, {24.4, -0.6}, {18.9, 7.4}, {59.0, 0.8}, {81.6, -1.5}};
  for_each_format(a, [&](const char* format, const auto& view) {
    std::vector<T> c(12, std::numeric_limits<T>::quiet_NaN());
    reference::spmm(T(1), view, dense_view<const T>(b.data(), 6, 2), T(0), dense_view<T>(c.data(), 6, 2));
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 2; ++j) EXPECT_NEAR(c[i * 2 + j], expected[i][j], 1e-4) << format << " " << i << "," << j;
    }
  });
}

TYPED_TEST(reference_spmm, formats_agree_in_every_layout) {
  using T = typename TypeParam::first_type;
  const golden<T, typename TypeParam::second_type> a(whole_values<T>);
  const int n = 3, ld = 9;
  const T untouched = -77;
  for (layout b_order : {layout::row_major, layout::col_major}) {
    for (layout c_order : {layout::row_major, layout::col_major}) {
      std::vector<T> b_data(6 * ld, std::numeric_limits<T>::quiet_NaN());  // what ld spans beyond B must not be read
      dense_view<T> b(b_data.data(), 6, n, ld, b_order);
      for (int k = 0; k < 6; ++k) {
        for (int j = 0; j < n; ++j) b(k, j) = T((k * 5 + j * 3) % 7 - 3);
      }
      T dense[6][6] = {};
      for (int k = 0; k < 16; ++k) dense[a.coo_row[k]][a.coo_col[k]] = a.by_rows[k];
      for_each_format(a, [&](const char* format, const auto& view) {
        std::vector<T> c_data(6 * ld, untouched);
        dense_view<T> c(c_data.data(), 6, n, ld, c_order);
        for (int i = 0; i < 6; ++i) {
          for (int j = 0; j < n; ++j) c(i, j) = T(i - j);
        }
        reference::spmm(T(2), view, dense_view<const T>(b), T(-3), c);
        for (int i = 0; i < 6; ++i) {
          for (int j = 0; j < n; ++j) {
            T sum = 0;
            for (int k = 0; k < 6; ++k) sum += dense[i][k] * b(k, j);
            EXPECT_EQ(c(i, j), 2 * sum - 3 * T(i - j)) << format << " " << i << "," << j;
          }
        }
        std::size_t kept = 0;
        for (T value : c_data) kept += value == untouched;
        EXPECT_EQ(kept, c_data.size() - 6 * n) << format;
      });
    }
  }
}

TYPED_TEST(reference_spmm, beta_zero_never_reads_c) {
  using T = typename TypeParam::first_type;
  const golden<T, typename TypeParam::second_type> a(whole_values<T>);
  const std::vector<T> b(6, 1);
  for_each_format(a, [&](const char* format, const auto& view) {
    std::vector<T> c(6, std::numeric_limits<T>::quiet_NaN());
    reference::spmm(T(1), view, dense_view<const T>(b.data(), 6, 1), T(0), dense_view<T>(c.data(), 6, 1));
    EXPECT_EQ(c, (std::vector<T>{11, 2, 14, 1, 16, 2})) << format;
  });
}

TYPED_TEST(reference_spmm, alpha_zero_reads_neither_a_nor_b) {
  using T = typename TypeParam::first_type;
  std::array<T, 16> nothing;
  nothing.fill(std::numeric_limits<T>::quiet_NaN());
  const golden<T, typename TypeParam::second_type> a(nothing);
  const std::vector<T> b(6, std::numeric_limits<T>::infinity());
  for_each_format(a, [&](const char* format, const auto& view) {
    std::vector<T> c{1, 2, 3, 4, 5, 6};
    reference::spmm(T(0), view, dense_view<const T>(b.data(), 6, 1), T(2), dense_view<T>(c.data(), 6, 1));
    EXPECT_EQ(c, (std::vector<T>{2, 4, 6, 8, 10, 12})) << format;
    c.assign(6, std::numeric_limits<T>::quiet_NaN());
    reference::spmm(T(0), view, dense_view<const T>(b.data(), 6, 1), T(0), dense_view<T>(c.data(), 6, 1));
    EXPECT_EQ(c, std::vector<T>(6, 0)) << format;
  });
}

TYPED_TEST(reference_spmm, no_columns_and_no_rows) {
  using T = typename TypeParam::first_type;
  using I = typename TypeParam::second_type;
  const golden<T, I> a(whole_values<T>);
  for_each_format(a, [&](const char*, const auto& view) {
    reference::spmm(T(1), view, dense_view<const T>(nullptr, 6, 0, 1), T(0), dense_view<T>(nullptr, 6, 0, 1));
  });
  const std::vector<I> zero(1, 0);
  const std::vector<T> b(3, 1);
  csr_view<T, I> flat{0, 3, zero, {}, {}};
  bcsc_view<T, I> flat_bcsc{0, 3, 4, zero, {}, zero, {}, {}};
  reference::spmm(T(1), flat, dense_view<const T>(b.data(), 3, 1), T(0), dense_view<T>(nullptr, 0, 1, 1));
  reference::spmm(T(1), flat_bcsc, dense_view<const T>(b.data(), 3, 1), T(0), dense_view<T>(nullptr, 0, 1, 1));
  const std::vector<I> ends(4, 0);  // K = 0 still scales C
  csr_view<T, I> narrow{3, 0, ends, {}, {}};
  std::vector<T> c{1, 2, 3};
  reference::spmm(T(1), narrow, dense_view<const T>(nullptr, 0, 1, 1), T(3), dense_view<T>(c.data(), 3, 1));
  EXPECT_EQ(c, (std::vector<T>{3, 6, 9}));
}

TYPED_TEST(reference_spmm, wrong_operands_are_typed_errors) {
  using T = typename TypeParam::first_type;
  const golden<T, typename TypeParam::second_type> a(whole_values<T>);
  std::vector<T> data(64, 1);
  using dense = dense_view<T>;
  struct fault {
    dense b, c;
    errc code;
  };
  const dense good(data.data(), 6, 2);
  const std::vector<fault> faults{{dense(data.data(), 5, 2), good, errc::size_mismatch},
                                  {good, dense(data.data(), 7, 2), errc::size_mismatch},
                                  {good, dense(data.data(), 6, 3), errc::size_mismatch},
                                  {dense(data.data(), 6, -1), dense(data.data(), 6, -1), errc::size_mismatch},
                                  {dense(data.data(), 6, 2, 1), good, errc::bad_leading_dimension},
                                  {good, dense(data.data(), 6, 2, 1), errc::bad_leading_dimension},
                                  {dense(data.data(), 6, 2, 5, layout::col_major), good, errc::bad_leading_dimension},
                                  {good, dense(data.data(), 6, 2, 5, layout::col_major), errc::bad_leading_dimension},
                                  {dense(nullptr, 6, 0, 0), dense(nullptr, 6, 0, 1), errc::bad_leading_dimension}};
  const auto code_of = [](const auto& call) {
    try {
      call();
    } catch (const error& e) {
      return e.code();
    }
    return errc::ok;
  };
  for_each_format(a, [&](const char* format, auto view) {
    for (const fault& f : faults) {
      EXPECT_EQ(code_of([&] { reference::spmm(T(1), view, dense_view<const T>(f.b), T(0), f.c); }), f.code) << format;
    }
    view.space = memory_space::device;
    EXPECT_EQ(code_of([&] { reference::spmm(T(1), view, dense_view<const T>(good), T(0), good); }),
              errc::wrong_memory_space)
        << format;
  });
  for (T value : data) EXPECT_EQ(value, T(1));  // nothing ran
}

}  // namespace
