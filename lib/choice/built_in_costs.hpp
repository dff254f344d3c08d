#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/types.hpp"
#include "core/context_state.hpp"
#include "lib/choice/cost_table.hpp"
#include "lib/choice/kept_costs.hpp"

/// The costs that the library comes with: lib/choice/costs/ holds a file for each machine that was measured.
namespace bcsc::choice {

/// As embed_costs.py makes it of a file.
struct built_in_file {
  std::string_view name, content;
};
std::span<const built_in_file> built_in_files();

/// What a file holds, read when it is first asked for. Throws error{internal} where there is no such file.
const kept_costs& built_in(std::string_view name);

/// CPUs with some vector instructions, by so many threads.
struct cpu_kind {
  core::cpu_isa isa = {};
  int threads = 0;

  auto operator<=>(const cpu_kind&) const = default;
};
/// Those that were measured. Files of the same instructions hold the same families and configs.
std::vector<cpu_kind> measured_cpus();

/// Their files, and the H200's.
std::string file_name(const cpu_kind& kind);
inline constexpr std::string_view h200_file = "nvidia-h200";

/// An H200's, or those of CPUs like this one by about so many threads.
const cost_table& built_in_costs(backend where, int threads = 1);

}  // namespace bcsc::choice
