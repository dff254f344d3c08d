#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "bcsc/convert.hpp"
#include "kernels/forms/compact/operand.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"

/// Launches one of the CPU's kernels by hand.
namespace bcsc::test {

/// A product, and how A is stored for it.
struct cpu_setting {
  std::int64_t n = 1, m_block = 1;
  placement for_b = {}, for_c = {};
  double alpha = 1, beta = 0;
  int threads = 1;
  bool own_heights = false, permuted = false, scattered = false, scalars_in_memory = false;
};

inline std::string words(const cpu_setting& s) {
  return "N = " + std::to_string(s.n) + ", m_block " + std::to_string(s.m_block) + (s.own_heights ? " at most" : "") +
         (s.permuted ? ", permuted" : "") + ", B + " + std::to_string(s.for_b.offset) + " ld + " +
         std::to_string(s.for_b.padding) + ", C " + std::string(to_string(s.for_c.order)) + " + " +
         std::to_string(s.for_c.offset) + " ld + " + std::to_string(s.for_c.padding) + ", alpha " +
         std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) + ", threads " + std::to_string(s.threads);
}

/// A as the kernels take it.
template <class T, class I>
struct cpu_operand {
  std::vector<I> row_of;  ///< empty: rows are where they were
  compact_bcsc_matrix<T, I> matrix;

  cpu_operand(const sparse_case& a, const cpu_setting& s)
      : row_of(s.permuted ? permutation<I>(a.rows) : std::vector<I>{}), matrix(stored(a, s)) {}

 private:
  compact_bcsc_matrix<T, I> stored(const sparse_case& a, const cpu_setting& s) const {
    const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, s.m_block) : std::vector<std::int64_t>{};
    return to_compact(csr_of<T, I>(s.permuted ? with_rows(a, row_of) : a),
                      {.m_block = s.m_block, .boundaries = boundaries});
  }
};

/// C as the kernel leaves it. Fails if the launch does.
template <class T, class I>
dense_table<T> run_on_cpu(kernels::launch_fn launch, const cpu_operand<T, I>& a, const cpu_setting& s,
                          const dense_table<T>& b, const dense_table<T>& c0) {
  const auto v = a.matrix.view();
  operand<T> on_b(context::cpu(1), b, s.for_b), on_c(context::cpu(1), c0, s.for_c);
  const auto b_view = on_b.view(), c_view = on_c.view();
  using scalar = scalar_of<T>;
  constexpr scalar nan = std::numeric_limits<scalar>::quiet_NaN();
  const auto alpha = static_cast<scalar>(s.alpha), beta = static_cast<scalar>(s.beta);
  const bool at = s.scalars_in_memory;
  const kernels::spmm_args<T, I> args{{v.rows,
                                       v.cols,
                                       v.m_block,
                                       v.num_row_blocks(),
                                       v.block_row.empty() ? nullptr : v.block_row.data(),
                                       v.brow_ptr.data(),
                                       v.entry_ptr.data(),
                                       v.col_ind.data(),
                                       nullptr,
                                       {v.col_count.data(), v.col_count.bytes()},
                                       {v.row_in_block.data(), v.row_in_block.bytes()},
                                       v.values.data(),
                                       a.row_of.empty() ? nullptr : a.row_of.data(),
                                       s.scattered},
                                      b_view.data,
                                      b_view.ld,
                                      s.n,
                                      c_view.data,
                                      c_view.row_stride(),
                                      c_view.col_stride(),
                                      at ? nan : alpha,
                                      at ? nan : beta,
                                      at ? &alpha : nullptr,
                                      at ? &beta : nullptr};
  EXPECT_EQ(launch(&args, {s.threads, nullptr, 0}), 0);
  return on_c.read();
}

}  // namespace bcsc::test
