#pragma once

#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/forms/bricks/bricks.hpp"
#include "kernels/forms/storing.hpp"
#include "test/support/battery.hpp"
#include "test/support/uneven_rows.hpp"

/// What bricks are made of, on the host, on a GPU and on the emulated one.
namespace bcsc::test {

struct brick_case {
  std::string name;
  sparse_case matrix;
  forms::bricks_options options;
};

/// What make_bricks() is asked for such bricks: all but their shape.
inline forms::storing stored_on(int device, const forms::bricks_options& options) {
  forms::storing how;
  how.form = kernels::operand_form::bricks;
  how.cols = 70;
  how.tile_cols = 32;
  how.thread_blocks = 4;
  how.columns_at_once = static_cast<int>(options.slots);
  how.device = device;
  how.bricks = options.grid;
  return how;
}
/// With the shape that it finds.
inline forms::bricks_options as_stored(forms::bricks_options options) {
  options.shape = {};
  if (options.grid.exists()) options.shape = forms::brick_for(options.grid, 4, 3);
  return options;
}

/// Each node of a grid reads those around it: at most one step away along each axis, along `axes` of them at once.
/// `beyond` more rows read their own columns and the first; nodes in `without` read nothing, those in `heavy` all
/// columns.
inline sparse_case stencil(const converters::grid& g, int axes, std::int64_t beyond = 0,
                           const std::set<std::int64_t>& without = {}, const std::set<std::int64_t>& heavy = {},
                           values kind = values::real) {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  const std::int64_t size = g.rows() + beyond;
  std::int64_t row = 0;
  for (std::int64_t k = 0; k < g.z; ++k) {
    for (std::int64_t j = 0; j < g.y; ++j) {
      for (std::int64_t i = 0; i < g.x; ++i, ++row) {
        if (without.contains(row)) continue;
        for (int d = 0; d < 27; ++d) {
          const int dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
          const std::int64_t x = i + dx, y = j + dy, z = k + dz;
          if (std::abs(dx) + std::abs(dy) + std::abs(dz) > axes) continue;
          if (x < 0 || x >= g.x || y < 0 || y >= g.y || z < 0 || z >= g.z) continue;
          positions.insert({row, x + g.x * (y + g.y * z)});
        }
        if (heavy.contains(row)) {
          for (std::int64_t column = 0; column < size; ++column) positions.insert({row, column});
        }
      }
    }
  }
  for (; row < size; ++row) positions.insert({{row, row}, {row, 0}});
  return make_case("stencil", size, size, positions, kind, 11);
}

/// Grids whose sides are no multiples of a brick's, with layers of many heights, and what breaks their order.
inline std::vector<brick_case> grids_in_bricks() {
  const auto on = [](std::int64_t slots, const converters::grid& g, const converters::brick_shape& shape = {}) {
    return forms::bricks_options{.slots = slots, .grid = g, .shape = shape};
  };
  const converters::grid cube{9, 7, 6}, whole{16, 8, 4}, flat{37, 13, 1}, thin{3, 2, 11}, line{150, 1, 1};
  const converters::brick_shape box{8, 8, 3}, rectangle{32, 8, 1};
  std::vector<brick_case> all;
  for (const std::int64_t slots : {40, 80, 160, 240, 320}) {
    all.push_back({"7_point_" + std::to_string(slots), stencil(cube, 1), on(slots, cube, box)});
    all.push_back({"5_point_" + std::to_string(slots), stencil(flat, 1), on(slots, flat, rectangle)});
  }
  all.push_back({"7_point_usual_shape", stencil(cube, 1), on(160, cube)});
  all.push_back({"5_point_usual_shape", stencil(flat, 1), on(160, flat)});
  all.push_back({"7_point_odd_shape", stencil(cube, 1), on(160, cube, {5, 3, 4})});
  all.push_back({"7_point_one_brick", stencil(cube, 1), on(320, cube, {100, 100, 100})});
  all.push_back({"7_point_nodes", stencil(cube, 1), on(320, cube, {1, 1, 1})});
  all.push_back({"7_point_whole", stencil(whole, 1), on(320, whole, {8, 8, 4})});
  all.push_back({"27_point", stencil(cube, 3), on(320, cube, box)});
  all.push_back({"27_point_roomy", stencil(cube, 3), on(1280, cube, box)});
  all.push_back({"9_point", stencil(flat, 2), on(320, flat, rectangle)});
  all.push_back({"thin", stencil(thin, 1), on(320, thin, box)});
  all.push_back({"line", stencil(line, 1), on(40, line, rectangle)});
  all.push_back({"rows_beyond", stencil(cube, 1, 150), on(320, cube, box)});
  all.push_back({"one_row_beyond", stencil(flat, 1, 1), on(320, flat, rectangle)});
  all.push_back({"empty_rows", stencil(cube, 1, 70, {0, 1, 2, 77, 200, 376, 377}), on(320, cube, box)});
  all.push_back({"heavy_rows", stencil(cube, 1, 5, {4, 100}, {0, 50, 377}), on(200, cube, box)});
  all.push_back({"no_grid", stencil({9, 7, 11}, 1, 3), on(320, {})});
  all.push_back({"no_grid_heavy", stencil({9, 7, 11}, 1, 3, {4}, {0, 500}), on(320, {})});
  return all;
}

inline std::vector<brick_case> brick_cases() {
  std::vector<brick_case> all = grids_in_bricks();
  for (const std::int64_t slots : {40, 320, 1280}) {
    for (sparse_case& c : battery(values::real)) {
      all.push_back({c.name + "_" + std::to_string(slots), std::move(c), {.slots = slots}});
    }
    for (sparse_case& c : uneven_rows()) {
      all.push_back({c.name + "_" + std::to_string(slots), std::move(c), {.slots = slots}});
    }
  }
  for (brick_case& c : all) c.name = "m" + c.name;
  return all;
}

}  // namespace bcsc::test
