#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bcsc/context.hpp"
#include "lib/choice/cost_table.hpp"
#include "lib/choice/kept_costs.hpp"

/// The costs of the machine at hand: a file beside the tuning cache keeps what was calibrated.
namespace bcsc::choice {

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

/// Beside the tuning cache `named`, as tuning_cache takes it; one for each machine. Empty: no cache.
std::string costs_file(const context& ctx, const std::string& named = {});
/// Nothing where there is no file; what is wrong with one (damaged, of another version, of another machine) goes to the
/// context's log.
std::optional<kept_costs> read_costs(const context& ctx, const std::string& named = {});
/// Replaces the file; says itself whose costs they are. Throws error{io_error}.
void keep_costs(const context& ctx, const std::string& named, kept_costs kept);

/// What plans on a machine choose by: its own costs, else those of the nearest.
std::shared_ptr<const cost_table> costs_from(backend where, const device_info& gpu,
                                             const std::optional<kept_costs>& kept, int threads = 1);
/// The same, found once for a context and its copies.
const cost_table& costs_on(const context& ctx);

}  // namespace bcsc::choice
