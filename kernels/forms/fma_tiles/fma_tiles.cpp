#include "kernels/forms/fma_tiles/fma_tiles.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "kernels/forms/block_order.hpp"

namespace bcsc::forms {

using converters::even_segment_cuts;
using converters::for_pieces;
using converters::require_host;
using converters::storage;

namespace {

using core::at;
using core::ceil_div;

/// Row blocks one after the other: where each begins, then what is in it.
template <value T, index I>
class maker {
 public:
  explicit maker(const compact_bcsc_view<T, I>& a)
      : a_(a), part_rows_(fma_part_rows(a.m_block)), cuts_(even_segment_cuts(a.entry_ptr, a.num_row_blocks())) {}

  fma_tiles_matrix<T> make() {
    out_.rows = a_.rows;
    out_.cols = a_.cols;
    out_.height = a_.m_block;
    lay_out();
    for_pieces(cuts_, [&](std::int64_t, std::int64_t first, std::int64_t last) {
      block_order<T, I> order(a_, part_rows_, /*by_parts=*/true);
      for (std::int64_t b = first; b < last; ++b) fill(b, order.of(b));
    });
    return std::move(out_);
  }

 private:
  using columns = std::vector<typename block_order<T, I>::column>;

  void lay_out() {
    const std::int64_t num_blocks = a_.num_row_blocks();
    auto first_step = storage<std::int64_t>(num_blocks + 1, "first steps");
    auto first_tile = storage<std::int64_t>(num_blocks + 1, "first tiles");
    for_pieces(cuts_, [&](std::int64_t, std::int64_t first, std::int64_t last) {
      block_order<T, I> order(a_, part_rows_, /*by_parts=*/true);
      for (std::int64_t b = first; b < last; ++b) {
        const columns& found = order.of(b);
        first_step[at(b) + 1] = ceil_div(static_cast<std::int64_t>(found.size()), std::int64_t{fma_step_columns});
        for (std::size_t j = 0; j < found.size(); j += fma_step_columns) {
          first_tile[at(b) + 1] += std::popcount(parts_of_group(found, j, fma_step_columns));
        }
      }
    });
    out_.blocks = storage<fma_block>(num_blocks + 1, "row blocks");
    for (std::int64_t b = 0; b <= num_blocks; ++b) {
      if (b > 0) {
        first_step[at(b)] += first_step[at(b) - 1];
        first_tile[at(b)] += first_tile[at(b) - 1];
      }
      out_.blocks[at(b)] = {core::narrow<std::int32_t>(first_tile[at(b)], "tiles"),
                            core::narrow<std::int32_t>(first_step[at(b)], "steps"),
                            static_cast<std::int32_t>(b < num_blocks ? a_.first_row(b) : a_.rows), 0};
    }
    out_.steps = storage<fma_step>(first_step.back() + spare_fma_steps, "steps");
    out_.tiles = storage<T>((first_tile.back() + spare_fma_tiles) * fma_tile_values(a_.m_block), "tiles");
    out_.masks = storage<std::uint16_t>(first_tile.back(), "masks");
  }

  void fill(std::int64_t block, const columns& found) {
    std::int64_t tile = out_.blocks[at(block)].first_tile, step = out_.blocks[at(block)].first_step;
    for (std::size_t j = 0; j < found.size(); j += fma_step_columns, ++step) {
      const unsigned parts = parts_of_group(found, j, fma_step_columns);
      auto& numbers = out_.steps[at(step)].columns;
      for (std::size_t k = 0; k < fma_step_columns; ++k) {
        const auto& column = found[std::min(j + k, found.size() - 1)];
        numbers[k] = static_cast<std::uint32_t>(a_.column(column.index));
        if (j + k < found.size()) put(column.entry, a_.col_count[at(column.index)] + 1, parts, tile, k);
      }
      numbers[0] = fma_first_column(numbers[0], parts);
      tile += std::popcount(parts);
    }
  }

  /// The entries of a column into column k of a step's tiles, which begin at `first_tile`.
  void put(std::int64_t entry, std::int64_t count, unsigned parts, std::int64_t first_tile, std::size_t k) {
    for (std::int64_t e = entry; e < entry + count; ++e) {
      const int row = a_.row_in_block[at(e)];
      const std::int64_t tile = first_tile + std::popcount(parts & ((1u << row / part_rows_) - 1));
      const auto place = static_cast<std::int64_t>(row % part_rows_ * fma_step_columns) + static_cast<std::int64_t>(k);
      out_.tiles[at(tile * fma_tile_values(a_.m_block) + place)] = a_.values[at(e)];
      out_.masks[at(tile)] = static_cast<std::uint16_t>(out_.masks[at(tile)] | 1u << place);
    }
  }

  const compact_bcsc_view<T, I>& a_;
  int part_rows_;
  std::vector<std::int64_t> cuts_;
  fma_tiles_matrix<T> out_;
};

}  // namespace

void check_fma_tiles(std::int64_t rows, std::int64_t cols, std::int64_t m_block) {
  if (m_block < 2 || m_block > max_fma_height) {
    core::fail(errc::invalid_argument, "m_block = {}: FMA tiles take row blocks of 2 to {} rows", m_block,
               max_fma_height);
  }
  if (cols > max_fma_columns) {
    core::fail(errc::size_overflow, "columns = {}: FMA tiles hold at most {}", cols, max_fma_columns);
  }
  (void)core::narrow<std::int32_t>(rows, "rows");
}

template <value T, index I>
fma_tiles_matrix<T> to_fma_tiles(const compact_bcsc_view<T, I>& a) {
  require_host(a.space, "compact bcsc");
  check_fma_tiles(a.rows, a.cols, a.m_block);
  return maker<T, I>(a).make();
}

#define BCSC_INSTANTIATE(T, I) template fma_tiles_matrix<T> to_fma_tiles(const compact_bcsc_view<T, I>&);
BCSC_FOR_VALUES(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
