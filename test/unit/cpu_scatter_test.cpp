// Every config of the CPU's scatter kernels, on every instruction set this machine has: exact on small
// integers for heights and boundaries of row blocks, permuted rows, layouts, alignments and scalars; the same bits for
// any number of threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/tables/scatter.hpp"
#include "test/support/battery.hpp"
#include "test/support/cpu_isas.hpp"
#include "test/support/operands.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/cpu_product.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::cpu_scatter;

cpu_setting setting_of(std::size_t k) {
  constexpr std::int64_t widths[] = {1, 2, 5, 16, 33, 130, 530};
  constexpr std::int64_t heights[] = {1, 1, 3, 8, 300};
  constexpr std::pair<double, double> scalars[] = {{1, 0}, {2, -1}, {-1, 1}, {0, 2}, {0, 0}, {3, 0}, {1, 1}};
  test_random random(1000 + k);
  cpu_setting s;
  s.n = one_of(random, widths);
  s.m_block = one_of(random, heights);
  s.for_b = {layout::row_major, random.below(2) * random.below(9), random.below(2) * random.below(5)};
  s.for_c = {random.below(2) == 0 ? layout::row_major : layout::col_major, random.below(2) * random.below(9),
             random.below(2) * random.below(5)};
  std::tie(s.alpha, s.beta) = one_of(random, scalars);
  s.who.threads = 1 + static_cast<int>(random.below(5));
  s.own_heights = random.below(4) == 0;
  s.permuted = random.below(3) == 0;
  s.scattered = random.below(2) == 0;
  s.scalars_in_memory = random.below(4) == 0;
  return s;
}

template <class T, class I>
void check_exact(kernels::launch_fn launch, std::size_t seed) {
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.cols == 0) continue;  // nothing is launched then
    for (int turn = 0; turn < 6; ++turn, ++seed) {
      const cpu_setting s = setting_of(seed);
      auto b = random_table<T>(a.rows, s.n, values::small_integers, seed);
      auto c0 = random_table<T>(a.cols, s.n, values::small_integers, seed + 1);
      const product wanted = multiply<T>(a, true, s.alpha, b, s.beta, c0);
      if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
      if (s.alpha == 0) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());
      expect_exact<T>(wanted, run_on_cpu(launch, cpu_operand<T, I>(a, s), s, b, c0), a.name + ", " + words(s));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Enough entries for all threads to take part.
sparse_case large_case(std::int64_t n) {
  return make_case("large", 900, 700, scatter(900, 700, n < 33 ? 330000 : 30000, 11), values::real, 12);
}

/// N of every width of a pass: of 1 to 8 whole vectors, of parts of one, of a single column beside whole ones.
template <class T, class I>
void check_threads(kernels::launch_fn launch) {
  for (const std::int64_t n : {1, 7, 33, 40, 66, 90, 100, 120, 130}) {
    static const sparse_case for_few = large_case(1), for_many = large_case(33);
    const sparse_case& a = n < 33 ? for_few : for_many;
    const auto b = random_table<T>(a.rows, n, values::real, 1), c0 = random_table<T>(a.cols, n, values::real, 2);
    const product wanted = n <= 33 ? multiply<T>(a, true, 1.5, b, 0.5, c0) : product{};
    for (const std::int64_t m_block : {1, 16}) {
      cpu_setting s{.n = n, .m_block = m_block, .alpha = 1.5, .beta = 0.5};
      const auto stored = cpu_operand<T, I>(a, s);
      for (const layout order : {layout::row_major, layout::col_major}) {
        if (order == layout::col_major && n > 33) continue;  // column by column, whatever N
        s.for_c.order = order;
        const auto one = run_on_cpu(launch, stored, s, b, c0);
        if (n <= 33) expect_within_bound<T>(wanted, one, words(s));
        for (const core::team& who : teams()) {
          s.who = who;
          EXPECT_TRUE(run_on_cpu(launch, stored, s, b, c0).at == one.at) << words(s);
        }
        s.who = {};
      }
    }
  }
}

class every_config : public ::testing::TestWithParam<std::tuple<std::size_t, core::cpu_isa>> {
 protected:
  /// body.template operator()<T, I>(launch) for the row's types.
  template <class Body>
  void with_types(Body body) const {
    const auto [at, isa] = GetParam();
    const auto& row = table::configs[at];
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

TEST_P(every_config, is_exact_on_small_integers) {
  with_types([&]<class T, class I>(kernels::launch_fn launch) {
    check_exact<T, I>(launch, std::get<0>(GetParam()) * 7919 + static_cast<std::size_t>(std::get<1>(GetParam())));
  });
}

TEST_P(every_config, gives_the_same_bits_on_any_number_of_threads) {
  with_types([]<class T, class I>(kernels::launch_fn launch) { check_threads<T, I>(launch); });
}

INSTANTIATE_TEST_SUITE_P(table, every_config,
                         ::testing::Combine(::testing::Range(std::size_t{0}, table::configs.size()),
                                            ::testing::ValuesIn(available_isas())),
                         [](const auto& info) {
                           const auto& row = table::configs[std::get<0>(info.param)];
                           std::string name = row.label() + "_" + std::string(to_string(row.type)) + "_" +
                                              std::string(to_string(std::get<1>(info.param)));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bcsc::test
