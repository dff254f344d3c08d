#pragma once

#include "bcsc/types.hpp"

namespace bcsc::bench {

/// Starts *quotient = *dividend / *divisor, *negative = -*quotient and *kept = *dividend on the device: what cuBLAS has
/// no function for between two vector operations of conjugate gradients. A launch that fails is CUDA's last error.
void start_quotient(const double* dividend, const double* divisor, double* quotient, double* negative, double* kept,
                    cuda_stream stream);

}  // namespace bcsc::bench
