#include "test/unit/lobpcg_cases.hpp"

namespace bcsc::test {

namespace {

// --- Every pencil x end x number of pairs x type x place ------------------------------------------------------------

struct solve_case {
  place where;
  value_type type;
  std::size_t which;
  std::int64_t k;  ///< 0: a third of n; -1: n
  spectrum_end end;
  std::int64_t num_pairs() const {
    const std::int64_t n = pencils()[which].n();
    return k > 0 ? k : k == 0 ? n / 3 : n;
  }
};

std::vector<solve_case> solve_cases() {
  std::vector<solve_case> all;
  for (const place where : all_places) {
    for (const value_type type : {value_type::fp32, value_type::fp64}) {
      for (std::size_t which = 0; which < pencils().size(); ++which) {
        for (const std::int64_t k : {1, 2, 5, 8, 0, -1}) {
          for (const spectrum_end end : {spectrum_end::smallest, spectrum_end::largest}) {
            all.push_back({where, type, which, k, end});
          }
        }
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<solve_case>& info) {
  const solve_case& c = info.param;
  return to_string(c.where) + "_" + std::string(to_string(c.type)) + "_" + pencils()[c.which].name + "_k" +
         std::to_string(c.num_pairs()) + (c.end == spectrum_end::smallest ? "_smallest" : "_largest");
}

class lobpcg_solve_test : public testing::TestWithParam<solve_case> {};
INSTANTIATE_TEST_SUITE_P(pencils, lobpcg_solve_test, testing::ValuesIn(solve_cases()), name_of);

TEST_P(lobpcg_solve_test, finds_the_wanted_end) {
  BCSC_SKIP_WITHOUT_LAPACK();
  const solve_case& c = GetParam();
  const std::optional<context> ctx = context_at(c.where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  with_fp32_or_fp64(c.type, [&]<class T>() {
    lobpcg_options<T> options;
    options.which = c.end;
    const pencil& p = pencils()[c.which];
    expect_converged(p, solve<T>(c.where, *ctx, p, c.num_pairs(), options), options);
  });
}

}  // namespace

}  // namespace bcsc::test
