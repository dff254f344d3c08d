#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bcsc/registry.hpp"
#include "lib/tune/fit_costs.hpp"

/// What config_times has measured, as fit_choice fits to it.
namespace bcsc::bench {

/// The types that products have.
inline constexpr value_type types[] = {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16};

using tuning::timed_case;
using tuning::timing;

/// How B lies.
enum class operand { row_major, in_place };

/// Throws error{io_error}, and nlohmann's for what is not JSON.
std::vector<nlohmann::json> read_documents(const std::vector<std::string>& files);

/// The cases of all documents in which B lies as `b` says, by matrix, type and N, with the times of the configs of
/// `algorithms`.
std::vector<timed_case> read_cases(const std::vector<nlohmann::json>& documents, backend where,
                                   const std::vector<std::string>& algorithms, operand b);

}  // namespace bcsc::bench
