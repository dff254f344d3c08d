#pragma once

#include <cstdint>
#include <type_traits>

#include "bcsc/elements.hpp"
#include "kernels/cuda/brickwise/copies.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_stream/epilogue.cuh"
#include "kernels/cuda/row_stream/partials.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/tables/brickwise.hpp"

/// SpMM of a grid's matrix on plain cores, B in shared memory: neighbouring rows read the same rows of B, and what L1
/// would have to find again for each of them is copied once for a whole brick.
///
/// - Ownership: a thread block owns a brick (kernels/forms/bricks/layout.hpp) times a tile of `n_tile` columns, and
///   takes its layers one after the other. A team of `lanes` threads owns every teams-th row of a layer; a lane has
///   `pieces` of 16 bytes of it, teams beside each other in turned order, so that what they read lies in different
///   banks.
/// - Loads: by cp.async, three deep. While a layer is multiplied, the rows of B that the next one is the first to
///   read are on their way, its entries, and the list of those for the layer behind it. What beta multiplies is loaded
///   a row ahead; where that is B, it lies in shared memory. All of it after the wait for the kernel ahead.
/// - Barriers: two a layer, so that the next one is asked for before this one is waited for.
/// - Heavy rows: each of their pieces is a brick, which leaves its sums in the workspace; add_partials_kernel adds them
///   in the order of the pieces.
/// - C may have any strides; row-major it is written 16 bytes at a time where it is aligned to them.
/// - A batch: its members lie along z of the grid, each a product of its own.
/// - B'C (dots_with_b), if wanted, where one tile holds all columns and no row is heavy: B's row of each row of C lies
///   in shared memory already, if A has that entry. A thread adds up its columns over all its rows, and then a warp.
/// - Bytes, for each tile, s bytes a value: (2 + s) an entry, 8 a row and as many for each row of B that a layer
///   fetches; of those, through L2, 128 bytes: 1.5 to 1.6 for each row of seven points, 1.1 of five. C once, twice if
///   beta is not 0 and does not multiply B.
/// - Preconditions: those of product_args and bricks_operand; any ldb. Deterministic: each sum has the order of A's
///   entries.
namespace bcsc::kernels::cuda {

/// What the brickwise kernel takes beside its operands.
struct brickwise_grid {
  std::int64_t num_items;  // bricks times tiles of columns; those of a brick follow each other
  std::int64_t num_tiles;
  double brick_of_item;  // 1 / num_tiles
  std::int64_t ld_partials;
  bool vector_c;  // C may be written 16 bytes at a time
  bool adds_b;    // what beta multiplies is B
  double* dots;   // dots_with_b::sums, a row for each warp of a brick; or null
};

/// The pieces of a row of C that a thread owns.
template <class T, class Shape, int Lanes, int Pieces>
struct owned_pieces {
  int at[Pieces];     // which
  int there[Pieces];  // columns of each that exist

  __device__ explicit owned_pieces(std::int64_t num_cols) {
    const int lane = static_cast<int>(threadIdx.x) % Lanes, team = static_cast<int>(threadIdx.x) / Lanes;
#pragma unroll
    for (int j = 0; j < Pieces; ++j) {
      at[j] = lane + Lanes * (j ^ (team & (Pieces - 1)));
      there[j] = static_cast<int>(min(num_cols - at[j] * Shape::vector, std::int64_t{Shape::vector}));
    }
  }
};

/// What a thread sums up for B'C, and how a warp adds that up.
template <class T, class Shape, int Lanes, int Pieces>
struct brickwise_dots {
  double sums[Pieces][Shape::vector] = {};

  /// Row `row` of C, whose row of B is in shared memory or, where null, is read from `args.b`.
  __device__ void add(const bricks_args<T>& args, const owned_pieces<T, Shape, Lanes, Pieces>& own,
                      const unsigned char* row_of_b, std::int64_t row, const T (&c)[Pieces][Shape::vector]) {
#pragma unroll
    for (int j = 0; j < Pieces; ++j) {
      T b[Shape::vector] = {};
      if (row_of_b != nullptr) {
        read_vector<Shape::vector>(b, reinterpret_cast<const T*>(row_of_b + 16 * own.at[j]));
      } else {
#pragma unroll
        for (int i = 0; i < Shape::vector; ++i) {
          if (i < own.there[j]) b[i] = load_global(args.b + row * args.ldb + own.at[j] * Shape::vector + i);
        }
      }
#pragma unroll
      for (int i = 0; i < Shape::vector; ++i) {
        if (i < own.there[j]) sums[j][i] += static_cast<double>(b[i]) * static_cast<double>(c[j][i]);
      }
    }
  }

  /// All threads of the warp take part. Teams own the same piece under numbers that differ as the teams do.
  __device__ void leave(double* to, const owned_pieces<T, Shape, Lanes, Pieces>& own) {
#pragma unroll
    for (int distance = 1; distance < 32 / Lanes; distance *= 2) {
      double others[Pieces][Shape::vector];
#pragma unroll
      for (int j = 0; j < Pieces; ++j) {
#pragma unroll
        for (int i = 0; i < Shape::vector; ++i) {
          const int same = distance < Pieces ? j ^ distance : j;
          others[j][i] = __shfl_xor_sync(0xffffffffu, sums[same][i], distance * Lanes);
        }
      }
#pragma unroll
      for (int j = 0; j < Pieces; ++j) {
#pragma unroll
        for (int i = 0; i < Shape::vector; ++i) sums[j][i] += others[j][i];
      }
    }
    if (static_cast<int>(threadIdx.x) % 32 >= Lanes) return;
#pragma unroll
    for (int j = 0; j < Pieces; ++j) {
#pragma unroll
      for (int i = 0; i < Shape::vector; ++i) {
        if (i < own.there[j]) to[own.at[j] * Shape::vector + i] = sums[j][i];
      }
    }
  }
};

/// What beta multiplies in a row of C. It is read a row ahead, while another row's entries are multiplied: loads behind
/// the sums would be waited for by every team at the same time.
template <class T, class Shape, int Lanes, int Pieces>
struct row_of_addends {
  T values[Pieces][Shape::vector];

  /// Whole pieces of a row, from its first column in the tile on.
  __device__ void read(const owned_pieces<T, Shape, Lanes, Pieces>& own, const T* row) {
#pragma unroll
    for (int j = 0; j < Pieces; ++j) {
      if (own.there[j] >= Shape::vector) read_vector<Shape::vector>(values[j], row + own.at[j] * Shape::vector);
    }
  }
  __device__ void store(T* to, int j, const scalars<T>& by, const T (&sums)[Shape::vector]) const {
    T results[Shape::vector];
#pragma unroll
    for (int i = 0; i < Shape::vector; ++i) results[i] = by.alpha * sums[i];
#pragma unroll
    for (int i = 0; i < Shape::vector; ++i) results[i] += by.beta * values[j][i];
    write_vector<Shape::vector>(to, results);
  }
};

template <class T, int Lanes, int Pieces, int Slots, int Warps, int MinBlocks, bool Wide, bool Dots>
__global__ void __launch_bounds__(32 * Warps, MinBlocks)
    brickwise_kernel(const __grid_constant__ bricks_args<T> args, const __grid_constant__ brickwise_grid grid) {
  using shape = brickwise_shape<T, Lanes, Pieces, Slots, Warps>;
  constexpr int vector = shape::vector;
  auto* const shared = dynamic_shared<unsigned char>();
  const int team = static_cast<int>(threadIdx.x) / Lanes;

  wait_for_previous();
  let_next_begin();
  const scalars<T> by = read_scalars(args);
  const bool reads = by.alpha != T{0};
  for (std::int64_t item = blockIdx.x; item < grid.num_items; item += gridDim.x) {
    const std::int64_t brick = divide(item, grid.num_tiles, grid.brick_of_item);
    const std::int64_t first_col = (item - brick * grid.num_tiles) * shape::n_tile;
    const bool is_partial = brick < args.a.num_partial_bricks;
    const int first = __ldg(args.a.first_layer + brick), end = __ldg(args.a.first_layer + brick + 1);
    const owned_pieces<T, shape, Lanes, Pieces> own(args.n - first_col);
    [[maybe_unused]] brickwise_dots<T, shape, Lanes, Pieces> dots;
    T* const c_of_tile = of_member_here(args.c, args.batch.c) + first_col * args.c_col_stride;
    const bool adds_ahead = !Dots && by.beta != T{0} && grid.vector_c && !is_partial;  // with Dots beta is 0
    const bool adds_b = grid.adds_b && reads;  // else no row of B is in shared memory

    brickwise_copies<T, shape, Wide> copies(args, shared, first, end, first_col, reads);
    copies.start_list();
    copies.start_list();
    wait_for_copies();
    __syncthreads();
    copies.start_layer();
    int list = 0, stage = 0;
    for (int layer = first; layer < end; ++layer) {
      wait_for_all_but<1>();  // the next layer's list is there,
      __syncthreads();        // and the layer before has been multiplied
      copies.start_list();
      copies.start_layer();
      wait_for_all_but<2>();
      __syncthreads();
      const auto* const at = shared + shape::stages_at + stage * shape::stage_bytes;
      const auto* const rows = reinterpret_cast<const forms::brick_row*>(at);
      const auto* const entry_slots = reinterpret_cast<const std::uint16_t*>(at + shape::slots_in_stage);
      const auto* const values = reinterpret_cast<const T*>(at + shape::values_in_stage);
      const int num_rows = layer_in_shared(shared + shape::lists_at + list * shape::list_bytes).num_rows();
      row_of_addends<T, shape, Lanes, Pieces> addends, next;
      const auto ask = [&](int r) {
        if (!adds_ahead || r >= num_rows) return;
        const forms::brick_row row = rows[r];
        if (adds_b && row.own_slot != forms::no_slot) {
          next.read(own, reinterpret_cast<const T*>(shared + row.own_slot * shape::row_bytes));
        } else {
          next.read(own, addend_of(c_of_tile + row.row * args.c_row_stride, by.z_offset));
        }
      };
      ask(team);
      for (int r = team; r < num_rows; r += shape::teams) {
        if (adds_ahead) addends = next;
        ask(r + shape::teams);
        const forms::brick_row row = rows[r];
        const int entries_end = reads ? rows[r + 1].first_entry : row.first_entry;
        T sums[Pieces][vector] = {};
#pragma unroll 2
        for (int e = row.first_entry; e < entries_end; ++e) {
          const T a = values[e];
          const auto* const row_of_b = shared + entry_slots[e] * shape::row_bytes;
          T b[Pieces][vector];
#pragma unroll
          for (int j = 0; j < Pieces; ++j) {
            read_vector<vector>(b[j], reinterpret_cast<const T*>(row_of_b + 16 * own.at[j]));
          }
#pragma unroll
          for (int j = 0; j < Pieces; ++j) {
#pragma unroll
            for (int i = 0; i < vector; ++i) sums[j][i] += a * b[j][i];
          }
        }
        if (is_partial) {
          T* const to = of_member_here(args.a.workspace, args.batch.partials) + row.row * grid.ld_partials + first_col;
#pragma unroll
          for (int j = 0; j < Pieces; ++j) {
            if (own.there[j] > 0) write_vector<vector>(to + own.at[j] * vector, sums[j]);
          }
          continue;
        }
        T* const c = c_of_tile + row.row * args.c_row_stride;
#pragma unroll
        for (int j = 0; j < Pieces; ++j) {
          if (own.there[j] <= 0) continue;
          T* const to = c + own.at[j] * vector * args.c_col_stride;
          if (adds_ahead && own.there[j] >= vector) {
            addends.store(to, j, by, sums[j]);
          } else {
            store_row<vector>(to, args.c_col_stride, own.there[j], grid.vector_c, by, sums[j]);
          }
        }
        if constexpr (Dots) {
          const bool is_here = row.own_slot != forms::no_slot;
          dots.add(args, own, is_here ? shared + row.own_slot * shape::row_bytes : nullptr, row.row, sums);
        }
      }
      list = next_of<shape::num_lists>(list);
      stage = next_of<2>(stage);
    }
    if constexpr (Dots) dots.leave(grid.dots + (item * Warps + threadIdx.x / 32) * args.n, own);
    wait_for_copies();
    __syncthreads();  // before the next item's copies
  }
}

template <>
struct implementation<tables::brickwise> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::brickwise_config config = tables::brickwise::configs[Index];
    using T = value_of<config.type>;
    constexpr int vector = 16 / static_cast<int>(sizeof(T));
    const auto& product = *static_cast<const bricks_args<T>*>(args);
    if (product.a.slots != config.slots || product.b_col_stride != 1) return cudaErrorInvalidValue;
    const auto are_vectors = [](const void* first, std::int64_t ld, std::int64_t from_member_to_member) {
      return reinterpret_cast<std::uintptr_t>(first) % 16 == 0 && ld % vector == 0 &&
             from_member_to_member % vector == 0;
    };
    const std::int64_t num_tiles = ceil_div(product.n, config.tile_cols());
    brickwise_grid grid{
        .num_items = product.a.num_bricks * num_tiles,
        .num_tiles = num_tiles,
        .brick_of_item = 1.0 / static_cast<double>(num_tiles),
        .ld_partials = partials_ld<T>(product.n),
        .vector_c = product.c_col_stride == 1 && are_vectors(product.c, product.c_row_stride, product.batch.c),
        .adds_b = product.z_offset != 0 && product.c + product.z_offset == product.b &&
                  product.c_row_stride == product.ldb && product.c_col_stride == 1 && product.batch.count == 1,
        .dots = nullptr};
    const bool wide = static_cast<std::uint64_t>(product.ldb) * sizeof(T) <= UINT32_MAX &&
                      are_vectors(product.b, product.ldb, product.batch.b);
    if (wide && num_tiles == 1 && product.a.num_heavy == 0) {
      grid.dots = product.dots.take(product.a.num_bricks * config.warps, product.n);
    }
    const auto start_as = [&](auto is_wide, auto leaves_dots) {
      return start(begins::while_previous_ends,
                   &brickwise_kernel<T, config.lanes, config.pieces, config.slots, config.warps,
                                     config.resident_blocks(), decltype(is_wide)::value, decltype(leaves_dots)::value>,
                   grid_of(grid.num_items, product.batch), dim3(config.block_threads()), config.shared_bytes(),
                   env.stream, product, grid);
    };
    const int status = grid.dots != nullptr ? start_as(std::true_type{}, std::true_type{})
                       : wide               ? start_as(std::true_type{}, std::false_type{})
                                            : start_as(std::false_type{}, std::false_type{});
    return status != cudaSuccess ? status : add_partials(product, env);
  }
};

}  // namespace bcsc::kernels::cuda
