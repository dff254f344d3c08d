#pragma once

#include <memory>
#include <string>

#include "bench/harness/stage.hpp"

namespace bcsc::bench {

/// Conjugate gradients as one writes them with cuSPARSE and cuBLAS: no preconditioner, one right-hand side, all scalars
/// on the device, the preprocessed SpMV, and several iterations in a CUDA graph. It has no stopping test at all, which
/// is to its advantage.
class cublas_cg {
 public:
  /// `a`, b and x [rows] lie on the stage's device and outlive it. Takes the fastest of cuSPARSE's SpMV algorithms.
  cublas_cg(stage& where, const csr_view<double, std::int32_t>& a, const double* b, double* x);
  ~cublas_cg();
  cublas_cg(const cublas_cg&) = delete;
  cublas_cg& operator=(const cublas_cg&) = delete;

  static constexpr int iterations_a_graph = 8;
  /// x = 0, r = p = b.
  void restart();
  /// Starts iterations_a_graph iterations.
  void start_graph();
  /// "csr_alg1", say
  const std::string& algorithm() const;
  /// The recurrence's residual over that of x = 0. Waits.
  double residual();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bcsc::bench
