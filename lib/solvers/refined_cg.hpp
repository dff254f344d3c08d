#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/solvers/cg_parts.hpp"
#include "lib/solvers/simultaneous_cg.hpp"

namespace bcsc::solvers {

/// Reliable updates with all vectors of the iteration in fp32 (Clark et al. 2010): x and its residual b - A x in fp64,
/// corrections by simultaneous iterations in fp32, each until its residual is a given share of the one it began with,
/// and each going on along the direction of the one before. The arguments have been checked.
class refined_cg {
 public:
  /// `exact`, `inner` and `options` outlive this.
  refined_cg(const linear_operator<double>& exact, const cg_parts<float>& inner, kernels::vector::shape shape,
             const cg_options& options);

  void start(const dense_view<const double>& b, memory_space b_space, const dense_view<double>& x,
             memory_space x_space);
  void iterate();
  cg_result finish(const dense_view<double>& x, memory_space x_space, std::optional<cg_stop> objection);

 private:
  template <value T>
  dense_view<T> all(const context_array<T>& v) const {
    return {v.data(), shape_.n, shape_.k};
  }
  void started(int status, const char* what) const { core::check_launch(exact_.where().state(), status, what); }
  void compute_residual();
  std::vector<double> column_squares(const context_array<double>& v);
  /// Each column of v times its factor; one of zero clears it, whatever it holds.
  void scale(const context_array<double>& v, const std::vector<double>& factors);
  /// One correction of all open columns; false if the progress callback cancels.
  bool correct();

  const linear_operator<double>& exact_;
  const cg_options& options_;
  cg_options correction_options_;  ///< as correction_solver_ sees them
  const kernels::vector::shape shape_;
  const kernels::vector::operations<double>& ops_;
  const kernels::vector::block_operations<double>& block_ops_;
  const kernels::launch_env env_;

  context_array<double> b_, x_, r_;
  simultaneous_cg<float> correction_solver_;
  context_array<double> partials_, sums_;
  context_array<std::byte> workspace_;
  std::vector<column_course> columns_;
  bool cancelled_ = false;
  cg_result result_;
};

}  // namespace bcsc::solvers
