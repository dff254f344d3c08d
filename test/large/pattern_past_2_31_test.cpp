// A pattern with more than 2^31 non-zeros from CSR to BCSC, its compact form and CSC, and back: every row's sum is what
// it must be. The stripes that fill it have closed forms for every sum. Needs 64 GiB and BCSC_LARGE=1; the same at a
// thousandth of the size always runs.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bcsc/any_matrix.hpp"

namespace bcsc::test {
namespace {

using I = std::int64_t;
using patterns = csr_matrix<pattern, I>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A square matrix whose row i is full from first(i) on, `width` columns wide. Fifty rows at a time share their
/// columns, so that a row block of 32 meets one or two stripes.
struct stripes {
  std::int64_t rows, width;
  std::int64_t first(std::int64_t row) const { return row / 50 * 97 % (rows - width + 1); }
  std::int64_t nnz() const { return rows * width; }
  /// The sum over a row of (column + 1): tells a lost or moved entry.
  std::int64_t weighted_row_sum(std::int64_t row) const { return width * (first(row) + 1) + width * (width - 1) / 2; }

  patterns csr() const {
    std::vector<I> row_ptr(at(rows) + 1), col_ind(at(nnz()));
    for (std::int64_t i = 0; i <= rows; ++i) row_ptr[at(i)] = i * width;
#pragma omp parallel for
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < width; ++j) col_ind[at(i * width + j)] = first(i) + j;
    }
    return {rows, rows, std::move(row_ptr), std::move(col_ind), pattern_array(at(nnz())), trust::trusted};
  }
};

/// Entries and weights of each row, counted as a format yields them.
class row_sums {
 public:
  explicit row_sums(const stripes& expected)
      : expected_(expected), count_(at(expected.rows), 0), weight_(at(expected.rows), 0) {}
  void add(std::int64_t row, std::int64_t col) {
    ++count_[at(row)];
    weight_[at(row)] += col + 1;
  }
  void expect_right() const {
    for (std::int64_t i = 0; i < expected_.rows; ++i) {
      ASSERT_EQ(count_[at(i)], expected_.width) << "row " << i;
      ASSERT_EQ(weight_[at(i)], expected_.weighted_row_sum(i)) << "row " << i;
    }
  }

 private:
  stripes expected_;
  std::vector<std::int64_t> count_, weight_;
};

template <class View>
void expect_row_sums(const View& a, const stripes& expected) {
  constexpr matrix_format format = format_of<View>;
  ASSERT_EQ(a.nnz(), expected.nnz());
  row_sums sums(expected);
  if constexpr (format == matrix_format::bcsc) {
    for (std::int64_t j = 0; j < a.nnzc(); ++j) {
      for (I k = a.col_ptr[at(j)]; k < a.col_ptr[at(j) + 1]; ++k) sums.add(a.row_ind[at(k)], a.col_ind[at(j)]);
    }
  } else if constexpr (format == matrix_format::compact_bcsc) {
    std::int64_t k = 0;
    for (std::int64_t b = 0; b < a.num_row_blocks(); ++b) {
      for (I j = a.brow_ptr[at(b)]; j < a.brow_ptr[at(b) + 1]; ++j) {
        for (std::int64_t n = a.col_count[at(j)] + 1; n > 0; --n, ++k) {
          sums.add(b * a.m_block + a.row_in_block[at(k)], a.col_ind[at(j)]);
        }
      }
    }
    ASSERT_EQ(k, expected.nnz());
  } else {
    for (std::int64_t j = 0; j < a.cols; ++j) {
      for (I k = a.col_ptr[at(j)]; k < a.col_ptr[at(j) + 1]; ++k) sums.add(a.row_ind[at(k)], j);
    }
  }
  sums.expect_right();
}

bool same(const csr_view<pattern, I>& a, const csr_view<pattern, I>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.nnz() == b.nnz() && std::ranges::equal(a.row_ptr, b.row_ptr) &&
         std::ranges::equal(a.col_ind, b.col_ind);
}

class stopwatch {
 public:
  void tell(const char* what) {
    const auto now = std::chrono::steady_clock::now();
    std::printf("%-40s %6.1f s\n", what, std::chrono::duration<double>(now - last_).count());
    std::fflush(stdout);
    last_ = std::chrono::steady_clock::now();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void expect_every_format(const stripes& pattern_of, index_type fitting) {
  stopwatch watch;
  const patterns a = pattern_of.csr();
  watch.tell("made as CSR");
  ASSERT_NO_THROW(validate(a.view()));
  watch.tell("checked");
  {
    const auto b = to_bcsc(a, 32);
    watch.tell("CSR -> BCSC, m_block 32");
    ASSERT_NO_FATAL_FAILURE(expect_row_sums(b.view(), pattern_of));
    watch.tell("row sums of BCSC");
    ASSERT_TRUE(same(to_csr(b), a));
    watch.tell("BCSC -> CSR, compared");
  }
  for (const std::int64_t dense_from : {0, 20}) {
    const auto b = to_compact(a, {.m_block = 32, .dense_from = dense_from});
    watch.tell(dense_from == 0 ? "CSR -> compact BCSC" : "CSR -> compact BCSC, dense columns first");
    ASSERT_NO_FATAL_FAILURE(expect_row_sums(b.view(), pattern_of));
    watch.tell("row sums of compact BCSC");
    ASSERT_TRUE(same(to_csr(b), a));
    watch.tell("compact BCSC -> CSR, compared");
  }
  {
    const auto b = to_csc(a);
    watch.tell("CSR -> CSC");
    ASSERT_NO_FATAL_FAILURE(expect_row_sums(b.view(), pattern_of));
    watch.tell("row sums of CSC");
    ASSERT_TRUE(same(to_csr(b), a));
    watch.tell("CSC -> CSR, compared");
  }
  const any_matrix chosen = convert(any_view(a), matrix_format::compact_bcsc, {.blocks = {.m_block = 256}});
  EXPECT_EQ(chosen.indices(), fitting);
  watch.tell("any_matrix, index width by size");
}

TEST(pattern_past_2_31, at_a_thousandth_of_the_size) { expect_every_format({2213, 981}, index_type::int32); }

/// What the system has left, in GiB.
double available_gib() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  double kib = 0;
  for (std::string unit; info >> name >> kib; std::getline(info, unit)) {
    if (name == "MemAvailable:") return kib / (1 << 20);
  }
  return 0;
}

TEST(pattern_past_2_31, converts_and_its_row_sums_are_right) {
  if (std::getenv("BCSC_LARGE") == nullptr) GTEST_SKIP() << "needs 64 GiB; BCSC_LARGE=1 asks for it";
  if (available_gib() < 64) GTEST_SKIP() << "needs 64 GiB, " << available_gib() << " are free";
  const stripes large{70'000, 31'000};
  ASSERT_GT(large.nnz(), std::int64_t{1} << 31);
  expect_every_format(large, index_type::int64);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%lld non-zeros, peak memory %.1f GiB\n", static_cast<long long>(large.nnz()),
              static_cast<double>(usage.ru_maxrss) / (1 << 20));
}

}  // namespace
}  // namespace bcsc::test
