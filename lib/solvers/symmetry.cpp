#include "lib/solvers/symmetry.hpp"

#include <cmath>
#include <type_traits>

#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers {

namespace vector = kernels::vector;

namespace {

/// Of ||x|| ||Ay|| / sqrt(n), as large as x'Ay is for random x and y. Products in TF32 stay below that of fp32.
template <value T>
constexpr double tolerated = std::is_same_v<T, double> ? 1e-5 : 1e-2;

template <value T>
class symmetry_check {
 public:
  symmetry_check(const cg_parts<T>& parts, vector::shape shape)
      : parts_(parts),
        shape_(shape),
        partials_(parts.ctx(), vector::num_partials(shape)),
        sums_(parts.ctx(), shape.k),
        workspace_(parts.ctx(), parts.workspace_bytes(shape.k)) {}

  bool passes() const {
    const block x = random(2), y = random(3), ax = product(x), ay = product(y);
    const auto there = dots(x, ay), back = dots(y, ax);
    const auto xx = dots(x, x), yy = dots(y, y), of_ax = dots(ax, ax), of_ay = dots(ay, ay);
    for (std::size_t j = 0; j < there.size(); ++j) {
      const double size = (std::sqrt(xx[j] * of_ay[j]) + std::sqrt(yy[j] * of_ax[j])) / std::sqrt(shape_.n);
      if (std::fabs(there[j] - back[j]) > tolerated<T> * size) return false;
    }
    return true;
  }

 private:
  using block = context_array<T>;

  block random(std::uint64_t seed) const {
    const setup_array<double> values = random_vector(shape_.n * shape_.k, seed);
    block to(parts_.ctx(), std::ssize(values));
    to.upload(std::vector<T>(values.begin(), values.end()), parts_.stream);
    return to;
  }
  block product(const block& x) const {
    block to(parts_.ctx(), x.size());
    parts_.exact.apply(T{1}, {x.data(), shape_.n, shape_.k}, T{0}, {to.data(), shape_.n, shape_.k},
                       {parts_.stream, {workspace_.data(), core::at(workspace_.size())}});
    return to;
  }
  std::vector<double> dots(const block& x, const block& y) const {
    core::check_launch(parts_.ctx().state(),
                       operations_of<T>(parts_.ctx().kind())
                           .dot(parts_.env(), shape_, x.data(), y.data(), partials_.data(), sums_.data()),
                       "dot");
    std::vector<double> sums(core::at(shape_.k));
    sums_.download(sums, parts_.stream);
    return sums;
  }

  const cg_parts<T>& parts_;
  const vector::shape shape_;
  context_array<double> partials_, sums_;
  context_array<std::byte> workspace_;
};

}  // namespace

namespace {

bool may_be_asymmetric(const cg_result& result, std::size_t j) {
  switch (result.column_reason[j]) {
    case cg_stop::not_positive_definite:
    case cg_stop::stagnated:
    case cg_stop::inconsistent:
      return true;
    case cg_stop::max_iterations:
      return result.true_residual[j] > 1;
    default:
      return false;
  }
}

}  // namespace

bool may_be_asymmetric(const cg_result& result) {
  for (std::size_t j = 0; j < result.column_reason.size(); ++j) {
    if (may_be_asymmetric(result, j)) return true;
  }
  return false;
}

void blame_asymmetry(cg_result& result) {
  for (std::size_t j = 0; j < result.column_reason.size(); ++j) {
    if (may_be_asymmetric(result, j)) result.column_reason[j] = cg_stop::not_symmetric;
  }
  result.reason = worst_of(result.column_reason, result.reason == cg_stop::cancelled);
}

template <value T>
bool looks_symmetric(const cg_parts<T>& parts, vector::shape shape) {
  return symmetry_check<T>(parts, shape).passes();
}

template bool looks_symmetric(const cg_parts<float>&, vector::shape);
template bool looks_symmetric(const cg_parts<double>&, vector::shape);

}  // namespace bcsc::solvers
