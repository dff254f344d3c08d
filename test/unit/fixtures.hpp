#pragma once

#include <filesystem>
#include <map>
#include <utility>

#include "bcsc/formats.hpp"

/// Files that other programs wrote (test/unit/data/make_fixtures.py), and what a reader made of them.
namespace bcsc::test {

inline std::filesystem::path fixture(const std::filesystem::path& name) {
  return std::filesystem::path(BCSC_TEST_DATA) / name;
}

/// A matrix as a map from position to value; stored zeros are in it.
template <value T>
using entry_map = std::map<std::pair<std::int64_t, std::int64_t>, T>;

template <value T, index I>
entry_map<T> entries_of(const coo_matrix<T, I>& a) {
  entry_map<T> map;
  const auto view = a.view();
  for (std::int64_t k = 0; k < a.nnz(); ++k) map[{view.row_ind[k], view.col_ind[k]}] = view.values[k];
  return map;
}

}  // namespace bcsc::test
