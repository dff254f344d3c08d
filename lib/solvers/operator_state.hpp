#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "bcsc/linear_operator.hpp"
#include "core/checked.hpp"
#include "kernels/forms/product_args.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc::solvers {

inline constexpr std::int64_t workspace_alignment = 256;

/// Up to the next multiple of the alignment, so that what lies behind is aligned as well.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return core::ceil_div(bytes, workspace_alignment) * workspace_alignment;
}

/// Bytes of an n x k block of vectors in a workspace.
template <value T>
std::int64_t block_bytes(std::int64_t n, std::int64_t k) {
  const std::int64_t elements = core::checked_product(n, k, "elements of a block of vectors");
  return aligned_bytes(core::checked_product(elements, sizeof(T), "bytes of a block of vectors"));
}

/// Takes blocks of vectors from the front of a workspace; what is left is for the operators beneath.
class workspace_cutter {
 public:
  explicit workspace_cutter(std::span<std::byte> whole) : rest_(whole) {}
  template <value T>
  dense_view<T> block(std::int64_t n, std::int64_t k) {
    T* const data = reinterpret_cast<T*>(rest_.data());
    rest_ = rest_.subspan(core::at(block_bytes<T>(n, k)));
    return {data, n, k};
  }
  std::span<std::byte> rest() const { return rest_; }

 private:
  std::span<std::byte> rest_;
};

/// A workspace that is allocated on first use and grows on demand. One caller and, on a GPU, one stream at a time: a
/// call returns before the GPU has finished.
class grown_workspace {
 public:
  /// Held for the length of a call. Throws error{workspace_in_use | out_of_memory}.
  class lease {
   public:
    lease(grown_workspace& own, const context& ctx, std::int64_t bytes, cuda_stream stream);
    std::span<std::byte> bytes() const { return bytes_; }

   private:
    std::unique_lock<std::mutex> lock_;
    std::span<std::byte> bytes_;
  };

 private:
  std::mutex taken_;
  std::optional<context_array<std::byte>> memory_;
  cuda_stream stream_ = nullptr;
};

/// What the copies of an operator share.
template <value T>
struct operator_state {
  context ctx;
  std::int64_t rows, cols;
  typename linear_operator<T>::apply_function apply;
  operator_traits traits;
  bool brings_workspace = false;  ///< `apply` has a workspace of its own for when none is given: a plan
  mutable grown_workspace own = {};

  /// Y = A X, and what the product leaves of X'Y. Plans have it, and multigrid.
  using product_with_dots = std::function<void(dense_view<const T> x, dense_view<T> y, const apply_options& options,
                                               const kernels::dots_with_b& dots)>;
  product_with_dots multiply_with_dots = {};

  /// Y = alpha A X + gamma Z within the product, where Z shares no element with Y and lies_alike(Z, Y). Plans have it,
  /// and what ends with a plan's product.
  using product_and_sum = std::function<void(T alpha, dense_view<const T> x, T gamma, dense_view<const T> z,
                                             dense_view<T> y, const apply_options& options)>;
  product_and_sum multiply_and_add = {};
  static bool lies_alike(const dense_view<const T>& z, const dense_view<T>& y) {
    constexpr std::uintptr_t alignment = 16;
    const auto from = reinterpret_cast<std::uintptr_t>(z.data), to = reinterpret_cast<std::uintptr_t>(y.data);
    return z.row_stride() == y.row_stride() && (from - to) % alignment == 0;
  }

  static const operator_state& of(const linear_operator<T>& a) { return *a.state_; }
  /// `made`, which has no copies yet, with one of these.
  static linear_operator<T> with_sum(linear_operator<T> made, product_and_sum multiplies_and_adds) {
    std::const_pointer_cast<operator_state>(made.state_)->multiply_and_add = std::move(multiplies_and_adds);
    return made;
  }
  static linear_operator<T> with_dots(linear_operator<T> made, product_with_dots multiplies_with_dots) {
    std::const_pointer_cast<operator_state>(made.state_)->multiply_with_dots = std::move(multiplies_with_dots);
    return made;
  }
};

}  // namespace bcsc::solvers
