// The kernels that make the stream of row pieces on the device, on the emulated GPU: between them a sort and a sum of
// the standard library stand for those of the device. Bit-equal to the host's stream, whatever the order of threads,
// with grids too small for all tiles, and no access beyond an array.
#include "converters/formats/rows_stream_kernels.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "converters/formats/rows_stream.hpp"
#include "test/emulation/emulated_steps.hpp"
#include "test/support/uneven_rows.hpp"

namespace bcsc::test {
namespace {

using converters::rows_stream;
using converters::rows_stream_options;
namespace steps = converters::steps;

/// As rows_stream_device.cu.
template <class T>
rows_stream<T> make_stream(const csr_view<T, std::int32_t>& a, const rows_stream_options& options) {
  using moved = steps::moved_value<sizeof(T)>;
  const auto longest = std::max<std::int64_t>(1, std::min({options.split, a.cols, a.nnz()}));
  const auto grain = std::min(options.grain, longest);
  const steps::row_cutting cut{a.row_ptr.data(), static_cast<std::uint32_t>(options.split),
                               static_cast<std::uint32_t>(options.greatest_piece()), static_cast<std::uint32_t>(grain),
                               static_cast<std::uint32_t>((longest - 1) / grain + 2)};
  known_memory memory;
  memory.may_read(a.row_ptr), memory.may_read(a.col_ind), memory.may_read(a.values);

  const auto rows = static_cast<std::size_t>(a.rows);
  std::vector<std::uint32_t> keys(rows);
  std::vector<std::int32_t> order(rows);
  std::vector<unsigned long long> heavy_count(1);
  memory.may_write(keys), memory.may_write(order), memory.may_write(heavy_count);
  for_each_emulated(a.rows, steps::row_key_body{cut, keys.data(), order.data(), heavy_count.data()});
  EXPECT_TRUE(std::ranges::all_of(keys, [&](std::uint32_t key) { return key <= cut.num_classes; }));
  std::ranges::stable_sort(order, {}, [&](std::int32_t row) { return keys[static_cast<std::size_t>(row)]; });

  std::vector<std::uint64_t> begin(rows + 1);
  const steps::row_weight weight{cut, order.data(), a.rows};
  for (std::size_t s = 0; s < rows; ++s) begin[s + 1] = begin[s] + weight(static_cast<std::int64_t>(s));
  EXPECT_EQ(weight(a.rows), 0u);
  const auto num_pairs = static_cast<std::int64_t>(begin.back() & 0xffffffffu);
  const auto num_heavy = static_cast<std::int64_t>(heavy_count[0]);

  rows_stream<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz();
  out.num_partials = static_cast<std::int64_t>(begin.back() >> 32);
  const std::int64_t num_pieces = out.num_partials + a.rows - num_heavy;
  // What nobody writes shows.
  out.pieces.assign(static_cast<std::size_t>(num_pieces) + 1, {0xababababu, 0xababababu});
  out.pairs.resize(static_cast<std::size_t>(num_pairs) + 1);
  std::memset(static_cast<void*>(out.pairs.data()), 0xab, std::span(out.pairs).size_bytes());
  out.heavy_ptr.assign(static_cast<std::size_t>(num_heavy) + 1, -1);
  std::vector<std::int32_t> source(static_cast<std::size_t>(num_pieces), -1);
  memory.may_read(begin), memory.may_write(out.pieces), memory.may_write(out.pairs);
  memory.may_write(out.heavy_ptr), memory.may_write(source);
  auto* const words = reinterpret_cast<std::uint64_t*>(out.pairs.data());
  for_each_emulated(
      a.rows + 1,
      steps::light_piece_body{cut, order.data(), begin.data(), a.rows, num_heavy, out.num_partials, out.pieces.data(),
                              source.data(), out.heavy_ptr.data(), words + num_pairs * moved::words, moved::words});
  for_each_emulated(out.num_partials, steps::heavy_piece_body{cut, order.data(), begin.data(), num_heavy,
                                                              out.heavy_ptr.data(), out.pieces.data(), source.data()});
  if (num_pairs == 0) return out;
  const std::int64_t num_tiles = (num_pairs + steps::tile_pairs - 1) / steps::tile_pairs;
  std::vector<std::uint32_t> first_piece(static_cast<std::size_t>(num_tiles) + 1);
  memory.may_write(first_piece);
  for_each_emulated(num_tiles + 1, steps::tile_body{out.pieces.data(), num_pieces, num_pairs, first_piece.data()});
  const steps::pair_filling at{out.pieces.data(), source.data(), first_piece.data(), num_pairs, a.col_ind.data(),
                               a.values.data(),   words};
  EXPECT_EQ(
      core::start(&steps::fill_pairs_kernel<sizeof(T)>, num_tiles, steps::tile_threads, 0, nullptr, at, num_tiles),
      cudaSuccess)
      << emulation::report();
  return out;
}

template <class T>
void check(const sparse_case& c, const rows_stream_options& options) {
  SCOPED_TRACE(c.name + ", split " + std::to_string(options.split) + ", grain " + std::to_string(options.grain));
  const auto csr = csr_of<T>(c);
  const auto wanted = converters::to_rows_stream(csr.view(), options);
  const auto made = make_stream<T>(csr.view(), options);
  EXPECT_EQ(made.num_partials, wanted.num_partials);
  expect_same_bytes(made.pieces, wanted.pieces, "pieces");
  EXPECT_TRUE(same_bits(made.pairs, wanted.pairs)) << "pairs";
  expect_same_bytes(made.heavy_ptr, wanted.heavy_ptr, "heavy_ptr");
}

constexpr rows_stream_options every_option[] = {
    {}, {2, 1}, {6, 4}, {64, 1000}, {1 << 30, 1}, {1 << 30, 1ll << 40}, {8, 2, 4}};

class rows_stream_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(rows_stream_emulated, is_equal_to_the_hosts) {
  std::uint64_t seed = 0;
  for (const rows_stream_options& options : every_option) {
    for (const auto order : {emulation::run_order::forward, emulation::run_order::backward}) {
      emulation::current_settings() = {
          .order = order, .seed = ++seed, .largest_grid = seed % 3 == 0 ? 2u : 2147483647u};
      if (seed % 2 == 0) {
        check<float>(GetParam(), options);
      } else {
        check<double>(GetParam(), options);
      }
      if (HasFailure()) return;
    }
    check<half>(GetParam(), options);
  }
  emulation::current_settings() = {};
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, rows_stream_emulated, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

TEST(rows_stream_comparison, finds_every_difference) {
  const auto csr = csr_of<double>(uneven_rows()[2]);
  const auto a = converters::to_rows_stream(csr.view(), {8, 2});
  rows_stream<double> b = a;
  const auto differs = [&] {
    const steps::streams_differ differ{a.pieces.data(),
                                       b.pieces.data(),
                                       a.num_pieces(),
                                       reinterpret_cast<const std::uint64_t*>(a.pairs.data()),
                                       reinterpret_cast<const std::uint64_t*>(b.pairs.data()),
                                       steps::moved_value<8>::words};
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < a.num_pieces() + 1 + std::ssize(a.pairs); ++k) count += differ(k) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(differs(), 0);
  for (auto& pair : b.pairs) pair.value[0] += 1;
  EXPECT_EQ(differs(), 0) << "values are no pattern";
  b.pairs.front().col[1] += 1;
  b.pairs[b.pairs.size() - 2].col[0] += 1;
  b.pieces.front().row_and_odd ^= 1;
  b.pieces.back().first_pair += 1;
  EXPECT_EQ(differs(), 4);
}

TEST(rows_stream_renaming, moves_rows_alone) {
  const auto csr = csr_of<float>(uneven_rows()[2]);
  const auto a = converters::to_rows_stream(csr.view(), {8, 2});
  auto b = a;
  std::vector<std::int32_t> row_of(static_cast<std::size_t>(a.rows));
  std::iota(row_of.rbegin(), row_of.rend(), 0);
  for_each_emulated(a.num_pieces(), steps::rename_body{b.pieces.data(), row_of.data()});
  for (std::size_t p = 0; p + 1 < a.pieces.size(); ++p) {
    EXPECT_EQ(b.pieces[p].first_pair, a.pieces[p].first_pair);
    EXPECT_EQ(b.pieces[p].row_and_odd / 2, static_cast<std::uint32_t>(a.rows) - 1 - a.pieces[p].row_and_odd / 2);
    EXPECT_EQ(b.pieces[p].row_and_odd % 2, a.pieces[p].row_and_odd % 2);
  }
  EXPECT_EQ(b.pieces.back(), a.pieces.back());
}

}  // namespace
}  // namespace bcsc::test
