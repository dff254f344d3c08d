#pragma once

#include <cstdint>

#include "converters/formats/grid.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/bricks/cut.hpp"
#include "kernels/forms/bricks/layout.hpp"
#include "kernels/forms/row_stream/layout.hpp"

/// The device's steps from the stream of row pieces to bricks, named without any CUDA header.
namespace bcsc::forms::steps {

/// What is cut, and how; device pointers.
struct bricks_job {
  std::int64_t num_pieces = 0, num_partials = 0;
  const row_piece* pieces = nullptr;  ///< [num_pieces + 1]
  const void* pairs = nullptr;        ///< of entry_pair, of float or double
  int value_bytes = 4;
  int slots = 0;
  converters::grid grid = {};
  converters::brick_shape shape = {};
};

/// Where each brick lies.
struct planned_bricks {
  std::int64_t num_long_pieces = 0;  ///< that no layer may hold: if there are any, nothing is planned
  std::int64_t num_bricks = 0;       ///< what follows is there if that is not 0
  brick_place end = {};
  core::device_buffer<std::uint32_t> first_piece;  ///< [num_bricks + 1]
  core::device_buffer<brick_plan> plans;           ///< [num_bricks]
  core::device_buffer<brick_place> before;         ///< [num_bricks + 1]
};

/// Waits twice, for the number of bricks and for the sizes.
planned_bricks plan_bricks(int device, const bricks_job& job);

/// Where they go; device pointers to zeros.
struct bricks_arrays {
  std::int32_t* first_layer = nullptr;
  brick_layer* layers = nullptr;
  brick_row* brick_rows = nullptr;
  brick_fetch* fetches = nullptr;
  std::uint16_t* entry_slots = nullptr;
  void* values = nullptr;
};
/// Writes all but padding. Does not wait.
void fill_bricks(const bricks_job& job, const planned_bricks& planned, const bricks_arrays& to);

}  // namespace bcsc::forms::steps
