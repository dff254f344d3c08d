// Threads of the library's own.
#include "core/crew.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "bcsc/error.hpp"
#include "test/support/in_child.hpp"
#include "test/support/thread_counts.hpp"

namespace bcsc {
namespace {

using core::crew;
using test::holds_in_child;

/// Calls part(thread) on each thread.
template <class Part>
void run(crew& threads, const Part& part) {
  threads.run([](const void* data, int thread, int) { (*static_cast<const Part*>(data))(thread); }, &part);
}

/// What `rounds` rounds of adding 1 by each thread give, one plain number for each.
std::vector<long> count(crew& threads, int size, int rounds) {
  struct alignas(64) line {
    long value = 0;
  };
  std::vector<line> counts(static_cast<std::size_t>(size));
  for (int round = 0; round < rounds; ++round) {
    run(threads, [&](int thread) { ++counts[static_cast<std::size_t>(thread)].value; });
  }
  std::vector<long> values;
  for (const line& c : counts) values.push_back(c.value);
  return values;
}

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
void wait_until_they_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

/// Rounds with a slow caller, so that the other threads get to do their parts: until they have called part() ten times.
template <class Part, class AfterRound>
void have_others_work(crew& threads, const Part& part, const AfterRound& after_round) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> by_others = 0;
  for (int round = 0; round < 100000 && by_others < 10; ++round) {
    run(threads, [&](int) {
      if (std::this_thread::get_id() == caller) return pause();
      part();
      ++by_others;
    });
    after_round();
  }
  EXPECT_GE(by_others, 10);
}

bool stay_on_one_cpu() {
  cpu_set_t one, all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
  }
  return sched_setaffinity(0, sizeof one, &one) == 0 && crew::available_cpus() == 1;
}

TEST(crew, does_each_part_in_each_round) {
  for (const int size : test::thread_counts) {
    crew threads(size);
    EXPECT_EQ(count(threads, size, 200), std::vector<long>(static_cast<std::size_t>(size), 200)) << size;
  }
}

TEST(crew, is_done_when_run_returns) {
  // What one round writes the next one's threads read, and the caller between them.
  crew threads(4);
  std::vector<int> now(4, 0), before(4, 0);
  for (int round = 1; round <= 2000; ++round) {
    before = now;
    run(threads, [&](int t) { now[static_cast<std::size_t>(t)] = before[static_cast<std::size_t>((t + 1) % 4)] + 1; });
    ASSERT_EQ(now, std::vector<int>(4, round));
  }
}

TEST(crew, waits_for_a_part_that_was_begun) {
  crew threads(3);
  std::atomic<int> begun = 0, ended = 0;
  const auto part = [&] {
    ++begun;
    for (int i = 0; i < 5; ++i) pause();
    ++ended;
  };
  have_others_work(threads, part, [&] { ASSERT_EQ(ended, begun); });
}

TEST(crew, wakes_again) {
  for (const int size : {2, 16}) {
    crew threads(size);
    for (int i = 0; i < 5; ++i) {
      wait_until_they_sleep();
      EXPECT_EQ(count(threads, size, 3), std::vector<long>(static_cast<std::size_t>(size), 3));
    }
    wait_until_they_sleep();  // and end asleep
  }
}

TEST(crew, has_callers_take_turns) {
  crew threads(3);
  std::atomic<int> inside = 0, most_inside = 0, parts = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 5; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        run(threads, [&](int) {
          most_inside = std::max(most_inside.load(), ++inside);
          ++parts;
          pause();
          --inside;
        });
      }
    });
  }
  for (std::thread& c : callers) c.join();
  EXPECT_EQ(parts, 5 * 200 * 3);
  EXPECT_LE(most_inside, 3);
}

TEST(crew, does_what_its_threads_ask_for_in_those_threads) {
  crew threads(4), others(2);
  std::atomic<int> same = 0, parts = 0;
  run(threads, [&](int) {
    EXPECT_TRUE(crew::is_member());
    const std::thread::id here = std::this_thread::get_id();
    for (crew* asked : {&threads, &others}) {
      run(*asked, [&](int) {
        ++parts;
        same += std::this_thread::get_id() == here;
      });
    }
  });
  EXPECT_EQ(parts, 4 * (4 + 2));
  EXPECT_EQ(same, parts);
  EXPECT_FALSE(crew::is_member());
}

TEST(crew, leaves_signals_to_the_program) {
  crew threads(3);
  std::atomic<int> unblocked = 0;
  const auto look = [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    unblocked += sigismember(&mask, SIGINT) == 0;
  };
  have_others_work(threads, look, [] {});
  EXPECT_EQ(unblocked, 0);
}

TEST(crew, does_not_wait_for_threads_that_do_not_run) {
  // All on one CPU, which the caller does not leave while the others are late: so it does their parts.
  EXPECT_TRUE(holds_in_child([] {
    if (!stay_on_one_cpu()) return false;
    crew threads(4);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> by_caller = 0, by_others = 0;
    for (int round = 0; round < 1000; ++round) {
      run(threads, [&](int) { ++(std::this_thread::get_id() == caller ? by_caller : by_others); });
    }
    return by_caller + by_others == 4000 && by_caller > 2000;
  }));
}

TEST(crew, works_on_one_cpu) {
  EXPECT_TRUE(holds_in_child([] {
    if (!stay_on_one_cpu()) return false;
    crew threads(5);
    wait_until_they_sleep();
    return count(threads, 5, 50) == std::vector<long>(5, 50);
  }));
}

TEST(crew, leaves_its_work_to_the_caller_in_a_forked_process) {
  crew threads(4);
  EXPECT_EQ(count(threads, 4, 3), std::vector<long>(4, 3));
  EXPECT_TRUE(holds_in_child([&] {
    if (count(threads, 4, 3) != std::vector<long>(4, 3)) return false;
#if defined(__SANITIZE_THREAD__)
    return true;  // it ends a forked process that starts threads
#endif
    crew made_here(3);
    return count(made_here, 3, 3) == std::vector<long>(3, 3);
  }));
  EXPECT_EQ(count(threads, 4, 3), std::vector<long>(4, 3));
}

TEST(crew, works_in_a_process_forked_while_it_worked) {
  crew threads(2);
  std::atomic<bool> works = false, forked = false;
  std::thread other([&] {
    run(threads, [&](int) {
      works = true;
      while (!forked) pause();
    });
  });
  while (!works) pause();
  EXPECT_TRUE(holds_in_child([&] { return count(threads, 2, 3) == std::vector<long>(2, 3); }));
  forked = true;
  other.join();
}

TEST(crew, says_how_many_threads_there_are_if_there_are_no_more) {
  EXPECT_TRUE(holds_in_child([] {
    // Room for a few stacks of 8 MiB.
    rlimit room{};
    std::int64_t pages = 0;
    if (FILE* const statm = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(statm, "%ld", &pages) != 1) pages = 0;
      std::fclose(statm);
    }
    room.rlim_cur = room.rlim_max = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (rlim_t{96} << 20);
    if (pages == 0 || setrlimit(RLIMIT_AS, &room) != 0) return false;
    try {
      crew threads(1000);
    } catch (const error& e) {
      const std::string text = e.what();
      return e.code() == errc::out_of_memory && text.find("threads = 1000") != std::string::npos;
    }
    return false;
  }));
}

}  // namespace
}  // namespace bcsc
