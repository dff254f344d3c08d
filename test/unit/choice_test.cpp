// Registry, choice and tuner.
#include "lib/choice/choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/tune.hpp"
#include "kernels/forms/compact/locality.hpp"
#include "lib/choice/built_in_costs.hpp"
#include "lib/choice/column_major.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/tuned_kernels.hpp"
#include "test/support/viewed.hpp"

namespace bcsc {
namespace {

/// Whether a plan for so many columns considers the kernel: block slices are for one.
bool takes(const choice::registered_kernel& kernel, std::int64_t cols) {
  return cols == 1 || kernel.form != kernels::operand_form::block_slices;
}

TEST(registry, names_are_unique_for_a_type) {
  std::set<std::string> seen;
  for (const kernel_info& k : kernel_table()) {
    EXPECT_TRUE(seen.insert(std::string(to_string(k.type)) + k.name).second) << k.name;
    EXPECT_GT(k.m_tile, 0);
    EXPECT_GT(k.n_tile, 0);
    EXPECT_EQ(k.name.rfind(k.algorithm, 0), 0u) << k.name;
  }
}

TEST(registry, holds_sixty_cuda_configs_of_each_type) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small";
  for (value_type type : {value_type::fp32, value_type::fp64}) {
    EXPECT_GE(kernel_table(backend::cuda, type).size(), 60u);
  }
}

TEST(registry, allows_more_error_only_where_tensor_cores_sum) {
  for (const kernel_info& k : kernel_table()) {
    const bool is_narrow = k.type == value_type::fp16 || k.type == value_type::bf16;
    const bool is_split = k.name.starts_with("mma-3xtf32") || k.name.starts_with("staged-3xtf32");
    const bool sums_there =
        is_split || k.name == "gemm-1xf16" || (is_narrow && (k.algorithm == "mma" || k.algorithm == "gemm"));
    // What is summed from zero there: a stage of columns, and the column that a product begins with.
    const int by_stage = 2 * (k.columns_at_once + 1) + (k.name.starts_with("wgmma-3xtf32") ? 16 : 3);
    EXPECT_EQ(k.bound.more_terms, k.algorithm == "wgmma"                 ? by_stage
                                  : is_narrow && k.algorithm == "staged" ? 66
                                  : k.name == "gemm-3xf16"               ? 116
                                  : sums_there                           ? 16
                                                                         : 3)
        << k.name;
    const bool is_rounding = k.name.starts_with("mma-tf32") || k.name.starts_with("staged-tf32") ||
                             k.name.starts_with("wgmma-tf32") || k.name == "gemm-tf32" || k.name == "gemm-1xf16";
    EXPECT_EQ(k.rounds_values, is_rounding) << k.name;
    EXPECT_EQ(k.bound.rounding, k.rounds_values ? 0x1p-10 : 0) << k.name;
  }
}

TEST(registry, has_wide_indices_on_both_backends) {
  for (backend where : {backend::cpu, backend::cuda}) {
    const auto configs = kernel_table(where, value_type::fp64);
    EXPECT_TRUE(std::ranges::any_of(configs, [](const kernel_info& k) { return k.index_bits == 64; }));
  }
}

TEST(locality, tells_graphs_from_meshes) {
  const auto is_scattered = [](const std::string& specification) {
    return forms::is_scattered(viewed(generate::from_specification<float>(specification)));
  };
  EXPECT_FALSE(is_scattered("banded:5000,7,seed=1"));
  EXPECT_FALSE(is_scattered("stencil5:80,80"));
  EXPECT_FALSE(is_scattered("stencil7:20,20,20"));
  EXPECT_TRUE(is_scattered("rmat:17,4,seed=1"));
  EXPECT_TRUE(is_scattered("uniform:3000,30000,0.999,seed=1"));
}

TEST(locality, copes_with_what_is_hardly_there) {
  EXPECT_FALSE(forms::is_scattered(viewed(csr_matrix<float>(3, 0, {0, 0, 0, 0}, {}, {}))));
  EXPECT_FALSE(forms::is_scattered(viewed(csr_matrix<double>(1, 9, {0, 2}, {0, 8}, {1, 1}))));
}

TEST(locality, equally_long_rows_come_together) {
  const auto a = generate::from_specification<float>("rmat:13,8,seed=1");
  const auto v = a.view();
  const std::vector<std::int64_t> order = forms::order_rows_by_length(v);
  ASSERT_EQ(order.size(), 8192u);
  EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), order.size()) << "not a permutation";
  for (std::size_t row = 1; row < order.size(); ++row) {
    EXPECT_EQ(order[row] / 256, static_cast<std::int64_t>(row) / 256);
    if (row % 256 == 0) continue;
    const auto length = [&](std::int64_t i) {
      return v.row_ptr[static_cast<std::size_t>(i) + 1] - v.row_ptr[static_cast<std::size_t>(i)];
    };
    EXPECT_LE(length(order[row - 1]), length(order[row]));
  }
  EXPECT_TRUE(forms::order_rows_by_length(viewed(generate::from_specification<float>("stencil5:80,80"))).empty());
  EXPECT_TRUE(
      forms::order_rows_by_length(viewed(generate::from_specification<float>("uniform:500,500,0.5,seed=1"))).empty());
  EXPECT_TRUE(forms::order_rows_by_length(viewed(csr_matrix<float>(2, 2, {0, 1, 1}, {0}, {1}))).empty());
}

TEST(locality, a_plan_with_rows_ordered_by_length_gives_the_same_product) {
  const auto a = generate::from_specification<float>("rmat:13,8,seed=1");
  dense_matrix<float> b(a.cols(), 8), c(a.rows(), 8), expected(a.rows(), 8);
  for (std::int64_t k = 0; k < a.cols() * 8; ++k) b.data()[k] = static_cast<float>(k * 7 % 11 - 5) / 4;
  // Made for 128 columns it keeps the rows' order; each row is summed in the same way.
  spmm_plan<float> ordered(context::cpu(2), a, {.cols = 8, .expert = {.kernel = "rows"}});
  const spmm_plan<float> as_given(context::cpu(2), a, {.cols = 128, .expert = {.kernel = "rows"}});
  EXPECT_TRUE(ordered.facts().reordered);
  EXPECT_FALSE(as_given.facts().reordered);
  for (const float beta : {0.0f, 2.0f}) {
    for (std::int64_t k = 0; k < a.rows() * 8; ++k) c.data()[k] = expected.data()[k] = static_cast<float>(k % 5);
    ordered.run(1, b.view(), beta, c.view());
    as_given.run(1, b.view(), beta, expected.view());
    EXPECT_TRUE(std::equal(c.data(), c.data() + a.rows() * 8, expected.data())) << "beta = " << beta;
  }
  dense_matrix<float> x(a.cols(), 1), y(a.rows(), 1), z(a.rows(), 1);
  for (std::int64_t k = 0; k < a.cols(); ++k) x.data()[k] = static_cast<float>(k % 13 - 6);
  ordered.run(1, x.view(), 0, y.view());
  as_given.run(1, x.view(), 0, z.view());
  EXPECT_TRUE(std::equal(y.data(), y.data() + a.rows(), z.data()));
  // New values go where the old ones were.
  std::vector<float> doubled(a.view().values.begin(), a.view().values.end());
  for (float& value : doubled) value *= 2;
  const auto index = [](auto span) { return std::vector<std::int32_t>(span.begin(), span.end()); };
  ordered.update_values(
      csr_matrix<float>(a.rows(), a.cols(), index(a.view().row_ptr), index(a.view().col_ind), doubled));
  as_given.run(2, b.view(), 0, expected.view());
  ordered.run(1, b.view(), 0, c.view());
  EXPECT_TRUE(std::equal(c.data(), c.data() + a.rows() * 8, expected.data()));
}

TEST(locality, rows_ordered_by_length_are_not_shared_with_what_would_not_order_them) {
  const auto a = generate::from_specification<float>("rmat:13,8,seed=1");
  const auto shares = [](const csr_matrix<float>& matrix, std::int64_t made_for, std::int64_t cols) {
    const spmm_plan<float> plan(context::cpu(2), matrix, {.cols = made_for, .expert = {.kernel = "rows"}});
    return plan.sharing(plan.facts().kernel.name, cols).has_value();
  };
  EXPECT_TRUE(shares(a, 8, 64));
  EXPECT_FALSE(shares(a, 8, 65)) << "in order only up to 256 bytes of a row of C";
  EXPECT_FALSE(shares(a, 1, 8)) << "one column needs no order";
  EXPECT_TRUE(shares(a, 1, 65));
  EXPECT_TRUE(shares(generate::from_specification<float>("stencil5:80,80"), 1, 8)) << "rows are equal as they are";
}

choice::problem cpu_problem() {
  return {.where = backend::cpu, .type = value_type::fp32, .rows = 100, .inner = 100, .nnz = 500, .cols = 32};
}

choice::problem small_problem_on_gpu(int compute_capability) {
  return {.where = backend::cuda,
          .type = value_type::fp32,
          .rows = 100,
          .inner = 100,
          .nnz = 500,
          .cols = 32,
          .max_shared_bytes = 1 << 20,
          .compute_capability = compute_capability,
          .num_multiprocessors = 132,
          .no_dense_library = {}};
}

TEST(choice, columns_between_two_powers_of_two_are_read_alike) {
  choice::columns_in_place columns;
  columns.add(2);
  columns.add(7);
  for (const std::int64_t n : {0, 1, 3, 4, 9, 64, 65, 1 << 20}) EXPECT_FALSE(columns.contains(n)) << n;
  for (const std::int64_t n : {2, 5, 6, 7, 8}) EXPECT_TRUE(columns.contains(n)) << n;
  columns.add(64);
  EXPECT_TRUE(columns.contains(33));
  EXPECT_FALSE(columns.contains(65));
  columns.add(128);
  for (const std::int64_t n : {65, 100, 1000, 1 << 30}) EXPECT_TRUE(columns.contains(n)) << n << ": as all above 64";
  EXPECT_FALSE(columns.contains(9));
}

TEST(choice, reads_few_columns_of_b_where_they_lie) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const std::int64_t heights[] = {1, 2, 3, 4, 8, 16, 32, 64, 128};
  struct known_matrix {
    choice::problem p;
    std::vector<block_statistics> statistics;
  };
  const auto known = [&](const char* specification, value_type type) {
    const auto a = generate::from_specification<float>(specification);
    return known_matrix{{.where = backend::cuda,
                         .type = type,
                         .rows = a.rows(),
                         .inner = a.cols(),
                         .nnz = a.nnz(),
                         .cols = 8,
                         .b_is_col_major = true,
                         .num_multiprocessors = 132,
                         .sectors_per_entry = analyse_pattern(a.view()).sectors_per_entry},
                        analyse_blocks(a.view(), std::span(heights))};
  };
  const auto is_read_in_place = [](const known_matrix& m, std::int64_t cols) {
    choice::problem p = m.p;
    p.cols = cols;
    std::vector<const choice::registered_kernel*> configs;
    for (const choice::registered_kernel& k : choice::registry()) {
      const bool in_place = k.measured_in_place && k.info.algorithm == "sliced";
      const bool takes_it = (k.measured && takes(k, cols)) || in_place;
      if (k.info.type == p.type && takes_it && !k.info.rounds_values) configs.push_back(&k);
    }
    const choice::registered_kernel* chosen = choice::choose(p, {}, configs, m.statistics).kernel;
    return choice::reads_in_place(p, *chosen, m.statistics).contains(cols);
  };
  const auto none = [](const choice::columns_in_place& some) {
    for (std::int64_t n = 0; n < 100; ++n) {
      if (some.contains(n)) return false;
    }
    return true;
  };
  for (const value_type type : {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16}) {
    SCOPED_TRACE(to_string(type));
    const known_matrix small = known("uniform:400,400,0.9,seed=1", type), large = known("rmat:15,40,seed=1", type);
    for (const std::int64_t n : {2, 5, 8}) EXPECT_TRUE(is_read_in_place(small, n)) << n << ": packing takes longer";
    EXPECT_FALSE(is_read_in_place(large, 64)) << "packing is nothing beside so many single loads";
    EXPECT_FALSE(is_read_in_place(large, 16)) << "by slices no more than by others";
    // Neighbouring rows read neighbouring values of a column: no number of columns is too many.
    const bool has_slices = type == value_type::fp32 || type == value_type::fp64;
    const known_matrix mesh = known("stencil7:60,60,60", type);
    for (const std::int64_t n : {4, 32, 128, 1000}) {
      EXPECT_TRUE(is_read_in_place(mesh, n) || !has_slices) << n;
    }
    const known_matrix almost_empty = known("hypersparse:60000,60000,15000,seed=1", type);
    EXPECT_TRUE(is_read_in_place(almost_empty, 128) || !has_slices) << "scattered, but less than packing would move";
    std::size_t able = 0;
    for (const choice::registered_kernel& k : choice::registry()) {
      if (k.info.type != type) continue;
      SCOPED_TRACE(k.info.name);
      EXPECT_TRUE(!k.measured_in_place || k.info.strided_cols > 0);
      able += k.measured_in_place ? 1 : 0;
      known_matrix other = small;
      other.p.b_is_col_major = false;
      EXPECT_TRUE(none(choice::reads_in_place(other.p, k, other.statistics))) << "it is row-major as it lies";
      EXPECT_TRUE(none(choice::reads_in_place(small.p, k, {}))) << "nothing is known of the matrix";
    }
    EXPECT_GT(able, 5u);

    // What is asked for is what is predicted.
    choice::problem p = small.p;
    std::vector<const choice::registered_kernel*> configs;
    for (const choice::registered_kernel& k : choice::registry()) {
      if (k.info.type == type && k.measured_in_place && !k.info.rounds_values) configs.push_back(&k);
    }
    const auto reason = [&](col_major_b reading) {
      return choice::choose(p, {.expert = {.reading = reading}}, configs, small.statistics).reason;
    };
    EXPECT_EQ(reason(col_major_b::as_predicted), reason(col_major_b::in_place));
    choice::problem unknown = p;  // how near its columns are: then no time of slices is predicted, nor told
    unknown.sectors_per_entry = {};
    std::vector<const choice::registered_kernel*> slices = configs;
    std::erase_if(slices, [](const auto* k) { return k->info.algorithm != "sliced"; });
    if (slices.size() > 1) {
      EXPECT_EQ(choice::choose(unknown, {}, slices, small.statistics).reason.find("predicted time"), std::string::npos);
      known_matrix scattered = known("uniform:30000,30000,0.999,seed=1", type);
      const auto predicts = [&](std::int64_t cols) {
        scattered.p.cols = cols;
        return choice::choose(scattered.p, {}, slices, scattered.statistics).reason.find("predicted time") !=
               std::string::npos;
      };
      EXPECT_FALSE(predicts(16)) << "a sector for each of many values";
      EXPECT_TRUE(predicts(2));
    }
    EXPECT_NE(reason(col_major_b::as_predicted), reason(col_major_b::packed));
  }
}

TEST(choice, turns_a_column_major_c_whose_sectors_would_be_written_in_parts) {
  const choice::problem in_order{.where = backend::cuda,
                                 .rows = 100000,
                                 .inner = 10,
                                 .nnz = 1000,
                                 .cols = 128,
                                 .b_is_col_major = true,
                                 .sectors_per_row = 0.125};
  const kernel_info one_row_a_warp{.algorithm = "rowwise", .threads = 128, .teams = 4};
  const kernel_info eight_rows_a_warp{.algorithm = "rowwise", .threads = 128, .teams = 32};
  const auto turns = [&](const kernel_info& kernel, auto change) {
    choice::problem p = in_order;
    change(p);
    return choice::turns_c(p, kernel);
  };
  const auto as_it_is = [](choice::problem&) {};
  const auto scattered = [](choice::problem& p) { p.sectors_per_row = 0.5; };
  EXPECT_TRUE(turns(one_row_a_warp, as_it_is));
  EXPECT_FALSE(turns(eight_rows_a_warp, as_it_is)) << "they fill sectors";
  EXPECT_FALSE(turns(eight_rows_a_warp, [](auto& p) { p.cols = 512; }));
  EXPECT_TRUE(turns(eight_rows_a_warp, scattered)) << "not if others lie between them";
  EXPECT_TRUE(turns(eight_rows_a_warp, [&](auto& p) { scattered(p), p.cols = 32; }));
  EXPECT_FALSE(turns(eight_rows_a_warp, [&](auto& p) { scattered(p), p.cols = 2; })) << "not worth a second kernel";
  EXPECT_TRUE(turns(one_row_a_warp, [](auto& p) { p.rows = 50000, p.type = value_type::fp64; })) << "by its bytes";
  EXPECT_TRUE(turns(one_row_a_warp, [](auto& p) { p.cols = std::int64_t{1} << 62; }))
      << "no product of sizes overflows";
  EXPECT_FALSE(turns(one_row_a_warp, [](auto& p) { p.b_is_col_major = false; })) << "nor is C then, most likely";
  EXPECT_FALSE(turns(one_row_a_warp, [](auto& p) { p.where = backend::cpu; }));
  EXPECT_FALSE(turns(one_row_a_warp, [](auto& p) { p.cols = 1; })) << "row-major as it is";
  const auto small = [](auto& p) { p.rows = 3000; };
  EXPECT_TRUE(turns({.algorithm = "fma"}, small)) << "it stores single values of many columns";
  EXPECT_FALSE(turns({.algorithm = "mma"}, small));
  EXPECT_FALSE(turns({.algorithm = "mma"}, as_it_is)) << "two rows are one store";
  EXPECT_TRUE(turns({.algorithm = "mma"}, [](auto& p) { p.rows = 99999; })) << "unless columns begin at odd places";
  EXPECT_FALSE(turns({.algorithm = "sliced"}, as_it_is)) << "its lanes are neighbouring rows";
  EXPECT_FALSE(turns({.algorithm = "gemm"}, as_it_is));
}

TEST(choice, passes_over_tiles_for_few_columns) {
  const auto wide = [&](std::int64_t cols, bool b_is_col_major) {
    std::set<std::string> algorithms;
    for (const choice::registered_kernel& k : choice::registry()) {
      const std::string& algorithm = k.info.algorithm;
      if (algorithm != "rowwise" && choice::is_passed_over(k, cols, b_is_col_major)) algorithms.insert(algorithm);
    }
    return algorithms;
  };
  const std::set<std::string> tiles{"fma", "mma", "sliding", "staged", "wgmma"}, none;
  EXPECT_EQ(wide(1, false), tiles);
  EXPECT_EQ(wide(4, false), tiles);
  EXPECT_EQ(wide(5, false), none);
  EXPECT_EQ(wide(1, true), tiles) << "row-major as it lies";
  EXPECT_EQ(wide(2, true), none) << "there they were timed";
}

TEST(choice, passes_over_small_teams_for_many_columns) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no such configs";
  const auto narrow = [&](std::int64_t cols, bool b_is_col_major) {
    std::set<std::string> names;
    for (const choice::registered_kernel& k : choice::registry()) {
      const bool passed_over = choice::is_passed_over(k, cols, b_is_col_major);
      if (k.info.algorithm == "rowwise" && k.info.type == value_type::fp64 && passed_over) names.insert(k.info.name);
    }
    return names;
  };
  const std::set<std::string> none, single{"rowwise-l1-i1-g1-u4-w4-d4"};
  const std::set<std::string> both{"rowwise-l1-i1-g1-u4-w4-d4", "rowwise-l2-i4-g1-u8-w4-d4"};
  EXPECT_EQ(narrow(4, false), none) << "four tiles of one column";
  EXPECT_EQ(narrow(5, false), single);
  EXPECT_EQ(narrow(32, false), single) << "and four of eight";
  EXPECT_EQ(narrow(33, false), both);
  EXPECT_EQ(narrow(33, true), none) << "in place tiles are narrower";
}

TEST(choice, passes_over_teams_of_two_threads_beyond_four_tiles) {
  const auto row_wise =
      std::ranges::find(choice::registry(), "rowwise", [](const auto& k) { return k.info.algorithm; });
  ASSERT_NE(row_wise, choice::registry().end());
  choice::registered_kernel kernel = *row_wise;
  kernel.info.n_tile = 8;
  kernel.info.threads = 128, kernel.info.teams = 64;
  EXPECT_FALSE(choice::is_passed_over(kernel, 32, false));
  EXPECT_TRUE(choice::is_passed_over(kernel, 33, false));
  kernel.info.teams = 32;
  EXPECT_FALSE(choice::is_passed_over(kernel, 33, false)) << "four threads";
}

TEST(choice, passes_over_narrow_mma_tiles_for_many_columns) {
  const auto narrowest = [&](std::int64_t cols, bool b_is_col_major) {
    std::set<int> widths;
    for (const choice::registered_kernel& k : choice::registry()) {
      if (k.info.algorithm == "mma" && choice::is_passed_over(k, cols, b_is_col_major)) widths.insert(k.info.n_tile);
    }
    return widths;
  };
  const std::set<int> none, narrow{16};
  EXPECT_EQ(narrowest(64, false), none) << "four tiles";
  EXPECT_EQ(narrowest(65, false), narrow);
  EXPECT_EQ(narrowest(512, false), narrow);
  EXPECT_EQ(narrowest(65, true), none) << "in place others are not faster";
}

TEST(choice, considers_what_is_passed_over_by_name_alone) {
  const auto is_built = [](const choice::registered_kernel& k) {
    return k.info.where == backend::cuda && k.launch != nullptr;
  };
  if (std::ranges::none_of(choice::registry(), is_built)) GTEST_SKIP() << "built without CUDA";
  choice::problem p = small_problem_on_gpu(90);
  for (const auto& [cols, passed_over] : {std::pair(1, "mma"), std::pair(33, "rowwise-l1-i1-g1-u4-w4-d4")}) {
    p.cols = cols;
    for (const auto* candidate : choice::candidates(p, {})) {
      EXPECT_FALSE(choice::is_passed_over(*candidate, p.cols, p.b_is_col_major)) << candidate->info.name;
    }
    EXPECT_FALSE(choice::candidates(p, {.expert = {.kernel = passed_over}}).empty()) << passed_over;
  }
}

TEST(choice, wide_problems_get_wide_kernels) {
  choice::problem p = cpu_problem();
  p.index_bits = 64;
  for (const auto* k : choice::candidates(p, {})) EXPECT_EQ(k->info.index_bits, 64);
  p.index_bits = 32;
  for (const auto* k : choice::candidates(p, {})) EXPECT_EQ(k->info.index_bits, 32);
}

TEST(choice, an_unknown_kernel_is_an_error_that_names_what_there_is) {
  try {
    choice::candidates(cpu_problem(), {.expert = {.kernel = "tilde"}});
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_such_kernel);
    EXPECT_NE(std::string(e.what()).find("tilde"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("rows"), std::string::npos);
  }
}

TEST(choice, every_kernel_can_be_asked_for_by_name) {
  for (const kernel_info& k : kernel_table(backend::cpu, value_type::fp32)) {
    const auto found = choice::candidates(cpu_problem(), {.expert = {.kernel = k.name}});
    ASSERT_EQ(found.size(), 1u) << k.name;
    EXPECT_EQ(found[0]->info.name, k.name);
  }
}

/// The algorithms of the GPU that have a config which holds p, in this build or not.
std::set<std::string> algorithms_that_hold(std::int64_t rows, std::int64_t inner, std::int64_t nnz) {
  const choice::problem p{.where = backend::cuda,
                          .rows = rows,
                          .inner = inner,
                          .nnz = nnz,
                          .cols = 8,
                          .index_bits = choice::index_bits_for(rows, inner, nnz)};
  std::set<std::string> names;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.where == backend::cuda && choice::holds(k, p)) {
      names.insert(k.info.algorithm + (k.info.index_bits == 64 ? "-i64" : ""));
    }
  }
  return names;
}

TEST(choice, streams_of_rows_hold_more_non_zeros_than_32_bits_count) {
  using names = std::set<std::string>;
  const names all{"brickwise", "fma",    "naive", "naive-i64", "rowwise", "sliced",
                  "sliding",   "staged", "tiled", "mma",       "warp",    "wgmma"};
  const names streamed{"naive-i64", "rowwise"}, wide{"naive-i64"};
  constexpr std::int64_t two_31 = std::int64_t{1} << 31, two_33 = std::int64_t{1} << 33;
  EXPECT_EQ(algorithms_that_hold(1 << 21, 16384, two_31 - 2), all);
  EXPECT_EQ(algorithms_that_hold(1 << 21, 16384, two_31 - 1), streamed);
  EXPECT_EQ(algorithms_that_hold(1 << 21, 16384, two_31 + 10), streamed);
  // At most 2^32 - 1 pairs, one of them past the last; each row may end in half a pair.
  EXPECT_EQ(algorithms_that_hold(1 << 21, 16384, two_33 - (1 << 21) - 3), streamed);
  EXPECT_EQ(algorithms_that_hold(1 << 21, 16384, two_33 - (1 << 21) - 2), wide);
  EXPECT_EQ(algorithms_that_hold(1 << 21, 16384, two_33 + two_33), wide);
  // Dimensions of 31 bits.
  EXPECT_EQ(algorithms_that_hold(two_31 - 1, 100, 1000), streamed);
  EXPECT_EQ(algorithms_that_hold(100, two_31 - 1, 1000), streamed);
  EXPECT_EQ(algorithms_that_hold(two_31, 100, 1000), wide);
  EXPECT_EQ(algorithms_that_hold(100, two_31, 1000), wide);
}

TEST(choice, takes_streams_of_rows_where_csr_has_64_bit_indices) {
  choice::problem p{.where = backend::cuda,
                    .type = value_type::fp32,
                    .rows = 1 << 21,
                    .inner = 16384,
                    .nnz = (std::int64_t{1} << 31) + 10,
                    .cols = 8,
                    .index_bits = 64,
                    .max_shared_bytes = 1 << 20,
                    .compute_capability = 90,
                    .num_multiprocessors = 132};
  for (const char* asked_for : {"", "rowwise", "naive"}) {
    for (const auto* k : choice::allowed(p, {.expert = {.kernel = asked_for}})) {
      EXPECT_TRUE(k->info.algorithm == "rowwise" || k->info.name.ends_with("-i64")) << k->info.name;
    }
  }
  const bool built = std::ranges::any_of(choice::registry(), [](const choice::registered_kernel& k) {
    return k.info.algorithm == "rowwise" && k.launch != nullptr;
  });
  EXPECT_EQ(!choice::allowed(p, {.expert = {.kernel = "rowwise"}}).empty(), built);
  // The costs of that many non-zeros are as finite as those of fewer, and greater.
  const block_statistics s{
      .m_block = 1, .num_row_blocks = p.rows, .nnzc = p.nnz, .reuse = 1, .max_block_nnz = 16384, .skew = 16};
  choice::problem half_of_it = p;
  half_of_it.nnz /= 2;
  block_statistics half_s = s;
  half_s.nnzc /= 2;
  int judged = 0;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.algorithm != "rowwise" || k.info.type != p.type || !k.measured) continue;
    const double seconds = choice::predict(p, k, s);
    ++judged;
    EXPECT_TRUE(std::isfinite(seconds)) << k.info.name;
    EXPECT_GT(seconds, choice::predict(half_of_it, k, half_s)) << k.info.name;
  }
  EXPECT_TRUE(judged > 0 || test::has_few_configs) << "only kernel_space=small has no costs";
  // For smaller sizes no index is wider than it needs to be, unless asked for by name.
  p.nnz = 1000000;
  p.index_bits = 32;
  for (const auto* k : choice::allowed(p, {})) EXPECT_EQ(k->info.index_bits, 32) << k->info.name;
}

TEST(choice, tf32_is_taken_only_where_it_is_allowed) {
  const choice::problem p = small_problem_on_gpu(90);
  const auto count = [](const auto& kernels) {
    return std::ranges::count_if(kernels, [](const auto* k) { return k->info.rounds_values; });
  };
  std::ptrdiff_t built = 0;
  for (const auto& k : choice::registry()) built += k.info.rounds_values && k.launch != nullptr ? 1 : 0;
  EXPECT_EQ(count(choice::allowed(p, {})), 0);
  EXPECT_EQ(count(choice::allowed(p, {.compute = compute_class::tf32})), built);
}

/// The config that is chosen among all of `type`, in this build or not, on a GPU of this compute capability.
const choice::registered_kernel* chosen_config(value_type type, const csr_matrix<float>& a, std::int64_t cols,
                                               int compute_capability = 90) {
  const choice::problem p{.where = backend::cuda,
                          .type = type,
                          .rows = a.rows(),
                          .inner = a.cols(),
                          .nnz = a.nnz(),
                          .cols = cols,
                          .max_shared_bytes = 1 << 20,
                          .compute_capability = compute_capability,
                          .num_multiprocessors = 132};
  std::vector<const choice::registered_kernel*> configs;
  for (const auto& k : choice::registry()) {
    const bool here = k.info.where == backend::cuda && k.info.type == type &&
                      (k.info.compute_capability == 0 || k.info.compute_capability == compute_capability);
    if (here && k.measured && !k.info.rounds_values && takes(k, cols)) configs.push_back(&k);
  }
  if (configs.empty()) return nullptr;
  const auto heights = choice::heights(configs, {});
  return choice::choose(p, {}, configs, analyse_blocks(a.view(), std::span(heights))).kernel;
}

TEST(choice, among_configs_of_any_type_goes_by_their_costs) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const auto scattered = generate::from_specification<float>("rmat:14,8,seed=1");
  const auto dense_blocks = generate::from_specification<float>("banded:20000,40,seed=1");
  for (const value_type type : {value_type::fp32, value_type::fp16, value_type::bf16}) {
    SCOPED_TRACE(to_string(type));
    for (const std::int64_t n : {1, 8, 32, 128}) {
      const auto* config = chosen_config(type, scattered, n);
      ASSERT_NE(config, nullptr);
      EXPECT_TRUE(n == 1 || config->info.algorithm == "rowwise") << n << ": " << config->info.name;
      EXPECT_LE(config->info.n_tile, 8 * n) << config->info.name;
    }
    EXPECT_EQ(chosen_config(type, dense_blocks, 32)->info.algorithm, "mma");
  }
}

TEST(choice, takes_slices_for_one_column_of_a_large_mesh) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const auto mesh = generate::from_specification<float>("stencil9:500,500");
  for (const value_type type : {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16}) {
    EXPECT_EQ(chosen_config(type, mesh, 1)->info.algorithm, "sliced") << to_string(type);
  }
}

TEST(choice, takes_warpgroups_for_networks_where_there_are_any) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const auto network = generate::from_specification<float>("uniform:2048,2048,0.75,seed=3");
  for (const value_type type : {value_type::fp32, value_type::fp16, value_type::bf16}) {
    SCOPED_TRACE(to_string(type));
    for (const std::int64_t n : {128, 512, 2048}) {
      EXPECT_EQ(chosen_config(type, network, n)->info.algorithm, "wgmma") << n;
      EXPECT_NE(chosen_config(type, network, n, 80)->info.algorithm, "wgmma") << n;
      EXPECT_NE(chosen_config(type, network, n, 100)->info.algorithm, "wgmma") << n;
    }
    EXPECT_NE(chosen_config(type, network, 8)->info.algorithm, "wgmma");
  }
}

TEST(choice, says_which_gpu_a_kernel_needs) {
  const choice::problem p = small_problem_on_gpu(80);
  try {
    choice::candidates(p, {.expert = {.kernel = "wgmma"}});
    FAIL() << "there are no warpgroups on an A100";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_such_kernel);
    EXPECT_NE(std::string(e.what()).find("needs compute capability 9.0, not 8.0"), std::string::npos) << e.what();
  }
}

TEST(choice, stages_rows_of_b_where_narrow_values_meet_many_rows_of_a) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const auto network = generate::from_specification<float>("uniform:2048,2048,0.75,seed=3");
  const auto sparser = generate::from_specification<float>("uniform:2048,2048,0.97,seed=3");
  for (const value_type type : {value_type::fp16, value_type::bf16}) {
    SCOPED_TRACE(to_string(type));
    for (const std::int64_t n : {128, 512, 2048}) {
      EXPECT_EQ(chosen_config(type, network, n, 80)->info.algorithm, "staged") << n;
    }
    EXPECT_NE(chosen_config(type, network, 8, 80)->info.algorithm, "staged");
    EXPECT_EQ(chosen_config(type, sparser, 128)->info.algorithm, "rowwise");
  }
}

TEST(choice, takes_tiles_of_nodes_on_plain_cores_and_bands_on_tensor_cores) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const auto nodes = generate::from_specification<float>("elasticity:30,30,30");
  const auto band = generate::from_specification<float>("banded:100000,60");
  for (const std::int64_t n : {128, 512}) {
    EXPECT_EQ(chosen_config(value_type::fp32, nodes, n)->info.algorithm, "fma") << n;
  }
  // With rows of B of 128 bytes enough warps reside on the tensor cores to hide their loads (docs/history, 116).
  EXPECT_EQ(chosen_config(value_type::fp32, nodes, 32)->info.algorithm, "mma");
  for (const std::int64_t n : {32, 128, 512}) {
    EXPECT_EQ(chosen_config(value_type::fp32, band, n, 80)->info.algorithm, "mma") << n;
  }
  // In fp64 the tensor cores are ahead even there, with rows of B in shared memory (docs/history, 123).
  EXPECT_EQ(chosen_config(value_type::fp64, nodes, 128)->info.algorithm, "staged");
}

TEST(cost_terms, tell_what_the_last_wave_of_thread_blocks_leaves_empty) {
  // 2 x 1024 thread blocks of 4 teams, 132 x 6 at once: 2.59 waves, of which 3 are paid.
  const kernel_info wide{.resident_blocks = 6, .teams = 4, .depth = 4};
  EXPECT_DOUBLE_EQ(choice::idle_share(wide, 132, 4096, 2), 3.0 * 792 / 2048 - 1);
  // 4 x 1024 of them, 132 x 8 at once: 3.88 waves.
  const kernel_info narrow{.resident_blocks = 8, .teams = 4, .depth = 4};
  EXPECT_DOUBLE_EQ(choice::idle_share(narrow, 132, 4096, 4), 4.0 * 1056 / 4096 - 1);
  // Teams that take three pieces one after the other; whole waves; all at once; a kernel that does not say.
  EXPECT_DOUBLE_EQ(choice::idle_share(wide, 132, 4 * 792 * 12, 1), 0);
  EXPECT_DOUBLE_EQ(choice::idle_share(wide, 132, 4 * 792 * 12 + 12, 1), 5.0 * 792 / (4 * 792 + 1) - 1);
  EXPECT_EQ(choice::idle_share(wide, 132, 4 * 792 * 2, 1), 0);
  EXPECT_EQ(choice::idle_share(wide, 132, 792, 1), 0);
  EXPECT_EQ(choice::idle_share(wide, 132, 0, 1), 0);
  EXPECT_EQ(choice::idle_share(kernel_info{}, 132, 4096, 2), 0);
  EXPECT_EQ(choice::idle_share(wide, 0, 4096, 2), 0);
}

TEST(cost_terms, of_a_config_that_tells_how_it_takes_pieces_hold_what_is_left_empty) {
  const auto idle = static_cast<std::size_t>(choice::cost_term::idle);
  const std::set<std::string> telling{"rowwise", "sliced", "mma", "fma"};
  int with_idle = 0;
  for (const choice::registered_kernel& k : choice::registry()) {
    const bool tells = k.info.resident_blocks > 0 && k.info.teams > 0;
    EXPECT_EQ(tells, telling.contains(k.info.algorithm)) << k.info.name;
    EXPECT_EQ(k.info.teams > 0, k.info.depth > 0) << k.info.name;
    if (k.info.where != backend::cuda) continue;
    // 40000 rows of three entries and 100 columns: many thread blocks, none of a heavy row.
    const choice::product_shape p{.rows = 40000, .inner = 40000, .nnz = 120000, .cols = 100, .multiprocessors = 132};
    const block_statistics s{
        .m_block = k.info.m_tile, .num_row_blocks = 40000, .nnzc = 120000, .max_block_nnz = 3, .skew = 1};
    const double share = choice::idle_share(k.info, 132, p.rows, (p.cols + k.info.n_tile - 1) / k.info.n_tile);
    EXPECT_DOUBLE_EQ(choice::cost_terms_of(p, k.info, k.info.n_tile, s)[idle], share * 120000 * 100 * 4e-6)
        << k.info.name;
    with_idle += share > 0;
  }
  EXPECT_GT(with_idle, 0);
}

/// The config of block slices with so many rows and lanes of a row block, in fp32.
const choice::registered_kernel* sliced_config(int rows, int lanes) {
  for (const choice::registered_kernel& k : choice::registry()) {
    const bool wanted = k.info.algorithm == "sliced" && k.info.type == value_type::fp32;
    if (wanted && k.info.m_tile == rows && k.info.columns_at_once == lanes) return &k;
  }
  return nullptr;
}

TEST(cost_terms, of_block_slices_hold_the_longest_lane) {
  const auto* k = sliced_config(1, 8);
  ASSERT_NE(k, nullptr);
  const auto chain_of = [&](std::int64_t longest) {
    const choice::product_shape p{.rows = 1000, .inner = 100000, .nnz = 30000, .cols = 1};
    const block_statistics s{.m_block = 1,
                             .num_row_blocks = 1000,
                             .nnzc = 30000,
                             .max_block_nnz = longest,
                             .skew = static_cast<double>(longest) / 30,
                             .max_block_nnzc = longest};
    const choice::cost_terms terms = choice::cost_terms_of(p, k->info, 1, s);
    EXPECT_EQ(terms[static_cast<std::size_t>(choice::cost_term::split)], 0);
    return terms[static_cast<std::size_t>(choice::cost_term::chain)];
  };
  EXPECT_DOUBLE_EQ(chain_of(120), 15);  // 8 lanes
  // More than four times the mean: a slice by itself, as is then all that shares one at most.
  EXPECT_DOUBLE_EQ(chain_of(320), 15);
  EXPECT_DOUBLE_EQ(chain_of(3200), 50);  // as if two warps of 32 lanes took it
}

TEST(cost_terms, of_tensor_cores_hold_the_pieces_that_a_thread_adds_in_turn) {
  const auto k = std::ranges::find_if(choice::registry(), [](const choice::registered_kernel& one) {
    return one.info.algorithm == "mma" && one.info.type == value_type::fp32 && one.info.m_tile == 16;
  });
  if (k == choice::registry().end()) GTEST_SKIP() << "built without these configs";
  struct expected {
    double chain, split;
  };
  const auto terms_of = [&](std::int64_t most_columns) {
    const choice::product_shape p{.rows = 16000, .inner = 100000, .nnz = 200000, .cols = 32};
    const block_statistics s{
        .m_block = 16, .num_row_blocks = 1000, .nnzc = 100000, .max_block_nnz = 5000, .max_block_nnzc = most_columns};
    const choice::cost_terms terms = choice::cost_terms_of(p, k->info, 32, s);
    return expected{terms[static_cast<std::size_t>(choice::cost_term::chain)],
                    terms[static_cast<std::size_t>(choice::cost_term::split)]};
  };
  // A piece is up to 16 groups of 8 columns; row blocks of up to twice as many are whole.
  EXPECT_DOUBLE_EQ(terms_of(9).chain, 2);
  EXPECT_DOUBLE_EQ(terms_of(129).chain, 17);
  EXPECT_DOUBLE_EQ(terms_of(256).chain, 32);
  EXPECT_DOUBLE_EQ(terms_of(256).split, 0);
  EXPECT_DOUBLE_EQ(terms_of(257).chain, 16);
  EXPECT_DOUBLE_EQ(terms_of(257).split, 1 + 33.0 / 16 / 16);
  EXPECT_DOUBLE_EQ(terms_of(4096).split, 3);
}

bool considers(const choice::problem& p, const plan_options& options, std::string_view algorithm) {
  return std::ranges::any_of(choice::allowed(p, options),
                             [&](const auto* k) { return k->info.algorithm == algorithm; });
}

TEST(choice, considers_block_slices_for_one_column_or_a_column_major_b_unless_they_are_named) {
  choice::problem p{.where = backend::cuda,
                    .type = value_type::fp32,
                    .rows = 1000,
                    .inner = 1000,
                    .nnz = 5000,
                    .cols = 1,
                    .max_shared_bytes = 1 << 20,
                    .compute_capability = 90,
                    .num_multiprocessors = 132};
  const auto has_slices = [&](const plan_options& options) { return considers(p, options, "sliced"); };
  const bool built = sliced_config(1, 8)->launch != nullptr;
  EXPECT_EQ(has_slices({}), built);
  EXPECT_FALSE(has_slices({.transposable = true})) << "no kernel multiplies by the transpose from them";
  p.cols = 2;
  EXPECT_FALSE(has_slices({}));
  EXPECT_EQ(has_slices({.expert = {.kernel = "sliced"}}), built);
  p.b_is_col_major = true;
  const bool measured = std::ranges::any_of(choice::registry(), [](const choice::registered_kernel& k) {
    return k.info.algorithm == "sliced" && k.info.type == value_type::fp32 && k.launch != nullptr &&
           k.measured_in_place;
  });
  EXPECT_EQ(has_slices({.b_layout = layout::col_major}), measured);
  EXPECT_FALSE(has_slices({.b_layout = layout::col_major, .expert = {.reading = col_major_b::packed}}));
  p.b_is_col_major = false;
  p.cols = 1;
  p.inner = std::int64_t{1} << 28;
  EXPECT_EQ(has_slices({}), built);
  ++p.inner;
  EXPECT_FALSE(has_slices({}));
  EXPECT_FALSE(has_slices({.expert = {.kernel = "sliced"}}));
}

TEST(choice, on_a_cpu_considers_slices_for_one_column_alone_unless_they_are_named) {
  for (const std::int64_t cols : {1, 2, 8}) {
    const choice::problem p{
        .where = backend::cpu, .type = value_type::fp64, .rows = 5000, .inner = 5000, .nnz = 2000, .cols = cols};
    EXPECT_EQ(considers(p, {}, "slices"), cols == 1) << cols;
    EXPECT_TRUE(considers(p, {.expert = {.kernel = "slices"}}, "slices")) << cols;
  }
}

TEST(choice, takes_the_block_slices_with_the_fewest_bytes_by_name) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small";
  std::vector<choice::registered_kernel> without_costs;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.algorithm != "sliced" || k.info.type != value_type::fp16) continue;
    without_costs.push_back(k);
    without_costs.back().measured.reset();
  }
  std::vector<const choice::registered_kernel*> configs;
  for (const choice::registered_kernel& k : without_costs) configs.push_back(&k);
  const choice::problem p{
      .where = backend::cuda, .type = value_type::fp16, .rows = 3000000, .inner = 3000000, .nnz = 240000000, .cols = 1};
  const auto chosen = [&](std::int64_t nnzc_of_3, const choice::problem& of) {
    const auto s = [&](std::int64_t height, std::int64_t nnzc) {
      return block_statistics{.m_block = height, .num_row_blocks = of.rows / height, .nnzc = nnzc, .skew = 1};
    };
    const std::vector<block_statistics> statistics{s(1, of.nnz), s(2, of.nnz * 3 / 4), s(3, nnzc_of_3),
                                                   s(4, of.nnz * 3 / 4)};
    return choice::choose(of, {}, configs, statistics).kernel->info;
  };
  EXPECT_EQ(chosen(p.nnz / 3, p).m_tile, 3);  // 10 bytes for three
  EXPECT_EQ(chosen(p.nnz, p).m_tile, 1);
  EXPECT_EQ(chosen(p.nnz, p).columns_at_once, 1);
  choice::problem small = p;
  small.rows = small.inner = 3000, small.nnz = 240000;
  EXPECT_EQ(chosen(small.nnz, small).columns_at_once, 4);
}

TEST(cpu_cost_terms, a_cache_fetches_what_it_cannot_keep) {
  // A band of 33 entries per row: blocks of h rows read h + 32 rows of B.
  choice::product_shape band{.rows = 10000, .inner = 10000, .nnz = 330000, .cols = 64};
  for (const std::int64_t height : {1, 2, 4, 8, 16, 32, 64}) {
    band.read_by_height.push_back({height, (height + 32) * band.rows / height});
  }
  const double row_bytes = 256;
  EXPECT_EQ(choice::fetched_rows(band, row_bytes, 20 * row_bytes), 330000);           // not even a row's
  EXPECT_EQ(choice::fetched_rows(band, row_bytes, 50 * row_bytes), 30000);            // those of 16 rows
  EXPECT_NEAR(choice::fetched_rows(band, row_bytes, 1000 * row_bytes), 10000, 1500);  // nearly each once
  EXPECT_EQ(choice::fetched_rows(band, row_bytes, 10000 * row_bytes), 0);             // all of B
  // For a matrix whose rows have nothing in common a cache saves nothing until it holds all.
  choice::product_shape scattered{.rows = 10000, .inner = 10000000, .nnz = 330000, .cols = 64};
  for (const std::int64_t height : {1, 2, 4, 8}) scattered.read_by_height.push_back({height, 330000});
  for (const double rows : {10, 1000, 100000}) {
    EXPECT_EQ(choice::fetched_rows(scattered, row_bytes, rows * row_bytes), 330000);
  }
  // Nothing to read; no statistics.
  EXPECT_EQ(choice::fetched_rows({.rows = 5, .inner = 5, .nnz = 0, .cols = 1}, 4, 100), 0);
  EXPECT_EQ(choice::fetched_rows({.rows = 0, .inner = 0, .nnz = 0, .cols = 1}, 4, 100), 0);
  EXPECT_LE(choice::fetched_rows({.rows = 5, .inner = 5, .nnz = 20, .cols = 1}, 4, 1), 20);
}

TEST(cpu_cost_terms, passes_that_meet_within_a_line_cost_more) {
  const auto products = [](std::int64_t cols, int n_tile) {
    const choice::product_shape p{.rows = 1000, .inner = 1000, .nnz = 5000, .cols = cols};
    const kernel_info rows{.m_tile = 1, .n_tile = n_tile};
    const block_statistics s{.m_block = 1, .num_row_blocks = 1000, .nnzc = 5000};
    return choice::cpu_cost_terms_of(p, rows, s)[static_cast<std::size_t>(choice::cpu_cost_term::products)];
  };
  EXPECT_GT(products(100, 64), products(100, 128));
  EXPECT_GT(products(100, 32), products(100, 64));
  EXPECT_EQ(products(96, 32), products(96, 128)) << "rows of whole lines";
  EXPECT_EQ(products(12, 4), products(12, 16)) << "rows within a line";
}

/// What a plan takes on a CPU with the caches of the machine that its choice was measured on.
std::string chosen_on_cpu(value_type type, const csr_matrix<float>& a, std::int64_t cols) {
  const choice::problem p{.where = backend::cpu,
                          .type = type,
                          .rows = a.rows(),
                          .inner = a.cols(),
                          .nnz = a.nnz(),
                          .cols = cols,
                          .caches = {.l1 = 32 << 10, .l2 = 512 << 10, .l3 = 32 << 20}};
  const auto kernels = choice::candidates(p, {});
  const auto heights = choice::heights(kernels, {});
  return choice::choose(p, {}, kernels, analyse_blocks(a.view(), std::span(heights))).kernel->info.name;
}

TEST(choice, takes_any_number_of_columns) {
  for (const std::int64_t n : {std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_FALSE(chosen_on_cpu(value_type::fp64, generate::from_specification<float>("stencil5:5,5"), n).empty());
  }
}

TEST(choice, every_cpu_config_has_measured_costs) {
  for (const choice::registered_kernel& k : choice::registry()) {
    EXPECT_EQ(k.family.has_value(), k.info.where == backend::cpu) << to_string(k.info.type) << ' ' << k.info.name;
    EXPECT_EQ(k.family_of_vector.has_value(), k.info.where == backend::cpu) << k.info.name;
  }
}

TEST(choice, every_case_measured_on_a_cpu_has_a_residual_of_each_config) {
  for (const choice::cpu_kind& kind : choice::measured_cpus()) {
    const choice::kept_costs& of = choice::built_in(choice::file_name(kind));
    EXPECT_GT(of.families.size(), 0u);
    EXPECT_GT(of.cases.size(), 0u);
    for (const choice::measured_case& c : of.cases) {
      ASSERT_EQ(std::ssize(c.residuals), std::ranges::count(of.cpu_configs, c.type, &choice::cpu_config::type));
    }
  }
}

TEST(choice, on_a_cpu_tiles_that_hold_all_columns_are_one) {
  const choice::cpu_config timed[] = {{value_type::fp32, "rows", 1, 32},
                                      {value_type::fp64, "rows", 1, 32},
                                      {value_type::fp32, "rows", 1, 128},
                                      {value_type::fp32, "rows", 1, 512},
                                      {value_type::fp32, "blocks", 4, 512}};
  const auto place = [&](const char* algorithm, int m_tile, int n_tile, std::int64_t cols) {
    kernel_info kernel{.m_tile = m_tile, .n_tile = n_tile};
    kernel.algorithm = algorithm;
    kernel.type = value_type::fp32;
    return choice::place_of(kernel, cols, timed);
  };
  EXPECT_EQ(place("rows", 1, 128, 100), 1u);
  EXPECT_EQ(place("rows", 1, 512, 100), 1u) << "holds them all, as 128 does";
  EXPECT_EQ(place("rows", 1, 512, 129), 2u);
  EXPECT_EQ(place("rows", 1, 32, 100), 0u);
  EXPECT_EQ(place("blocks", 4, 512, 8), 3u);
  EXPECT_EQ(place("blocks", 3, 512, 8), std::nullopt);
  EXPECT_EQ(place("columns", 1, 32, 8), std::nullopt);
}

TEST(choice, on_a_cpu_knows_where_rows_of_b_come_from) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small";
  const auto network = generate::from_specification<float>("uniform:512,2048,0.7,seed=1");
  const auto graph = generate::from_specification<float>("rmat:14,8,seed=1");
  for (const value_type type : {value_type::fp32, value_type::fp64}) {
    SCOPED_TRACE(to_string(type));
    // A slice of B in L2 for many rows of A, not all columns of B for two: how wide a slice depends on L2.
    const std::string of_network = chosen_on_cpu(type, network, 512);
    const auto width = of_network.rfind("-n");
    ASSERT_NE(width, std::string::npos) << of_network;
    EXPECT_LE(std::stoi(of_network.substr(width + 2)), 128) << of_network;
    EXPECT_EQ(chosen_on_cpu(type, graph, 1), "slices");
    EXPECT_TRUE(chosen_on_cpu(type, graph, 8).starts_with("rows")) << chosen_on_cpu(type, graph, 8);
  }
}

TEST(neighbours, every_known_case_tells_of_every_measured_config_of_its_type) {
  const auto expect_whole = [](std::span<const choice::measured_case> cases,
                               std::span<const choice::measured_config> configs) {
    ASSERT_FALSE(cases.empty());
    for (const choice::measured_case& c : cases) {
      EXPECT_EQ(c.residuals.size(),
                static_cast<std::size_t>(std::ranges::count(configs, c.type, &choice::measured_config::type)));
    }
  };
  const choice::cost_table& of_h200 = choice::built_in_costs(backend::cuda);
  expect_whole(of_h200.cases, of_h200.configs);
  expect_whole(of_h200.cases_in_place, of_h200.configs_in_place);
}

TEST(choice, a_forced_height_is_kept) {
  const auto possible = choice::candidates(cpu_problem(), {.expert = {.m_block = 13}});
  const auto heights = choice::heights(possible, {.expert = {.m_block = 13}});
  ASSERT_EQ(heights, std::vector<std::int64_t>{13});
  const std::vector<block_statistics> s{{.m_block = 13, .num_row_blocks = 8, .nnzc = 300, .reuse = 1.7, .skew = 1}};
  EXPECT_EQ(choice::choose(cpu_problem(), {.expert = {.m_block = 13}}, possible, s).m_block, 13);
}

TEST(choice, predictions_are_positive_and_grow_with_n) {
  const block_statistics s{
      .m_block = 16, .num_row_blocks = 1000, .nnzc = 50000, .reuse = 4, .max_block_nnz = 300, .skew = 1.5};
  for (const choice::registered_kernel& kernel : choice::registry()) {
    const kernel_info& k = kernel.info;
    choice::problem p{.where = k.where,
                      .type = k.type,
                      .rows = 16000,
                      .inner = 16000,
                      .nnz = 200000,
                      .cols = 8,
                      .num_multiprocessors = 132};
    const double small = choice::predict(p, kernel, s);
    if (k.where == backend::cuda && k.algorithm != "gemm" && !kernel.measured) {
      EXPECT_EQ(small, 0) << k.name << " has no costs";
      continue;
    }
    p.cols = 4096;
    EXPECT_GT(small, 0) << k.name;
    EXPECT_GT(choice::predict(p, kernel, s), small) << k.name;
  }
}

/// What is taken among the configs of `algorithm`, in this build or not; all of compact BCSC where it is empty.
std::string chosen_without_costs(const std::string& algorithm, std::int64_t cols, std::int64_t m_block,
                                 int index_bits = 32) {
  const choice::problem p{.where = backend::cuda,
                          .type = value_type::fp32,
                          .rows = 1000,
                          .inner = 1000,
                          .nnz = 5000,
                          .cols = cols,
                          .num_multiprocessors = 132};
  std::vector<const choice::registered_kernel*> configs;
  for (const choice::registered_kernel& k : choice::registry()) {
    const bool named = algorithm.empty() ? k.info.any_m_block : k.info.algorithm == algorithm;
    if (k.info.where == p.where && k.info.type == p.type && k.info.index_bits == index_bits && named) {
      configs.push_back(&k);
    }
  }
  const plan_options options{.expert = {.kernel = algorithm, .m_block = m_block}};
  std::vector<block_statistics> statistics;
  for (const std::int64_t height : choice::heights(configs, options)) {
    statistics.push_back({.m_block = height, .num_row_blocks = 1000 / height, .nnzc = 4000, .reuse = 1.25, .skew = 1});
  }
  const choice::decision taken = choice::choose(p, options, configs, statistics);
  EXPECT_NE(taken.reason.find("no measured costs"), std::string::npos) << taken.reason;
  return taken.kernel->info.name + " at " + std::to_string(taken.m_block);
}

TEST(choice, without_costs_takes_the_tile_that_fits) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: few tiles to take";
  EXPECT_EQ(chosen_without_costs("naive", 1, 0), "naive-m8-t8 at 8");
  EXPECT_EQ(chosen_without_costs("naive", 32, 0), "naive-m8-t32 at 8");
  EXPECT_EQ(chosen_without_costs("naive", 5000, 0), "naive-m8-t128 at 8");
  EXPECT_EQ(chosen_without_costs("naive", 128, 0, 64), "naive-m8-t128-i64 at 8");
  EXPECT_EQ(chosen_without_costs("warp", 8, 0), "warp-m16-n8-w32-l8 at 16") << "of two such tiles, more threads";
  EXPECT_EQ(chosen_without_costs("tiled", 32, 0), "tiled-m8-n32-k16-x8-y4 at 8");
  // Row blocks of a height of their own: a tile as high, or as near to it as there is.
  EXPECT_EQ(chosen_without_costs("warp", 32, 64), "warp-m64-n32-w16-l16 at 64");
  EXPECT_EQ(chosen_without_costs("naive", 32, 13), "naive-m16-t32 at 13");
  EXPECT_EQ(chosen_without_costs("", 32, 200).substr(0, 12), "warp-m256-n3") << "several columns at once";
}

/// What a plan on an H200 takes for a matrix of which it knows what `p` says besides sizes.
choice::prediction best_on_h200(const char* specification, choice::problem p, const std::string& kernel = {}) {
  const auto a = generate::from_specification<float>(specification);
  p.where = backend::cuda;
  std::tie(p.rows, p.inner, p.nnz) = std::tuple(a.rows(), a.cols(), a.nnz());
  p.max_shared_bytes = 227 * 1024;
  p.compute_capability = 90;
  p.num_multiprocessors = 132;
  const plan_options options{.expert = {.kernel = kernel}};
  auto kernels = choice::candidates(p, options);
  const auto heights = choice::heights(kernels, options);
  const auto statistics = analyse_blocks(a.view(), std::span(heights));
  choice::prediction best = choice::predictions(p, options, kernels, statistics).front();
  best.at = nullptr;  // they end here
  return best;
}

/// For a stencil, if it takes A's rows for those of `grid`.
choice::prediction best_for_grid(const char* specification, const converters::grid& grid, value_type type,
                                 std::int64_t cols, const std::string& kernel = {}) {
  return best_on_h200(specification, {.type = type, .cols = cols, .grid = grid}, kernel);
}

TEST(choice, takes_bricks_for_grids_alone) {
  const auto is_built = [](const kernel_info& k) { return k.algorithm == "brickwise" && k.built; };
  if (test::has_few_configs || std::ranges::none_of(kernel_table(), is_built)) {
    GTEST_SKIP() << "built without CUDA, or with kernel_space=small: no config has been measured";
  }
  constexpr converters::grid deep{64, 64, 64}, flat{600, 600, 1};
  for (const value_type type : {value_type::fp32, value_type::fp64}) {
    for (const std::int64_t n : {32, 128}) {
      EXPECT_EQ(best_for_grid("stencil7:64,64,64", deep, type, n).kernel->info.algorithm, "brickwise") << n;
      EXPECT_EQ(best_for_grid("stencil5:600,600", flat, type, n).kernel->info.algorithm, "brickwise") << n;
      EXPECT_NE(best_for_grid("stencil7:64,64,64", {}, type, n).kernel->info.algorithm, "brickwise") << n;
    }
  }
  // Longer rows for fewer columns.
  for (const value_type type : {value_type::fp32, value_type::fp64}) {
    EXPECT_EQ(best_for_grid("stencil9:600,600", flat, type, 128).kernel->info.algorithm, "brickwise");
    EXPECT_NE(best_for_grid("stencil9:600,600", flat, type, 256).kernel->info.algorithm, "brickwise");
  }
  // Too few bricks for all multiprocessors, unless there are several tiles of columns.
  constexpr converters::grid small{40, 40, 40};
  EXPECT_NE(best_for_grid("stencil7:40,40,40", small, value_type::fp64, 16).kernel->info.algorithm, "brickwise");
  EXPECT_EQ(best_for_grid("stencil7:40,40,40", small, value_type::fp64, 64).kernel->info.algorithm, "brickwise");
  // In fp32 a tile that is mostly empty takes as long as a full one.
  EXPECT_NE(best_for_grid("stencil7:64,64,64", deep, value_type::fp32, 36).kernel->info.algorithm, "brickwise");
  EXPECT_EQ(best_for_grid("stencil7:64,64,64", deep, value_type::fp64, 36).kernel->info.algorithm, "brickwise");
  const auto bricks = best_for_grid("stencil7:64,64,64", deep, value_type::fp64, 16);
  const auto rows = best_for_grid("stencil7:64,64,64", deep, value_type::fp64, 16, "rowwise");
  EXPECT_LT(bricks.seconds, rows.seconds);
  EXPECT_GT(bricks.seconds, rows.seconds / 2);
  // Named, they have nothing that their time could be a share of.
  EXPECT_EQ(best_for_grid("stencil7:64,64,64", deep, value_type::fp64, 16, "brickwise").seconds, 0);
}

/// For a band, if it knows how far entries are from the diagonal.
std::string algorithm_for_band(const char* specification, std::int64_t farthest, std::int64_t cols,
                               value_type type = value_type::fp64, bool b_is_col_major = false) {
  const choice::problem p{.type = type, .cols = cols, .b_is_col_major = b_is_col_major, .farthest = farthest};
  return best_on_h200(specification, p).kernel->info.algorithm;
}

TEST(choice, lets_the_rows_of_b_slide_on_in_bands_alone) {
  const auto is_built = [](const kernel_info& k) { return k.algorithm == "sliding" && k.built; };
  if (test::has_few_configs || std::ranges::none_of(kernel_table(), is_built)) {
    GTEST_SKIP() << "built without CUDA, or with kernel_space=small: no config has been measured";
  }
  const char* band = "banded:25000,40";
  for (const std::int64_t n : {128, 256, 512, 96, 1000}) EXPECT_EQ(algorithm_for_band(band, 40, n), "sliding") << n;
  EXPECT_NE(algorithm_for_band(band, 65, 256), "sliding") << "wider than what is kept";
  EXPECT_NE(algorithm_for_band(band, std::numeric_limits<std::int64_t>::max(), 256), "sliding") << "not known";
  EXPECT_NE(algorithm_for_band(band, 40, 256, value_type::fp32), "sliding") << "there is none";
  EXPECT_NE(algorithm_for_band(band, 40, 256, value_type::fp64, true), "sliding") << "B would have to be packed";
  EXPECT_NE(algorithm_for_band(band, 40, 255), "sliding") << "rows of B begin anywhere";
  EXPECT_NE(algorithm_for_band("stencil9:60,420", 61, 256), "sliding") << "hardly any of its entries are there";
  EXPECT_EQ(algorithm_for_band("banded:25000,3", 3, 256), "sliding") << "few entries, and all columns are kept";
  EXPECT_NE(algorithm_for_band(band, 40, 32), "sliding") << "mostly empty tiles";
  EXPECT_NE(algorithm_for_band(band, 40, 160), "sliding") << "the second tile is mostly empty";
  // Few row blocks: most places on the GPU would have two of them, and a few three.
  EXPECT_NE(algorithm_for_band("banded:15000,40", 40, 128), "sliding");
  EXPECT_EQ(algorithm_for_band("banded:15000,40", 40, 512), "sliding");
  EXPECT_NE(algorithm_for_band(band, 40, 64), "sliding");
  EXPECT_EQ(algorithm_for_band("banded:40000,40", 40, 64), "sliding");
}

TEST(choice, configs_without_costs_come_last) {
  const choice::registered_kernel *with = nullptr, *without = nullptr;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.type != value_type::fp32 || k.info.rounds_values) continue;
    if (k.measured && with == nullptr) with = &k;
    if (k.info.algorithm == "naive" && k.info.index_bits == 32 && without == nullptr) without = &k;
  }
  if (with == nullptr) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  ASSERT_NE(without, nullptr);
  const choice::problem p{.where = backend::cuda, .rows = 1000, .inner = 1000, .nnz = 5000, .cols = 8};
  const std::vector<const choice::registered_kernel*> both{without, with};
  std::vector<block_statistics> statistics;
  for (const std::int64_t height : choice::heights(both, {})) {
    statistics.push_back({.m_block = height, .num_row_blocks = 1000 / height, .nnzc = 4000, .reuse = 1.25, .skew = 1});
  }
  const std::vector<choice::prediction> found = choice::predictions(p, {}, both, statistics);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kernel, with);
  EXPECT_GT(found[0].seconds, 0);
  EXPECT_EQ(found[1].seconds, 0);
}

class tuner : public ::testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    std::filesystem::remove(file_);
    std::filesystem::remove(file_ + ".lock");
  }
  test::sparse_case named(const std::string& name) {
    for (auto& c : test::battery(test::values::real)) {
      if (c.name == name) return c;
    }
    throw std::logic_error(name);
  }
  const std::string file_ =
      (std::filesystem::temp_directory_path() / ("bcsc_tune_" + std::to_string(::getpid()))).string();
};

TEST_F(tuner, measures_every_kernel_and_remembers_the_winner) {
  const auto a = test::csr_of<float>(named("band"));
  const auto ctx = context::cpu(1);
  const tune_options options{.plan = {.cols = 8}, .repetitions = 2, .cache_file = file_};
  const auto timings = tune(ctx, a.view(), options);
  std::size_t narrow = 0;
  for (const auto& k : kernel_table(backend::cpu, value_type::fp32)) narrow += test::is_tuned(k, 8) ? 1 : 0;
  ASSERT_EQ(timings.size(), narrow);
  EXPECT_TRUE(std::ranges::is_sorted(timings, {}, &tune_timing::seconds));
  EXPECT_TRUE(std::filesystem::exists(file_));
  const auto again = tune(ctx, a.view(), options);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].kernel, timings[0].kernel);
  EXPECT_EQ(again[0].seconds, timings[0].seconds);
}

TEST_F(tuner, times_only_what_can_read_b_as_asked) {
  const auto ctx = test::context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto a = test::csr_of<float>(named("ragged"));
  const auto timings =
      tune(*ctx, a.view(),
           {.plan = {.cols = 8, .b_layout = layout::col_major, .expert = {.reading = col_major_b::in_place}},
            .repetitions = 1,
            .cache_file = "off"});
  std::set<std::string> able, timed;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.where != backend::cuda || k.info.type != value_type::fp32) continue;
    const bool slices = k.info.algorithm == "sliced" && k.info.built && k.measured_in_place;
    if (slices || (k.info.strided_cols > 0 && test::is_tuned(k.info, 8))) able.insert(k.info.name);
  }
  for (const tune_timing& t : timings) timed.insert(t.kernel);
  EXPECT_EQ(timed, able);
}

TEST_F(tuner, refuses_nonsense) {
  const auto a = test::csr_of<float>(named("ragged"));
  EXPECT_THROW(tune(context::cpu(1), a.view(), {.repetitions = 0}), error);
  EXPECT_THROW(tune(context::cpu(1), a.view(), {.plan = {.expert = {.kernel = "none"}}}), error);
  EXPECT_THROW(tune(context::cpu(1), a.view(),
                    {.plan = {.b_layout = layout::col_major, .expert = {.reading = col_major_b::in_place}}}),
               error);
}

}  // namespace
}  // namespace bcsc
