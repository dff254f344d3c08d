#include "kernels/forms/block_slices/block_slices.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::forms {

namespace {

using converters::even_cuts;
using converters::for_pieces;
using converters::storage;
using core::at;
using core::ceil_div;

/// The row blocks as slices take them.
struct sliced_blocks {
  std::vector<std::int32_t> alone, together, others;
};

/// `length(b)`: the columns of row block b.
template <class Length>
sliced_blocks order_blocks(std::int64_t num_blocks, std::int64_t blocks_of_slice, std::int64_t longest_shared,
                           const Length& length) {
  sliced_blocks out;
  for (std::int64_t first = 0; first < num_blocks; first += blocks_of_slice) {
    const std::int64_t end = std::min(first + blocks_of_slice, num_blocks);
    std::int64_t longest = 0, columns = 0;
    for (std::int64_t b = first; b < end; ++b) {
      longest = std::max(longest, length(b));
      columns += length(b);
    }
    const bool stays = longest <= longest_shared && stay_together(longest, end - first, columns);
    for (std::int64_t b = first; b < end; ++b) {
      auto& list = stays ? out.together : length(b) > longest_shared ? out.alone : out.others;
      list.push_back(static_cast<std::int32_t>(b));
    }
  }
  const auto window_of = [](std::int32_t b) { return b / slice_sort_window; };
  for (auto begin = out.others.begin(); begin != out.others.end();) {
    const auto end =
        std::find_if(begin, out.others.end(), [&](std::int32_t b) { return window_of(b) != window_of(*begin); });
    std::stable_sort(begin, end, [&](std::int32_t b, std::int32_t c) { return length(b) > length(c); });
    begin = end;
  }
  return out;
}

}  // namespace

void check_block_slices(std::int64_t rows, std::int64_t cols, std::int64_t m_block, int lanes) {
  if (m_block > max_slice_height) {
    core::fail(errc::invalid_argument, "m_block = {}: block slices take row blocks of at most {} rows", m_block,
               max_slice_height);
  }
  if (lanes < 1 || lanes > 8 || !std::has_single_bit(static_cast<unsigned>(lanes))) {
    core::fail(errc::invalid_argument, "lanes = {}: must be 1, 2, 4 or 8", lanes);
  }
  (void)core::narrow<std::int32_t>(rows, "rows");
  if (cols > max_slice_columns) {
    core::fail(errc::size_overflow, "cols = {}: block slices hold at most {}", cols, max_slice_columns);
  }
}

template <number T, index I>
block_slices<T> to_block_slices(const compact_bcsc_view<T, I>& a, int lanes) {
  converters::require_host(a.space, "compact bcsc");
  check_block_slices(a.rows, a.cols, a.m_block, lanes);
  (void)core::narrow<std::int32_t>(a.nnzc(), "non-empty columns");

  block_slices<T> out{.rows = a.rows,
                      .cols = a.cols,
                      .nnzc = a.nnzc(),
                      .num_blocks = a.num_row_blocks(),
                      .height = static_cast<int>(a.m_block),
                      .lanes = lanes};
  out.block_row.assign(a.block_row.begin(), a.block_row.end());
  const auto length = [&](std::int64_t b) {
    return std::int64_t{a.brow_ptr[at(b + 1)]} - std::int64_t{a.brow_ptr[at(b)]};
  };
  const std::int64_t shared = block_slice_lanes / lanes;
  const sliced_blocks order =
      order_blocks(out.num_blocks, shared, longest_shared_block(out.nnzc, out.num_blocks), length);

  out.num_alone = std::ssize(order.alone);
  const std::int64_t num_together = ceil_div(std::ssize(order.together), shared);
  const std::int64_t num_listed = ceil_div(std::ssize(order.others), shared);
  out.listed = order.others;
  out.listed.resize(at(num_listed * shared), -1);
  out.slices = storage<block_slice>(out.num_alone + num_together + num_listed, "slices");
  const auto blocks_of = [&](const block_slice& slice) { return slice.rows == slice_rows::one ? 1 : shared; };
  const auto block_of = [&](const block_slice& slice, std::int64_t place) {
    if (slice.rows == slice_rows::listed) return std::int64_t{out.listed[at(slice.first_block + place)]};
    const std::int64_t block = slice.first_block + place;
    return block < out.num_blocks ? block : -1;
  };
  std::int64_t num_steps = 0;
  for (std::int64_t s = 0; s < std::ssize(out.slices); ++s) {
    block_slice& slice = out.slices[at(s)];
    if (s < out.num_alone) {
      slice = {.first_block = order.alone[at(s)], .rows = slice_rows::one};
    } else if (s < out.num_alone + num_together) {
      slice = {.first_block = order.together[at((s - out.num_alone) * shared)], .rows = slice_rows::neighbours};
    } else {
      slice = {.first_block = static_cast<std::int32_t>((s - out.num_alone - num_together) * shared),
               .rows = slice_rows::listed};
    }
    std::int64_t longest = 0;
    for (std::int64_t place = 0; place < blocks_of(slice); ++place) {
      const std::int64_t block = block_of(slice, place);
      if (block >= 0) longest = std::max(longest, length(block));
    }
    slice.first_step = static_cast<std::int32_t>(num_steps);
    slice.num_steps = static_cast<std::int32_t>(ceil_div(longest, block_slice_lanes / blocks_of(slice)));
    num_steps += slice.num_steps;
  }

  out.words = storage<std::uint32_t>(num_steps * block_slice_lanes, "words of steps");
  out.values = storage<T>(num_steps * block_slice_lanes * out.height, "values of steps");
  const auto weight = [&](std::int64_t s) {
    return s < std::ssize(out.slices) ? std::int64_t{out.slices[at(s)].first_step} + s : num_steps + s;
  };
  const std::int64_t num_slices = std::ssize(out.slices);
  for_pieces(even_cuts(num_slices, converters::worthwhile_pieces(num_steps * block_slice_lanes), weight),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               for (std::int64_t s = first; s < last; ++s) {
                 const block_slice& slice = out.slices[at(s)];
                 const std::int64_t blocks = blocks_of(slice), parts = block_slice_lanes / blocks;
                 for (std::int64_t place = 0; place < blocks; ++place) {
                   const std::int64_t block = block_of(slice, place);
                   if (block < 0) continue;
                   std::int64_t entry = a.entry_ptr[at(block)];
                   for (std::int64_t k = 0; k < length(block); ++k) {
                     const std::int64_t column = a.brow_ptr[at(block)] + k, step = slice.first_step + k / parts;
                     const std::int64_t lane = k % parts * blocks + place;
                     unsigned present = 0;
                     for (const std::int64_t end = entry + a.col_count[at(column)] + 1; entry < end; ++entry) {
                       const std::int64_t row = a.row_in_block[at(entry)];
                       present |= 1u << row;
                       out.values[at((step * out.height + row) * block_slice_lanes + lane)] = a.values[at(entry)];
                     }
                     out.words[at(step * block_slice_lanes + lane)] = slice_word(a.column(column), present);
                   }
                 }
               }
             });
  return out;
}

#define BCSC_INSTANTIATE(T, I) template block_slices<T> to_block_slices(const compact_bcsc_view<T, I>&, int);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
