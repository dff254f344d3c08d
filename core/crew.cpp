#include "core/crew.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/fail.hpp"

namespace bcsc::core {

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::chrono::milliseconds awake{2};  // longer than what a solver does between two products

thread_local bool member = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How many forks lie between this process and the one that loaded the library.
std::atomic<int> forks{0};

void count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
}

/// A CPU of its own for each thread of a crew, as far as there are enough. The system wakes a thread where its waker or
/// another one runs, even where CPUs are idle, and separates them only after some ms: so threads sleep pinned to their
/// CPUs. Awake they may be moved, for the system knows what else runs.
class cpu_claims {
 public:
  /// Moves this thread to a CPU that no thread has claimed, nor the caller runs on (`callers`); -1: there is none.
  int claim_one(int callers) {
    const int here = sched_getcpu();
    if (here != callers && claim(here)) return here;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (cpu == callers || !CPU_ISSET(static_cast<std::size_t>(cpu), &allowed) || !claim(cpu)) continue;
      const pin moves_there(cpu);
      return cpu;
    }
    return -1;
  }
  void give_up(int cpu) {
    if (cpu >= 0) claimed_[static_cast<std::size_t>(cpu)] = false;
  }

  /// Pins this thread to a CPU while it lives; not for -1.
  class pin {
   public:
    explicit pin(int cpu) : pinned_(cpu >= 0 && sched_getaffinity(0, sizeof allowed_, &allowed_) == 0) {
      if (!pinned_) return;
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(static_cast<std::size_t>(cpu), &only);
      pinned_ = sched_setaffinity(0, sizeof only, &only) == 0;
    }
    ~pin() {
      if (pinned_) sched_setaffinity(0, sizeof allowed_, &allowed_);
    }
    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

   private:
    cpu_set_t allowed_;
    bool pinned_;
  };

 private:
  bool claim(int cpu) {
    return cpu >= 0 && cpu < CPU_SETSIZE && !claimed_[static_cast<std::size_t>(cpu)].exchange(true);
  }
  std::array<std::atomic<bool>, CPU_SETSIZE> claimed_{};
};

/// While it lives new threads leave all signals to those of the program.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t former_;
};

}  // namespace

/// A call of run() is a round. Threads wait for its number and claim their parts; after its own part the caller does
/// those that nobody has claimed, so that it never waits for a thread that is not running.
struct crew::shared {
  using round_number = std::uint32_t;
  struct alignas(cache_line) {
    std::atomic<round_number> number{0};
  } round;
  /// Written between rounds, where it changes, and read by those that have a part in one.
  struct alignas(cache_line) {
    void (*part)(const void*, int, int) = nullptr;
    const void* data = nullptr;
    bool ends = false;
  } task;
  struct alignas(cache_line) {
    std::atomic<int> count{0}, callers_cpu{sched_getcpu()};
  } asleep;
  /// In a cache line of the thread's own, which the caller writes only where the thread is late.
  struct alignas(cache_line) progress {
    std::atomic<round_number> claimed{0}, done{0};  ///< the last round's

    bool claim(round_number number) {
      round_number before = number - 1;
      return claimed.compare_exchange_strong(before, number, std::memory_order_acq_rel);
    }
    bool is_claimed(round_number number) const { return claimed.load(std::memory_order_relaxed) == number; }
    bool is_done(round_number number) const { return done.load(std::memory_order_acquire) == number; }
  };

  explicit shared(int size) : progress_of(static_cast<std::size_t>(size)), waits(size <= crew::available_cpus()) {}

  std::vector<progress> progress_of;
  std::vector<std::thread> threads;
  cpu_claims cpus;
  std::mutex turn;
  const bool waits;  ///< awake for work: not where threads outnumber the CPUs
  const int forks_before = forks;

  int size() const { return static_cast<int>(progress_of.size()); }
  bool left_behind() const { return forks_before != forks; }

  void start_threads() {
    const signals_blocked in_threads;
    for (int t = 1; t < size(); ++t) threads.emplace_back([this, t] { work(t); });
  }

  void work(int thread) {
    member = true;
    progress& own = progress_of[static_cast<std::size_t>(thread)];
    int cpu = waits ? cpus.claim_one(asleep.callers_cpu) : -1;
    for (round_number number = sleep_until_after(0, cpu);; number = round_after(number, cpu)) {
      if (!own.claim(number)) continue;
      if (task.ends) return;
      task.part(task.data, thread, size());
      own.done.store(number, std::memory_order_release);
    }
  }

  round_number round_after(round_number last, int& cpu) {
    constexpr int looks_between_clocks = 64;
    const auto begin = std::chrono::steady_clock::now();
    do {
      for (int look = 0; look < looks_between_clocks; ++look) {
        const round_number number = round.number.load(std::memory_order_acquire);
        if (number != last) return number;
        relax();
      }
    } while (waits && std::chrono::steady_clock::now() - begin < awake);
    return sleep_until_after(last, cpu);
  }

  /// `cpu` is what this thread has claimed, before and after.
  round_number sleep_until_after(round_number last, int& cpu) {
    {
      const cpu_claims::pin asleep_there(cpu);
      ++asleep.count;
      round.number.wait(last);
      --asleep.count;
    }
    if (waits && (cpu < 0 || cpu == asleep.callers_cpu)) {
      cpus.give_up(cpu);
      cpu = cpus.claim_one(asleep.callers_cpu);
    }
    return round.number.load(std::memory_order_acquire);
  }

  round_number begin_round() {
    // One that is about to sleep is counted before it looks at the number a last time: it is seen, or sees.
    if (asleep.count != 0) asleep.callers_cpu = sched_getcpu();
    const round_number number = ++round.number;
    if (asleep.count != 0) round.number.notify_all();
    return number;
  }

  void do_what_is_late(round_number number) {
    constexpr int looks = 64;  // a running thread has claimed its part by then
    for (std::size_t t = 1; t < progress_of.size(); ++t) {
      for (int look = 0; look < looks && !progress_of[t].is_claimed(number); ++look) relax();
      if (progress_of[t].is_claimed(number) || !progress_of[t].claim(number)) continue;
      task.part(task.data, static_cast<int>(t), size());
      progress_of[t].done.store(number, std::memory_order_relaxed);
    }
  }

  void wait_for_all(round_number number) const {
    constexpr int looks_between_yields = 1024;  // one that takes longer may have been preempted on this very CPU
    for (std::size_t t = 1; t < progress_of.size(); ++t) {
      for (int look = 1; !progress_of[t].is_done(number); ++look) {
        relax();
        if (look % looks_between_yields == 0) std::this_thread::yield();
      }
    }
  }

  void end_threads() {
    task.ends = true;
    begin_round();
    for (std::thread& t : threads) t.join();
  }
};

crew::crew(int size) : shared_(std::make_unique<shared>(size)) {
  count_forks();
  try {
    shared_->start_threads();
  } catch (const std::system_error& e) {
    shared_->end_threads();
    fail(errc::out_of_memory, "threads = {}: the system starts {} and no more ({})", size, shared_->threads.size() + 1,
         e.what());
  }
}

crew::~crew() {
  if (shared_->left_behind()) {
    static_cast<void>(shared_.release());  // nothing here can join them
  } else {
    shared_->end_threads();
  }
}

bool crew::is_member() { return member; }

int crew::available_cpus() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) == 0) return CPU_COUNT(&cpus);
  return static_cast<int>(std::thread::hardware_concurrency());
}

void crew::run(void (*part)(const void* data, int thread, int threads), const void* data) {
  shared& all = *shared_;
  if (member || all.left_behind()) {
    for (int t = 0; t < all.size(); ++t) part(data, t, all.size());
    return;
  }
  const std::lock_guard lock(all.turn);
  if (all.task.part != part || all.task.data != data) {
    all.task.part = part;
    all.task.data = data;
  }
  const auto number = all.begin_round();
  member = true;
  part(data, 0, all.size());
  all.do_what_is_late(number);
  member = false;
  all.wait_for_all(number);
}

}  // namespace bcsc::core
