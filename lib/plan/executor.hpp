#pragma once

#include <cstddef>
#include <memory>

#include "bcsc/plan.hpp"
#include "core/update_lock.hpp"
#include "kernels/forms/stored_matrix.hpp"
#include "lib/plan/recipe.hpp"
#include "lib/plan/workspace.hpp"

namespace bcsc::plan {

/// The stored matrix of a plan; others may share it until it is replaced.
template <number T>
class held_matrix {
 public:
  using stored = forms::stored_matrix<T>;

  held_matrix() = default;
  explicit held_matrix(std::shared_ptr<const stored> a) : a_(std::move(a)) {}
  /// Kernels on any stream may still read a matrix when its last owner releases it: whoever frees it waits for them
  /// first.
  static std::shared_ptr<const stored> owned(stored made);

  std::shared_ptr<const stored> current() const {
    const std::shared_lock reading(updating_);
    return a_;
  }
  /// Runs use(matrix), during which it is not replaced.
  template <class Use>
  void with(Use use) const {
    const std::shared_lock reading(updating_);
    use(*a_);
  }
  /// `renewed` is complete: nothing in flight writes it, so kernels may read it before they wait for the previous
  /// kernel. The old one is released after the lock.
  void replace(std::shared_ptr<const stored> renewed) {
    const std::unique_lock lock(updating_);
    a_.swap(renewed);
  }

 private:
  mutable core::update_lock updating_;
  std::shared_ptr<const stored> a_;
};

/// What the public interface does not offer of a product; for a batch of one.
template <number T>
struct product_extras {
  /// C = alpha * op(A) * B + beta * Z: Z lies as C does, as far from a multiple of 16 bytes, and shares no element with
  /// it; null: Z is C. Not in 16 bits.
  const T* z = nullptr;
  /// Only with alpha 1 and beta 0; nothing is left where the columns take several launches.
  kernels::dots_with_b dots = {};
};

/// C = alpha * op(A) * B + beta * C by the kernel of `how`: checks the operands, cuts the product into what the
/// workspace holds, makes column-major operands row-major where that pays, and starts the kernel.
template <number T>
class executor {
 public:
  using factor = scalar<scalar_of<T>>;
  using stored = forms::stored_matrix<T>;

  /// `how` outlives this. `turnable`: as for workspace_layout.
  executor(const recipe& how, const forms::partial_sums& partials, bool turnable)
      : how_(how), layout_(how, partials, turnable), workspace_(how, layout_.bytes()) {}

  void run(const held_matrix<T>& a, factor alpha, dense_view<const T> b, factor beta, dense_view<T> c,
           const run_options& run, const product_extras<T>& extras = {}) const;
  const workspace_layout<T>& layout() const { return layout_; }

 private:
  struct b_strides;
  void check_spaces(const dense_view<const T>& b, const dense_view<T>& c, factor alpha, factor beta, bool reads_b,
                    const run_options& run) const;
  void multiply_whole(const stored& a, factor alpha, const T* b, bool reads_b, const b_strides& strides, factor beta,
                      const dense_view<T>& c, const run_options& run, const product_extras<T>& extras) const;
  void multiply_in_slabs(const stored& a, factor alpha, const dense_view<const T>& b, bool reads_b, bool packs,
                         const b_strides& strides, factor beta, const dense_view<T>& c, const run_options& run,
                         const product_extras<T>& extras) const;
  void multiply(const stored& a, factor alpha, const T* b, const b_strides& strides, factor beta,
                const dense_view<T>& c, scalar_of<T>* partials, std::byte* spare, const kernels::batch_strides& batch,
                cuda_stream stream, const product_extras<T>& extras) const;
  core::team team_for(const dense_view<T>& c) const;

  const recipe& how_;
  workspace_layout<T> layout_;
  mutable own_workspace workspace_;
};

}  // namespace bcsc::plan
