#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/types.hpp"

namespace bcsc::core {
struct context_state;
}

#pragma GCC visibility push(default)
namespace bcsc {

/// A GPU as the library sees it, usable or not.
struct device_info {
  int device = 0;
  std::string name;
  int compute_major = 0, compute_minor = 0;
  int num_multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes_per_block = 0;
  double peak_bandwidth = 0;  ///< bytes/s, from memory clock and bus width; 0 if unknown
  bool usable = false;
  std::string why_not;  ///< empty when usable
};

/// Every GPU of the machine. No driver, no GPU or a build without CUDA gives an empty list, never an exception.
std::vector<device_info> devices();

/// Called with one line of text, from the thread that called the library.
using log_callback = std::function<void(std::string_view)>;

/// Whose threads a context of the CPU works with.
enum class workers {
  /// OpenMP's, which the program's own parallel regions share. They spin for some ms after each region.
  openmp,
  /// The context's own: a product begins and ends in 1 us instead of 4 on 16 cores. For programs that do nothing by
  /// OpenMP between products: where its threads still spin, a product takes tens of us. Those of the context spin for
  /// 2 ms after a product, then sleep.
  own,
};

/// Where work is done: the CPU with a number of threads, or one GPU. Cheap to copy; copies share their state.
class context {
 public:
  // No move: a context that was moved from would have no state.
  context(const context&) = default;
  context& operator=(const context&) = default;

  /// The CPU. `threads` 0 takes what OpenMP would take. Throws error{invalid_argument} below 0 and above 1024,
  /// or eight for each CPU where that is more.
  static context cpu(int threads = 0);
  /// The same with the choice of threads; for workers::own, 0 takes as many as the process has CPUs. Throws
  /// error{out_of_memory} if the system cannot start them.
  static context cpu(int threads, workers whose);
  /// A GPU. Throws error{no_device | driver_too_old | device_too_old} that says what is missing.
  static context cuda(int device = 0);
  /// The first usable GPU, else the CPU.
  static context best();

  backend kind() const;
  /// Threads of a CPU context; 0 for a GPU.
  int threads() const;
  /// The GPU of a CUDA context; the facts of device -1 for the CPU.
  const device_info& device() const;
  /// One line: "cuda: NVIDIA H200 (sm_90, 132 SMs, 139.8 GiB)" or "cpu: 16 threads, avx512".
  std::string describe() const;
  /// Receives the library's messages (choices, conversions). The library itself never prints.
  void set_log(log_callback log);

  core::context_state& state() const { return *state_; }

 private:
  explicit context(std::shared_ptr<core::context_state> state) : state_(std::move(state)) {}
  std::shared_ptr<core::context_state> state_;
};

}  // namespace bcsc
#pragma GCC visibility pop
