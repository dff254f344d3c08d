#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/dense.hpp"
#include "core/context_state.hpp"
#include "core/gpu.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/context_array.hpp"

/// Blocks of vectors on their way between the host and where a context computes. They travel as they lie: packed rows
/// in one copy, columns by way of an array there, from which they are spread over the rows; only rows and short columns
/// with gaps between them are packed on the host. No array on the way is as large as a large block.
namespace bcsc::solvers {

/// Elements that travel at once where they are rearranged: enough for a copy to reach its bandwidth.
inline constexpr std::int64_t elements_in_transit = std::int64_t{1} << 21;

template <class T>
bool lies_packed(const dense_view<T>& x) {
  return (x.cols <= 1 || x.col_stride() == 1) && (x.rows <= 1 || x.row_stride() == x.cols);
}

/// Whether columns are copied as they lie: without gaps several at once, else each by itself, if it is long enough.
template <class T>
bool goes_by_columns(const dense_view<T>& x) {
  constexpr std::int64_t long_enough = 4096;
  return x.row_stride() == 1 && (x.ld == x.rows || x.rows >= long_enough);
}

/// Calls visit(first row, rows, first column, columns): whole columns as far as `limit` goes, else a part of one.
template <class Visit>
void for_each_part_of_columns(kernels::vector::shape s, std::int64_t limit, const Visit& visit) {
  const std::int64_t rows = std::min(s.n, limit), cols = std::clamp<std::int64_t>(limit / s.n, 1, s.k);
  for (std::int64_t j = 0; j < s.k; j += cols) {
    for (std::int64_t i = 0; i < s.n; i += rows) visit(i, std::min(rows, s.n - i), j, std::min(cols, s.k - j));
  }
}

/// Calls visit(host values, offset in the array) for each run of consecutive values of a part of columns.
template <class T, class Visit>
void for_each_run(const dense_view<T>& x, std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t cols,
                  const Visit& visit) {
  const bool joined = rows == x.ld;
  const std::int64_t runs = joined ? 1 : cols, length = joined ? rows * cols : rows;
  for (std::int64_t run = 0; run < runs; ++run) {
    visit(std::span<T>(&x(i, j + run), static_cast<std::size_t>(length)), static_cast<std::size_t>(run * rows));
  }
}

/// Calls visit(first row, rows) for all rows, as many at a time as `limit` allows.
template <class Visit>
void for_each_part_of_rows(kernels::vector::shape s, std::int64_t limit, const Visit& visit) {
  const std::int64_t rows = std::clamp<std::int64_t>(limit / s.k, 1, s.n);
  for (std::int64_t i = 0; i < s.n; i += rows) visit(i, std::min(rows, s.n - i));
}

/// Copies a host operand to a packed block. Done on return.
template <value T>
void upload_block(const context& ctx, const kernels::launch_env& env, const dense_view<const T>& from,
                  context_array<T>& to, std::int64_t limit = elements_in_transit) {
  const kernels::vector::shape s{from.rows, from.cols};
  if (s.n == 0 || s.k == 0) return;
  if (lies_packed(from)) {
    to.upload({from.data, static_cast<std::size_t>(s.n * s.k)}, env.stream);
  } else if (goes_by_columns(from)) {
    context_array<T> columns(ctx, std::min(limit, s.n * s.k));
    for_each_part_of_columns(s, limit, [&](std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t cols) {
      for_each_run(from, i, rows, j, cols,
                   [&](std::span<const T> values, std::size_t offset) { columns.upload(values, env.stream, offset); });
      core::check_launch(
          ctx.state(),
          operations_of<T>(ctx.kind()).unpack(env, {cols, rows}, columns.data(), to.data() + i * s.k + j, 1, s.k),
          "unpack");
    });
    if (ctx.kind() == backend::cuda) core::gpu::synchronize(env.stream);
  } else {
    std::vector<T> packed;
    for_each_part_of_rows(s, limit, [&](std::int64_t i, std::int64_t rows) {
      packed.resize(static_cast<std::size_t>(rows * s.k));
      kernels::vector::on_cpu<T>().pack({}, {rows, s.k}, &from(i, 0), from.row_stride(), from.col_stride(),
                                        packed.data());
      to.upload(packed, env.stream, static_cast<std::size_t>(i * s.k));
    });
  }
}

/// Copies a packed block to a host operand; what lies between its rows or columns is not touched. Done on return.
template <value T>
void download_block(const context& ctx, const kernels::launch_env& env, const context_array<T>& from,
                    const dense_view<T>& to, std::int64_t limit = elements_in_transit) {
  const kernels::vector::shape s{to.rows, to.cols};
  if (s.n == 0 || s.k == 0) return;
  if (lies_packed(to)) {
    from.download({to.data, static_cast<std::size_t>(s.n * s.k)}, env.stream);
  } else if (goes_by_columns(to)) {
    const context_array<T> columns(ctx, std::min(limit, s.n * s.k));
    for_each_part_of_columns(s, limit, [&](std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t cols) {
      core::check_launch(
          ctx.state(),
          operations_of<T>(ctx.kind()).pack(env, {cols, rows}, from.data() + i * s.k + j, 1, s.k, columns.data()),
          "pack");
      for_each_run(to, i, rows, j, cols,
                   [&](std::span<T> values, std::size_t offset) { columns.download(values, env.stream, offset); });
    });
  } else {
    std::vector<T> packed;
    for_each_part_of_rows(s, limit, [&](std::int64_t i, std::int64_t rows) {
      packed.resize(static_cast<std::size_t>(rows * s.k));
      from.download(packed, env.stream, static_cast<std::size_t>(i * s.k));
      kernels::vector::on_cpu<T>().unpack({}, {rows, s.k}, packed.data(), &to(i, 0), to.row_stride(), to.col_stride());
    });
  }
}

}  // namespace bcsc::solvers
