#include "lib/choice/built_in_costs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/fail.hpp"

namespace bcsc::choice {

namespace {

/// A file's content once somebody has asked for it.
struct read_once {
  std::once_flag once;
  kept_costs kept;
  cost_table table;
};

const read_once& read(std::string_view name) {
  const std::span<const built_in_file> files = built_in_files();
  static const auto all = std::make_unique<read_once[]>(files.size());
  const auto found = std::ranges::find(files, name, &built_in_file::name);
  if (found == files.end()) core::fail(errc::internal, "no costs of {} are built in", name);
  read_once& one = all[static_cast<std::size_t>(found - files.begin())];
  std::call_once(one.once, [&] {
    one.kept = read_file(found->content);
    const kept_costs& of = one.kept;
    one.table = {.origin = of.families.empty() ? of.machine + "'s costs" : "the costs of " + of.machine,
                 .configs = of.configs,
                 .configs_in_place = of.configs_in_place,
                 .families = of.families,
                 .cpu_configs = of.cpu_configs,
                 .cases = of.cases,
                 .cases_in_place = of.cases_in_place};
  });
  return one;
}

}  // namespace

const kept_costs& built_in(std::string_view name) { return read(name).kept; }

std::string file_name(const cpu_kind& kind) {
  return core::format("cpu-{}-{}", core::to_string(kind.isa), kind.threads);
}

std::vector<cpu_kind> measured_cpus() {
  std::vector<cpu_kind> all;
  for (const built_in_file& file : built_in_files()) {
    for (const core::cpu_isa isa : {core::cpu_isa::avx2, core::cpu_isa::avx512}) {
      const std::string of_isa = core::format("cpu-{}-", core::to_string(isa));
      if (!file.name.starts_with(of_isa)) continue;
      int threads = 0;
      std::from_chars(file.name.data() + of_isa.size(), file.name.data() + file.name.size(), threads);
      all.push_back({isa, threads});
    }
  }
  return all;
}

const cost_table& built_in_costs(backend where, int threads) {
  if (where == backend::cuda) return read(h200_file).table;
  // Narrower instructions than AVX2 have not been measured.
  const core::cpu_isa isa = std::max(core::best_cpu_isa(), core::cpu_isa::avx2);
  const auto distance = [&](const cpu_kind& kind) {
    const double of_threads = std::abs(std::log2(static_cast<double>(kind.threads) / std::max(threads, 1)));
    return std::pair(kind.isa != isa, of_threads);
  };
  return read(file_name(std::ranges::min(measured_cpus(), {}, distance))).table;
}

}  // namespace bcsc::choice
