#include "lib/solvers/setup_matrix.hpp"

#include <algorithm>

#include "converters/formats/parallel.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "kernels/vector/block_ops.hpp"

namespace bcsc::solvers {

using converters::even_cuts;
using converters::even_segment_cuts;
using converters::for_pieces;
using core::at;

namespace {

/// Sums over this many elements are taken in a fixed order; a thread takes whole chunks.
constexpr std::int64_t chunk = 4096;

}  // namespace

template <value T, index I>
setup_matrix to_setup(const csr_view<T, I>& a) {
  if (a.space == memory_space::device) {
    const auto row_ptr = core::copy_to_host(a.row_ptr, a.space);
    const auto col_ind = core::copy_to_host(a.col_ind, a.space);
    const auto values = core::copy_to_host(a.values, a.space);
    return to_setup(csr_view<T, I>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::host});
  }
  validate(a);
  setup_matrix made;
  made.rows = core::narrow<std::int32_t>(a.rows, "rows");
  made.cols = core::narrow<std::int32_t>(a.cols, "cols");
  made.row_ptr = unset<std::int64_t>(a.rows + 1, "the set-up's copy of A");
  for_each_of(a.rows + 1, [&](std::int64_t i) { made.row_ptr[at(i)] = a.row_ptr[at(i)]; });
  made.col_ind = unset<std::int32_t>(a.nnz(), "the set-up's copy of A");
  made.values = unset<double>(a.nnz(), "the set-up's copy of A");
  for_pieces(even_cuts(a.nnz()), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      made.col_ind[at(p)] = static_cast<std::int32_t>(a.col_ind[at(p)]);
      made.values[at(p)] = static_cast<double>(a.values[at(p)]);
    }
  });
  return made;
}

namespace {

double row_times(const setup_matrix& a, std::int64_t i, const double* x) {
  const std::int32_t* const columns = a.col_ind.data();
  const double* const values = a.values.data();
  double sum = 0;
  for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) sum += values[p] * x[columns[p]];
  return sum;
}

}  // namespace

void multiply(const setup_matrix& a, std::span<const double> x, std::span<double> y) {
  for_pieces(even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) y[at(i)] = row_times(a, i, x.data());
  });
}

double multiply_scaled(const setup_matrix& a, std::span<const double> scale, std::span<const double> x,
                       std::span<const double> v, std::span<double> y) {
  return sum_of(a.rows, [&](std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (std::int64_t i = first; i < last; ++i) {
      y[at(i)] = scale[at(i)] * row_times(a, i, x.data());
      sum += v[at(i)] * y[at(i)];
    }
    return sum;
  });
}

std::vector<double> diagonal_of(const setup_matrix& a) {
  std::vector<double> diagonal(at(a.rows), 0.0);
  for_pieces(even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto begin = a.col_ind.begin() + a.row_ptr[at(i)], end = a.col_ind.begin() + a.row_ptr[at(i) + 1];
      const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(i));
      if (found != end && *found == i) diagonal[at(i)] = a.values[at(found - a.col_ind.begin())];
    }
  });
  return diagonal;
}

double sum_of(std::int64_t n, core::function_ref<double(std::int64_t, std::int64_t)> part) {
  const std::int64_t num_chunks = core::ceil_div(n, chunk);
  std::vector<double> sums(at(num_chunks), 0.0);
  for_pieces(even_cuts(num_chunks, converters::worthwhile_pieces(n), [](std::int64_t i) { return i; }),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               for (std::int64_t c = first; c < last; ++c) {
                 sums[at(c)] = part(c * chunk, std::min(n, (c + 1) * chunk));
               }
             });
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

double dot(std::span<const double> x, std::span<const double> y) {
  return sum_of(std::ssize(x), [&](std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (std::int64_t i = first; i < last; ++i) sum += x[at(i)] * y[at(i)];
    return sum;
  });
}

setup_array<double> random_vector(std::int64_t n, std::uint64_t seed) {
  auto numbers = unset<double>(n, "a random vector");
  for_each_of(n, [&](std::int64_t i) {
    numbers[at(i)] = kernels::vector::random_element<double>(seed, static_cast<std::uint64_t>(i));
  });
  return numbers;
}

template setup_matrix to_setup(const csr_view<float, std::int32_t>&);
template setup_matrix to_setup(const csr_view<float, std::int64_t>&);
template setup_matrix to_setup(const csr_view<double, std::int32_t>&);
template setup_matrix to_setup(const csr_view<double, std::int64_t>&);

}  // namespace bcsc::solvers
