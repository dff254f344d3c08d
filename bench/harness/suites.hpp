#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "bench/harness/inputs.hpp"

/// Experiments by name: those of the thesis that BCSC comes from ("Optimisation of the Sparse Matrix - Matrix
/// Multiplication kernel on GPUs", National Technical University of Athens, 2019), so that they can be run again.
namespace bcsc::bench {

/// A matrix of a suite.
struct suite_matrix {
  std::string_view name;           ///< in the SuiteSparse collection; empty: generated, in the thesis too
  std::string_view kind;           ///< what reports group by
  std::string_view specification;  ///< what is generated; for a name what stands in for it, of like size and pattern
  bool quick = false;              ///< of the small subset
};

struct suite {
  std::string_view name;
  std::span<const suite_matrix> matrices;
  std::span<const std::int64_t> cols, quick_cols;
};

/// "dnn": square uniform networks, 256 to 2048 rows, 60 to 90 % zeros; N = 32 to 2048.
/// "iterative": matrices of the SuiteSparse collection; N = 8 to 512.
inline constexpr const char* suite_names[] = {"dnn", "iterative"};
/// Throws error{invalid_argument} for a name that is none.
const suite& find_suite(std::string_view name);

/// What is measured: a matrix of the collection as NAME.mtx, NAME.mtx.gz or NAME.tar.gz in `folder` (empty: none) or in
/// the download cache, else what stands in for it, called "like NAME". `quick`: the small subset.
std::vector<input> suite_inputs(const suite& which, bool quick, const std::filesystem::path& folder);

}  // namespace bcsc::bench
