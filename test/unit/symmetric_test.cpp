// One triangle expanded to the whole matrix, against a map that is mirrored entry by entry.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bcsc/any_matrix.hpp"
#include "bcsc/error.hpp"
#include "test/support/any_oracle.hpp"
#include "test/support/oracle.hpp"
#include "test/support/thread_counts.hpp"

namespace bcsc {
namespace {

using test::stored_entry;
using test::test_random;

struct kind {
  value_type element;
  index_type indices;
  symmetry_kind symmetry;
  bool lower;
};

std::vector<kind> kinds() {
  std::vector<kind> all;
  for (const value_type element : all_value_types) {
    for (const index_type indices : all_index_types) {
      for (const bool lower : {true, false}) {
        all.push_back({element, indices, symmetry_kind::symmetric, lower});
        if (element != value_type::pattern) all.push_back({element, indices, symmetry_kind::skew_symmetric, lower});
      }
    }
  }
  return all;
}

class expand : public ::testing::TestWithParam<kind> {};
INSTANTIATE_TEST_SUITE_P(triangle, expand, ::testing::ValuesIn(kinds()), [](const auto& info) {
  return std::string(to_string(info.param.element)) + "_" + std::string(to_string(info.param.indices)) +
         (info.param.symmetry == symmetry_kind::symmetric ? "_symmetric" : "_skew") +
         (info.param.lower ? "_lower" : "_upper");
});

TEST_P(expand, gives_both_triangles_and_one_diagonal) {
  const kind k = GetParam();
  const bool skew = k.symmetry == symmetry_kind::skew_symmetric;
  test_random random(3);
  // Small ones of any density, and one large enough for more than one thread.
  for (const std::int64_t rows : {0, 1, 2, 3, 17, 60, 420}) {
    for (const std::int64_t count : {std::int64_t{0}, rows, rows * rows / 3}) {
      std::map<std::pair<std::int64_t, std::int64_t>, double> triangle;
      for (std::int64_t n = 0; n < count; ++n) {
        const std::int64_t i = random.below(rows), j = random.below(rows);
        const auto place =
            k.lower ? std::pair(std::max(i, j), std::min(i, j)) : std::pair(std::min(i, j), std::max(i, j));
        triangle[place] = skew && i == j ? 0.0 : n % 11 == 0 ? 0.0 : random.small_integer();
      }
      test::with_types(k.element, k.indices, [&]<class T, class I>() {
        std::vector<I> row_ind, col_ind;
        element_array<T> values;
        std::vector<stored_entry> whole;
        for (const auto& [place, value] : triangle) {
          row_ind.push_back(static_cast<I>(place.first));
          col_ind.push_back(static_cast<I>(place.second));
          values.push_back(static_cast<T>(value));
          whole.push_back({place.first, place.second, test::bits_of(static_cast<T>(value))});
          if (place.first == place.second) continue;
          whole.push_back({place.second, place.first, test::bits_of(static_cast<T>(skew ? -value : value))});
        }
        std::sort(whole.begin(), whole.end());
        const csr_matrix<T, I> a = to_csr(coo_matrix<T, I>(rows, rows, row_ind, col_ind, std::move(values)));
        const csr_matrix<T, I> expanded = expand_symmetric(a, k.symmetry);
        EXPECT_NO_THROW(validate(expanded.view()));
        EXPECT_TRUE(test::sorted_entries(expanded) == whole) << rows << " rows, " << triangle.size() << " entries";
        return 0;
      });
    }
  }
}

template <class T>
csr_matrix<T> csr_of(std::int64_t rows, std::int64_t cols, std::vector<std::int32_t> row_ind,
                     std::vector<std::int32_t> col_ind) {
  return to_csr(coo_matrix<T>(rows, cols, row_ind, col_ind, element_array<T>(row_ind.size(), T(1))));
}

void expect_refused(errc code, const std::string& says, const auto& body) {
  try {
    body();
    ADD_FAILURE() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(to_string(e.code()), to_string(code));
    EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
  }
}

/// A band whose triangle has half a million entries: enough that all threads take part.
TEST(expand_symmetric, does_not_depend_on_the_threads) {
  constexpr std::int32_t rows = 30000;
  std::vector<std::int32_t> row_ind, col_ind, of_row, of_col;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t j = std::max(0, i - 36); j <= std::min(rows - 1, i + 36); ++j) {
      if ((i + j) % 2 != 0) continue;
      of_row.push_back(i);
      of_col.push_back(j);
      if (j > i) continue;
      row_ind.push_back(i);
      col_ind.push_back(j);
    }
  }
  const csr_matrix<float> lower = csr_of<float>(rows, rows, row_ind, col_ind);
  const csr_matrix<float> whole = csr_of<float>(rows, rows, of_row, of_col);
  for (const int threads : test::thread_counts) {
    const test::with_threads of_many(threads);
    const csr_matrix<float> expanded = expand_symmetric(lower);
    EXPECT_TRUE(std::ranges::equal(expanded.view().row_ptr, whole.view().row_ptr)) << threads << " threads";
    EXPECT_TRUE(std::ranges::equal(expanded.view().col_ind, whole.view().col_ind)) << threads << " threads";
    EXPECT_TRUE(std::ranges::equal(expanded.view().values, whole.view().values)) << threads << " threads";
  }
}

TEST(expand_symmetric, refuses_what_is_no_triangle) {
  expect_refused(errc::size_mismatch, "2 x 3", [] { expand_symmetric(csr_of<double>(2, 3, {}, {})); });
  expect_refused(errc::structure_violation, "entries (2, 0) and (1, 2): both triangles", [] {
    expand_symmetric(csr_of<double>(3, 3, {0, 1, 2}, {0, 2, 0}));
  });
  // The same row on both sides of the diagonal.
  expect_refused(errc::structure_violation, "entries (1, 0) and (1, 2)", [] {
    expand_symmetric(csr_of<half>(3, 3, {1, 1}, {0, 2}));
  });
  expect_refused(errc::structure_violation, "entry (1, 1): a skew-symmetric matrix has a zero diagonal", [] {
    expand_symmetric(csr_of<float>(3, 3, {1, 2}, {1, 0}), symmetry_kind::skew_symmetric);
  });
  expect_refused(errc::unsupported, "pattern",
                 [] { expand_symmetric(csr_of<pattern>(3, 3, {2}, {0}), symmetry_kind::skew_symmetric); });
  expect_refused(errc::wrong_memory_space, "csr",
                 [] { expand_symmetric(csr_view<double>{.space = memory_space::device}); });
}

}  // namespace
}  // namespace bcsc
