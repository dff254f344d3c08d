#include "tools/bcsc/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "core/thread_limit.hpp"

namespace bcsc::cli {
namespace {

// Looked at by a signal's handler: no locks.
std::atomic<int> noted_signal{0};
std::atomic<int> pieces_of_work{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int number) {
  int none = 0;
  noted_signal.compare_exchange_strong(none, number);
  if (pieces_of_work == 0) ::_exit(exit_code_of(number));
}

bool is_ignored(int number) {
  struct sigaction current {};
  return ::sigaction(number, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
}

}  // namespace

void begin_process() {
#if defined(_OPENMP)
  // What OMP_NUM_THREADS says beyond that would end the process by libgomp's own message, or its stack.
  omp_set_num_threads(std::min(omp_get_max_threads(), core::most_threads()));
#endif
  // Opened in the wrong direction: using them fails as it does on closed ones.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (is_ignored(number)) continue;
    struct sigaction action {};
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(number, &action, nullptr);
  }
}

void tell(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int interrupted() noexcept { return noted_signal; }

ends_by_itself::ends_by_itself() noexcept { ++pieces_of_work; }
ends_by_itself::~ends_by_itself() { --pieces_of_work; }

}  // namespace bcsc::cli
