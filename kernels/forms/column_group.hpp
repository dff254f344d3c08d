#pragma once

#include <cstdint>

namespace bcsc::forms {

/// A group of columns of a row block: which parts it has a tile for (bit p: the p-th part of the row block); the tiles
/// follow each other from first_tile on.
struct alignas(8) column_group {
  std::int32_t first_tile;
  std::uint32_t parts;
};

}  // namespace bcsc::forms
