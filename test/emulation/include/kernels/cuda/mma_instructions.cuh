#pragma once

#include <cuda_runtime.h>

#include <iterator>

/// Stands in for kernels/cuda/mma_instructions.cuh on the emulated GPU. The lanes' MMA tiles are gathered into matrices
/// by the layouts that the PTX ISA gives ("Matrix Fragments for mma"), multiplied, and dealt out again. Sums are taken
/// in double and rounded once; the hardware's order and rounding are its own, so only exact sums agree to the bit.
namespace bcsc::kernels::cuda {

namespace detail {

/// One lane's part of a product, in elements of A and B as double.
template <class T, int SizeA, int SizeB, int SizeC>
struct fragments {
  double a[SizeA], b[SizeB];
  T c[SizeC];
};

struct position_in_matrix {
  int row, col;
};

/// What a shape is, and which elements lane `lane` holds; g and t as the PTX ISA's groupID and threadID_in_group.
template <class T>
struct shape_m16n8k8 {
  static constexpr int m = 16, n = 8, k = 8;
  using lane_part = fragments<T, 4, 2, 4>;
  static position_in_matrix of_a(int lane, int i) {
    const int g = lane / 4, t = lane % 4;
    return {i % 2 == 0 ? g : g + 8, i < 2 ? t : t + 4};
  }
  static position_in_matrix of_b(int lane, int i) { return {lane % 4 + 4 * i, lane / 4}; }
  static position_in_matrix of_c(int lane, int i) { return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + i % 2}; }
};

struct shape_m16n8k8_pairs {
  static constexpr int m = 16, n = 8, k = 8;
  using lane_part = fragments<float, 4, 2, 4>;
  static position_in_matrix of_a(int lane, int i) { return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + i % 2}; }
  static position_in_matrix of_b(int lane, int i) { return {lane % 4 * 2 + i, lane / 4}; }
  static position_in_matrix of_c(int lane, int i) { return shape_m16n8k8<float>::of_c(lane, i); }
};

struct shape_m16n8k16 {
  static constexpr int m = 16, n = 8, k = 16;
  using lane_part = fragments<float, 8, 4, 4>;
  static position_in_matrix of_a(int lane, int i) {
    const int g = lane / 4, t = lane % 4;
    return {i < 2 || (i >= 4 && i < 6) ? g : g + 8, i < 4 ? t * 2 + i % 2 : t * 2 + i % 2 + 8};
  }
  static position_in_matrix of_b(int lane, int i) {
    const int t = lane % 4;
    return {i < 2 ? t * 2 + i % 2 : t * 2 + i % 2 + 8, lane / 4};
  }
  static position_in_matrix of_c(int lane, int i) { return shape_m16n8k8<float>::of_c(lane, i); }
};

struct shape_m8n8k4 {
  static constexpr int m = 8, n = 8, k = 4;
  using lane_part = fragments<double, 1, 1, 2>;
  static position_in_matrix of_a(int lane, int) { return {lane / 4, lane % 4}; }
  static position_in_matrix of_b(int lane, int) { return {lane % 4, lane / 4}; }
  static position_in_matrix of_c(int lane, int i) { return {lane / 4, lane % 4 * 2 + i}; }
};

template <class Shape>
BCSC_NOT_WATCHED const char* perform_mma(void* const* operands, unsigned lanes) {
  if (lanes != 0xffffffffu) return "a product of matrices without all 32 lanes";
  using part = typename Shape::lane_part;
  double a[Shape::m][Shape::k], b[Shape::k][Shape::n];
  for (int lane = 0; lane < 32; ++lane) {
    const part& from = *static_cast<const part*>(operands[lane]);
    for (int i = 0; i < static_cast<int>(std::size(from.a)); ++i) {
      a[Shape::of_a(lane, i).row][Shape::of_a(lane, i).col] = from.a[i];
    }
    for (int i = 0; i < static_cast<int>(std::size(from.b)); ++i) {
      b[Shape::of_b(lane, i).row][Shape::of_b(lane, i).col] = from.b[i];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    part& to = *static_cast<part*>(operands[lane]);
    for (int i = 0; i < static_cast<int>(std::size(to.c)); ++i) {
      const auto [row, col] = Shape::of_c(lane, i);
      double sum = static_cast<double>(to.c[i]);
      for (int k = 0; k < Shape::k; ++k) sum += a[row][k] * b[k][col];
      to.c[i] = static_cast<std::remove_reference_t<decltype(to.c[i])>>(sum);
    }
  }
  return nullptr;
}

template <class Shape>
void multiply(typename Shape::lane_part& part, const char* name, emulation::source_line where) {
  emulation::meet_in_warp(0xffffffffu, &perform_mma<Shape>, &part, name, 0, false, where);
}

inline double tf32_value(unsigned bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

inline double bf16_value(unsigned bits) { return std::bit_cast<float>(bits << 16); }

inline double f16_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31u);
  const int mantissa = static_cast<int>(bits & 1023u);
  const double size = exponent == 31  ? (mantissa != 0 ? NAN : HUGE_VAL)
                      : exponent == 0 ? ldexp(mantissa, -24)
                                      : ldexp(1024 + mantissa, exponent - 25);
  return (bits >> 15 & 1u) != 0 ? -size : size;
}

template <double (*Value)(unsigned), class Shape, int SizeA, int SizeB>
void multiply_pairs(float (&c)[4], const unsigned (&a)[SizeA], const unsigned (&b)[SizeB], const char* name,
                    emulation::source_line where) {
  typename Shape::lane_part part;
  for (int i = 0; i < 2 * SizeA; ++i) part.a[i] = Value(a[i / 2] >> (i % 2 * 16) & 0xffffu);
  for (int i = 0; i < 2 * SizeB; ++i) part.b[i] = Value(b[i / 2] >> (i % 2 * 16) & 0xffffu);
  for (int i = 0; i < 4; ++i) part.c[i] = c[i];
  multiply<Shape>(part, name, where);
  for (int i = 0; i < 4; ++i) c[i] = part.c[i];
}

}  // namespace detail

inline unsigned round_to_tf32(float value) {
  const auto bits = std::bit_cast<unsigned>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;  // infinite or NaN
  return (bits + 0x1000u) & 0xffffe000u;
}

inline void mma_m16n8k8_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                             emulation::source_line where = emulation::source_line::current()) {
  detail::shape_m16n8k8<float>::lane_part part;
  for (int i = 0; i < 4; ++i) part.a[i] = detail::tf32_value(a[i]);
  for (int i = 0; i < 2; ++i) part.b[i] = detail::tf32_value(b[i]);
  for (int i = 0; i < 4; ++i) part.c[i] = c[i];
  detail::multiply<detail::shape_m16n8k8<float>>(part, "mma_m16n8k8_tf32", where);
  for (int i = 0; i < 4; ++i) c[i] = part.c[i];
}

inline void mma_m16n8k16_f16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                             emulation::source_line where = emulation::source_line::current()) {
  detail::multiply_pairs<&detail::f16_value, detail::shape_m16n8k16>(c, a, b, "mma_m16n8k16_f16", where);
}

inline void mma_m16n8k16_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                              emulation::source_line where = emulation::source_line::current()) {
  detail::multiply_pairs<&detail::bf16_value, detail::shape_m16n8k16>(c, a, b, "mma_m16n8k16_bf16", where);
}

inline void mma_m16n8k8_f16(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1],
                            emulation::source_line where = emulation::source_line::current()) {
  detail::multiply_pairs<&detail::f16_value, detail::shape_m16n8k8_pairs>(c, a, b, "mma_m16n8k8_f16", where);
}

inline void mma_m16n8k8_bf16(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1],
                             emulation::source_line where = emulation::source_line::current()) {
  detail::multiply_pairs<&detail::bf16_value, detail::shape_m16n8k8_pairs>(c, a, b, "mma_m16n8k8_bf16", where);
}

inline void mma_m8n8k4_f64(double (&c)[2], double a, double b,
                           emulation::source_line where = emulation::source_line::current()) {
  detail::shape_m8n8k4::lane_part part{{a}, {b}, {c[0], c[1]}};
  detail::multiply<detail::shape_m8n8k4>(part, "mma_m8n8k4_f64", where);
  c[0] = part.c[0];
  c[1] = part.c[1];
}

inline void mma_m16n8k8_f64(double (&c)[4], const double (&a)[4], const double (&b)[2],
                            emulation::source_line where = emulation::source_line::current()) {
  detail::shape_m16n8k8<double>::lane_part part{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {c[0], c[1], c[2], c[3]}};
  detail::multiply<detail::shape_m16n8k8<double>>(part, "mma_m16n8k8_f64", where);
  for (int i = 0; i < 4; ++i) c[i] = part.c[i];
}

}  // namespace bcsc::kernels::cuda
