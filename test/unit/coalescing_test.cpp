// How near each other the columns of neighbouring rows are: what 32 rows reach at once, counted on the host and, where
// there is one, on the GPU.
#include "converters/formats/coalescing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/generate.hpp"
#include "converters/formats/structure.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

converters::column_access access_of(const csr_matrix<double>& a) {
  return converters::access_to_columns(converters::structure_of(a.view()));
}
double sectors_of(const csr_matrix<double>& a) { return access_of(a).sectors_per_entry[0]; }

csr_matrix<double> of(std::int64_t rows, std::int64_t cols,
                      const std::function<std::vector<std::int64_t>(std::int64_t)>& row) {
  std::vector<std::int64_t> ptr{0}, ind;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const std::int64_t j : row(i)) ind.push_back(j);
    ptr.push_back(static_cast<std::int64_t>(ind.size()));
  }
  std::vector<std::int32_t> ptr32(ptr.begin(), ptr.end()), ind32(ind.begin(), ind.end());
  const std::vector<double> values(ind.size(), 1.0);
  return {rows, cols, std::move(ptr32), std::move(ind32), values};
}

TEST(coalescing, counts_what_32_rows_reach_at_once) {
  // The main diagonal: 32 rows reach four sectors, which begin at multiples of eight.
  EXPECT_DOUBLE_EQ(sectors_of(of(1024, 1024, [](std::int64_t i) { return std::vector{i}; })), 4.0 / 32);
  // One further: five.
  EXPECT_DOUBLE_EQ(sectors_of(of(1024, 2048, [](std::int64_t i) { return std::vector{i + 1}; })), 5.0 / 32);
  // All in one column: one. Each in a sector of its own: 32.
  EXPECT_DOUBLE_EQ(sectors_of(of(1024, 8, [](std::int64_t) { return std::vector<std::int64_t>{3}; })), 1.0 / 32);
  EXPECT_DOUBLE_EQ(sectors_of(of(1024, 8192, [](std::int64_t i) { return std::vector{8 * i}; })), 1);
  // Entries meet by their place in the row: the second of even rows meets that of odd ones, 100 columns away.
  EXPECT_DOUBLE_EQ(sectors_of(of(1024, 2048,
                                 [](std::int64_t i) {
                                   return std::vector{i, i + 100 + 100 * (i % 2)};
                                 })),
                   (4.0 + 5.0 + 4.0) / 64);
}

TEST(coalescing, counts_what_several_lanes_of_a_row_reach) {
  using by_lanes = sectors_by_lanes;
  // Blocks of eight entries, scattered: a row's reach one sector, however many of them are read at once.
  const auto scattered_blocks = of(1024, std::int64_t{1} << 16, [](std::int64_t i) {
    std::vector<std::int64_t> row(8);
    for (std::int64_t k = 0; k < 8; ++k) row[static_cast<std::size_t>(k)] = (i * 97 % 1024) * 64 + k;
    return row;
  });
  EXPECT_EQ(access_of(scattered_blocks).sectors_per_entry, (by_lanes{1, 0.5, 0.25, 0.125}));
  // Three diagonals: neighbouring rows are side by side, and only so many of them are left for eight lanes.
  const auto diagonals = of(1024, 4096, [](std::int64_t i) { return std::vector{i, i + 800, i + 1600}; });
  EXPECT_EQ(access_of(diagonals).sectors_per_entry, (by_lanes{0.125, 0.125, 0.125, 0.25}));
}

TEST(coalescing, looks_at_some_of_the_entries_of_long_rows) {
  const auto rows_of = [](std::int64_t entries, const auto& column) {
    return [=](std::int64_t i) {
      std::vector<std::int64_t> row(static_cast<std::size_t>(entries));
      for (std::int64_t k = 0; k < entries; ++k) row[static_cast<std::size_t>(k)] = column(i, k);
      std::ranges::sort(row);
      return row;
    };
  };
  // 32 neighbouring columns are in four sectors if they begin with one, which one in eight do, else in five; the eleven
  // that four rows reach by eight lanes each begin with a sector or in its middle: they are in two.
  const auto band = access_of(of(1024, 2048, rows_of(600, [](auto i, auto k) { return i + k; })));
  EXPECT_NEAR(band.sectors_per_entry[0], (4 + 7 * 5) / 8.0 / 32, 0.005);
  EXPECT_DOUBLE_EQ(band.sectors_per_entry[3], 2.0 / 32);
  const auto anywhere = [](auto i, auto k) { return (i * 7919 + k * 104729) % 1000003; };
  EXPECT_GT(sectors_of(of(1024, 1000003, rows_of(600, anywhere))), 0.98);
  // What short rows have counts beside a long one.
  EXPECT_LT(sectors_of(of(1024, 4096,
                          [&](std::int64_t i) {
                            return i % 32 == 5 ? rows_of(900, [](auto, auto k) { return 4 * k; })(i) : std::vector{i};
                          })),
            0.99);
}

TEST(coalescing, tells_how_far_from_the_diagonal_entries_are) {
  const auto reach_of = [](std::int64_t rows, std::int64_t cols, const auto& row) {
    return access_of(of(rows, cols, row)).reach;
  };
  EXPECT_EQ(reach_of(1024, 1024, [](std::int64_t i) { return std::vector{i}; }), 0);
  EXPECT_EQ(reach_of(1024, 4096, [](std::int64_t i) { return std::vector{4 * i + (i % 2 == 0 ? 3 : 0)}; }), 3);
  EXPECT_EQ(reach_of(1024, 1024, [](std::int64_t i) { return std::vector{std::max<std::int64_t>(i - 50, 0), i}; }), 50);
  // A hundredth may be anywhere: two of the 256 rows, but not four.
  const auto with_far = [](std::int64_t last) {
    return [=](std::int64_t i) { return std::vector{i % 128 == 0 && i <= last ? (i + 500) % 1024 : i}; };
  };
  EXPECT_EQ(reach_of(1024, 1024, with_far(384)), 0);
  EXPECT_EQ(reach_of(1024, 1024, with_far(1024)), 500);
  EXPECT_EQ(reach_of(0, 5, [](std::int64_t) { return std::vector<std::int64_t>{}; }),
            std::numeric_limits<std::int64_t>::max())
      << "not known";
}

TEST(coalescing, tells_how_far_from_the_diagonal_any_entry_is) {
  const auto farthest_of = [](std::int64_t rows, std::int64_t cols, const auto& row) {
    return access_of(of(rows, cols, row)).farthest;
  };
  EXPECT_EQ(farthest_of(1024, 1024, [](std::int64_t i) { return std::vector{i}; }), 0);
  // Of long rows, of which only some entries are looked at, the first and the last.
  const auto long_row = [](std::int64_t i, std::int64_t before, std::int64_t behind) {
    std::vector<std::int64_t> row;
    for (std::int64_t j = i - before; j <= i + behind; ++j) {
      if (j >= 0 && j < 4096) row.push_back(j);
    }
    return row;
  };
  EXPECT_EQ(farthest_of(4096, 4096, [&](std::int64_t i) { return long_row(i, 70, 61); }), 70);
  EXPECT_EQ(farthest_of(4096, 4096, [&](std::int64_t i) { return long_row(i, 61, 71); }), 71);
  // One entry in a hundred is too many.
  EXPECT_EQ(farthest_of(1024, 1024, [](std::int64_t i) { return std::vector{i % 128 == 1 ? (i + 500) % 1024 : i}; }),
            524);
  EXPECT_EQ(farthest_of(0, 5, [](std::int64_t) { return std::vector<std::int64_t>{}; }),
            std::numeric_limits<std::int64_t>::max())
      << "not known";
}

TEST(coalescing, tells_whether_rows_of_like_length_are_side_by_side) {
  const auto of_lengths = [](const std::function<std::int64_t(std::int64_t)>& entries) {
    return access_of(of(1024, 64,
                        [&](std::int64_t i) {
                          std::vector<std::int64_t> row(static_cast<std::size_t>(entries(i)));
                          for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<std::int64_t>(k);
                          return row;
                        }))
        .sectors_per_row;
  };
  EXPECT_DOUBLE_EQ(of_lengths([](std::int64_t) { return 5; }), 0.125);
  EXPECT_DOUBLE_EQ(of_lengths([](std::int64_t i) { return 1 + i % 8; }), 0.125) << "1 to 8 entries are alike";
  EXPECT_DOUBLE_EQ(of_lengths([](std::int64_t i) { return 8 + i % 2; }), 0.25) << "8 and 9 are not";
  EXPECT_DOUBLE_EQ(of_lengths([](std::int64_t i) { return 8 + i / 8 % 2; }), 0.125) << "each in sectors of its own";
  EXPECT_DOUBLE_EQ(of_lengths([](std::int64_t i) { return 1 + 8 * (i % 8); }), 1);
  EXPECT_DOUBLE_EQ(of_lengths([](std::int64_t i) { return i % 2; }), 0.25) << "rows without entries are rows";
  EXPECT_EQ(of_lengths([](std::int64_t) { return 0; }), 0) << "not known";
}

TEST(coalescing, judges_small_and_odd_numbers_of_rows) {
  EXPECT_EQ(sectors_of(of(0, 5, [](std::int64_t) { return std::vector<std::int64_t>{}; })), 0);
  EXPECT_EQ(sectors_of(of(100, 5, [](std::int64_t) { return std::vector<std::int64_t>{}; })), 0);
  EXPECT_DOUBLE_EQ(sectors_of(of(1, 5, [](std::int64_t) { return std::vector<std::int64_t>{2}; })), 1);
  EXPECT_DOUBLE_EQ(sectors_of(of(33, 33, [](std::int64_t i) { return std::vector{i}; })), 5.0 / 33);
  // 150 rows: the 64 in the middle.
  EXPECT_DOUBLE_EQ(
      sectors_of(
          of(150, 4096, [](std::int64_t i) { return std::vector{i >= 43 && i < 107 ? 8 * i : std::int64_t{0}}; })),
      1);
  // Rows too long to be looked at are passed over; if all are, nothing is known.
  const auto long_row = [](std::int64_t i) {
    std::vector<std::int64_t> all(i < 512 ? 3000 : 1);
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<std::int64_t>(k);
    return all;
  };
  EXPECT_DOUBLE_EQ(sectors_of(of(1024, 3000, long_row)), 1.0 / 32);
  EXPECT_EQ(sectors_of(of(512, 3000, long_row)), 0);
}

TEST(coalescing, tells_meshes_from_graphs) {
  const auto near = [](const char* specification) {
    const auto a = generate::from_specification<double>(specification);
    return analyse_pattern(a.view()).sectors_per_entry[0];
  };
  for (const char* mesh : {"stencil5:100,100", "stencil27:20,20,20", "elasticity:12,12,12", "banded:5000,30"}) {
    EXPECT_LT(near(mesh), 0.2) << mesh;
    EXPECT_GE(near(mesh), 0.125) << mesh;
  }
  EXPECT_GT(near("rmat:16,8,seed=1"), 0.9);
  EXPECT_GT(near("uniform:20000,20000,0.999,seed=1"), 0.9);
}

TEST(coalescing, is_the_same_from_the_device) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  for (const char* specification : {"stencil7:30,30,30", "rmat:13,9,seed=2", "banded:50,3"}) {
    const auto a = generate::from_specification<float>(specification);
    const device_csr<float, std::int32_t> there(device, a.view());
    const auto on_device = converters::access_to_columns(converters::structure_of(there.view()));
    const auto on_host = converters::access_to_columns(converters::structure_of(a.view()));
    EXPECT_EQ(on_device.sectors_per_entry, on_host.sectors_per_entry) << specification;
    EXPECT_EQ(on_device.reach, on_host.reach) << specification;
    EXPECT_EQ(on_device.farthest, on_host.farthest) << specification;
    EXPECT_EQ(on_device.sectors_per_row, on_host.sectors_per_row) << specification;
  }
}

}  // namespace
}  // namespace bcsc::test
