#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bcsc/context.hpp"
#include "core/cpu_caches.hpp"

namespace bcsc::bench {

/// Where, when and with what a result was obtained. Unknown parts are empty or 0.
struct machine_facts {
  std::string git_hash;  ///< of the build, or the environment's BCSC_GIT_HASH
  std::string library_version;
  std::string compiler;
  std::string date;  ///< UTC, ISO 8601
  std::string backend;
  std::string context;  ///< context::describe()

  std::string cpu_model;
  int num_cpus = 0;
  int threads = 0;  ///< that the CPU contenders use
  core::cpu_caches caches;

  std::string gpu_name;
  int compute_capability = 0;  ///< 90 for 9.0
  std::int64_t gpu_memory_bytes = 0;
  std::int64_t gpu_l2_bytes = 0;
  std::string gpu_clocks;  ///< what nvidia-smi says: SM and memory clock, now and at most

  std::map<std::string, std::string> versions;  ///< "cuda_runtime", "cuda_driver", "cusparse", "cublas", "eigen", "mkl"

  double copy_bandwidth = 0;            ///< bytes/s, measured
  double cache_bandwidth = 0;           ///< bytes/s of the last-level cache, measured; 0: unknown
  double peak_fp32 = 0, peak_fp64 = 0;  ///< flop/s of the plain cores, computed from the clock; 0: unknown
};

/// What can be said without asking the stage.
machine_facts describe_machine(const context& ctx);

/// The first line a command prints, or nothing if it cannot be run.
std::string first_line_of(const char* command);

}  // namespace bcsc::bench
