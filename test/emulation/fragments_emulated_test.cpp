// The kernels that make fragments on the device, on the emulated GPU: between them a sort and sums of the standard
// library stand for those of the device. Bit-equal to the host's fragments, whatever the order of threads, with grids
// too small for all groups, and no access beyond an array.
#include "converters/formats/fragments_kernels.cuh"

#include <algorithm>
#include <numeric>

#include "bcsc/convert.hpp"
#include "converters/formats/fragments.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/emulated_steps.hpp"

namespace bcsc::test {
namespace {

using converters::fragments_matrix;
using converters::fragments_options;
namespace steps = converters::steps;

template <class T>
steps::fragments_job job_of(const compact_bcsc_view<T>& a, const fragments_options& options) {
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  return {.rows = a.rows,
          .cols = a.cols,
          .m_block = a.m_block,
          .num_blocks = a.num_row_blocks(),
          .nnzc = a.nnzc(),
          .nnz = a.nnz(),
          .height = converters::height_of_fragments(a.m_block),
          .most_groups = options.most_groups,
          .by_parts = options.by_parts,
          .block_row = present(a.block_row),
          .brow_ptr = a.brow_ptr.data(),
          .col_ind = present(a.col_ind),
          .col_ind16 = present(a.col_ind16),
          .col_count = a.col_count.data(),
          .row_in_block = a.row_in_block.data(),
          .index_bytes = a.row_in_block.bytes(),
          .values = a.values.data(),
          .value_bytes = static_cast<int>(sizeof(T))};
}

template <class T>
void may_read(known_memory& memory, const compact_bcsc_view<T>& a) {
  memory.may_read(a.block_row), memory.may_read(a.brow_ptr), memory.may_read(a.values);
  memory.may_read(a.col_ind), memory.may_read(a.col_ind16);
  memory.add(a.col_count.data(), a.col_count.size_bytes(), false);
  memory.add(a.row_in_block.data(), a.row_in_block.size_bytes(), false);
}

/// sums[i] = each(0) + ... + each(i - 1).
template <class X, class Each, class Add>
std::vector<X> sums_before(std::int64_t n, const Each& each, const Add& add) {
  std::vector<X> sums{X{}};
  for (std::int64_t i = 0; i < n; ++i) sums.push_back(add(sums.back(), each(i)));
  return sums;
}

template <class X>
std::vector<X> unwritten(std::int64_t n) {
  std::vector<X> array(static_cast<std::size_t>(n));
  std::memset(static_cast<void*>(array.data()), 0xab, array.size() * sizeof(X));
  return array;
}

/// As fragments_device.cu.
template <class T>
fragments_matrix<T> make_fragments(const compact_bcsc_view<T>& a, const fragments_options& options) {
  const steps::fragments_job job = job_of(a, options);
  known_memory memory;
  may_read(memory, a);

  const steps::column_entries entries{job.col_count, job.index_bytes, job.nnzc};
  EXPECT_EQ(entries(job.nnzc), 0);
  const auto first_entry = sums_before<std::int32_t>(job.nnzc, entries, std::plus{});
  const int parts_bits = static_cast<int>(job.height / 8);
  const bool sorted = job.by_parts && parts_bits > 1;
  auto parts = unwritten<std::uint8_t>(job.nnzc);
  auto keys = unwritten<std::uint64_t>(sorted ? job.nnzc : 0);
  auto order = unwritten<std::int32_t>(sorted ? job.nnzc : 0);
  memory.may_read(first_entry), memory.may_write(parts), memory.may_write(keys), memory.may_write(order);
  for_each_emulated(job.nnzc,
                    steps::column_parts_body{job, first_entry.data(), parts_bits, parts.data(),
                                             sorted ? keys.data() : nullptr, sorted ? order.data() : nullptr});
  std::ranges::stable_sort(order, {}, [&](std::int32_t j) { return keys[static_cast<std::size_t>(j)]; });
  for (const std::uint64_t key : keys) EXPECT_LT(key, static_cast<std::uint64_t>(job.num_blocks) << parts_bits);
  const std::int32_t* const place = sorted ? order.data() : nullptr;

  const steps::block_needs needs{job.brow_ptr, job.num_blocks, job.most_groups};
  const auto before = sums_before<steps::fragments_place>(job.num_blocks, needs, steps::add_places{});
  const std::int64_t num_groups = before.back().groups;
  fragments_matrix<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.height = job.height;
  out.num_slots = before.back().slots;
  out.groups = unwritten<core::fragments_group>(num_groups);
  auto columns = unwritten<steps::group_columns>(num_groups);
  memory.may_read(before), memory.may_write(out.groups), memory.may_write(columns);
  for_each_emulated(num_groups, steps::group_body{job.brow_ptr, job.num_blocks, before.data(), parts.data(), place,
                                                  columns.data(), out.groups.data()});
  const auto first_tile =
      sums_before<std::int64_t>(num_groups, steps::group_tiles{out.groups.data(), num_groups}, std::plus{});
  memory.may_read(first_tile);
  for_each_emulated(num_groups, steps::first_tile_body{first_tile.data(), out.groups.data()});

  const std::int64_t num_tiles = first_tile.back();
  out.items = unwritten<core::fragments_item>(before.back().slots + job.num_blocks - before.back().sums);
  out.sums = unwritten<core::fragments_sum>(before.back().sums);
  out.col_ind = unwritten<std::int32_t>(8 * num_groups);
  out.tiles = unwritten<T>(64 * (num_tiles + core::spare_tiles));
  std::fill(out.tiles.end() - 64 * core::spare_tiles, out.tiles.end(), T{0});
  memory.may_write(out.items), memory.may_write(out.sums), memory.may_write(out.col_ind);
  memory.add(out.tiles.data(), static_cast<std::size_t>(64 * num_tiles) * sizeof(T), true);
  for_each_emulated(std::ssize(out.items), steps::item_body{job, before.data(), out.items.data(), out.sums.data()});
  if (num_groups == 0) return out;
  using word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const steps::tile_filling at{
      job, first_entry.data(), place, columns.data(), out.groups.data(), out.col_ind.data(), out.tiles.data()};
  EXPECT_EQ(core::start(&steps::fill_tiles_kernel<word>, (num_groups + steps::fill_warps - 1) / steps::fill_warps,
                        32 * steps::fill_warps, 0, nullptr, at, num_groups),
            cudaSuccess)
      << emulation::report();
  return out;
}

template <class T>
void check(const sparse_case& c, const compact_options& blocks, const fragments_options& options) {
  SCOPED_TRACE(c.name + ", m_block " + std::to_string(blocks.m_block) + (blocks.boundaries.empty() ? "" : " at most") +
               ", most_groups " + std::to_string(options.most_groups));
  const auto compact = to_compact(csr_of<T>(c), blocks);
  const auto wanted = converters::to_fragments(compact.view(), options);
  const auto made = make_fragments<T>(compact.view(), options);
  EXPECT_EQ(made.num_slots, wanted.num_slots);
  expect_same_bytes(made.items, wanted.items, "items");
  expect_same_bytes(made.groups, wanted.groups, "groups");
  expect_same_bytes(made.col_ind, wanted.col_ind, "col_ind");
  expect_same_bytes(made.tiles, wanted.tiles, "tiles");
  expect_same_bytes(made.sums, wanted.sums, "sums");
}

class fragments_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(fragments_emulated, are_equal_to_the_hosts) {
  const sparse_case& a = GetParam();
  std::uint64_t turn = 0;
  for (const std::int64_t m_block : {1, 5, 8, 16, 20, 32, 64}) {
    for (const std::int64_t most_groups : {0, 1, 3}) {
      const auto boundaries = turn % 2 == 1 ? uneven_boundaries(a.rows, m_block) : std::vector<std::int64_t>{};
      const compact_options blocks{.m_block = m_block,
                                   .boundaries = boundaries,
                                   .dense_from = turn % 4 == 3 ? 3 : 0,
                                   .narrow_columns = turn % 3 == 0};
      emulation::current_settings() = {.order = static_cast<emulation::run_order>(turn % 3),
                                       .seed = turn,
                                       .largest_grid = turn % 5 == 0 ? 2u : 2147483647u};
      if (turn % 5 < 3) {
        check<float>(a, blocks, {most_groups, turn % 7 != 0});
      } else {
        check<double>(a, blocks, {most_groups, turn % 7 != 0});
      }
      ++turn;
      if (HasFailure()) return;
    }
  }
  emulation::current_settings() = {};
}

INSTANTIATE_TEST_SUITE_P(battery, fragments_emulated, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& c) { return "m" + c.param.name; });

/// The hash, with as many threads as entries or few.
template <class T>
converters::pattern_hash hash_of(const sparse_case& c, const compact_options& blocks, unsigned largest_grid) {
  const auto compact = to_compact(csr_of<T>(c), blocks);
  const steps::pattern_elements elements{job_of<T>(compact.view(), {})};
  emulation::current_settings() = {.order = emulation::run_order::random, .seed = 3, .largest_grid = largest_grid};
  std::vector<unsigned long long> sums(2);
  {
    known_memory memory;
    may_read<T>(memory, compact.view());
    memory.may_write(sums);
    EXPECT_EQ(core::start(&steps::pattern_hash_kernel<steps::pattern_elements>, steps::grid_for(elements.size()),
                          steps::block_threads, 0, nullptr, elements.size(), elements, sums.data()),
              cudaSuccess)
        << emulation::report();
  }
  emulation::current_settings() = {};
  return {sums[0], sums[1]};
}

TEST(pattern_hash, tells_patterns_apart) {
  const compact_options blocks{.m_block = 16};
  std::vector<converters::pattern_hash> seen;
  for (const sparse_case& c : battery(values::real)) {
    const auto hash = hash_of<float>(c, blocks, 2147483647u);
    EXPECT_EQ(hash_of<float>(c, blocks, 2), hash) << c.name << ": the threads do not matter";
    EXPECT_EQ(hash_of<double>(c, blocks, 2), hash) << c.name << ": the values do not matter";
    EXPECT_EQ(std::ranges::count(seen, hash), 0) << c.name;
    seen.push_back(hash);
  }
  // One entry moved by a column, and by a row within its block.
  sparse_case c{"three", 20, 9, {{0, 1, 1.0}, {0, 4, 2.0}, {7, 4, 3.0}}};
  const auto hash = hash_of<float>(c, blocks, 2);
  c.entries[0].col = 2;
  EXPECT_NE(hash_of<float>(c, blocks, 2), hash);
  c.entries[0].col = 1;
  c.entries[2].row = 8;
  EXPECT_NE(hash_of<float>(c, blocks, 2), hash);
  c.entries[2].row = 7;
  c.cols = 10;
  EXPECT_NE(hash_of<float>(c, blocks, 2), hash);
  c.cols = 9;
  EXPECT_EQ(hash_of<float>(c, blocks, 2), hash);
}

}  // namespace
}  // namespace bcsc::test
