// What run_options::batch may ask: numbers, sizes, members that share memory (judged element by element), workspace.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "lib/plan/run_checks.hpp"

namespace bcsc {
namespace {

constexpr std::int64_t huge = std::int64_t{1} << 40;

const csr_matrix<double>& small_matrix() {
  static const csr_matrix<double> a(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});  // 1 0 2 / 0 3 0
  return a;
}

struct refusal {
  strided_batch batch;
  errc code;
  std::string words;
};

void PrintTo(const refusal& r, std::ostream* out) { *out << r.words; }

class batch_refusals : public ::testing::TestWithParam<refusal> {};

TEST_P(batch_refusals, name_parameter_and_value_and_leave_c_alone) {
  const auto& [batch, code, words] = GetParam();
  const spmm_plan<double> plan(context::cpu(1), small_matrix(), {.cols = 2});
  std::vector<double> b(12, 1), c(8, 7);
  try {
    plan.run(1, {b.data(), 3, 2}, 0, {c.data(), 2, 2}, {.batch = batch});
    ADD_FAILURE() << "taken";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
  EXPECT_EQ(c, std::vector<double>(8, 7));
}

INSTANTIATE_TEST_SUITE_P(
    all, batch_refusals,
    ::testing::Values(refusal{{-1, 6, 4}, errc::invalid_argument, "batch.count = -1"},
                      refusal{{2, -6, 4}, errc::invalid_argument, "batch.b_stride = -6"},
                      refusal{{2, 6, -4}, errc::invalid_argument, "batch.c_stride = -4"},
                      refusal{{1, -6, 4}, errc::invalid_argument, "batch.b_stride = -6"},
                      refusal{{huge, 6, huge}, errc::size_overflow, "batch.c_stride = 1099511627776"},
                      refusal{{huge, huge, 4}, errc::size_overflow, "batch.b_stride = 1099511627776"},
                      // elements fit, their bytes do not; neither do first and last address
                      refusal{{3, 0, std::int64_t{1} << 61}, errc::size_overflow, "batch.count = 3"},
                      refusal{{2, 0, (std::int64_t{1} << 60) - 10}, errc::size_overflow, "batch.count = 2"},
                      refusal{{2, 6, 0}, errc::overlapping_operands, "batch.c_stride = 0"},
                      refusal{{2, 6, 3}, errc::overlapping_operands, "batch.c_stride = 3"}));

TEST(batch_runs, nothing_is_looked_at_where_nothing_is_to_do) {
  const spmm_plan<double> plan(context::cpu(1), small_matrix(), {.cols = 2});
  EXPECT_NO_THROW(plan.run(1, {nullptr, 3, 2}, 0, {nullptr, 2, 2}, {.batch = {.count = 0}}));
  std::vector<double> b(6, 1), c(4, 7);
  plan.run(1, {b.data(), 3, 2}, 0, {c.data(), 2, 2}, {.batch = {0, 6, 4}});
  EXPECT_EQ(c, std::vector<double>(4, 7));
}

TEST(batch_runs, a_single_member_needs_no_strides) {
  const spmm_plan<double> plan(context::cpu(1), small_matrix(), {.cols = 2});
  const std::vector<double> b{1, 2, 3, 4, 5, 6};
  std::vector<double> c(4);
  plan.run(1, {b.data(), 3, 2}, 0, {c.data(), 2, 2}, {.batch = {.count = 1}});
  EXPECT_EQ(c, (std::vector<double>{11, 14, 9, 12}));
}

TEST(batch_runs, without_a_product_scale_every_c) {
  const spmm_plan<double> plan(context::cpu(1), small_matrix(), {.cols = 2});
  std::vector<double> c{1, 2, 3, 4, 9, 5, 6, 7, 8};
  plan.run(0, {nullptr, 3, 2}, 3, {c.data(), 2, 2}, {.batch = {2, 6, 5}});
  EXPECT_EQ(c, (std::vector<double>{3, 6, 9, 12, 9, 15, 18, 21, 24}));
}

/// Which elements a matrix has, from its definition.
std::set<std::int64_t> elements(std::int64_t first, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                layout order) {
  std::set<std::int64_t> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) all.insert(first + (order == layout::row_major ? i * ld + j : i + j * ld));
  }
  return all;
}

bool meet(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::ranges::any_of(a, [&](std::int64_t x) { return b.contains(x); });
}

bool refused(const dense_view<double>& b, const dense_view<double>& c, const strided_batch& batch) {
  try {
    plan::check_batch<double>(b, c, batch);
    return false;
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::overlapping_operands) << e.what();
    return true;
  }
}

TEST(batch_overlap, is_found_among_cs_if_and_only_if_members_share_an_element) {
  std::vector<double> array(200);
  std::size_t num_refused = 0, num_taken = 0;
  for (const layout order : {layout::row_major, layout::col_major}) {
    for (std::int64_t rows = 1; rows <= 3; ++rows) {
      for (std::int64_t cols = 1; cols <= 3; ++cols) {
        for (std::int64_t ld = order == layout::row_major ? cols : rows; ld <= 8; ++ld) {
          for (std::int64_t stride = 0; stride <= 12; ++stride) {
            for (std::int64_t count = 1; count <= 4; ++count) {
              bool shared = false;
              for (std::int64_t k = 1; k < count; ++k) {
                for (std::int64_t j = 0; j < k; ++j) {
                  shared = shared || meet(elements(j * stride, rows, cols, ld, order),
                                          elements(k * stride, rows, cols, ld, order));
                }
              }
              const dense_view<double> c(array.data(), rows, cols, ld, order), no_b(nullptr, 0, cols);
              ASSERT_EQ(refused(no_b, c, {count, 0, stride}), shared)
                  << rows << " x " << cols << ", ld " << ld << ", stride " << stride << ", count " << count;
              ++(shared ? num_refused : num_taken);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(num_refused, 500u);
  EXPECT_GT(num_taken, 500u);
}

// B 3 x 2 and C 2 x 2 in lines of one array; where their leading dimensions differ, only operands that are apart are
// accepted.
TEST(batch_overlap, is_found_between_bs_and_cs) {
  std::vector<double> array(400);
  const layout order = layout::row_major;
  std::size_t num_refused = 0, num_taken = 0;
  for (std::int64_t ld : {6, 9}) {
    for (std::int64_t c_first = 0; c_first <= 40; ++c_first) {
      for (std::int64_t b_stride : {0, 2, 18, 27}) {
        for (std::int64_t c_stride : {2, 4, 18, 27}) {
          for (std::int64_t count : {2, 3}) {
            const dense_view<double> b(array.data() + 20, 3, 2, ld), c(array.data() + c_first, 2, 2, ld);
            bool shared = false, among_cs = false;
            for (std::int64_t k = 0; k < count; ++k) {
              const auto its_c = elements(c_first + k * c_stride, 2, 2, ld, order);
              for (std::int64_t j = 0; j < count; ++j) {
                shared = shared || meet(elements(20 + j * b_stride, 3, 2, ld, order), its_c);
                among_cs = among_cs || (j != k && meet(elements(c_first + j * c_stride, 2, 2, ld, order), its_c));
              }
            }
            if (shared || among_cs) {
              ASSERT_TRUE(refused(b, c, {count, b_stride, c_stride}))
                  << "ld " << ld << ", C from " << c_first << ", strides " << b_stride << ", " << c_stride;
              ++num_refused;
            } else if (!refused(b, c, {count, b_stride, c_stride})) {
              ++num_taken;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(num_refused, 100u);
  EXPECT_GT(num_taken, 50u);
}

TEST(batch_workspace, follows_the_number_of_members_up_to_the_bound) {
  const auto bytes = [](std::int64_t members, std::int64_t most) {
    return spmm_plan<double>(context::cpu(1), small_matrix(),
                             {.cols = 8, .b_layout = layout::col_major, .batch = members, .max_workspace_bytes = most})
        .workspace_bytes();
  };
  const std::size_t one = bytes(1, 1 << 20);
  EXPECT_GT(one, 0u);
  EXPECT_EQ(bytes(5, 1 << 20), 5 * one);
  EXPECT_EQ(bytes(5, static_cast<std::int64_t>(2 * one + 1)), 2 * one);
  try {
    bytes(0, 1 << 20);
    ADD_FAILURE() << "taken";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("plan_options::batch = 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace bcsc
