#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "test/emulation/emulated_product.hpp"
#include "test/support/battery.hpp"
#include "test/support/cpu_stored.hpp"
#include "test/support/operands.hpp"
#include "test/support/thread_counts.hpp"

/// Launches one of the CPU's kernels by hand.
namespace bcsc::test {

/// A product, and how A is stored for it.
struct cpu_setting {
  kernels::operand_form form = kernels::operand_form::compact;
  std::int64_t n = 1, m_block = 1;
  placement for_b = {}, for_c = {};
  double alpha = 1, beta = 0;
  core::team who = {};
  bool own_heights = false, permuted = false, scattered = false, scalars_in_memory = false;
};

inline std::string words(const cpu_setting& s) {
  return "N = " + std::to_string(s.n) + ", m_block " + std::to_string(s.m_block) + (s.own_heights ? " at most" : "") +
         (s.permuted ? ", permuted" : "") + ", B + " + std::to_string(s.for_b.offset) + " ld + " +
         std::to_string(s.for_b.padding) + ", C " + std::string(to_string(s.for_c.order)) + " + " +
         std::to_string(s.for_c.offset) + " ld + " + std::to_string(s.for_c.padding) + ", alpha " +
         std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) + ", " + words(s.who);
}

/// A as the kernels take it.
template <class T, class I>
cpu_stored<T, I> cpu_operand(const sparse_case& a, const cpu_setting& s) {
  const auto row_of = s.permuted ? permutation<std::int64_t>(a.rows) : std::vector<std::int64_t>{};
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, s.m_block) : std::vector<std::int64_t>{};
  return {s.form,
          csr_of<T, I>(s.permuted ? with_rows(a, row_of) : a),
          {.m_block = s.m_block, .boundaries = boundaries},
          row_of};
}

/// C as the kernel leaves it. Fails if the launch does.
template <class T, class I>
dense_table<T> run_on_cpu(kernels::launch_fn launch, const cpu_stored<T, I>& a, const cpu_setting& s,
                          const dense_table<T>& b, const dense_table<T>& c0) {
  operand<T> on_b(context::cpu(1), b, s.for_b), on_c(context::cpu(1), c0, s.for_c);
  const auto b_view = on_b.view(), c_view = on_c.view();
  using scalar = scalar_of<T>;
  constexpr scalar nan = std::numeric_limits<scalar>::quiet_NaN();
  const auto alpha = static_cast<scalar>(s.alpha), beta = static_cast<scalar>(s.beta);
  const bool at = s.scalars_in_memory;
  const forms::dense_side<T> dense{.b = b_view.data,
                                   .ldb = b_view.ld,
                                   .b_col_stride = 1,
                                   .b_readable_cols = s.n,
                                   .n = s.n,
                                   .c = c_view.data,
                                   .c_row_stride = c_view.row_stride(),
                                   .c_col_stride = c_view.col_stride(),
                                   .alpha = at ? nan : alpha,
                                   .beta = at ? nan : beta,
                                   .alpha_at = at ? &alpha : nullptr,
                                   .beta_at = at ? &beta : nullptr,
                                   .partials = nullptr};
  EXPECT_EQ(a.launch(launch, dense, {s.who, nullptr, 0}, s.scattered), 0);
  return on_c.read();
}

}  // namespace bcsc::test
