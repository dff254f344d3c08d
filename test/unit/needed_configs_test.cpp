// Which configs a choice needs: those that some product would miss.
#include "lib/tune/needed_configs.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "test/unit/made_up_cases.hpp"

namespace bcsc {
namespace {

using tuning::timed_case;

class needed_configs : public test::made_up_cases {
 protected:
  std::set<std::string> left(double most_loss, std::size_t of_case = 0) const {
    std::set<std::string> names;
    const std::vector<timed_case> some = tuning::with_needed_configs(cases_, most_loss);
    for (const auto& t : some[of_case].timings) names.insert(t.config->name);
    return names;
  }
};

using names = std::set<std::string>;

TEST_F(needed_configs, lets_those_go_that_no_product_misses) {
  add({{"a", 10}, {"b", 11}, {"c", 30}});
  add({{"a", 20}, {"b", 10}, {"c", 10.2}});
  EXPECT_EQ(left(0), (names{"a", "b"})) << "c is nowhere the fastest";
  EXPECT_EQ(left(0.05), (names{"a", "b"}));
  EXPECT_EQ(left(0.15), (names{"b"})) << "a is missed by a tenth in one product";
}

TEST_F(needed_configs, keeps_what_a_single_product_misses_however_many_do_not) {
  for (int i = 0; i < 1000; ++i) add({{"a", 10}, {"b", 11}});
  add({{"a", 20}, {"b", 10}});
  EXPECT_EQ(left(0.05), (names{"a", "b"}));
}

TEST_F(needed_configs, counts_what_is_lost_from_the_fastest_of_all) {
  // The first product misses a by 4 %, then b by 5 % of what is left, but by 9 % of what a took.
  add({{"a", 100}, {"b", 104}, {"c", 109}});
  add({{"a", 300}, {"b", 100}, {"c", 104}});
  add({{"a", 300}, {"b", 300}, {"c", 100}});
  EXPECT_EQ(left(0.05), (names{"b", "c"}));
  EXPECT_EQ(left(0.1), (names{"c"}));
}

TEST_F(needed_configs, never_takes_the_last_of_a_product) {
  add({{"a", 10}});
  add({{"b", 10}, {"a", 10}});
  EXPECT_TRUE(left(1000).contains("a"));
}

TEST_F(needed_configs, misses_precise_ones_where_none_may_round) {
  add({{"tf32-a", 5}, {"b", 10}, {"c", 20}});
  EXPECT_EQ(left(0.05), (names{"tf32-a", "b"}));
}

TEST_F(needed_configs, judges_each_type_by_itself) {
  add({{"a", 10}, {"b", 11}});
  add({{"a", 11}, {"b", 10}}, value_type::fp64);
  EXPECT_EQ(left(0, 0), (names{"a"}));
  EXPECT_EQ(left(0, 1), (names{"b"}));
}

}  // namespace
}  // namespace bcsc
