#include "kernels/forms/row_stream/row_stream.hpp"

#include <algorithm>
#include <utility>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::forms {

using converters::even_cuts;
using converters::for_pieces;
using converters::parallel_for;
using converters::require_at_least_one;
using converters::require_host;
using converters::storage;
using converters::worthwhile_pieces;

namespace {

using core::at;
using core::ceil_div;
using core::fail;
using core::length;

template <class T, class I>
struct lengths {
  const csr_view<T, I>& a;
  row_stream_options options;
  row_cut cut = options.cut();

  std::int64_t entries(std::int64_t row) const { return std::int64_t{a.row_ptr[at(row) + 1]} - a.row_ptr[at(row)]; }
  std::int64_t pairs(std::int64_t row) const { return ceil_div(entries(row), 2); }
  bool is_long(std::int64_t row) const { return cut.is_long(entries(row)); }

  std::int64_t length_class(std::int64_t row) const { return ceil_div(entries(row), options.grain); }
  /// The row that stands at `place` before rows are sorted by length.
  std::int64_t row_at(std::int64_t place) const {
    if (!options.bricks.exists()) return place;
    return converters::row_in_bricks(options.bricks, converters::brick_of(options.bricks, options.shape), place);
  }
};

/// The light rows in the order of their pieces, longest first, stable: a counting sort, each thread counting its share
/// of the rows. No light row has more than `longest` entries.
template <class Lengths>
std::vector<std::int32_t> sorted_light_rows(const Lengths& of, std::int64_t num_light, std::int64_t longest) {
  const std::int64_t rows = of.a.rows, num_classes = ceil_div(longest, of.options.grain) + 1;
  const auto rank = [&](std::int64_t row) { return num_classes - 1 - of.length_class(row); };
  // The tables of counts must stay small beside the rows.
  const std::int64_t shares = std::min(worthwhile_pieces(rows), std::max<std::int64_t>(1, rows / num_classes));
  const std::vector<std::int64_t> cuts = even_cuts(rows, shares, [](std::int64_t i) { return i; });
  const auto num_shares = static_cast<std::int64_t>(cuts.size()) - 1;
  auto next = storage<std::int64_t>(num_shares * num_classes, "row counts");
  for_pieces(cuts, [&](std::int64_t share, std::int64_t first, std::int64_t last) {
    for (std::int64_t place = first; place < last; ++place) {
      const std::int64_t row = of.row_at(place);
      if (!of.is_long(row)) ++next[at(share * num_classes + rank(row))];
    }
  });
  std::int64_t position = 0;
  for (std::int64_t c = 0; c < num_classes; ++c) {
    for (std::int64_t share = 0; share < num_shares; ++share) {
      position += std::exchange(next[at(share * num_classes + c)], position);
    }
  }
  auto sorted = storage<std::int32_t>(num_light, "rows");
  for_pieces(cuts, [&](std::int64_t share, std::int64_t first, std::int64_t last) {
    for (std::int64_t place = first; place < last; ++place) {
      const std::int64_t row = of.row_at(place);
      if (!of.is_long(row)) sorted[at(next[at(share * num_classes + rank(row))]++)] = static_cast<std::int32_t>(row);
    }
  });
  return sorted;
}

/// Entries begin .. end of `a` from pair `to` on.
template <class T, class I>
void fill(std::vector<entry_pair<scalar_of<T>>>& pairs, std::int64_t to, const csr_view<T, I>& a, std::int64_t begin,
          std::int64_t end) {
  for (std::int64_t k = begin; k < end; ++k) {
    entry_pair<scalar_of<T>>& pair = pairs[at(to + (k - begin) / 2)];
    pair.col[(k - begin) % 2] = static_cast<std::int32_t>(a.col_ind[at(k)]);
    pair.value[(k - begin) % 2] = static_cast<scalar_of<T>>(a.values[at(k)]);
  }
}

}  // namespace

void check_row_stream(std::int64_t rows, std::int64_t cols, const row_stream_options& options) {
  // Even, so that a piece inside a row is whole pairs.
  if (options.split < 2 || options.split % 2 != 0 || options.split > max_split) {
    fail(errc::invalid_argument, "split = {}: must be even and lie in 2 .. {}", options.split, max_split);
  }
  if (options.sharing < 1 || (options.sharing > 1 && options.sharing > options.split / 2)) {
    fail(errc::invalid_argument, "sharing = {}: must be 1 or lie in 2 .. {} (half of split)", options.sharing,
         options.split / 2);
  }
  // At least 4 where several share a part, so that none of them is empty; half of a `split` that allows sharing is.
  const std::int64_t least = options.sharing > 1 ? 4 : 2, most = std::min(options.split * options.sharing, max_split);
  if (options.piece % 2 != 0 || (options.piece != 0 && (options.piece < least || options.piece > most))) {
    fail(errc::invalid_argument, "piece = {}: must be 0 or even and lie in {} .. {} (split times sharing)",
         options.piece, least, most);
  }
  require_at_least_one(options.grain, "grain");
  if (options.bricks.rows() > rows) {
    fail(errc::invalid_argument, "bricks = {} x {} x {}: must have at most {} nodes (rows)", options.bricks.x,
         options.bricks.y, options.bricks.z, rows);
  }
  converters::check_brick_shape(options.shape);
  (void)core::narrow<std::int32_t>(rows, "rows");
  (void)core::narrow<std::int32_t>(cols, "cols");
}

template <number T, index I>
row_stream<scalar_of<T>> to_row_stream(const csr_view<T, I>& a, const row_stream_options& options) {
  require_host(a.space, "csr");
  check_row_stream(a.rows, a.cols, options);
  const lengths<T, I> of{a, options};

  row_stream<scalar_of<T>> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz();
  out.sharing = options.sharing;
  const row_cut& cut = of.cut;
  std::vector<std::int32_t> long_rows, of_one_part;
  std::int64_t num_pairs = 0, longest = 0;
  for (std::int64_t place = 0; place < a.rows; ++place) {
    const std::int64_t row = of.row_at(place), entries = of.entries(row);
    num_pairs += of.pairs(row);
    if (!cut.is_long(entries)) {
      longest = std::max(longest, entries);
      continue;
    }
    out.num_shared += cut.pieces(entries);
    if (!cut.is_heavy(entries)) {
      of_one_part.push_back(static_cast<std::int32_t>(row));
      continue;
    }
    long_rows.push_back(static_cast<std::int32_t>(row));
    out.num_partials += cut.parts(entries);
    out.heavy_ptr.push_back(core::narrow<std::int32_t>(out.num_partials, "parts of heavy rows"));
  }
  (void)core::narrow<std::uint32_t>(num_pairs + 1, "pairs of entries");
  long_rows.insert(long_rows.end(), of_one_part.begin(), of_one_part.end());
  const auto num_long = static_cast<std::int64_t>(long_rows.size());
  const std::int64_t num_light = a.rows - num_long;
  const std::vector<std::int32_t> light = sorted_light_rows(of, num_light, longest);
  out.pieces = storage<row_piece>(out.num_shared + num_light + 1, "pieces");
  out.pairs = storage<entry_pair<scalar_of<T>>>(num_pairs + 1, "pairs of entries");

  // Where each piece begins.
  std::int64_t pair = 0;
  std::size_t piece = 0;
  const auto append = [&](std::int64_t row, std::int64_t pairs, bool odd) {
    out.pieces[piece++] = {static_cast<std::uint32_t>(pair), static_cast<std::uint32_t>(2 * row + (odd ? 1 : 0))};
    pair += pairs;
  };
  std::vector<std::int64_t> first_of_long;
  for (const std::int64_t row : long_rows) {
    const std::int64_t pairs = of.pairs(row), pieces = cut.pieces(of.entries(row));
    first_of_long.push_back(pair);
    for (std::int64_t i = 0; i < pieces; ++i) {
      append(row, pairs * (i + 1) / pieces - pairs * i / pieces, i == pieces - 1 && of.entries(row) % 2 != 0);
    }
  }
  for (const std::int64_t row : light) append(row, of.pairs(row), of.entries(row) % 2 != 0);
  append(0, 0, false);

  // The entries. A long row's pieces follow each other, and cut it between pairs, so it is filled as one.
  const auto first_pair = [&](std::int64_t p) { return std::int64_t{out.pieces[at(p)].first_pair}; };
  const auto row_entries = [&](std::int64_t row, std::int64_t to) {
    fill(out.pairs, to, a, a.row_ptr[at(row)], a.row_ptr[at(row) + 1]);
  };
  parallel_for(num_long, [&](std::int64_t i) { row_entries(long_rows[at(i)], first_of_long[at(i)]); });
  const auto weight = [&](std::int64_t i) {
    return 2 * (first_pair(out.num_shared + i) - first_pair(out.num_shared)) + i;
  };
  if (num_light > 0) {
    for_pieces(even_cuts(num_light, worthwhile_pieces(weight(num_light)), weight),
               [&](std::int64_t, std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i) {
                   row_entries(light[at(i)], first_pair(out.num_shared + i));
                 }
               });
  }
  return out;
}

template <value T>
void rename_rows(row_stream<T>& a, std::span<const std::int64_t> row_of) {
  if (length(row_of) != a.rows) {
    fail(errc::invalid_argument, "row_of has {} entries: must have {} (rows)", row_of.size(), a.rows);
  }
  for (row_piece& piece : std::span(a.pieces).first(a.pieces.size() - 1)) {
    piece.row_and_odd = 2 * static_cast<std::uint32_t>(row_of[at(piece.row_of_c())]) + piece.row_and_odd % 2;
  }
}

template void rename_rows(row_stream<float>&, std::span<const std::int64_t>);
template void rename_rows(row_stream<double>&, std::span<const std::int64_t>);

#define BCSC_INSTANTIATE(T, I) \
  template row_stream<scalar_of<T>> to_row_stream(const csr_view<T, I>&, const row_stream_options&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
