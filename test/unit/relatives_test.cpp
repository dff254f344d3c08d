// What a config takes where it has not been timed.
#include "lib/tune/relatives.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/made_up_cases.hpp"

namespace bcsc {
namespace {

using tuning::timed_case;

class relatives : public test::made_up_cases {
 protected:
  /// Where `name` was not timed, or is not told: 0.
  double told(std::size_t of_case, const std::string& name) const {
    const std::vector<timed_case> all = tuning::with_relatives(cases_);
    const tuning::timing* const found = tuning::timing_of(all[of_case], name);
    return found != nullptr ? found->us : 0;
  }
  std::size_t num_timings(std::size_t of_case) const { return tuning::with_relatives(cases_)[of_case].timings.size(); }
};

TEST_F(relatives, tell_by_the_mean_ratio_where_both_were_timed) {
  add({{"a-4-x", 100}, {"a-8-x", 1}});
  for (int i = 0; i < 10; ++i) add({{"a-4-x", 10}, {"a-4-y", i % 2 == 0 ? 5 : 20}, {"a-8-x", 1}});
  EXPECT_NEAR(told(0, "a-4-y"), 100, 1e-9) << "half and twice the time";
  EXPECT_EQ(told(1, "a-4-y"), 5) << "what was timed stays";
  EXPECT_EQ(num_timings(0), 3u);
  EXPECT_EQ(num_timings(1), 3u);
}

TEST_F(relatives, have_the_same_algorithm_tile_rounding_and_type) {
  add({{"a-4-x", 100}});
  add({{"a-4-x", 100}}, value_type::fp64);
  for (int i = 0; i < 20; ++i) {
    add({{"a-4-x", 10}, {"a-8-y", 5}, {"b-4-y", 5}, {"a-4-tf32", 5}, {"a-4-y", 20}});
  }
  for (const char* name : {"a-8-y", "b-4-y", "a-4-tf32"}) EXPECT_EQ(told(0, name), 0) << name;
  EXPECT_NEAR(told(0, "a-4-y"), 200, 1e-9);
  EXPECT_EQ(told(1, "a-4-y"), 0) << "in fp64 it was never timed";
}

TEST_F(relatives, are_the_ones_that_were_timed_most) {
  add({{"a-4-x", 100}, {"a-4-y", 1000}});
  add({{"a-4-x", 100}});
  for (int i = 0; i < 12; ++i) add({{"a-4-x", 10}, {"a-4-y", 10}, {"a-4-z", 20}});
  EXPECT_NEAR(told(0, "a-4-z"), 200, 1e-9) << "by x, which was timed once more than y";
}

TEST_F(relatives, say_nothing_by_few_cases) {
  add({{"a-4-x", 100}});
  for (int i = 0; i < 9; ++i) add({{"a-4-x", 10}, {"a-4-y", 5}});
  EXPECT_EQ(told(0, "a-4-y"), 0);
  add({{"a-4-x", 10}, {"a-4-y", 5}});
  EXPECT_NEAR(told(0, "a-4-y"), 50, 1e-9);
}

}  // namespace
}  // namespace bcsc
