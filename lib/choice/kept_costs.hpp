#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/calibrate.hpp"
#include "lib/choice/neighbours.hpp"

/// What was measured of a machine, and the file that keeps it: for the costs that are built in, and for those that a
/// calibration finds.
namespace bcsc::choice {

struct kept_costs {
  std::string machine;  ///< whose they are
  std::string library;  ///< the version that they were calibrated with; empty: built in
  std::string date;     ///< of the calibration, "2026-11-25"; empty if there was none
  std::string from;     ///< what they were fitted to
  machine_constants constants;
  double scale = 1;  ///< of a calibration: how many times longer products take than without; for what was not measured

  std::vector<measured_config> configs, configs_in_place;  ///< a GPU's
  std::vector<cpu_family> families;                        ///< a CPU's, as the next
  std::vector<cpu_config> cpu_configs;
  std::vector<measured_case> cases, cases_in_place;

  bool has_costs() const { return !configs.empty() || !families.empty(); }
};

/// A line for each: a key, then words; of residuals how many bytes of code follow in the next one.
std::string text_of(const kept_costs& kept);
/// The reverse. Throws error{invalid_format} that says why.
kept_costs parse_costs(std::string_view text);

/// The text as a gzip stream of at most max_kept_bytes: with all cases, or the same share of each type's as fits.
inline constexpr std::size_t max_kept_bytes = std::size_t{64} << 10;
std::string file_of(const kept_costs& all, std::size_t max_bytes = max_kept_bytes);
/// The reverse. Throws error{corrupt_compression | invalid_format}.
kept_costs read_file(std::string_view file);

}  // namespace bcsc::choice
