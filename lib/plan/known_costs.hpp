#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/context.hpp"
#include "lib/plan/cost_table.hpp"

/// The costs of the machine at hand: a file beside the tuning cache keeps what was calibrated.
namespace bcsc::plan {

/// What costs of an H200 are scaled to another GPU by. 0: not known.
struct gpu_constants {
  double launch_seconds = 0, cache_bandwidth = 0, memory_bandwidth = 0;  ///< machine_constants'
  double peak_bandwidth = 0;                                             ///< device_info's, as the next
  int multiprocessors = 0;
};

/// Those of the H200 that was measured, but for its time to start a product: not before that is known do others' scale.
inline constexpr gpu_constants h200_constants{1.176e-6, 6.27e12, 4.17e12, 4.8e12, 132};

/// Measured constants where both GPUs have them, else what the device says of itself.
gpu_scales scales_from(const gpu_constants& here, const gpu_constants& measured = h200_constants);

/// What was measured of a machine. `costs` take the place of those it would have without; `cases` join them.
struct kept_costs {
  struct fitted_cost {
    std::size_t place = 0;  ///< in cost_table's configs or families
    double min_us = 0;
    cost_terms us = {};
  };
  struct seen_case {
    value_type type = value_type::fp32;
    features at = {};
    std::string residuals;
  };

  std::string date;  ///< of the calibration, "2026-11-25"; empty if there was none
  double launch_seconds = 0, cache_bandwidth = 0, memory_bandwidth = 0;
  double scale = 1;  ///< how many times longer products take than without; for what was not measured
  std::vector<fitted_cost> costs;
  std::vector<seen_case> cases;
};

/// As text of at most max_kept_bytes: every other case is left out until the rest fits.
inline constexpr std::size_t max_kept_bytes = std::size_t{64} << 10;
std::string text_of(const context& ctx, kept_costs kept);
/// The reverse. Throws error{invalid_format} that says why: damaged, of another version, of another machine.
kept_costs parse_costs(const context& ctx, std::string_view text);

/// Beside the tuning cache `named`, as tuning_cache takes it; one for each machine. Empty: no cache.
std::string costs_file(const context& ctx, const std::string& named = {});
/// Nothing where there is no file; what is wrong with one goes to the context's log.
std::optional<kept_costs> read_costs(const context& ctx, const std::string& named = {});
/// Replaces the file. Throws error{io_error}.
void keep_costs(const context& ctx, const std::string& named, const kept_costs& kept);

/// What plans on a machine choose by: its own costs, else those of the nearest.
std::shared_ptr<const cost_table> costs_from(backend where, const device_info& gpu,
                                             const std::optional<kept_costs>& kept, int threads = 1);
/// The same, found once for a context and its copies.
const cost_table& costs_on(const context& ctx);

}  // namespace bcsc::plan
