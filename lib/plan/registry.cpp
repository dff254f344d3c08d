#include "lib/plan/registry.hpp"

#include <algorithm>
#include <span>

#include "bcsc_config.h"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/tables/cached.hpp"
#include "kernels/tables/cpu.hpp"
#include "kernels/tables/naive.hpp"
#include "kernels/tables/rowwise.hpp"
#include "kernels/tables/scatter.hpp"
#include "kernels/tables/tiled.hpp"
#include "kernels/tables/units.hpp"
#include "kernels/tables/warp.hpp"
#include "lib/plan/measured_costs.hpp"

namespace bcsc::plan {

namespace {

measurement find_measured(const kernel_info& kernel, std::span<const measured_row> rows) {
  std::size_t index = 0;
  for (const measured_row& row : rows) {
    if (row.type != kernel.type) continue;
    if (row.name == kernel.name) return {&row, index};
    ++index;
  }
  return {};
}

template <class Algorithm, class Launcher>
void append(std::vector<registered_kernel>& list, backend where, bool built, Launcher launcher) {
  for (std::size_t i = 0; i < Algorithm::rows.size(); ++i) {
    const auto& row = Algorithm::rows[i];
    registered_kernel entry;
    entry.info.name = row.label();
    entry.info.algorithm = Algorithm::name;
    entry.info.where = where;
    entry.info.type = row.type;
    entry.info.m_tile = row.tile_rows();
    entry.info.n_tile = row.tile_cols();
    entry.info.threads = row.block_threads();
    entry.info.columns_at_once = row.columns_at_once();
    entry.info.stages = row.num_stages();
    entry.info.index_bits = row.index_width();
    entry.info.shared_bytes = row.shared_bytes();
    entry.info.deterministic = Algorithm::deterministic;
    entry.info.batches = Algorithm::batches;
    entry.info.stored_entries_only = Algorithm::stored_entries_only;
    entry.info.any_m_block = Algorithm::form == kernels::operand_form::compact;
    if constexpr (requires { row.keeps; }) {
      entry.info.rounds_values = row.keeps == kernels::tables::accuracy::tf32;
      if (entry.info.rounds_values) entry.info.bound.rounding = 0x1p-10;
      entry.info.bound.more_terms = row.more_terms();
    }
    if constexpr (requires { row.blocks_by_registers(); }) entry.info.resident_blocks = row.blocks_by_registers();
    if constexpr (requires { row.teams() + row.depth; }) {
      entry.info.teams = row.teams();
      entry.info.depth = row.depth;
    }
    if constexpr (requires { row.strided_cols(); }) entry.info.strided_cols = row.strided_cols();
    entry.info.built = built;
    entry.form = Algorithm::form;
    entry.measured = find_measured(entry.info, measured_costs);
    entry.measured_in_place = find_measured(entry.info, measured_in_place);
    if (built) entry.launch = launcher(i);
    list.push_back(std::move(entry));
  }
}

template <class Algorithm>
void append_cpu(std::vector<registered_kernel>& list) {
  append<Algorithm>(list, backend::cpu, true, [](std::size_t row) { return kernels::cpu::launcher<Algorithm>(row); });
}

template <class Algorithm>
void append_cuda(std::vector<registered_kernel>& list) {
  // A CPU-only build knows the CUDA rows (documentation, names) but has nothing to start.
  append<Algorithm>(list, backend::cuda, BCSC_WITH_CUDA, [](std::size_t row) -> kernels::launch_fn {
#if BCSC_WITH_CUDA
    return kernels::cuda::launcher<Algorithm>(row);
#else
    (void)row;
    return nullptr;
#endif
  });
}

std::vector<registered_kernel> concatenate() {
  namespace tables = kernels::tables;
  std::vector<registered_kernel> list;
  append_cpu<tables::cpu_rows>(list);
  append_cpu<tables::cpu_blocks>(list);
  append_cpu<tables::cpu_columns>(list);
  append_cuda<tables::naive>(list);
  append_cuda<tables::warp>(list);
  append_cuda<tables::tiled>(list);
  append_cuda<tables::rowwise>(list);
  append_cuda<tables::units>(list);
  append_cuda<tables::cached>(list);
  return list;
}

std::vector<registered_kernel> concatenate_transposing() {
  std::vector<registered_kernel> list;
  append_cpu<kernels::tables::cpu_scatter>(list);
  append_cuda<kernels::tables::scatter>(list);
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
    auto all = concatenate();
    for (registered_kernel& kernel : all) {
      kernel.info.transposable = std::ranges::any_of(
          transposing_registry(), [&](const auto& other) { return reads_what_is_stored_for(kernel, other); });
    }
    return all;
  }();
  return list;
}

const std::vector<registered_kernel>& transposing_registry() {
  static const std::vector<registered_kernel> list = concatenate_transposing();
  return list;
}

}  // namespace bcsc::plan

namespace bcsc {

const std::vector<kernel_info>& kernel_table() {
  static const std::vector<kernel_info> list = plan::infos_of(plan::registry());
  return list;
}

const std::vector<kernel_info>& transposing_kernel_table() {
  static const std::vector<kernel_info> list = plan::infos_of(plan::transposing_registry());
  return list;
}

std::vector<kernel_info> kernel_table(backend where, value_type type) {
  std::vector<kernel_info> chosen;
  std::ranges::copy_if(kernel_table(), std::back_inserter(chosen),
                       [&](const kernel_info& k) { return k.where == where && k.type == type; });
  return chosen;
}

}  // namespace bcsc
