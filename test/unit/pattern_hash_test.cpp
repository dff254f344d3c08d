// The hash that tells patterns apart: it depends on the shape and the index arrays, not on values, index widths or
// threads, and is the same on a GPU as on the host.
#include "converters/formats/pattern_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/support/battery.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

using converters::pattern_hash;

template <class T, index I>
pattern_hash hash_of(const csr_matrix<T, I>& a) {
  return converters::hash_pattern(converters::csr_pattern<I>(a.view()));
}

TEST(pattern_hash, differs_between_the_matrices_of_the_battery) {
  std::vector<pattern_hash> seen;
  for (const sparse_case& c : battery(values::real)) {
    const pattern_hash hash = hash_of(csr_of<float>(c));
    EXPECT_EQ(std::ranges::count(seen, hash), 0) << c.name;
    seen.push_back(hash);
  }
}

TEST(pattern_hash, does_not_depend_on_values_or_the_width_of_indices) {
  for (const sparse_case& c : battery(values::real)) {
    const pattern_hash hash = hash_of(csr_of<float>(c));
    sparse_case other = c;
    for (triplet& e : other.entries) e.value = -3 * e.value;
    EXPECT_EQ(hash_of(csr_of<double>(other)), hash) << c.name;
    EXPECT_EQ((hash_of(csr_of<double, std::int64_t>(other))), hash) << c.name;
  }
}

TEST(pattern_hash, sees_one_entry_moved_and_one_column_more) {
  sparse_case c{"three", 20, 9, {{0, 1, 1.0}, {0, 4, 2.0}, {7, 4, 3.0}}};
  const pattern_hash hash = hash_of(csr_of<float>(c));
  c.entries[0].col = 2;
  EXPECT_NE(hash_of(csr_of<float>(c)), hash);
  c.entries[0].col = 1;
  c.entries[2].row = 8;
  EXPECT_NE(hash_of(csr_of<float>(c)), hash);
  c.entries[2].row = 7;
  c.cols = 10;
  EXPECT_NE(hash_of(csr_of<float>(c)), hash);
  c.cols = 9;
  EXPECT_EQ(hash_of(csr_of<float>(c)), hash);
}

TEST(pattern_hash, sees_any_entry_in_another_column) {
  const sparse_case c = make_case("pattern", 500, 401, scatter(500, 400, 5000, 3), values::real, 4);
  const pattern_hash hash = hash_of(csr_of<float>(c));
  for (std::size_t k = 0; k < c.entries.size(); k += 97) {
    sparse_case other = c;
    other.entries[k].col = 400;  // empty so far
    std::ranges::sort(other.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
    EXPECT_NE(hash_of(csr_of<float>(other)), hash) << "entry " << k;
  }
}

/// Long enough for several threads, and for several thread blocks.
sparse_case large() {
  return rows_of_lengths("large", 100000, 4000, [](std::int64_t i) { return i % 9973 == 5 ? 4000 : i % 4; });
}

TEST(pattern_hash, does_not_depend_on_the_threads) {
  const auto a = csr_of<float>(large());
  const pattern_hash hash = hash_of(a);
  for (const int threads : thread_counts) {
    const with_threads set(threads);
    EXPECT_EQ(hash_of(a), hash) << threads;
  }
}

template <index I>
void expect_equal_on(int device, const sparse_case& c) {
  const auto host = csr_of<float, I>(c);
  const device_csr<float, I> there(device, host.view());
  EXPECT_EQ(converters::hash_pattern_on_device(device, converters::csr_pattern<I>(there.view())), hash_of(host))
      << c.name;
}

TEST(pattern_hash, is_the_same_on_a_gpu) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  std::vector<sparse_case> all = battery(values::real);
  all.push_back(large());
  for (const sparse_case& c : all) {
    expect_equal_on<std::int32_t>(device, c);
    expect_equal_on<std::int64_t>(device, c);
  }
}

}  // namespace
}  // namespace bcsc::test
