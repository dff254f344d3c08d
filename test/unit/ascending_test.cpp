#include "converters/formats/ascending.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

/// The quick check of CSR and CSC against the obvious one.
namespace bcsc::converters {
namespace {

template <class I>
bool obvious(const std::vector<I>& ptr, const std::vector<I>& ind, std::int64_t num_segments, std::int64_t size) {
  const auto num_entries = static_cast<std::int64_t>(ind.size());
  if (num_segments < 0 || size < 0 || static_cast<std::int64_t>(ptr.size()) != num_segments + 1) return false;
  if (ptr.front() != 0 || ptr.back() != num_entries) return false;
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i) {
    if (ptr[i] < 0 || ptr[i] > ptr[i + 1] || ptr[i + 1] > num_entries) return false;
  }
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i) {
    for (auto k = static_cast<std::size_t>(ptr[i]); k < static_cast<std::size_t>(ptr[i + 1]); ++k) {
      if (ind[k] < 0 || ind[k] >= size) return false;
      if (k > static_cast<std::size_t>(ptr[i]) && ind[k] <= ind[k - 1]) return false;
    }
  }
  return true;
}

template <class I>
struct arrays {
  std::vector<I> ptr{0}, ind;
  std::int64_t size = 0;
};

template <class I>
arrays<I> random_arrays(std::mt19937_64& random, std::int64_t num_segments, std::int64_t size, std::int64_t longest) {
  arrays<I> a;
  a.size = size;
  for (std::int64_t i = 0; i < num_segments; ++i) {
    std::set<I> segment;
    const std::int64_t wanted = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest + 1));
    for (std::int64_t k = 0; k < wanted; ++k)
      segment.insert(static_cast<I>(random() % static_cast<std::uint64_t>(size)));
    a.ind.insert(a.ind.end(), segment.begin(), segment.end());
    a.ptr.push_back(static_cast<I>(a.ind.size()));
  }
  return a;
}

template <class I>
class ascends_in_segments_of : public testing::Test {};
using index_types = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(ascends_in_segments_of, index_types);

TYPED_TEST(ascends_in_segments_of, agrees_with_the_obvious_check_whatever_is_changed) {
  using I = TypeParam;
  std::mt19937_64 random(11);
  const I extreme[] = {-1, 0, 1, std::numeric_limits<I>::min(), std::numeric_limits<I>::max()};
  int well = 0, ill = 0;
  for (int round = 0; round < 3000; ++round) {
    arrays<I> a = random_arrays<I>(random, 1 + static_cast<std::int64_t>(random() % 12),
                                   1 + static_cast<std::int64_t>(random() % 20), 6);
    std::int64_t num_segments = static_cast<std::int64_t>(a.ptr.size()) - 1;
    const auto change = [&](std::vector<I>& array) {
      if (array.empty()) return;
      I& entry = array[random() % array.size()];
      entry = random() % 3 == 0 ? extreme[random() % 5] : static_cast<I>(entry + static_cast<I>(random() % 3) - 1);
    };
    for (std::uint64_t changes = random() % 3; changes > 0; --changes) change(random() % 2 == 0 ? a.ptr : a.ind);
    if (random() % 10 == 0) num_segments += static_cast<std::int64_t>(random() % 3) - 1;
    if (random() % 10 == 0) a.size -= 1;
    const bool expected = obvious(a.ptr, a.ind, num_segments, a.size);
    ++(expected ? well : ill);
    EXPECT_EQ(ascends_in_segments<I>(a.ptr, a.ind, num_segments, a.size), expected) << "round " << round;
  }
  EXPECT_GT(well, 300);
  EXPECT_GT(ill, 300);
}

/// Many pieces and batches: one fault anywhere in them is found.
TYPED_TEST(ascends_in_segments_of, finds_one_fault_in_many_entries) {
  using I = TypeParam;
  std::mt19937_64 random(12);
  for (const std::int64_t longest : {3, 100, 200'000}) {
    const std::int64_t size = 1'000'000;
    arrays<I> a = random_arrays<I>(random, longest > 1000 ? 3 : 600'000 / longest, size, longest);
    const auto num_segments = static_cast<std::int64_t>(a.ptr.size()) - 1;
    ASSERT_TRUE(ascends_in_segments<I>(a.ptr, a.ind, num_segments, size));
    for (int round = 0; round < 100; ++round) {
      // The first index of a segment becomes negative, the last too large, one between equal to its neighbour.
      std::size_t i = 0;
      do {
        i = random() % static_cast<std::size_t>(num_segments);
      } while (a.ptr[i + 1] - a.ptr[i] < 2);
      const auto first = static_cast<std::size_t>(a.ptr[i]), last = static_cast<std::size_t>(a.ptr[i + 1]);
      const std::size_t k = round % 3 == 0   ? first
                            : round % 3 == 1 ? last - 1
                                             : first + 1 + random() % (last - first - 1);
      const I was = a.ind[k];
      a.ind[k] = round % 3 == 0 ? I{-1} : round % 3 == 1 ? static_cast<I>(size) : a.ind[k - 1];
      EXPECT_FALSE(ascends_in_segments<I>(a.ptr, a.ind, num_segments, size)) << longest << ", round " << round;
      a.ind[k] = was;
    }
  }
}

}  // namespace
}  // namespace bcsc::converters
