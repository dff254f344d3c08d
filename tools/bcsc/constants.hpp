#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bcsc/calibrate.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

inline nlohmann::ordered_json describe(const machine_constants& found) {
  return {{"launch_seconds", found.launch_seconds},
          {"cache_bandwidth", found.cache_bandwidth},
          {"memory_bandwidth", found.memory_bandwidth}};
}

inline std::string describe_line(const machine_constants& found) {
  return fmt::format("measured: {} to start a product, {:.1f} GB/s from L2, {:.1f} GB/s from memory",
                     as_seconds(found.launch_seconds), found.cache_bandwidth * 1e-9, found.memory_bandwidth * 1e-9);
}

inline nlohmann::ordered_json describe(const calibrated_costs& costs) {
  return {{"date", costs.date}, {"products", costs.num_products}, {"file", costs.file}};
}

inline std::string describe_line(const calibrated_costs& costs) {
  return fmt::format("costs calibrated on {} by {} products, {}", costs.date, costs.num_products,
                     costs.file.empty() ? "not remembered" : "remembered in " + costs.file);
}

}  // namespace bcsc::cli
