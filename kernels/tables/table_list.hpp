#pragma once

namespace bcsc::kernels::tables {

/// The tables of a backend, for who enumerates them.
template <class... Tables>
struct table_list {};

}  // namespace bcsc::kernels::tables
