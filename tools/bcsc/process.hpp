#pragma once

#include <string_view>

/// What the process is to the system: its signals and its standard streams.
namespace bcsc::cli {

/// Closed standard streams are occupied, so that no file gets their numbers and with them the output meant for them; a
/// file that grows beyond its limit is an error instead of a signal; INT, TERM and HUP end the process with 128 +
/// signal. What the process was told to ignore stays ignored. OpenMP takes core::most_threads() at most.
void begin_process();

/// Writes to stderr, if that takes it: work does not fail because a message is lost.
void tell(std::string_view text) noexcept;

/// The signal that asked the process to end; 0: none has.
int interrupted() noexcept;
/// The exit code of a process that a signal has ended.
constexpr int exit_code_of(int signal) { return 128 + signal; }

/// While one lives, a signal is only noted, and the process goes on: for work that checks interrupted() from time to
/// time, ends by itself and leaves nothing half-done behind. Elsewhere a signal ends the process at once.
class ends_by_itself {
 public:
  ends_by_itself() noexcept;
  ~ends_by_itself();
  ends_by_itself(const ends_by_itself&) = delete;
  ends_by_itself& operator=(const ends_by_itself&) = delete;
};

}  // namespace bcsc::cli
