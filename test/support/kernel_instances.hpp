#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bcsc/registry.hpp"

/// Every config of every kernel, for each layout of C.
namespace bcsc::test {

struct instance {
  kernel_info kernel;
  layout c_layout;
};

inline std::string name_of(const ::testing::TestParamInfo<instance>& info) {
  std::string name = std::string(to_string(info.param.kernel.where)) + "_" + info.param.kernel.name + "_" +
                     std::string(to_string(info.param.kernel.type)) + "_" + std::string(to_string(info.param.c_layout));
  std::ranges::replace(name, '-', '_');
  return name;
}

inline std::vector<instance> instances() {
  std::vector<instance> all;
  for (const kernel_info& k : kernel_table()) {
    for (layout order : {layout::row_major, layout::col_major}) all.push_back({k, order});
  }
  return all;
}

}  // namespace bcsc::test
