#include "kernels/forms/mma_tiles/mma_tiles.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "kernels/forms/block_order.hpp"

namespace bcsc::forms {

using converters::even_segment_cuts;
using converters::for_pieces;
using converters::require_host;
using converters::storage;

namespace {

using core::at;
using core::ceil_div;

constexpr std::int64_t max_height = max_mma_tile_parts * mma_tile_rows;

static_assert(max_mma_tile_parts <= 16);

}  // namespace

void check_mma_tiles(std::int64_t rows, std::int64_t cols, std::int64_t m_block, const mma_tiles_options& options) {
  if (m_block > max_height) {
    core::fail(errc::invalid_argument, "m_block = {}: MMA tiles take row blocks of at most {} rows", m_block,
               max_height);
  }
  if (options.max_groups < 0) {
    core::fail(errc::invalid_argument, "max_groups = {}: must be at least 0", options.max_groups);
  }
  if (options.max_whole < 0) {
    core::fail(errc::invalid_argument, "max_whole = {}: must be at least 0", options.max_whole);
  }
  (void)core::narrow<std::int32_t>(rows, "rows");
  (void)core::narrow<std::int32_t>(cols, "columns");
}

template <number T, index I>
mma_tiles_matrix<T> to_mma_tiles(const compact_bcsc_view<T, I>& a, const mma_tiles_options& options) {
  require_host(a.space, "compact bcsc");
  check_mma_tiles(a.rows, a.cols, a.m_block, options);

  mma_tiles_matrix<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.height = height_of_mma_tiles(a.m_block);

  const std::int64_t num_blocks = a.num_row_blocks();
  const std::vector<std::int64_t> cuts = even_segment_cuts(a.entry_ptr, num_blocks);

  auto first_group = storage<std::int64_t>(num_blocks + 1, "first groups");
  auto first_tile = storage<std::int64_t>(num_blocks + 1, "first tiles");
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    block_order<T, I> order(a, mma_tile_rows, options.by_parts);
    for (std::int64_t b = first; b < last; ++b) {
      const auto& columns = order.of(b);
      first_group[at(b) + 1] = ceil_div(static_cast<std::int64_t>(columns.size()), std::int64_t{mma_tile_columns});
      for (std::size_t j = 0; j < columns.size(); j += mma_tile_columns) {
        first_tile[at(b) + 1] += std::popcount(parts_of_group(columns, j, mma_tile_columns));
      }
    }
  });
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    first_group[at(b) + 1] += first_group[at(b)];
    first_tile[at(b) + 1] += first_tile[at(b)];
  }
  (void)core::narrow<std::int32_t>(first_group.back(), "groups");
  (void)core::narrow<std::int32_t>(first_tile.back(), "tiles");

  out.groups = storage<mma_tiles_group>(first_group.back(), "groups");
  out.col_ind = storage<std::int32_t>(first_group.back() * mma_tile_columns, "col_ind");
  out.tiles = storage<T>((first_tile.back() + spare_tiles) * mma_tile_values, "tiles");
  out.masks = storage<std::uint64_t>(first_tile.back(), "masks");
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    block_order<T, I> order(a, mma_tile_rows, options.by_parts);
    for (std::int64_t b = first; b < last; ++b) {
      const auto& columns = order.of(b);
      std::int64_t tile = first_tile[at(b)];
      for (std::size_t j = 0; j < columns.size(); j += mma_tile_columns) {
        const std::int64_t group = first_group[at(b)] + static_cast<std::int64_t>(j) / mma_tile_columns;
        const unsigned parts = parts_of_group(columns, j, mma_tile_columns);
        out.groups[at(group)] = {static_cast<std::int32_t>(tile), parts};
        for (int k = 0; k < mma_tile_columns; ++k) {
          const auto& column = columns[std::min(j + static_cast<std::size_t>(k), columns.size() - 1)];
          out.col_ind[at(group * mma_tile_columns + k)] = static_cast<std::int32_t>(a.column(column.index));
          if (j + static_cast<std::size_t>(k) >= columns.size()) continue;
          const std::int64_t end = column.entry + a.col_count[at(column.index)] + 1;
          for (std::int64_t e = column.entry; e < end; ++e) {
            const std::int64_t row = a.row_in_block[at(e)];
            const unsigned lower_parts = (1u << row / mma_tile_rows) - 1;
            const std::int64_t own_tile = tile + std::popcount(parts & lower_parts);
            const std::int64_t place = row % mma_tile_rows * mma_tile_columns + k;
            out.tiles[at(own_tile * mma_tile_values + place)] = a.values[at(e)];
            out.masks[at(own_tile)] |= std::uint64_t{1} << place;
          }
        }
        tile += std::popcount(parts);
      }
    }
  });

  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    longest = std::max(longest, first_group[at(b + 1)] - first_group[at(b)]);
  }
  const std::int64_t max_groups = longest > options.max_whole ? options.max_groups : 0;
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    const auto row = static_cast<std::int32_t>(a.first_row(b));
    const auto num_rows = static_cast<std::int32_t>(a.first_row(b + 1)) - row;
    const std::int64_t begin = first_group[at(b)], count = first_group[at(b) + 1] - begin;
    const bool split = max_groups > 0 && count > max_groups;
    const std::int64_t pieces = split ? ceil_div(count, max_groups) : 1;
    (void)core::narrow<std::int32_t>(out.num_slots + pieces, "pieces of row blocks");
    if (split) {
      out.sums.push_back({row, num_rows, static_cast<std::int32_t>(out.num_slots), static_cast<std::int32_t>(pieces)});
    }
    for (std::int64_t p = 0; p < pieces; ++p) {
      const std::int64_t slot = split ? out.num_slots++ : -1;
      out.items.push_back({static_cast<std::int32_t>(begin + count * p / pieces),
                           static_cast<std::int32_t>(begin + count * (p + 1) / pieces),
                           row,
                           num_rows,
                           static_cast<std::int32_t>(slot),
                           {}});
    }
  }
  return out;
}

#define BCSC_INSTANTIATE(T, I) \
  template mma_tiles_matrix<T> to_mma_tiles(const compact_bcsc_view<T, I>&, const mma_tiles_options&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
