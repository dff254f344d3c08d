#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "bcsc/any_matrix.hpp"
#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
/// Matrices whose arrays lie on a GPU, and the conversions between all formats there. Only counts come to the host, and
/// results are bit-equal to those of the host's conversions (convert.hpp).
///
///     const auto ctx = bcsc::context::cuda();
///     const auto a = bcsc::upload(ctx, host_csr);
///     const auto blocks = bcsc::to_bsr_on_device(ctx, a, 4, 4);
///
/// All work is done on the default stream of the context's GPU and is complete on return; work on another stream that
/// writes an input has to be complete before. Inputs are device views that hold their format's invariants; outputs do
/// too. A view whose arrays do not lie on that GPU is error{wrong_memory_space}, a context of the CPU or a build
/// without CUDA error{no_device}; further errors are error{size_overflow} where a count does not fit I,
/// error{out_of_memory}, error{cuda_error}, error{context_poisoned}.
namespace bcsc {

/// A matrix that owns its arrays on a GPU, as a view of its format shows them. Move-only; a moved-from one is empty.
template <class View>
class device_matrix {
 public:
  using view_t = View;
  device_matrix() = default;
  /// For code that makes one: `view` points into what `arrays` keeps and its deleter frees.
  device_matrix(const View& view, std::shared_ptr<void> arrays) : view_(view), arrays_(std::move(arrays)) {}
  device_matrix(device_matrix&& other) noexcept
      : view_(std::exchange(other.view_, View{})), arrays_(std::move(other.arrays_)) {}
  device_matrix& operator=(device_matrix&& other) noexcept {
    view_ = std::exchange(other.view_, View{});
    arrays_ = std::move(other.arrays_);
    return *this;
  }

  const View& view() const& { return view_; }
  /// The view's members: a->row_ptr, say.
  const View* operator->() const& { return &view_; }
  operator View() const { return view_; }
  // They would outlive a temporary.
  void view() const&& = delete;
  void operator->() const&& = delete;
  std::int64_t rows() const { return view_.rows; }
  std::int64_t cols() const { return view_.cols; }

 private:
  View view_{};
  std::shared_ptr<void> arrays_;  // never shared: a unique owner whose type stays in the library
};

template <element T, index I = std::int32_t>
using device_coo = device_matrix<coo_view<T, I>>;
template <element T, index I = std::int32_t>
using device_csr = device_matrix<csr_view<T, I>>;
template <element T, index I = std::int32_t>
using device_csc = device_matrix<csc_view<T, I>>;
template <number T, index I = std::int32_t>
using device_bsr = device_matrix<bsr_view<T, I>>;
template <number T, index I = std::int32_t>
using device_ell = device_matrix<ell_view<T, I>>;
template <element T, index I = std::int32_t>
using device_bcsc = device_matrix<bcsc_view<T, I>>;
template <element T, index I = std::int32_t>
using device_compact_bcsc = device_matrix<compact_bcsc_view<T, I>>;
template <number T>
using device_dense = device_matrix<dense_view<T>>;

// --- From the host and back -----------------------------------------------------------------------------------------

/// A view of COO, CSR, CSC, BSR, Blocked-ELL or BCSC.
template <class View>
concept sparse_view = matrix_view<View> && format_of<View>
!= matrix_format::dense&& format_of<View> != matrix_format::compact_bcsc;
/// The type that owns such a matrix on the host.
template <sparse_view View>
using host_matrix_of = typename detail::format_table<View>::matrix;

/// A copy of a host matrix on the context's GPU. trust::validate checks the view's invariants on the host first, and
/// throws what validate(a) throws; COO entries in any order are uploaded with trust::trusted, for
/// sort_and_sum_on_device.
template <sparse_view View>
BCSC_EXPORT device_matrix<View> upload(const context& ctx, const View& a, trust check = trust::validate);
/// In the same order, packed. Throws error{invalid_argument | bad_leading_dimension | size_overflow}.
template <number T>
BCSC_EXPORT device_dense<T> upload(const context& ctx, const dense_view<const T>& a);

template <element T, index I>
BCSC_EXPORT device_compact_bcsc<T, I> upload(const context& ctx, const compact_bcsc_view<T, I>& a,
                                             trust check = trust::validate);

/// A copy of a device matrix on the host.
template <sparse_view View>
BCSC_EXPORT host_matrix_of<View> download(const context& ctx, const View& a);
template <element T, index I>
BCSC_EXPORT compact_bcsc_matrix<T, I> download(const context& ctx, const compact_bcsc_view<T, I>& a);
/// In the same order, packed.
template <number T>
BCSC_EXPORT dense_matrix<T> download(const context& ctx, const dense_view<const T>& a);

// --- To CSR ---------------------------------------------------------------------------------------------------------

template <element T, index I>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const coo_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const csc_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const bcsc_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const compact_bcsc_view<T, I>& a);
/// Zeros of the blocks (-0 too) are padding, and are dropped.
template <number T, index I>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const bsr_view<T, I>& a);
template <number T, index I>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const ell_view<T, I>& a);
/// The entries that are not 0.
template <index I, number T>
BCSC_EXPORT device_csr<T, I> to_csr_on_device(const context& ctx, const dense_view<const T>& a);

// --- From CSR -------------------------------------------------------------------------------------------------------

template <element T, index I>
BCSC_EXPORT device_coo<T, I> to_coo_on_device(const context& ctx, const csr_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT device_csc<T, I> to_csc_on_device(const context& ctx, const csr_view<T, I>& a);
/// Throws error{invalid_argument} for a block size < 1; so do the next two.
template <number T, index I>
BCSC_EXPORT device_bsr<T, I> to_bsr_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t row_block,
                                              std::int64_t col_block);
template <number T, index I>
BCSC_EXPORT device_ell<T, I> to_ell_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t block);
template <element T, index I>
BCSC_EXPORT device_bcsc<T, I> to_bcsc_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t m_block);
/// Row blocks of `m_block` rows, 1 .. 65536; columns in two bytes if wanted and there are at most 65536. Each row block
/// is ordered by itself in shared memory (converters/formats/compact_steps.cu).
template <element T, index I>
BCSC_EXPORT device_compact_bcsc<T, I> to_compact_on_device(const context& ctx, const csr_view<T, I>& a,
                                                           std::int64_t m_block, bool narrow_columns = false);
/// Packed.
template <number T, index I>
BCSC_EXPORT device_dense<T> to_dense_on_device(const context& ctx, const csr_view<T, I>& a,
                                               layout order = layout::row_major);

// --- Within a format ------------------------------------------------------------------------------------------------

/// The transpose, as CSR.
template <element T, index I>
BCSC_EXPORT device_csr<T, I> transpose_on_device(const context& ctx, const csr_view<T, I>& a);

/// Another value or index type. Throws error{size_overflow} where a size does not fit `I2`.
template <element T2, index I2, element T, index I>
BCSC_EXPORT device_csr<T2, I2> cast_on_device(const context& ctx, const csr_view<T, I>& a);

/// Entries in any order, sorted by row, then column, and duplicates summed in the order in which they were given: what
/// coo_matrix's constructor makes of them. The sums equal the host's bit for bit, but NaNs may differ in their bits.
/// Throws error{invalid_format | index_out_of_range | size_overflow}, naming array, position, value.
template <element T, index I>
BCSC_EXPORT device_coo<T, I> sort_and_sum_on_device(const context& ctx, const coo_view<T, I>& a);

// --- Owning matrices convert like their views -----------------------------------------------------------------------

/// A host matrix holds its invariants already.
template <owning_matrix Matrix>
requires sparse_view<decltype(std::declval<const Matrix&>().view())>
auto upload(const context& ctx, const Matrix& a) { return upload(ctx, a.view(), trust::trusted); }
template <number T>
device_dense<T> upload(const context& ctx, const dense_matrix<T>& a) {
  return upload(ctx, a.view());
}
template <sparse_view View>
host_matrix_of<View> download(const context& ctx, const device_matrix<View>& a) {
  return download(ctx, a.view());
}
template <number T>
dense_matrix<T> download(const context& ctx, const device_dense<T>& a) {
  return download(ctx, dense_view<const T>(a.view()));
}
template <element T, index I>
device_compact_bcsc<T, I> upload(const context& ctx, const compact_bcsc_matrix<T, I>& a) {
  return upload(ctx, a.view(), trust::trusted);
}
template <element T, index I>
compact_bcsc_matrix<T, I> download(const context& ctx, const device_compact_bcsc<T, I>& a) {
  return download(ctx, a.view());
}
template <element T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const device_compact_bcsc<T, I>& a) {
  return to_csr_on_device(ctx, a.view());
}
template <element T, index I>
device_compact_bcsc<T, I> to_compact_on_device(const context& ctx, const device_csr<T, I>& a, std::int64_t m_block,
                                               bool narrow_columns = false) {
  return to_compact_on_device(ctx, a.view(), m_block, narrow_columns);
}
template <sparse_view View>
auto to_csr_on_device(const context& ctx, const device_matrix<View>& a) {
  return to_csr_on_device(ctx, a.view());
}
template <index I, number T>
device_csr<T, I> to_csr_on_device(const context& ctx, const device_dense<T>& a) {
  return to_csr_on_device<I>(ctx, dense_view<const T>(a.view()));
}
template <element T, index I>
device_coo<T, I> to_coo_on_device(const context& ctx, const device_csr<T, I>& a) {
  return to_coo_on_device(ctx, a.view());
}
template <element T, index I>
device_csc<T, I> to_csc_on_device(const context& ctx, const device_csr<T, I>& a) {
  return to_csc_on_device(ctx, a.view());
}
template <number T, index I>
device_bsr<T, I> to_bsr_on_device(const context& ctx, const device_csr<T, I>& a, std::int64_t row_block,
                                  std::int64_t col_block) {
  return to_bsr_on_device(ctx, a.view(), row_block, col_block);
}
template <number T, index I>
device_ell<T, I> to_ell_on_device(const context& ctx, const device_csr<T, I>& a, std::int64_t block) {
  return to_ell_on_device(ctx, a.view(), block);
}
template <element T, index I>
device_bcsc<T, I> to_bcsc_on_device(const context& ctx, const device_csr<T, I>& a, std::int64_t m_block) {
  return to_bcsc_on_device(ctx, a.view(), m_block);
}
template <number T, index I>
device_dense<T> to_dense_on_device(const context& ctx, const device_csr<T, I>& a, layout order = layout::row_major) {
  return to_dense_on_device(ctx, a.view(), order);
}
template <element T, index I>
device_csr<T, I> transpose_on_device(const context& ctx, const device_csr<T, I>& a) {
  return transpose_on_device(ctx, a.view());
}
template <element T2, index I2, element T, index I>
device_csr<T2, I2> cast_on_device(const context& ctx, const device_csr<T, I>& a) {
  return cast_on_device<T2, I2>(ctx, a.view());
}
template <element T, index I>
device_coo<T, I> sort_and_sum_on_device(const context& ctx, const device_coo<T, I>& a) {
  return sort_and_sum_on_device(ctx, a.view());
}

}  // namespace bcsc
#pragma GCC visibility pop
