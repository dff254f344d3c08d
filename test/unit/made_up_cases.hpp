#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lib/tune/fit_costs.hpp"

namespace bcsc::test {

/// Times of configs that do not exist. One is named ALGORITHM, or ALGORITHM-TILE-..., with a digit for TILE: as many
/// rows and columns; it rounds if its name has "tf32" in it.
class made_up_cases : public testing::Test {
 protected:
  void add(const std::map<std::string, double>& us, value_type type = value_type::fp32) {
    tuning::timed_case one{
        .matrix = "made up", .cols = 1, .type = type, .isa = {}, .threads = 0, .shape = {}, .timings = {}};
    for (const auto& [name, time] : us) {
      kernel_info& config = configs_.emplace_back();
      const std::size_t dash = name.find('-');
      config.name = name;
      config.algorithm = name.substr(0, dash);
      if (dash != std::string::npos) config.m_tile = config.n_tile = name.at(dash + 1) - '0';
      config.rounds_values = name.find("tf32") != std::string::npos;
      one.timings.push_back({&config, {}, time});
    }
    cases_.push_back(one);
  }

  std::vector<tuning::timed_case> cases_;

 private:
  std::deque<kernel_info> configs_;  // stay where they are
};

}  // namespace bcsc::test
