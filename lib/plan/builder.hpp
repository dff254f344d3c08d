#pragma once

#include <cstdint>
#include <functional>
#include <variant>

#include "bcsc/formats.hpp"
#include "kernels/forms/stored_matrix.hpp"
#include "lib/plan/recipe.hpp"

/// From the user's matrix to the stored one:
///
///     view -> canonical CSR -> statistics -> choice -> A in the form that the kernel reads, where it computes
namespace bcsc::plan {

/// A as the user gives it.
template <number T>
using source = std::variant<csr_view<T, std::int32_t>, csr_view<T, std::int64_t>, bcsc_view<T, std::int32_t>,
                            bcsc_view<T, std::int64_t>>;

/// Decides what `how` leaves open (kernel, m_block, order and boundaries of the rows), and stores A accordingly.
/// Complete on return.
template <number T>
forms::stored_matrix<T> build(recipe& how, const source<T>& a);

/// New values, stored as `how` says. Throws error{pattern_mismatch} where that cannot be; whether the pattern is the
/// same is left to the caller.
template <number T>
forms::stored_matrix<T> rebuild(const recipe& how, const source<T>& a);

[[noreturn]] void fail_pattern();

/// Runs `body`, which makes a plan or part of one, with the context's threads and memory pool. What it allocated may be
/// used on any stream afterwards.
void guard_making(const recipe& how, const std::function<void()>& body);

}  // namespace bcsc::plan
