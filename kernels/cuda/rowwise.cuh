#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "bcsc/elements.hpp"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/row_stream/operand.hpp"
#include "kernels/tables/rowwise.hpp"

/// Row-wise SpMM on plain cores: for matrices whose row blocks share few columns (nnz/nnzc near 1), and for small N.
///
/// - Ownership: a *team* of groups x lanes threads of one warp owns a piece of a row of A times n_tile columns of C, in
///   registers. Its lanes lie side by side along N, `items` columns each; its groups take the piece's entries in turn,
///   two neighbours at a time, and are added up at the end by shuffles, in a fixed order. A thread block's teams take
///   `depth` pieces each: consecutive ones or, where there are heavy rows, pieces a `depth`th of all apart, so that no
///   team has only long ones. There is no barrier (unless C goes through shared memory), no atomic, and no
///   multiplication without an entry of A.
/// - Loads before the wait: the first pieces and entries, since nothing in flight writes A (spmm_plan::update_values
///   makes new arrays). Everything else after it.
/// - Loads in flight: `unroll` rows of B a group, all requested before the first is multiplied; behind them the entries
///   of the next step, and once a piece the piece after the next. The three dependent loads (piece, entries, rows of B)
///   belong to three different pieces or steps. The last step of a piece is as long as the others, with absent entries
///   neither loaded nor multiplied: shorter steps would wait once each. So non-finite values of B reach only the rows
///   that have their column.
/// - Width of loads: 16 bytes of B if its address, ldb and the readable part of a row are whole vectors, else 8 or 4.
///   Lanes then lie closer, so that a warp still loads one stretch: an odd N costs instructions, not bytes. A lane's
///   loads of one row lie a constant apart and need one address. A tile of a column-major B that is read in place has
///   as many columns as there are lanes, a load each.
/// - Entries are not shuffled: a group's lanes read the same pair by the same address. In fp32 that is one 16-byte load
///   for two entries, half a wavefront an entry beside the 4 of a 512-byte row of B; loading 32 entries coalesced and
///   passing them round would take two shuffles an entry in the same pipe.
/// - fp16 and bf16: two values of B share a register until they are multiplied, one more instruction a value. A's
/// values
///   are fp32 already; sums, shared memory and workspace are fp32.
/// - Heavy rows (kernels/forms/row_stream/operand.hpp): the sums of their pieces go to the workspace, and
///   add_partials_kernel adds them in the order of the pieces.
/// - C may have any strides. Row-major it is written in vectors of up to 16 bytes. Where those do not fit, and
///   column-major where a warp holds few pieces, it goes through shared memory.
/// - A batch: its members lie along z of the grid, each a product of its own.
/// - Bytes, N columns in t = ceil(N / n_tile) tiles, s bytes a value: (4 + s) t an entry of A (at most half an entry's
///   padding a piece) and 8 t a piece; N s of B for each entry through L2 (what thread blocks on one multiprocessor
///   share comes from L1); C once, twice if beta is not 0; twice the workspace of heavy rows.
/// - Instructions of a warp for each entry of each team: 1 load and 2 of address for B's `items` values, `items`
///   multiply-adds, 1 to 2 for the entry.
/// - Preconditions: those of product_args and row_stream_operand. Deterministic: the order of additions follows from
/// the
///   pieces and the config alone.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them. Width: values of B that one load brings.
template <class T, int Lanes, int Items, int Groups, int Unroll, int Warps, int Blocks, int Width>
struct rowwise_shape {
  static constexpr tables::rowwise_config config{Lanes, Items, Groups, Unroll, Warps, 1, value_type_of<T>, Blocks};
  static constexpr int threads = config.block_threads();
  static constexpr int team = config.team_threads();
  static constexpr int teams = config.teams();
  static constexpr int n_tile = config.tile_cols();
  static constexpr int words = words_for<T, Items>;  // registers of a lane's part of a row of B
  static constexpr int vectors = Items / Width;      // loads a lane takes of a row of B
  static constexpr int resident_blocks = config.blocks_by_registers();
  static constexpr int group_pairs = Unroll / 2;                      // pairs of entries of a group at a step
  static constexpr int step = group_pairs * Groups;                   // and of the team
  static constexpr int kept = Items > Groups ? Items / Groups : 1;    // sums a lane is left with by reduce()
  static constexpr int copies = Groups > Items ? Groups / Items : 1;  // groups that are left with the same
  static constexpr int stored = kept < Width ? kept : Width;          // neighbours among them
  static constexpr int stage_ld = n_tile + 1;                         // odd: a column of it lies in different banks
  static_assert(Items % Width == 0);
};

/// How a product is cut into thread blocks: computed by the host, handed to the kernel.
struct rowwise_grid {
  std::int64_t num_chunks;  // of depth pieces for each team of a thread block
  std::int64_t num_blocks;
  double tile_of_block;  // 1 / num_chunks
  int depth;
  std::int64_t stride;  // pieces from one of a team to its next
  int width;            // columns of a tile: all tiles are about equally wide
  std::uint64_t ldb_bytes;
  std::int64_t ld_partials;
  bool vector_c;  // C may be written `stored` values at a time
  bool staged;    // C goes through shared memory
};

/// A piece as it lies in memory: nothing is computed with it before it is needed, since that would wait for the load.
struct fetched_piece {
  unsigned first_pair, end_pair;
  unsigned row_and_odd;
};

__device__ inline forms::entry_pair<float> load_pair(const forms::entry_pair<float>* from) {
  const int4 some = __ldg(reinterpret_cast<const int4*>(from));
  return {{some.x, some.y}, {__int_as_float(some.z), __int_as_float(some.w)}};
}
__device__ inline forms::entry_pair<double> load_pair(const forms::entry_pair<double>* from) {
  const int2 cols = __ldg(reinterpret_cast<const int2*>(from->col));
  return {{cols.x, cols.y}, {__ldg(&from->value[0]), __ldg(&from->value[1])}};
}

/// The epilogue for Width neighbours of one row of C, of which the first `there` exist; in one store where allowed.
template <int Width, class T>
__device__ void store_row(T* c, std::int64_t stride, int there, bool at_once, const scalars<scalar_of<T>>& by,
                          const scalar_of<T>* sums) {
  if constexpr (Width > 1) {
    if (at_once && there >= Width) return store_vector<Width>(c, by, sums);
  }
#pragma unroll
  for (int i = 0; i < Width; ++i) {
    if (i == 0 || i < there) store(c + i * stride, by, sums[i]);
  }
}

/// Makes the compiler compute an address here. Otherwise it does so in the branch of each load and fetches the
/// constants again: a third more instructions in the last step of a piece.
__device__ inline void settle(std::uint64_t& address) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(address));
#else
  (void)address;
#endif
}

/// Adds up the sums of a team's groups, in an order of its own for each column but the same in every run. Two groups at
/// a distance swap halves, so that each step leaves a lane half as many sums to shuffle: sums[0 .. kept) remain, those
/// of the items from `first` on. The whole warp takes part.
template <int Count, int Distance, int Lanes, class T, int Items>
__device__ void reduce(T (&sums)[Items], int group, int& first) {
  if constexpr (Distance >= 1) {
    const bool upper = (group & Distance) != 0;
    if constexpr (Count > 1) {
      constexpr int half = Count / 2;
#pragma unroll
      for (int i = 0; i < half; ++i) {
        const T given = upper ? sums[i] : sums[i + half];
        const T own = upper ? sums[i + half] : sums[i];
        sums[i] = own + __shfl_xor_sync(0xffffffffu, given, Distance * Lanes);
      }
      if (upper) first += half;
      reduce<half, Distance / 2, Lanes>(sums, group, first);
    } else {
      sums[0] += __shfl_xor_sync(0xffffffffu, sums[0], Distance * Lanes);
      reduce<1, Distance / 2, Lanes>(sums, group, first);
    }
  }
}

/// sums += a * b, b in words.
template <class T, class S, int Items, int Words>
__device__ void add_products(S (&sums)[Items], S a, const word_of<T> (&b)[Words]) {
#pragma unroll
  for (int i = 0; i < Words; ++i) {
    if constexpr (narrow_number<T>) {
      const float2 wide = narrow_pair<T>::widen(b[i]);
      sums[2 * i] += a * wide.x;
      if constexpr (Items > 1) sums[2 * i + 1] += a * wide.y;
    } else {
      sums[i] += a * b[i];
    }
  }
}

template <class T, int Lanes, int Items, int Groups, int Unroll, int Warps, int Blocks, int Width>
__global__ void __launch_bounds__(Warps * 32,
                                  rowwise_shape<T, Lanes, Items, Groups, Unroll, Warps, Blocks, Width>::resident_blocks)
    rowwise_kernel(const __grid_constant__ row_stream_args<T> args, const __grid_constant__ rowwise_grid grid) {
  using shape = rowwise_shape<T, Lanes, Items, Groups, Unroll, Warps, Blocks, Width>;
  using S = scalar_of<T>;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) / Lanes % Groups;
  const int team = static_cast<int>(threadIdx.x) / shape::team;

  // This group's pairs of the step that begins at pair `base` of a piece. Behind the end of the piece the last pair is
  // read again, so that no branch parts the loads; it is not multiplied.
  struct fetched_pairs {
    forms::entry_pair<S> at[shape::group_pairs];
  };
  const auto fetch_pairs = [&](unsigned first, int pairs, int base) {
    fetched_pairs some;
#pragma unroll
    for (int k = 0; k < shape::group_pairs; ++k) {
      const int wanted = min(base + k * Groups + group, pairs - 1);
      some.at[k] = load_pair(args.a.pairs + (first + static_cast<unsigned>(max(wanted, 0))));
    }
    return some;
  };
  const auto pairs_in = [](const fetched_piece& piece) { return static_cast<int>(piece.end_pair - piece.first_pair); };
  S* staged_sums = grid.staged ? dynamic_shared<S>() : nullptr;                             // [teams][stage_ld]
  int* staged_rows = reinterpret_cast<int*>(staged_sums + shape::teams * shape::stage_ld);  // [teams]

  // What the teams of a warp agree on; a team as large as a warp needs no vote.
  const auto any_team = [](bool yes) { return shape::team == 32 ? yes : __any_sync(0xffffffffu, yes) != 0; };
  const auto all_teams = [](bool yes) { return shape::team == 32 ? yes : __all_sync(0xffffffffu, yes) != 0; };

  scalars<S> by{};
  for (std::int64_t index = blockIdx.x; index < grid.num_blocks; index += gridDim.x) {
    const std::int64_t col_tile = divide(index, grid.num_chunks, grid.tile_of_block);
    const std::int64_t chunk = index - col_tile * grid.num_chunks;
    const bool spread = grid.stride != shape::teams;
    const std::int64_t chunk_begin = chunk * shape::teams * (spread ? 1 : grid.depth);
    const std::int64_t first_col = col_tile * grid.width;
    const int num_cols = static_cast<int>(min(args.n - first_col, static_cast<std::int64_t>(grid.width)));

    // This lane's columns: Width neighbours at `own`, and at as many multiples of Lanes * Width further on as the tile
    // has. A lane beyond the tile reads its last columns once more, and stores nothing.
    const int read_cols = (num_cols + Width - 1) / Width * Width;
    const int own = min(lane * Width, read_cols - Width);
    const int own_vectors = (read_cols - own + Lanes * Width - 1) / (Lanes * Width);
    const auto b =
        reinterpret_cast<std::uint64_t>(of_member_here(args.b, args.batch.b) + (first_col + own) * args.b_col_stride);

    const int rounds = static_cast<int>(
        min(static_cast<std::int64_t>(grid.depth), (args.a.num_pieces - chunk_begin + grid.stride - 1) / grid.stride));
    const forms::row_piece* mine = args.a.pieces + chunk_begin + team;
    const forms::row_piece* const end = args.a.pieces + args.a.num_pieces;
    const auto fetch_piece = [&](int round, const forms::row_piece* from) {
      fetched_piece some{0, 0, 0};
      if (round < rounds && from < end) {
        const uint2 whole = __ldg(reinterpret_cast<const uint2*>(from));
        some = {whole.x, __ldg(&from[1].first_pair), whole.y};
      }
      return some;
    };
    fetched_piece piece = fetch_piece(0, mine);
    fetched_piece next = fetch_piece(1, mine + grid.stride);
    fetched_pairs ahead = fetch_pairs(piece.first_pair, pairs_in(piece), 0);
    if (index == blockIdx.x) {  // all else may be what the kernel before has written
      wait_for_previous();
      let_next_begin();
      by = read_scalars(args);
    }
    const bool reads_a = by.alpha != S{0};
    const auto pairs_of = [&](const fetched_piece& piece) { return reads_a ? pairs_in(piece) : 0; };
    for (int round = 0; round < rounds; ++round, mine += grid.stride) {
      const fetched_piece after_next = fetch_piece(round + 2, mine + 2 * grid.stride);
      const int pairs = pairs_of(piece);
      const int entries = 2 * pairs - static_cast<int>(piece.row_and_odd & 1);
      S sums[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i) sums[i] = S{0};

      // One step: the rows of B of this group's entries are asked for, then the entries of the next step, then the
      // former are multiplied. `Whole`: every group of every team has all its entries.
      const auto multiply = [&](auto whole, int base) {
        const fetched_pairs now = ahead;
        const int left = entries - 2 * (base + group);  // from this group's first pair on
        const auto valid = [&](int k, int e) { return decltype(whole)::value || 2 * k * Groups + e < left; };
        std::uint64_t from[shape::group_pairs][2];
#pragma unroll
        for (int k = 0; k < shape::group_pairs; ++k) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            from[k][e] = b + static_cast<unsigned>(now.at[k].col[e]) * grid.ldb_bytes;
            settle(from[k][e]);
          }
        }
        word_of<T> values[shape::group_pairs][2][shape::words];
#pragma unroll
        for (int k = 0; k < shape::group_pairs; ++k) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
#pragma unroll
            for (int i = 0; i < shape::words; ++i) values[k][e][i] = word_of<T>{0};
            const int loads = valid(k, e) ? own_vectors : 0;
#pragma unroll
            for (int j = 0; j < shape::vectors; ++j) {
              if (j == 0 ? valid(k, e) : j < loads) {
                load_values<Width>(values[k][e], j * Width, reinterpret_cast<const T*>(from[k][e]) + j * Lanes * Width);
              }
            }
          }
        }
        const bool more = base + shape::step < pairs;
        ahead = fetch_pairs(more ? piece.first_pair : next.first_pair, more ? pairs : pairs_of(next),
                            more ? base + shape::step : 0);
#pragma unroll
        for (int k = 0; k < shape::group_pairs; ++k) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            add_products<T>(sums, valid(k, e) ? now.at[k].value[e] : S{0}, values[k][e]);
          }
        }
      };
      // Rows without entries come last: behind one of them there are no entries to fetch.
      for (int base = 0; any_team(base < pairs); base += shape::step) {
        if (all_teams(2 * (base + shape::step) <= entries)) {
          multiply(std::true_type{}, base);
        } else {
          multiply(std::false_type{}, base);
        }
      }

      int first = 0;
      reduce<Items, Groups / 2, Lanes>(sums, group, first);
      const int row = static_cast<int>(piece.row_and_odd >> 1);
      const bool there = mine < end;
      const bool writes = there && group % shape::copies == 0;
      const bool partial = mine < args.a.pieces + args.a.num_partials;
      T* const c = of_member_here(args.c, args.batch.c);
#pragma unroll
      for (int i = 0; i < shape::kept; i += shape::stored) {
        const int col = ((first + i) / Width * Lanes + lane) * Width + (first + i) % Width;
        if (!writes || col >= num_cols) continue;
        if (partial) {
          S* const partials = of_member_here(args.a.workspace, args.batch.partials);
          constexpr int at_once = shape::stored < values_of_store<S> ? shape::stored : values_of_store<S>;
#pragma unroll
          for (int k = 0; k < shape::stored; k += at_once) {
            if (k > 0 && col + k >= num_cols) break;
            write_vector<at_once>(partials + (mine - args.a.pieces) * grid.ld_partials + first_col + col + k,
                                  &sums[i + k]);
          }
        } else if (grid.staged) {
#pragma unroll
          for (int k = 0; k < shape::stored; ++k) staged_sums[team * shape::stage_ld + col + k] = sums[i + k];
        } else {
          store_row<shape::stored>(c + row * args.c_row_stride + (first_col + col) * args.c_col_stride,
                                   args.c_col_stride, num_cols - col, grid.vector_c, by, &sums[i]);
        }
      }
      if (grid.staged) {
        if (lane == 0 && group == 0) staged_rows[team] = partial || !there ? -1 : row;
        __syncthreads();
#pragma unroll 1
        for (int i = static_cast<int>(threadIdx.x); i < shape::teams * shape::n_tile; i += shape::threads) {
          const int its_team = args.c_col_stride == 1 ? i / shape::n_tile : i % shape::teams;
          const int col = args.c_col_stride == 1 ? i % shape::n_tile : i / shape::teams;
          const int c_row = staged_rows[its_team];
          if (c_row < 0 || col >= num_cols) continue;
          store(c + c_row * args.c_row_stride + (first_col + col) * args.c_col_stride, by,
                staged_sums[its_team * shape::stage_ld + col]);
        }
        __syncthreads();  // before the next sums
      }
      piece = next;
      next = after_next;
    }
  }
}

/// Warps of a thread block that adds partial sums.
inline constexpr int adding_warps = 8;

/// C of the heavy rows, from the partial sums of their pieces.
///
/// Who owns what: a warp owns Lanes x Values columns of one heavy row, a *part*. Its slices of Lanes threads add up
///   an even share of its pieces, four loads in flight at once, and their sums are added pairwise by shuffles. Few rows
///   have many pieces, most have two to four: those of more than a warp adds up soon are left to all warps of its
///   thread block, which take them one after the other. Where there are few parts, a thread block has one.
/// Bytes moved: each partial sum once; C once, twice if beta is not 0.
/// Deterministic: the order follows from the number of pieces alone.
template <class T, class Operand, int Lanes, int Values>
__global__ void __launch_bounds__(32 * adding_warps)
    add_partials_kernel(const __grid_constant__ product_args<T, Operand> args, std::int64_t ld, std::int64_t num_parts,
                        int parts_each, bool vector_c) {
  using S = scalar_of<T>;
  constexpr int warps = adding_warps, slices = 32 / Lanes, tile_cols = Lanes * Values;
  constexpr int max_of_a_warp = 16 * slices;
  alignas(16) __shared__ S sums_of[warps][tile_cols];
  __shared__ int left_to_all[warps];
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int slice = static_cast<int>(threadIdx.x) % 32 / Lanes;
  const int warp = static_cast<int>(threadIdx.x) / 32;

  struct part {
    int begin, end;       // pieces; none if there is no such part
    std::int64_t column;  // this thread's first
  };
  const auto part_at = [&](std::int64_t first, int which) {
    const std::int64_t index = first + which;
    if (which >= parts_each || index >= num_parts) return part{0, 0, 0};
    const std::int64_t tile = index / args.a.num_heavy;
    const std::int64_t heavy = index - tile * args.a.num_heavy;
    return part{__ldg(args.a.heavy_ptr + heavy), __ldg(args.a.heavy_ptr + heavy + 1), tile * tile_cols + lane * Values};
  };
  // Every `step`th piece from begin + first on.
  const auto add = [&](const part& p, int first, int step, S(&sums)[Values]) {
#pragma unroll
    for (int i = 0; i < Values; ++i) sums[i] = S{0};
    if (p.column >= args.n) return;
#pragma unroll 4
    for (int piece = p.begin + first; piece < p.end; piece += step) {
      S some[Values];
      read_vector<Values>(some, of_member(args.a.workspace, args.batch.partials) + piece * ld + p.column);
#pragma unroll
      for (int i = 0; i < Values; ++i) sums[i] += some[i];
    }
  };
  const auto add_slices = [&](S(&sums)[Values]) {
#pragma unroll
    for (int distance = 16; distance >= Lanes; distance /= 2) {
#pragma unroll
      for (int i = 0; i < Values; ++i) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], distance);
    }
  };

  wait_for_previous();
  let_next_begin();
  const scalars<S> by = read_scalars(args);
  const auto write = [&](const part& p, const S(&sums)[Values]) {
    if (slice != 0 || p.column >= args.n) return;
    const std::int64_t row = args.a.pieces[p.begin].row_of_c();
    store_row<Values>(of_member(args.c, args.batch.c) + row * args.c_row_stride + p.column * args.c_col_stride,
                      args.c_col_stride, Values, vector_c, by, sums);
  };
  for (std::int64_t first = std::int64_t{blockIdx.x} * parts_each; first < num_parts;
       first += std::int64_t{gridDim.x} * parts_each) {
    const part mine = part_at(first, warp);
    const bool left = mine.end - mine.begin > max_of_a_warp;
    if (threadIdx.x % 32 == 0) left_to_all[warp] = left ? 1 : 0;
    S sums[Values];
    if (!left && mine.end > mine.begin) {
      add(mine, slice, slices, sums);
      add_slices(sums);
      write(mine, sums);
    }
    __syncthreads();
#pragma unroll 1
    for (int owner = 0; owner < parts_each; ++owner) {
      if (left_to_all[owner] == 0) continue;
      const part shared = part_at(first, owner);
      add(shared, warp * slices + slice, warps * slices, sums);
      add_slices(sums);
      if (slice == 0) write_vector<Values>(&sums_of[warp][lane * Values], sums);
      __syncthreads();
      if (warp == owner) {
#pragma unroll 1
        for (int other = 0; other < warps; ++other) {
#pragma unroll
          for (int i = 0; i < Values; ++i) {
            const S some = sums_of[other][lane * Values + i];
            sums[i] = other == 0 ? some : sums[i] + some;
          }
        }
        write(shared, sums);
      }
      __syncthreads();  // before the next sums
    }
    __syncthreads();  // before the next parts
  }
}

/// Starts add_partials_kernel, if there are heavy rows.
template <class T, class Operand>
int add_partials(const product_args<T, Operand>& args, const launch_env& env) {
  if (args.a.num_heavy == 0) return cudaSuccess;
  constexpr int vector = 16 / static_cast<int>(sizeof(scalar_of<T>));
  const auto start_as = [&](auto lanes, auto values) {
    constexpr int columns = decltype(lanes)::value * decltype(values)::value;
    const bool vector_c = args.c_col_stride == 1 && args.c_row_stride % decltype(values)::value == 0 &&
                          args.batch.c % decltype(values)::value == 0 &&
                          reinterpret_cast<std::uintptr_t>(args.c) % (decltype(values)::value * sizeof(T)) == 0;
    const std::int64_t num_parts = args.a.num_heavy * ceil_div(args.n, columns);
    const int parts_each = num_parts <= 4 * env.num_multiprocessors ? 1 : adding_warps;
    return start(begins::while_previous_ends,
                 &add_partials_kernel<T, Operand, decltype(lanes)::value, decltype(values)::value>,
                 grid_of(ceil_div(num_parts, parts_each), args.batch), dim3(32 * adding_warps), 0, env.stream, args,
                 partials_ld<scalar_of<T>>(args.n), num_parts, parts_each, vector_c);
  };
  const auto start_for = [&](auto values) {
    const std::int64_t wanted = ceil_div(args.n, decltype(values)::value);
    if (wanted <= 2) return start_as(std::integral_constant<int, 2>{}, values);
    if (wanted <= 8) return start_as(std::integral_constant<int, 8>{}, values);
    return start_as(std::integral_constant<int, 32>{}, values);
  };
  return args.n % vector == 0 ? start_for(std::integral_constant<int, vector>{})
                              : start_for(std::integral_constant<int, 1>{});
}

/// The maximum width of a load of B: every row of each B, and so every tile, must be whole vectors.
/// `readable_cols`: of a row, N or more.
template <class T, class Operand>
int load_width(const product_args<T, Operand>& args, int most, std::int64_t readable_cols) {
  int width = most;
  if (args.b_col_stride != 1) return 1;
  while (width > 1 && (readable_cols % width != 0 || args.ldb % width != 0 || args.batch.b % width != 0 ||
                       reinterpret_cast<std::uintptr_t>(args.b) % (width * sizeof(T)) != 0)) {
    width /= 2;
  }
  return width;
}

template <>
struct implementation<tables::rowwise> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::rowwise_config config = tables::rowwise::configs[Index];
    using T = value_of<config.type>;
    constexpr int widest = config.widest_load();
    const auto& product = *static_cast<const row_stream_args<T>*>(args);
    const int status = launch_width<Index, widest>(product, env, load_width(product, widest, product.b_readable_cols));
    return status != cudaSuccess ? status : add_partials(product, env);
  }

 private:
  template <int Index, int Width, class T>
  static int launch_width(const row_stream_args<T>& args, const launch_env& env, int wanted) {
    if constexpr (Width > 1) {
      if (wanted < Width) return launch_width<Index, Width / 2>(args, env, wanted);
    }
    constexpr tables::rowwise_config config = tables::rowwise::configs[Index];
    using shape =
        rowwise_shape<T, config.lanes, config.items, config.groups, config.unroll, config.warps, config.blocks, Width>;

    // Tiles of even width, in whole sectors of 32 bytes where there are any: 129 columns cost little more than 128.
    constexpr int sector = sizeof(T) == 2 ? 16 : 8;
    const std::int64_t most = args.b_col_stride == 1 ? config.tile_cols() : config.strided_cols();
    const std::int64_t unit = std::min<std::int64_t>(most, sector);
    const std::int64_t even = ceil_div(args.n, ceil_div(args.n, most));
    const std::int64_t width = ceil_div(even, unit) * unit;
    const std::int64_t num_tiles = ceil_div(args.n, width);
    const std::int64_t rounds = ceil_div(args.a.num_pieces, shape::teams) * num_tiles * args.batch.count;
    const std::int64_t depth = depth_for(rounds, env.num_multiprocessors * shape::resident_blocks, config.depth);
    const std::int64_t num_chunks = ceil_div(args.a.num_pieces, depth * shape::teams);

    // The pieces of heavy rows come first: a team that took several of them would be the last to end.
    const bool spread = args.a.num_heavy > 0 && depth > 1;

    constexpr int stored = shape::stored;
    const bool vector_c = args.c_col_stride == 1 && args.c_row_stride % stored == 0 && args.batch.c % stored == 0 &&
                          reinterpret_cast<std::uintptr_t>(args.c) % (stored * sizeof(T)) == 0;
    // Where a warp holds 8 pieces or more its stores to one column of C are adjacent already, and single values stored
    // into narrow rows soon fill their sectors.
    const bool staged = args.c_col_stride == 1 ? stored > 1 && !vector_c && shape::n_tile >= 32
                                               : args.n > 1 && shape::team > 4 && shape::teams > 1;
    const rowwise_grid grid{num_chunks,
                            num_chunks * num_tiles,
                            1.0 / static_cast<double>(num_chunks),
                            static_cast<int>(depth),
                            spread ? num_chunks * shape::teams : shape::teams,
                            static_cast<int>(width),
                            static_cast<std::uint64_t>(args.ldb) * sizeof(T),
                            partials_ld<scalar_of<T>>(args.n),
                            vector_c,
                            staged};
    return start(begins::while_previous_ends,
                 &rowwise_kernel<T, config.lanes, config.items, config.groups, config.unroll, config.warps,
                                 config.blocks, Width>,
                 grid_of(grid.num_blocks, args.batch), dim3(config.block_threads()), staged ? config.shared_bytes() : 0,
                 env.stream, args, grid);
  }
};

}  // namespace bcsc::kernels::cuda
