#include "bcsc/reference.hpp"

#include <algorithm>

#include "lib/core/fail.hpp"

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

/// C = beta * C; C is not read if beta = 0.
template <class T>
void scale(T beta, dense_view<T> c) {
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.cols; ++j) c(i, j) = beta == T{0} ? T{0} : beta * c(i, j);
  }
}

/// C[row, :] += value * B[col, :].
template <class T>
void add_row(T value, std::int64_t row, std::int64_t col, dense_view<const T> b, dense_view<T> c) {
  for (std::int64_t j = 0; j < c.cols; ++j) c(row, j) += value * b(col, j);
}

}  // namespace

template <value T, index I>
void spmm(std::type_identity_t<T> alpha, const coo_view<T, I>& a, input_view<T> b, std::type_identity_t<T> beta,
          output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  scale(beta, c);
  if (alpha == T{0}) return;
  for (std::int64_t k = 0; k < a.nnz(); ++k) add_row(alpha * a.values[k], a.row_ind[k], a.col_ind[k], b, c);
}

template <value T, index I>
void spmm(std::type_identity_t<T> alpha, const csr_view<T, I>& a, input_view<T> b, std::type_identity_t<T> beta,
          output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  scale(beta, c);
  if (alpha == T{0}) return;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      add_row(alpha * a.values[k], row, a.col_ind[k], b, c);
    }
  }
}

template <value T, index I>
void spmm(std::type_identity_t<T> alpha, const csc_view<T, I>& a, input_view<T> b, std::type_identity_t<T> beta,
          output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  scale(beta, c);
  if (alpha == T{0}) return;
  for (std::int64_t col = 0; col < a.cols; ++col) {
    for (std::int64_t k = a.col_ptr[col]; k < a.col_ptr[col + 1]; ++k) {
      add_row(alpha * a.values[k], a.row_ind[k], col, b, c);
    }
  }
}

template <value T, index I>
void spmm(std::type_identity_t<T> alpha, const bsr_view<T, I>& a, input_view<T> b, std::type_identity_t<T> beta,
          output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  scale(beta, c);
  if (alpha == T{0}) return;
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
          add_row(alpha * values[i * a.col_block + j], first_row + i, first_col + j, b, c);
        }
      }
    }
  }
}

template <value T, index I>
void spmm(std::type_identity_t<T> alpha, const bcsc_view<T, I>& a, input_view<T> b, std::type_identity_t<T> beta,
          output_view<T> c) {
  require_shapes(a.rows, a.cols, a.space, b, c);
  scale(beta, c);
  if (alpha == T{0}) return;
  for (std::int64_t block = 0; block < a.num_row_blocks(); ++block) {
    for (std::int64_t i = a.brow_ptr[block]; i < a.brow_ptr[block + 1]; ++i) {
      for (std::int64_t k = a.col_ptr[i]; k < a.col_ptr[i + 1]; ++k) {
        add_row(alpha * a.values[k], a.row_ind[k], a.col_ind[i], b, c);
      }
    }
  }
}

template void spmm(float, const coo_view<float, std::int32_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(float, const coo_view<float, std::int64_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(double, const coo_view<double, std::int32_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(double, const coo_view<double, std::int64_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(float, const csr_view<float, std::int32_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(float, const csr_view<float, std::int64_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(double, const csr_view<double, std::int32_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(double, const csr_view<double, std::int64_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(float, const csc_view<float, std::int32_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(float, const csc_view<float, std::int64_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(double, const csc_view<double, std::int32_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(double, const csc_view<double, std::int64_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(float, const bsr_view<float, std::int32_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(float, const bsr_view<float, std::int64_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(double, const bsr_view<double, std::int32_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(double, const bsr_view<double, std::int64_t>&, dense_view<const double>, double, dense_view<double>);
template void spmm(float, const bcsc_view<float, std::int32_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(float, const bcsc_view<float, std::int64_t>&, dense_view<const float>, float, dense_view<float>);
template void spmm(double, const bcsc_view<double, std::int32_t>&, dense_view<const double>, double,
                   dense_view<double>);
template void spmm(double, const bcsc_view<double, std::int64_t>&, dense_view<const double>, double,
                   dense_view<double>);

}  // namespace bcsc::reference
