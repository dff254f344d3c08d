#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "converters/formats/grid.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "kernels/forms/bricks/layout.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"

namespace bcsc::forms {

/// A in bricks, on the host; kernels/forms/bricks/layout.hpp says what they are.
template <value T>
struct bricks_matrix {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t slots = 0;
  std::int64_t num_partial_bricks = 0;
  std::vector<std::int32_t> first_layer = {0};
  std::vector<brick_layer> layers;
  std::vector<brick_row> brick_rows;
  std::vector<brick_fetch> fetches;
  std::vector<std::uint16_t> entry_slots;
  std::vector<T> values;
  std::vector<row_piece> pieces;              ///< [num_partials] those of heavy rows
  std::vector<std::int32_t> heavy_ptr = {0};  ///< [num_heavy + 1]
};

struct bricks_options {
  std::int64_t slots = 320;  ///< a multiple of 40 up to max_brick_slots
  /// Whose rows A's are, of at most so many, and the nodes of a brick: lines or planes of them are layers. None: bricks
  /// are cut by number.
  converters::grid grid = {};
  converters::brick_shape shape = {};
};

/// The nodes of a brick for which a GPU that holds `places` thread blocks takes the least time, where each brick is
/// multiplied by `tiles` thread blocks. Long bricks copy their first layers' surroundings less often; short ones leave
/// fewer places empty at the end, which does not count where thread blocks are many times the places.
constexpr converters::brick_shape brick_for(const converters::grid& g, std::int64_t places, std::int64_t tiles) {
  if (!g.exists()) return {};
  constexpr std::int64_t min_layers = 8, start = 2;  // layers: what a brick takes before its first one
  constexpr std::int64_t max_waves = 32, max_tiles = std::int64_t{1} << 20;
  const std::int64_t lines = g.is_flat() ? 2 : 1;  // of nodes, along the axis that layers follow each other on
  const std::int64_t x = g.is_flat() ? 32 : 8, y = g.is_flat() ? 1 : 8;
  const std::int64_t columns = core::ceil_div(g.x, x) * (g.is_flat() ? 1 : core::ceil_div(g.y, y));
  const std::int64_t layers = core::ceil_div(g.is_flat() ? g.y : g.z, lines);
  const std::int64_t blocks = columns * std::min(tiles, max_tiles), at_once = std::max<std::int64_t>(places, 1);
  const auto is_worth_trying = [&](std::int64_t parts) {
    return core::ceil_div(layers, parts) >= min_layers && blocks * parts <= max_waves * at_once;
  };
  std::int64_t best = layers, least = 0;
  for (std::int64_t parts = 1; parts == 1 || is_worth_trying(parts); ++parts) {
    const std::int64_t length = core::ceil_div(layers, parts);
    const std::int64_t waves = core::ceil_div(blocks * core::ceil_div(layers, length), at_once);
    const std::int64_t time = 8 * waves * (length + start) + length;  // in eighths: thread blocks differ by so much
    if (parts == 1 || time < least) best = length, least = time;
  }
  return g.is_flat() ? converters::brick_shape{x, lines * best, 1} : converters::brick_shape{x, y, best};
}

/// How many bricks of that shape a grid is cut into.
constexpr std::int64_t num_bricks(const converters::grid& g, const converters::brick_shape& shape) {
  return core::ceil_div(g.x, shape.x) * core::ceil_div(g.y, shape.y) * core::ceil_div(g.z, shape.z);
}

/// Throws error{invalid_argument} for options that no matrix of so many rows can have.
void check_bricks(std::int64_t rows, const bricks_options& options);

/// How the stream that becomes bricks is cut and ordered: no piece has more than max_piece_for(slots) entries, and rows
/// keep their order (or that of the grid's bricks), but for empty ones.
row_stream_options stream_for_bricks(const bricks_options& options);

/// Throws error{invalid_argument | size_overflow | out_of_memory}. `stream` was made by stream_for_bricks().
template <value T>
bricks_matrix<T> to_bricks(const row_stream<T>& stream, const bricks_options& options);

/// Bricks on a GPU.
template <value T>
struct device_bricks {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t slots = 0;
  std::int64_t num_partial_bricks = 0;
  core::device_buffer<std::int32_t> first_layer;
  core::device_buffer<brick_layer> layers;
  core::device_buffer<brick_row> brick_rows;
  core::device_buffer<brick_fetch> fetches;
  core::device_buffer<std::uint16_t> entry_slots;
  core::device_buffer<T> values;
  core::device_buffer<row_piece> pieces;
  core::device_buffer<std::int32_t> heavy_ptr;

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(first_layer.bytes() + layers.bytes() + brick_rows.bytes() + fetches.bytes() +
                                     entry_slots.bytes() + values.bytes() + pieces.bytes() + heavy_ptr.bytes());
  }
};

/// The same bricks, made on the GPU: bit-equal to the host's. Work on the default stream, complete on return,
/// error{no_device} in a build without CUDA.
template <value T>
device_bricks<T> to_bricks_on_device(int device, const device_row_stream<T>& stream, const bricks_options& options);

/// Returns when the copy is done.
template <value T>
device_bricks<T> upload(int device, const bricks_matrix<T>& a) {
  return {a.rows,
          a.cols,
          a.nnz,
          a.slots,
          a.num_partial_bricks,
          {device, std::span<const std::int32_t>(a.first_layer)},
          {device, std::span<const brick_layer>(a.layers)},
          {device, std::span<const brick_row>(a.brick_rows)},
          {device, std::span<const brick_fetch>(a.fetches)},
          {device, std::span<const std::uint16_t>(a.entry_slots)},
          {device, std::span<const T>(a.values)},
          {device, std::span<const row_piece>(a.pieces)},
          {device, std::span<const std::int32_t>(a.heavy_ptr)}};
}

}  // namespace bcsc::forms
