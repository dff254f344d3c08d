#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/files.hpp"

#pragma GCC visibility push(default)
/// The SuiteSparse Matrix Collection: what is in it (here, compiled in, no network) and how to get it (bcsc/fetch.hpp).
/// Source of the statistics: https://sparse.tamu.edu, CC-BY-4.0; T. A. Davis and Y. Hu, The University of Florida
/// Sparse Matrix Collection, ACM Transactions on Mathematical Software 38(1), 2011.
namespace bcsc::suitesparse {

/// The attribution to give where the catalogue or its matrices are passed on.
inline constexpr std::string_view attribution =
    "SuiteSparse Matrix Collection, T. A. Davis and Y. Hu, ACM TOMS 38(1), 2011 (https://sparse.tamu.edu, CC-BY-4.0)";

/// What the collection publishes about one matrix.
struct entry {
  std::int64_t number = 0;       ///< 1-based place in this catalogue; NOT the collection's own id
  std::string_view group, name;  ///< "HB", "bcsstk16"
  std::string_view kind;         ///< "structural problem"
  std::int64_t rows = 0, cols = 0;
  std::int64_t nnz = 0;                 ///< of the whole matrix: symmetric storage expanded, stored zeros not counted
  std::int64_t explicit_zeros = 0;      ///< stored in addition
  double pattern_symmetry = 0;          ///< share of the off-diagonal entries (i, j) whose (j, i) is an entry too
  double numeric_symmetry = 0;          ///< ... and equal
  file_field field = file_field::real;  ///< as its Matrix Market file is stored
  file_symmetry symmetry = file_symmetry::general;
  bool cholesky_candidate = false;  ///< symmetric or Hermitian, its diagonal positive
  bool positive_definite = false;   ///< found to be so

  std::string full_name() const { return std::string(group).append("/").append(name); }
};

/// All of it, group by group.
std::span<const entry> catalogue() noexcept;

/// Both ends included.
struct range {
  std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max();
};

/// All conditions that are set must hold.
struct filter {
  /// A glob (* ? [...]) for "Group/name", or for the name alone if it has no slash; without such characters, a part of
  /// "Group/name". Case is ignored. Empty: any.
  std::string pattern = {};
  std::string kind = {};  ///< a part of the kind, case ignored; empty: any
  range rows = {}, cols = {}, nnz = {};
  std::optional<bool> positive_definite = {};
  std::optional<file_symmetry> symmetry = {};
  std::optional<file_field> field = {};
};

/// The matrices that pass a filter, in the catalogue's order.
std::vector<entry> search(const filter& wanted);

/// One matrix: "HB/bcsstk16", "bcsstk16" if one group alone has it, or its number in this catalogue ("1262"; "#1262"
/// where a matrix has that name). Case matters only where names differ in nothing else. Throws error{invalid_argument}
/// that lists the candidates (several) or similar names (none).
entry find(std::string_view name);

}  // namespace bcsc::suitesparse
#pragma GCC visibility pop
