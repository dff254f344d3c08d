#include "converters/files/matrix_market_read.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/line_reader.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_body.hpp"
#include "converters/files/matrix_market_header.hpp"

/// Reading Matrix Market files in one pass. What is accepted and what is refused: docs/matrix-market.md.
namespace bcsc::files {
namespace matrix_market {
namespace {

/// Throws error{size_overflow} if I cannot hold the header's sizes.
template <index I>
void require_sizes_fit(const header& head, const std::string& path) {
  const file_info& info = head.info;
  if (std::max(info.rows, info.cols) > std::numeric_limits<I>::max()) {
    fail_at({.path = path, .line = head.size_line}, errc::size_overflow, "{} x {}: does not fit {}-bit indices",
            info.rows, info.cols, sizeof(I) * 8);
  }
}

/// Gives the values of an array file their places; zeros are left out.
template <value T, index I>
stored_entries<T, I> place(const std::vector<T>& values, const file_info& info, const source* in) {
  // By the values and not by the columns: a file of 0 rows may announce any number of columns.
  const bool half = info.symmetry != file_symmetry::general;
  const std::int64_t below_diagonal = info.symmetry == file_symmetry::skew_symmetric ? 1 : 0;
  stored_entries<T, I> stored;
  stored.in = in;
  std::int64_t row = below_diagonal, col = 0;
  for (const T value : values) {
    if (value != T{0}) stored.push_back(static_cast<I>(row), static_cast<I>(col), value);
    if (++row == info.rows) {
      ++col;
      row = half ? col + below_diagonal : 0;
    }
  }
  return stored;
}

/// A file's entries, all with their places.
template <value T, index I>
stored_entries<T, I> read_entries(source& in, std::size_t chunk_bytes, file_info& info) {
  line_reader lines(in);
  const header head = read_header(lines, in);
  require_sizes_fit<I>(head, in.path());
  info = head.info;
  stored_entries<T, I> stored = body_reader<T, I>(in, lines, head, chunk_bytes).read();
  return info.array ? place<T, I>(stored.values, info, &in) : std::move(stored);
}

}  // namespace

file_info read_info(source& in) {
  line_reader lines(in);
  return read_header(lines, in).info;
}

template <value T, index I>
coo_matrix<T, I> read_matrix(source& in, std::size_t chunk_bytes) {
  file_info info;
  auto stored = read_entries<T, I>(in, chunk_bytes, info);
  return assemble_coo(info.rows, info.cols, std::move(stored), info.symmetry, in.path());
}

template <value T, index I>
csr_matrix<T, I> read_csr(source& in, std::size_t chunk_bytes) {
  file_info info;
  auto stored = read_entries<T, I>(in, chunk_bytes, info);
  in.require_memory(0, core::saturating_product(info.rows + 1, sizeof(I)),
                    core::format("the pointers of {} rows", info.rows), {.path = in.path()});
  return assemble_csr(info.rows, info.cols, std::move(stored), info.symmetry, in.path());
}

template <value T>
dense_matrix<T> read_dense(source& in, std::size_t chunk_bytes) {
  line_reader lines(in);
  const header head = read_header(lines, in);
  const file_info& info = head.info;
  if (!info.array) {
    fail_at({.path = in.path(), .line = 1}, errc::unsupported, "coordinate form: a dense matrix needs array form");
  }
  // The matrix is made only when the file has proved to hold it.
  const std::vector<T> stored = body_reader<T, std::int64_t>(in, lines, head, chunk_bytes).read().values;

  dense_matrix<T> dense(info.rows, info.cols, layout::col_major);
  if (info.symmetry == file_symmetry::general) {
    std::copy(stored.begin(), stored.end(), dense.data());
    return dense;
  }
  const bool skew = info.symmetry == file_symmetry::skew_symmetric;
  auto next = stored.begin();
  for (std::int64_t col = 0; col < info.cols; ++col) {
    for (std::int64_t row = skew ? col + 1 : col; row < info.rows; ++row, ++next) {
      dense(col, row) = skew ? -*next : *next;
      dense(row, col) = *next;
    }
  }
  return dense;
}

template coo_matrix<float, std::int32_t> read_matrix(source&, std::size_t);
template coo_matrix<float, std::int64_t> read_matrix(source&, std::size_t);
template coo_matrix<double, std::int32_t> read_matrix(source&, std::size_t);
template coo_matrix<double, std::int64_t> read_matrix(source&, std::size_t);
template csr_matrix<float, std::int32_t> read_csr(source&, std::size_t);
template csr_matrix<float, std::int64_t> read_csr(source&, std::size_t);
template csr_matrix<double, std::int32_t> read_csr(source&, std::size_t);
template csr_matrix<double, std::int64_t> read_csr(source&, std::size_t);
template dense_matrix<float> read_dense(source&, std::size_t);
template dense_matrix<double> read_dense(source&, std::size_t);

}  // namespace matrix_market
}  // namespace bcsc::files
