#include "kernels/forms/bricks/bricks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "kernels/forms/bricks/cut.hpp"

namespace bcsc::forms {

using converters::even_cuts;
using converters::first_fault;
using converters::for_pieces;
using converters::storage;
using converters::worthwhile_pieces;

namespace {

using core::at;
using core::fail;
using core::length;
using core::narrow;

void check_slots(const bricks_options& options) {
  if (options.slots < 40 || options.slots > max_brick_slots || options.slots % 40 != 0) {
    fail(errc::invalid_argument, "slots = {}: must be a multiple of 40 and lie in 40 .. {}", options.slots,
         max_brick_slots);
  }
}

/// The columns of a layer, each once, in ascending order, and where their rows of B stand.
struct layer_columns {
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> slots;

  std::int64_t size() const { return length(columns); }
  std::int32_t slot_of(std::int64_t column) const {
    const auto found = std::ranges::lower_bound(columns, column);
    return found != columns.end() && *found == column ? slots[at(found - columns.begin())] : no_slot;
  }
};

/// A layer and the one before it, for one thread.
struct layer_pair {
  layer_columns former, now;

  void begin_brick() { now.columns.clear(), now.slots.clear(); }
  /// now.columns becomes room for the columns of the next layer.
  void begin_layer() { std::swap(former, now), now.columns.clear(), now.slots.clear(); }
  void each_column_once() {
    std::ranges::sort(now.columns);
    now.columns.erase(std::unique(now.columns.begin(), now.columns.end()), now.columns.end());
  }
  std::int64_t num_fetches() const {
    return std::ranges::count_if(
        now.columns, [&](std::int32_t column) { return !std::ranges::binary_search(former.columns, column); });
  }
  /// Finds now.slots; body(fetch) for each column that the former layer does not have.
  template <class Body>
  void assign_slots(std::int64_t num_slots, const Body& body) {
    std::vector<bool> used(at(num_slots));
    for (const std::int32_t slot : former.slots) used[at(slot)] = true;
    std::int32_t free = -1;
    for (const std::int32_t column : now.columns) {
      std::int32_t slot = former.slot_of(column);
      if (slot == no_slot) {
        do ++free;
        while (used[at(free)]);
        slot = free;
        body(brick_fetch{column, slot});
      }
      now.slots.push_back(slot);
    }
  }
};

/// Cuts the stream, measures the bricks, then fills them.
template <value T>
class maker {
 public:
  maker(const row_stream<T>& stream, const bricks_options& options)
      : stream_(stream), options_(options), slots_(static_cast<int>(options.slots)) {}

  bricks_matrix<T> make() {
    const auto is_long = [&](std::int64_t p) { return num_entries(p, p + 1) > max_piece_for(slots_); };
    if (first_fault(stream_.num_pieces(), is_long) >= 0) fail_by_long_pieces(options_.slots);
    out_.rows = stream_.rows;
    out_.cols = stream_.cols;
    out_.nnz = stream_.nnz;
    out_.slots = options_.slots;
    out_.num_partial_bricks = stream_.num_partials;
    out_.pieces.assign(stream_.pieces.begin(), stream_.pieces.begin() + stream_.num_partials);
    out_.heavy_ptr = stream_.heavy_ptr;
    find_first_pieces(brick_cut_of(stream_.pieces.data(), stream_.num_partials, options_.grid, options_.shape));
    plans_ = storage<brick_plan>(length(first_piece_) - 1, "plans of bricks");
    for_bricks([&](std::int64_t b, layer_pair& layers) { plans_[at(b)] = plan_of(b, layers); });
    lay_out();
    for_bricks([&](std::int64_t b, layer_pair& layers) { fill(b, layers); });
    return std::move(out_);
  }

 private:
  const row_piece& piece(std::int64_t p) const { return stream_.pieces[at(p)]; }
  /// Of pieces first .. last - 1.
  std::int64_t num_entries(std::int64_t first, std::int64_t last) const {
    std::int64_t entries = 0;
    for (std::int64_t p = first; p < last; ++p) entries += num_entries_of(&piece(p));
    return entries;
  }
  /// body(column, value) of each entry of piece p.
  template <class Body>
  void for_entries(std::int64_t p, const Body& body) const {
    const std::int64_t entries = num_entries(p, p + 1);
    for (std::int64_t e = 0; e < entries; ++e) {
      const entry_pair<T>& pair = stream_.pairs[at(piece(p).first_pair + e / 2)];
      body(pair.col[e % 2], pair.value[e % 2]);
    }
  }
  /// body(b, layers) for each brick, in parallel; `layers` is room for two.
  template <class Body>
  void for_bricks(const Body& body) const {
    const std::int64_t num_bricks = length(first_piece_) - 1;
    const auto weight = [&](std::int64_t b) {
      const std::int64_t p = first_piece_[at(b)];
      return 2 * std::int64_t{piece(p).first_pair} + p;
    };
    if (num_bricks == 0) return;
    for_pieces(even_cuts(num_bricks, worthwhile_pieces(weight(num_bricks)), weight),
               [&](std::int64_t, std::int64_t first, std::int64_t last) {
                 layer_pair layers;
                 for (std::int64_t b = first; b < last; ++b) body(b, layers);
               });
  }
  /// body(first, last) for the pieces of each of brick b's layers until it returns false; whether it never did. Before,
  /// `layers` gets the columns.
  template <class Body>
  bool for_layers(std::int64_t b, std::int64_t layer_rows, layer_pair& layers, const Body& body) const {
    const std::int64_t end = first_piece_[at(b) + 1];
    layers.begin_brick();
    for (std::int64_t first = first_piece_[at(b)]; first < end; first += layer_rows) {
      const std::int64_t last = std::min(first + layer_rows, end);
      layers.begin_layer();
      for (std::int64_t p = first; p < last; ++p) {
        for_entries(p, [&](std::int32_t column, T) { layers.now.columns.push_back(column); });
      }
      layers.each_column_once();
      if (!body(first, last)) return false;
    }
    return true;
  }

  /// The first piece of each brick, and the end.
  void find_first_pieces(const brick_cut& by) {
    const std::vector<std::int64_t> cuts = even_cuts(stream_.num_pieces());
    std::vector<std::int64_t> before(cuts.size(), 0);
    for_pieces(cuts, [&](std::int64_t share, std::int64_t first, std::int64_t last) {
      for (std::int64_t p = first; p < last; ++p) before[at(share) + 1] += by.begins(p);
    });
    for (std::size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
    first_piece_ = storage<std::int64_t>(before.back() + 1, "first pieces of bricks");
    for_pieces(cuts, [&](std::int64_t share, std::int64_t first, std::int64_t last) {
      std::int64_t b = before[at(share)];
      for (std::int64_t p = first; p < last; ++p) {
        if (by.begins(p)) first_piece_[at(b++)] = p;
      }
    });
    first_piece_.back() = stream_.num_pieces();
  }

  /// With layers as high as they may be; single pieces always fit.
  brick_plan plan_of(std::int64_t b, layer_pair& layers) const {
    brick_plan plan{max_layer_rows, {}};
    const auto adds_to_plan = [&](std::int64_t first, std::int64_t last) {
      const std::int64_t entries = num_entries(first, last), fetches = layers.num_fetches();
      plan.room = plan.room + room_of_layer(last - first, fetches, entries);
      return layer_fits(slots_, entries, fetches, layers.former.size());
    };
    while (!for_layers(b, plan.layer_rows, layers, adds_to_plan)) plan = {plan.layer_rows / 2, {}};
    return plan;
  }

  void lay_out() {
    before_ = storage<brick_place>(length(plans_), "places of bricks");
    out_.first_layer = storage<std::int32_t>(length(first_piece_), "first layers of bricks");
    brick_place next{};
    for (std::size_t b = 0; b < plans_.size(); ++b) {
      before_[b] = next;
      next = next + plans_[b].room;
      out_.first_layer[b + 1] = narrow<std::int32_t>(next.layers, "layers of bricks");
    }
    check_brick_places(next);
    out_.layers = storage<brick_layer>(next.layers, "layers of bricks");
    out_.brick_rows = storage<brick_row>(next.rows, "rows of bricks");
    out_.fetches = storage<brick_fetch>(next.fetches, "fetches of bricks");
    out_.entry_slots = storage<std::uint16_t>(next.entries, "slots of entries");
    out_.values = storage<T>(next.entries, "values of bricks");
  }

  void fill(std::int64_t b, layer_pair& layers) {
    brick_place place = before_[at(b)];
    for_layers(b, plans_[at(b)].layer_rows, layers, [&](std::int64_t first, std::int64_t last) {
      const int num_fetches = fill_fetches(place, layers);
      const int num_entries = fill_rows(place, layers.now, first, last);
      const int num_rows = static_cast<int>(last - first);
      out_.layers[at(place.layers)] = layer_at(place, layer_sizes(num_rows, num_fetches, num_entries));
      place = place + room_of_layer(num_rows, num_fetches, num_entries);
      return true;
    });
  }

  /// How many there are.
  int fill_fetches(const brick_place& place, layer_pair& layers) {
    int num_fetches = 0;
    layers.assign_slots(options_.slots,
                        [&](const brick_fetch& fetch) { out_.fetches[at(place.fetches + num_fetches++)] = fetch; });
    return num_fetches;
  }

  /// Rows first .. last - 1 with their entries; how many these are.
  int fill_rows(const brick_place& place, const layer_columns& now, std::int64_t first, std::int64_t last) {
    const auto slot_of = [&](std::int64_t column) { return static_cast<std::uint16_t>(now.slot_of(column)); };
    std::size_t row = at(place.rows), entry = at(place.entries);
    const auto entries_before = [&] { return static_cast<std::uint16_t>(entry - at(place.entries)); };
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t row_of_c = piece(p).row_of_c();
      out_.brick_rows[row++] = {static_cast<std::int32_t>(p < stream_.num_partials ? p : row_of_c), entries_before(),
                                slot_of(row_of_c)};
      for_entries(p, [&](std::int32_t column, T value) {
        out_.entry_slots[entry] = slot_of(column);
        out_.values[entry++] = value;
      });
    }
    out_.brick_rows[row] = {0, entries_before(), no_slot};
    return entries_before();
  }

  const row_stream<T>& stream_;
  const bricks_options& options_;
  const int slots_;
  std::vector<std::int64_t> first_piece_;  // of each brick, and the end
  std::vector<brick_plan> plans_;
  std::vector<brick_place> before_;
  bricks_matrix<T> out_;
};

}  // namespace

row_stream_options stream_for_bricks(const bricks_options& options) {
  check_slots(options);
  return {.split = max_piece_for(static_cast<int>(options.slots)),
          .grain = max_split + 1,
          .bricks = options.grid,
          .shape = options.shape};
}

void check_bricks(std::int64_t rows, const bricks_options& options) {
  check_slots(options);
  if (options.grid.rows() > rows) {
    fail(errc::invalid_argument, "grid = {} x {} x {}: must have at most {} nodes (rows)", options.grid.x,
         options.grid.y, options.grid.z, rows);
  }
  converters::check_brick_shape(options.shape);
}

void check_brick_places(const brick_place& end) {
  (void)narrow<std::int32_t>(end.layers, "layers of bricks");
  (void)narrow<std::uint32_t>(end.rows, "rows of bricks");
  (void)narrow<std::uint32_t>(end.fetches, "fetches of bricks");
  (void)narrow<std::uint32_t>(end.entries, "entries of bricks");
}

void fail_by_long_pieces(std::int64_t slots) {
  fail(errc::invalid_argument, "stream has a piece of more than {} entries (slots / 2)",
       max_piece_for(static_cast<int>(slots)));
}

template <value T>
bricks_matrix<T> to_bricks(const row_stream<T>& stream, const bricks_options& options) {
  check_bricks(stream.rows, options);
  return maker<T>(stream, options).make();
}

template bricks_matrix<float> to_bricks(const row_stream<float>&, const bricks_options&);
template bricks_matrix<double> to_bricks(const row_stream<double>&, const bricks_options&);

}  // namespace bcsc::forms
