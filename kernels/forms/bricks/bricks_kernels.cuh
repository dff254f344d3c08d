#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

#include "converters/formats/device_grid.cuh"
#include "kernels/forms/bricks/bricks_steps.hpp"

/// The kernels that make bricks from a stream of row pieces (bricks_steps.cu starts them). A thread block walks through
/// a brick layer by layer, as the product will, with the columns of two layers in shared memory: it sorts those of each
/// layer and looks them up among those of the one before. A brick is walked through once for each height of layers that
/// is tried, up to the first layer that does not fit, and once to fill it.
namespace bcsc::forms::steps {

using converters::steps::count_while;

/// For p of [0, num_pieces]: 1 for the first piece of a brick, else 0. Sums of these are the bricks' numbers. Counts
/// the pieces of more than `max_piece` entries.
struct begins_body {
  brick_cut cut;
  std::int64_t num_pieces, max_piece;
  std::uint32_t *begins, *num_long;
  __device__ void operator()(std::int64_t p) const {
    begins[p] = p < num_pieces && cut.begins(p) ? 1 : 0;
    if (p < num_pieces && num_entries_of(cut.pieces + p) > max_piece) atomicAdd(num_long, 1u);
  }
};

/// For p of [0, num_pieces]: begun[p] bricks begin before piece p.
struct first_piece_body {
  const std::uint32_t* begun;
  std::int64_t num_pieces;
  std::uint32_t* first_piece;
  __device__ void operator()(std::int64_t p) const {
    if (p == num_pieces || begun[p] != begun[p + 1]) first_piece[begun[p]] = static_cast<std::uint32_t>(p);
  }
};

struct brick_room {
  const brick_plan* plans;
  std::int64_t num_bricks;
  __host__ __device__ brick_place operator()(std::int64_t b) const {
    return b < num_bricks ? plans[b].room : brick_place{0, 0, 0, 0};
  }
};
struct add_brick_places {
  __host__ __device__ brick_place operator()(const brick_place& a, const brick_place& b) const { return a + b; }
};

inline constexpr int brick_threads = 128, brick_warps = brick_threads / 32;
inline constexpr int most_entries = max_entries_for(max_brick_slots);
inline constexpr int sort_room = static_cast<int>(std::bit_ceil(static_cast<unsigned>(most_entries)));
static_assert(max_layer_rows < brick_threads);

/// The columns of a layer, each once, in ascending order, and where their rows of B stand. A layer that fits has no
/// more than there are slots.
struct listed_columns {
  std::uint32_t columns[most_entries];
  std::uint16_t slots[max_brick_slots];
};

/// What a thread block has at hand.
struct brick_in_shared {
  int first_pair[max_layer_rows + 1];  // of each row of the layer, and the end
  int first_entry[max_layer_rows + 1];
  std::uint32_t sorted[sort_room];  // the columns of all entries
  listed_columns layers[2];         // of this layer and the former one, by turns
  bool used[max_brick_slots];       // by the former layer
  std::uint16_t free_slots[max_brick_slots];
  int warp_counts[brick_warps];
};

/// How many threads before this one have `flag`; `total`: how many of all.
__device__ inline int flagged_before(brick_in_shared& in, bool flag, int& total) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const unsigned flags = __ballot_sync(0xffffffffu, flag);
  if (lane == 0) in.warp_counts[warp] = __popc(flags);
  __syncthreads();
  int before = __popc(flags & ((1u << lane) - 1));
  total = 0;
  for (int w = 0; w < brick_warps; ++w) {
    if (w < warp) before += in.warp_counts[w];
    total += in.warp_counts[w];
  }
  __syncthreads();
  return before;
}

/// body(i, how many there are before it) for each i of [0, n) that is wanted; how many there are. A thread asks for and
/// gets i = threadIdx.x, then every brick_threads-th.
template <class Predicate, class Body>
__device__ int for_wanted(brick_in_shared& in, int n, const Predicate& is_wanted, const Body& body) {
  int found = 0;
  for (int first = 0; first < n; first += brick_threads) {
    const int i = first + static_cast<int>(threadIdx.x);
    const bool wanted = i < n && is_wanted(i);
    int more = 0;
    const int before = flagged_before(in, wanted, more);
    if (wanted) body(i, found + before);
    found += more;
  }
  __syncthreads();
  return found;
}

/// Where the layer's rows begin.
__device__ inline void read_rows(brick_in_shared& in, const row_piece* pieces, int num_rows) {
  const int r = static_cast<int>(threadIdx.x);
  int total = 0;  // of pairs with padding, which is no entry
  const int odd = flagged_before(in, r < num_rows && pieces[r].row_and_odd % 2 != 0, total);
  if (r <= num_rows) {
    in.first_pair[r] = static_cast<int>(pieces[r].first_pair - pieces[0].first_pair);
    in.first_entry[r] = 2 * in.first_pair[r] - odd;
  }
  __syncthreads();
}

/// body(entry, pair, how many of its two are entries) for each of the layer's pairs.
template <class Body>
__device__ void for_pairs(const brick_in_shared& in, int num_rows, const Body& body) {
  for (int pair = static_cast<int>(threadIdx.x); pair < in.first_pair[num_rows]; pair += brick_threads) {
    const std::int64_t r = count_while(num_rows, [&](std::int64_t i) { return in.first_pair[i] <= pair; }) - 1;
    const int entry = in.first_entry[r] + 2 * (pair - in.first_pair[r]);
    body(entry, pair, entry + 1 < in.first_entry[r + 1] ? 2 : 1);
  }
}

/// A bitonic network over the next power of two.
__device__ inline void sort_columns(brick_in_shared& in, int num_entries) {
  const int thread = static_cast<int>(threadIdx.x);
  int room = 1;
  while (room < num_entries) room *= 2;
  for (int i = num_entries + thread; i < room; i += brick_threads) in.sorted[i] = 0xffffffffu;
  __syncthreads();
  for (int run = 2; run <= room; run *= 2) {
    for (int distance = run / 2; distance > 0; distance /= 2) {
      for (int k = thread; k < room / 2; k += brick_threads) {
        const int i = 2 * k - k % distance, j = i + distance;
        const bool ascends = (i & run) == 0;
        const std::uint32_t x = in.sorted[i], y = in.sorted[j];
        if ((x > y) == ascends) in.sorted[i] = y, in.sorted[j] = x;
      }
      __syncthreads();
    }
  }
}

/// The layer's columns, each once; how many there are.
template <class T>
__device__ int list_columns(brick_in_shared& in, int num_rows, const entry_pair<T>* pairs, listed_columns& to) {
  for_pairs(in, num_rows, [&](int entry, int pair, int count) {
    for (int e = 0; e < count; ++e) in.sorted[entry + e] = static_cast<std::uint32_t>(pairs[pair].col[e]);
  });
  const int num_entries = in.first_entry[num_rows];
  sort_columns(in, num_entries);
  return for_wanted(
      in, num_entries, [&](int i) { return i == 0 || in.sorted[i] != in.sorted[i - 1]; },
      [&](int i, int before) { to.columns[before] = in.sorted[i]; });
}

/// Where a column is listed, or -1.
__device__ inline int place_of(const listed_columns& of, int num_cols, std::uint32_t column) {
  const auto smaller = static_cast<int>(count_while(num_cols, [&](std::int64_t i) { return of.columns[i] < column; }));
  return smaller < num_cols && of.columns[smaller] == column ? smaller : -1;
}
__device__ inline std::uint16_t slot_of(const listed_columns& of, int num_cols, std::uint32_t column) {
  const int place = place_of(of, num_cols, column);
  return place < 0 ? no_slot : of.slots[place];
}

struct brick_reading {
  bricks_job job;
  const std::uint32_t* first_piece;
  std::int64_t num_bricks;
};

/// A layer whose columns are listed, and what is known of the former one.
template <class T>
struct layer_at_hand {
  std::int64_t first_piece;
  int num_rows, num_entries, num_cols, former_cols;
  const row_piece* pieces;
  const entry_pair<T>* pairs;
  listed_columns *now, *former;
};

/// body(layer) for each layer of brick b, until it returns false or a layer has too many entries; whether that never
/// happened.
template <class T, class Body>
__device__ bool for_layers(brick_in_shared& in, const brick_reading& at, std::int64_t b, std::int64_t layer_rows,
                           const Body& body) {
  const std::int64_t end = at.first_piece[b + 1];
  layer_at_hand<T> layer{at.first_piece[b], 0, 0, 0, 0, nullptr, nullptr, &in.layers[0], &in.layers[1]};
  for (; layer.first_piece < end; layer.first_piece += layer_rows) {
    const std::int64_t left = end - layer.first_piece;
    layer.num_rows = static_cast<int>(left < layer_rows ? left : layer_rows);
    layer.pieces = at.job.pieces + layer.first_piece;
    layer.pairs = static_cast<const entry_pair<T>*>(at.job.pairs) + layer.pieces[0].first_pair;
    read_rows(in, layer.pieces, layer.num_rows);
    layer.num_entries = in.first_entry[layer.num_rows];
    if (layer.num_entries > max_entries_for(at.job.slots)) return false;
    layer.num_cols = list_columns(in, layer.num_rows, layer.pairs, *layer.now);
    if (!body(layer)) return false;
    listed_columns* const former = layer.former;
    layer.former = layer.now;
    layer.now = former;
    layer.former_cols = layer.num_cols;
  }
  return true;
}

/// What brick b takes with layers of plan.layer_rows; false if one of them does not fit.
template <class T>
__device__ bool measure_layers(brick_in_shared& in, const brick_reading& at, std::int64_t b, brick_plan& plan) {
  return for_layers<T>(in, at, b, plan.layer_rows, [&](const layer_at_hand<T>& layer) {
    const int num_fetches = for_wanted(
        in, layer.num_cols,
        [&](int i) { return place_of(*layer.former, layer.former_cols, layer.now->columns[i]) < 0; }, [](int, int) {});
    plan.room = plan.room + room_of_layer(layer.num_rows, num_fetches, layer.num_entries);
    return layer_fits(at.job.slots, layer.num_entries, num_fetches, layer.former_cols);
  });
}

/// With layers as high as they may be; single pieces always fit.
template <class T>
__global__ void __launch_bounds__(brick_threads)
    measure_bricks_kernel(const __grid_constant__ brick_reading at, brick_plan* plans) {
  __shared__ brick_in_shared in;
  for (std::int64_t b = blockIdx.x; b < at.num_bricks; b += gridDim.x) {
    brick_plan plan{max_layer_rows, {0, 0, 0, 0}};
    while (!measure_layers<T>(in, at, b, plan)) plan = {plan.layer_rows / 2, {0, 0, 0, 0}};
    if (threadIdx.x == 0) plans[b] = plan;
  }
}

/// free_slots: those that the former layer does not use, in ascending order.
template <class T>
__device__ void list_free_slots(brick_in_shared& in, const layer_at_hand<T>& layer, int num_slots) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int slot = thread; slot < num_slots; slot += brick_threads) in.used[slot] = false;
  __syncthreads();
  for (int i = thread; i < layer.former_cols; i += brick_threads) in.used[layer.former->slots[i]] = true;
  __syncthreads();
  for_wanted(
      in, num_slots, [&](int slot) { return !in.used[slot]; },
      [&](int slot, int before) { in.free_slots[before] = static_cast<std::uint16_t>(slot); });
}

/// Gives each column its slot and writes the fetches; how many there are.
template <class T>
__device__ int fill_fetches(brick_in_shared& in, const layer_at_hand<T>& layer, int num_slots, brick_fetch* to) {
  list_free_slots(in, layer, num_slots);
  listed_columns& now = *layer.now;
  return for_wanted(
      in, layer.num_cols,
      [&](int i) {
        now.slots[i] = slot_of(*layer.former, layer.former_cols, now.columns[i]);
        return now.slots[i] == no_slot;
      },
      [&](int i, int before) {
        now.slots[i] = in.free_slots[before];
        to[before] = {static_cast<std::int32_t>(now.columns[i]), now.slots[i]};
      });
}

/// The layer's rows, and the one behind them.
template <class T>
__device__ void fill_rows(const brick_in_shared& in, const layer_at_hand<T>& layer, std::int64_t num_partials,
                          brick_row* to) {
  const int r = static_cast<int>(threadIdx.x);
  if (r > layer.num_rows) return;
  brick_row row{0, static_cast<std::uint16_t>(in.first_entry[r]), no_slot};
  if (r < layer.num_rows) {
    const std::int64_t piece = layer.first_piece + r, row_of_c = layer.pieces[r].row_of_c();
    row.row = static_cast<std::int32_t>(piece < num_partials ? piece : row_of_c);
    row.own_slot = slot_of(*layer.now, layer.num_cols, static_cast<std::uint32_t>(row_of_c));
  }
  to[r] = row;
}

template <class T>
__device__ void fill_entries(const brick_in_shared& in, const layer_at_hand<T>& layer, std::uint16_t* slots,
                             T* values) {
  for_pairs(in, layer.num_rows, [&](int entry, int pair, int count) {
    for (int e = 0; e < count; ++e) {
      slots[entry + e] = slot_of(*layer.now, layer.num_cols, static_cast<std::uint32_t>(layer.pairs[pair].col[e]));
      values[entry + e] = layer.pairs[pair].value[e];
    }
  });
}

template <class T>
__global__ void __launch_bounds__(brick_threads)
    fill_bricks_kernel(const __grid_constant__ brick_reading at, const brick_plan* plans, const brick_place* before,
                       const __grid_constant__ bricks_arrays to) {
  __shared__ brick_in_shared in;
  for (std::int64_t b = blockIdx.x; b < at.num_bricks; b += gridDim.x) {
    brick_place place = before[b];
    // Each brick says where the next one begins; the first begins at 0, as zeros do.
    if (threadIdx.x == 0) to.first_layer[b + 1] = static_cast<std::int32_t>(before[b + 1].layers);
    for_layers<T>(in, at, b, plans[b].layer_rows, [&](const layer_at_hand<T>& layer) {
      const int num_fetches = fill_fetches(in, layer, at.job.slots, to.fetches + place.fetches);
      fill_rows(in, layer, at.job.num_partials, to.brick_rows + place.rows);
      fill_entries(in, layer, to.entry_slots + place.entries, static_cast<T*>(to.values) + place.entries);
      if (threadIdx.x == 0) {
        to.layers[place.layers] = layer_at(place, layer_sizes(layer.num_rows, num_fetches, layer.num_entries));
      }
      place = place + room_of_layer(layer.num_rows, num_fetches, layer.num_entries);
      return true;
    });
  }
}

}  // namespace bcsc::forms::steps
