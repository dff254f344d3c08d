#include "kernels/forms/block_slices/block_slices.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

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
  std::vector<std::int32_t> long_ones, alone, together, others;
};

/// `length(b)`: the columns of row block b.
template <class Length>
sliced_blocks order_blocks(std::int64_t num_blocks, std::int64_t longest_shared, const slicing& how,
                           const Length& length) {
  sliced_blocks out;
  const std::int64_t blocks_of_slice = block_slice_lanes / how.lanes;
  for (std::int64_t first = 0; first < num_blocks; first += blocks_of_slice) {
    const std::int64_t end = std::min(first + blocks_of_slice, num_blocks);
    std::int64_t longest = 0, columns = 0;
    for (std::int64_t b = first; b < end; ++b) {
      longest = std::max(longest, length(b));
      columns += length(b);
    }
    const bool stays = longest <= longest_shared && stay_together(how, longest, end - first, columns);
    for (std::int64_t b = first; b < end; ++b) {
      auto& list = stays                         ? out.together
                   : length(b) <= longest_shared ? out.others
                   : length(b) > longest_of_warp ? out.long_ones
                                                 : out.alone;
      list.push_back(static_cast<std::int32_t>(b));
    }
  }
  std::stable_sort(out.long_ones.begin(), out.long_ones.end(), [&](std::int32_t b, std::int32_t c) {
    return long_block_key(length(b)) < long_block_key(length(c));
  });
  const auto window_of = [window = slice_sort_window(how)](std::int32_t b) { return b / window; };
  for (auto begin = out.others.begin(); begin != out.others.end();) {
    const auto end =
        std::find_if(begin, out.others.end(), [&](std::int32_t b) { return window_of(b) != window_of(*begin); });
    std::stable_sort(begin, end, [&](std::int32_t b, std::int32_t c) { return length(b) > length(c); });
    begin = end;
  }
  return out;
}

/// The slices of a matrix, step by step.
template <number T, index I>
class slicer {
 public:
  slicer(const compact_bcsc_view<T, I>& a, const slicing& how)
      : a_(a),
        how_(how),
        shared_(block_slice_lanes / how.lanes),
        first_entry_(storage<std::int64_t>(a.nnzc() + 1, "first entries")) {
    out_.rows = a.rows;
    out_.cols = a.cols;
    out_.nnzc = a.nnzc();
    out_.num_blocks = a.num_row_blocks();
    out_.height = static_cast<int>(a.m_block);
    out_.lanes = how.lanes;
    out_.block_row.assign(a.block_row.begin(), a.block_row.end());
  }

  block_slices<T> run() {
    for (std::int64_t j = 0; j < a_.nnzc(); ++j)
      first_entry_[at(j + 1)] = first_entry_[at(j)] + a_.col_count[at(j)] + 1;
    order();
    for_slices(a_.nnzc(), [&](std::int64_t s) { measure(out_.slices[at(s)]); });
    if (out_.num_long > 0) out_.longest_steps = out_.slices.front().num_steps;
    place();
    for_slices(out_.num_steps() * block_slice_lanes, [&](std::int64_t s) { fill(s); });
    return std::move(out_);
  }

 private:
  std::int64_t length(std::int64_t b) const {
    return std::int64_t{a_.brow_ptr[at(b + 1)]} - std::int64_t{a_.brow_ptr[at(b)]};
  }
  std::int64_t blocks_of(const block_slice& slice) const { return slice.rows == slice_rows::one ? 1 : shared_; }
  /// -1: none.
  std::int64_t block_of(const block_slice& slice, std::int64_t place) const {
    if (slice.rows == slice_rows::listed) return out_.listed[at(slice.first_block + place)];
    const std::int64_t block = slice.first_block + place;
    return block < out_.num_blocks ? block : -1;
  }
  template <class Body>
  void for_slices(std::int64_t work, const Body& body) const {
    const std::int64_t num_slices = std::ssize(out_.slices);
    const auto even = [](std::int64_t s) { return s; };
    for_pieces(even_cuts(num_slices, converters::worthwhile_pieces(work), even),
               [&](std::int64_t, std::int64_t first, std::int64_t last) {
                 for (std::int64_t s = first; s < last; ++s) body(s);
               });
  }

  /// Which row blocks are in which slice.
  void order() {
    const auto length_of = [&](std::int64_t b) { return length(b); };
    const sliced_blocks found =
        order_blocks(out_.num_blocks, longest_shared_block(out_.nnzc, out_.num_blocks), how_, length_of);
    out_.num_long = std::ssize(found.long_ones);
    out_.num_longest =
        std::ranges::count_if(found.long_ones, [&](std::int32_t b) { return length(b) > longest_of_thread_block; });
    out_.num_alone = out_.num_long + std::ssize(found.alone);
    for (const auto* const list : {&found.long_ones, &found.alone}) {
      for (const std::int32_t b : *list) out_.slices.push_back({.first_block = b, .rows = slice_rows::one});
    }
    for (std::int64_t i = 0; i < std::ssize(found.together); i += shared_) {
      out_.slices.push_back({.first_block = found.together[at(i)], .rows = slice_rows::neighbours});
    }
    for (std::int64_t i = 0; i < std::ssize(found.others); i += shared_) {
      out_.slices.push_back({.first_block = static_cast<std::int32_t>(i), .rows = slice_rows::listed});
    }
    out_.listed = found.others;
    out_.listed.resize(at(ceil_div(std::ssize(found.others), shared_) * shared_), -1);
  }

  /// Merges the lanes' columns along the diagonals, in ascending order: visit(the first lane's column, the lanes of a
  /// diagonal, the lanes that have a column there, each lane's column in col_ind).
  template <class Visit>
  void along_diagonals(const block_slice& slice, const Visit& visit) const {
    std::array<std::int64_t, block_slice_lanes> next{}, end{};
    for (std::int64_t lane = 0; lane < block_slice_lanes; ++lane) {
      const std::int64_t block = block_of(slice, lane);
      if (block < 0) continue;
      next[at(lane)] = a_.brow_ptr[at(block)];
      end[at(lane)] = a_.brow_ptr[at(block + 1)];
    }
    for (;;) {
      std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
      std::uint32_t here = 0, on = 0;
      for (std::int64_t lane = 0; lane < block_slice_lanes; ++lane) {
        const std::int64_t j = next[at(lane)];
        if (j == end[at(lane)]) continue;
        const std::int64_t column = a_.column(j) - lane * out_.height;
        if (column > nearest) continue;
        if (column < nearest) here = on = 0;
        nearest = column;
        here |= 1u << lane;
        if (a_.col_count[at(j)] + 1 == out_.height) on |= 1u << lane;
      }
      if (here == 0) return;
      if (std::popcount(on) < least_lanes_of_diagonal) on = 0;
      visit(nearest, on, here, next);
      for (std::int64_t lane = 0; lane < block_slice_lanes; ++lane) next[at(lane)] += here >> lane & 1u;
    }
  }

  /// Its steps, and which of them are diagonals.
  void measure(block_slice& slice) const {
    const std::int64_t blocks = blocks_of(slice);
    std::int64_t longest = 0;
    for (std::int64_t place = 0; place < blocks; ++place) {
      const std::int64_t block = block_of(slice, place);
      if (block >= 0) longest = std::max(longest, length(block));
    }
    slice.num_steps = static_cast<std::int32_t>(ceil_div(longest, block_slice_lanes / blocks));
    if (slice.rows != slice_rows::neighbours || out_.lanes > 1) return;
    std::array<std::int64_t, block_slice_lanes> gathers{};
    std::int64_t diagonals = 0;
    along_diagonals(slice, [&](std::int64_t, std::uint32_t on, std::uint32_t here, const auto&) {
      diagonals += on != 0;
      for (std::int64_t lane = 0; lane < block_slice_lanes; ++lane) gathers[at(lane)] += (here & ~on) >> lane & 1u;
    });
    const std::int64_t most = *std::ranges::max_element(gathers);
    if (!diagonals_pay(diagonals, most, longest, out_.height * std::int64_t{sizeof(T)})) return;
    slice.num_diagonals = static_cast<std::uint16_t>(diagonals);
    slice.num_steps = static_cast<std::int32_t>(diagonals + most);
  }

  /// Where the steps and the diagonals of each slice begin.
  void place() {
    std::int64_t num_steps = 0, num_diagonals = 0;
    for (block_slice& slice : out_.slices) {
      slice.first_step = static_cast<std::int32_t>(num_steps);
      out_.first_diagonal.push_back(static_cast<std::int32_t>(num_diagonals));
      num_steps += slice.num_steps;
      num_diagonals += slice.num_diagonals;
    }
    out_.first_diagonal.push_back(static_cast<std::int32_t>(num_diagonals));
    if (num_diagonals == 0) out_.first_diagonal.clear();
    out_.diagonals = storage<slice_diagonal>(num_diagonals, "diagonals");
    out_.words = storage<std::uint32_t>((num_steps - num_diagonals) * block_slice_lanes, "words of steps");
    out_.values = storage<T>(num_steps * block_slice_lanes * out_.height, "values of steps");
  }

  /// The values of column j of the compact matrix at a step; returns its rows.
  unsigned put(std::int64_t j, std::int64_t step, std::int64_t lane) {
    unsigned rows = 0;
    for (std::int64_t entry = first_entry_[at(j)]; entry < first_entry_[at(j + 1)]; ++entry) {
      const std::int64_t row = a_.row_in_block[at(entry)];
      rows |= 1u << row;
      out_.values[at((step * out_.height + row) * block_slice_lanes + lane)] = a_.values[at(entry)];
    }
    return rows;
  }

  void fill(std::int64_t s) {
    const block_slice& slice = out_.slices[at(s)];
    const std::int64_t diagonals_before = out_.first_diagonal.empty() ? 0 : out_.first_diagonal[at(s)];
    const auto gather = [&](std::int64_t j, std::int64_t number, std::int64_t lane) {
      const unsigned rows = put(j, slice.first_step + slice.num_diagonals + number, lane);
      const std::int64_t at_word = (slice.first_step - diagonals_before + number) * block_slice_lanes + lane;
      out_.words[at(at_word)] = slice_word(a_.column(j), rows);
    };
    if (slice.num_diagonals > 0) {
      std::array<std::int64_t, block_slice_lanes> gathers{};
      std::int64_t diagonal = 0;
      along_diagonals(slice, [&](std::int64_t column, std::uint32_t on, std::uint32_t here, const auto& next) {
        for (std::int64_t lane = 0; lane < block_slice_lanes; ++lane) {
          if ((on >> lane & 1u) != 0) {
            put(next[at(lane)], slice.first_step + diagonal, lane);
          } else if ((here >> lane & 1u) != 0) {
            gather(next[at(lane)], gathers[at(lane)]++, lane);
          }
        }
        if (on != 0) out_.diagonals[at(diagonals_before + diagonal++)] = {static_cast<std::int32_t>(column), on};
      });
      return;
    }
    const std::int64_t blocks = blocks_of(slice), parts = block_slice_lanes / blocks;
    for (std::int64_t place = 0; place < blocks; ++place) {
      const std::int64_t block = block_of(slice, place);
      if (block < 0) continue;
      for (std::int64_t k = 0; k < length(block); ++k) {
        gather(a_.brow_ptr[at(block)] + k, k / parts, k % parts * blocks + place);
      }
    }
  }

  const compact_bcsc_view<T, I>& a_;
  slicing how_;
  std::int64_t shared_;                    ///< row blocks of a slice that is shared
  std::vector<std::int64_t> first_entry_;  ///< of each column
  block_slices<T> out_;
};

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
block_slices<T> to_block_slices(const compact_bcsc_view<T, I>& a, const slicing& how) {
  converters::require_host(a.space, "compact bcsc");
  check_block_slices(a.rows, a.cols, a.m_block, how.lanes);
  (void)core::narrow<std::int32_t>(a.nnzc(), "non-empty columns");
  return slicer<T, I>(a, how).run();
}

#define BCSC_INSTANTIATE(T, I) template block_slices<T> to_block_slices(const compact_bcsc_view<T, I>&, const slicing&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
