#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bcsc/registry.hpp"
#include "core/context_state.hpp"
#include "lib/plan/cost_terms.hpp"

/// What config_times has measured, as fit_choice fits to it.
namespace bcsc::bench {

/// The types that products have.
inline constexpr value_type types[] = {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16};

struct timing {
  const kernel_info* config;
  plan::cost_terms terms;
  double us;
};

/// All configs on one matrix at one N.
struct measured_case {
  std::string matrix;
  std::int64_t cols;
  value_type type;
  core::cpu_isa isa;  ///< of a CPU
  plan::product_shape shape;
  std::vector<timing> timings;
  double fastest = 0;                                      ///< us
  double rival = std::numeric_limits<double>::infinity();  ///< us; infinite: none
};

/// Of those that a plan may choose unasked.
const timing& fastest_config(const measured_case& c);

/// How B lies.
enum class operand { row_major, in_place };

/// Throws error{io_error}, and nlohmann's for what is not JSON.
std::vector<nlohmann::json> read_documents(const std::vector<std::string>& files);

/// The cases of all documents in which B lies as `b` says, by matrix, type and N, with the times of the configs of
/// `algorithms`.
std::vector<measured_case> read_cases(const std::vector<nlohmann::json>& documents, backend where,
                                      const std::vector<std::string>& algorithms, operand b);

}  // namespace bcsc::bench
