#pragma once

#include <cstdint>

namespace bcsc::core {
enum class cpu_isa : int;
}

/// What the CPU's operations on blocks (block_ops.hpp) do with a range of rows, on the caller's thread.
namespace bcsc::kernels::vector {

/// Rows of a row-major block, `ld` apart.
template <class T>
struct row_range {
  T* at = nullptr;
  std::int64_t ld = 0, cols = 0;
};

template <class T>
struct row_operations {
  /// sums = X' diag(d) Y over n rows: d [n], or null: all ones; sums [k x l].
  void (*gram)(std::int64_t n, row_range<const T> x, const T* d, row_range<const T> y, double* sums);
  /// Y = diag(d) X S + Z R + beta Y for n rows: s [k x l], r [m x l]; Z may have no columns, and Y shares no element
  /// with X and Z.
  void (*combine)(std::int64_t n, row_range<const T> x, const T* d, const double* s, row_range<const T> z,
                  const double* r, double beta, row_range<T> y);
};

/// Those compiled for an instruction set, which the machine must have. One that this build does not hold (AVX on
/// another architecture) gives the baseline's. For T = float and double.
template <class T>
const row_operations<T>& rows_for(core::cpu_isa isa);

}  // namespace bcsc::kernels::vector
