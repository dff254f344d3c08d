#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "bcsc/context.hpp"
#include "bcsc/error.hpp"
#include "core/crew.hpp"
#include "core/gpu.hpp"
#include "core/team.hpp"

namespace bcsc::choice {
struct cost_table;
}

namespace bcsc::core {

/// What all copies of a context share.
struct context_state {
  backend where = backend::cpu;
  int threads = 0;
  std::unique_ptr<crew> own_threads;  ///< of a CPU; null: OpenMP's
  device_info device;
  log_callback log;
  std::shared_ptr<const gpu::memory_pool> pool;  ///< of a GPU
  /// Set by the first sticky CUDA error; every later run answers error{context_poisoned} without touching the GPU.
  std::atomic<bool> poisoned{false};
  /// What plans choose by (lib/choice/known_costs.hpp): found once, when the first plan asks.
  std::once_flag costs_found;
  std::shared_ptr<const choice::cost_table> costs;

  /// Who works for it on the host.
  team who() const { return where == backend::cpu ? team{threads, own_threads.get()} : default_team(); }

  void say(std::string_view line) const {
    if (log) log(line);
  }
};

/// Throws error{context_poisoned} if an earlier error has left the device unusable.
void require_healthy(const context_state& state);

/// Checks a CUDA status (a cudaError_t) of a launch on `state`; poisons the context if the error is sticky.
void check_launch(context_state& state, int status, const char* what);

/// Called where an exception that ended `what` is being handled: rethrows it as guarded() says.
[[noreturn]] void rethrow_for(context_state& state, const char* what);

/// Runs `body` for `what`: running out of host memory becomes error{out_of_memory}, and a sticky CUDA error poisons the
/// context wherever it was seen (a launch, a copy, a pointer query).
template <class Body>
decltype(auto) guarded(context_state& state, const char* what, Body&& body) {
  try {
    return body();
  } catch (...) {
    rethrow_for(state, what);
  }
}

/// A CPU's context in words; `whose` follows its threads.
std::string describe_cpu(int threads, std::string_view whose = "");

/// The vector instructions the CPU kernels use here: "avx512", "avx2" or "baseline".
enum class cpu_isa : int { baseline = 0, avx2 = 1, avx512 = 2 };
cpu_isa best_cpu_isa() noexcept;
std::string_view to_string(cpu_isa isa) noexcept;
/// Whether this CPU loads lanes from different places faster by the gather instruction than one by one: Intel's from
/// Sapphire Rapids on. AMD's do not, and older ones of Intel's are slowed down against Gather Data Sampling.
bool has_fast_gather() noexcept;

}  // namespace bcsc::core
