#include "bcsc/context.hpp"

#include <new>

#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "core/thread_limit.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bcsc {

std::vector<device_info> devices() { return core::gpu::list_devices(); }

context context::cpu(int threads) { return cpu(threads, workers::openmp); }

context context::cpu(int threads, workers whose) {
  if (threads < 0 || threads > core::most_threads()) {
    core::fail(errc::invalid_argument, "threads = {}: must be 0 (as many as {}) to {}", threads,
               whose == workers::own ? "the process has CPUs" : "OpenMP takes", core::most_threads());
  }
  auto state = std::make_shared<core::context_state>();
  state->where = backend::cpu;
  if (whose == workers::own) {
    state->threads = threads > 0 ? threads : core::crew::available_cpus();
    if (state->threads > 1) state->own_threads = std::make_unique<core::crew>(state->threads);
  } else {
    state->threads = threads > 0 && BCSC_WITH_OPENMP ? threads : core::default_team().threads;
  }
  state->device.device = -1;
  return context(std::move(state));
}

context context::cuda(int device) {
  const auto machine = core::gpu::this_platform();
  auto list = core::gpu::list_devices();
  if (list.empty()) {
    std::string why;
    const errc code = core::gpu::assess_absence(machine, why);
    throw error(code, why);
  }
  if (device < 0 || device >= static_cast<int>(list.size())) {
    core::fail(errc::no_device, "device = {}: this machine has devices 0 to {}", device, list.size() - 1);
  }
  device_info& chosen = list[static_cast<std::size_t>(device)];
  const errc verdict = core::gpu::assess(machine, chosen);
  if (verdict != errc::ok) throw error(verdict, chosen.why_not);

  auto state = std::make_shared<core::context_state>();
  state->where = backend::cuda;
  state->device = chosen;
  state->pool = std::make_shared<const core::gpu::memory_pool>(device);
  return context(std::move(state));
}

context context::best() {
  for (const device_info& candidate : core::gpu::list_devices()) {
    if (candidate.usable) return cuda(candidate.device);
  }
  return cpu();
}

backend context::kind() const { return state_->where; }
int context::threads() const { return state_->threads; }
const device_info& context::device() const { return state_->device; }
void context::set_log(log_callback log) { state_->log = std::move(log); }

std::string context::describe() const {
  if (kind() == backend::cpu) return core::describe_cpu(threads(), state_->own_threads ? " of its own" : "");
  const device_info& d = device();
  return core::format("cuda: {} (sm_{}{}, {} SMs, {:.1f} GiB)", d.name, d.compute_major, d.compute_minor,
                      d.num_multiprocessors, static_cast<double>(d.memory_bytes) / (1 << 30));
}

namespace core {

std::string describe_cpu(int threads, std::string_view whose) {
  return format("cpu: {} thread{}{}, {}", threads, threads == 1 ? "" : "s", whose, to_string(best_cpu_isa()));
}

void require_healthy(const context_state& state) {
  if (state.poisoned.load(std::memory_order_relaxed)) {
    throw error(
        errc::context_poisoned,
        "an earlier CUDA error has left this device context unusable; the process must be restarted to use the GPU");
  }
}

void check_launch(context_state& state, int status, const char* what) {
  if (status == 0) return;
  if (gpu::is_sticky(status)) state.poisoned.store(true);
  gpu::check_launch(status, what);
}

void rethrow_for(context_state& state, const char* what) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw error(errc::out_of_memory, std::string("the host has no memory left for ") + what);
  } catch (const error& e) {
    if (e.code() == errc::context_poisoned) state.poisoned = true;
    throw;
  }
}

cpu_isa best_cpu_isa() noexcept {
#if defined(__x86_64__)
  // Every extension that -march=x86-64-v4 and -v3 let the compiler use, not just the vector width.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma")) {
    return cpu_isa::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    return cpu_isa::avx2;
  }
#endif
  return cpu_isa::baseline;
}

bool has_fast_gather() noexcept {
#if defined(__x86_64__)
  // Found once, since cpuid traps in a virtual machine. Half-precision arithmetic came with Sapphire Rapids.
  static const bool does = [] {
    constexpr unsigned features = 7, avx512_fp16 = 1U << 23;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_is("intel") != 0 && __get_cpuid_count(features, 0, &a, &b, &c, &d) != 0 &&
           (d & avx512_fp16) != 0;
  }();
  return does;
#else
  return false;
#endif
}

std::string_view to_string(cpu_isa isa) noexcept {
  switch (isa) {
    case cpu_isa::avx512:
      return "avx512";
    case cpu_isa::avx2:
      return "avx2";
    case cpu_isa::baseline:
      break;
  }
  return "baseline";
}

}  // namespace core
}  // namespace bcsc
