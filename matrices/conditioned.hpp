#pragma once

#include <cstdint>

#include "bcsc/formats.hpp"

/// Operators with eigenvalues by choice, each entry in O(1). rows >= 1, condition in [1, 2^40]; the same parameters
/// give both the same eigenvalues, those of spd(): 1, `condition` (to a multiple of 2^-10), and others between.
/// Throw error{invalid_argument | size_overflow | out_of_memory}.
namespace bcsc::generate {

/// The eigenvalues on the diagonal, in no order. `whole`: all rows^2 entries are stored, zeros too.
template <value T>
csr_matrix<T> diagonal(std::int64_t rows, double condition, std::uint64_t seed, bool whole);

/// H D H of that diagonal D and a random reflection H = I - 2 v v' / v'v: rows^2 entries, symmetric to the last bit,
/// each within two roundings of the exact one.
template <value T>
csr_matrix<T> householder(std::int64_t rows, double condition, std::uint64_t seed);

}  // namespace bcsc::generate
