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
/// How long a thread waits before it sleeps: what a program may do between two products. OpenMP's wait as long.
constexpr std::chrono::milliseconds awake{5};

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

/// Which CPUs the threads of a crew were last seen on. The system wakes a thread where its waker or another one runs,
/// even where CPUs are idle, and parts them only after some ms: threads that wake part themselves.
class cpu_claims {
 public:
  /// Claims a CPU for this thread, that it is on or moves to; -1: none is free. `callers` is the caller's.
  int claim_one(int callers) {
    const int here = sched_getcpu();
    if (here != callers && claim(here)) return here;
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (cpu != callers && CPU_ISSET(static_cast<std::size_t>(cpu), &allowed) && claim(cpu)) {
        move_to(cpu, allowed);
        return cpu;
      }
    }
    return -1;
  }
  void give_up(int cpu) {
    if (cpu >= 0) claimed_[static_cast<std::size_t>(cpu)] = false;
  }

 private:
  bool claim(int cpu) {
    return cpu >= 0 && cpu < CPU_SETSIZE && !claimed_[static_cast<std::size_t>(cpu)].exchange(true);
  }
  /// It may go elsewhere later: the system knows what else runs.
  static void move_to(int cpu, const cpu_set_t& allowed) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(cpu), &only);
    if (sched_setaffinity(0, sizeof only, &only) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
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

/// A call of run() is a round. Threads wait for its number and then read what it is, which seldom changes; each tells
/// the caller that it is done. Every line is written by one thread.
struct crew::shared {
  struct alignas(cache_line) {
    std::atomic<std::uint32_t> number{0};
  } round;
  struct alignas(cache_line) {
    std::atomic<int> count{0};
  } asleep;
  struct alignas(cache_line) {
    void (*part)(const void*, int, int) = nullptr;
    const void* data = nullptr;
    int callers_cpu = sched_getcpu();  ///< when threads were last woken
    bool ends = false;
  } task;
  struct alignas(cache_line) progress {
    std::atomic<std::uint32_t> done{0};
  };

  explicit shared(int size) : progress_of(static_cast<std::size_t>(size)), waits(size <= crew::available_cpus()) {}

  std::vector<progress> progress_of;
  std::vector<std::thread> threads;
  cpu_claims cpus;
  std::mutex turn;
  const bool waits;  ///< awake; not where threads outnumber the CPUs
  const int forks_before = forks;

  int size() const { return static_cast<int>(progress_of.size()); }
  bool left_behind() const { return forks_before != forks; }

  void start_threads() {
    const signals_blocked in_threads;
    for (int t = 1; t < size(); ++t) threads.emplace_back([this, t] { work(t); });
  }

  void work(int thread) {
    member = true;
    int cpu = claim_cpu();
    for (std::uint32_t number = 0;;) {
      number = round_after(number, cpu);
      if (task.ends) return;
      task.part(task.data, thread, size());
      progress_of[static_cast<std::size_t>(thread)].done.store(number, std::memory_order_release);
    }
  }

  int claim_cpu() { return waits ? cpus.claim_one(task.callers_cpu) : -1; }

  /// Waits for the round after `last`. `cpu` is what this thread has claimed.
  std::uint32_t round_after(std::uint32_t last, int& cpu) {
    constexpr int looks_between_clocks = 64;
    const auto begin = std::chrono::steady_clock::now();
    do {
      for (int look = 0; look < looks_between_clocks; ++look) {
        const std::uint32_t number = round.number.load(std::memory_order_acquire);
        if (number != last) return number;
        relax();
      }
    } while (waits && std::chrono::steady_clock::now() - begin < awake);
    cpus.give_up(cpu);
    ++asleep.count;
    round.number.wait(last);
    --asleep.count;
    const std::uint32_t number = round.number.load(std::memory_order_acquire);
    cpu = claim_cpu();
    return number;
  }

  std::uint32_t begin_round() {
    // One that is about to sleep is counted before it looks at the number a last time: it is seen, or sees.
    if (asleep.count != 0) task.callers_cpu = sched_getcpu();
    const std::uint32_t number = ++round.number;
    if (asleep.count != 0) round.number.notify_all();
    return number;
  }

  void wait_for_all(std::uint32_t number) const {
    constexpr int looks_between_yields = 1024;  // a thread that is not done by then may want this CPU
    for (std::size_t t = 1; t < progress_of.size(); ++t) {
      for (int look = 1; progress_of[t].done.load(std::memory_order_acquire) != number; ++look) {
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
  const std::uint32_t number = all.begin_round();
  member = true;
  part(data, 0, all.size());
  member = false;
  all.wait_for_all(number);
}

}  // namespace bcsc::core
