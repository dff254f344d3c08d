#include "converters/formats/cached_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "lib/core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::at;
using core::cached_piece;
using core::ceil_div;
using core::entry_pair;
using core::fail;

/// The entries of each column: each thread counts a share of A where that is worth its own table.
template <class T, class I>
std::vector<std::int64_t> count_columns(const csr_view<T, I>& a) {
  const std::int64_t nnz = a.nnz();
  const std::int64_t shares = std::min(worthwhile_pieces(nnz), std::max<std::int64_t>(1, nnz / (a.cols + 1)));
  const std::vector<std::int64_t> cuts = even_cuts(nnz, shares, [](std::int64_t i) { return i; });
  const auto num_shares = std::max<std::int64_t>(1, std::ssize(cuts) - 1);
  auto counts = storage<std::int64_t>(num_shares * a.cols, "column counts");
  for_pieces(cuts, [&](std::int64_t share, std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) ++counts[at(share * a.cols + a.col_ind[at(k)])];
  });
  for (std::int64_t share = 1; share < num_shares; ++share) {
    for (std::int64_t col = 0; col < a.cols; ++col) counts[at(col)] += counts[at(share * a.cols + col)];
  }
  counts.resize(at(a.cols));
  return counts;
}

/// Which columns are hot, in the order of their slots, and how they are parted.
struct hot_set {
  std::vector<std::int32_t> cols;
  std::int64_t num_panels = 1, panel_slots = 0, stages = 1;
};

hot_set choose_hot(const std::vector<std::int64_t>& counts, std::int64_t num_pieces,
                   const cached_stream_options& options) {
  hot_set out;
  std::vector<std::int32_t>& cols = out.cols;
  for (std::int64_t col = 0; col < std::ssize(counts); ++col) {
    if (counts[at(col)] > 0) cols.push_back(static_cast<std::int32_t>(col));
  }
  std::ranges::stable_sort(cols, std::greater{}, [&](std::int32_t col) { return counts[at(col)]; });
  std::int64_t worth = std::ssize(cols);
  if (worth > options.slots) {
    worth =
        std::ranges::partition_point(cols, [&](std::int32_t col) { return counts[at(col)] >= options.least_uses; }) -
        cols.begin();
  }
  const std::int64_t several = options.slots / options.stages;  // of a panel that is one of several
  const std::int64_t panels = worth <= several ? 1 : ceil_div(worth, several);
  const auto entries_of = [&](std::int64_t num) {
    return std::transform_reduce(cols.begin(), cols.begin() + num, std::int64_t{0}, std::plus{},
                                 [&](std::int32_t col) { return counts[at(col)]; });
  };
  if (panels > 1 && entries_of(worth) >= options.least_entries * panels * num_pieces) {
    worth = std::min(std::ssize(cols), panels * several);
    out.num_panels = panels;
    out.stages = options.stages;
  } else {
    worth = std::min(worth, options.slots);
  }
  cols.resize(at(worth));
  std::ranges::sort(cols);
  out.panel_slots = ceil_div(worth, out.num_panels);
  out.num_panels = std::max<std::int64_t>(1, out.panel_slots > 0 ? ceil_div(worth, out.panel_slots) : 1);
  return out;
}

/// Where a column is hot: its panel, and its place in shared memory. Cold: panel -1.
struct hot_place {
  std::int32_t panel = -1;
  std::int32_t slot = 0;  ///< in shared memory, whichever panel lies there
};

/// An entry on its way from the stream by rows.
template <class T>
struct moving_entry {
  std::int32_t col;
  T value;
};

template <class T>
void put(std::vector<entry_pair<T>>& pairs, std::int64_t first_pair, std::int64_t k, const moving_entry<T>& entry) {
  entry_pair<T>& pair = pairs[at(first_pair + k / 2)];
  pair.col[k % 2] = entry.col;
  pair.value[k % 2] = entry.value;
}

void check(const cached_stream_options& options) {
  constexpr std::int64_t least_row_bytes = 16, greatest_shared_bytes = 1 << 30;
  if (options.row_bytes < least_row_bytes || !std::has_single_bit(static_cast<std::uint64_t>(options.row_bytes))) {
    fail(errc::invalid_argument, "row_bytes = {}: must be a power of two, {} at least", options.row_bytes,
         least_row_bytes);
  }
  require_at_least_one(options.stages, "stages");
  if (options.slots < options.stages || options.slots > greatest_shared_bytes / options.row_bytes) {
    fail(errc::invalid_argument, "slots = {}: must lie in {} (stages) .. {}", options.slots, options.stages,
         greatest_shared_bytes / options.row_bytes);
  }
}

}  // namespace

template <number T, index I>
cached_stream<T> to_cached_stream(const csr_view<T, I>& a, const cached_stream_options& options) {
  require_host(a.space, "csr");
  check(options);
  const rows_stream<T> by_rows = to_rows_stream(a, options.rows);
  const std::int64_t num_pieces = by_rows.num_pieces();
  hot_set hot = choose_hot(count_columns(a), num_pieces, options);

  cached_stream<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz();
  out.num_panels = hot.num_panels;
  out.panel_slots = hot.panel_slots;
  out.stages = hot.stages;
  out.num_partials = by_rows.num_partials;
  out.heavy_ptr = by_rows.heavy_ptr;
  auto places = storage<hot_place>(a.cols, "hot columns");
  for (std::int64_t i = 0; i < std::ssize(hot.cols); ++i) {
    const std::int64_t panel = i / hot.panel_slots, slot = i % hot.panel_slots;
    places[at(hot.cols[at(i)])] = {static_cast<std::int32_t>(panel),
                                   static_cast<std::int32_t>(panel % hot.stages * hot.panel_slots + slot)};
  }
  out.hot_cols = std::move(hot.cols);

  // visit(col, value) for each entry of piece p.
  const auto for_entries = [&](std::int64_t p, auto&& visit) {
    const core::row_piece& piece = by_rows.pieces[at(p)];
    const std::int64_t first = piece.first_pair, end = by_rows.pieces[at(p + 1)].first_pair;
    const std::int64_t entries = 2 * (end - first) - (piece.row_and_odd & 1);
    for (std::int64_t k = 0; k < entries; ++k) {
      const entry_pair<T>& pair = by_rows.pairs[at(first + k / 2)];
      visit(pair.col[k % 2], pair.value[k % 2]);
    }
  };
  const auto weight = [&](std::int64_t p) { return std::int64_t{2} * by_rows.pieces[at(p)].first_pair + p; };
  const std::vector<std::int64_t> cuts = num_pieces == 0
                                             ? std::vector<std::int64_t>{0}
                                             : even_cuts(num_pieces, worthwhile_pieces(weight(num_pieces)), weight);

  // How many entries each piece has in each panel, then where they begin.
  out.pieces = storage<cached_piece>(out.num_panels * num_pieces, "pieces");
  const auto piece_at = [&](std::int64_t panel, std::int64_t p) -> cached_piece& {
    return out.pieces[at(panel * num_pieces + p)];
  };
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) {
      for (std::int64_t panel = 0; panel < out.num_panels; ++panel) {
        piece_at(panel, p).row = by_rows.pieces[at(p)].row_and_odd >> 1;
      }
      for_entries(p, [&](std::int32_t col, const T&) {
        const std::int32_t panel = places[at(col)].panel;
        ++(panel < 0 ? piece_at(0, p).cold : piece_at(panel, p).hot);
      });
    }
  });
  std::int64_t num_pairs = 0;
  for (cached_piece& piece : out.pieces) {
    piece.first_pair = static_cast<std::uint32_t>(num_pairs);
    num_pairs += (piece.hot + 1) / 2 + (piece.cold + 1) / 2;
    out.cold_entries += piece.cold;
  }
  (void)core::narrow<std::uint32_t>(num_pairs + core::spare_pairs, "pairs of entries");
  out.pairs = storage<entry_pair<T>>(num_pairs + core::spare_pairs, "pairs of entries");

  // The entries. Slots that lie in one wavefront side by side are of different classes.
  const std::int64_t num_classes = std::max<std::int64_t>(1, core::wavefront_bytes / options.row_bytes);
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    std::vector<std::vector<moving_entry<T>>> classes(at(out.num_panels * num_classes));
    std::vector<std::size_t> taken(at(num_classes));
    for (std::int64_t p = first; p < last; ++p) {
      for (auto& entries : classes) entries.clear();
      const cached_piece& first_panel = piece_at(0, p);
      const std::int64_t first_cold = first_panel.first_pair + (std::int64_t{first_panel.hot} + 1) / 2;
      std::int64_t cold = 0;
      for_entries(p, [&](std::int32_t col, const T& value) {
        const hot_place& place = places[at(col)];
        if (place.panel < 0) {
          put(out.pairs, first_cold, cold++, moving_entry<T>{col, value});
        } else {
          const auto byte = static_cast<std::int32_t>(place.slot * options.row_bytes);
          classes[at(place.panel * num_classes + place.slot % num_classes)].push_back({byte, value});
        }
      });
      for (std::int64_t panel = 0; panel < out.num_panels; ++panel) {
        const cached_piece& piece = piece_at(panel, p);
        const auto of_panel = std::span(classes).subspan(at(panel * num_classes), at(num_classes));
        std::ranges::fill(taken, 0);
        const auto left = [&](std::int64_t c) { return of_panel[at(c)].size() - taken[at(c)]; };
        for (std::int64_t k = 0; k < std::int64_t{piece.hot}; ++k) {
          std::int64_t from = k / 2 % num_classes;
          if (left(from) == 0) {
            for (std::int64_t c = 0; c < num_classes; ++c) {
              if (left(c) > left(from)) from = c;
            }
          }
          put(out.pairs, piece.first_pair, k, of_panel[at(from)][taken[at(from)]++]);
        }
      }
    }
  });
  return out;
}

#define BCSC_INSTANTIATE(T, I) \
  template cached_stream<T> to_cached_stream(const csr_view<T, I>&, const cached_stream_options&);
BCSC_FOR_VALUES(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
