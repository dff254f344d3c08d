// Every row of the CPU's table of kernels that scatter, on every instruction set this machine has: exact on small
// integers for heights and boundaries of row blocks, permuted rows, layouts, alignments and scalars; the same bits for
// any number of threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/convert.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "kernels/tables/scatter.hpp"
#include "lib/core/context_state.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::cpu_scatter;

/// A product, and how A is stored for it.
struct setting {
  std::int64_t n = 1, m_block = 1;
  placement for_b = {}, for_c = {};
  double alpha = 1, beta = 0;
  int threads = 1;
  bool own_heights = false, permuted = false, scattered = false, scalars_in_memory = false;
};

setting setting_of(std::size_t k) {
  constexpr std::int64_t widths[] = {1, 2, 5, 16, 33, 130, 530};
  constexpr std::int64_t heights[] = {1, 1, 3, 8, 300};
  constexpr std::pair<double, double> scalars[] = {{1, 0}, {2, -1}, {-1, 1}, {0, 2}, {0, 0}, {3, 0}, {1, 1}};
  test_random random(1000 + k);
  setting s;
  s.n = one_of(random, widths);
  s.m_block = one_of(random, heights);
  s.for_b = {layout::row_major, random.below(2) * random.below(9), random.below(2) * random.below(5)};
  s.for_c = {random.below(2) == 0 ? layout::row_major : layout::col_major, random.below(2) * random.below(9),
             random.below(2) * random.below(5)};
  std::tie(s.alpha, s.beta) = one_of(random, scalars);
  s.threads = 1 + static_cast<int>(random.below(5));
  s.own_heights = random.below(4) == 0;
  s.permuted = random.below(3) == 0;
  s.scattered = random.below(2) == 0;
  s.scalars_in_memory = random.below(4) == 0;
  return s;
}

std::string words(const setting& s) {
  return "N = " + std::to_string(s.n) + ", m_block " + std::to_string(s.m_block) + (s.own_heights ? " at most" : "") +
         (s.permuted ? ", permuted" : "") + ", B + " + std::to_string(s.for_b.offset) + " ld + " +
         std::to_string(s.for_b.padding) + ", C " + std::string(to_string(s.for_c.order)) + " + " +
         std::to_string(s.for_c.offset) + " ld + " + std::to_string(s.for_c.padding) + ", alpha " +
         std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) + ", threads " + std::to_string(s.threads);
}

template <class T, class I>
dense_table<T> run(kernels::launch_fn launch, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  const auto row_of = s.permuted ? permutation<I>(a.rows) : std::vector<I>{};
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, s.m_block) : std::vector<std::int64_t>{};
  const auto matrix =
      to_compact(csr_of<T, I>(s.permuted ? with_rows(a, row_of) : a), {.m_block = s.m_block, .boundaries = boundaries});
  const auto v = matrix.view();
  operand<T> on_b(context::cpu(1), b, s.for_b), on_c(context::cpu(1), c0, s.for_c);
  const auto b_view = on_b.view(), c_view = on_c.view();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
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
                                       s.permuted ? row_of.data() : nullptr,
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

template <class T, class I>
void check_exact(kernels::launch_fn launch, std::size_t seed) {
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.cols == 0) continue;  // nothing is launched then
    for (int turn = 0; turn < 6; ++turn, ++seed) {
      const setting s = setting_of(seed);
      auto b = random_table<T>(a.rows, s.n, values::small_integers, seed);
      auto c0 = random_table<T>(a.cols, s.n, values::small_integers, seed + 1);
      const product wanted = multiply<T>(a, true, s.alpha, b, s.beta, c0);
      if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
      if (s.alpha == 0) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());
      expect_exact<T>(wanted, run<T, I>(launch, a, s, b, c0), a.name + ", " + words(s));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// As many entries as let five threads take part, for any N.
sparse_case large_case() { return make_case("large", 900, 700, scatter(900, 700, 60000, 11), values::real, 12); }

template <class T, class I>
void check_threads(kernels::launch_fn launch) {
  const sparse_case a = large_case();
  for (const std::int64_t n : {1, 7, 40}) {
    const auto b = random_table<T>(a.rows, n, values::real, 1), c0 = random_table<T>(a.cols, n, values::real, 2);
    const product wanted = multiply<T>(a, true, 1.5, b, 0.5, c0);
    for (const std::int64_t m_block : {1, 16}) {
      for (const layout order : {layout::row_major, layout::col_major}) {
        setting s{.n = n, .m_block = m_block, .for_c = {order}, .alpha = 1.5, .beta = 0.5};
        const auto one = run<T, I>(launch, a, s, b, c0);
        expect_within_bound<T>(wanted, one, words(s));
        for (const int threads : {2, 3}) {
          s.threads = threads;
          EXPECT_EQ((run<T, I>(launch, a, s, b, c0).at), one.at) << words(s);
        }
      }
    }
  }
}

std::vector<core::cpu_isa> available_isas() {
  std::vector<core::cpu_isa> isas;
  for (core::cpu_isa isa : {core::cpu_isa::baseline, core::cpu_isa::avx2, core::cpu_isa::avx512}) {
    if (isa <= core::best_cpu_isa()) isas.push_back(isa);
  }
  return isas;
}

class every_row : public ::testing::TestWithParam<std::tuple<std::size_t, core::cpu_isa>> {
 protected:
  /// body.template operator()<T, I>(launch) for the row's types.
  template <class Body>
  void with_types(Body body) const {
    const auto [at, isa] = GetParam();
    const auto& row = table::rows[at];
    const auto launch = kernels::cpu::launcher<table>(at, isa);
    const bool wide = row.index_bits == 64;
    if (row.type == value_type::fp32) {
      wide ? body.template operator()<float, std::int64_t>(launch)
           : body.template operator()<float, std::int32_t>(launch);
    } else {
      wide ? body.template operator()<double, std::int64_t>(launch)
           : body.template operator()<double, std::int32_t>(launch);
    }
  }
};

TEST_P(every_row, is_exact_on_small_integers) {
  with_types([&]<class T, class I>(kernels::launch_fn launch) {
    check_exact<T, I>(launch, std::get<0>(GetParam()) * 7919 + static_cast<std::size_t>(std::get<1>(GetParam())));
  });
}

TEST_P(every_row, gives_the_same_bits_on_any_number_of_threads) {
  with_types([]<class T, class I>(kernels::launch_fn launch) { check_threads<T, I>(launch); });
}

INSTANTIATE_TEST_SUITE_P(table, every_row,
                         ::testing::Combine(::testing::Range(std::size_t{0}, table::rows.size()),
                                            ::testing::ValuesIn(available_isas())),
                         [](const auto& info) {
                           const auto& row = table::rows[std::get<0>(info.param)];
                           std::string name = row.label() + "_" + std::string(to_string(row.type)) + "_" +
                                              std::string(to_string(std::get<1>(info.param)));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bcsc::test
