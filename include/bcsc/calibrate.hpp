#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bcsc/context.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// Measured capabilities of the machine that a context computes on.
struct machine_constants {
  double launch_seconds = 0;    ///< of a product with nothing to do, one of many back to back
  double cache_bandwidth = 0;   ///< bytes/s read and written by copies within L2: a GPU's, or those of the CPU's cores
  double memory_bandwidth = 0;  ///< the same by copies that no cache holds
};

struct calibrate_options {
  double max_seconds = 20;  ///< no further repetition begins after this
  std::string cache = {};   ///< where to keep them, as tuning_cache takes it: empty is the machine's own, "off" none
  /// Receives the share done and what is measured next.
  std::function<void(double done, std::string_view now)> progress = {};
};

/// Measures them and keeps them; a cache that cannot be used is reported in the context's log. Each is the best of
/// several samples, since what disturbs a measurement only makes it slower. Throws error{invalid_argument} for
/// max_seconds, error{out_of_memory | cuda_error | context_poisoned}.
machine_constants calibrate(const context& ctx, const calibrate_options& options = {});

/// Those that are kept for the machine under `ctx`; none if it was never calibrated, or the cache cannot be read.
std::optional<machine_constants> known_constants(const context& ctx, const std::string& cache = {});

/// That configs were timed on a machine, for the choice of all plans whose contexts are made there afterwards.
struct calibrated_costs {
  std::string date;               ///< UTC, "2026-11-25"
  std::string file;               ///< that keeps the costs, beside the cache's; empty: none does
  std::int64_t num_products = 0;  ///< matrices times N times value types
};

/// Makes a matrix from a specification: generate::from_specification<double>, or what takes its place.
using matrix_source = std::function<csr_matrix<double>(std::string_view specification)>;

/// Times configs on matrices that `generate` makes, corrects the built-in costs by what it sees, and keeps them for
/// this machine (on a CPU: for this number of threads). After max_seconds no product begins but the first, and what
/// was measured so far counts. Other than that as calibrate().
calibrated_costs calibrate_costs(const context& ctx, const matrix_source& generate,
                                 const calibrate_options& options = {.max_seconds = 540});

/// What is kept for the machine under `ctx`; none if its costs were never calibrated, or cannot be used, which is
/// reported in the context's log.
std::optional<calibrated_costs> known_costs(const context& ctx, const std::string& cache = {});

}  // namespace bcsc
#pragma GCC visibility pop
