#pragma once

#include <cstddef>

#include "kernels/tables/cpu.hpp"
#include "kernels/tables/scatter.hpp"
#include "kernels/tables/table_list.hpp"

namespace bcsc::kernels::cpu {

/// The CPU's kernels, in the registry's order.
using all_tables = tables::table_list<tables::cpu_rows, tables::cpu_blocks, tables::cpu_columns, tables::cpu_slices,
                                      tables::cpu_scatter>;

/// Where Table stands among `Tables`.
template <class Table, class... Tables>
consteval std::size_t position_in(tables::table_list<Tables...>) {
  std::size_t position = 0;
  (void)((__is_same(Table, Tables) ? true : (++position, false)) || ...);
  return position;
}

}  // namespace bcsc::kernels::cpu
