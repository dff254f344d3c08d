#include "lib/solvers/amg_hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "lib/solvers/dense_inverse.hpp"
#include "lib/solvers/scaled_plan.hpp"
#include "lib/solvers/spectrum.hpp"

namespace bcsc::solvers::amg {

using core::at;

namespace {

constexpr int lanczos_steps = 12;
/// A level that keeps more than this share of the rows is not worth a cycle.
constexpr double max_share_kept = 0.8;

/// On coarse levels a diagonal entry of 0 but for rounding stays out: there the near null space is A's null space.
std::vector<double> scale_of(const setup_matrix& a, std::size_t depth) {
  if (depth == 0) return inverse_root_diagonal(a, 0, "A");
  double largest = 0;
  for (const double entry : diagonal_of(a)) largest = std::max(largest, std::abs(entry));
  const std::string name = core::format("the coarse matrix of level {}", depth);
  return inverse_root_diagonal(a, 1e-13 * largest, name.c_str());
}

/// Of D^-1/2 A D^-1/2.
std::vector<double> invert_scaled(const setup_matrix& a, const std::vector<double>& scale) {
  auto full = converters::storage<double>(a.rows * a.rows, "the inverse on the coarsest level");
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
      const std::int64_t j = a.col_ind[at(p)];
      full[at(i * a.rows + j)] = scale[at(i)] * a.values[at(p)] * scale[at(j)];
    }
  }
  dense_inverse made = invert(std::move(full), a.rows);
  if (!(made.min_pivot >= -1e-8)) {
    core::fail(errc::invalid_argument,
               "the coarsest matrix, of {} rows, has a pivot of {:.1e} times its diagonal entry: A is not positive "
               "definite",
               a.rows, made.min_pivot);
  }
  return std::move(made.entries);
}

}  // namespace

hierarchy build(setup_matrix a, near_nullspace vectors, const amg_options& options) {
  hierarchy made;
  auto node_ptr = unset<std::int64_t>(a.rows / options.block + 1, "the nodes");
  for_each_of(std::ssize(node_ptr), [&](std::int64_t i) { node_ptr[at(i)] = i * options.block; });
  double strength = options.strength;
  std::vector<double> scale = scale_of(a, 0);
  require_symmetric(a);

  while (true) {
    level& here = made.levels.emplace_back(level{std::move(a), std::move(scale), 0, {}, {}});
    here.largest_eigenvalue = estimate_spectrum(here.a, here.scale, lanczos_steps).largest;
    const std::int64_t rows = here.a.rows;
    if (rows <= options.max_coarse) {
      made.coarse_inverse = invert_scaled(here.a, here.scale);
      break;
    }
    if (std::ssize(made.levels) >= options.max_levels) break;
    const aggregates groups = aggregate(strong_connections(here.a, node_ptr, strength));
    tentative coarse = cut_vectors(groups, node_ptr, std::move(vectors));
    const std::int64_t coarse_rows = coarse.prolongator.cols;
    if (coarse_rows == 0 || static_cast<double>(coarse_rows) > max_share_kept * static_cast<double>(rows)) break;

    here.prolongator = smooth(here.a, here.scale, 4.0 / 3.0 / here.largest_eigenvalue, coarse.prolongator);
    here.restriction = transpose(here.prolongator);
    a = multiply(here.restriction, multiply(here.a, here.prolongator, "A P"), "the coarse matrix P'AP");
    scale = scale_of(a, made.levels.size());
    node_ptr = std::move(coarse.node_ptr);
    vectors = std::move(coarse.vectors);
    strength /= 2;
  }
  return made;
}

}  // namespace bcsc::solvers::amg
