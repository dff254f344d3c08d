#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bcsc/cg.hpp"
#include "bcsc/context.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/linear_operator.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// A preconditioner as the user names it: KIND, or KIND:NAME=VALUE,... with a first value that needs no name.
struct preconditioner_options {
  std::string kind = "jacobi";
  std::string coordinates;  ///< a dense file, nodes x 2 or 3: AMG of rigid-body modes
};
/// Adds --precondition and --coordinates.
void add_preconditioner(CLI::App& parser, preconditioner_options& options);

/// The file of --coordinates, if there is one, opened before A is read. Throws error{invalid_argument} if the
/// preconditioner has no use for it, and what dense_operand's constructor throws.
std::optional<dense_operand> open_coordinates(const preconditioner_options& options);

template <value T>
struct made_preconditioner {
  std::optional<linear_operator<T>> m;  ///< empty: none
  /// Conjugate gradients have the same in passes over vectors that they make anyway.
  preconditioner of_cg = preconditioner::none;
  std::string description;       ///< what it is, in several lines at most
  double seconds = 0;            ///< to make it
  nlohmann::ordered_json facts;  ///< {"kind", "setup_seconds", ...}; AMG also tells its levels
};

/// For `cols` right-hand sides. AMG takes rigid-body modes if there are coordinates: those of the file
/// (open_coordinates()), or of a generated elasticity matrix. Throws error{invalid_argument | size_mismatch | ...}.
template <value T>
made_preconditioner<T> make_preconditioner(const preconditioner_options& options,
                                           const std::optional<dense_operand>& coordinates, const matrix_source& source,
                                           const context& ctx, const csr_matrix<T>& a, std::int64_t cols,
                                           const output& out);

}  // namespace bcsc::cli
