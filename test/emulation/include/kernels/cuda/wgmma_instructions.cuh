#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"
#include "kernels/cuda/mma_instructions.cuh"

/// Stands in for kernels/cuda/wgmma_instructions.cuh on the emulated GPU: each warp's rows are multiplied when the
/// product is asked for. Nothing shows whether a kernel waits for its products.
namespace bcsc::kernels::cuda {

class wgmma_tiles {
 public:
  wgmma_tiles(const void* first, int k_bytes, int column_bytes)
      : first_(static_cast<const unsigned char*>(first)), k_bytes_(k_bytes), column_bytes_(column_bytes) {}
  friend wgmma_tiles operator+(wgmma_tiles at, int bytes) {
    at.first_ += bytes;
    return at;
  }
  /// Bytes of column n that begin at piece `piece` of k: 16 of them.
  const unsigned char* piece(int n, int piece) const {
    return first_ + n / 8 * column_bytes_ + piece * k_bytes_ + n % 8 * 16;
  }

 private:
  const unsigned char* first_;
  int k_bytes_, column_bytes_;
};

template <int>
void take_registers() {}
template <int>
void leave_registers() {}
inline void show_to_tensor_cores() {}
inline void settle_operand(unsigned (&)[4]) {}
inline void begin_products() {}
inline void end_products() {}
inline void wait_for_products() {}
template <int Parts>
void take_products(float (&)[Parts][4]) {}

namespace detail {

inline double wgmma_value(float, const unsigned char* piece, int k) {
  unsigned bits;
  std::memcpy(&bits, piece + 4 * k, sizeof(bits));
  return tf32_value(bits);
}
template <class T>
double wgmma_value(T, const unsigned char* piece, int k) {
  std::uint16_t bits;
  std::memcpy(&bits, piece + 2 * k, sizeof(bits));
  return sizeof(T) == 2 && std::is_same_v<T, half> ? f16_value(bits) : bf16_value(bits);
}

/// One lane's part: of a warp's 16 rows of A, by elements as in mma_instructions.cuh; of D, all parts.
template <int Elements>
struct wgmma_lane {
  double a[Elements];
  float (*d)[4];
  wgmma_tiles b{nullptr, 0, 0};
  bool adds;
};

template <class T, class Shape, int Parts>
BCSC_NOT_WATCHED const char* perform_wgmma(void* const* operands, unsigned lanes) {
  if (lanes != 0xffffffffu) return "a product of a warpgroup without all 32 lanes of a warp";
  constexpr int elements = Shape::m * Shape::k / 32, k_of_piece = 16 / static_cast<int>(sizeof(T));
  using part = wgmma_lane<elements>;
  double a[Shape::m][Shape::k], b[Shape::k][8 * Parts];
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      a[Shape::of_a(lane, i).row][Shape::of_a(lane, i).col] = static_cast<const part*>(operands[lane])->a[i];
    }
  }
  const wgmma_tiles tiles = static_cast<const part*>(operands[0])->b;
  for (int n = 0; n < 8 * Parts; ++n) {
    for (int k = 0; k < Shape::k; ++k) b[k][n] = wgmma_value(T{}, tiles.piece(n, k / k_of_piece), k % k_of_piece);
  }
  for (int lane = 0; lane < 32; ++lane) {
    const part& to = *static_cast<const part*>(operands[lane]);
    for (int i = 0; i < 4 * Parts; ++i) {
      const auto [row, col] = Shape::of_c(lane, i % 4);
      double sum = to.adds ? static_cast<double>(to.d[i / 4][i % 4]) : 0.0;
      for (int k = 0; k < Shape::k; ++k) sum += a[row][k] * b[k][8 * (i / 4) + col];
      to.d[i / 4][i % 4] = static_cast<float>(sum);
    }
  }
  return nullptr;
}

template <class T, class Shape, int Parts>
void multiply_in_warp(float (&d)[Parts][4], wgmma_lane<Shape::m * Shape::k / 32>& part, emulation::source_line where) {
  part.d = d;
  for (int n = 0; n < 8 * Parts; ++n) {  // each lane reads what lanes of its own number modulo 8 own: all that is read
    for (int piece = 0; piece < 2 && n % 32 == static_cast<int>(threadIdx.x) % 32; ++piece) {
      emulation::note_access(part.b.piece(n, piece), 16, emulation::access::read);
    }
  }
  emulation::meet_in_warp(0xffffffffu, &perform_wgmma<T, Shape, Parts>, &part, "multiply_by_warpgroup", 0, false,
                          where);
}

}  // namespace detail

template <int Parts>
void multiply_by_warpgroup(float, float (&d)[Parts][4], const unsigned (&a)[4], wgmma_tiles b, bool adds,
                           emulation::source_line where = emulation::source_line::current()) {
  detail::wgmma_lane<4> part{};
  for (int i = 0; i < 4; ++i) part.a[i] = detail::tf32_value(a[i]);
  part.b = b;
  part.adds = adds;
  detail::multiply_in_warp<float, detail::shape_m16n8k8<float>>(d, part, where);
}

template <narrow_number T, int Parts>
void multiply_by_warpgroup(T, float (&d)[Parts][4], const unsigned (&a)[4], wgmma_tiles b, bool adds,
                           emulation::source_line where = emulation::source_line::current()) {
  constexpr auto value = std::is_same_v<T, half> ? &detail::f16_value : &detail::bf16_value;
  detail::wgmma_lane<8> part{};
  for (int i = 0; i < 8; ++i) part.a[i] = value(a[i / 2] >> (i % 2 * 16) & 0xffffu);
  part.b = b;
  part.adds = adds;
  detail::multiply_in_warp<T, detail::shape_m16n8k16>(d, part, where);
}

}  // namespace bcsc::kernels::cuda
