#pragma once

#include "bcsc/formats.hpp"
#include "bcsc/plan.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/output.hpp"

namespace bcsc::cli {

/// How a product with `cols` columns would be computed on this context: the plan's own answer, in the words that `spmm`
/// uses.
template <number T>
void report_advice(const context& ctx, const csr_matrix<T>& a, std::int64_t cols, output& out);

}  // namespace bcsc::cli
