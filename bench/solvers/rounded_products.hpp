#pragma once

#include <cstdint>
#include <string>

#include "bcsc/cg.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/linear_operator.hpp"

/// Products in less precision: by tensor cores on a GPU, on a CPU emulated where it has no such arithmetic.
namespace bcsc::bench {

/// The value of 10 bits of mantissa nearest to `x`, ties away from zero, as cvt.rna.tf32 rounds it.
float to_tf32(float x);

/// A value as a product in `precision` takes it; unlike tf32, tf32x3 loses nothing that fp32 holds.
double rounded(double x, cg_inner precision);

/// Each value so rounded.
csr_matrix<double> rounded_values(const csr_matrix<double>& a, cg_inner precision);

struct rounded_product {
  linear_operator<float> by;
  std::string how;  ///< what was really rounded, and whether it is an emulation
};
/// A v in `precision`, which is not as_given, for k vectors at once. A CPU's TF32: A and v rounded to TF32 (tf32x3:
/// split into two such parts, three products), multiplied and added in fp32; only the order of a tensor core's sums is
/// not emulated.
rounded_product multiplied_in(const context& ctx, const csr_matrix<double>& a, cg_inner precision, std::int64_t k = 1);

/// "3xtf32" for tf32x3, "fp64" for as_given: the field's names.
std::string name_of(cg_inner precision);

}  // namespace bcsc::bench
