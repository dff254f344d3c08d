#pragma once

#include <cuda_runtime.h>

/// The tensor cores (mma.sync, sm_80 and later): C += A * B, one product for a whole warp, whose 32 lanes all take
/// part. test/emulation/include holds a header of this name with the same functions for the emulated GPU.
///
/// Which elements a lane holds (PTX ISA, "Matrix Fragments for mma"), with group = lane / 4 and t = lane % 4:
///
///   m16n8k8 tf32           A 16 x 8    a[0] (group, t)   a[1] (group + 8, t)   a[2] (group, t + 4)
///                                      a[3] (group + 8, t + 4)
///                          B 8 x 8     b[0] (t, group)   b[1] (t + 4, group)
///   m16n8k16 f16, bf16     A 16 x 16   a[0] (group, 2t)   a[1] (group + 8, 2t)   a[2] (group, 2t + 8)
///     two in a register,               a[3] (group + 8, 2t + 8), each with its right neighbour in the upper half
///     the lower half first B 16 x 8    b[0] (2t, group)   b[1] (2t + 8, group), each with the one below in the upper
///   m16n8k8 f16, bf16      A 16 x 8    a[0] (group, 2t)   a[1] (group + 8, 2t), likewise
///                          B 8 x 8     b[0] (2t, group), likewise
///   all of these           C 16 x 8    c[0] (group, 2t)   c[1] (group, 2t + 1)   c[2] (group + 8, 2t)
///                                      c[3] (group + 8, 2t + 1)
///   m16n8k8 f64            as m16n8k8 tf32
///   m8n8k4 f64             A 8 x 4     a (group, t)
///                          B 4 x 8     b (t, group)
///                          C 8 x 8     c[0] (group, 2t)   c[1] (group, 2t + 1)
namespace bcsc::kernels::cuda {

/// The value of 10 bits of mantissa nearest to `value` (ties away from zero), as the bits that mma_m16n8k8_tf32 takes.
__device__ inline unsigned round_to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

/// A and B are the bits of floats, of which the unit does not read the last 13 bits of the mantissa: bits not rounded
/// before are truncated.
__device__ inline void mma_m16n8k8_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_m16n8k16_f16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_m16n8k16_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_m16n8k8_f16(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

__device__ inline void mma_m16n8k8_bf16(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

__device__ inline void mma_m8n8k4_f64(double (&c)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}

/// One instruction from sm_90 on, four of the smaller ones before.
__device__ inline void mma_m16n8k8_f64(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  double upper[2] = {c[0], c[1]}, lower[2] = {c[2], c[3]};
  for (int k = 0; k < 2; ++k) {
    mma_m8n8k4_f64(upper, a[2 * k], b[k]);
    mma_m8n8k4_f64(lower, a[2 * k + 1], b[k]);
  }
  c[0] = upper[0];
  c[1] = upper[1];
  c[2] = lower[0];
  c[3] = lower[1];
#endif
}

}  // namespace bcsc::kernels::cuda
