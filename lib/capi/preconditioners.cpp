#include "bcsc/preconditioners.hpp"

#include <string>
#include <utility>

#include "bcsc/amg.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"
#include "lib/capi/solver_arguments.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

/// make(context, A) as an operator's handle.
template <class Make>
int preconditioner_of(bcsc_context where, bcsc_sparse matrix, bcsc_operator* out, Make make) {
  return guarded([&] {
    require(where, "context");
    require(out, "map");
    with_csr(matrix, [&](const auto& a) { *out = new bcsc_operator_s(make(where->context, a)); });
  });
}

block_jacobi_options options_of(const bcsc_block_jacobi_options& given) {
  block_jacobi_options made;
  made.block = given.block;
  if (given.cols != 0) made.cols = given.cols;
  return made;
}

chebyshev_options options_of(const bcsc_chebyshev_options& given) {
  chebyshev_options made;
  if (given.degree != 0) made.degree = given.degree;
  if (given.lanczos_steps != 0) made.lanczos_steps = given.lanczos_steps;
  made.ratio = given.ratio;
  if (given.cols != 0) made.cols = given.cols;
  return made;
}

/// The places of the nodes whose displacements are A's unknowns.
dense_view<const double> coordinates_of(const bcsc_amg_options& given, std::int64_t rows) {
  const std::int64_t dimensions = given.dimensions;
  if (dimensions != 2 && dimensions != 3) {
    core::fail(errc::invalid_argument, "options.dimensions = {}: coordinates have 2 or 3", dimensions);
  }
  if (rows % dimensions != 0) {
    core::fail(errc::size_mismatch, "options.dimensions = {}: A has {} rows, which is no multiple", dimensions, rows);
  }
  if (given.near_nullspace != nullptr) {
    core::fail(errc::invalid_argument, "options.coordinates and options.near_nullspace: one of them has to be null");
  }
  if (given.block != 0 && given.block != dimensions) {
    core::fail(errc::invalid_argument, "options.block = {}: nodes with coordinates have {} unknowns", given.block,
               dimensions);
  }
  return {given.coordinates, rows / dimensions, dimensions};
}

dense_view<const double> near_nullspace_of(const bcsc_amg_options& given, std::int64_t rows) {
  const std::int64_t num = given.num_near_nullspace;
  if (num < 0 || (given.near_nullspace == nullptr) != (num == 0)) {
    core::fail(errc::invalid_argument, "options.near_nullspace = {}, options.num_near_nullspace = {}: both or neither",
               static_cast<const void*>(given.near_nullspace), num);
  }
  if (num == 0) return {};
  return {given.near_nullspace, rows, num, given.ld_near_nullspace, layout::row_major};
}

/// `modes` holds what the options refer to.
amg_options options_of(const bcsc_amg_options& given, std::int64_t rows, dense_matrix<double>& modes) {
  amg_options made;
  if (given.block != 0) made.block = given.block;
  if (given.coordinates != nullptr) {
    modes = rigid_body_modes(coordinates_of(given, rows));
    made.block = given.dimensions;
    made.near_nullspace = modes.view();
  } else if (given.dimensions != 0) {
    core::fail(errc::invalid_argument, "options.dimensions = {}: there are no options.coordinates", given.dimensions);
  } else {
    made.near_nullspace = near_nullspace_of(given, rows);
  }
  made.strength = given.strength;
  if (given.smoother_ratio != 0) made.smoother_ratio = given.smoother_ratio;
  if (given.smoother_degree != 0) made.smoother_degree = given.smoother_degree;
  made.single_precision = flag(given.single_precision, "options.single_precision");
  if (given.max_levels != 0) made.max_levels = given.max_levels;
  if (given.max_coarse != 0) made.max_coarse = given.max_coarse;
  if (given.cols != 0) made.cols = given.cols;
  return made;
}

}  // namespace

int bcsc_operator_jacobi(bcsc_context where, bcsc_sparse matrix, bcsc_operator* map) {
  return preconditioner_of(where, matrix, map, [](const context& ctx, const auto& a) -> bcsc_operator_s {
    return {jacobi_preconditioner(ctx, a)};
  });
}

int bcsc_operator_block_jacobi(bcsc_context where, bcsc_sparse matrix, bcsc_operator* map,
                               const bcsc_block_jacobi_options* options) {
  return preconditioner_of(where, matrix, map, [&](const context& ctx, const auto& a) -> bcsc_operator_s {
    return {block_jacobi_preconditioner(ctx, a, options_of(taken(options, "options")))};
  });
}

int bcsc_operator_chebyshev(bcsc_context where, bcsc_sparse matrix, bcsc_operator* map,
                            const bcsc_chebyshev_options* options) {
  return preconditioner_of(where, matrix, map, [&](const context& ctx, const auto& a) -> bcsc_operator_s {
    return {chebyshev_preconditioner(ctx, a, options_of(taken(options, "options")))};
  });
}

int bcsc_operator_ic0(bcsc_context where, bcsc_sparse matrix, bcsc_operator* map, const bcsc_ic0_options* options) {
  return preconditioner_of(where, matrix, map, [&](const context& ctx, const auto& a) -> bcsc_operator_s {
    return {ic0_preconditioner(ctx, a, {.shift = taken(options, "options").shift})};
  });
}

int bcsc_operator_amg(bcsc_context where, bcsc_sparse matrix, bcsc_operator* map, const bcsc_amg_options* options) {
  return preconditioner_of(where, matrix, map, [&](const context& ctx, const auto& a) -> bcsc_operator_s {
    dense_matrix<double> modes;
    const amg_preconditioner amg(ctx, a, options_of(taken(options, "options"), a.rows, modes));
    std::string text = amg.explain();
    text.pop_back();  // the final newline
    return {amg.as_operator(), std::move(text)};
  });
}
