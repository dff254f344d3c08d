#include "test/emulation/emulated_configs.hpp"

#include BCSC_ALGORITHM_HEADER
#include "test/emulation/emulated_launchers.hpp"

namespace bcsc::test {

std::vector<emulated_row> emulated_configs() {
  using algorithm = kernels::tables::BCSC_ALGORITHM;
  constexpr auto launch = emulated_launchers<algorithm>();
  std::vector<emulated_row> all;
  for (std::size_t i = 0; i < launch.size(); ++i) {
    const auto& config = algorithm::configs[i];
    all.push_back(
        {config.label() + "-" + std::string(to_string(config.type)), config.type, config.index_width(), launch[i]});
  }
  return all;
}

}  // namespace bcsc::test
