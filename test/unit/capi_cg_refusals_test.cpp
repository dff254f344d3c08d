// Options of conjugate gradients that the C interface refuses: a code, a message that names the option and its value,
// and no output touched.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "test/unit/capi_systems.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t n = 12;

/// What a case may put into the options: operators that fit A, and outputs.
struct parts {
  bcsc_operator wide, narrow, elsewhere;
  double* numbers;
  char* text;
};

/// Which functions refuse it.
enum : unsigned { by_plan = 1, by_diagonal = 2, by_operator = 4, by_matrix = 8, by_all = 15 };

struct refusal {
  const char* name;
  unsigned by;
  const char* words;
  void (*set)(bcsc_cg_options& options, const parts& p);
  int code = BCSC_ERROR_INVALID_ARGUMENT;
};

const refusal refusals[] = {
    {"no_size", by_all, "options.size = 0", [](bcsc_cg_options& o, const parts&) { o.size = 0; }},
    {"cut_size", by_all, "options.size = 52", [](bcsc_cg_options& o, const parts&) { o.size = 52; }},
    {"unset_size", by_all, "options.size = 10000", [](bcsc_cg_options& o, const parts&) { o.size = 10000; }},
    {"reserved", by_all, "options.reserved = 1", [](bcsc_cg_options& o, const parts&) { o.reserved = 1; }},
    {"tolerance", by_all, "tolerance = -1e-08", [](bcsc_cg_options& o, const parts&) { o.tolerance = -1e-8; }},
    {"tolerance_nan", by_all, "tolerance = nan", [](bcsc_cg_options& o, const parts&) { o.tolerance = nan; }},
    {"iterations", by_all, "max_iterations = -4", [](bcsc_cg_options& o, const parts&) { o.max_iterations = -4; }},
    {"guess", by_all, "options.use_initial_guess = 2",
     [](bcsc_cg_options& o, const parts&) { o.use_initial_guess = 2; }},
    {"method", by_all, "options.method = 2", [](bcsc_cg_options& o, const parts&) { o.method = 2; }},
    {"method_negative", by_all, "options.method = -1", [](bcsc_cg_options& o, const parts&) { o.method = -1; }},
    {"beta", by_all, "options.beta = 2", [](bcsc_cg_options& o, const parts&) { o.beta = 2; }},
    {"inner", by_all, "options.inner = 5", [](bcsc_cg_options& o, const parts&) { o.inner = 5; }},
    {"correction", by_all, "options.correction = 4", [](bcsc_cg_options& o, const parts&) { o.correction = 4; }},
    {"correction_of_none", by_all, "options.correction_when = 0.5",
     [](bcsc_cg_options& o, const parts&) { o.correction_when = 0.5; }},
    {"recompute_never", by_all, "recompute(0)",
     [](bcsc_cg_options& o, const parts&) { o.correction = BCSC_CG_CORRECTION_RECOMPUTE; }},
    {"recompute_half", by_all, "options.correction_when = 2.5",
     [](bcsc_cg_options& o, const parts&) { o.correction = BCSC_CG_CORRECTION_RECOMPUTE, o.correction_when = 2.5; }},
    {"recompute_nan", by_all, "options.correction_when = nan",
     [](bcsc_cg_options& o, const parts&) { o.correction = BCSC_CG_CORRECTION_RECOMPUTE, o.correction_when = nan; }},
    {"reliable_never", by_all, "a share of 0",
     [](bcsc_cg_options& o, const parts&) { o.correction = BCSC_CG_CORRECTION_RELIABLE; }},
    {"reliable_always", by_all, "a share of 1",
     [](bcsc_cg_options& o, const parts&) { o.correction = BCSC_CG_CORRECTION_RELIABLE, o.correction_when = 1; }},
    {"refine_in_blocks", by_all, "refine() is of simultaneous iterations",
     [](bcsc_cg_options& o, const parts&) {
       o.method = BCSC_CG_METHOD_BLOCK;
       o.correction = BCSC_CG_CORRECTION_REFINE, o.correction_when = 0.1;
     }},
    {"check_every", by_all, "check_every = -1", [](bcsc_cg_options& o, const parts&) { o.check_every = -1; }},
    {"history_without_room", by_all, "options.max_history = 0",
     [](bcsc_cg_options& o, const parts& p) { o.history = p.numbers; }},
    {"room_without_history", by_all, "options.max_history = 9",
     [](bcsc_cg_options& o, const parts&) { o.max_history = 9; }},
    {"negative_history", by_all, "options.max_history = -1",
     [](bcsc_cg_options& o, const parts& p) { o.history = p.numbers, o.max_history = -1; }},
    {"text_without_room", by_all, "options.inner_text_bytes = 0",
     [](bcsc_cg_options& o, const parts& p) { o.inner_text = p.text; }},
    {"room_without_text", by_all, "options.inner_text_bytes = 7",
     [](bcsc_cg_options& o, const parts&) { o.inner_text_bytes = 7; }},

    {"rounding_of_no_matrix", by_plan | by_diagonal | by_operator, "options.inner = 1: only bcsc_solve_cg_matrix",
     [](bcsc_cg_options& o, const parts&) { o.inner = BCSC_CG_INNER_FP32; }},
    {"rounded_operator_of_a_matrix", by_matrix, "options.inner_operator",
     [](bcsc_cg_options& o, const parts& p) { o.inner_operator = p.narrow; }},
    {"two_preconditioners", by_diagonal, "has to be null",
     [](bcsc_cg_options& o, const parts& p) { o.precondition = p.wide; }},
    {"diagonal_and_operator", by_diagonal, "has to be null",
     [](bcsc_cg_options& o, const parts& p) { o.inner_operator = p.narrow; }},
    {"narrow_preconditioner", by_plan | by_operator | by_matrix, "options.precondition is of fp32: must be of fp64",
     [](bcsc_cg_options& o, const parts& p) { o.precondition = p.narrow; }},
    {"wide_inner", by_plan | by_operator, "options.inner_operator is of fp64: must be of fp32",
     [](bcsc_cg_options& o, const parts& p) { o.inner_operator = p.wide; }},
    {"wide_inner_preconditioner", by_plan | by_operator | by_matrix,
     "options.inner_precondition is of fp64: must be of fp32",
     [](bcsc_cg_options& o, const parts& p) { o.precondition = o.inner_precondition = p.wide; }},
    {"inner_preconditioner_alone", by_plan | by_operator | by_matrix, "options.precondition is null",
     [](bcsc_cg_options& o, const parts& p) { o.inner_precondition = p.narrow; }},
    {"refine_without_its_preconditioner", by_plan | by_operator | by_matrix, "options.inner_precondition is null",
     [](bcsc_cg_options& o, const parts& p) {
       o.precondition = p.wide;
       o.correction = BCSC_CG_CORRECTION_REFINE, o.correction_when = 0.1;
     }},
    {"refine_without_an_inner_operator", by_plan | by_diagonal | by_operator, "refine() needs",
     [](bcsc_cg_options& o, const parts&) { o.correction = BCSC_CG_CORRECTION_REFINE, o.correction_when = 0.1; }},
    {"another_size", by_plan | by_operator | by_matrix, "the preconditioner is 9 x 9",
     [](bcsc_cg_options& o, const parts& p) { o.precondition = p.elsewhere; }, BCSC_ERROR_SIZE_MISMATCH},
};

class capi_cg_refusal : public ::testing::TestWithParam<refusal> {};

TEST_P(capi_cg_refusal, is_a_code_and_a_message) {
  bcsc_context context = nullptr;
  ASSERT_EQ(bcsc_context_cpu(1, &context), BCSC_OK);
  {
    const c_system<double> a(context, laplace(4, 3)), other(context, laplace(3, 3));
    const c_system<float> narrow(context, laplace(4, 3));
    std::vector<double> b(n, 1.0), x(n, -7.0), numbers(2 * n, -7.0);
    std::vector<std::int64_t> counts(1, -7);
    std::vector<int> reasons(1, -7);
    char text[20] = "nothing";
    auto options = sized<bcsc_cg_options>();
    options.true_residuals = options.recurrence_residuals = numbers.data();
    options.column_iterations = counts.data();
    options.column_reasons = reasons.data();
    GetParam().set(options, {a.of_plan, narrow.of_plan, other.of_plan, numbers.data(), text});
    auto result = sized<bcsc_cg_result>();
    result.iterations = -7;
    const std::vector<double> diagonal = a.diagonal();
    const auto solve_plan = [&](const double* given) {
      return bcsc_solve_cg(a.plan, 1, given, b.data(), 1, x.data(), 1, BCSC_ROW_MAJOR, &result, &options);
    };
    const std::function<int()> ways[] = {
        [&] { return solve_plan(nullptr); }, [&] { return solve_plan(diagonal.data()); },
        [&] {
          return bcsc_solve_cg_operator(a.of_plan, 1, b.data(), 1, x.data(), 1, BCSC_ROW_MAJOR, &result, &options);
        },
        [&] {
          return bcsc_solve_cg_matrix(context, a.matrix, 1, b.data(), 1, x.data(), 1, BCSC_ROW_MAJOR, &result,
                                      &options);
        }};
    for (unsigned way = 0; way < 4; ++way) {
      if ((GetParam().by & 1u << way) == 0) continue;
      SCOPED_TRACE(way);
      EXPECT_EQ(ways[way](), GetParam().code);
      EXPECT_TRUE(says(GetParam().words)) << bcsc_last_error();
    }
    EXPECT_EQ(x, std::vector<double>(n, -7.0));
    EXPECT_EQ(numbers, std::vector<double>(2 * n, -7.0));
    EXPECT_EQ(counts.front(), -7);
    EXPECT_EQ(reasons.front(), -7);
    EXPECT_STREQ(text, "nothing");
    EXPECT_EQ(result.iterations, -7);
  }
  bcsc_context_free(context);
}
INSTANTIATE_TEST_SUITE_P(options, capi_cg_refusal, ::testing::ValuesIn(refusals),
                         [](const auto& info) { return std::string(info.param.name); });

/// The result's size is the caller's to set, too.
TEST(capi_cg_result, has_a_size) {
  bcsc_context context = nullptr;
  ASSERT_EQ(bcsc_context_cpu(1, &context), BCSC_OK);
  {
    const c_system<double> a(context, laplace(4, 3));
    std::vector<double> b(n, 1.0), x(n, -7.0);
    for (const std::size_t size : {0u, 4u, 44u, 8192u}) {
      bcsc_cg_result result;
      std::memset(&result, 0x55, sizeof result);
      result.size = size;
      bcsc_cg_result before = result;
      EXPECT_EQ(bcsc_solve_cg_operator(a.of_plan, 1, b.data(), 1, x.data(), 1, BCSC_ROW_MAJOR, &result, nullptr),
                BCSC_ERROR_INVALID_ARGUMENT);
      EXPECT_TRUE(says("result.size = " + std::to_string(size))) << bcsc_last_error();
      EXPECT_EQ(std::memcmp(&result, &before, sizeof result), 0);
    }
    EXPECT_EQ(x, std::vector<double>(n, -7.0));
  }
  bcsc_context_free(context);
}

}  // namespace
}  // namespace bcsc::test
