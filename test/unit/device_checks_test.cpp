// Validation and analysis of a matrix on the GPU say what they say on the host, word for word. In a build without CUDA,
// or on a machine without a usable GPU, all but the refusals skip.
#include <gtest/gtest.h>

#include <functional>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/error.hpp"
#include "bcsc_config.h"
#include "converters/formats/device_analysis.hpp"
#include "converters/formats/device_validate.hpp"
#include "converters/formats/pattern_hash.hpp"
#include "test/support/battery.hpp"
#include "test/support/same_bytes.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

const std::vector<std::int64_t> m_blocks{1, 3, 8, 64, 1000};

template <class T, class I>
void compare_with_host(int device, const sparse_case& c) {
  const csr_matrix<T, I> host = csr_of<T, I>(c);
  const device_csr<T, I> on_device(device, host.view());
  EXPECT_NO_THROW(converters::validate_on_device(device, on_device.view()));
  const auto wanted = analyse_blocks(host.view(), std::span(m_blocks));
  const auto expect_facts = [&](const std::vector<block_statistics>& facts) {
    ASSERT_EQ(facts.size(), wanted.size());
    for (std::size_t k = 0; k < facts.size(); ++k) {
      EXPECT_EQ(facts[k].m_block, wanted[k].m_block);
      EXPECT_EQ(facts[k].num_row_blocks, wanted[k].num_row_blocks);
      EXPECT_EQ(facts[k].nnzc, wanted[k].nnzc);
      EXPECT_EQ(facts[k].max_block_nnz, wanted[k].max_block_nnz);
      EXPECT_EQ(facts[k].max_block_nnzc, wanted[k].max_block_nnzc);
      EXPECT_EQ(facts[k].reuse, wanted[k].reuse);
      EXPECT_EQ(facts[k].skew, wanted[k].skew);
    }
  };
  expect_facts(converters::analyse_blocks_on_device(device, on_device.view(), std::span(m_blocks)));
  for (const std::int64_t m_block : m_blocks) {
    SCOPED_TRACE(m_block);
    const bcsc_matrix<T, I> blocked = to_bcsc(host, m_block);
    const device_bcsc<T, I> blocks = upload(context::cuda(device), blocked.view());
    EXPECT_NO_THROW(converters::validate_on_device(device, blocks.view()));
    expect_facts(converters::analyse_blocks_on_device(device, blocks.view(), std::span(m_blocks)));
  }
}

/// The battery, and one matrix large enough for many thread blocks.
std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  all.push_back(make_case("large", 20000, 30000, scatter(20000, 30000, 400000, 21), values::real, 22));
  return all;
}

class device_checks : public ::testing::TestWithParam<sparse_case> {
 protected:
  void SetUp() override {
    if (device_ < 0) GTEST_SKIP() << "needs a GPU";
  }
  const int device_ = usable_device();
};

TEST_P(device_checks, fp32_int32) { compare_with_host<float, std::int32_t>(device_, GetParam()); }
TEST_P(device_checks, fp32_int64) { compare_with_host<float, std::int64_t>(device_, GetParam()); }
TEST_P(device_checks, fp64_int32) { compare_with_host<double, std::int32_t>(device_, GetParam()); }
TEST_P(device_checks, fp64_int64) { compare_with_host<double, std::int64_t>(device_, GetParam()); }
TEST_P(device_checks, fp16_int32) { compare_with_host<half, std::int32_t>(device_, GetParam()); }
TEST_P(device_checks, bf16_int64) { compare_with_host<bfloat16, std::int64_t>(device_, GetParam()); }
INSTANTIATE_TEST_SUITE_P(battery, device_checks, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return "m_" + info.param.name; });

// --- Broken arrays
// ----------------------------------------------------------------------------------------------------

using indices = std::vector<std::int32_t>;
using numbers = std::vector<double>;

/// A matrix whose arrays break the format. The device says what the host says, word for word.
struct broken {
  const char* name;
  std::function<void()> on_host;
  std::function<void(int)> on_device;
};

broken broken_csr(const char* name, std::int64_t rows, std::int64_t cols, indices row_ptr, indices col_ind) {
  const numbers values(col_ind.size(), 1.0);
  const csr_matrix<double> a(rows, cols, row_ptr, col_ind, values, trust::trusted);
  return {name, [a] { validate(a.view()); },
          [a](int device) {
            const device_csr<double, std::int32_t> copy(device, a.view());
            converters::validate_on_device(device, copy.view());
          }};
}

broken broken_bcsc(const char* name, std::int64_t m_block, indices brow_ptr, indices col_ind, indices col_ptr,
                   indices row_ind) {
  const numbers values(row_ind.size(), 1.0);
  const bcsc_matrix<double> a(4, 3, m_block, brow_ptr, col_ind, col_ptr, row_ind, values, trust::trusted);
  return {name, [a] { validate(a.view()); },
          [a](int device) {
            const auto copy = upload(context::cuda(device), a.view(), trust::trusted);
            converters::validate_on_device(device, copy.view());
          }};
}

// The valid matrices these are faults of: CSR of rows {0, 2}, {1} in 2 x 3; BCSC of 4 x 3, m_block 2, entries
// (0,0) (1,0) (1,2) | (2,1) (3,1).
const broken broken_matrices[] = {
    broken_csr("csr_negative_rows", -1, 3, {0}, {}),
    broken_csr("csr_rows_beyond_int32", std::int64_t{1} << 31, 3, {0}, {}),
    broken_csr("csr_no_row_ptr", 0, 3, {}, {}),
    broken_csr("csr_short_row_ptr", 2, 3, {0, 2}, {0, 2, 1}),
    broken_csr("csr_row_ptr_from_one", 2, 3, {1, 2, 3}, {0, 2, 1}),
    broken_csr("csr_falling_row_ptr", 2, 3, {0, 4, 3}, {0, 2, 1}),
    broken_csr("csr_row_ptr_ends_early", 2, 3, {0, 2, 2}, {0, 2, 1}),
    broken_csr("csr_row_ptr_ends_late", 2, 3, {0, 2, 9}, {0, 2, 1}),
    broken_csr("csr_col_beyond", 2, 3, {0, 2, 3}, {0, 3, 1}),
    broken_csr("csr_col_below_zero", 2, 3, {0, 2, 3}, {0, 2, -1}),
    broken_csr("csr_unsorted", 2, 3, {0, 2, 3}, {2, 0, 1}),
    broken_csr("csr_duplicate", 3, 3, {0, 0, 1, 3}, {0, 1, 1}),
    broken_bcsc("bcsc_m_block_zero", 0, {0, 2, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_short_brow_ptr", 2, {0, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_falling_brow_ptr", 2, {0, 4, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_brow_ptr_ends_early", 2, {0, 2, 2}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_empty_column_stored", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 2, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_short_col_ptr", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_col_beyond", 2, {0, 2, 3}, {0, 3, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_row_beyond", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 4}),
    broken_bcsc("bcsc_columns_unsorted", 2, {0, 2, 3}, {2, 0, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 3}),
    broken_bcsc("bcsc_row_of_the_next_block", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 2, 2, 3}),
    broken_bcsc("bcsc_row_of_the_block_before", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 1, 3}),
    broken_bcsc("bcsc_rows_unsorted", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 3, 5}, {1, 0, 1, 2, 3}),
    broken_bcsc("bcsc_row_twice", 2, {0, 2, 3}, {0, 2, 1}, {0, 2, 3, 5}, {0, 1, 1, 2, 2}),
};

template <class Body>
std::pair<errc, std::string> answer_of(Body&& body) {
  try {
    body();
  } catch (const error& e) {
    return {e.code(), e.what()};
  }
  return {errc::ok, "accepted"};
}

class device_refuses : public ::testing::TestWithParam<broken> {};

TEST_P(device_refuses, what_the_host_refuses) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "needs a GPU";
  const auto wanted = answer_of(GetParam().on_host);
  ASSERT_NE(wanted.first, errc::ok);
  const auto actual = answer_of([&] { GetParam().on_device(device); });
  EXPECT_EQ(to_string(actual.first), to_string(wanted.first));
  EXPECT_EQ(actual.second, wanted.second);
}
INSTANTIATE_TEST_SUITE_P(broken, device_refuses, ::testing::ValuesIn(broken_matrices),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(device_refuses_arguments, of_any_kind) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "needs a GPU";
  const csr_matrix<double, std::int64_t> host(2, 2, {0, 1, 2}, {0, 1}, {1, 2});
  const device_csr<double, std::int64_t> a(device, host.view());
  using converters::analyse_blocks_on_device, converters::validate_on_device;
  const std::int64_t heights[] = {8, 0};
  EXPECT_EQ(answer_of([&] { analyse_blocks_on_device(device, a.view(), heights); }).first, errc::invalid_argument);
  EXPECT_EQ(answer_of([&] { analyse_blocks_on_device(device, host.view(), std::span(heights, 1)); }).first,
            errc::wrong_memory_space);
  EXPECT_EQ(answer_of([&] { validate_on_device(device, host.view()); }).first, errc::wrong_memory_space);
  csr_view<double, std::int64_t> lying = host.view();  // says it lies on the device, but does not
  lying.space = memory_space::device;
  EXPECT_EQ(answer_of([&] { validate_on_device(device, lying); }).first, errc::wrong_memory_space);
}

#if !BCSC_WITH_CUDA
TEST(device_checks_absent, is_a_clear_error) {
  const csr_view<float> a{.space = memory_space::device};
  const bcsc_view<float> b{.space = memory_space::device};
  const std::function<void()> all[] = {
      [&] { converters::validate_on_device(0, a); },
      [&] { converters::validate_on_device(0, b); },
      [&] { converters::analyse_blocks_on_device(0, a, std::span(m_blocks)); },
      [&] { converters::analyse_blocks_on_device(0, b, std::span(m_blocks)); },
      [&] { converters::hash_pattern_on_device(0, converters::csr_pattern(a)); },
  };
  for (const auto& body : all) {
    const auto [code, says] = answer_of(body);
    EXPECT_EQ(code, errc::no_device);
    EXPECT_NE(says.find("this build of bcsc has no CUDA"), std::string::npos) << says;
  }
}
#endif

}  // namespace
}  // namespace bcsc::test
