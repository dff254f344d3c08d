#pragma once

#include <string>

/// Where what was measured on this machine is kept; how it is named is machine_name() (bcsc/tuning_cache.hpp).
namespace bcsc::core {

/// The tuning cache's file, as tuning_cache takes `named`; empty: none.
std::string tuning_file(const std::string& named);

}  // namespace bcsc::core
