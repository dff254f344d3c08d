#pragma once

#include <cstdint>

#include "kernels/forms/product_args.hpp"
#include "kernels/forms/row_slices/layout.hpp"

namespace bcsc::kernels {

/// A as the CPU kernel for one column reads it. Every row is a lane of exactly one slice, or one of its own.
template <class T>
struct row_slices_operand {
  std::int64_t rows, cols;
  std::int64_t num_slices;
  const forms::row_slice* slices;  ///< [num_slices + 1]; the last has no steps and ends the one before it
  const std::uint16_t* masks;      ///< [steps]
  const T* values;                 ///< [steps][slice_lanes]
  const std::int32_t* columns;     ///< of a diagonal whose first lanes are masked it may be negative
  const std::int32_t* listed;      ///< rows of the lanes of listed slices
  const std::int32_t* row_of;      ///< the row of C that row m of A is; null: m
};

template <class T>
using row_slices_args = product_args<T, row_slices_operand<T>>;

}  // namespace bcsc::kernels
