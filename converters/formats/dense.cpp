#include "bcsc/dense.hpp"

#include <utility>

#include "bcsc/convert.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/padded.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// Dense matrices on the host: made from CSR, and taken apart again.
namespace bcsc {

namespace {

using core::at;
using core::fail;

}  // namespace

template <number T>
void validate(const dense_view<const T>& a) {
  const std::int64_t size = static_cast<std::int64_t>(detail::dense_size(a.rows, a.cols, sizeof(T)));
  const bool by_rows = a.order == layout::row_major;
  const std::int64_t segments = by_rows ? a.rows : a.cols, least = std::max<std::int64_t>(1, by_rows ? a.cols : a.rows);
  if (a.ld < least) fail(errc::bad_leading_dimension, "ld = {}: must be at least {}", a.ld, least);
  (void)core::checked_product(core::checked_product(segments, a.ld, "dense matrix"), sizeof(T), "dense matrix");
  if (size > 0 && a.data == nullptr) fail(errc::invalid_argument, "data is null: must be {} values", size);
}

template <number T, index I>
dense_matrix<T> to_dense(const csr_view<T, I>& a, layout order) {
  converters::require_host(a.space, "csr");
  const auto size = static_cast<std::int64_t>(detail::dense_size(a.rows, a.cols, sizeof(T)));
  dense_matrix<T> out(a.rows, a.cols, order, converters::storage<T>(size, "dense values"));
  const dense_view<T> to = out.view();
  converters::for_pieces(converters::even_segment_cuts(a.row_ptr, a.rows),
                         [&](std::int64_t, std::int64_t first, std::int64_t last) {
                           for (std::int64_t row = first; row < last; ++row) {
                             for (std::int64_t k = a.row_ptr[at(row)]; k < a.row_ptr[at(row) + 1]; ++k) {
                               to(row, a.col_ind[at(k)]) = a.values[at(k)];
                             }
                           }
                         });
  return out;
}

template <index I, number T>
csr_matrix<T, I> to_csr(const dense_view<const T>& a) {
  validate(a);
  converters::check_shape<I>(a.rows, a.cols);
  const auto cuts = converters::even_cuts(a.rows, converters::worthwhile_pieces(a.rows * a.cols),
                                          [](std::int64_t row) { return row; });
  return converters::without_zeros<T, I>(a.rows, a.cols, cuts, [&](std::int64_t first, std::int64_t last, auto&& use) {
    // Along memory, in either layout; a row's columns come in order both ways.
    if (a.order == layout::row_major) {
      for (std::int64_t row = first; row < last; ++row) {
        for (std::int64_t col = 0; col < a.cols; ++col) use(row, col, a(row, col));
      }
    } else {
      for (std::int64_t col = 0; col < a.cols; ++col) {
        for (std::int64_t row = first; row < last; ++row) use(row, col, a(row, col));
      }
    }
  });
}

#define BCSC_INSTANTIATE(T, I)                                      \
  template dense_matrix<T> to_dense(const csr_view<T, I>&, layout); \
  template csr_matrix<T, I> to_csr<I, T>(const dense_view<const T>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

template void validate(const dense_view<const float>&);
template void validate(const dense_view<const double>&);
template void validate(const dense_view<const half>&);
template void validate(const dense_view<const bfloat16>&);

}  // namespace bcsc
