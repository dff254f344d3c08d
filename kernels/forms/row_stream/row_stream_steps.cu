#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "converters/formats/device_loops.cuh"
#include "kernels/forms/row_stream/row_stream_kernels.cuh"
#include "kernels/forms/row_stream/row_stream_steps.hpp"

namespace bcsc::forms::steps {

using converters::steps::for_each;
using converters::steps::with_cub;

namespace {

row_cutting cutting_of(const row_stream_job& job) {
  // A grain beyond the longest row tells no more than that row's length does.
  const auto longest = static_cast<std::uint32_t>(std::max<std::int64_t>(job.longest_light, 1));
  const auto grain = static_cast<std::uint32_t>(std::min<std::int64_t>(job.grain, longest));
  return {job.row_ptr, job.cut, grain, (longest - 1) / grain + 3};
}

/// Of 8 bytes.
int pair_words(int value_bytes) { return value_bytes == 8 ? 3 : 2; }

template <class T>
void fill_pairs(const pair_filling& at, std::int64_t num_tiles) {
  core::gpu::check_launch(core::start(&fill_pairs_kernel<T>, num_tiles, tile_threads, 0, nullptr, at, num_tiles),
                          "filling of pairs of entries");
}

}  // namespace

ordered_rows order_rows(int device, const row_stream_job& job) {
  const row_cutting cut = cutting_of(job);
  const std::int64_t rows = job.rows;
  ordered_rows out;
  out.rows = core::device_buffer<std::int32_t>(device, 2 * rows);
  out.begin = core::device_buffer<std::uint64_t>(device, rows + 3);
  // The numbers of heavy and of long rows follow the sums, so that one copy brings the host all it needs.
  auto* const counts = reinterpret_cast<unsigned long long*>(out.begin.data()) + rows + 1;
  core::gpu::fill_zero(counts, 2 * sizeof *counts);
  if (rows > 0) {
    const core::device_buffer<std::uint32_t> keys(device, 2 * rows);
    for_each(rows, row_key_body{cut, job.bricks, job.shape, keys.data(), out.rows.data(), counts}, "classes of rows");
    cub::DoubleBuffer<std::uint32_t> key_pair(keys.data(), keys.data() + rows);
    cub::DoubleBuffer<std::int32_t> row_pair(out.rows.data(), out.rows.data() + rows);
    const int num_bits = static_cast<int>(std::bit_width(cut.num_classes));
    with_cub(
        device,
        [&](void* temporary, std::size_t& bytes) {
          return cub::DeviceRadixSort::SortPairs(temporary, bytes, key_pair, row_pair, rows, 0, num_bits);
        },
        "order of rows");
    out.order = row_pair.Current();
  }
  const auto weights =
      thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), row_weight{cut, out.order, rows});
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, weights, out.begin.data(), rows + 1);
      },
      "sums of pairs");
  std::uint64_t totals[3], end_of_heavy = 0;
  core::gpu::copy_to_host(totals, out.begin.data() + rows, sizeof totals);
  out.num_pairs = static_cast<std::int64_t>(totals[0] & 0xffffffffu);
  out.num_shared = static_cast<std::int64_t>(totals[0] >> 32);
  out.num_heavy = static_cast<std::int64_t>(totals[1]);
  out.num_long = static_cast<std::int64_t>(totals[2]);
  if (out.num_heavy > 0) core::gpu::copy_to_host(&end_of_heavy, out.begin.data() + out.num_heavy, sizeof end_of_heavy);
  out.num_partials = static_cast<std::int64_t>(end_of_heavy >> 32) / job.cut.sharing;
  return out;
}

void fill_stream(int device, const row_stream_job& job, const ordered_rows& ordered, const stream_arrays& to) {
  const row_cutting cut = cutting_of(job);
  const std::int64_t num_pieces = ordered.num_shared + job.rows - ordered.num_long;
  const std::int64_t num_pairs = ordered.num_pairs, num_tiles = (num_pairs + tile_pairs - 1) / tile_pairs;
  const int words = pair_words(job.type == value_type::fp64 ? 8 : 4);
  auto* const pairs = static_cast<std::uint64_t*>(to.pairs);
  const core::device_buffer<std::int32_t> source(device, num_pieces);
  for_each(
      job.rows + 1,
      light_piece_body{cut, ordered.order, ordered.begin.data(), job.rows, ordered.num_heavy, ordered.num_long,
                       ordered.num_shared, to.pieces, source.data(), to.heavy_ptr, pairs + num_pairs * words, words},
      "pieces of light rows");
  for_each(ordered.num_shared,
           long_piece_body{cut, ordered.order, ordered.begin.data(), ordered.num_long, to.pieces, source.data()},
           "pieces of long rows");
  if (num_pairs == 0) return;
  const core::device_buffer<std::uint32_t> first_piece(device, num_tiles + 1);
  for_each(num_tiles + 1, tile_body{to.pieces, num_pieces, num_pairs, first_piece.data()}, "tiles of pairs");
  const pair_filling at{to.pieces, source.data(), first_piece.data(), num_pairs, job.col_ind, job.values, pairs};
  switch (job.type) {
    case value_type::fp16:
      return fill_pairs<half>(at, num_tiles);
    case value_type::bf16:
      return fill_pairs<bfloat16>(at, num_tiles);
    case value_type::fp64:
      return fill_pairs<double>(at, num_tiles);
    default:
      return fill_pairs<float>(at, num_tiles);
  }
}

void rename_rows(row_piece* pieces, std::int64_t num_pieces, const std::int32_t* row_of) {
  for_each(num_pieces, rename_body{pieces, row_of}, "rows of pieces");
}

}  // namespace bcsc::forms::steps
