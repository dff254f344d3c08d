// Ten thousand random matrices, given as unordered entries with duplicates: every format against what a sorted map of
// the entries says it must hold.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "bcsc/convert.hpp"
#include "test/support/oracle.hpp"

namespace bcsc::test {
namespace {

/// The values are small integers, so that sums of duplicates are exact in any order.
struct random_matrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<triplet> entries;  ///< in no order, with duplicates
};

random_matrix make_random(test_random& random) {
  // One in sixteen is large enough to be sorted by counting, over more columns than one digit covers.
  const bool large = random.below(16) == 0;
  random_matrix a;
  a.rows = random.below(large ? 300 : 40);
  a.cols = random.below(large ? 9000 : 40);
  if (a.rows == 0 || a.cols == 0) return a;
  const std::int64_t count = random.below(large ? 3000 : 1 + a.rows * a.cols);
  const bool clustered = random.below(2) == 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t row = clustered ? random.below(1 + random.below(a.rows)) : random.below(a.rows);
    const std::int64_t col = clustered ? random.below(1 + random.below(a.cols)) : random.below(a.cols);
    a.entries.push_back({row, col, random.small_integer()});
  }
  return a;
}

template <class X, class Y>
void expect_list(std::span<const X> actual, const std::vector<Y>& wanted, const char* array) {
  ASSERT_EQ(std::vector<Y>(actual.begin(), actual.end()), wanted) << array;
}

/// The entries in the order a format stores them: the key says in which group (row, column, row block), then where.
using ordered_entries = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, double>;

/// How many keys come before group g, for g of [0, num_groups].
std::vector<std::int64_t> pointers(const ordered_entries& entries, std::int64_t num_groups) {
  std::vector<std::int64_t> ptr;
  auto at = entries.begin();
  std::int64_t count = 0;
  for (std::int64_t g = 0; g <= num_groups; ++g) {
    for (; at != entries.end() && std::get<0>(at->first) < g; ++at) ++count;
    ptr.push_back(count);
  }
  return ptr;
}

template <class T, class I>
void expect_bcsc(const bcsc_view<T, I>& b, const ordered_entries& by_row) {
  ordered_entries by_block;
  for (const auto& [key, value] : by_row) {
    by_block[{std::get<0>(key) / b.m_block, std::get<1>(key), std::get<0>(key)}] = value;
  }
  const std::int64_t num_blocks = (b.rows + b.m_block - 1) / b.m_block;
  std::vector<std::int64_t> brow_ptr(static_cast<std::size_t>(num_blocks) + 1), col_ind, col_ptr, row_ind;
  std::vector<double> values;
  std::pair<std::int64_t, std::int64_t> former{-1, -1};
  for (const auto& [key, value] : by_block) {
    const auto& [block, col, row] = key;
    if (former != std::pair(block, col)) {
      former = {block, col};
      col_ind.push_back(col);
      col_ptr.push_back(static_cast<std::int64_t>(values.size()));
      ++brow_ptr[static_cast<std::size_t>(block) + 1];
    }
    row_ind.push_back(row);
    values.push_back(value);
  }
  col_ptr.push_back(static_cast<std::int64_t>(values.size()));
  for (std::size_t k = 1; k < brow_ptr.size(); ++k) brow_ptr[k] += brow_ptr[k - 1];
  expect_list(b.brow_ptr, brow_ptr, "brow_ptr");
  expect_list(b.col_ind, col_ind, "col_ind");
  expect_list(b.col_ptr, col_ptr, "col_ptr");
  expect_list(b.row_ind, row_ind, "row_ind");
  expect_list(b.values, values, "values");
}

template <class T, class I>
void expect_bsr(const bsr_view<T, I>& b, const ordered_entries& by_row) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> blocks;
  for (const auto& [key, value] : by_row) {
    const std::int64_t row = std::get<0>(key), col = std::get<1>(key);
    auto& block = blocks[{row / b.row_block, col / b.col_block}];
    block.resize(static_cast<std::size_t>(b.row_block * b.col_block));
    block[static_cast<std::size_t>(row % b.row_block * b.col_block + col % b.col_block)] = value;
  }
  std::vector<std::int64_t> brow_ptr(b.brow_ptr.size()), bcol_ind;
  std::vector<double> values;
  for (const auto& [where, block] : blocks) {
    ++brow_ptr.at(static_cast<std::size_t>(where.first) + 1);
    bcol_ind.push_back(where.second);
    values.insert(values.end(), block.begin(), block.end());
  }
  for (std::size_t k = 1; k < brow_ptr.size(); ++k) brow_ptr[k] += brow_ptr[k - 1];
  ASSERT_EQ(std::int64_t(b.brow_ptr.size()), (b.rows + b.row_block - 1) / b.row_block + 1);
  expect_list(b.brow_ptr, brow_ptr, "brow_ptr");
  expect_list(b.bcol_ind, bcol_ind, "bcol_ind");
  expect_list(b.values, values, "values");
}

template <class T, class I>
void expect_every_format(const random_matrix& a, test_random& random) {
  std::vector<I> row_ind, col_ind;
  std::vector<T> values;
  ordered_entries by_row, by_col;
  for (const triplet& e : a.entries) {
    row_ind.push_back(static_cast<I>(e.row));
    col_ind.push_back(static_cast<I>(e.col));
    values.push_back(static_cast<T>(e.value));
    by_row[{e.row, e.col, 0}] += e.value;
    by_col[{e.col, e.row, 0}] += e.value;
  }
  std::vector<std::int64_t> rows, cols, rows_by_col;
  std::vector<double> sums, sums_by_col;
  for (const auto& [key, value] : by_row) {
    rows.push_back(std::get<0>(key));
    cols.push_back(std::get<1>(key));
    sums.push_back(value);
  }
  for (const auto& [key, value] : by_col) {
    rows_by_col.push_back(std::get<1>(key));
    sums_by_col.push_back(value);
  }

  const coo_matrix<T, I> coo(a.rows, a.cols, row_ind, col_ind, values);
  expect_list(coo.view().row_ind, rows, "coo.row_ind");
  expect_list(coo.view().col_ind, cols, "coo.col_ind");
  expect_list(coo.view().values, sums, "coo.values");

  const csr_matrix<T, I> csr = to_csr(coo);
  expect_list(csr.view().row_ptr, pointers(by_row, a.rows), "csr.row_ptr");
  expect_list(csr.view().col_ind, cols, "csr.col_ind");
  expect_list(csr.view().values, sums, "csr.values");

  const csc_matrix<T, I> csc = to_csc(csr);
  expect_list(csc.view().col_ptr, pointers(by_col, a.cols), "csc.col_ptr");
  expect_list(csc.view().row_ind, rows_by_col, "csc.row_ind");
  expect_list(csc.view().values, sums_by_col, "csc.values");

  const bcsc_matrix<T, I> bcsc = to_bcsc(csr, 1 + random.below(random.below(2) == 0 ? 12 : 400));
  validate(bcsc.view());
  expect_bcsc(bcsc.view(), by_row);
  const csr_matrix<T, I> back = to_csr(bcsc);
  expect_list(back.view().row_ptr, pointers(by_row, a.rows), "back.row_ptr");
  expect_list(back.view().col_ind, cols, "back.col_ind");
  expect_list(back.view().values, sums, "back.values");

  const bsr_matrix<T, I> bsr = to_bsr(csr, 1 + random.below(7), 1 + random.below(7));
  validate(bsr.view());
  expect_bsr(bsr.view(), by_row);
}

/// The seed of five hundred matrices.
class convert_property : public ::testing::TestWithParam<int> {};

TEST_P(convert_property, every_format_holds_the_entries_in_its_order) {
  test_random random(static_cast<std::uint64_t>(GetParam()));
  for (int k = 0; k < 500 && !HasFailure(); ++k) {
    const random_matrix a = make_random(random);
    SCOPED_TRACE(::testing::Message() << "matrix " << k << ": " << a.rows << " x " << a.cols << ", " << a.entries.size()
                                      << " entries");
    switch (k % 4) {
      case 0:
        expect_every_format<float, std::int32_t>(a, random);
        break;
      case 1:
        expect_every_format<float, std::int64_t>(a, random);
        break;
      case 2:
        expect_every_format<double, std::int32_t>(a, random);
        break;
      default:
        expect_every_format<double, std::int64_t>(a, random);
        break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, convert_property, ::testing::Range(1, 21));

/// Unsorted CSR with duplicates, long enough that the work is shared between threads.
TEST(convert_large, is_sorted_and_summed_in_parallel) {
  test_random random(77);
  const std::int64_t rows = 4000, cols = 500;
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  ordered_entries by_row;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t n = random.below(60); n > 0; --n) {
      col_ind.push_back(static_cast<std::int32_t>(random.below(cols)));
      values.push_back(random.small_integer());
      by_row[{i, col_ind.back(), 0}] += values.back();
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  const csr_matrix<double> a(rows, cols, row_ptr, col_ind, values);
  expect_list(a.view().row_ptr, pointers(by_row, rows), "row_ptr");
  for (const std::int64_t m_block : {1, 2, 7, 16, 64, 128, 3999, 100000}) {
    const auto b = to_bcsc(a, m_block);
    ASSERT_NO_FATAL_FAILURE(expect_bcsc(b.view(), by_row));
    const auto back = to_csr(b);
    EXPECT_TRUE(std::equal(a.view().values.begin(), a.view().values.end(), back.view().values.begin()));
  }
  ASSERT_NO_FATAL_FAILURE(expect_bsr(to_bsr(a, 3, 5).view(), by_row));
}

}  // namespace
}  // namespace bcsc::test
