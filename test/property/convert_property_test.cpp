// Random matrices, given as unordered entries with duplicates, against what a sorted map of the entries says they must
// hold: array by array, and through random chains of formats, element and index types. Ten thousand of each, or as many
// as BCSC_PROPERTY_CASES says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "bcsc/any_matrix.hpp"
#include "bcsc/convert.hpp"
#include "test/support/any_oracle.hpp"
#include "test/support/oracle.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/viewed.hpp"

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

constexpr int num_seeds = 20;

/// For each seed.
std::int64_t num_cases() {
  const char* named = std::getenv("BCSC_PROPERTY_CASES");
  return (named != nullptr ? std::atoll(named) : 10'000) / num_seeds;
}

class convert_property : public ::testing::TestWithParam<int> {};

TEST_P(convert_property, every_format_holds_the_entries_in_its_order) {
  test_random random(static_cast<std::uint64_t>(GetParam()));
  for (std::int64_t k = 0; k < num_cases() && !HasFailure(); ++k) {
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

// --- Chains ---------------------------------------------------------------------------------------------------------

/// What a matrix holds, whatever its format.
struct model {
  std::int64_t rows = 0, cols = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, double> entries;
  value_type element = value_type::fp64;

  void drop_zeros() {
    std::erase_if(entries, [](const auto& e) { return e.second == 0; });
  }
  void become(value_type to) {
    if (to == value_type::pattern || element == value_type::pattern) {
      for (auto& [place, value] : entries) value = 1;
    }
    element = to;
  }
  void transpose() {
    std::map<std::pair<std::int64_t, std::int64_t>, double> turned;
    for (const auto& [place, value] : entries) turned[{place.second, place.first}] = value;
    entries = std::move(turned);
    std::swap(rows, cols);
  }
  std::vector<stored_entry> stored(bool padded) const {
    return with_types(element, index_type::int32, [&]<class T, class>() {
      std::vector<stored_entry> list;
      for (const auto& [place, value] : entries) {
        if (!padded || value != 0) list.push_back({place.first, place.second, bits_of(static_cast<T>(value))});
      }
      return list;
    });
  }
};

template <class X, std::size_t N>
X one_of(const X (&list)[N], test_random& random) {
  return list[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(N)))];
}

/// COO of up to 60 x 60, sometimes larger. Every sum of duplicates is exact in every type, however it is made.
any_matrix random_coo(test_random& random, model& m) {
  const bool large = random.below(64) == 0;
  m.rows = random.below(large ? 300 : 61);
  m.cols = random.below(large ? 2000 : 61);
  m.element = one_of(all_value_types, random);
  std::vector<triplet> list;
  if (m.rows > 0 && m.cols > 0) {
    std::map<std::pair<std::int64_t, std::int64_t>, double> magnitude;
    const bool clustered = random.below(2) == 0;
    const std::int64_t count = random.below(2) == 0 ? random.below(20) : random.below(1 + m.rows * m.cols / 4);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t row = clustered ? random.below(1 + random.below(m.rows)) : random.below(m.rows);
      const std::int64_t col = clustered ? random.below(1 + random.below(m.cols)) : random.below(m.cols);
      const double value = random.below(8) == 0 ? 0.0 : random.small_integer();
      if ((magnitude[{row, col}] += std::fabs(value)) > 200) continue;
      list.push_back({row, col, value});
      m.entries[{row, col}] += value;
    }
  }
  m.become(m.element);
  return with_types(m.element, one_of(all_index_types, random), [&]<class T, class I>() -> any_matrix {
    std::vector<I> row_ind, col_ind;
    element_array<T> values;
    for (const triplet& e : list) {
      row_ind.push_back(static_cast<I>(e.row));
      col_ind.push_back(static_cast<I>(e.col));
      values.push_back(static_cast<T>(e.value));
    }
    return coo_matrix<T, I>(m.rows, m.cols, std::move(row_ind), std::move(col_ind), std::move(values));
  });
}

/// The block of a Blocked-ELL matrix; 0 for another format.
std::int64_t ell_block_of(const any_view& a) {
  return a.visit([]<class View>(const View& view) -> std::int64_t {
    if constexpr (format_of<View> == matrix_format::ell) {
      return view.block;
    } else {
      return 0;
    }
  });
}

/// What a format promises besides its invariants: no more blocks than needed, and dense columns where they belong.
/// `former_ell_block`: of the matrix it was made from. The same block size keeps the blocks, including those of stored
/// zeros alone.
void expect_shape(const any_view& a, const model& m, const conversion_options& options, std::int64_t former_ell_block) {
  a.visit([&]<class View>(const View& view) {
    if constexpr (format_of<View> == matrix_format::ell) {
      std::map<std::int64_t, std::set<std::int64_t>> blocks;
      for (const auto& [place, value] : m.entries) blocks[place.first / view.block].insert(place.second / view.block);
      std::size_t most = 0;
      for (const auto& [row, cols] : blocks) most = std::max(most, cols.size());
      EXPECT_EQ(view.block, options.ell_block);
      EXPECT_GE(view.blocks_per_row, static_cast<std::int64_t>(most));
      EXPECT_TRUE(view.block == former_ell_block || view.blocks_per_row == static_cast<std::int64_t>(most));
    } else if constexpr (format_of<View> == matrix_format::compact_bcsc) {
      EXPECT_EQ(view.m_block, options.blocks.m_block);
      EXPECT_EQ(std::vector<std::int64_t>(view.block_row.begin(), view.block_row.end()),
                std::vector<std::int64_t>(options.blocks.boundaries.begin(), options.blocks.boundaries.end()));
      EXPECT_EQ(view.col_ind.empty(), options.blocks.narrow_columns || view.nnzc() == 0);
      EXPECT_EQ(view.dense_end.size(),
                options.blocks.dense_from == 0 ? 0u : static_cast<std::size_t>(view.num_row_blocks()));
      for (std::size_t b = 0; b < view.dense_end.size(); ++b) {
        for (auto j = view.brow_ptr[b]; j < view.brow_ptr[b + 1]; ++j) {
          EXPECT_EQ(view.col_count[static_cast<std::size_t>(j)] + 1 >= options.blocks.dense_from,
                    j < view.dense_end[b]);
        }
      }
    }
  });
}

class convert_chain : public ::testing::TestWithParam<int> {};

TEST_P(convert_chain, keeps_the_entries_through_any_formats_and_types) {
  test_random random(1000 + static_cast<std::uint64_t>(GetParam()));
  for (std::int64_t k = 0; k < num_cases() && !HasFailure(); ++k) {
    model m;
    any_matrix a = random_coo(random, m);
    SCOPED_TRACE(::testing::Message() << "matrix " << k << ": " << a.rows() << " x " << a.cols() << ", "
                                      << m.entries.size() << " entries");
    std::string path = "coo_" + std::string(to_string(m.element));
    ASSERT_EQ(sorted_entries(a), m.stored(false)) << path;
    for (std::int64_t steps = 1 + random.below(5); steps > 0; --steps) {
      const matrix_format to = one_of(all_matrix_formats, random);
      conversion_options options{.transposed = random.below(5) == 0,
                                 .row_block = 1 + random.below(9),
                                 .col_block = 1 + random.below(9),
                                 .ell_block = 1 + random.below(random.below(2) == 0 ? 9 : 70),
                                 .order = random.below(2) == 0 ? layout::row_major : layout::col_major};
      if (random.below(3) == 0) options.element = one_of(all_value_types, random);
      if (random.below(2) == 0) options.indices = one_of(all_index_types, random);
      if (!can_hold(to, options.element.value_or(m.element))) options.element = value_type::bf16;
      constexpr std::int64_t heights[] = {1, 2, 3, 7, 32, 256, 257, 65536};
      options.blocks.m_block = random.below(2) == 0 ? one_of(heights, random) : 1 + random.below(70);
      options.blocks.dense_from = random.below(2) == 0 ? 0 : 1 + random.below(5);
      options.blocks.narrow_columns = random.below(2) == 0;

      if (is_padded(a.format())) m.drop_zeros();
      if (options.transposed) m.transpose();
      m.become(options.element.value_or(m.element));
      std::vector<std::int64_t> boundaries{0};
      while (boundaries.back() < m.rows) {
        const std::int64_t height = 1 + random.below(std::min<std::int64_t>(options.blocks.m_block, 40));
        boundaries.push_back(std::min(m.rows, boundaries.back() + height));
      }
      if (random.below(3) == 0 && m.rows > 0) options.blocks.boundaries = boundaries;

      const std::int64_t former_ell_block = ell_block_of(a.view());
      a = random.below(2) == 0 ? convert(std::move(a), to, options) : convert(a.view(), to, options);
      path += " " + std::string(to_string(to)) + "_" + std::string(to_string(m.element)) +
              (options.transposed ? "_transposed" : "");
      ASSERT_EQ(a.format(), to) << path;
      ASSERT_EQ(a.element(), m.element) << path;
      ASSERT_EQ(a.rows(), m.rows) << path;
      ASSERT_EQ(a.cols(), m.cols) << path;
      if (to != matrix_format::dense) {
        ASSERT_EQ(a.indices(), options.indices.value_or(index_type::int32)) << path;
      }
      ASSERT_NO_THROW(validate(a.view())) << path;
      ASSERT_EQ(sorted_entries(a), m.stored(is_padded(to))) << path;
      expect_shape(a, m, options, former_ell_block);
      ASSERT_FALSE(HasFailure()) << path;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, convert_property, ::testing::Range(1, num_seeds + 1));
INSTANTIATE_TEST_SUITE_P(seeds, convert_chain, ::testing::Range(1, num_seeds + 1));

/// Unsorted CSR with duplicates, long enough that all threads take part.
TEST(convert_large, is_the_same_on_any_number_of_threads) {
  test_random random(78);
  const std::int64_t rows = 40000;
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t n = random.below(60); n > 0; --n) {
      col_ind.push_back(static_cast<std::int32_t>(random.below(500)));
      values.push_back(random.small_integer());
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  csr_matrix<double> alone;
  for (const int threads : thread_counts) {
    const with_threads of_many(threads);
    const csr_matrix<double> sorted(rows, 500, row_ptr, col_ind, values);
    if (threads == 1) alone = sorted;
    for (const csr_matrix<double>& back :
         {sorted, to_csr(to_bcsc(sorted, 16)), to_csr(to_csc(sorted)), to_csr(to_compact(sorted, {.m_block = 8}))}) {
      EXPECT_TRUE(std::ranges::equal(back.view().row_ptr, alone.view().row_ptr)) << threads << " threads";
      EXPECT_TRUE(std::ranges::equal(back.view().col_ind, alone.view().col_ind)) << threads << " threads";
      EXPECT_TRUE(std::ranges::equal(back.view().values, alone.view().values)) << threads << " threads";
    }
  }
}

/// The same array by array, where the work is shared between some threads.
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
  ASSERT_NO_FATAL_FAILURE(expect_bsr(viewed(to_bsr(a, 3, 5)), by_row));
}

}  // namespace
}  // namespace bcsc::test
