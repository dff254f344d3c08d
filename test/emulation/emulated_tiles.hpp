#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bcsc/convert.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "test/emulation/emulated_product.hpp"

/// Products from A in MMA tiles on the emulated GPU: what the kernels that read that form have in common.
namespace bcsc::test {

/// A product, and how A is cut into row blocks and pieces for it.
struct tiles_setting : dense_setting {
  bool own_heights = false, permuted = false;
  std::int64_t max_groups = 0;
  bool by_parts = true;
  int num_multiprocessors = 1;
};

inline tiles_setting tiles_setting_of(std::size_t k) {
  constexpr std::int64_t widths[] = {1, 7, 8, 31, 32, 33, 64, 100, 128, 130, 257};
  constexpr std::int64_t pieces[] = {0, 0, 1, 3};
  test_random random(7000 + k);
  const std::int64_t n = one_of(random, widths);
  tiles_setting s{draw_dense(random, n, false)};
  s.own_heights = random.below(3) == 0;
  s.permuted = random.below(3) == 0;
  s.max_groups = one_of(random, pieces);
  s.by_parts = random.below(2) == 0;
  s.num_multiprocessors = 1 + static_cast<int>(random.below(5));
  return s;
}

inline std::string words(const tiles_setting& s) {
  return words(static_cast<const dense_setting&>(s)) + (s.own_heights ? ", own heights" : "") +
         (s.permuted ? ", permuted" : "") + ", max_groups " + std::to_string(s.max_groups) +
         (s.by_parts ? "" : ", columns in order") + ", multiprocessors " + std::to_string(s.num_multiprocessors);
}

template <class T>
kernels::mma_tiles_operand<T> operand_of(const forms::mma_tiles_matrix<T>& f, const std::int32_t* row_of,
                                         scalar_of<T>* partial) {
  return {f.rows,
          f.cols,
          f.height,
          std::ssize(f.items),
          f.items.data(),
          f.groups.data(),
          f.col_ind.data(),
          f.tiles.data(),
          f.masks.data(),
          row_of,
          std::ssize(f.sums),
          f.sums.data(),
          partial,
          static_cast<std::int32_t>(f.num_tiles())};
}

/// C = alpha * A * B + beta * C0 by a config for row blocks of `height`, for each member of a batch.
template <class T>
std::vector<dense_table<T>> run_tiles(kernels::launch_fn launch, std::int64_t height, const sparse_case& a,
                                      const std::vector<dense_table<T>>& b, const std::vector<dense_table<T>>& c0,
                                      const tiles_setting& s, dots_left* dots = nullptr) {
  emulated_product<T> there(s, b, c0);
  if (dots != nullptr) there.wants(*dots);
  const auto row_of = s.permuted ? permutation<std::int32_t>(a.rows) : std::vector<std::int32_t>{};
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, height) : std::vector<std::int64_t>{};
  const auto matrix = to_compact(csr_of<T>(s.permuted ? with_rows(a, row_of) : a),
                                 {.m_block = height, .boundaries = boundaries, .narrow_columns = a.cols % 2 == 0});
  const auto f = forms::to_mma_tiles(matrix.view(), {.max_groups = s.max_groups, .by_parts = s.by_parts});
  there.may_read(f.items), there.may_read(f.groups), there.may_read(f.col_ind), there.may_read(f.tiles),
      there.may_read(f.masks);
  there.may_read(f.sums), there.may_read(row_of);
  // Unwritten elements are NaN.
  const std::int64_t partials = f.num_slots * f.height * s.n;
  std::vector<scalar_of<T>> partial(static_cast<std::size_t>(partials) * c0.size(),
                                    std::numeric_limits<scalar_of<T>>::quiet_NaN());
  there.may_write_bytes(partial.data(), partial.size() * sizeof(partial[0]));
  const auto stored = operand_of(f, s.permuted ? row_of.data() : nullptr, partial.data());
  return there.run_batch(launch, stored, partials, s.num_multiprocessors);
}

}  // namespace bcsc::test
