#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "bcsc/types.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::test {

/// A row of an algorithm's table, which its `launch` runs on the emulated GPU.
struct emulated_row {
  std::string name;
  value_type type;
  int index_bits;
  kernels::launch_fn launch;
};

/// The table of the algorithm that the build compiled emulated_configs.cpp for.
std::vector<emulated_row> emulated_configs();

/// How GoogleTest names it.
inline void PrintTo(const emulated_row& row, std::ostream* out) { *out << row.name; }

}  // namespace bcsc::test
