#pragma once

#include <gtest/gtest.h>

#include <string>

#include "bcsc/error.hpp"
#include "bcsc/lobpcg.hpp"

namespace bcsc::test {

/// Empty where LAPACK can be loaded, else what the library says is missing.
inline std::string why_no_eigenvalues() {
  const linear_operator<double> nothing(context::cpu(1), 1, 1,
                                        [](scalar<double>, dense_view<const double>, scalar<double>,
                                           dense_view<double> y, const apply_options&) { y(0, 0) = 0; });
  dense_matrix<double> x(1, 1);
  try {
    solve_lobpcg(nothing, x.view());
  } catch (const error& refused) {
    if (refused.code() == errc::unsupported) return refused.what();
    throw;
  }
  return {};
}

}  // namespace bcsc::test

#define BCSC_SKIP_WITHOUT_LAPACK() \
  if (const std::string why = bcsc::test::why_no_eigenvalues(); !why.empty()) GTEST_SKIP() << why
