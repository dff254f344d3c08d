#pragma once

#include <cstdint>

#include "converters/formats/grid.hpp"
#include "kernels/forms/bricks/layout.hpp"
#include "kernels/forms/row_stream/layout.hpp"

/// Where bricks begin, what a layer may hold and how much room it takes: the same for the host and the device.
namespace bcsc::forms {

/// Of the piece that `piece` points to; the next one lies behind it.
constexpr std::int64_t num_entries_of(const row_piece* piece) {
  return 2 * (std::int64_t{piece[1].first_pair} - piece[0].first_pair) - piece[0].row_and_odd % 2;
}

/// Pieces of a brick where there is no grid.
inline constexpr std::int64_t pieces_without_grid = 512;

/// Where bricks begin: with each box of the grid, after so many pieces elsewhere, and with each piece of a heavy row,
/// which has neighbours of its own row only.
struct brick_cut {
  const row_piece* pieces;
  std::int64_t num_partials;
  converters::grid grid;
  converters::brick_shape shape;

  /// Of rows of the grid.
  constexpr bool are_in_one_box(std::int64_t row, std::int64_t other) const {
    return row % grid.x / shape.x == other % grid.x / shape.x &&
           row / grid.x % grid.y / shape.y == other / grid.x % grid.y / shape.y &&
           row / (grid.x * grid.y) / shape.z == other / (grid.x * grid.y) / shape.z;
  }
  /// Whether piece p is the first of a brick.
  constexpr bool begins(std::int64_t p) const {
    if (p <= num_partials) return true;
    const std::int64_t row = pieces[p].row_of_c(), former = pieces[p - 1].row_of_c();
    const bool in_grid = row < grid.rows();
    if (in_grid != (former < grid.rows())) return true;
    return in_grid ? !are_in_one_box(row, former) : (p - num_partials) % pieces_without_grid == 0;
  }
};

/// `shape` {}: the usual one.
constexpr brick_cut brick_cut_of(const row_piece* pieces, std::int64_t num_partials, const converters::grid& grid,
                                 const converters::brick_shape& shape) {
  return {pieces, num_partials, grid, converters::brick_of(grid, shape)};
}

/// Whether a layer may hold this much where the one before it reads `former_cols` rows of B.
constexpr bool layer_fits(int slots, std::int64_t num_entries, std::int64_t num_fetches, std::int64_t former_cols) {
  return num_entries <= max_entries_for(slots) && num_fetches <= max_fetches_for(slots) &&
         former_cols + num_fetches <= slots;
}

/// Where a layer or a brick begins in the arrays, or what it takes of them.
struct brick_place {
  std::int64_t layers, rows, fetches, entries;

  constexpr brick_place operator+(const brick_place& other) const {
    return {layers + other.layers, rows + other.rows, fetches + other.fetches, entries + other.entries};
  }
};

/// What a layer of these sizes takes, padding included.
constexpr brick_place room_of_layer(std::int64_t num_rows, std::int64_t num_fetches, std::int64_t num_entries) {
  const auto whole = [](std::int64_t n, int grain) { return (n + grain - 1) / grain * grain; };
  return {1, whole(num_rows + 1, brick_row_grain), whole(num_fetches, brick_fetch_grain),
          whole(num_entries, brick_entry_grain)};
}

constexpr brick_layer layer_at(const brick_place& place, std::uint32_t sizes) {
  return {static_cast<std::uint32_t>(place.rows), static_cast<std::uint32_t>(place.fetches),
          static_cast<std::uint32_t>(place.entries), sizes};
}

/// What is known of a brick before it is filled.
struct brick_plan {
  std::int64_t layer_rows;  ///< the most pieces of a layer
  brick_place room;
};

/// Throws error{size_overflow} unless 32 bits count what lies before `end`.
void check_brick_places(const brick_place& end);
/// The error of a stream with pieces that no layer may hold: stream_for_bricks() was not asked.
[[noreturn]] void fail_by_long_pieces(std::int64_t slots);

}  // namespace bcsc::forms
