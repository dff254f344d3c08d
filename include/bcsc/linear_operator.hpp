#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/plan.hpp"

namespace bcsc::solvers {
template <value T>
struct operator_state;
}

#pragma GCC visibility push(default)
namespace bcsc {

/// What one application computes on; operators composed of others pass it through.
struct apply_options {
  cuda_stream stream = nullptr;
  /// At least workspace_bytes(k) where the context computes, aligned to 256 bytes. Empty: the operator's own.
  std::span<std::byte> workspace = {};
};

/// What a user's callable promises.
struct operator_traits {
  /// On CUDA: the callable neither waits nor allocates, and all its work is on apply_options::stream, so that it may be
  /// captured in a CUDA graph and repeated with the same pointers.
  bool capturable = false;
  /// Bytes of workspace for k columns; empty: none. The callable then always gets that many.
  std::function<std::int64_t(std::int64_t k)> workspace_bytes = {};
  std::string name = "a callable";  ///< for messages and describe()
};

/// A linear map on blocks of vectors: Y = alpha A X + beta Y, about which nothing else needs to be known. A plan is
/// one, and so is a user's callable; solvers and preconditioners take and make them. Cheap to copy (copies share their
/// state), immutable, and may be applied from many threads and streams at once, each with its own workspace.
template <value T>
class linear_operator {
 public:
  /// Y = alpha A X + beta Y as documented at apply(), with a workspace of the promised size. What it throws reaches the
  /// caller of apply(), or of the solver that does so.
  using apply_function = std::function<void(scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                                            const apply_options& options)>;

  /// op(A) of a plan for a row-major B, which outlives the operator; its values may be updated meanwhile.
  linear_operator(const spmm_plan<T>& plan);
  /// The same, and the operator keeps the plan.
  linear_operator(spmm_plan<T>&& plan);
  /// Throws error{invalid_argument} for a negative size or an empty callable.
  linear_operator(const context& ctx, std::int64_t rows, std::int64_t cols, apply_function apply,
                  operator_traits traits = {});

  /// Y = alpha A X + beta Y. X: cols() x k, Y: rows() x k, row-major with any leading dimension, where the context
  /// computes; they share no element. beta = 0 never reads Y. On CUDA asynchronous on options.stream; if capturable(),
  /// and with a workspace where one is needed, it neither allocates nor waits. The operator's own workspace is made
  /// when it is first needed and serves one caller and one stream at a time. Throws error{size_mismatch |
  /// layout_mismatch | bad_leading_dimension | wrong_memory_space | overlapping_operands | workspace_too_small |
  /// workspace_in_use | invalid_argument | context_poisoned | cuda_error | out_of_memory}, before anything is started,
  /// and whatever a callable throws.
  void apply(scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
             const apply_options& options = {}) const;

  std::int64_t rows() const;
  std::int64_t cols() const;
  const context& where() const;
  /// Whether apply() may be captured in a CUDA graph. On a CPU it says what the callable promised.
  bool capturable() const;
  /// For X with k columns. Throws error{invalid_argument} for k < 0.
  std::int64_t workspace_bytes(std::int64_t k) const;
  /// One line: "a plan of 1000 x 1000, rowwise".
  std::string describe() const;

 private:
  friend struct solvers::operator_state<T>;
  std::shared_ptr<const solvers::operator_state<T>> state_;
};

// Operators composed of others, which they keep. Each is capturable if its parts are, and needs the largest workspace
// of its parts besides its own blocks of vectors. All throw error{size_mismatch} where shapes do not fit, and
// error{invalid_argument} where the parts are of different contexts.

/// A + sigma I.
template <value T>
BCSC_EXPORT linear_operator<T> shifted(const linear_operator<T>& a, double sigma);
/// A + B.
template <value T>
BCSC_EXPORT linear_operator<T> sum(const linear_operator<T>& a, const linear_operator<T>& b);
/// A' A, never formed.
template <value T>
BCSC_EXPORT linear_operator<T> gram(const linear_operator<T>& a, const linear_operator<T>& a_transposed);
/// D A D with D = diag(d): d [rows] on the host, copied.
template <value T>
BCSC_EXPORT linear_operator<T> scaled(const linear_operator<T>& a, std::type_identity_t<std::span<const T>> d);
/// A of fp32 for vectors of fp64: X is rounded to fp32, the product is computed there and widened.
BCSC_EXPORT linear_operator<double> widened(const linear_operator<float>& a);
/// A dense matrix on the host, of any layout, which is copied. Multiplied as a sparse matrix with every entry: for
/// small ones.
template <value T>
BCSC_EXPORT linear_operator<T> dense_operator(const context& ctx, dense_view<const T> a);

}  // namespace bcsc
#pragma GCC visibility pop
