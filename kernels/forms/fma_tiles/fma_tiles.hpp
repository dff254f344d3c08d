#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/fma_tiles/layout.hpp"

namespace bcsc::forms {

/// A in FMA tiles, on the host; kernels/forms/fma_tiles/layout.hpp says what they are.
template <value T>
struct fma_tiles_matrix {
  std::int64_t rows = 0, cols = 0;
  std::int64_t height = 1;
  std::vector<fma_block> blocks;     ///< [row blocks + 1]
  std::vector<fma_step> steps;       ///< [steps + spare_fma_steps]
  std::vector<T> tiles;              ///< [(tiles + spare_fma_tiles) * fma_tile_values(height)]
  std::vector<std::uint16_t> masks;  ///< [tiles] bit 4 r + c: an entry in row r, column c

  std::int64_t num_steps() const { return static_cast<std::int64_t>(steps.size()) - spare_fma_steps; }
  std::int64_t num_tiles() const { return static_cast<std::int64_t>(masks.size()); }
};

/// The row blocks are those of `a`, of 2 to 16 rows. Parallel; the result does not depend on the threads. Throws
/// error{invalid_argument | size_overflow | out_of_memory | wrong_memory_space}. `a` is assumed to hold its format's
/// invariants.
template <value T, index I>
fma_tiles_matrix<T> to_fma_tiles(const compact_bcsc_view<T, I>& a);

/// FMA tiles on a GPU.
template <value T>
struct device_fma_tiles {
  std::int64_t rows = 0, cols = 0, height = 1;
  core::device_buffer<fma_block> blocks;
  core::device_buffer<fma_step> steps;
  core::device_buffer<T> tiles;
  core::device_buffer<std::uint16_t> masks;

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(blocks.bytes() + steps.bytes() + tiles.bytes() + masks.bytes());
  }
};

/// Throws error{invalid_argument | size_overflow} for a matrix that FMA tiles cannot hold.
void check_fma_tiles(std::int64_t rows, std::int64_t cols, std::int64_t m_block);

/// The same tiles, made on the GPU: bit-equal to the host's. `a` lies on the device. Work on the default stream,
/// complete on return, error{no_device} in a build without CUDA. Method, memory and errors as to_mma_tiles_on_device().
template <value T>
device_fma_tiles<T> to_fma_tiles_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a);

/// Returns when the copy is done.
template <value T>
device_fma_tiles<T> upload(int device, const fma_tiles_matrix<T>& a) {
  return {a.rows,
          a.cols,
          a.height,
          {device, std::span<const fma_block>(a.blocks)},
          {device, std::span<const fma_step>(a.steps)},
          {device, std::span<const T>(a.tiles)},
          {device, std::span<const std::uint16_t>(a.masks)}};
}

}  // namespace bcsc::forms
