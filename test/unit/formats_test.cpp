// The formats as types: the worked example in each of them, footprints, and what their constructors accept and refuse.
#include "bcsc/formats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "test/support/code_of.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/viewed.hpp"

namespace bcsc {
namespace {

using test::code_of;

/// A span over a vector literal's elements, for comparison with a view's span.
template <class X>
std::vector<X> list(std::span<const X> s) {
  return {s.begin(), s.end()};
}

/// Of the significand.
template <class T>
constexpr int digits = std::numeric_limits<T>::digits;
template <>
constexpr int digits<half> = 11;
template <>
constexpr int digits<bfloat16> = 8;

template <class T, class I>
struct kind {
  using value_t = T;
  using index_t = I;
};
struct kind_names {
  template <class K>
  static std::string GetName(int) {
    return std::string(to_string(value_type_of<typename K::value_t>)) +
           (sizeof(typename K::index_t) == 4 ? "_int32" : "_int64");
  }
};
using kinds = ::testing::Types<kind<float, std::int32_t>, kind<float, std::int64_t>, kind<double, std::int32_t>,
                               kind<double, std::int64_t>, kind<half, std::int32_t>, kind<half, std::int64_t>,
                               kind<bfloat16, std::int32_t>, kind<bfloat16, std::int64_t>>;

/// The 6 x 6 matrix of docs/formats.md, every format written down by hand.
///
///     7.5 2.9 2.8 2.7 0   0
///     6.8 5.7 3.8 0   0   0
///     2.4 6.2 3.2 0   0   0
///     9.7 0   0   2.3 0   0
///     0   0   0   0   5.8 5.0
///     0   0   0   0   6.6 8.1
template <class K>
class golden : public ::testing::Test {
 public:
  using T = typename K::value_t;
  using I = typename K::index_t;
  using indices = std::vector<I>;

  static std::vector<T> numbers(std::initializer_list<double> list) {
    std::vector<T> converted;
    for (const double x : list) converted.push_back(static_cast<T>(x));
    return converted;
  }
  const std::vector<T> by_rows =
      numbers({7.5, 2.9, 2.8, 2.7, 6.8, 5.7, 3.8, 2.4, 6.2, 3.2, 9.7, 2.3, 5.8, 5.0, 6.6, 8.1});
  const std::vector<T> by_cols =
      numbers({7.5, 6.8, 2.4, 9.7, 2.9, 5.7, 6.2, 2.8, 3.8, 3.2, 2.7, 2.3, 5.8, 6.6, 5.0, 8.1});
  const csr_matrix<T, I> csr{6, 6, indices{0, 4, 7, 10, 12, 14, 16},
                             indices{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5}, by_rows};

  void expect_csr(const csr_matrix<T, I>& a) const {
    const auto v = a.view();
    EXPECT_EQ(v.rows, 6);
    EXPECT_EQ(v.cols, 6);
    EXPECT_EQ(list(v.row_ptr), (indices{0, 4, 7, 10, 12, 14, 16}));
    EXPECT_EQ(list(v.col_ind), (indices{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5}));
    EXPECT_EQ(list(v.values), by_rows);
  }
};
TYPED_TEST_SUITE(golden, kinds, kind_names);

TYPED_TEST(golden, csr) {
  validate(this->csr.view());
  this->expect_csr(this->csr);
}

TYPED_TEST(golden, coo) {
  using indices = typename TestFixture::indices;
  const auto a = to_coo(this->csr);
  validate(a.view());
  EXPECT_EQ(list(a.view().row_ind), (indices{0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5}));
  EXPECT_EQ(list(a.view().values), this->by_rows);
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, csc) {
  using indices = typename TestFixture::indices;
  const auto a = to_csc(this->csr);
  validate(a.view());
  EXPECT_EQ(list(a.view().col_ptr), (indices{0, 4, 7, 10, 12, 14, 16}));
  EXPECT_EQ(list(a.view().row_ind), (indices{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5}));
  EXPECT_EQ(list(a.view().values), this->by_cols);
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, bsr_2x3) {
  using indices = typename TestFixture::indices;
  const auto a = to_bsr(this->csr, 2, 3);
  validate(a.view());
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 2, 4, 5}));
  EXPECT_EQ(list(a.view().bcol_ind), (indices{0, 1, 0, 1, 1}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 2.9, 2.8, 6.8, 5.7, 3.8,  //
                                                         2.7, 0,   0,   0,   0,   0,    //
                                                         2.4, 6.2, 3.2, 9.7, 0,   0,    //
                                                         0,   0,   0,   2.3, 0,   0,    //
                                                         0,   5.8, 5.0, 0,   6.6, 8.1}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, bsr_4x4_ragged) {
  using indices = typename TestFixture::indices;
  const auto a = to_bsr(this->csr, 4, 4);
  validate(a.view());
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 1, 2}));
  EXPECT_EQ(list(a.view().bcol_ind), (indices{0, 1}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 2.9, 2.8, 2.7, 6.8, 5.7, 3.8, 0,    //
                                                         2.4, 6.2, 3.2, 0,   9.7, 0,   0,   2.3,  //
                                                         5.8, 5.0, 0,   0,   6.6, 8.1, 0,   0,    //
                                                         0,   0,   0,   0,   0,   0,   0,   0}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, bcsc_3) {
  using indices = typename TestFixture::indices;
  const auto a = to_bcsc(this->csr, 3);
  validate(a.view());
  EXPECT_EQ(a.view().num_row_blocks(), 2);
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 4, 8}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 2, 3, 0, 3, 4, 5}));
  EXPECT_EQ(list(a.view().col_ptr), (indices{0, 3, 6, 9, 10, 11, 12, 14, 16}));
  EXPECT_EQ(list(a.view().row_ind), (indices{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 3, 3, 4, 5, 4, 5}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 6.8, 2.4, 2.9, 5.7, 6.2, 2.8, 3.8, 3.2, 2.7,  //
                                                         9.7, 2.3, 5.8, 6.6, 5.0, 8.1}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, bcsc_4_ragged) {
  using indices = typename TestFixture::indices;
  const auto a = to_bcsc(this->csr, 4);
  validate(a.view());
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 4, 6}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(list(a.view().col_ptr), (indices{0, 4, 7, 10, 12, 14, 16}));
  EXPECT_EQ(list(a.view().row_ind), (indices{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5}));
  EXPECT_EQ(list(a.view().values), this->by_cols);
  this->expect_csr(to_csr(a));
}

/// Each array by itself is what view() shows, of a constant matrix and of one whose values may be written.
TYPED_TEST(golden, arrays_are_had_one_by_one) {
  const auto same = [](const auto& one, const auto& shown) {
    EXPECT_EQ(one.data(), shown.data());
    EXPECT_EQ(one.size(), shown.size());
  };
  const auto& csr = this->csr;
  same(csr.row_ptr(), csr.view().row_ptr);
  same(csr.col_ind(), csr.view().col_ind);
  same(csr.values(), csr.view().values);
  const auto coo = to_coo(csr);
  same(coo.row_ind(), coo.view().row_ind);
  same(coo.col_ind(), coo.view().col_ind);
  same(coo.values(), coo.view().values);
  const auto csc = to_csc(csr);
  same(csc.col_ptr(), csc.view().col_ptr);
  same(csc.row_ind(), csc.view().row_ind);
  same(csc.values(), csc.view().values);
  const auto bsr = to_bsr(csr, 2, 3);
  same(bsr.brow_ptr(), bsr.view().brow_ptr);
  same(bsr.bcol_ind(), bsr.view().bcol_ind);
  same(bsr.values(), bsr.view().values);
  const auto bcsc = to_bcsc(csr, 3);
  same(bcsc.brow_ptr(), bcsc.view().brow_ptr);
  same(bcsc.col_ind(), bcsc.view().col_ind);
  same(bcsc.col_ptr(), bcsc.view().col_ptr);
  same(bcsc.row_ind(), bcsc.view().row_ind);
  same(bcsc.values(), bcsc.view().values);
  const auto ell = to_ell(csr, 2);
  same(ell.bcol_ind(), ell.view().bcol_ind);
  same(ell.values(), ell.view().values);
  for (const bool narrow : {false, true}) {
    for (const std::int64_t m_block : {1, 4}) {
      const auto compact = to_compact(csr, {.m_block = m_block, .dense_from = 2, .narrow_columns = narrow});
      validate(compact.view());
      same(compact.block_row(), compact.view().block_row);
      same(compact.brow_ptr(), compact.view().brow_ptr);
      same(compact.entry_ptr(), m_block == 1 ? compact.brow_ptr() : compact.view().entry_ptr);
      same(compact.dense_end(), compact.view().dense_end);
      same(compact.col_ind(), compact.view().col_ind);
      same(compact.col_ind16(), compact.view().col_ind16);
      same(compact.col_count(), compact.view().col_count);
      same(compact.row_in_block(), compact.view().row_in_block);
      same(compact.values(), compact.view().values);
    }
  }
  auto dense = to_dense(csr);
  EXPECT_EQ(std::as_const(dense).values().data(), dense.data());
  EXPECT_EQ(std::ssize(dense.values()), dense.rows() * dense.cols());

  auto written = csr;
  written.values()[0] = typename TypeParam::value_t(8.5f);
  EXPECT_EQ(written.view().values[0], typename TypeParam::value_t(8.5f));
}

TYPED_TEST(golden, bcsc_1_is_csr_with_a_column_for_each_non_zero) {
  const auto a = to_bcsc(this->csr, 1);
  validate(a.view());
  EXPECT_EQ(list(a.view().brow_ptr), list(this->csr.view().row_ptr));
  EXPECT_EQ(list(a.view().col_ind), list(this->csr.view().col_ind));
  EXPECT_EQ(list(a.view().row_ind), list(viewed(to_coo(this->csr)).row_ind));
  EXPECT_EQ(list(a.view().values), this->by_rows);
}

TYPED_TEST(golden, bcsc_of_one_block_is_csc) {
  for (const std::int64_t m_block : {std::int64_t{6}, std::int64_t{7}, std::int64_t{1} << 62}) {
    const auto a = to_bcsc(this->csr, m_block);
    validate(a.view());
    EXPECT_EQ(a.view().num_row_blocks(), 1);
    EXPECT_EQ(list(a.view().col_ptr), list(viewed(to_csc(this->csr)).col_ptr));
    EXPECT_EQ(list(a.view().row_ind), list(viewed(to_csc(this->csr)).row_ind));
    EXPECT_EQ(list(a.view().values), this->by_cols);
    this->expect_csr(to_csr(a));
  }
}

/// small_indices as the numbers they are.
std::vector<int> list(const small_indices& s) {
  std::vector<int> numbers;
  for (std::size_t k = 0; k < s.size(); ++k) numbers.push_back(static_cast<int>(s[k]));
  return numbers;
}
using small = std::vector<int>;

TYPED_TEST(golden, compact_3) {
  using indices = typename TestFixture::indices;
  const auto a = to_compact(this->csr, {.m_block = 3});
  validate(a.view());
  EXPECT_EQ(list(a.view().block_row), (indices{}));
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 4, 8}));
  EXPECT_EQ(list(a.view().entry_ptr), (indices{0, 10, 16}));
  EXPECT_EQ(list(a.view().dense_end), (indices{}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 2, 3, 0, 3, 4, 5}));
  EXPECT_EQ(a.view().col_count.bytes(), 1);
  EXPECT_EQ(list(a.view().col_count), (small{2, 2, 2, 0, 0, 0, 1, 1}));
  EXPECT_EQ(list(a.view().row_in_block), (small{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 0, 1, 2, 1, 2}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 6.8, 2.4, 2.9, 5.7, 6.2, 2.8, 3.8, 3.2, 2.7,  //
                                                         9.7, 2.3, 5.8, 6.6, 5.0, 8.1}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, compact_3_dense_from_2) {
  using indices = typename TestFixture::indices;
  const auto a = to_compact(this->csr, {.m_block = 3, .dense_from = 2});
  validate(a.view());
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 4, 8}));
  EXPECT_EQ(list(a.view().entry_ptr), (indices{0, 10, 16}));
  EXPECT_EQ(list(a.view().dense_end), (indices{3, 6}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 2, 3, 4, 5, 0, 3}));
  EXPECT_EQ(list(a.view().col_count), (small{2, 2, 2, 0, 1, 1, 0, 0}));
  EXPECT_EQ(list(a.view().row_in_block), (small{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 0, 0}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 6.8, 2.4, 2.9, 5.7, 6.2, 2.8, 3.8, 3.2, 2.7,  //
                                                         5.8, 6.6, 5.0, 8.1, 9.7, 2.3}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, compact_with_row_blocks_of_own_heights) {
  using indices = typename TestFixture::indices;
  const std::int64_t boundaries[] = {0, 1, 4, 6};
  const auto a = to_compact(this->csr, {.m_block = 300, .boundaries = boundaries});
  validate(a.view());
  EXPECT_EQ(list(a.view().block_row), (indices{0, 1, 4, 6}));
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 4, 8, 10}));
  EXPECT_EQ(list(a.view().entry_ptr), (indices{0, 4, 12, 16}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 2, 3, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(a.view().row_in_block.bytes(), 2);
  EXPECT_EQ(list(a.view().col_count), (small{0, 0, 0, 0, 2, 1, 1, 0, 1, 1}));
  EXPECT_EQ(list(a.view().row_in_block), (small{0, 0, 0, 0, 0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 2.9, 2.8, 2.7,                      //
                                                         6.8, 2.4, 9.7, 5.7, 6.2, 3.8, 3.2, 2.3,  //
                                                         5.8, 6.6, 5.0, 8.1}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, compact_with_narrow_columns) {
  using indices = typename TestFixture::indices;
  const auto a = to_compact(this->csr, {.m_block = 3, .narrow_columns = true});
  validate(a.view());
  EXPECT_EQ(list(a.view().col_ind), (indices{}));
  EXPECT_EQ(list(a.view().col_ind16), (std::vector<std::uint16_t>{0, 1, 2, 3, 0, 3, 4, 5}));
  EXPECT_EQ(list(a.view().col_count), (small{2, 2, 2, 0, 0, 0, 1, 1}));
  EXPECT_EQ(list(a.view().row_in_block), (small{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 0, 0, 1, 2, 1, 2}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, compact_1_is_csr) {
  const auto a = to_compact(this->csr, {.m_block = 1});
  validate(a.view());
  EXPECT_EQ(list(a.view().brow_ptr), list(this->csr.view().row_ptr));
  EXPECT_EQ(list(a.view().entry_ptr), list(this->csr.view().row_ptr));
  EXPECT_EQ(list(a.view().col_ind), list(this->csr.view().col_ind));
  EXPECT_EQ(a.view().col_count.bytes(), 0);
  EXPECT_EQ(a.view().row_in_block.bytes(), 0);
  EXPECT_EQ(list(a.view().values), this->by_rows);
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, ell_2) {
  using indices = typename TestFixture::indices;
  const auto a = to_ell(this->csr, 2);
  validate(a.view());
  EXPECT_EQ(a.blocks_per_row(), 2);
  EXPECT_EQ(list(a.view().bcol_ind), (indices{0, 1, 0, 1, 2, -1}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 2.9, 2.8, 2.7,  //
                                                         6.8, 5.7, 3.8, 0,    //
                                                         2.4, 6.2, 3.2, 0,    //
                                                         9.7, 0,   0,   2.3,  //
                                                         5.8, 5.0, 0,   0,    //
                                                         6.6, 8.1, 0,   0}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, ell_4_ragged) {
  using indices = typename TestFixture::indices;
  const auto a = to_ell(this->csr, 4);
  validate(a.view());
  EXPECT_EQ(a.blocks_per_row(), 1);
  EXPECT_EQ(list(a.view().bcol_ind), (indices{0, 1}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7.5, 2.9, 2.8, 2.7,  //
                                                         6.8, 5.7, 3.8, 0,    //
                                                         2.4, 6.2, 3.2, 0,    //
                                                         9.7, 0,   0,   2.3,  //
                                                         5.8, 5.0, 0,   0,    //
                                                         6.6, 8.1, 0,   0,    //
                                                         0,   0,   0,   0,    //
                                                         0,   0,   0,   0}));
  this->expect_csr(to_csr(a));
}

TYPED_TEST(golden, dense) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  const std::vector<T> by_rows = TestFixture::numbers({7.5, 2.9, 2.8, 2.7, 0,   0,    //
                                                       6.8, 5.7, 3.8, 0,   0,   0,    //
                                                       2.4, 6.2, 3.2, 0,   0,   0,    //
                                                       9.7, 0,   0,   2.3, 0,   0,    //
                                                       0,   0,   0,   0,   5.8, 5.0,  //
                                                       0,   0,   0,   0,   6.6, 8.1});
  for (const layout order : {layout::row_major, layout::col_major}) {
    const auto a = to_dense(this->csr, order);
    EXPECT_EQ(a.order(), order);
    for (std::size_t k = 0; k < 36; ++k) {
      EXPECT_EQ(a.data()[order == layout::row_major ? k : k % 6 * 6 + k / 6], by_rows[k]) << k;
    }
    this->expect_csr(to_csr<I>(a));
  }
  // Any leading dimension: what lies between the rows is not read.
  std::vector<T> wide(6 * 9, T(99));
  for (std::size_t k = 0; k < 36; ++k) wide[k / 6 * 9 + k % 6] = by_rows[k];
  this->expect_csr(to_csr<I>(dense_view<const T>(wide.data(), 6, 6, 9)));
}

TYPED_TEST(golden, the_arrays_of_csc_are_csr_of_the_transpose) {
  const auto a = to_csc(this->csr);
  const auto of_transpose = to_bcsc(transposed(a.view()), 4);
  const auto expected = to_bcsc(transpose(this->csr), 4);
  validate(of_transpose.view());
  EXPECT_EQ(list(of_transpose.view().col_ptr), list(expected.view().col_ptr));
  EXPECT_EQ(list(of_transpose.view().row_ind), list(expected.view().row_ind));
  EXPECT_EQ(list(of_transpose.view().values), list(expected.view().values));
  this->expect_csr(to_csr(transposed(viewed(transpose(this->csr)))));
}

TYPED_TEST(golden, transpose) {
  const auto a = transpose(this->csr);
  EXPECT_EQ(list(a.view().row_ptr), list(viewed(to_csc(this->csr)).col_ptr));
  EXPECT_EQ(list(a.view().col_ind), list(viewed(to_csc(this->csr)).row_ind));
  EXPECT_EQ(list(a.view().values), this->by_cols);
}

// --- Footprints
// -------------------------------------------------------------------------------------------------------

template <class... Arrays>
std::int64_t bytes_of(const Arrays&... arrays) {
  return static_cast<std::int64_t>((arrays.size_bytes() + ...));
}

TYPED_TEST(golden, footprints_are_the_bytes_of_the_arrays) {
  using T = typename TestFixture::T;
  constexpr value_type type = value_type_of<T>;
  constexpr std::int64_t width = sizeof(typename TestFixture::I);
  const auto coo = to_coo(this->csr);
  const auto csc = to_csc(this->csr);
  const auto csr_view = this->csr.view();
  EXPECT_EQ(footprint::coo(16, type, width), bytes_of(coo.view().row_ind, coo.view().col_ind, coo.view().values));
  EXPECT_EQ(footprint::csr(6, 16, type, width), bytes_of(csr_view.row_ptr, csr_view.col_ind, csr_view.values));
  EXPECT_EQ(footprint::csc(6, 16, type, width), bytes_of(csc.view().col_ptr, csc.view().row_ind, csc.view().values));
  for (const std::int64_t r : {1, 2, 4, 7}) {
    for (const std::int64_t c : {1, 3, 5, 8}) {
      const auto bsr = to_bsr(this->csr, r, c);
      EXPECT_EQ(footprint::bsr(6, r, c, bsr.num_blocks(), type, width),
                bytes_of(bsr.view().brow_ptr, bsr.view().bcol_ind, bsr.view().values));
    }
  }
  for (const std::int64_t m_block : {1, 2, 3, 4, 5, 6, 100}) {
    const auto bcsc = to_bcsc(this->csr, m_block);
    const auto v = bcsc.view();
    EXPECT_EQ(footprint::bcsc(6, m_block, bcsc.nnzc(), 16, type, width),
              bytes_of(v.brow_ptr, v.col_ind, v.col_ptr, v.row_ind, v.values));
    const auto compact = to_compact(this->csr, {.m_block = m_block});
    const auto c = compact.view();
    EXPECT_EQ(footprint::compact_bcsc(6, m_block, bcsc.nnzc(), 16, type, width),
              bytes_of(c.brow_ptr, c.col_ind, c.col_count, c.row_in_block, c.values) +
                  (m_block == 1 ? 0 : bytes_of(c.entry_ptr)));
    const auto ell = to_ell(this->csr, m_block);
    EXPECT_EQ(footprint::ell(6, m_block, ell.blocks_per_row(), type, width),
              bytes_of(ell.view().bcol_ind, ell.view().values));
  }
  EXPECT_EQ(footprint::dense(6, 6, type), 36 * static_cast<std::int64_t>(sizeof(T)));
}

TEST(footprint, agrees_with_the_closed_forms) {
  // 12 nnz, 8 nnz + 4 M + 4, 8 nnz + 8 nnzc + 4 nb + 8 in fp32; 4 bytes more for each value in fp64.
  const std::int64_t rows = 1000, nnz = 30000, nnzc = 7000;
  EXPECT_EQ(footprint::coo(nnz, value_type::fp32), 12 * nnz);
  EXPECT_EQ(footprint::coo(nnz, value_type::fp64), 16 * nnz);
  EXPECT_EQ(footprint::csr(rows, nnz, value_type::fp32), 8 * nnz + 4 * rows + 4);
  EXPECT_EQ(footprint::csr(rows, nnz, value_type::fp64), 12 * nnz + 4 * rows + 4);
  EXPECT_EQ(footprint::csc(rows, nnz, value_type::fp32), 8 * nnz + 4 * rows + 4);
  EXPECT_EQ(footprint::bsr(rows, 3, 4, 500, value_type::fp64), 4 * (334 + 1) + 4 * 500 + 8 * 12 * 500);
  EXPECT_EQ(footprint::bcsc(rows, 32, nnzc, nnz, value_type::fp32), 8 * nnz + 8 * nnzc + 4 * 32 + 8);
  EXPECT_EQ(footprint::bcsc(rows, 32, nnzc, nnz, value_type::fp64), 12 * nnz + 8 * nnzc + 4 * 32 + 8);
}

TEST(footprint, counts_beyond_32_bits) {
  EXPECT_EQ(footprint::coo(3'000'000'000, value_type::fp64, 8), 72'000'000'000);
  EXPECT_EQ(footprint::bsr(1, 1 << 20, 1 << 20, 1, value_type::fp32), (std::int64_t{1} << 42) + 12);
}

TEST(footprint, refuses_what_does_not_fit) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code_of([] { footprint::coo(huge / 2, value_type::fp64, 8); }), errc::size_overflow);
  EXPECT_EQ(code_of([] { footprint::csr(huge / 8, huge / 16, value_type::fp64, 8); }), errc::size_overflow);
  EXPECT_EQ(code_of([] { footprint::bsr(1, std::int64_t{1} << 32, std::int64_t{1} << 32, 1, value_type::fp32); }),
            errc::size_overflow);
  EXPECT_EQ(code_of([] { footprint::coo(-1, value_type::fp32); }), errc::size_overflow);
  EXPECT_EQ(code_of([] { footprint::coo(1, value_type::fp32, 2); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { footprint::bcsc(1, 0, 1, 1, value_type::fp32); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { footprint::bsr(1, 1, 0, 1, value_type::fp32); }), errc::invalid_argument);
}

// --- What is accepted
// -------------------------------------------------------------------------------------------------

TYPED_TEST(golden, empty_matrices_are_valid) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  validate(viewed(coo_matrix<T, I>()));
  validate(viewed(csr_matrix<T, I>()));
  validate(viewed(csc_matrix<T, I>()));
  validate(viewed(bsr_matrix<T, I>()));
  validate(viewed(bcsc_matrix<T, I>()));
  validate(viewed(ell_matrix<T, I>()));
  validate(viewed(compact_bcsc_matrix<T, I>()));
  validate(dense_view<const T>(viewed(dense_matrix<T>())));
  EXPECT_EQ((to_csr(ell_matrix<T, I>()).nnz()), 0);
  EXPECT_EQ((to_csr(compact_bcsc_matrix<T, I>()).nnz()), 0);
  EXPECT_EQ((to_csr<I>(dense_matrix<T>(0, 5)).nnz()), 0);
  EXPECT_EQ((to_csr<I>(dense_matrix<T>(5, 0)).rows()), 5);
  validate(viewed(to_ell(csr_matrix<T, I>(3, 0, {0, 0, 0, 0}, {}, {}), 2)));
  EXPECT_EQ((viewed(to_bcsc(csr_matrix<T, I>(), 8)).num_row_blocks()), 0);
  EXPECT_EQ((csr_matrix<T, I>(3, 0, {0, 0, 0, 0}, {}, {}).nnz()), 0);
}

TYPED_TEST(golden, coo_is_sorted_and_duplicates_are_summed) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  using indices = typename TestFixture::indices;
  const coo_matrix<T, I> a(4, 5, {3, 0, 3, 1, 0, 3}, {4, 2, 0, 1, 2, 4}, TestFixture::numbers({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list(a.view().row_ind), (indices{0, 1, 3, 3}));
  EXPECT_EQ(list(a.view().col_ind), (indices{2, 1, 0, 4}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({7, 4, 3, 7}));
  validate(a.view());
}

TYPED_TEST(golden, csr_is_sorted_and_duplicates_are_summed) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  using indices = typename TestFixture::indices;
  const csr_matrix<T, I> a(4, 5, {0, 4, 4, 6, 8}, {3, 1, 3, 0, 2, 2, 0, 4},
                           TestFixture::numbers({1, 2, 3, 4, 5, -5, 6, 7}));
  EXPECT_EQ(list(a.view().row_ptr), (indices{0, 3, 3, 4, 6}));
  EXPECT_EQ(list(a.view().col_ind), (indices{0, 1, 3, 2, 0, 4}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({4, 2, 4, 0, 6, 7}));  // a sum of zero stays an entry
  validate(a.view());
}

TYPED_TEST(golden, csc_is_sorted_and_duplicates_are_summed) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  using indices = typename TestFixture::indices;
  const csc_matrix<T, I> a(5, 3, {0, 3, 3, 6}, {4, 0, 4, 2, 1, 2}, TestFixture::numbers({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list(a.view().col_ptr), (indices{0, 2, 2, 4}));
  EXPECT_EQ(list(a.view().row_ind), (indices{0, 4, 1, 2}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({2, 4, 5, 10}));
  validate(a.view());
}

TYPED_TEST(golden, bsr_blocks_are_sorted_and_duplicates_are_summed) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  using indices = typename TestFixture::indices;
  const bsr_matrix<T, I> a(4, 4, 2, 2, {0, 3, 4}, {1, 0, 1, 0},
                           TestFixture::numbers({1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40, 9, 9, 9, 9}));
  EXPECT_EQ(list(a.view().brow_ptr), (indices{0, 2, 3}));
  EXPECT_EQ(list(a.view().bcol_ind), (indices{0, 1, 0}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({5, 6, 7, 8, 11, 22, 33, 44, 9, 9, 9, 9}));
  validate(a.view());
}

TYPED_TEST(golden, trusted_arrays_stay_as_they_are) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  using indices = typename TestFixture::indices;
  const csr_matrix<T, I> a(1, 5, {0, 3}, {3, 1, 3}, TestFixture::numbers({1, 2, 3}), trust::trusted);
  EXPECT_EQ(list(a.view().col_ind), (indices{3, 1, 3}));
  EXPECT_EQ(list(a.view().values), TestFixture::numbers({1, 2, 3}));
}

TYPED_TEST(golden, duplicates_are_summed_in_the_order_they_came) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  // Left to right: (big + 1) - big + 1 = 1 where big swallows the 1. Any other order gives 0 or 2.
  const double big = std::ldexp(1.0, digits<T> + 1);
  const csr_matrix<T, I> csr(1, 3, {0, 5}, {2, 1, 1, 1, 1}, TestFixture::numbers({9, big, 1, -big, 1}));
  EXPECT_EQ(list(csr.view().values), TestFixture::numbers({1, 9}));
  const coo_matrix<T, I> coo(1, 3, {0, 0, 0, 0, 0}, {2, 1, 1, 1, 1}, TestFixture::numbers({9, big, 1, -big, 1}));
  EXPECT_EQ(list(coo.view().values), TestFixture::numbers({1, 9}));
}

TYPED_TEST(golden, non_finite_values_are_values) {
  using T = typename TestFixture::T;
  using I = typename TestFixture::I;
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const csr_matrix<T, I> a(2, 2, {0, 2, 3}, {0, 1, 1}, TestFixture::numbers({inf, nan, -inf}));
  for (const auto& b : {to_csr(to_coo(a)), to_csr(to_csc(a)), to_csr(to_bsr(a, 2, 2)), to_csr(to_bcsc(a, 2)),
                        to_csr(to_ell(a, 2)), to_csr<I>(to_dense(a)), to_csr(to_compact(a, {.m_block = 2}))}) {
    ASSERT_EQ(b.nnz(), 3);
    EXPECT_EQ(b.view().values[0], T(inf));
    EXPECT_TRUE(std::isnan(static_cast<double>(b.view().values[1])));
    EXPECT_EQ(b.view().values[2], T(-inf));
  }
}

TEST(coo, sorts_entries_of_a_matrix_with_far_more_rows_than_entries) {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const coo_matrix<double, std::int64_t> a(far, far, {far - 1, 7, far / 2, 7, 0, far - 1},
                                           {0, far - 1, 5, 3, far / 3, 0}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(list(a.view().row_ind), (std::vector<std::int64_t>{0, 7, 7, far / 2, far - 1}));
  EXPECT_EQ(list(a.view().col_ind), (std::vector<std::int64_t>{far / 3, 3, far - 1, 5, 0}));
  EXPECT_EQ(list(a.view().values), (std::vector<double>{5, 4, 2, 3, 7}));
}

TEST(bcsc, columns_beyond_any_64_bit_key_are_ordered) {
  // 60 bits of column and 7 of row: more than a 64-bit sort key holds. 100 rows of 2 entries sort by digits.
  constexpr std::int64_t far = (std::int64_t{1} << 60) - 1;
  std::vector<std::int64_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  for (std::int64_t i = 0; i < 100; ++i) {
    col_ind.insert(col_ind.end(), {i % 10, far - i % 7});
    values.insert(values.end(), {static_cast<double>(i), static_cast<double>(-i)});
    row_ptr.push_back(2 * (i + 1));
  }
  const csr_matrix<double, std::int64_t> a(100, far + 1, row_ptr, col_ind, values);
  const auto b = to_bcsc(a, 100);
  validate(b.view());
  EXPECT_EQ(b.nnzc(), 17);
  const auto back = to_csr(b);
  EXPECT_EQ(list(back.view().col_ind), col_ind);
  EXPECT_EQ(list(back.view().values), values);
}

TEST(compact, has_narrow_columns_up_to_65536_of_them) {
  for (const std::int32_t cols : {65536, 65537}) {
    const csr_matrix<float> a(2, cols, {0, 2, 3}, {0, cols - 1, cols - 1}, {1, 2, 3});
    const auto b = to_compact(a, {.m_block = 2, .narrow_columns = true});
    validate(b.view());
    EXPECT_EQ(b.view().col_ind16.empty(), cols == 65537);
    EXPECT_EQ(list(viewed(to_csr(b)).col_ind), (std::vector<std::int32_t>{0, cols - 1, cols - 1}));
  }
}

// --- What is refused
// --------------------------------------------------------------------------------------------------

using indices = std::vector<std::int32_t>;
using numbers = std::vector<double>;
using coo = coo_matrix<double>;
using csr = csr_matrix<double>;
using csc = csc_matrix<double>;
using bsr = bsr_matrix<double>;
using bcsc = bcsc_matrix<double>;
using ell = ell_matrix<double>;
using compact = compact_bcsc_matrix<double>;

/// Arrays that break a format. `make` builds the matrix with the trust given and checks its view: with trust::validate
/// the constructor throws, with trust::trusted the check of the view does.
struct refusal {
  const char* name;
  errc code;
  const char* says;
  std::function<void(trust)> make;
};

class refused : public ::testing::TestWithParam<refusal> {};

void expect_refusal(const refusal& r, trust given) {
  try {
    r.make(given);
    ADD_FAILURE() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(r.code)) << e.what();
    EXPECT_NE(std::string(e.what()).find(r.says), std::string::npos) << e.what();
  }
}

TEST_P(refused, by_the_constructor) { expect_refusal(GetParam(), trust::validate); }
TEST_P(refused, by_the_check_of_a_view) { expect_refusal(GetParam(), trust::trusted); }

template <class Matrix, class... Arguments>
std::function<void(trust)> matrix(Arguments... arguments) {
  return [=](trust given) { validate(viewed(Matrix(arguments..., given))); };
}

constexpr std::int64_t beyond_int32 = std::int64_t{1} << 31;

const refusal broken_coo[] = {
    {"coo_negative_rows", errc::invalid_argument, "rows = -1", matrix<coo>(-1, 2, indices{}, indices{}, numbers{})},
    {"coo_negative_cols", errc::invalid_argument, "cols = -7", matrix<coo>(1, -7, indices{}, indices{}, numbers{})},
    {"coo_rows_beyond_int32", errc::size_overflow, "rows = 2147483648",
     matrix<coo>(beyond_int32, 1, indices{}, indices{}, numbers{})},
    {"coo_cols_beyond_int32", errc::size_overflow, "cols = 2147483648",
     matrix<coo>(1, beyond_int32, indices{}, indices{}, numbers{})},
    {"coo_short_row_ind", errc::invalid_format, "row_ind has 1 entries",
     matrix<coo>(2, 2, indices{0}, indices{0, 1}, numbers{1, 2})},
    {"coo_long_col_ind", errc::invalid_format, "col_ind has 3 entries",
     matrix<coo>(2, 2, indices{0, 1}, indices{0, 1, 1}, numbers{1, 2})},
    {"coo_row_below_zero", errc::index_out_of_range, "row_ind[1] = -1",
     matrix<coo>(2, 2, indices{0, -1}, indices{0, 1}, numbers{1, 2})},
    {"coo_row_beyond", errc::index_out_of_range, "row_ind[1] = 2",
     matrix<coo>(2, 3, indices{0, 2}, indices{0, 1}, numbers{1, 2})},
    {"coo_col_beyond", errc::index_out_of_range, "col_ind[0] = 3",
     matrix<coo>(2, 3, indices{0, 1}, indices{3, 1}, numbers{1, 2})},
    {"coo_entry_in_an_empty_matrix", errc::index_out_of_range, "row_ind[0] = 0",
     matrix<coo>(0, 3, indices{0}, indices{0}, numbers{1})},
};

const refusal broken_csr[] = {
    {"csr_negative_rows", errc::invalid_argument, "rows = -1", matrix<csr>(-1, 2, indices{0}, indices{}, numbers{})},
    {"csr_rows_beyond_int32", errc::size_overflow, "rows = 2147483648",
     matrix<csr>(beyond_int32, 1, indices{0}, indices{}, numbers{})},
    {"csr_no_row_ptr", errc::invalid_format, "row_ptr has 0 entries",
     matrix<csr>(0, 2, indices{}, indices{}, numbers{})},
    {"csr_short_row_ptr", errc::invalid_format, "row_ptr has 2 entries",
     matrix<csr>(2, 2, indices{0, 1}, indices{0}, numbers{1})},
    {"csr_long_row_ptr", errc::invalid_format, "row_ptr has 4 entries",
     matrix<csr>(2, 2, indices{0, 1, 1, 1}, indices{0}, numbers{1})},
    {"csr_row_ptr_from_one", errc::invalid_format, "row_ptr[0] = 1",
     matrix<csr>(2, 2, indices{1, 2, 2}, indices{0, 1}, numbers{1, 2})},
    {"csr_falling_row_ptr", errc::invalid_format, "row_ptr[2] = 1: must be at least row_ptr[1] = 2",
     matrix<csr>(3, 2, indices{0, 2, 1, 2}, indices{0, 1}, numbers{1, 2})},
    {"csr_negative_row_ptr", errc::invalid_format, "row_ptr[1] = -1",
     matrix<csr>(2, 2, indices{0, -1, 2}, indices{0, 1}, numbers{1, 2})},
    {"csr_row_ptr_ends_early", errc::invalid_format, "row_ptr[2] = 1",
     matrix<csr>(2, 2, indices{0, 1, 1}, indices{0, 1}, numbers{1, 2})},
    {"csr_row_ptr_ends_late", errc::invalid_format, "row_ptr[2] = 3",
     matrix<csr>(2, 2, indices{0, 1, 3}, indices{0, 1}, numbers{1, 2})},
    {"csr_col_below_zero", errc::index_out_of_range, "col_ind[0] = -2",
     matrix<csr>(2, 2, indices{0, 1, 2}, indices{-2, 1}, numbers{1, 2})},
    {"csr_col_beyond", errc::index_out_of_range, "col_ind[1] = 2",
     matrix<csr>(2, 2, indices{0, 1, 2}, indices{0, 2}, numbers{1, 2})},
    {"csr_short_col_ind", errc::invalid_format, "col_ind has 1 entries",
     matrix<csr>(2, 2, indices{0, 1, 2}, indices{0}, numbers{1, 2})},
    {"csr_short_values", errc::invalid_format, "col_ind has 2 entries: must have 1",
     matrix<csr>(2, 2, indices{0, 1, 2}, indices{0, 1}, numbers{1})},
};

const refusal broken_csc[] = {
    {"csc_negative_cols", errc::invalid_argument, "cols = -1", matrix<csc>(2, -1, indices{0}, indices{}, numbers{})},
    {"csc_cols_beyond_int32", errc::size_overflow, "cols = 2147483648",
     matrix<csc>(1, beyond_int32, indices{0}, indices{}, numbers{})},
    {"csc_short_col_ptr", errc::invalid_format, "col_ptr has 2 entries",
     matrix<csc>(2, 2, indices{0, 1}, indices{0}, numbers{1})},
    {"csc_col_ptr_from_one", errc::invalid_format, "col_ptr[0] = 1",
     matrix<csc>(2, 2, indices{1, 2, 2}, indices{0, 1}, numbers{1, 2})},
    {"csc_falling_col_ptr", errc::invalid_format, "col_ptr[2] = 1",
     matrix<csc>(2, 3, indices{0, 2, 1, 2}, indices{0, 1}, numbers{1, 2})},
    {"csc_col_ptr_ends_late", errc::invalid_format, "col_ptr[2] = 9",
     matrix<csc>(2, 2, indices{0, 1, 9}, indices{0, 1}, numbers{1, 2})},
    {"csc_row_below_zero", errc::index_out_of_range, "row_ind[1] = -1",
     matrix<csc>(2, 2, indices{0, 1, 2}, indices{0, -1}, numbers{1, 2})},
    {"csc_row_beyond", errc::index_out_of_range, "row_ind[1] = 2",
     matrix<csc>(2, 5, indices{0, 1, 2, 2, 2, 2}, indices{0, 2}, numbers{1, 2})},
    {"csc_short_row_ind", errc::invalid_format, "row_ind has 1 entries",
     matrix<csc>(2, 2, indices{0, 1, 2}, indices{0}, numbers{1, 2})},
};

const refusal broken_bsr[] = {
    {"bsr_row_block_zero", errc::invalid_argument, "row_block = 0",
     matrix<bsr>(2, 2, 0, 2, indices{0, 1}, indices{0}, numbers{1, 2, 3, 4})},
    {"bsr_col_block_negative", errc::invalid_argument, "col_block = -2",
     matrix<bsr>(2, 2, 2, -2, indices{0, 1}, indices{0}, numbers{1, 2, 3, 4})},
    {"bsr_block_size_overflows", errc::size_overflow, "row_block x col_block",
     matrix<bsr>(2, 2, std::int64_t{1} << 32, std::int64_t{1} << 32, indices{0, 1}, indices{0}, numbers{1})},
    {"bsr_negative_rows", errc::invalid_argument, "rows = -2",
     matrix<bsr>(-2, 2, 2, 2, indices{0}, indices{}, numbers{})},
    {"bsr_short_values", errc::invalid_format, "values has 3 entries: must have 4",
     matrix<bsr>(2, 2, 2, 2, indices{0, 1}, indices{0}, numbers{1, 2, 3})},
    {"bsr_short_brow_ptr", errc::invalid_format, "brow_ptr has 2 entries",
     matrix<bsr>(3, 2, 2, 2, indices{0, 1}, indices{0}, numbers{1, 2, 3, 4})},
    {"bsr_falling_brow_ptr", errc::invalid_format, "brow_ptr[2] = 0",
     matrix<bsr>(4, 2, 2, 2, indices{0, 1, 0}, indices{0}, numbers{1, 2, 3, 4})},
    {"bsr_brow_ptr_ends_late", errc::invalid_format, "brow_ptr[1] = 2",
     matrix<bsr>(2, 2, 2, 2, indices{0, 2}, indices{0}, numbers{1, 2, 3, 4})},
    {"bsr_block_column_beyond", errc::index_out_of_range, "bcol_ind[0] = 1",
     matrix<bsr>(2, 2, 2, 2, indices{0, 1}, indices{1}, numbers{1, 2, 3, 4})},
    {"bsr_block_column_below_zero", errc::index_out_of_range, "bcol_ind[0] = -1",
     matrix<bsr>(2, 2, 2, 2, indices{0, 1}, indices{-1}, numbers{1, 2, 3, 4})},
    {"bsr_padding_below_the_last_row", errc::invalid_format, "values[2] = 3",
     matrix<bsr>(1, 2, 2, 2, indices{0, 1}, indices{0}, numbers{1, 2, 3, 0})},
    {"bsr_padding_beyond_the_last_column", errc::invalid_format, "values[3] = 4",
     matrix<bsr>(2, 1, 2, 2, indices{0, 1}, indices{0}, numbers{1, 0, 3, 4})},
};

// The valid matrix these are faults of: 4 x 3, m_block 2, entries (0,0) (1,0) (1,2) | (2,1) (3,1).
const refusal broken_bcsc[] = {
    {"bcsc_m_block_zero", errc::invalid_argument, "m_block = 0",
     matrix<bcsc>(4, 3, 0, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_negative_cols", errc::invalid_argument, "cols = -3",
     matrix<bcsc>(4, -3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_rows_beyond_int32", errc::size_overflow, "rows = 2147483648",
     matrix<bcsc>(beyond_int32, 3, 2, indices{0}, indices{}, indices{0}, indices{}, numbers{})},
    {"bcsc_short_brow_ptr", errc::invalid_format, "brow_ptr has 2 entries",
     matrix<bcsc>(4, 3, 2, indices{0, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_brow_ptr_from_one", errc::invalid_format, "brow_ptr[0] = 1",
     matrix<bcsc>(4, 3, 2, indices{1, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_falling_brow_ptr", errc::invalid_format, "brow_ptr[2] = 3: must be at least brow_ptr[1] = 4",
     matrix<bcsc>(4, 3, 2, indices{0, 4, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_brow_ptr_ends_early", errc::invalid_format, "brow_ptr[2] = 2",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 2}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_short_col_ptr", errc::invalid_format, "col_ptr has 3 entries",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_empty_column_stored", errc::invalid_format, "col_ptr[2] = 2: must be greater than col_ptr[1] = 2",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 2, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_col_ptr_ends_late", errc::invalid_format, "col_ptr[3] = 6",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 6}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_col_beyond", errc::index_out_of_range, "col_ind[1] = 3",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 3, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_row_beyond", errc::index_out_of_range, "row_ind[4] = 4",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 4},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_columns_unsorted", errc::invalid_format, "col_ind[1] = 0: must be greater than col_ind[0] = 2",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{2, 0, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_column_twice", errc::invalid_format, "col_ind[1] = 0",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 0, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_row_of_the_next_block", errc::invalid_format, "row_ind[2] = 2: must lie in row block 0",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 2, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_row_of_the_block_before", errc::invalid_format, "row_ind[3] = 1: must lie in row block 1",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 1, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_rows_unsorted", errc::invalid_format, "row_ind[1] = 0: must be greater than row_ind[0] = 1",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{1, 0, 1, 2, 3},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_row_twice", errc::invalid_format, "row_ind[4] = 2",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 2},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_short_row_ind", errc::invalid_format, "row_ind has 4 entries",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2},
                  numbers{1, 2, 3, 4, 5})},
    {"bcsc_short_values", errc::invalid_format, "row_ind has 5 entries: must have 4",
     matrix<bcsc>(4, 3, 2, indices{0, 2, 3}, indices{0, 2, 1}, indices{0, 2, 3, 5}, indices{0, 1, 1, 2, 3},
                  numbers{1, 2, 3, 4})},
};

// 3 x 3 with blocks of 2: two block rows, two slots each.
const refusal broken_ell[] = {
    {"ell_negative_rows", errc::invalid_argument, "rows = -3", matrix<ell>(-3, 3, 2, 0, indices{}, numbers{})},
    {"ell_block_zero", errc::invalid_argument, "block = 0", matrix<ell>(3, 3, 0, 0, indices{}, numbers{})},
    {"ell_negative_blocks_per_row", errc::invalid_argument, "blocks_per_row = -1",
     matrix<ell>(3, 3, 2, -1, indices{}, numbers{})},
    {"ell_more_blocks_than_columns", errc::invalid_argument, "blocks_per_row = 3",
     matrix<ell>(3, 3, 2, 3, indices(6, -1), numbers(24))},
    {"ell_rows_beyond_int32", errc::size_overflow, "rows = 2147483648",
     matrix<ell>(beyond_int32, 1, 2, 0, indices{}, numbers{})},
    {"ell_values_overflow", errc::size_overflow, "padded rows x padded columns",
     matrix<ell>(3, 3, std::int64_t{1} << 40, 1, indices{0}, numbers{1})},
    {"ell_short_bcol_ind", errc::invalid_format, "bcol_ind has 3 entries: must have 4",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, -1}, numbers(16))},
    {"ell_short_values", errc::invalid_format, "values has 15 entries: must have 16",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, 1, -1}, numbers(15))},
    {"ell_block_column_beyond", errc::index_out_of_range, "bcol_ind[1] = 2",
     matrix<ell>(3, 3, 2, 2, indices{0, 2, 1, -1}, numbers(16))},
    {"ell_block_column_below_minus_one", errc::index_out_of_range, "bcol_ind[3] = -2",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, 1, -2}, numbers(16))},
    {"ell_block_columns_unsorted", errc::invalid_format, "bcol_ind[1] = 0: must be greater than bcol_ind[0] = 1",
     matrix<ell>(3, 3, 2, 2, indices{1, 0, 1, -1}, numbers(16))},
    {"ell_block_column_twice", errc::invalid_format, "bcol_ind[3] = 1: must be greater",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, 1, 1}, numbers(16))},
    {"ell_block_behind_a_filler", errc::invalid_format, "bcol_ind[3] = 1: follows a -1, in block row 1",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, -1, 1}, numbers(16))},
    {"ell_value_in_a_filler", errc::invalid_format, "values[10] = 5: lies in a block without a column",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, 1, -1}, numbers{1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 5, 0, 0, 0, 0, 0})},
    {"ell_value_beyond_the_last_row", errc::invalid_format, "values[12] = 5: lies beyond the edge",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, 1, -1}, numbers{1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 5, 0, 0, 0})},
    {"ell_value_beyond_the_last_column", errc::invalid_format, "values[3] = 5: lies beyond the edge of the 3 x 3",
     matrix<ell>(3, 3, 2, 2, indices{0, 1, 1, -1}, numbers{1, 1, 1, 5, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0})},
};

/// The same valid matrix as above in compact form, with a fault.
std::function<void(trust)> spoilt(const std::function<void(compact_bcsc_arrays<double>&)>& spoil,
                                  std::int64_t m_block = 2, std::int64_t rows = 4) {
  return [=](trust given) {
    const auto bytes = [](std::initializer_list<int> list) {
      std::vector<std::byte> out;
      for (const int x : list) out.push_back(static_cast<std::byte>(x));
      return out;
    };
    compact_bcsc_arrays<double> arrays{
        {}, {0, 2, 3}, {0, 3, 5}, {}, {0, 2, 1}, bytes({1, 0, 1}), bytes({0, 1, 1, 0, 1}), {1, 2, 3, 4, 5}};
    spoil(arrays);
    validate(viewed(compact(rows, 3, m_block, std::move(arrays), given)));
  };
}

const refusal broken_compact[] = {
    {"compact_m_block_zero", errc::invalid_argument, "m_block = 0", spoilt([](auto&) {}, 0)},
    {"compact_m_block_beyond_two_bytes", errc::invalid_argument, "m_block = 65537", spoilt([](auto&) {}, 65537)},
    {"compact_negative_rows", errc::invalid_argument, "rows = -4", spoilt([](auto&) {}, 2, -4)},
    {"compact_short_brow_ptr", errc::invalid_format, "brow_ptr has 2 entries", spoilt([](auto& a) {
       a.brow_ptr = {0, 3};
     })},
    {"compact_falling_brow_ptr", errc::invalid_format, "brow_ptr[2] = 3: must be at least brow_ptr[1] = 4",
     spoilt([](auto& a) { a.brow_ptr[1] = 4; })},
    {"compact_brow_ptr_from_one", errc::invalid_format, "brow_ptr[0] = 1", spoilt([](auto& a) { a.brow_ptr[0] = 1; })},
    {"compact_short_entry_ptr", errc::invalid_format, "entry_ptr has 2 entries", spoilt([](auto& a) {
       a.entry_ptr = {0, 5};
     })},
    {"compact_entry_ptr_ends_late", errc::invalid_format, "entry_ptr[2] = 6",
     spoilt([](auto& a) { a.entry_ptr[2] = 6; })},
    {"compact_col_beyond", errc::index_out_of_range, "col_ind[1] = 3", spoilt([](auto& a) { a.col_ind[1] = 3; })},
    {"compact_col_below_zero", errc::index_out_of_range, "col_ind[2] = -1", spoilt([](auto& a) { a.col_ind[2] = -1; })},
    {"compact_columns_unsorted", errc::invalid_format, "col_ind[1] = 0: must be greater than col_ind[0] = 2",
     spoilt([](auto& a) {
       a.col_ind = {2, 0, 1};
     })},
    {"compact_column_in_both_parts", errc::invalid_format, "col_ind[1] = 0: stands in row block 0 twice",
     spoilt([](auto& a) {
       a.col_ind = {0, 0, 1};
       a.dense_end = {1, 2};
     })},
    {"compact_dense_end_beyond_the_block", errc::invalid_format, "dense_end[0] = 3: must lie in 0 .. 2",
     spoilt([](auto& a) {
       a.dense_end = {3, 3};
     })},
    {"compact_short_dense_end", errc::invalid_format, "dense_end has 1 entries",
     spoilt([](auto& a) { a.dense_end = {1}; })},
    {"compact_count_beyond_the_block", errc::invalid_format, "col_count[0] = 200",
     spoilt([](auto& a) { a.col_count[0] = std::byte{200}; })},
    {"compact_counts_too_few", errc::invalid_format, "entry_ptr[1] = 3: the columns of row block 0 end at entry 2",
     spoilt([](auto& a) { a.col_count[0] = std::byte{0}; })},
    {"compact_row_beyond_the_block", errc::index_out_of_range, "row_in_block[2] = 2: must be below 2",
     spoilt([](auto& a) { a.row_in_block[2] = std::byte{2}; })},
    {"compact_row_beyond_the_last_block", errc::index_out_of_range, "row_in_block[4] = 1: must be below 1",
     spoilt([](auto&) {}, 2, 3)},
    {"compact_rows_unsorted", errc::invalid_format, "row_in_block[1] = 0: must be greater than row_in_block[0] = 1",
     spoilt([](auto& a) { std::swap(a.row_in_block[0], a.row_in_block[1]); })},
    {"compact_row_twice", errc::invalid_format, "row_in_block[4] = 0",
     spoilt([](auto& a) { a.row_in_block[4] = std::byte{0}; })},
    {"compact_columns_twice", errc::invalid_format, "col_ind16: holds the columns", spoilt([](auto& a) {
       a.col_ind16 = {0, 2, 1};
     })},
    {"compact_block_row_from_one", errc::invalid_format, "block_row: must run from 0 to rows = 4, not from 1 to 4",
     spoilt([](auto& a) {
       a.block_row = {1, 2, 4};
     })},
    {"compact_block_row_too_high", errc::invalid_format, "block_row[2] = 4: must lie 1 .. 2 (m_block) above",
     spoilt([](auto& a) {
       a.block_row = {0, 1, 4};
     })},
    {"compact_block_row_of_no_height", errc::invalid_format, "block_row[2] = 2: must lie 1 .. 2", spoilt([](auto& a) {
       a.block_row = {0, 2, 2, 4};
     })},
};

constexpr auto refusal_name = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(coo, refused, ::testing::ValuesIn(broken_coo), refusal_name);
INSTANTIATE_TEST_SUITE_P(csr, refused, ::testing::ValuesIn(broken_csr), refusal_name);
INSTANTIATE_TEST_SUITE_P(csc, refused, ::testing::ValuesIn(broken_csc), refusal_name);
INSTANTIATE_TEST_SUITE_P(bsr, refused, ::testing::ValuesIn(broken_bsr), refusal_name);
INSTANTIATE_TEST_SUITE_P(bcsc, refused, ::testing::ValuesIn(broken_bcsc), refusal_name);
INSTANTIATE_TEST_SUITE_P(ell, refused, ::testing::ValuesIn(broken_ell), refusal_name);
INSTANTIATE_TEST_SUITE_P(compact, refused, ::testing::ValuesIn(broken_compact), refusal_name);

TEST(compact, small_arrays_that_do_not_go_with_the_others_are_refused) {
  // A view takes their lengths from the others, so that only the constructor can tell.
  for (const bool counts : {true, false}) {
    EXPECT_EQ(
        code_of([&] { spoilt([&](auto& a) { (counts ? a.col_count : a.row_in_block).pop_back(); })(trust::validate); }),
        errc::invalid_format);
  }
  compact_bcsc_view<double> a = viewed(compact());
  a.m_block = 2;
  EXPECT_EQ(code_of([&] { validate(a); }), errc::invalid_format);  // no bytes an index where there must be one
}

/// Disorder that constructors repair is refused in a view, which cannot be repaired; and faults that only a view can
/// have.
struct view_refusal {
  const char* name;
  errc code;
  const char* says;
  std::function<void()> check;
};

class refused_view : public ::testing::TestWithParam<view_refusal> {};

TEST_P(refused_view, by_its_check) {
  try {
    GetParam().check();
    ADD_FAILURE() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(GetParam().code)) << e.what();
    EXPECT_NE(std::string(e.what()).find(GetParam().says), std::string::npos) << e.what();
  }
}

/// A view of entries that do not exist: sizes must be refused before any is read.
template <class X>
std::span<const X> imaginary(std::int64_t size) {
  static const X one{};
  return {&one, static_cast<std::size_t>(size)};
}
constexpr std::int64_t too_many = std::int64_t{3'000'000'000};

const view_refusal broken_views[] = {
    {"coo_unsorted", errc::invalid_format, "entry 1 at (row_ind, col_ind) = (0, 1)",
     [] {
       validate(viewed(coo(2, 2, {1, 0}, {0, 1}, {1, 2}, trust::trusted)));
     }},
    {"coo_duplicate", errc::invalid_format, "entry 2",
     [] {
       validate(viewed(coo(2, 2, {0, 1, 1}, {1, 1, 1}, {1, 2, 3}, trust::trusted)));
     }},
    {"csr_unsorted", errc::invalid_format, "col_ind[2] = 0: must be greater than col_ind[1] = 1, in row 1",
     [] {
       validate(viewed(csr(2, 2, {0, 1, 3}, {1, 1, 0}, {1, 2, 3}, trust::trusted)));
     }},
    {"csr_duplicate", errc::invalid_format, "col_ind[1] = 1",
     [] {
       validate(viewed(csr(2, 2, {0, 2, 3}, {1, 1, 0}, {1, 2, 3}, trust::trusted)));
     }},
    {"csc_unsorted", errc::invalid_format, "row_ind[2] = 0: must be greater than row_ind[1] = 1, in column 1",
     [] {
       validate(viewed(csc(2, 2, {0, 1, 3}, {1, 1, 0}, {1, 2, 3}, trust::trusted)));
     }},
    {"bsr_unsorted", errc::invalid_format, "bcol_ind[1] = 0",
     [] {
       validate(viewed(bsr(1, 2, 1, 1, {0, 2}, {1, 0}, {1, 2}, trust::trusted)));
     }},
    {"bsr_duplicate", errc::invalid_format, "bcol_ind[1] = 1",
     [] {
       validate(viewed(bsr(1, 2, 1, 1, {0, 2}, {1, 1}, {1, 2}, trust::trusted)));
     }},
    {"coo_on_the_device", errc::wrong_memory_space, "coo lies in device memory",
     [] { validate(coo_view<double>{.space = memory_space::device}); }},
    {"csr_on_the_device", errc::wrong_memory_space, "csr lies in device memory",
     [] { validate(csr_view<double>{.space = memory_space::device}); }},
    {"csc_on_the_device", errc::wrong_memory_space, "csc",
     [] { validate(csc_view<double>{.space = memory_space::device}); }},
    {"bsr_on_the_device", errc::wrong_memory_space, "bsr",
     [] { validate(bsr_view<double>{.space = memory_space::device}); }},
    {"bcsc_on_the_device", errc::wrong_memory_space, "bcsc",
     [] { validate(bcsc_view<double>{.space = memory_space::device}); }},
    {"csr_more_entries_than_int32_counts", errc::size_overflow, "3000000000",
     [] {
       validate(csr_view<double>{1, 1, imaginary<std::int32_t>(2), imaginary<std::int32_t>(too_many),
                                 imaginary<double>(too_many)});
     }},
    {"bsr_more_blocks_than_int32_counts", errc::size_overflow, "3000000000",
     [] {
       validate(bsr_view<double>{1, 1, 1, 1, imaginary<std::int32_t>(2), imaginary<std::int32_t>(too_many),
                                 imaginary<double>(too_many)});
     }},
    {"bcsc_more_columns_than_int32_counts", errc::size_overflow, "3000000000",
     [] {
       validate(bcsc_view<double>{1, 1, 1, imaginary<std::int32_t>(2), imaginary<std::int32_t>(too_many),
                                  imaginary<std::int32_t>(too_many + 1), imaginary<std::int32_t>(too_many),
                                  imaginary<double>(too_many)});
     }},
    {"to_csr_of_too_many_entries", errc::size_overflow, "nnz = 3000000000",
     [] {
       to_csr(coo_view<double>{1, 1, imaginary<std::int32_t>(too_many), imaginary<std::int32_t>(too_many),
                               imaginary<double>(too_many)});
     }},
    {"to_csr_of_too_many_rows", errc::size_overflow, "rows = 3000000000",
     [] { to_csr(coo_view<double>{.rows = too_many, .cols = 1}); }},
    {"cast_of_too_many_rows", errc::size_overflow, "rows = 3000000000",
     [] { cast<float, std::int32_t>(csr_view<double, std::int64_t>{.rows = too_many, .cols = 1}); }},
    {"cast_of_too_many_cols", errc::size_overflow, "cols = 3000000000",
     [] { cast<float, std::int32_t>(csr_view<double, std::int64_t>{.rows = 1, .cols = too_many}); }},
    {"cast_of_too_many_entries", errc::size_overflow, "nnz = 3000000000",
     [] {
       cast<float, std::int32_t>(csr_view<double, std::int64_t>{
           1, 1, imaginary<std::int64_t>(2), imaginary<std::int64_t>(too_many), imaginary<double>(too_many)});
     }},
    {"to_bcsc_m_block_zero", errc::invalid_argument, "m_block = 0", [] { to_bcsc(csr(), 0); }},
    {"to_bcsc_m_block_negative", errc::invalid_argument, "m_block = -8", [] { to_bcsc(csr(), -8); }},
    {"to_bsr_row_block_zero", errc::invalid_argument, "row_block = 0", [] { to_bsr(csr(), 0, 1); }},
    {"to_bsr_col_block_negative", errc::invalid_argument, "col_block = -1", [] { to_bsr(csr(), 1, -1); }},
    {"to_bsr_block_size_overflows", errc::size_overflow, "row_block x col_block",
     [] { to_bsr(csr(), std::int64_t{1} << 32, std::int64_t{1} << 32); }},
    {"to_bsr_values_overflow", errc::size_overflow, "num_blocks x block size",
     [] {
       to_bsr(csr_matrix<double, std::int64_t>(1, std::int64_t{1} << 40, {0, 2}, {0, std::int64_t{1} << 39}, {1, 2}),
              std::int64_t{1} << 31, std::int64_t{1} << 31);
     }},
    {"to_bsr_beyond_memory", errc::out_of_memory, "BSR values",
     [] {
       to_bsr(csr(1, 1, {0, 1}, {0}, {1}), std::int64_t{1} << 31, std::int64_t{1} << 31);
     }},
    {"to_ell_block_zero", errc::invalid_argument, "block = 0", [] { to_ell(csr(), 0); }},
    {"to_ell_values_overflow", errc::size_overflow, "padded rows x padded columns",
     [] {
       to_ell(csr(1, 1, {0, 1}, {0}, {1}), std::int64_t{1} << 32);
     }},
    {"to_ell_beyond_memory", errc::out_of_memory, "ELL values",
     [] {
       to_ell(csr(1, 1, {0, 1}, {0}, {1}), std::int64_t{1} << 30);
     }},
#ifndef __SANITIZE_ADDRESS__  // which ends the program where memory ends
    {"to_dense_beyond_memory", errc::out_of_memory, "dense values",
     [] {
       to_dense(csr_matrix<double, std::int64_t>(1, std::int64_t{1} << 59, {0, 0}, {}, {}));
     }},
#endif
    {"to_dense_overflow", errc::size_overflow, "bytes of a value",
     [] {
       to_dense(csr_matrix<double, std::int64_t>(4, std::int64_t{1} << 59, {0, 0, 0, 0, 0}, {}, {}));
     }},
    {"to_compact_m_block_zero", errc::invalid_argument, "m_block = 0", [] { to_compact(csr(), {.m_block = 0}); }},
    {"to_compact_m_block_65537", errc::invalid_argument, "m_block = 65537",
     [] { to_compact(csr(), {.m_block = 65537}); }},
    {"to_compact_negative_dense_from", errc::invalid_argument, "dense_from = -1",
     [] { to_compact(csr(), {.dense_from = -1}); }},
    {"to_compact_short_boundaries", errc::invalid_argument, "must run from 0 to rows = 3, not from 0 to 2",
     [] {
       const std::int64_t boundaries[] = {0, 2};
       to_compact(csr(3, 1, {0, 0, 0, 0}, {}, {}), {.boundaries = boundaries});
     }},
    {"to_compact_boundaries_not_rising", errc::invalid_argument, "boundaries[2] = 2: must lie 1 .. 32",
     [] {
       const std::int64_t boundaries[] = {0, 2, 2, 3};
       to_compact(csr(3, 1, {0, 0, 0, 0}, {}, {}), {.boundaries = boundaries});
     }},
    {"to_compact_boundaries_too_far", errc::invalid_argument, "boundaries[1] = 3: must lie 1 .. 2",
     [] {
       const std::int64_t boundaries[] = {0, 3};
       to_compact(csr(3, 1, {0, 0, 0, 0}, {}, {}), {.m_block = 2, .boundaries = boundaries});
     }},
    {"dense_negative_rows", errc::invalid_argument, "rows = -1", [] { dense_matrix<float>(-1, 2); }},
    {"dense_negative_cols", errc::invalid_argument, "cols = -2", [] { dense_matrix<float>(1, -2); }},
    {"dense_overflow", errc::size_overflow, "rows x cols",
     [] { dense_matrix<float>(std::int64_t{1} << 32, std::int64_t{1} << 32); }},
    {"dense_of_the_wrong_length", errc::size_mismatch, "values has 5 entries: must have 6",
     [] { dense_matrix<double>(2, 3, layout::row_major, numbers(5)); }},
    {"to_csr_of_a_dense_with_short_rows", errc::bad_leading_dimension, "ld = 2: must be at least 3",
     [] { to_csr<std::int32_t>(dense_view<const double>(nullptr, 2, 3, 2)); }},
    {"to_csr_of_a_dense_with_short_columns", errc::bad_leading_dimension, "ld = 1: must be at least 2",
     [] { to_csr<std::int32_t>(dense_view<const double>(nullptr, 2, 3, 1, layout::col_major)); }},
    {"to_csr_of_a_dense_without_data", errc::invalid_argument, "data is null",
     [] { to_csr<std::int32_t>(dense_view<const double>(nullptr, 2, 3)); }},
    {"to_csr_of_a_dense_with_too_many_columns", errc::size_overflow, "cols = 2147483648",
     [] { to_csr<std::int32_t>(dense_view<const double>(nullptr, 0, beyond_int32)); }},
    {"to_csr_of_a_dense_whose_rows_overflow", errc::size_overflow, "dense matrix",
     [] { to_csr<std::int64_t>(dense_view<const double>(nullptr, 4, 1, std::int64_t{1} << 62)); }},
    {"ell_on_the_device", errc::wrong_memory_space, "ell",
     [] { validate(ell_view<double>{.space = memory_space::device}); }},
    {"compact_on_the_device", errc::wrong_memory_space, "compact bcsc",
     [] { validate(compact_bcsc_view<double>{.space = memory_space::device}); }},
    {"to_csr_of_a_device_ell", errc::wrong_memory_space, "ell",
     [] { to_csr(ell_view<double>{.space = memory_space::device}); }},
    {"to_csr_of_a_device_compact", errc::wrong_memory_space, "compact bcsc",
     [] { to_csr(compact_bcsc_view<double>{.space = memory_space::device}); }},
    {"to_ell_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_ell(csr_view<double>{.space = memory_space::device}, 1); }},
    {"to_dense_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_dense(csr_view<double>{.space = memory_space::device}); }},
    {"to_compact_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_compact(csr_view<double>{.space = memory_space::device}, {}); }},
    {"to_csr_of_a_device_coo", errc::wrong_memory_space, "coo",
     [] { to_csr(coo_view<double>{.space = memory_space::device}); }},
    {"to_csr_of_a_device_csc", errc::wrong_memory_space, "csc",
     [] { to_csr(csc_view<double>{.space = memory_space::device}); }},
    {"to_csr_of_a_device_bsr", errc::wrong_memory_space, "bsr",
     [] { to_csr(bsr_view<double>{.space = memory_space::device}); }},
    {"to_csr_of_a_device_bcsc", errc::wrong_memory_space, "bcsc",
     [] { to_csr(bcsc_view<double>{.space = memory_space::device}); }},
    {"to_coo_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_coo(csr_view<double>{.space = memory_space::device}); }},
    {"to_csc_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_csc(csr_view<double>{.space = memory_space::device}); }},
    {"to_bsr_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_bsr(csr_view<double>{.space = memory_space::device}, 1, 1); }},
    {"to_bcsc_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { to_bcsc(csr_view<double>{.space = memory_space::device}, 1); }},
    {"transpose_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { transpose(csr_view<double>{.space = memory_space::device}); }},
    {"cast_of_a_device_csr", errc::wrong_memory_space, "csr",
     [] { cast<float, std::int32_t>(csr_view<double>{.space = memory_space::device}); }},
};
INSTANTIATE_TEST_SUITE_P(broken, refused_view, ::testing::ValuesIn(broken_views), refusal_name);

// --- Other types
// ------------------------------------------------------------------------------------------------------

TEST(cast, changes_value_and_index_types) {
  const csr_matrix<double, std::int64_t> a(2, 3, {0, 2, 3}, {0, 2, 1}, {0.1, -2, 1e300});
  const csr_matrix<float, std::int32_t> b = cast<float, std::int32_t>(a);
  validate(b.view());
  EXPECT_EQ(b.rows(), 2);
  EXPECT_EQ(b.cols(), 3);
  EXPECT_EQ(list(b.view().row_ptr), (indices{0, 2, 3}));
  EXPECT_EQ(list(b.view().col_ind), (indices{0, 2, 1}));
  EXPECT_EQ(list(b.view().values), (std::vector<float>{0.1f, -2.0f, std::numeric_limits<float>::infinity()}));
}

TEST(cast, to_a_wider_type_and_back_changes_nothing) {
  const csr_matrix<float, std::int32_t> a(2, 3, {0, 2, 3}, {0, 2, 1}, {0.1f, -2, 3e38f});
  const auto back = cast<float, std::int32_t>(cast<double, std::int64_t>(a));
  EXPECT_EQ(list(back.view().row_ptr), list(a.view().row_ptr));
  EXPECT_EQ(list(back.view().col_ind), list(a.view().col_ind));
  EXPECT_EQ(list(back.view().values), list(a.view().values));
}

TEST(parallel, a_failed_check_names_the_first_fault_whatever_the_threads) {
  // Long enough to be cut into many pieces, with faults in several of them.
  const std::int64_t n = 1'000'000;
  indices row_ptr(n + 1), col_ind(n);
  for (std::int64_t i = 0; i <= n; ++i) row_ptr[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  for (const std::size_t k : {700'001, 333'333, 999'999}) col_ind[k] = 5;
  for (const int threads : test::thread_counts) {
    const test::with_threads of_many(threads);
    try {
      csr(n, 5, row_ptr, col_ind, numbers(n, 1.0));
      ADD_FAILURE() << "accepted by " << threads << " threads";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::index_out_of_range);
      EXPECT_NE(std::string(e.what()).find("col_ind[333333] = 5"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace bcsc
