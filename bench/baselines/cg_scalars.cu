#include "bench/baselines/cg_scalars.hpp"

namespace bcsc::bench {

namespace {

__global__ void quotient_kernel(const double* dividend, const double* divisor, double* quotient, double* negative,
                                double* kept) {
  const double value = *dividend / *divisor;
  *quotient = value;
  *negative = -value;
  *kept = *dividend;
}

}  // namespace

void start_quotient(const double* dividend, const double* divisor, double* quotient, double* negative, double* kept,
                    cuda_stream stream) {
  quotient_kernel<<<1, 1, 0, stream>>>(dividend, divisor, quotient, negative, kept);
}

}  // namespace bcsc::bench
