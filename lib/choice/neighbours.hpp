#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "bcsc/registry.hpp"
#include "bcsc/types.hpp"
#include "lib/choice/cost_terms.hpp"

/// From measurements to a prediction: a linear model of a config's time, corrected by its residuals for the measured
/// products with the nearest features. One definition for the plan and the fit.
namespace bcsc::choice {

/// A config that has been timed.
struct measured_config {
  value_type type;
  std::string name;
  double min_us;  ///< it never took less
  cost_terms us;  ///< the cost of each term
};

/// A CPU's config that has been timed; its costs are its family's.
struct cpu_config {
  value_type type;
  std::string algorithm;
  int m_tile, n_tile;
};

/// Where the residuals of `kernel` stand among those of its type; nothing if it was not timed. Tiles that hold all
/// columns do the same work: the first of `configs` that does stands for all.
inline std::optional<std::size_t> place_of(const kernel_info& kernel, std::int64_t cols,
                                           std::span<const cpu_config> configs) {
  std::size_t place = 0;
  for (const cpu_config& config : configs) {
    if (config.type != kernel.type) continue;
    const bool same_work = config.n_tile == kernel.n_tile || (config.n_tile >= cols && kernel.n_tile >= cols);
    if (same_work && config.m_tile == kernel.m_tile && config.algorithm == kernel.algorithm) return place;
    ++place;
  }
  return std::nullopt;
}

/// Where a product lies among others: logarithms to base 2, each scaled by its weight in the distance of two products.
/// The last two are of how rows of B are read, whole or a column at a time, and of how near each other the columns of
/// neighbouring rows are: on diagonals, or scattered.
using features = std::array<float, 8>;

/// On a CPU.
inline constexpr features feature_weights{1, 0.5F, 0.5F, 0.7F, 0.5F, 1.5F, 1.5F, 0};
/// Of a column-major B that a GPU reads where it lies.
inline constexpr features in_place_feature_weights{1, 0.5F, 0.5F, 0.7F, 0.5F, 1.5F, 0, 1.5F};
/// Of a row-major B on a GPU: rounded from what random searches found (docs/history, 122; the last: 134).
inline constexpr features gpu_feature_weights{2, 0.6F, 0.4F, 0.85F, 0.5F, 0.45F, 1.5F, 0.8F};

/// `in_place`: B is column-major and a GPU reads it where it lies.
inline const features& weights_of(bool on_gpu, bool in_place) {
  return !on_gpu ? feature_weights : in_place ? in_place_feature_weights : gpu_feature_weights;
}

inline features features_of(const product_shape& p) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double mean = number(p.nnz) / std::max(1.0, number(p.rows));
  const double sectors = p.sectors_per_entry[0] > 0 ? p.sectors_per_entry[0] : 1;  // not known: scattered
  const std::array<double, std::tuple_size_v<features>> told{number(p.cols),
                                                             number(p.nnz),
                                                             1e-6 * number(p.inner) * number(p.cols * p.value_bytes),
                                                             mean,
                                                             number(p.longest_row) / std::max(0.1, mean),
                                                             number(p.nnz) / std::max(1.0, number(p.shared_nnzc)),
                                                             number(p.bytes_at_once()),
                                                             sectors};
  const bool is_for_cpu = !p.read_by_height.empty();
  features scaled = weights_of(!is_for_cpu, p.in_place);
  for (std::size_t i = 0; i < told.size(); ++i) scaled[i] *= static_cast<float>(std::log2(std::max(told[i], 1e-3)));
  return scaled;
}

/// A product on which the configs of its type have been timed. `residuals` has a character for each of them, in the
/// order in which they stand among the measured ones.
struct measured_case {
  value_type type;
  features at;
  std::string residuals;
};

/// The ratio of the measured time to the model's, as one printable character, from 1/e to e in steps of 2 %; and its
/// logarithm back.
constexpr char no_residual = 'O';
inline char residual_of(double ratio) {
  return static_cast<char>(no_residual + std::lround(46 * std::clamp(std::log(ratio), -1.0, 1.0)));
}
inline double log_of(char residual) { return (residual - no_residual) / 46.0; }
inline bool is_residual(char c) { return std::abs(c - no_residual) <= 46; }
/// In steps of 2 % times `step`.
inline char rounded(char residual, int step) {
  const auto steps = static_cast<int>(std::lround(static_cast<double>(residual - no_residual) / step));
  return static_cast<char>(no_residual + step * std::clamp(steps, -(46 / step), 46 / step));
}

/// No correction goes beyond this factor.
constexpr double max_correction = 2;
/// The doubt that is left where neighbours agree, and what is added without any; bench/fit_choice counts how often both
/// hold (docs/history, 78).
constexpr double least_doubt = 0.05, unmeasured_doubt = 0.25;

/// What a prediction by the cost model is multiplied by, and how far it may then be off: by a factor of up to
/// exp(doubt) in two of three products.
struct correction {
  double factor = 1, doubt = unmeasured_doubt;
};

/// A predicted time, and how far it may be off; 0: not known.
struct estimate {
  double time = 0, doubt = 0;
};
inline estimate corrected(double time, const correction& by) { return {time * by.factor, by.doubt}; }

/// The measured products nearest to one.
class neighbours {
 public:
  neighbours() = default;
  neighbours(std::span<const measured_case> known, value_type type, const product_shape& p) {
    // Without all of its statistics a product has no features.
    if (p.shared_nnzc == 0 || p.longest_row == 0) return;
    const features here = features_of(p);
    const auto last = here.end() - (p.sectors_per_entry[0] > 0 ? 0 : 1);  // an unknown feature does not count
    for (const measured_case& c : known) {
      if (c.type != type) continue;
      const auto square = [](float x, float y) { return static_cast<double>((x - y) * (x - y)); };
      const double square_distance = std::inner_product(here.begin(), last, c.at.begin(), 0.0, std::plus<>{}, square);
      if (count_ == nearest_.size() && square_distance >= nearest_.back().square_distance) continue;
      // Nearest first; among equals, the one known first.
      std::size_t place = count_ < nearest_.size() ? count_++ : count_ - 1;
      for (; place > 0 && nearest_[place - 1].square_distance > square_distance; --place) {
        nearest_[place] = nearest_[place - 1];
      }
      nearest_[place] = {square_distance, c.residuals};
    }
  }

  /// For the config number `index` among the measured ones of its type.
  correction correct(std::size_t index) const {
    constexpr double min_distance = 0.05;
    constexpr double prior_weight = 0.5;  // as if a case at distance 1.4 had had no residual
    std::array<double, num_nearest> weight{}, residual{};
    double weights = prior_weight, mean = 0, spread = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const double distance = std::sqrt(nearest_[i].square_distance) + min_distance;
      weight[i] = 1 / (distance * distance);
      residual[i] = log_of(nearest_[i].residuals[index]);
      weights += weight[i];
      mean += weight[i] * residual[i];
    }
    mean /= weights;
    for (std::size_t i = 0; i < count_; ++i) spread += weight[i] * (residual[i] - mean) * (residual[i] - mean);
    const double far_away = prior_weight / weights;
    return {std::clamp(std::exp(mean), 1 / max_correction, max_correction),
            std::sqrt(least_doubt * least_doubt + spread / weights + far_away * unmeasured_doubt * unmeasured_doubt)};
  }

 private:
  static constexpr std::size_t num_nearest = 12;
  struct neighbour {
    double square_distance = 0;
    std::string_view residuals;
  };
  std::array<neighbour, num_nearest> nearest_;
  std::size_t count_ = 0;
};

}  // namespace bcsc::choice
