#include "test/emulation/emulated_rows.hpp"

#include BCSC_ALGORITHM_HEADER
#include "test/emulation/emulated_launchers.hpp"

namespace bcsc::test {

std::vector<emulated_row> emulated_rows() {
  using algorithm = kernels::tables::BCSC_ALGORITHM;
  constexpr auto launch = emulated_launchers<algorithm>();
  std::vector<emulated_row> all;
  for (std::size_t i = 0; i < launch.size(); ++i) {
    const auto& row = algorithm::rows[i];
    all.push_back({row.label() + "-" + std::string(to_string(row.type)), row.type, row.index_width(), launch[i]});
  }
  return all;
}

}  // namespace bcsc::test
