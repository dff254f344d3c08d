#pragma once

#include <cstdint>

namespace bcsc::test {

/// What createpolicy makes on this GPU.
struct created_policies {
  std::uint64_t normal = 0, first = 0;
};

/// Returns a cudaError_t.
int create_policies(created_policies& to);

}  // namespace bcsc::test
