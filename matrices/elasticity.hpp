#pragma once

#include <cstdint>

#include "bcsc/dense.hpp"

namespace bcsc::generate {

/// nodes x 3: the free nodes of elasticity(nx, ny, nz) in the order of its rows. Throws what that throws.
dense_matrix<double> elasticity_coordinates(std::int64_t nx, std::int64_t ny, std::int64_t nz);

}  // namespace bcsc::generate
