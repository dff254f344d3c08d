#pragma once

#include <cstdint>

/// Eigenvalues by choice: multiples of 2^-10 from 1 to a condition number, so that integers hold them.
namespace bcsc::generate {

constexpr int grid_bits = 10;
constexpr std::int64_t one = std::int64_t{1} << grid_bits;  ///< the eigenvalue 1 in grid units

/// The condition in grid units. Throws error{invalid_argument} outside of [1, 2^40], or above 1 of a single row, and
/// error{size_overflow} for more rows than an index counts.
std::int64_t largest_eigenvalue(std::int64_t rows, double condition);

/// Eigenvalue `k` in grid units: the first two are the extreme ones, the others fill the octaves between them evenly.
std::int64_t eigenvalue(std::int64_t k, std::int64_t largest, std::uint64_t seed);

}  // namespace bcsc::generate
