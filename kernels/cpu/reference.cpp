#include "bcsc/reference.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace bcsc::reference {

namespace {

template <class T>
void require_dense(const dense_view<T>& x, const char* name) {
  if (x.rows < 0 || x.cols < 0) {
    core::fail(errc::size_mismatch, "{} is {} x {}: sizes must be 0 or more", name, x.rows, x.cols);
  }
  const bool by_rows = x.order == layout::row_major;
  const std::int64_t least = std::max<std::int64_t>(1, by_rows ? x.cols : x.rows);
  if (x.ld < least) {
    core::fail(errc::bad_leading_dimension, "{}.ld = {}: a {} {} x {} matrix needs {} at least", name, x.ld,
               to_string(x.order), x.rows, x.cols, least);
  }
}

/// The shapes of C (rows x n) = A (rows x cols) * B (cols x n), and everything on the host.
template <class T>
void require_shapes(std::int64_t rows, std::int64_t cols, memory_space space, const dense_view<const T>& b,
                    const dense_view<T>& c) {
  if (space != memory_space::host)
    core::fail(errc::wrong_memory_space, "a lies on the {}: must lie on the host", to_string(space));
  if (b.rows != cols) core::fail(errc::size_mismatch, "b.rows = {}: must be a.cols = {}", b.rows, cols);
  if (c.rows != rows) core::fail(errc::size_mismatch, "c.rows = {}: must be a.rows = {}", c.rows, rows);
  if (c.cols != b.cols) core::fail(errc::size_mismatch, "c.cols = {}: must be b.cols = {}", c.cols, b.cols);
  require_dense(b, "b");
  require_dense(c, "c");
}

/// C = beta * C + what `add_products` adds to it; C is not read if beta = 0. Narrow values are summed in fp32 beside C
/// and rounded once.
template <class T, class AddProducts>
void accumulate(scalar_of<T> beta, dense_view<T> c, const AddProducts& add_products) {
  using sum_type = scalar_of<T>;
  const auto scale_to = [&](dense_view<sum_type> sums) {
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.cols; ++j) {
        sums(i, j) = beta == 0 ? sum_type{0} : beta * static_cast<sum_type>(c(i, j));
      }
    }
  };
  if constexpr (value<T>) {
    scale_to(c);
    add_products(c);
  } else {
    dense_matrix<sum_type> sums(c.rows, c.cols);
    scale_to(sums);
    add_products(sums.view());
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.cols; ++j) c(i, j) = T(sums(i, j));
    }
  }
}

/// sums[row, :] += factor * B[col, :].
template <class S, class T>
void add_row(S factor, std::int64_t row, std::int64_t col, dense_view<const T> b, dense_view<S> sums) {
  for (std::int64_t j = 0; j < sums.cols; ++j) sums(row, j) += factor * static_cast<S>(b(col, j));
}

}  // namespace

template <number T, index I>
void spmm(scalar_of<T> alpha, const coo_view<T, I>& a, input_view<T> b, scalar_of<T> beta, output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  accumulate(beta, c, [&](dense_view<scalar_of<T>> sums) {
    if (alpha == 0) return;
    for (std::int64_t k = 0; k < a.nnz(); ++k)
      add_row(alpha * static_cast<scalar_of<T>>(a.values[k]), a.row_ind[k], a.col_ind[k], b, sums);
  });
}

template <number T, index I>
void spmm(scalar_of<T> alpha, const csr_view<T, I>& a, input_view<T> b, scalar_of<T> beta, output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  accumulate(beta, c, [&](dense_view<scalar_of<T>> sums) {
    if (alpha == 0) return;
    for (std::int64_t row = 0; row < a.rows; ++row) {
      for (std::int64_t k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
        add_row(alpha * static_cast<scalar_of<T>>(a.values[k]), row, a.col_ind[k], b, sums);
      }
    }
  });
}

template <number T, index I>
void spmm(scalar_of<T> alpha, const csc_view<T, I>& a, input_view<T> b, scalar_of<T> beta, output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  accumulate(beta, c, [&](dense_view<scalar_of<T>> sums) {
    if (alpha == 0) return;
    for (std::int64_t col = 0; col < a.cols; ++col) {
      for (std::int64_t k = a.col_ptr[col]; k < a.col_ptr[col + 1]; ++k) {
        add_row(alpha * static_cast<scalar_of<T>>(a.values[k]), a.row_ind[k], col, b, sums);
      }
    }
  });
}

template <number T, index I>
void spmm(scalar_of<T> alpha, const bsr_view<T, I>& a, input_view<T> b, scalar_of<T> beta, output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  accumulate(beta, c, [&](dense_view<scalar_of<T>> sums) {
    if (alpha == 0) return;
    const std::int64_t block_size = a.row_block * a.col_block;
    for (std::int64_t block_row = 0; block_row * a.row_block < a.rows; ++block_row) {
      for (std::int64_t block = a.brow_ptr[block_row]; block < a.brow_ptr[block_row + 1]; ++block) {
        const T* values = a.values.data() + block * block_size;
        const std::int64_t first_row = block_row * a.row_block, first_col = a.bcol_ind[block] * a.col_block;
        // The padding beyond the ragged edge has no row of B or C.
        const std::int64_t height = std::min(a.row_block, a.rows - first_row);
        const std::int64_t width = std::min(a.col_block, a.cols - first_col);
        for (std::int64_t i = 0; i < height; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            add_row(alpha * static_cast<scalar_of<T>>(values[i * a.col_block + j]), first_row + i, first_col + j, b,
                    sums);
          }
        }
      }
    }
  });
}

template <number T, index I>
void spmm(scalar_of<T> alpha, const bcsc_view<T, I>& a, input_view<T> b, scalar_of<T> beta, output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  accumulate(beta, c, [&](dense_view<scalar_of<T>> sums) {
    if (alpha == 0) return;
    for (std::int64_t block = 0; block < a.num_row_blocks(); ++block) {
      for (std::int64_t i = a.brow_ptr[block]; i < a.brow_ptr[block + 1]; ++i) {
        for (std::int64_t k = a.col_ptr[i]; k < a.col_ptr[i + 1]; ++k) {
          add_row(alpha * static_cast<scalar_of<T>>(a.values[k]), a.row_ind[k], a.col_ind[i], b, sums);
        }
      }
    }
  });
}

#define BCSC_INSTANTIATE_VIEW(T, I, View) \
  template void spmm<T, I>(scalar_of<T>, const View<T, I>&, dense_view<const T>, scalar_of<T>, dense_view<T>);
#define BCSC_INSTANTIATE(T)                         \
  BCSC_INSTANTIATE_VIEW(T, std::int32_t, coo_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int64_t, coo_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int32_t, csr_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int64_t, csr_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int32_t, csc_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int64_t, csc_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int32_t, bsr_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int64_t, bsr_view)  \
  BCSC_INSTANTIATE_VIEW(T, std::int32_t, bcsc_view) \
  BCSC_INSTANTIATE_VIEW(T, std::int64_t, bcsc_view)
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE
#undef BCSC_INSTANTIATE_VIEW

}  // namespace bcsc::reference
