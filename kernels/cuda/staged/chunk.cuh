#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/global_load.cuh"
#include "kernels/forms/mma_tiles/operand.hpp"

/// Rows of B that do not begin at multiples of 16 bytes, or end in the middle of them.
namespace bcsc::kernels::cuda {

/// Values of B, at most 16 bytes of them, to whose alignment its address and all its rows keep.
template <class T>
int copied_at_once(const mma_tiles_args<T>& spmm) {
  int width = 16 / static_cast<int>(sizeof(T));
  const auto fits = [&] {
    return reinterpret_cast<std::uintptr_t>(spmm.b) % (static_cast<unsigned>(width) * sizeof(T)) == 0 &&
           spmm.ldb % width == 0 && spmm.batch.b % width == 0;
  };
  while (!fits()) width /= 2;
  return width;
}

/// Starts the copy of 16 bytes, `width` values at once: the first `left`, and zeros for the others. Where there are
/// none, nothing is read, but `any` has to be an address.
template <class T>
__device__ void copy_chunk(T* to, const T* from, int left, int width, const T* any) {
  constexpr int size = static_cast<int>(sizeof(T));
#pragma unroll 1
  for (int v = 0; v < 16 / size; v += width, left -= width) {
    const T* const part = left <= 0 ? any : from + v;
    const int present = left <= 0 ? 0 : left < width ? left * size : width * size;
    if (width * size == 16) {
      copy_async<16>(to + v, part, present);
    } else if (width * size == 8) {
      copy_async<8>(to + v, part, present);
    } else if (width * size == 4) {
      copy_async<4>(to + v, part, present);
    } else if constexpr (size == 2) {  // nothing so small is copied without a register
      to[v].bits = present > 0 ? load_global(&part->bits) : std::uint16_t{0};
    }
  }
}

}  // namespace bcsc::kernels::cuda
