#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc/registry.hpp"
#include "core/context_state.hpp"
#include "lib/choice/cost_table.hpp"
#include "lib/choice/cost_terms.hpp"
#include "lib/choice/kept_costs.hpp"
#include "lib/choice/neighbours.hpp"

/// Fits what configs cost (lib/choice/cost_terms.hpp) to times that were taken of them: for bench/fit_choice, whose
/// costs are built in, and for the calibration of a machine.
///
/// For each config the costs, none negative, with the least sum of squares of relative errors. A case counts less the
/// further the config is behind the fastest, both as measured and as predicted: by how much a config loses that would
/// not be chosen does not matter.
/// How far the costs are off in each of the cases fitted to is kept too (lib/choice/neighbours.hpp).
namespace bcsc::tuning {

/// Of one config.
struct timing {
  const kernel_info* config;
  choice::cost_terms terms;
  double us;
};

/// All configs on one matrix at one N.
struct timed_case {
  std::string matrix;
  std::int64_t cols;
  value_type type;
  core::cpu_isa isa;  ///< of a CPU
  int threads;        ///< of a CPU
  choice::product_shape shape;
  std::vector<timing> timings;
  double fastest = 0;                                      ///< us
  double rival = std::numeric_limits<double>::infinity();  ///< us of another library; infinite: none was timed
};

/// Of those that a plan may choose unasked.
const timing& fastest_config(const timed_case& c);

/// CPU configs of one algorithm and height whose tiles hold all N columns do the same work, so what their times differ
/// in is noise: each gets the least of them.
void share_times_of_equals(timed_case& c);

/// argmin |A x - y|, x >= 0, by coordinate descent on the normal equations: few unknowns, convex.
choice::cost_terms solve(const std::vector<choice::cost_terms>& a, const std::vector<double>& y);

/// What shares costs: a GPU's config by its name, a CPU's configs by family and height.
using config_key = std::pair<value_type, std::string>;
config_key cost_key(value_type type, const kernel_info& config, std::int64_t cols);
config_key key_of(const choice::cpu_family& family);

using costs_by_config = std::map<config_key, choice::cost_terms>;

/// Of what has been timed often enough.
costs_by_config fit(std::span<const timed_case> cases);

constexpr double unknown_us = std::numeric_limits<double>::infinity();

/// A GPU's costs: each with the least time seen, and how far they are off in the cases that they are fitted to.
struct fitted {
  std::vector<choice::measured_config> configs;  ///< by type, then by name
  std::vector<choice::measured_case> cases;
};
fitted learn(std::span<const timed_case> cases);

/// The same of a CPU.
struct fitted_on_cpu {
  struct family_costs {
    double min_us = unknown_us;  ///< none of its configs ever took less
    choice::cost_terms us{};
  };
  std::map<config_key, family_costs> families;
  std::vector<choice::cpu_config> configs;  ///< by type, algorithm, height and width
  std::vector<choice::measured_case> cases;

  /// Infinite where it has no costs.
  double us_of(value_type type, const kernel_info& config, std::int64_t cols, const choice::cost_terms& terms) const;
};
fitted_on_cpu learn_on_cpu(std::span<const timed_case> cases);

/// What a table of costs, `before`, becomes on a machine where `cases` were timed. Too few for a fit of its own: all
/// costs are scaled by the median of what products take longer, each is moved from there as far as its products say so
/// against a belief in what it was, and residuals are kept beside those of the table.
choice::kept_costs correct(const choice::cost_table& before, std::span<const timed_case> cases);

/// How far `us_of` is off for each of `configs` of the case's type, as choice::measured_case has it; `timed_as` says
/// which timing is a config's, or null.
template <class Config>
std::string residuals_in(const timed_case& c, std::span<const Config> configs,
                         const std::function<const timing*(const Config&)>& timed_as,
                         const std::function<double(const Config&, const timing&)>& us_of) {
  std::string residuals;
  for (const Config& config : configs) {
    if (config.type != c.type) continue;
    const timing* const timed = timed_as(config);
    residuals += timed == nullptr ? choice::no_residual : choice::residual_of(timed->us / us_of(config, *timed));
  }
  return residuals;
}

/// The timing of `c` that is of `config`, here by its name, or null.
const timing* timing_of(const timed_case& c, std::string_view config);
const timing* timing_of(const timed_case& c, const choice::measured_config& config);
const timing* timing_of(const timed_case& c, const choice::cpu_config& config);

}  // namespace bcsc::tuning
