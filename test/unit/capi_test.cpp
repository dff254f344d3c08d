#include "bcsc/capi.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "bcsc/elements.hpp"
#include "bcsc/error.hpp"
#include "test/unit/matrix_market_support.hpp"

namespace {

bool says(const std::string& words) { return std::string(bcsc_last_error()).find(words) != std::string::npos; }

template <class T>
constexpr int type_of = static_cast<int>(bcsc::value_type_of<T>);

/// 1 0 2
/// 0 3 0
template <class T, class I>
struct example {
  std::vector<I> row_ptr{0, 2, 3}, col_ind{0, 2, 1};
  std::vector<T> values{T(1.0f), T(2.0f), T(3.0f)};

  bcsc_csr_arrays csr() const {
    bcsc_csr_arrays arrays{};
    arrays.size = sizeof arrays;
    arrays.value_type = type_of<T>;
    arrays.index_type = sizeof(I) == 4 ? BCSC_INT32 : BCSC_INT64;
    arrays.rows = 2;
    arrays.cols = 3;
    arrays.nnz = 3;
    arrays.row_ptr = row_ptr.data();
    arrays.col_ind = col_ind.data();
    arrays.values = values.data();
    return arrays;
  }
};

/// Everything that a test makes is freed when it ends.
class capi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(bcsc_context_cpu(1, &context_), BCSC_OK); }
  void TearDown() override {
    for (bcsc_plan plan : plans_) bcsc_plan_free(plan);
    for (bcsc_sparse matrix : matrices_) bcsc_sparse_free(matrix);
    bcsc_context_free(context_);
  }

  bcsc_sparse keep(bcsc_sparse matrix) { return matrices_.emplace_back(matrix); }
  bcsc_sparse matrix(const bcsc_csr_arrays& arrays) {
    bcsc_sparse made = nullptr;
    EXPECT_EQ(bcsc_sparse_csr(&arrays, &made), BCSC_OK) << bcsc_last_error();
    return keep(made);
  }
  bcsc_plan plan(bcsc_sparse of, const bcsc_plan_options* options = nullptr) {
    bcsc_plan made = nullptr;
    EXPECT_EQ(bcsc_plan_create(context_, of, &made, options), BCSC_OK) << bcsc_last_error();
    return plans_.emplace_back(made);
  }
  bcsc_plan_options plan_options() const {
    bcsc_plan_options options{};
    options.size = sizeof options;
    return options;
  }

  bcsc_context context_ = nullptr;
  std::vector<bcsc_sparse> matrices_;
  std::vector<bcsc_plan> plans_;
  const example<double, std::int32_t> doubles_{};
};

// --- Products of every type -----------------------------------------------------------------------------------------

template <class Types>
class capi_types : public capi {};
template <class T, class I>
struct types {
  using value_t = T;
  using index_t = I;
};
using every_type =
    ::testing::Types<types<float, std::int32_t>, types<float, std::int64_t>, types<double, std::int32_t>,
                     types<double, std::int64_t>, types<bcsc::half, std::int32_t>, types<bcsc::half, std::int64_t>,
                     types<bcsc::bfloat16, std::int32_t>, types<bcsc::bfloat16, std::int64_t>>;
TYPED_TEST_SUITE(capi_types, every_type);

/// B = 1 2 / 3 4 / 5 6; A B = 11 14 / 9 12, A' (2 x 2 of B) = 1 2 / 9 12 / 2 4.
template <class T>
std::vector<T> numbers(std::initializer_list<float> given) {
  std::vector<T> made;
  for (float x : given) made.push_back(static_cast<T>(x));
  return made;
}

TYPED_TEST(capi_types, csr_multiplies) {
  using T = typename TypeParam::value_t;
  const example<T, typename TypeParam::index_t> a;
  const auto b = numbers<T>({1, 2, 3, 4, 5, 6});
  auto c = numbers<T>({1, 1, 1, 1});
  const bcsc::scalar_of<T> alpha = 2, beta = -1;
  bcsc_plan plan = this->plan(this->matrix(a.csr()));
  ASSERT_EQ(bcsc_plan_run(plan, 2, &alpha, b.data(), 2, &beta, c.data(), 2, BCSC_ROW_MAJOR, nullptr), BCSC_OK)
      << bcsc_last_error();
  EXPECT_EQ(c, numbers<T>({21, 27, 17, 23}));
}

TYPED_TEST(capi_types, bcsc_multiplies) {
  using T = typename TypeParam::value_t;
  using I = typename TypeParam::index_t;
  // One block of both rows: column 0 holds row 0, 1 row 1, 2 row 0.
  const std::vector<I> brow_ptr{0, 3}, col_ind{0, 1, 2}, col_ptr{0, 1, 2, 3}, row_ind{0, 1, 0};
  const auto values = numbers<T>({1, 3, 2});
  bcsc_bcsc_arrays arrays{};
  arrays.size = sizeof arrays;
  arrays.value_type = type_of<T>;
  arrays.index_type = sizeof(I) == 4 ? BCSC_INT32 : BCSC_INT64;
  arrays.rows = 2;
  arrays.cols = arrays.nnz = arrays.nnzc = 3;
  arrays.m_block = 2;
  arrays.brow_ptr = brow_ptr.data();
  arrays.col_ind = col_ind.data();
  arrays.col_ptr = col_ptr.data();
  arrays.row_ind = row_ind.data();
  arrays.values = values.data();
  bcsc_sparse blocks = nullptr;
  ASSERT_EQ(bcsc_sparse_bcsc(&arrays, &blocks), BCSC_OK) << bcsc_last_error();
  this->keep(blocks);

  const auto b = numbers<T>({1, 2, 3, 4, 5, 6});
  auto c = numbers<T>({1, 1, 1, 1});
  const bcsc::scalar_of<T> alpha = 1, beta = 0;
  ASSERT_EQ(bcsc_plan_run(this->plan(blocks), 2, &alpha, b.data(), 2, &beta, c.data(), 2, BCSC_ROW_MAJOR, nullptr),
            BCSC_OK)
      << bcsc_last_error();
  EXPECT_EQ(c, numbers<T>({11, 14, 9, 12}));

  bcsc_sparse csr = nullptr;
  ASSERT_EQ(bcsc_sparse_to_csr(blocks, &csr), BCSC_OK) << bcsc_last_error();
  this->keep(csr);
  bcsc_csr_arrays out{};
  out.size = sizeof out;
  ASSERT_EQ(bcsc_sparse_get_csr(csr, &out), BCSC_OK);
  EXPECT_EQ(out.value_type, type_of<T>);
  EXPECT_EQ(std::memcmp(out.values, numbers<T>({1, 2, 3}).data(), 3 * sizeof(T)), 0);
}

TYPED_TEST(capi_types, transposes_and_takes_new_values) {
  using T = typename TypeParam::value_t;
  const example<T, typename TypeParam::index_t> a;
  example<T, typename TypeParam::index_t> negated;
  negated.values = numbers<T>({-1, -2, -3});
  bcsc_plan_options options = this->plan_options();
  options.transpose = BCSC_OP_TRANSPOSE;
  options.cols = 2;
  bcsc_sparse matrix = this->matrix(a.csr());
  bcsc_plan plan = this->plan(matrix, &options);
  const auto b = numbers<T>({1, 2, 3, 4});
  auto c = numbers<T>({0, 0, 0, 0, 0, 0});
  const bcsc::scalar_of<T> alpha = 1, beta = 0;
  const auto run = [&](bcsc_plan of) {
    return bcsc_plan_run(of, 2, &alpha, b.data(), 2, &beta, c.data(), 2, BCSC_ROW_MAJOR, nullptr);
  };
  ASSERT_EQ(run(plan), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(c, numbers<T>({1, 2, 9, 12, 2, 4}));

  ASSERT_EQ(bcsc_plan_update_values(plan, this->matrix(negated.csr())), BCSC_OK) << bcsc_last_error();
  ASSERT_EQ(run(plan), BCSC_OK);
  EXPECT_EQ(c, numbers<T>({-1, -2, -9, -12, -2, -4}));

  // On the CPU the stored matrix serves both products in fp32 and fp64.
  options.transpose = BCSC_OP_NONE;
  bcsc_plan transposed = nullptr;
  const int code = bcsc_plan_transposed(this->plan(matrix, &options), 0, &transposed);
  if (bcsc::narrow_number<T>) {
    EXPECT_EQ(code, BCSC_ERROR_NO_SUCH_KERNEL);
    EXPECT_TRUE(says("transposable")) << bcsc_last_error();
    EXPECT_EQ(transposed, nullptr);
    return;
  }
  ASSERT_EQ(code, BCSC_OK) << bcsc_last_error();
  this->plans_.push_back(transposed);
  ASSERT_EQ(run(transposed), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(c, numbers<T>({1, 2, 9, 12, 2, 4}));
}

TYPED_TEST(capi_types, multiplies_in_one_line) {
  using T = typename TypeParam::value_t;
  using I = typename TypeParam::index_t;
  const example<T, I> a;
  const auto b = numbers<T>({1, 3, 5, 2, 4, 6});
  auto c = numbers<T>({1, 1, 1, 1});
  const bcsc::scalar_of<T> alpha = 1, beta = 2;
  const int code = bcsc_spmm(this->context_, this->matrix(a.csr()), 2, &alpha, b.data(), 3, BCSC_COL_MAJOR, &beta,
                             c.data(), 2, BCSC_COL_MAJOR);
  if (sizeof(I) == 8) {
    EXPECT_EQ(code, BCSC_ERROR_UNSUPPORTED);
    EXPECT_TRUE(says("32-bit indices")) << bcsc_last_error();
    return;
  }
  ASSERT_EQ(code, BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(c, numbers<T>({13, 11, 16, 14}));
}

/// Every type through a file of this library's own format, and through text as fp64.
TYPED_TEST(capi_types, files_bring_back_what_they_were_given) {
  using T = typename TypeParam::value_t;
  const example<T, typename TypeParam::index_t> a;
  const bcsc::test::temporary_folder folder;
  for (const char* name : {"a.bcsc", "a.mtx", "a.mtx.gz"}) {
    const std::string path = (folder.path() / name).string();
    ASSERT_EQ(bcsc_sparse_write(this->matrix(a.csr()), path.c_str(), nullptr), BCSC_OK) << bcsc_last_error();
    bcsc_sparse again = nullptr;
    ASSERT_EQ(bcsc_sparse_read(path.c_str(), type_of<T>, &again, nullptr), BCSC_OK) << bcsc_last_error();
    this->keep(again);
    bcsc_csr_arrays out{};
    out.size = sizeof out;
    ASSERT_EQ(bcsc_sparse_get_csr(again, &out), BCSC_OK);
    EXPECT_EQ(out.value_type, type_of<T>) << name;
    EXPECT_EQ(out.index_type, BCSC_INT32) << name;
    EXPECT_EQ(std::memcmp(out.values, a.values.data(), 3 * sizeof(T)), 0) << name;
  }
}

// --- More of a product ----------------------------------------------------------------------------------------------

TEST_F(capi, multiplies_a_batch) {
  const bcsc_plan p = plan(matrix(doubles_.csr()));
  const double b[] = {1, 3, 5, -1, 2, 4, 6}, alpha = 1, beta = 2;
  double c[] = {1, 1, -1, 2, 3};
  const auto run = [&](int64_t count, int64_t b_stride, int64_t c_stride) {
    return bcsc_plan_run_batch(p, 1, count, &alpha, b, 1, b_stride, &beta, c, 1, c_stride, BCSC_ROW_MAJOR, nullptr);
  };
  ASSERT_EQ(run(2, 4, 3), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(std::vector<double>(c, c + 5), (std::vector<double>{11 + 2, 9 + 2, -1, 14 + 4, 12 + 6}));
  ASSERT_EQ(run(0, 4, 3), BCSC_OK);
  EXPECT_EQ(c[0], 13);

  EXPECT_EQ(run(-1, 4, 3), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("batch.count = -1"));
  EXPECT_EQ(run(2, 4, 1), BCSC_ERROR_OVERLAPPING_OPERANDS);
  EXPECT_TRUE(says("batch.c_stride = 1"));
  EXPECT_EQ(run(INT64_MAX, 4, 3), BCSC_ERROR_SIZE_OVERFLOW);
}

TEST_F(capi, takes_the_callers_workspace) {
  bcsc_plan_options options = plan_options();
  options.b_layout = BCSC_COL_MAJOR;
  options.cols = 2;
  const bcsc_plan p = plan(matrix(doubles_.csr()), &options);
  size_t bytes = 0;
  ASSERT_EQ(bcsc_plan_workspace_bytes(p, &bytes), BCSC_OK);
  ASSERT_GT(bytes, 0u);
  void* workspace = nullptr;
  ASSERT_EQ(bcsc_memory_allocate(context_, bytes, &workspace), BCSC_OK);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(workspace) % 256, 0u);

  const double b[] = {1, 3, 5, 2, 4, 6}, alpha = 1, beta = 0;
  double c[] = {0, 0, 0, 0};
  bcsc_run_options run{};
  run.size = sizeof run;
  run.workspace = workspace;
  run.workspace_bytes = bytes;
  const auto code = [&] { return bcsc_plan_run(p, 2, &alpha, b, 3, &beta, c, 2, BCSC_COL_MAJOR, &run); };
  ASSERT_EQ(code(), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(std::vector<double>(c, c + 4), (std::vector<double>{11, 9, 14, 12}));
  run.workspace_bytes = bytes - 1;
  EXPECT_EQ(code(), BCSC_ERROR_WORKSPACE_TOO_SMALL);
  run.workspace_bytes = 0;
  EXPECT_EQ(code(), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("workspace_bytes = 0")) << bcsc_last_error();
  EXPECT_EQ(bcsc_memory_free(context_, workspace), BCSC_OK);
}

TEST_F(capi, reads_alpha_and_beta_where_they_lie) {
  bcsc_run_options run{};
  run.size = sizeof run;
  run.scalars_in_place = 1;
  const double b[] = {1, 2, 3}, alpha = 3, beta = 1;
  double c[] = {1, 1};
  ASSERT_EQ(bcsc_plan_run(plan(matrix(doubles_.csr())), 1, &alpha, b, 1, &beta, c, 1, BCSC_ROW_MAJOR, &run), BCSC_OK)
      << bcsc_last_error();
  EXPECT_EQ(c[0], 3 * 7 + 1);
  EXPECT_EQ(c[1], 3 * 6 + 1);
}

TEST_F(capi, tells_what_a_plan_and_a_matrix_are) {
  bcsc_plan_options options = plan_options();
  options.kernel = "rows";
  options.deterministic = 1;
  const bcsc_sparse a = matrix(doubles_.csr());
  const bcsc_plan p = plan(a, &options);
  bcsc_plan_facts facts{};
  facts.size = sizeof facts;
  ASSERT_EQ(bcsc_plan_get_facts(p, &facts), BCSC_OK);
  EXPECT_EQ(facts.size, sizeof facts);
  EXPECT_EQ(facts.rows, 2);
  EXPECT_EQ(facts.cols, 3);
  EXPECT_EQ(facts.nnz, 3);
  EXPECT_EQ(facts.value_type, BCSC_FP64);
  EXPECT_EQ(facts.deterministic, 1);
  EXPECT_EQ(std::string(facts.kernel).rfind("rows", 0), 0u);
  const char* text = nullptr;
  ASSERT_EQ(bcsc_plan_explain(p, &text), BCSC_OK);
  EXPECT_NE(std::string(text).find(facts.kernel), std::string::npos);

  bcsc_sparse_facts of_matrix{};
  of_matrix.size = sizeof of_matrix;
  ASSERT_EQ(bcsc_sparse_get_facts(a, &of_matrix), BCSC_OK);
  EXPECT_EQ(of_matrix.format, BCSC_FORMAT_CSR);
  EXPECT_EQ(of_matrix.memory_space, BCSC_HOST);
  EXPECT_EQ(of_matrix.num_values, 3);

  int backend = -1;
  ASSERT_EQ(bcsc_context_backend(context_, &backend), BCSC_OK);
  EXPECT_EQ(backend, BCSC_CPU);
  ASSERT_EQ(bcsc_context_describe(context_, &text), BCSC_OK);
  EXPECT_EQ(std::string(text).rfind("cpu: 1 thread", 0), 0u) << text;
}

TEST_F(capi, solves) {
  // 4 1 / 1 3 with b = 1 2: x = 1/11, 7/11.
  const std::int64_t row_ptr[] = {0, 2, 4}, col_ind[] = {0, 1, 0, 1};
  const double values[] = {4, 1, 1, 3}, diagonal[] = {4, 3}, b[] = {1, 2};
  bcsc_csr_arrays arrays = doubles_.csr();
  arrays.index_type = BCSC_INT64;
  arrays.cols = 2;
  arrays.nnz = 4;
  arrays.row_ptr = row_ptr;
  arrays.col_ind = col_ind;
  arrays.values = values;
  const bcsc_plan p = plan(matrix(arrays));
  bcsc_cg_options options{};
  options.size = sizeof options;
  options.tolerance = 1e-12;
  for (const double* given : {diagonal, static_cast<const double*>(nullptr)}) {
    double x[] = {7, 7};
    bcsc_cg_result result{};
    result.size = sizeof result;
    ASSERT_EQ(bcsc_solve_cg(p, 1, given, b, 1, x, 1, BCSC_ROW_MAJOR, &result, &options), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(result.reason, BCSC_CG_CONVERGED);
    EXPECT_LE(result.true_residual, 1e-12);
    EXPECT_GE(result.num_products, result.iterations);
    EXPECT_NEAR(x[0], 1.0 / 11, 1e-11);
    EXPECT_NEAR(x[1], 7.0 / 11, 1e-11);
  }
  // The callback stops it, and exceptions do not cross the C boundary.
  bcsc_cg_result result{};
  result.size = sizeof result;
  double x[2];
  int calls = 0;
  options.progress_data = &calls;
  options.progress = [](void* told, int64_t, double) { return ++*static_cast<int*>(told) < 1 ? 1 : 0; };
  ASSERT_EQ(bcsc_solve_cg(p, 1, nullptr, b, 1, x, 1, BCSC_ROW_MAJOR, &result, &options), BCSC_OK);
  EXPECT_EQ(result.reason, BCSC_CG_CANCELLED);
  EXPECT_EQ(calls, 1);
  options.progress = [](void*, int64_t, double) -> int { throw 1; };
  EXPECT_EQ(bcsc_solve_cg(p, 1, nullptr, b, 1, x, 1, BCSC_ROW_MAJOR, &result, &options), BCSC_ERROR_INTERNAL);

  const bcsc_plan of_halves = plan(matrix(example<bcsc::half, std::int32_t>().csr()));
  EXPECT_EQ(bcsc_solve_cg(of_halves, 1, nullptr, b, 1, x, 1, BCSC_ROW_MAJOR, &result, nullptr), BCSC_ERROR_UNSUPPORTED);
  EXPECT_EQ(bcsc_solve_cg(plan(matrix(doubles_.csr())), 1, nullptr, b, 1, x, 1, BCSC_ROW_MAJOR, &result, nullptr),
            BCSC_ERROR_SIZE_MISMATCH);
}

// --- Structs of other versions of the header ------------------------------------------------------------------------

TEST_F(capi, options_of_an_older_header_are_taken) {
  const bcsc_sparse a = matrix(doubles_.csr());
  bcsc_plan_options options = plan_options();
  options.cols = 2;
  options.kernel = "no such kernel";
  bcsc_plan made = nullptr;
  EXPECT_EQ(bcsc_plan_create(context_, a, &made, &options), BCSC_ERROR_NO_SUCH_KERNEL);
  options.size = offsetof(bcsc_plan_options, kernel);  // the older header ended there: what follows is not ours
  EXPECT_NE(plan(a, &options), nullptr);
}

TEST_F(capi, options_of_a_newer_header_are_taken_unless_they_ask_for_more) {
  const bcsc_sparse a = matrix(doubles_.csr());
  struct {
    bcsc_plan_options known;
    std::int64_t asked_for;
  } newer{};
  newer.known.size = sizeof newer;
  EXPECT_NE(plan(a, &newer.known), nullptr);
  newer.asked_for = std::int64_t{1} << 56;  // in the last byte
  bcsc_plan made = nullptr;
  EXPECT_EQ(bcsc_plan_create(context_, a, &made, &newer.known), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("byte " + std::to_string(sizeof newer - 1))) << bcsc_last_error();
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi, outputs_are_as_long_as_the_caller_says) {
  const bcsc_plan p = plan(matrix(doubles_.csr()));
  struct {
    bcsc_plan_facts known;
    std::int64_t more;
  } newer{};
  newer.known.size = sizeof newer;
  newer.more = -1;
  ASSERT_EQ(bcsc_plan_get_facts(p, &newer.known), BCSC_OK);
  EXPECT_EQ(newer.known.size, sizeof newer);
  EXPECT_EQ(newer.known.nnz, 3);
  EXPECT_EQ(newer.more, 0);

  bcsc_plan_facts older{};
  older.size = offsetof(bcsc_plan_facts, nnzc);
  older.nnzc = -1;
  ASSERT_EQ(bcsc_plan_get_facts(p, &older), BCSC_OK);
  EXPECT_EQ(older.nnz, 3);
  EXPECT_EQ(older.nnzc, -1);
}

class capi_struct_size : public capi, public ::testing::WithParamInterface<size_t> {};

TEST_P(capi_struct_size, is_refused) {
  const bcsc_sparse a = matrix(doubles_.csr());
  bcsc_plan_options options = plan_options();
  options.size = GetParam();
  bcsc_plan made = nullptr;
  EXPECT_EQ(bcsc_plan_create(context_, a, &made, &options), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("options.size = " + std::to_string(GetParam()))) << bcsc_last_error();
  bcsc_sparse_facts facts{};
  facts.size = GetParam();
  EXPECT_EQ(bcsc_sparse_get_facts(a, &facts), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("facts.size = " + std::to_string(GetParam()))) << bcsc_last_error();
}
INSTANTIATE_TEST_SUITE_P(sizes, capi_struct_size,
                         ::testing::Values(0, 1, 7, sizeof(bcsc_plan_options) - 4, sizeof(bcsc_plan_options) + 1, 4104,
                                           std::numeric_limits<size_t>::max()));

// --- Errors ---------------------------------------------------------------------------------------------------------

TEST(capi_errors, every_code_has_a_name_and_a_text) {
  std::set<std::string> names, texts;
  for (int code = -1; code <= 1000; ++code) {
    const std::string name = bcsc_error_name(code), text = bcsc_error_text(code);
    EXPECT_EQ(name, to_string(static_cast<bcsc::errc>(code)));
    EXPECT_EQ(name == "unknown", text == "no code of this library") << code;
    if (name == "unknown") continue;
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_TRUE(texts.insert(text).second) << text << ", twice";
    EXPECT_GT(text.size(), 5u);
  }
  EXPECT_GT(names.size(), 30u);
}

struct version_case {
  const char* name;
  int difference;
  int code;
};
class capi_version : public ::testing::TestWithParam<version_case> {};
TEST_P(capi_version, is_compared) {
  EXPECT_EQ(bcsc_version_number(), BCSC_VERSION_NUMBER);
  EXPECT_EQ(bcsc_require_version(BCSC_VERSION_NUMBER + GetParam().difference), GetParam().code) << bcsc_last_error();
}
INSTANTIATE_TEST_SUITE_P(numbers, capi_version,
                         ::testing::Values(version_case{"the_same", 0, BCSC_OK},
                                           version_case{"a_newer_patch", 1, BCSC_ERROR_UNSUPPORTED},
                                           version_case{"a_newer_minor", 100, BCSC_ERROR_UNSUPPORTED},
                                           version_case{"an_older_minor_before_1", -100, BCSC_ERROR_UNSUPPORTED},
                                           version_case{"a_newer_major", 10000, BCSC_ERROR_UNSUPPORTED},
                                           version_case{"negative", -1000000, BCSC_ERROR_UNSUPPORTED}),
                         [](const auto& info) { return std::string(info.param.name); });

/// A call that must be refused: the code, words of the message.
struct refusal {
  const char* name;
  int code;
  const char* words;
  int (*call)(bcsc_context context, bcsc_sparse a, bcsc_plan p);
};

bcsc_csr_arrays changed(void (*change)(bcsc_csr_arrays&)) {
  static const example<double, std::int32_t> a;
  bcsc_csr_arrays arrays = a.csr();
  change(arrays);
  return arrays;
}
/// Makes a handle of such arrays, and a plan if that succeeds.
int use(bcsc_context context, void (*change)(bcsc_csr_arrays&)) {
  const bcsc_csr_arrays arrays = changed(change);
  bcsc_sparse made = nullptr;
  bcsc_plan p = nullptr;
  int code = bcsc_sparse_csr(&arrays, &made);
  EXPECT_EQ(code == 0, made != nullptr);
  if (code == 0) code = bcsc_plan_create(context, made, &p, nullptr);
  EXPECT_EQ(code == 0, p != nullptr);
  const std::string message = bcsc_last_error();
  bcsc_plan_free(p);
  bcsc_sparse_free(made);
  EXPECT_EQ(message, bcsc_last_error()) << "freeing has no errors";
  return code;
}
int plan_with(bcsc_context context, bcsc_sparse a, void (*change)(bcsc_plan_options&)) {
  bcsc_plan_options options{};
  options.size = sizeof options;
  change(options);
  bcsc_plan p = nullptr;
  const int code = bcsc_plan_create(context, a, &p, &options);
  bcsc_plan_free(p);
  return code;
}

const double one = 1, some_b[6] = {};
double some_c[6];
constexpr int invalid = BCSC_ERROR_INVALID_ARGUMENT;

const refusal refusals[] = {
    {"context_threads", invalid, "threads",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       bcsc_context made = nullptr;
       return bcsc_context_cpu(-1, &made);
     }},
    {"context_own_threads", invalid, "threads",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       bcsc_context made = nullptr;
       return bcsc_context_cpu_own_threads(-1, &made);
     }},
    {"context_output", invalid, "context is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan) { return bcsc_context_best(nullptr); }},
    {"backend_output", invalid, "backend is null",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return bcsc_context_backend(c, nullptr); }},
    {"describe_nobody", invalid, "context is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       const char* text = nullptr;
       return bcsc_context_describe(nullptr, &text);
     }},
    {"memory_nowhere", invalid, "context is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       void* memory = nullptr;
       return bcsc_memory_allocate(nullptr, 8, &memory);
     }},
    {"memory_of_all_the_world", BCSC_ERROR_OUT_OF_MEMORY, "memory",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) {
       void* memory = nullptr;
       return bcsc_memory_allocate(c, std::numeric_limits<size_t>::max(), &memory);
     }},
    {"copy_from_null", invalid, "from is null",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return bcsc_memory_copy(c, nullptr, some_c, 8); }},
    {"arrays_null", invalid, "arrays is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       bcsc_sparse made = nullptr;
       return bcsc_sparse_csr(nullptr, &made);
     }},
    {"row_ptr_null", invalid, "arrays.row_ptr is null",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.row_ptr = nullptr; }); }},
    {"col_ind_null", invalid, "arrays.col_ind is null",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.col_ind = nullptr; }); }},
    {"values_null", invalid, "arrays.values is null",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.values = nullptr; }); }},
    {"values_of_a_pattern", invalid, "a pattern has none",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) {
       return use(c, [](bcsc_csr_arrays& a) { a.value_type = BCSC_PATTERN; });
     }},
    {"a_pattern", BCSC_ERROR_UNSUPPORTED, "csr of pattern",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) {
       return use(c, [](bcsc_csr_arrays& a) {
         a.value_type = BCSC_PATTERN;
         a.values = nullptr;
       });
     }},
    {"value_type", invalid, "arrays.value_type = 5",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.value_type = 5; }); }},
    {"index_type", invalid, "arrays.index_type = -1",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.index_type = -1; }); }},
    {"memory_space", invalid, "arrays.memory_space = 2",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.memory_space = 2; }); }},
    {"device_arrays_for_the_cpu", BCSC_ERROR_WRONG_MEMORY_SPACE, "device",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) {
       return use(c, [](bcsc_csr_arrays& a) { a.memory_space = BCSC_DEVICE; });
     }},
    {"reserved_arrays", invalid, "arrays.reserved = 1",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.reserved = 1; }); }},
    {"rows_negative", invalid, "arrays.rows = -2",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.rows = -2; }); }},
    {"rows_too_many", BCSC_ERROR_SIZE_OVERFLOW, "arrays.rows",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.rows = INT64_MAX; }); }},
    {"nnz_wrong", BCSC_ERROR_INVALID_FORMAT, "row_ptr",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.nnz = 2; }); }},
    {"a_column_beyond", BCSC_ERROR_INDEX_OUT_OF_RANGE, "col_ind",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) { return use(c, [](bcsc_csr_arrays& a) { a.cols = 2; }); }},
    {"plan_of_nothing", invalid, "matrix is null",
     [](bcsc_context c, bcsc_sparse, bcsc_plan) {
       bcsc_plan p = nullptr;
       return bcsc_plan_create(c, nullptr, &p, nullptr);
     }},
    {"plan_output", invalid, "plan is null",
     [](bcsc_context c, bcsc_sparse a, bcsc_plan) { return bcsc_plan_create(c, a, nullptr, nullptr); }},
    {"plan_nowhere", invalid, "context is null",
     [](bcsc_context, bcsc_sparse a, bcsc_plan) {
       bcsc_plan p = nullptr;
       return bcsc_plan_create(nullptr, a, &p, nullptr);
     }},
    {"plan_cols", invalid, "cols = -1",
     [](bcsc_context c, bcsc_sparse a, bcsc_plan) {
       return plan_with(c, a, [](bcsc_plan_options& o) { o.cols = -1; });
     }},
    {"plan_transpose", invalid, "options.transpose = 2",
     [](bcsc_context c, bcsc_sparse a, bcsc_plan) {
       return plan_with(c, a, [](bcsc_plan_options& o) { o.transpose = 2; });
     }},
    {"plan_layout", invalid, "options.b_layout = 5",
     [](bcsc_context c, bcsc_sparse a, bcsc_plan) {
       return plan_with(c, a, [](bcsc_plan_options& o) { o.b_layout = 5; });
     }},
    {"plan_flag", invalid, "options.deterministic = 2",
     [](bcsc_context c, bcsc_sparse a, bcsc_plan) {
       return plan_with(c, a, [](bcsc_plan_options& o) { o.deterministic = 2; });
     }},
    {"plan_reserved", invalid, "options.reserved = 1",
     [](bcsc_context c, bcsc_sparse a, bcsc_plan) {
       return plan_with(c, a, [](bcsc_plan_options& o) { o.reserved = 1; });
     }},
    {"run_no_plan", invalid, "plan is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       return bcsc_plan_run(nullptr, 2, &one, some_b, 2, &one, some_c, 2, 0, nullptr);
     }},
    {"run_no_alpha", invalid, "alpha is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       return bcsc_plan_run(p, 2, nullptr, some_b, 2, &one, some_c, 2, 0, nullptr);
     }},
    {"run_no_b", invalid, "B.data is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       return bcsc_plan_run(p, 2, &one, nullptr, 2, &one, some_c, 2, 0, nullptr);
     }},
    {"run_ld", BCSC_ERROR_BAD_LEADING_DIMENSION, "B.ld = 1",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       return bcsc_plan_run(p, 2, &one, some_b, 1, &one, some_c, 2, 0, nullptr);
     }},
    {"run_layout", invalid, "c_layout = 2",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       return bcsc_plan_run(p, 2, &one, some_b, 2, &one, some_c, 2, 2, nullptr);
     }},
    {"update_another_pattern", BCSC_ERROR_PATTERN_MISMATCH, "",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       static const std::int32_t col_ind[] = {0, 1, 1};
       const bcsc_csr_arrays arrays = changed([](bcsc_csr_arrays& a) { a.col_ind = col_ind; });
       bcsc_sparse made = nullptr;
       EXPECT_EQ(bcsc_sparse_csr(&arrays, &made), BCSC_OK);
       const int code = bcsc_plan_update_values(p, made);
       bcsc_sparse_free(made);
       return code;
     }},
    {"update_another_type", invalid, "matrix is of fp32",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       const example<float, std::int32_t> a;
       const bcsc_csr_arrays arrays = a.csr();
       bcsc_sparse made = nullptr;
       EXPECT_EQ(bcsc_sparse_csr(&arrays, &made), BCSC_OK);
       const int code = bcsc_plan_update_values(p, made);
       bcsc_sparse_free(made);
       return code;
     }},
    {"explain_output", invalid, "text is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) { return bcsc_plan_explain(p, nullptr); }},
    {"workspace_output", invalid, "bytes is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) { return bcsc_plan_workspace_bytes(p, nullptr); }},
    {"transposed_output", invalid, "transposed is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) { return bcsc_plan_transposed(p, 0, nullptr); }},
    {"solve_output", invalid, "result is null",
     [](bcsc_context, bcsc_sparse, bcsc_plan p) {
       return bcsc_solve_cg(p, 1, nullptr, some_b, 1, some_c, 1, 0, nullptr, nullptr);
     }},
    {"read_nothing", BCSC_ERROR_IO_ERROR, "no/such/file.mtx",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       bcsc_sparse made = nullptr;
       return bcsc_sparse_read("no/such/file.mtx", BCSC_FP64, &made, nullptr);
     }},
    {"read_type", invalid, "value_type = 9",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       bcsc_sparse made = nullptr;
       return bcsc_sparse_read("a.mtx", 9, &made, nullptr);
     }},
    {"read_format", invalid, "options.format = \"mtx\"",
     [](bcsc_context, bcsc_sparse, bcsc_plan) {
       bcsc_read_options options{};
       options.size = sizeof options;
       options.format = "mtx";
       bcsc_sparse made = nullptr;
       return bcsc_sparse_read("a.mtx", BCSC_FP64, &made, &options);
     }},
    {"write_no_path", invalid, "path is null",
     [](bcsc_context, bcsc_sparse a, bcsc_plan) { return bcsc_sparse_write(a, nullptr, nullptr); }},
    {"write_unknown_name", invalid, "a.unknown",
     [](bcsc_context, bcsc_sparse a, bcsc_plan) { return bcsc_sparse_write(a, "a.unknown", nullptr); }},
    {"bcsc_of_csr", invalid, "csr, not bcsc",
     [](bcsc_context, bcsc_sparse a, bcsc_plan) {
       bcsc_bcsc_arrays arrays{};
       arrays.size = sizeof arrays;
       return bcsc_sparse_get_bcsc(a, &arrays);
     }},
    {"to_bcsc_m_block", invalid, "m_block = 0",
     [](bcsc_context, bcsc_sparse a, bcsc_plan) {
       bcsc_sparse made = nullptr;
       return bcsc_sparse_to_bcsc(a, 0, &made);
     }},
};

class capi_refusal : public capi, public ::testing::WithParamInterface<refusal> {};
TEST_P(capi_refusal, is_a_code_and_a_message) {
  const bcsc_sparse a = matrix(doubles_.csr());
  const bcsc_plan p = plan(a);
  EXPECT_STREQ(bcsc_last_error(), "");
  EXPECT_EQ(GetParam().call(context_, a, p), GetParam().code) << bcsc_last_error();
  EXPECT_TRUE(says(GetParam().words)) << bcsc_last_error();
  EXPECT_STRNE(bcsc_last_error(), "");
}
INSTANTIATE_TEST_SUITE_P(calls, capi_refusal, ::testing::ValuesIn(refusals),
                         [](const auto& info) { return std::string(info.param.name); });

/// Conversions and files trust what a handle owns and check what the caller's arrays say.
TEST_F(capi, conversions_check_the_callers_arrays) {
  example<double, std::int32_t> a;
  a.col_ind = {0, 7, 1};
  const bcsc_sparse wrong = matrix(a.csr());
  bcsc_sparse out = nullptr;
  EXPECT_EQ(bcsc_sparse_to_bcsc(wrong, 2, &out), BCSC_ERROR_INDEX_OUT_OF_RANGE);
  EXPECT_EQ(bcsc_sparse_to_csr(wrong, &out), BCSC_ERROR_INDEX_OUT_OF_RANGE);
  EXPECT_EQ(bcsc_sparse_transpose(wrong, &out), BCSC_ERROR_INDEX_OUT_OF_RANGE);
  const bcsc::test::temporary_folder folder;
  EXPECT_EQ(bcsc_sparse_write(wrong, (folder.path() / "a.mtx").c_str(), nullptr), BCSC_ERROR_INDEX_OUT_OF_RANGE);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.mtx"));
  EXPECT_EQ(out, nullptr);
}

TEST(capi_alone, nothing_may_be_freed) {
  bcsc_plan_free(nullptr);
  bcsc_sparse_free(nullptr);
  bcsc_context_free(nullptr);
  EXPECT_EQ(bcsc_memory_free(nullptr, nullptr), BCSC_OK);
  EXPECT_GT(std::strlen(bcsc_version()), 4u);
}

}  // namespace
