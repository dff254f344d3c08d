// What is left of a moved-from handle, and what the C interface says to null: a typed error, never a crash.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>

#include "bcsc/capi.h"
#include "bcsc/container.hpp"
#include "bcsc/device.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/tune.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"

namespace bcsc::test {
namespace {

/// Fails unless `call` says that its object has been moved from, and names the member.
template <class Call>
void expect_refused(const char* member, Call call) {
  try {
    call();
    ADD_FAILURE() << member << " was done";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_argument) << member;
    const std::string message = e.what();
    EXPECT_NE(message.find(member), std::string::npos) << message;
    EXPECT_NE(message.find("moved from"), std::string::npos) << message;
  }
}

template <class T>
void expect_empty(spmm_plan<T>& plan) {
  const auto csr = csr_of<T>(case_named("ragged"));
  const auto wide = csr_of<T, std::int64_t>(case_named("ragged"));
  dense_matrix<T> b(csr.cols(), 4), c(csr.rows(), 4);
  expect_refused("run", [&] { plan.run(1, b.view(), 0, c.view()); });
  expect_refused("run", [&] { plan.run(1, b.view(), 0, c.view(), {.batch = {.count = 0}}); });
  expect_refused("sharing", [&] { (void)plan.sharing("rows"); });
  expect_refused("transposed", [&] { (void)plan.transposed(); });
  expect_refused("workspace_bytes", [&] { (void)plan.workspace_bytes(); });
  expect_refused("update_values", [&] { plan.update_values(csr); });
  expect_refused("update_values", [&] { plan.update_values(wide); });
  expect_refused("update_values", [&] { plan.update_values(to_bcsc(csr, 4)); });
  expect_refused("update_values", [&] { plan.update_values(to_bcsc(wide, 4)); });
  expect_refused("facts", [&] { (void)plan.facts(); });
  expect_refused("explain", [&] { (void)plan.explain(); });
  expect_refused("where", [&] { (void)plan.where(); });
}

template <class T>
class moved_from_plan : public ::testing::Test {};
using numbers = ::testing::Types<float, double, half, bfloat16>;
TYPED_TEST_SUITE(moved_from_plan, numbers);

TYPED_TEST(moved_from_plan, says_so_in_every_member) {
  const auto csr = csr_of<TypeParam>(case_named("ragged"));
  spmm_plan<TypeParam> plan(context::cpu(1), csr, {.cols = 4});
  spmm_plan<TypeParam> taken = std::move(plan);
  expect_empty(plan);
  EXPECT_EQ(taken.facts().rows, csr.rows());
  plan = std::move(taken);  // it can be assigned to, and is a plan again
  expect_empty(taken);
  EXPECT_EQ(plan.facts().rows, csr.rows());
  dense_matrix<TypeParam> b(csr.cols(), 4), c(csr.rows(), 4);
  EXPECT_NO_THROW(plan.run(1, b.view(), 0, c.view()));
  taken = std::move(taken);
  expect_empty(taken);
}

TEST(moved_from, plans_that_share_or_transpose_say_so_too) {
  const spmm_plan<float> plan(context::cpu(1), csr_of<float>(case_named("ragged")),
                              {.cols = 4, .expert = {.kernel = "rows"}});
  auto shared = plan.sharing(plan.facts().kernel.name), transposed = plan.transposed();
  ASSERT_TRUE(shared && transposed);
  const spmm_plan<float> first = std::move(*shared), second = std::move(*transposed);
  expect_empty(*shared);
  expect_empty(*transposed);
}

TEST(moved_from, mapped_matrix_says_so) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "moved_from.bcsc";
  const auto csr = csr_of<float>(case_named("ragged"));
  write_container(path, csr.view());
  mapped_matrix mapped(path);
  mapped_matrix taken = std::move(mapped);
  expect_refused("info", [&] { (void)mapped.info(); });
  expect_refused("view", [&] { (void)mapped.view(); });
  expect_refused("view", [&] { (void)mapped.as<csr_view<float>>(); });
  mapped = std::move(taken);
  EXPECT_EQ(mapped.as<csr_view<float>>().nnz(), csr.nnz());
  std::filesystem::remove(path);
}

TEST(moved_from, contexts_stay_what_they_were) {
  context ctx = context::cpu(3);
  context taken = std::move(ctx);
  EXPECT_EQ(ctx.threads(), 3);
  EXPECT_EQ(taken.threads(), 3);
  taken = context::cpu(2);
  EXPECT_EQ(ctx.describe(), context::cpu(3).describe());
}

TEST(moved_from, device_matrices_are_empty) {
  const auto csr = csr_of<float>(case_named("ragged"));
  device_csr<float> a(csr.view(), nullptr);
  const device_csr<float> taken = std::move(a);
  EXPECT_EQ(a.rows(), 0);
  EXPECT_EQ(a.view().values.size(), 0u);
  EXPECT_EQ(taken.rows(), csr.rows());
}

TEST(moved_from, host_matrices_are_refused_by_a_plan) {
  auto csr = csr_of<float>(case_named("ragged"));
  const auto taken = std::move(csr);
  EXPECT_EQ(code_of([&] { spmm_plan(context::cpu(1), csr); }), errc::invalid_format);
  const context ctx = context::cpu(1);
  EXPECT_EQ(code_of([&] { tune(ctx, csr.view()); }), errc::invalid_format);
}

/// A call of the C interface with null where a handle is needed.
struct null_call {
  const char* name;
  const char* parameter;
  int (*call)();
};

double some[4];
void* somewhere = nullptr;
const char* text = nullptr;
bcsc_sparse made_matrix = nullptr;
bcsc_plan made_plan = nullptr;
bcsc_operator made_operator = nullptr;

template <class Struct>
Struct* sized() {
  static Struct filled;
  filled = {};
  filled.size = sizeof filled;
  return &filled;
}

const null_call null_calls[] = {
    {"context_backend", "context",
     [] {
       int kind = 0;
       return bcsc_context_backend(nullptr, &kind);
     }},
    {"context_describe", "context", [] { return bcsc_context_describe(nullptr, &text); }},
    {"memory_allocate", "context", [] { return bcsc_memory_allocate(nullptr, 8, &somewhere); }},
    {"memory_copy", "context", [] { return bcsc_memory_copy(nullptr, some, some + 1, 8); }},
    {"memory_free", "context", [] { return bcsc_memory_free(nullptr, some); }},
    {"sparse_csr", "arrays", [] { return bcsc_sparse_csr(nullptr, &made_matrix); }},
    {"sparse_bcsc", "arrays", [] { return bcsc_sparse_bcsc(nullptr, &made_matrix); }},
    {"sparse_write", "matrix", [] { return bcsc_sparse_write(nullptr, "a.mtx", nullptr); }},
    {"sparse_to_csr", "matrix", [] { return bcsc_sparse_to_csr(nullptr, &made_matrix); }},
    {"sparse_to_bcsc", "matrix", [] { return bcsc_sparse_to_bcsc(nullptr, 2, &made_matrix); }},
    {"sparse_transpose", "matrix", [] { return bcsc_sparse_transpose(nullptr, &made_matrix); }},
    {"sparse_get_facts", "matrix", [] { return bcsc_sparse_get_facts(nullptr, sized<bcsc_sparse_facts>()); }},
    {"sparse_get_csr", "matrix", [] { return bcsc_sparse_get_csr(nullptr, sized<bcsc_csr_arrays>()); }},
    {"sparse_get_bcsc", "matrix", [] { return bcsc_sparse_get_bcsc(nullptr, sized<bcsc_bcsc_arrays>()); }},
    {"plan_create", "context", [] { return bcsc_plan_create(nullptr, nullptr, &made_plan, nullptr); }},
    {"plan_transposed", "plan", [] { return bcsc_plan_transposed(nullptr, 0, &made_plan); }},
    {"plan_update_values", "plan", [] { return bcsc_plan_update_values(nullptr, nullptr); }},
    {"plan_workspace_bytes", "plan",
     [] {
       size_t bytes = 0;
       return bcsc_plan_workspace_bytes(nullptr, &bytes);
     }},
    {"plan_get_facts", "plan", [] { return bcsc_plan_get_facts(nullptr, sized<bcsc_plan_facts>()); }},
    {"plan_explain", "plan", [] { return bcsc_plan_explain(nullptr, &text); }},
    {"plan_run", "plan", [] { return bcsc_plan_run(nullptr, 1, some, some, 1, some, some + 1, 1, 0, nullptr); }},
    {"plan_run_batch", "plan",
     [] { return bcsc_plan_run_batch(nullptr, 1, 1, some, some, 1, 0, some, some + 1, 1, 0, 0, nullptr); }},
    {"spmm", "context", [] { return bcsc_spmm(nullptr, nullptr, 1, some, some, 1, 0, some, some + 1, 1, 0); }},
    {"solve_cg", "plan",
     [] { return bcsc_solve_cg(nullptr, 1, nullptr, some, 1, some + 1, 1, 0, sized<bcsc_cg_result>(), nullptr); }},
    {"solve_cg_operator", "a",
     [] { return bcsc_solve_cg_operator(nullptr, 1, some, 1, some + 1, 1, 0, sized<bcsc_cg_result>(), nullptr); }},
    {"solve_cg_matrix", "context",
     [] {
       return bcsc_solve_cg_matrix(nullptr, nullptr, 1, some, 1, some + 1, 1, 0, sized<bcsc_cg_result>(), nullptr);
     }},
    {"operator_describe", "map", [] { return bcsc_operator_describe(nullptr, &text); }},
    {"operator_jacobi", "context", [] { return bcsc_operator_jacobi(nullptr, nullptr, &made_operator); }},
    {"operator_block_jacobi", "context",
     [] { return bcsc_operator_block_jacobi(nullptr, nullptr, &made_operator, nullptr); }},
    {"operator_chebyshev", "context",
     [] { return bcsc_operator_chebyshev(nullptr, nullptr, &made_operator, nullptr); }},
    {"operator_ic0", "context", [] { return bcsc_operator_ic0(nullptr, nullptr, &made_operator, nullptr); }},
    {"operator_amg", "context", [] { return bcsc_operator_amg(nullptr, nullptr, &made_operator, nullptr); }},
};

class null_handle : public ::testing::TestWithParam<null_call> {};

TEST_P(null_handle, is_a_code_and_a_message) {
  EXPECT_EQ(GetParam().call(), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(bcsc_last_error()), std::string(GetParam().parameter) + " is null");
  EXPECT_EQ(somewhere, nullptr);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(made_matrix, nullptr);
  EXPECT_EQ(made_plan, nullptr);
  EXPECT_EQ(made_operator, nullptr);
}
INSTANTIATE_TEST_SUITE_P(c_face, null_handle, ::testing::ValuesIn(null_calls),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace bcsc::test
