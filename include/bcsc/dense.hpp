#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "bcsc/elements.hpp"
#include "bcsc/export.hpp"
#include "bcsc/types.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// A dense matrix owned elsewhere: pointer, shape, leading dimension, layout. Element (i, j) is
/// `data[i * ld + j]` row-major, `data[i + j * ld]` column-major; `ld >= cols` or `ld >= rows` (at least 1)
/// accordingly.
template <class T>
requires number<std::remove_const_t<T>>
struct dense_view {
  using value_t = std::remove_const_t<T>;
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  layout order = layout::row_major;

  constexpr dense_view() = default;
  constexpr dense_view(T* elements, std::int64_t num_rows, std::int64_t num_cols, std::int64_t leading_dimension,
                       layout lies = layout::row_major)
      : data(elements), rows(num_rows), cols(num_cols), ld(leading_dimension), order(lies) {}
  /// Packed: the leading dimension is the length of a row or column (1 if that is empty).
  constexpr dense_view(T* elements, std::int64_t num_rows, std::int64_t num_cols, layout lies = layout::row_major)
      : dense_view(elements, num_rows, num_cols,
                   std::max<std::int64_t>(1, lies == layout::row_major ? num_cols : num_rows), lies) {}
  /// A mutable view converts to a constant one.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, std::remove_const_t<T>>) constexpr dense_view(
      const dense_view<U>& other)
      : dense_view(other.data, other.rows, other.cols, other.ld, other.order) {}

  constexpr std::int64_t row_stride() const { return order == layout::row_major ? ld : 1; }
  constexpr std::int64_t col_stride() const { return order == layout::row_major ? 1 : ld; }
  constexpr T& operator()(std::int64_t i, std::int64_t j) const { return data[i * row_stride() + j * col_stride()]; }
};

/// Checks the sizes and the leading dimension; error{invalid_argument | size_overflow | bad_leading_dimension}.
template <number T>
BCSC_EXPORT void validate(const dense_view<const T>& a);

/// Operands of functions that take their value type from the sparse matrix: anything that converts to a view fits.
template <number T>
using input_view = std::type_identity_t<dense_view<const T>>;
template <number T>
using output_view = std::type_identity_t<dense_view<T>>;

namespace detail {
/// rows * cols, or error{invalid_argument} for a negative one, error{size_overflow} where that many values of
/// `value_bytes` each do not fit the address space.
std::size_t dense_size(std::int64_t rows, std::int64_t cols, std::size_t value_bytes);
/// error{size_mismatch} unless `size` values are rows * cols.
void require_dense_size(std::int64_t rows, std::int64_t cols, std::size_t value_bytes, std::size_t size);
}  // namespace detail

/// A dense matrix on the host, packed.
template <number T>
class dense_matrix {
 public:
  using value_t = T;
  dense_matrix() = default;
  /// Zero-filled. Throws error{invalid_argument} for a negative size, error{size_overflow} where rows * cols is too
  /// large.
  dense_matrix(std::int64_t rows, std::int64_t cols, layout order = layout::row_major)
      : rows_(rows), cols_(cols), order_(order), values_(detail::dense_size(rows, cols, sizeof(T))) {}
  /// Takes `values` as they lie. Also throws error{size_mismatch} unless there are rows * cols of them.
  dense_matrix(std::int64_t rows, std::int64_t cols, layout order, std::vector<T> values)
      : rows_(rows), cols_(cols), order_(order), values_(std::move(values)) {
    detail::require_dense_size(rows, cols, sizeof(T), values_.size());
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  layout order() const { return order_; }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  T& operator()(std::int64_t i, std::int64_t j) { return view()(i, j); }
  const T& operator()(std::int64_t i, std::int64_t j) const { return view()(i, j); }

  std::span<T> values() & { return values_; }
  std::span<const T> values() const& { return values_; }
  dense_view<T> view() & { return {values_.data(), rows_, cols_, order_}; }
  dense_view<const T> view() const& { return {values_.data(), rows_, cols_, order_}; }
  operator dense_view<T>() { return view(); }
  operator dense_view<const T>() const { return view(); }
  // They would outlive a temporary.
  void values() const&& = delete;
  void view() const&& = delete;

 private:
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  layout order_ = layout::row_major;
  std::vector<T> values_;
};

}  // namespace bcsc
#pragma GCC visibility pop
