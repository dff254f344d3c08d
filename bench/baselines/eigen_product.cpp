#include "bench/baselines/eigen_product.hpp"

#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

// The build compiles this file once for each instruction set, names BCSC_EIGEN_NAMESPACE after it, and renames Eigen's
// own namespace too.
namespace bcsc::bench::BCSC_EIGEN_NAMESPACE {

namespace {

template <int Order, class T>
void multiply_in(const eigen_operands<T>& task) {
  using sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>;
  using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>;
  const Eigen::Map<const sparse> a(task.rows, task.inner, task.nnz, task.row_ptr, task.col_ind, task.values);
  const Eigen::Map<const dense> b(task.b, task.inner, task.cols);
  Eigen::Map<dense> c(task.c, task.rows, task.cols);
  Eigen::setNbThreads(task.threads);
  c.noalias() = a * b;
}

template <class T>
void multiply_any(const eigen_operands<T>& task) {
  task.row_major ? multiply_in<Eigen::RowMajor>(task) : multiply_in<Eigen::ColMajor>(task);
}

}  // namespace

void multiply(const eigen_operands<float>& task) { multiply_any(task); }
void multiply(const eigen_operands<double>& task) { multiply_any(task); }

void iterate(const eigen_system& system, int iterations) {
  using sparse = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>;
  using column = Eigen::Matrix<double, Eigen::Dynamic, 1>;
  const Eigen::Map<const sparse> a(system.rows, system.rows, system.nnz, system.row_ptr, system.col_ind, system.values);
  Eigen::setNbThreads(system.threads);
  // Of both triangles: the product is then parallel.
  Eigen::ConjugateGradient<sparse, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner> solver;
  solver.compute(a);
  solver.setTolerance(0);
  solver.setMaxIterations(iterations);
  Eigen::Map<column>(system.x, system.rows) = solver.solve(Eigen::Map<const column>(system.b, system.rows));
}

}  // namespace bcsc::bench::BCSC_EIGEN_NAMESPACE
