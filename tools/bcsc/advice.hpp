#pragma once

#include "bcsc/formats.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// What to store the matrix as, and what else would help, for products with `cols` columns.
template <value T>
void report_advice(const csr_matrix<T>& a, std::int64_t cols, output& out);

}  // namespace bcsc::cli
