// How many threads work is worth.
#include "core/team.hpp"

#include <gtest/gtest.h>

namespace bcsc {
namespace {

TEST(team, is_one_thread_or_all) {
  for (const int allowed : {1, 2, 3, 16, 64}) {
    int before = 1;
    for (double seconds = 1e-8; seconds < 1; seconds *= 1.3) {
      const int team = core::team_for(seconds, allowed);
      EXPECT_TRUE(team == 1 || team == allowed) << seconds << " s, " << allowed;
      EXPECT_GE(team, before) << seconds << " s, " << allowed;  // more work never has fewer threads
      before = team;
    }
  }
}

TEST(team, costs_less_than_it_saves) {
  EXPECT_EQ(core::team_for(0, 16), 1);
  EXPECT_EQ(core::team_for(1e-6, 16), 1);
#if BCSC_WITH_OPENMP
  EXPECT_EQ(core::team_for(20e-6, 16), 16);
  EXPECT_EQ(core::team_for(4e-6, 2), 2);
  EXPECT_EQ(core::team_for(4e-6, 16), 1);  // to fork and join sixteen takes longer
  EXPECT_EQ(core::team_for(1, 0), omp_get_max_threads());
#endif
}

}  // namespace
}  // namespace bcsc
