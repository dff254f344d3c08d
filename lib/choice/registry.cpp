#include "lib/choice/registry.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc_config.h"
#include "core/format.hpp"
#include "core/gpu.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda_tables.h"
#include "lib/choice/built_in_costs.hpp"

namespace bcsc::choice {

namespace {

std::optional<measurement> find_measured(const kernel_info& kernel, std::span<const measured_config> all) {
  measurement at;
  for (const measured_config& config : all) {
    if (config.type == kernel.type) {
      if (config.name == kernel.name) return at;
      ++at.index;
    }
    ++at.place;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_family(std::string_view algorithm, int m_tile) {
  const std::span<const cpu_family> families = built_in_costs(backend::cpu).families;
  const auto found = std::ranges::find_if(
      families, [&](const cpu_family& f) { return f.algorithm == algorithm && f.m_tile == m_tile; });
  if (found == families.end()) return std::nullopt;
  return static_cast<std::size_t>(found - families.begin());
}

/// Whether this library has code for GPUs of this compute capability.
bool is_compiled_for(int compute_capability) {
  const std::vector<int> archs = core::gpu::this_platform().built_archs;
  return std::ranges::find(archs, compute_capability) != archs.end();
}

template <class Algorithm, class Launcher>
void append(std::vector<registered_kernel>& list, backend where, bool built, Launcher launcher) {
  for (std::size_t i = 0; i < Algorithm::configs.size(); ++i) {
    const auto& config = Algorithm::configs[i];
    registered_kernel entry;
    entry.info.name = config.label();
    entry.info.algorithm = Algorithm::name;
    entry.info.where = where;
    entry.info.type = config.type;
    entry.info.m_tile = config.tile_rows();
    entry.info.n_tile = config.tile_cols();
    entry.info.threads = config.block_threads();
    entry.info.columns_at_once = config.columns_at_once();
    entry.info.stages = config.num_stages();
    entry.info.index_bits = config.index_width();
    entry.info.shared_bytes = config.shared_bytes();
    entry.info.deterministic = Algorithm::deterministic;
    entry.info.batches = Algorithm::batches;
    entry.info.stored_entries_only = Algorithm::stored_entries_only;
    entry.form = Algorithm::form;
    if constexpr (requires { config.form(); }) entry.form = config.form();
    entry.info.any_m_block = entry.form == kernels::operand_form::compact;
    if constexpr (requires { config.keeps; }) {
      entry.info.rounds_values = config.keeps == kernels::tables::accuracy::tf32;
      if (entry.info.rounds_values) entry.info.bound.rounding = 0x1p-10;
      entry.info.bound.more_terms = config.more_terms();
    }
    if constexpr (requires { config.resident_blocks(); }) entry.info.resident_blocks = config.resident_blocks();
    if constexpr (requires { config.teams() + config.depth; }) {
      entry.info.teams = config.teams();
      entry.info.depth = config.depth;
    }
    if constexpr (requires { config.strided_cols(); }) entry.info.strided_cols = config.strided_cols();
    entry.info.compute_capability = Algorithm::compute_capability;
    entry.info.built = built && (Algorithm::compute_capability == 0 || is_compiled_for(Algorithm::compute_capability));
    if (where == backend::cpu) {
      entry.family = find_family(Algorithm::name, entry.info.m_tile);
      entry.family_of_vector = entry.family;
      if (entry.info.algorithm == "rows") entry.family_of_vector = find_family("vector", 1);
      // For more columns than one a slice is unpacked and multiplied as rows does.
      if (entry.info.algorithm == "slices") entry.family = find_family("rows", 1);
    } else {
      entry.measured = find_measured(entry.info, built_in_costs(where).configs);
      entry.measured_in_place = find_measured(entry.info, built_in_costs(where).configs_in_place);
    }
    if (entry.info.built) entry.launch = launcher(i);
    list.push_back(std::move(entry));
  }
}

/// The CPU's kernels that multiply by A, or those that multiply by its transpose.
template <class... Tables>
void append_cpu(std::vector<registered_kernel>& list, bool transposing, kernels::tables::table_list<Tables...>) {
  const auto one = [&]<class Table>(Table) {
    if (Table::transposes != transposing) return;
    append<Table>(list, backend::cpu, true, [](std::size_t config) { return kernels::cpu::launcher<Table>(config); });
  };
  (one(Tables{}), ...);
}

/// The same for a GPU.
template <class... Tables>
void append_cuda(std::vector<registered_kernel>& list, bool transposing, kernels::tables::table_list<Tables...>) {
  const auto one = [&]<class Table>(Table) {
    if (Table::transposes != transposing) return;
    // A CPU-only build knows the configs (documentation, names) but has nothing to start.
    append<Table>(list, backend::cuda, BCSC_WITH_CUDA, [](std::size_t config) -> kernels::launch_fn {
#if BCSC_WITH_CUDA
      return kernels::cuda::launcher(Table::name, config);
#else
      (void)config;
      return nullptr;
#endif
    });
  };
  (one(Tables{}), ...);
}

std::vector<registered_kernel> concatenate(bool transposing) {
  std::vector<registered_kernel> list;
  append_cpu(list, transposing, kernels::cpu::all_tables{});
  append_cuda(list, transposing, kernels::cuda::all_tables{});
  return list;
}

std::vector<kernel_info> infos_of(const std::vector<registered_kernel>& list) {
  std::vector<kernel_info> infos;
  infos.reserve(list.size());
  for (const auto& entry : list) infos.push_back(entry.info);
  return infos;
}

}  // namespace

bool reads_what_is_stored_for(const registered_kernel& other, const registered_kernel& kernel) {
  return kernel.info.where == other.info.where && kernel.info.type == other.info.type && kernel.form == other.form &&
         kernel.info.index_bits == other.info.index_bits;
}

const std::vector<registered_kernel>& registry() {
  static const std::vector<registered_kernel> list = [] {
    auto all = concatenate(/*transposing=*/false);
    for (registered_kernel& kernel : all) {
      kernel.info.transposable = std::ranges::any_of(
          transposing_registry(), [&](const auto& other) { return reads_what_is_stored_for(kernel, other); });
    }
    return all;
  }();
  return list;
}

const std::vector<registered_kernel>& transposing_registry() {
  static const std::vector<registered_kernel> list = concatenate(/*transposing=*/true);
  return list;
}

}  // namespace bcsc::choice

namespace bcsc {

const std::vector<kernel_info>& kernel_table() {
  static const std::vector<kernel_info> list = choice::infos_of(choice::registry());
  return list;
}

const std::vector<kernel_info>& transposing_kernel_table() {
  static const std::vector<kernel_info> list = choice::infos_of(choice::transposing_registry());
  return list;
}

bool runs_on(const kernel_info& kernel, const device_info& gpu) {
  const int capability = 10 * gpu.compute_major + gpu.compute_minor;
  return kernel.built && kernel.where == backend::cuda && kernel.shared_bytes <= gpu.shared_bytes_per_block &&
         choice::suits(kernel, capability);
}

bool runs_on(const kernel_info& kernel, const context& where) {
  if (where.kind() == backend::cuda) return runs_on(kernel, where.device());
  return kernel.built && kernel.where == backend::cpu;
}

std::vector<kernel_info> kernel_table(backend where, value_type type) {
  std::vector<kernel_info> chosen;
  std::ranges::copy_if(kernel_table(), std::back_inserter(chosen),
                       [&](const kernel_info& k) { return k.where == where && k.type == type; });
  return chosen;
}

}  // namespace bcsc
