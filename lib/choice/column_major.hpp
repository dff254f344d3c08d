#pragma once

#include <cstdint>

#include "lib/choice/choice.hpp"

/// What column-major operands cost kernels that read B and write C row-major, on a GPU.
namespace bcsc::choice {

/// Of `rows` rows of B or C.
double megabytes(const problem& p, std::int64_t rows);

/// Whether C of N = p.cols, column-major as B is, should be computed row-major in the workspace and transposed at the
/// end, as many columns at a time as the workspace holds.
bool turns_c(const problem& p, const kernel_info& kernel);

/// Making B row-major, and turning C or writing it as it lies; in seconds, 0 where B is row-major.
double packing_seconds(const problem& p, const kernel_info& kernel);

}  // namespace bcsc::choice
