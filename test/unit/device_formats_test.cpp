// Matrices on the GPU: each format uploaded and downloaded, and every conversion there, against what the host makes of
// the same matrix: bit for bit. Without a usable GPU all but the refusals and the arithmetic of indices skip.
#include "bcsc/device.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <limits>

#include "bcsc/any_matrix.hpp"
#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "bcsc_config.h"
#include "converters/formats/device_divider.hpp"
#include "test/support/battery.hpp"
#include "test/support/count_blocks.hpp"
#include "test/support/operands.hpp"
#include "test/support/real_matrices.hpp"
#include "test/unit/same_on_device.hpp"

#if BCSC_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace bcsc::test {
namespace {

// --- Equal, bit for bit ---------------------------------------------------------------------------------------------

using bcsc::test::expect_same;  // of compact BCSC

template <class X>
void expect_same(std::span<const X> actual, std::span<const X> wanted, const char* array) {
  ASSERT_EQ(actual.size(), wanted.size()) << array;
  if (wanted.empty() || std::memcmp(actual.data(), wanted.data(), wanted.size_bytes()) == 0) return;
  std::size_t k = 0;
  while (std::memcmp(&actual[k], &wanted[k], sizeof(X)) == 0) ++k;
  ADD_FAILURE() << array << " differs first at " << k << " of " << wanted.size();
}
void expect_same(pattern_span actual, pattern_span wanted, const char* array) {
  EXPECT_EQ(actual.size(), wanted.size()) << array;
}

template <class View>
void expect_same_shape(const View& actual, const View& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
}
template <class T, class I>
void expect_same(const coo_view<T, I>& actual, const coo_view<T, I>& wanted) {
  expect_same_shape(actual, wanted);
  expect_same(actual.row_ind, wanted.row_ind, "row_ind");
  expect_same(actual.col_ind, wanted.col_ind, "col_ind");
  expect_same(actual.values, wanted.values, "values");
}
template <class T, class I>
void expect_same(const csr_view<T, I>& actual, const csr_view<T, I>& wanted) {
  expect_same_shape(actual, wanted);
  expect_same(actual.row_ptr, wanted.row_ptr, "row_ptr");
  expect_same(actual.col_ind, wanted.col_ind, "col_ind");
  expect_same(actual.values, wanted.values, "values");
}
template <class T, class I>
void expect_same(const csc_view<T, I>& actual, const csc_view<T, I>& wanted) {
  expect_same_shape(actual, wanted);
  expect_same(actual.col_ptr, wanted.col_ptr, "col_ptr");
  expect_same(actual.row_ind, wanted.row_ind, "row_ind");
  expect_same(actual.values, wanted.values, "values");
}
template <class T, class I>
void expect_same(const bsr_view<T, I>& actual, const bsr_view<T, I>& wanted) {
  expect_same_shape(actual, wanted);
  EXPECT_EQ(actual.row_block, wanted.row_block);
  EXPECT_EQ(actual.col_block, wanted.col_block);
  expect_same(actual.brow_ptr, wanted.brow_ptr, "brow_ptr");
  expect_same(actual.bcol_ind, wanted.bcol_ind, "bcol_ind");
  expect_same(actual.values, wanted.values, "values");
}
template <class T, class I>
void expect_same(const ell_view<T, I>& actual, const ell_view<T, I>& wanted) {
  expect_same_shape(actual, wanted);
  EXPECT_EQ(actual.block, wanted.block);
  EXPECT_EQ(actual.blocks_per_row, wanted.blocks_per_row);
  expect_same(actual.bcol_ind, wanted.bcol_ind, "bcol_ind");
  expect_same(actual.values, wanted.values, "values");
}
template <class T, class I>
void expect_same(const bcsc_view<T, I>& actual, const bcsc_view<T, I>& wanted) {
  expect_same_shape(actual, wanted);
  EXPECT_EQ(actual.m_block, wanted.m_block);
  expect_same(actual.brow_ptr, wanted.brow_ptr, "brow_ptr");
  expect_same(actual.col_ind, wanted.col_ind, "col_ind");
  expect_same(actual.col_ptr, wanted.col_ptr, "col_ptr");
  expect_same(actual.row_ind, wanted.row_ind, "row_ind");
  expect_same(actual.values, wanted.values, "values");
}
template <class T>
void expect_same(const dense_view<const T>& actual, const dense_view<const T>& wanted) {
  expect_same_shape(actual, wanted);
  EXPECT_EQ(actual.order, wanted.order);
  ASSERT_EQ(actual.ld, wanted.ld);
  const auto size = static_cast<std::size_t>(wanted.rows * wanted.cols);
  expect_same(std::span<const T>(actual.data, size), std::span<const T>(wanted.data, size), "values");
}

/// A device matrix equals what the host made.
template <class View, class Matrix>
void expect_same_matrix(const context& ctx, const device_matrix<View>& actual, const Matrix& wanted, const char* what) {
  SCOPED_TRACE(what);
  const auto fetched = download(ctx, actual);
  const Matrix& constant = fetched;
  expect_same(constant.view(), wanted.view());
}

// --- Operands -------------------------------------------------------------------------------------------------------

template <class T>
T quiet_nan_with_payload() {
  if constexpr (std::same_as<T, float>) return std::bit_cast<float>(0xffc12345u);
  if constexpr (std::same_as<T, double>) return std::bit_cast<double>(0x7ff8000012345678ull);
  if constexpr (std::same_as<T, half>) return half::from_bits(0xfe55);
  if constexpr (std::same_as<T, bfloat16>) return bfloat16::from_bits(0x7fd5);
  return T{};
}

template <class T>
T min_subnormal() {
  if constexpr (std::same_as<T, float>) return std::numeric_limits<float>::denorm_min();
  if constexpr (std::same_as<T, double>) return std::numeric_limits<double>::denorm_min();
  if constexpr (std::same_as<T, half> || std::same_as<T, bfloat16>) return T::from_bits(0x8001);
  return T{};
}

/// CSR of a case, with -0, NaN, infinity and a subnormal number among its values.
template <class T, class I>
csr_matrix<T, I> matrix_of(const sparse_case& c) {
  std::vector<I> row_ptr(static_cast<std::size_t>(c.rows) + 1, 0), col_ind;
  element_array<T> entries;
  for (std::size_t k = 0; k < c.entries.size(); ++k) {
    const triplet& e = c.entries[k];
    ++row_ptr[static_cast<std::size_t>(e.row) + 1];
    col_ind.push_back(static_cast<I>(e.col));
    entries.push_back(k % 31 == 5    ? T(-0.0f)
                      : k % 31 == 11 ? quiet_nan_with_payload<T>()
                      : k % 31 == 17 ? T(-std::numeric_limits<float>::infinity())
                      : k % 31 == 23 ? min_subnormal<T>()
                                     : T(e.value));
  }
  for (std::size_t i = 1; i < row_ptr.size(); ++i) row_ptr[i] += row_ptr[i - 1];
  return {c.rows, c.cols, std::move(row_ptr), std::move(col_ind), std::move(entries)};
}

/// The battery, and one matrix that takes many thread blocks.
std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  all.push_back(make_case("large", 3000, 5000, scatter(3000, 5000, 60000, 21), values::real, 22));
  return all;
}

/// In which block sizes a matrix is converted, and how many bytes a format with padding may take, since it may grow far
/// beyond its entries.
struct extent {
  std::vector<std::int64_t> heights;
  std::vector<std::pair<std::int64_t, std::int64_t>> bsr_blocks;
  std::vector<std::int64_t> ell_blocks;
  std::int64_t max_padded_bytes;
};
const extent every_size{{1, 3, 8, 64, 1000}, {{1, 1}, {2, 3}, {4, 4}, {16, 1}, {5, 700}}, {1, 3, 8, 32}, 1 << 27};

// --- Every format, every conversion ---------------------------------------------------------------------------------

/// Formats that hold entries as they are.
template <class T, class I>
void compare_entries(const context& ctx, const csr_matrix<T, I>& host, const device_csr<T, I>& device,
                     const extent& sizes) {
  const auto up_and_down = [&](const auto& matrix, const char* what) {
    expect_same_matrix(ctx, upload(ctx, matrix), matrix, what);
  };
  up_and_down(host, "csr up and down");

  const coo_matrix<T, I> coo = to_coo(host);
  up_and_down(coo, "coo up and down");
  expect_same_matrix(ctx, to_coo_on_device(ctx, device), coo, "csr -> coo");
  expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, coo)), host, "coo -> csr");
  expect_same_matrix(ctx, sort_and_sum_on_device(ctx, upload(ctx, coo)), coo, "coo already in order");

  const csc_matrix<T, I> csc = to_csc(host);
  up_and_down(csc, "csc up and down");
  expect_same_matrix(ctx, to_csc_on_device(ctx, device), csc, "csr -> csc");
  expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, csc)), host, "csc -> csr");

  expect_same_matrix(ctx, transpose_on_device(ctx, device), transpose(host), "transpose");

  for (const std::int64_t m_block : sizes.heights) {
    SCOPED_TRACE(m_block);
    const bcsc_matrix<T, I> bcsc = to_bcsc(host, m_block);
    up_and_down(bcsc, "bcsc up and down");
    expect_same_matrix(ctx, to_bcsc_on_device(ctx, device, m_block), bcsc, "csr -> bcsc");
    expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, bcsc)), host, "bcsc -> csr");

    for (const bool narrow : {false, true}) {
      const auto compact = to_compact(host, {.m_block = m_block, .narrow_columns = narrow});
      up_and_down(compact, "compact up and down");
      expect_same_matrix(ctx, to_compact_on_device(ctx, device, m_block, narrow), compact, "csr -> compact");
      expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, compact)), host, "compact -> csr");
    }
  }
}

/// Formats that store zeros besides the entries. The way back drops these and all stored zeros: so does the host.
template <class T, class I>
void compare_padded(const context& ctx, const csr_matrix<T, I>& host, const device_csr<T, I>& device,
                    const extent& sizes) {
  const std::int64_t max_values = sizes.max_padded_bytes / static_cast<std::int64_t>(sizeof(T));
  for (const auto& [row_block, col_block] : sizes.bsr_blocks) {
    SCOPED_TRACE(std::to_string(row_block) + " x " + std::to_string(col_block));
    const block_count blocks = count_blocks(host.view(), row_block, col_block);
    if (blocks.all * row_block * col_block > max_values) continue;
    const bsr_matrix<T, I> bsr = to_bsr(host, row_block, col_block);
    EXPECT_EQ(bsr.num_blocks(), blocks.all);
    expect_same_matrix(ctx, upload(ctx, bsr), bsr, "bsr up and down");
    expect_same_matrix(ctx, to_bsr_on_device(ctx, device, row_block, col_block), bsr, "csr -> bsr");
    expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, bsr)), to_csr(bsr), "bsr -> csr");
  }
  for (const std::int64_t block : sizes.ell_blocks) {
    SCOPED_TRACE(block);
    const block_count blocks = count_blocks(host.view(), block, block);
    if (blocks.most * block * (host.rows() + block) > max_values) continue;
    const ell_matrix<T, I> ell = to_ell(host, block);
    EXPECT_EQ(ell.blocks_per_row(), blocks.most);
    expect_same_matrix(ctx, upload(ctx, ell), ell, "ell up and down");
    expect_same_matrix(ctx, to_ell_on_device(ctx, device, block), ell, "csr -> ell");
    expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, ell)), to_csr(ell), "ell -> csr");
  }
  if (host.cols() > 0 && host.rows() > max_values / host.cols()) return;
  for (const layout order : {layout::row_major, layout::col_major}) {
    SCOPED_TRACE(to_string(order));
    const dense_matrix<T> dense = to_dense(host, order);
    expect_same_matrix(ctx, upload(ctx, dense), dense, "dense up and down");
    expect_same_matrix(ctx, to_dense_on_device(ctx, device, order), dense, "csr -> dense");
    expect_same_matrix(ctx, to_csr_on_device<I>(ctx, upload(ctx, dense)), to_csr<I>(dense), "dense -> csr");
  }
}

template <class T, class I>
void compare_with_host(const context& ctx, const csr_matrix<T, I>& host, const extent& sizes) {
  const device_csr<T, I> device = upload(ctx, host);
  EXPECT_EQ(device.view().space, memory_space::device);
  compare_entries(ctx, host, device, sizes);
  if constexpr (number<T>) compare_padded(ctx, host, device, sizes);
}

/// The element and index types, as rows of a table.
struct typed_run {
  const char* name;
  void (*battery)(const context&, const sparse_case&);
  void (*duplicates)(const context&);
  void (*real)(const context&, const csr_matrix<double, std::int32_t>&, const extent&);
};

template <class T, class I>
void run_battery(const context& ctx, const sparse_case& c) {
  compare_with_host(ctx, matrix_of<T, I>(c), every_size);
}

template <class T, class I>
void run_real(const context& ctx, const csr_matrix<double, std::int32_t>& a, const extent& sizes) {
  compare_with_host(ctx, cast<T, I>(a), sizes);
}

/// Entries in any order, many of them at one place, against the host's constructor.
template <class T, class I>
void run_duplicates(const context& ctx) {
  struct shape {
    const char* name;
    std::int64_t rows, cols, entries;
  };
  // The smallest takes a key of no bits; dimensions so large that two indices do not fit 64 bits exist only with 64-bit
  // indices.
  const std::int64_t wide = sizeof(I) == 8 ? std::int64_t{1} << 62 : (std::int64_t{1} << 31) - 1;
  const shape shapes[] = {{"nothing", 5, 5, 0},        {"one place", 1, 1, 1000},
                          {"few places", 4, 3, 5000},  {"many places", 800, 900, 20000},
                          {"one row", 1, 5000, 20000}, {"wide", wide, wide, 300}};
  for (const shape& s : shapes) {
    SCOPED_TRACE(s.name);
    test_random random(static_cast<std::uint64_t>(s.entries + s.cols));
    std::vector<I> row_ind, col_ind;
    element_array<T> values;
    for (std::int64_t k = 0; k < s.entries; ++k) {
      // Every third entry repeats a place that was drawn before.
      const std::size_t former = row_ind.empty() ? 0 : static_cast<std::size_t>(random.below(std::ssize(row_ind)));
      const bool again = k % 3 == 2;
      row_ind.push_back(again ? row_ind[former] : static_cast<I>(random.below(s.rows)));
      col_ind.push_back(again ? col_ind[former] : static_cast<I>(random.below(s.cols)));
      values.push_back(T(random.real()));
    }
    const coo_view<T, I> given{s.rows, s.cols, row_ind, col_ind, values};
    const coo_matrix<T, I> wanted(s.rows, s.cols, row_ind, col_ind, values);
    const device_coo<T, I> device = upload(ctx, given, trust::trusted);
    expect_same_matrix(ctx, sort_and_sum_on_device(ctx, device), wanted, "sorted and summed");
    if (s.entries > 1) {
      EXPECT_LT(wanted.nnz(), s.entries);
    }
  }
}

template <class T, class I>
constexpr typed_run run_of(const char* name) {
  return {name, run_battery<T, I>, run_duplicates<T, I>, run_real<T, I>};
}
constexpr typed_run typed_runs[] = {
    run_of<float, std::int32_t>("fp32_int32"),      run_of<float, std::int64_t>("fp32_int64"),
    run_of<double, std::int32_t>("fp64_int32"),     run_of<double, std::int64_t>("fp64_int64"),
    run_of<half, std::int32_t>("fp16_int32"),       run_of<half, std::int64_t>("fp16_int64"),
    run_of<bfloat16, std::int32_t>("bf16_int32"),   run_of<bfloat16, std::int64_t>("bf16_int64"),
    run_of<pattern, std::int32_t>("pattern_int32"), run_of<pattern, std::int64_t>("pattern_int64"),
};

class device_formats : public ::testing::TestWithParam<std::tuple<typed_run, sparse_case>> {};

TEST_P(device_formats, are_the_host_s) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const auto& [types, c] = GetParam();
  types.battery(context::cuda(), c);
}
INSTANTIATE_TEST_SUITE_P(battery, device_formats,
                         ::testing::Combine(::testing::ValuesIn(typed_runs), ::testing::ValuesIn(cases())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_m_" + std::get<1>(info.param).name;
                         });

class device_duplicates : public ::testing::TestWithParam<typed_run> {};

TEST_P(device_duplicates, are_summed_in_order) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  GetParam().duplicates(context::cuda());
}
INSTANTIATE_TEST_SUITE_P(types, device_duplicates, ::testing::ValuesIn(typed_runs),
                         [](const auto& info) { return std::string(info.param.name); });

// --- Real matrices --------------------------------------------------------------------------------------------------

class device_formats_real : public ::testing::TestWithParam<std::string> {};
// Without the folder of matrices there are none.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(device_formats_real);

TEST_P(device_formats_real, are_the_host_s_in_every_type) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const auto a = read_csr<double, std::int32_t>(real_matrix_path(GetParam()), read_real_matrix_with());
  if (!is_for_every_run(static_cast<std::size_t>(a.nnz()))) {
    GTEST_SKIP() << a.nnz() << " entries: only with BCSC_ROUNDTRIP_ALL=1";
  }
  const extent sizes{{8, 64}, {{4, 4}, {2, 3}}, {8, 3}, padded_limit()};
  for (const typed_run& types : typed_runs) {
    SCOPED_TRACE(types.name);
    types.real(context::cuda(), a, sizes);
  }
}
INSTANTIATE_TEST_SUITE_P(matrices, device_formats_real, ::testing::ValuesIn(real_matrix_names()),
                         real_matrix_test_name);

// --- Sizes beyond the usual -----------------------------------------------------------------------------------------

/// Row block and column take about 32 bits together, about 64, and more.
TEST(device_formats_wide, keys_of_any_width) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  for (const int bits : {25, 26, 27, 28, 56, 57, 58, 59, 62}) {
    const std::int64_t cols = std::int64_t{1} << bits;
    SCOPED_TRACE(cols);
    const auto host =
        matrix_of<float, std::int64_t>(make_case("wide", 100, cols, scatter(100, cols, 700, 31), values::real, 32));
    const auto device = upload(ctx, host);
    expect_same_matrix(ctx, to_bcsc_on_device(ctx, device, 2), to_bcsc(host, 2), "csr -> bcsc");
    expect_same_matrix(ctx, to_bsr_on_device(ctx, device, 1, 3), to_bsr(host, 1, 3), "csr -> bsr");
    expect_same_matrix(ctx, to_csr_on_device(ctx, to_bsr_on_device(ctx, device, 1, 3)), to_csr(to_bsr(host, 1, 3)),
                       "bsr -> csr");
    expect_same_matrix(ctx, to_ell_on_device(ctx, device, 2), to_ell(host, 2), "csr -> ell");
    expect_same_matrix(ctx, to_coo_on_device(ctx, device), to_coo(host), "csr -> coo");
  }
}

/// More stored values than 32 bits can count, and than a grid has threads: all checks are done on the device.
TEST(device_formats_wide, more_values_than_32_bits_count) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  if (ctx.device().memory_bytes < std::int64_t{24} << 30) GTEST_SKIP() << "needs a GPU of 24 GiB";
  constexpr std::int64_t rows = 70001, cols = 65003;
  static_assert(rows * cols > std::int64_t{1} << 32);
  auto positions = scatter(rows, cols, 100000, 41);
  positions.insert({rows - 1, cols - 1});
  sparse_case c = make_case("vast", rows, cols, positions, values::small_integers, 42);
  const csr_matrix<half, std::int32_t> host = csr_of<half, std::int32_t>(c);
  const auto device = upload(ctx, host);
  for (const layout order : {layout::row_major, layout::col_major}) {
    SCOPED_TRACE(to_string(order));
    expect_same_matrix(ctx, to_csr_on_device<std::int32_t>(ctx, to_dense_on_device(ctx, device, order)), host,
                       "csr -> dense -> csr");
  }
  expect_same_matrix(ctx, to_csr_on_device(ctx, to_bsr_on_device(ctx, device, 100, 500)), host, "csr -> bsr -> csr");
}

// --- Padding that is not 0 ------------------------------------------------------------------------------------------

/// The formats forbid it, but a trusted view may have it; it lies outside the matrix, and is ignored.
TEST(device_formats_padding, is_not_looked_at) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  const sparse_case c = make_case("ragged", 67, 53, scatter(67, 53, 300, 81), values::real, 82);
  const auto host = matrix_of<double, std::int32_t>(c);
  const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };

  bsr_matrix<double> bsr = to_bsr(host, 5, 4);
  const bsr_view<double> b = bsr.view();
  for (std::int64_t k = 0, brow = 0; k < std::ssize(b.values); ++k) {
    const std::int64_t block = k / 20, in_block = k % 20;
    while (b.brow_ptr[at(brow + 1)] <= block) ++brow;
    const std::int64_t row = brow * 5 + in_block / 4, col = b.bcol_ind[at(block)] * 4 + in_block % 4;
    if (row >= 67 || col >= 53) bsr.values()[at(k)] = 99.0;
  }
  ell_matrix<double> ell = to_ell(host, 6);
  const ell_view<double> e = ell.view();
  const std::int64_t width = e.blocks_per_row * 6;
  for (std::int64_t k = 0; k < std::ssize(e.values); ++k) {
    const std::int64_t row = k / width, slot = k % width / 6, bcol = e.bcol_ind[at(row / 6 * e.blocks_per_row + slot)];
    if (row >= 67 || bcol < 0 || bcol * 6 + k % 6 >= 53) ell.values()[at(k)] = 99.0;
  }
  ASSERT_THROW(validate(b), error);
  ASSERT_THROW(validate(e), error);
  const csr_matrix<double> wanted = to_csr<std::int32_t>(to_dense(host));
  expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, bsr)), wanted, "bsr -> csr");
  expect_same_matrix(ctx, to_csr_on_device(ctx, upload(ctx, ell)), wanted, "ell -> csr");
}

// --- Dense views with a leading dimension of their own --------------------------------------------------------------

TEST(device_formats_dense, leading_dimensions) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  constexpr std::int64_t rows = 37, cols = 29, padding = 5;
  for (const layout order : {layout::row_major, layout::col_major}) {
    SCOPED_TRACE(to_string(order));
    const std::int64_t lines = order == layout::row_major ? rows : cols, ld = rows + cols - lines + padding;
    // What lies between the lines is not 0, and must not be read.
    std::vector<float> storage(static_cast<std::size_t>(lines * ld), 7.0f);
    const dense_view<float> view(storage.data(), rows, cols, ld, order);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) view(i, j) = (i * 7 + j) % 5 == 0 ? static_cast<float>(i - j) : 0.0f;
    }
    const dense_view<const float> host = view;
    dense_matrix<float> packed(rows, cols, order);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) packed(i, j) = view(i, j);
    }
    expect_same_matrix(ctx, upload(ctx, host), std::as_const(packed), "up and down");

    // The spread form itself on the device, without what would follow its last line.
    const core::device_buffer<float> buffer(ctx.device().device,
                                            std::span<const float>(storage.data(), storage.size() - padding));
    const dense_view<const float> spread(buffer.data(), rows, cols, ld, order);
    const dense_matrix<float> fetched = download(ctx, spread);
    expect_same(fetched.view(), std::as_const(packed).view());
    expect_same_matrix(ctx, to_csr_on_device<std::int64_t>(ctx, spread), to_csr<std::int64_t>(host), "dense -> csr");
  }
}

// --- Casts ----------------------------------------------------------------------------------------------------------

/// Bits that no list of examples would include: every 16-bit number, and of the wider types those where rounding,
/// overflow and NaN happen, and as many at random.
template <class T>
element_array<T> numbers_to_cast() {
  if constexpr (std::same_as<T, pattern>) {
    return pattern_array(1000);
  } else if constexpr (sizeof(T) == 2) {
    std::vector<T> all;
    for (int bits = 0; bits < 1 << 16; ++bits) all.push_back(T::from_bits(static_cast<std::uint16_t>(bits)));
    return all;
  } else {
    using bits_t = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    std::vector<T> all;
    const auto add_around = [&](T x) {
      const auto bits = std::bit_cast<bits_t>(x);
      for (int step = -2; step <= 2; ++step) {
        all.push_back(std::bit_cast<T>(static_cast<bits_t>(bits + static_cast<bits_t>(step))));
        all.push_back(-all.back());
      }
    };
    for (int bits = 0; bits < 1 << 16; ++bits) {
      add_around(static_cast<T>(half::from_bits(static_cast<std::uint16_t>(bits))));
      add_around(static_cast<T>(bfloat16::from_bits(static_cast<std::uint16_t>(bits))));
    }
    test_random random(51);
    for (int k = 0; k < 100000; ++k) {
      all.push_back(std::bit_cast<T>(static_cast<bits_t>(random.bits() >> (64 - 8 * sizeof(T)))));
      if constexpr (sizeof(T) == 8) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits() >> 32));
        add_around(static_cast<double>(x));
        add_around((static_cast<double>(x) + std::nextafter(static_cast<double>(x), 0.0)) / 2);
      } else {
        all.push_back(static_cast<T>(random.real() * 65536));
      }
    }
    return all;
  }
}

template <class T2, class I2, class T, class I>
void compare_cast(const context& ctx, const csr_matrix<T, I>& host, const device_csr<T, I>& device, const char* what) {
  expect_same_matrix(ctx, cast_on_device<T2, I2>(ctx, device), cast<T2, I2>(host), what);
}

template <class T, class I>
void compare_casts(const context& ctx) {
  const auto values = numbers_to_cast<T>();
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<I> row_ptr{0, static_cast<I>(n)}, col_ind(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < col_ind.size(); ++k) col_ind[k] = static_cast<I>(k);
  const csr_matrix<T, I> host(1, n, row_ptr, col_ind, values);
  const device_csr<T, I> device = upload(ctx, host);
  compare_cast<float, std::int32_t>(ctx, host, device, "fp32 int32");
  compare_cast<float, std::int64_t>(ctx, host, device, "fp32 int64");
  compare_cast<double, std::int32_t>(ctx, host, device, "fp64 int32");
  compare_cast<double, std::int64_t>(ctx, host, device, "fp64 int64");
  compare_cast<half, std::int32_t>(ctx, host, device, "fp16 int32");
  compare_cast<half, std::int64_t>(ctx, host, device, "fp16 int64");
  compare_cast<bfloat16, std::int32_t>(ctx, host, device, "bf16 int32");
  compare_cast<bfloat16, std::int64_t>(ctx, host, device, "bf16 int64");
  compare_cast<pattern, std::int32_t>(ctx, host, device, "pattern int32");
  compare_cast<pattern, std::int64_t>(ctx, host, device, "pattern int64");
}

struct cast_run {
  const char* name;
  void (*run)(const context&);
};
class device_casts : public ::testing::TestWithParam<cast_run> {};

TEST_P(device_casts, round_as_the_host) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  GetParam().run(context::cuda());
}
INSTANTIATE_TEST_SUITE_P(from, device_casts,
                         ::testing::Values(cast_run{"fp32_int32", compare_casts<float, std::int32_t>},
                                           cast_run{"fp32_int64", compare_casts<float, std::int64_t>},
                                           cast_run{"fp64_int32", compare_casts<double, std::int32_t>},
                                           cast_run{"fp64_int64", compare_casts<double, std::int64_t>},
                                           cast_run{"fp16_int32", compare_casts<half, std::int32_t>},
                                           cast_run{"fp16_int64", compare_casts<half, std::int64_t>},
                                           cast_run{"bf16_int32", compare_casts<bfloat16, std::int32_t>},
                                           cast_run{"bf16_int64", compare_casts<bfloat16, std::int64_t>},
                                           cast_run{"pattern_int32", compare_casts<pattern, std::int32_t>},
                                           cast_run{"pattern_int64", compare_casts<pattern, std::int64_t>}),
                         [](const auto& info) { return std::string(info.param.name); });

// --- Refusals -------------------------------------------------------------------------------------------------------

template <class Body>
std::pair<errc, std::string> answer_of(Body&& body) {
  try {
    body();
  } catch (const error& e) {
    return {e.code(), e.what()};
  }
  return {errc::ok, "accepted"};
}

/// A context of the CPU, which is the only kind that a build without CUDA has.
TEST(device_formats_absent, is_a_clear_error) {
  const context ctx = context::cpu(1);
  const csr_matrix<float> host(2, 2, {0, 1, 2}, {0, 1}, {1.0f, 2.0f});
  const csr_view<float> csr{.space = memory_space::device};
  const coo_view<pattern> coo{.space = memory_space::device};
  const csc_view<half> csc{.space = memory_space::device};
  const bsr_view<bfloat16> bsr{.space = memory_space::device};
  const ell_view<double> ell{.space = memory_space::device};
  const bcsc_view<float, std::int64_t> bcsc{.space = memory_space::device};
  const dense_view<const float> dense(nullptr, 0, 0);
  const std::function<void()> all[] = {
      [&] { upload(ctx, host); },
      [&] { upload(ctx, host.view()); },
      [&] { upload(ctx, dense_matrix<half>(2, 2)); },
      [&] { download(ctx, csr); },
      [&] { download(ctx, coo); },
      [&] { download(ctx, csc); },
      [&] { download(ctx, bsr); },
      [&] { download(ctx, ell); },
      [&] { download(ctx, bcsc); },
      [&] { download(ctx, dense); },
      [&] { to_csr_on_device(ctx, coo); },
      [&] { to_csr_on_device(ctx, csc); },
      [&] { to_csr_on_device(ctx, bsr); },
      [&] { to_csr_on_device(ctx, ell); },
      [&] { to_csr_on_device(ctx, bcsc); },
      [&] { to_csr_on_device<std::int32_t>(ctx, dense); },
      [&] { to_coo_on_device(ctx, csr); },
      [&] { to_csc_on_device(ctx, csr); },
      [&] { to_bsr_on_device(ctx, csr, 2, 2); },
      [&] { to_ell_on_device(ctx, csr, 2); },
      [&] { to_bcsc_on_device(ctx, csr, 8); },
      [&] { to_dense_on_device(ctx, csr); },
      [&] { transpose_on_device(ctx, csr); },
      [&] { cast_on_device<double, std::int64_t>(ctx, csr); },
      [&] { sort_and_sum_on_device(ctx, coo); },
  };
  const char* const reason = BCSC_WITH_CUDA ? "a device matrix needs one of a GPU" : "this build of bcsc has no CUDA";
  for (const auto& body : all) {
    const auto [code, says] = answer_of(body);
    EXPECT_EQ(to_string(code), to_string(errc::no_device));
    EXPECT_NE(says.find(reason), std::string::npos) << says;
  }
}

/// What the host refuses, the device refuses in the same words.
TEST(device_formats_refuse, what_the_host_refuses) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  const auto expect_same_answer = [](const char* what, errc code, auto&& on_host, auto&& on_device) {
    SCOPED_TRACE(what);
    const auto wanted = answer_of(on_host);
    EXPECT_EQ(to_string(wanted.first), to_string(code));
    const auto actual = answer_of(on_device);
    EXPECT_EQ(to_string(actual.first), to_string(wanted.first));
    EXPECT_EQ(actual.second, wanted.second);
  };

  // Entries.
  using indices = std::vector<std::int32_t>;
  const auto expect_bad_entries = [&](const char* what, errc code, std::int64_t rows, std::int64_t cols,
                                      indices row_ind, indices col_ind) {
    const std::vector<double> values{1, 2, 3};
    const coo_view<double> given{rows, cols, row_ind, col_ind, values};
    expect_same_answer(
        what, code, [&] { coo_matrix<double>(rows, cols, row_ind, col_ind, values); },
        [&] { sort_and_sum_on_device(ctx, upload(ctx, given, trust::trusted)); });
  };
  expect_bad_entries("row beyond", errc::index_out_of_range, 2, 3, {0, 2, 1}, {0, 1, 2});
  expect_bad_entries("row below 0", errc::index_out_of_range, 2, 3, {0, 1, -1}, {0, 1, 2});
  expect_bad_entries("column beyond", errc::index_out_of_range, 2, 3, {0, 1, 1}, {3, 1, 2});
  expect_bad_entries("no rows", errc::index_out_of_range, 0, 3, {0, 0, 0}, {0, 1, 2});
  expect_bad_entries("negative rows", errc::invalid_argument, -1, 3, {0, 0, 0}, {0, 1, 2});
  expect_bad_entries("rows beyond int32", errc::size_overflow, std::int64_t{1} << 31, 3, {0, 0, 0}, {0, 1, 2});
  expect_bad_entries("short row_ind", errc::invalid_format, 2, 3, {0, 1}, {0, 1, 2});
  expect_bad_entries("long col_ind", errc::invalid_format, 2, 3, {0, 1, 1}, {0, 1, 2, 0});

  // Views that are checked when they are uploaded.
  const indices falling{0, 2, 1, 3}, cols_of_it{0, 1, 2};
  const std::vector<float> three{1, 2, 3};
  const csr_view<float> broken{3, 3, falling, cols_of_it, three};
  expect_same_answer(
      "broken csr", errc::invalid_format, [&] { validate(broken); }, [&] { upload(ctx, broken); });

  // Block sizes, and sizes that do not fit.
  const csr_matrix<float, std::int64_t> host(3, 4, {0, 1, 1, 2}, {0, 3}, {1.0f, 2.0f});
  const auto device = upload(ctx, host);
  const std::int64_t huge = std::int64_t{1} << 40;
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-3}}) {
    expect_same_answer(
        "row_block", errc::invalid_argument, [&] { to_bsr(host, size, 1); },
        [&] { to_bsr_on_device(ctx, device, size, 1); });
    expect_same_answer(
        "col_block", errc::invalid_argument, [&] { to_bsr(host, 1, size); },
        [&] { to_bsr_on_device(ctx, device, 1, size); });
    expect_same_answer(
        "block", errc::invalid_argument, [&] { to_ell(host, size); }, [&] { to_ell_on_device(ctx, device, size); });
    expect_same_answer(
        "m_block", errc::invalid_argument, [&] { to_bcsc(host, size); }, [&] { to_bcsc_on_device(ctx, device, size); });
  }
  expect_same_answer(
      "block size", errc::size_overflow, [&] { to_bsr(host, huge, huge); },
      [&] { to_bsr_on_device(ctx, device, huge, huge); });
  expect_same_answer(
      "padded size", errc::size_overflow, [&] { to_ell(host, huge); }, [&] { to_ell_on_device(ctx, device, huge); });

  const csr_matrix<float, std::int64_t> wide(3, huge, {0, 1, 1, 2}, {0, 3}, {1.0f, 2.0f});
  const auto wide_device = upload(ctx, wide);
  expect_same_answer(
      "columns beyond int32", errc::size_overflow, [&] { cast<float, std::int32_t>(wide); },
      [&] { cast_on_device<float, std::int32_t>(ctx, wide_device); });
  const csr_matrix<float, std::int64_t> vast(3, std::int64_t{1} << 62, {0, 1, 1, 2}, {0, 3}, {1.0f, 2.0f});
  EXPECT_EQ(answer_of([&] { to_dense_on_device(ctx, upload(ctx, vast)); }).first, errc::size_overflow);

  // No memory holds a pointer for each of 2^40 columns; after the failure everything still works.
  EXPECT_EQ(answer_of([&] { to_csc_on_device(ctx, wide_device); }).first, errc::out_of_memory);
  EXPECT_EQ(answer_of([&] { transpose_on_device(ctx, wide_device); }).first, errc::out_of_memory);
  EXPECT_EQ(answer_of([&] { to_dense_on_device(ctx, wide_device); }).first, errc::out_of_memory);
  EXPECT_EQ(answer_of([&] { to_bsr_on_device(ctx, device, huge, 4); }).first, errc::out_of_memory);
  expect_same_matrix(ctx, to_csc_on_device(ctx, device), to_csc(host), "csr -> csc after a want of memory");
}

TEST(device_formats_refuse, memory_of_the_wrong_kind) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  const csr_matrix<float> host(3, 4, {0, 1, 1, 2}, {0, 3}, {1.0f, 2.0f});
  const auto device = upload(ctx, host);
  EXPECT_EQ(answer_of([&] { upload(ctx, device.view()); }).first, errc::wrong_memory_space);
  EXPECT_EQ(answer_of([&] { download(ctx, host.view()); }).first, errc::wrong_memory_space);
  EXPECT_EQ(answer_of([&] { to_csc_on_device(ctx, host.view()); }).first, errc::wrong_memory_space);
  csr_view<float> lying = host.view();  // says it lies on the device, but does not
  lying.space = memory_space::device;
  EXPECT_EQ(answer_of([&] { to_csc_on_device(ctx, lying); }).first, errc::wrong_memory_space);
  EXPECT_EQ(answer_of([&] { download(ctx, lying); }).first, errc::wrong_memory_space);
  csr_view<float> half_there = device.view();  // one array of three is left behind
  half_there.col_ind = host.view().col_ind;
  EXPECT_EQ(answer_of([&] { to_coo_on_device(ctx, half_there); }),
            std::pair(errc::wrong_memory_space,
                      "col_ind does not lie in the memory of GPU " + std::to_string(ctx.device().device)));

  const dense_matrix<float> dense(3, 4);
  const auto dense_device = upload(ctx, dense);
  const dense_view<const float> there = dense_device.view();
  EXPECT_EQ(answer_of([&] { upload(ctx, there); }).first, errc::wrong_memory_space);
  EXPECT_EQ(answer_of([&] { download(ctx, dense.view()); }).first, errc::wrong_memory_space);
  EXPECT_EQ(answer_of([&] { to_csr_on_device<std::int32_t>(ctx, dense.view()); }).first, errc::wrong_memory_space);
  const dense_view<const float> narrow(there.data, 3, 4, 3);
  EXPECT_EQ(answer_of([&] { to_csr_on_device<std::int32_t>(ctx, narrow); }).first, errc::bad_leading_dimension);
  EXPECT_EQ(answer_of([&] { download(ctx, narrow); }).first, errc::bad_leading_dimension);
  const dense_view<const float> negative(there.data, -3, 4, 4);
  EXPECT_EQ(answer_of([&] { to_csr_on_device<std::int32_t>(ctx, negative); }).first, errc::invalid_argument);
}

// --- Owners ---------------------------------------------------------------------------------------------------------

TEST(device_matrix_owner, moves) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const context ctx = context::cuda();
  const csr_matrix<float> host(3, 4, {0, 1, 1, 2}, {0, 3}, {1.0f, 2.0f});
  static_assert(!std::is_copy_constructible_v<device_csr<float>>);
  static_assert(!std::is_copy_assignable_v<device_csr<float>>);
  device_csr<float> first = upload(ctx, host);
  device_csr<float> second = std::move(first);
  EXPECT_EQ(first.rows(), 0);
  EXPECT_TRUE(first.view().values.empty());
  expect_same_matrix(ctx, second, host, "moved");
  first = std::move(second);
  EXPECT_EQ(second.cols(), 0);
  expect_same_matrix(ctx, first, host, "moved back");
}

/// A matrix outlives the context that it was made with.
TEST(device_matrix_owner, outlives_its_context) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const csr_matrix<float> host(3, 4, {0, 1, 1, 2}, {0, 3}, {1.0f, 2.0f});
  const auto made = [&] {
    const context ctx = context::cuda();
    return to_csc_on_device(ctx, upload(ctx, host));
  };
  const device_csc<float> kept = made();
  expect_same_matrix(context::cuda(), kept, to_csc(host), "kept");
}

#if BCSC_WITH_CUDA
/// All memory taken is released with the context, even when a conversion failed on the way.
TEST(device_matrix_owner, leaks_nothing) {
  if (!have_gpu()) GTEST_SKIP() << "needs a GPU";
  const sparse_case c = make_case("leak", 3000, 5000, scatter(3000, 5000, 60000, 61), values::real, 62);
  const auto host = matrix_of<double, std::int64_t>(c);
  const csr_matrix<double, std::int64_t> wide(3, std::int64_t{1} << 40, {0, 1, 1, 2}, {0, 3}, {1.0, 2.0});
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  const auto all = [&] {
    const context ctx = context::cuda();
    const auto device = upload(ctx, host);
    (void)to_csr_on_device(ctx, to_coo_on_device(ctx, device));
    (void)to_csr_on_device(ctx, to_csc_on_device(ctx, device));
    (void)to_csr_on_device(ctx, to_bsr_on_device(ctx, device, 4, 4));
    (void)to_csr_on_device(ctx, to_ell_on_device(ctx, device, 4));
    (void)to_csr_on_device(ctx, to_bcsc_on_device(ctx, device, 8));
    (void)to_csr_on_device<std::int64_t>(ctx, to_dense_on_device(ctx, device, layout::col_major));
    (void)cast_on_device<half, std::int32_t>(ctx, device);
    (void)sort_and_sum_on_device(ctx, to_coo_on_device(ctx, device));
    const auto wide_device = upload(ctx, wide);
    EXPECT_EQ(answer_of([&] { to_csc_on_device(ctx, wide_device); }).first, errc::out_of_memory);
  };
  all();  // the runtime itself keeps what its first kernels need
  // The driver hands out large pieces, and one array of entries, leaked each time, is more. Other processes take memory
  // of the same GPU meanwhile, the other tests among them, but a leak shows every time.
  const auto leaks = [&] {
    const std::size_t before = free_bytes();
    for (int round = 0; round < 100; ++round) all();
    return free_bytes() + (std::size_t{32} << 20) < before;
  };
  int times = 0;
  while (times < 10 && leaks()) ++times;
  EXPECT_LT(times, 10);
}
#endif

// --- The arithmetic of indices --------------------------------------------------------------------------------------

TEST(device_divider, divides) {
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> numbers{0, 1, 2, 3, 5, 7, 10, 641, greatest, greatest - 1};
  for (int shift = 2; shift < 63; ++shift) {
    for (const std::int64_t step : {-1, 0, 1}) numbers.push_back((std::int64_t{1} << shift) + step);
  }
  test_random random(71);
  for (int k = 0; k < 500; ++k) numbers.push_back(static_cast<std::int64_t>(random.bits() >> (1 + random.below(62))));
  for (const std::int64_t divisor : numbers) {
    if (divisor == 0) continue;
    const converters::divider by(divisor);
    EXPECT_EQ(by.divisor(), divisor);
    for (const std::int64_t number : numbers) {
      for (const std::int64_t dividend : {number, number - number % divisor}) {
        ASSERT_EQ(dividend / by, dividend / divisor) << dividend << " / " << divisor;
        ASSERT_EQ(dividend % by, dividend % divisor) << dividend << " % " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace bcsc::test
