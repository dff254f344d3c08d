#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bcsc/elements.hpp"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/l2_prefetch.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_stream/dots.cuh"
#include "kernels/cuda/row_stream/epilogue.cuh"
#include "kernels/cuda/row_stream/gather.cuh"
#include "kernels/cuda/row_stream/partials.cuh"
#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/tables/rowwise.hpp"

/// Row-wise SpMM on plain cores: for matrices whose row blocks share few columns (nnz/nnzc near 1), and for small N.
///
/// - Ownership: a *team* of groups x lanes threads of one warp owns a piece of a row of A times n_tile columns of C, in
///   registers. Its lanes lie side by side along N, `items` columns each; its groups take the piece's entries in turn,
///   two neighbours at a time, and are added up at the end by shuffles, in a fixed order. A thread block's teams take
///   `depth` pieces each: consecutive ones (of a grid a brick at most) or, where there are long rows, pieces a
///   `depth`th of all apart, so that no team has only pieces of those. There is no barrier (unless C goes through
///   shared memory, or rows are long), no atomic, and no multiplication without an entry of A.
/// - Loads before the wait: the first pieces and entries, since nothing in flight writes A (spmm_plan::update_values
///   makes new arrays), and all of a small A into L2 (l2_prefetch.cuh). Everything else after it.
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
///   values are fp32 already; sums, shared memory and workspace are fp32.
/// - Long rows (kernels/forms/row_stream/layout.hpp): the teams of a thread block that share a part of one add their
///   sums up in shared memory, in the order of the pieces. Of heavy rows, which have several parts, the sums of each go
///   to the workspace, and add_partials_kernel adds them in the order of the parts.
/// - C may have any strides. Row-major it is written in vectors of up to 16 bytes. Where those do not fit, and
///   column-major where a warp holds few pieces, it goes through shared memory.
/// - A batch: its members lie along z of the grid, each a product of its own.
/// - B'C (dots_with_b), if wanted: row_stream/dots.cuh.
/// - Bytes, N columns in t = ceil(N / n_tile) tiles, s bytes a value: (4 + s) t an entry of A (at most half an entry's
///   padding a piece) and 8 t a piece; N s of B for each entry through L2 (what thread blocks on one multiprocessor
///   share comes from L1); C once, twice if beta is not 0; twice the workspace of heavy rows.
/// - Instructions of a warp for each entry of each team: 1 load and 2 of address for B's `items` values, `items`
///   multiply-adds, 1 to 2 for the entry.
/// - Preconditions: those of product_args and row_stream_operand. Deterministic: the order of additions follows from
///   the pieces and the config alone.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them. Width: values of B that one load brings.
template <class T, int Lanes, int Items, int Groups, int Unroll, int Warps, int Width>
struct rowwise_shape {
  static constexpr tables::rowwise_config config{.lanes = Lanes,
                                                 .items = Items,
                                                 .groups = Groups,
                                                 .unroll = Unroll,
                                                 .warps = Warps,
                                                 .depth = 1,
                                                 .type = value_type_of<T>};
  static constexpr int items = Items;
  static constexpr int threads = config.block_threads();
  static constexpr int team = config.team_threads();
  static constexpr int teams = config.teams();
  static constexpr int n_tile = config.tile_cols();
  static constexpr int words = words_for<T, Items>;                   // registers of a lane's part of a row of B
  static constexpr int vectors = Items / Width;                       // loads a lane takes of a row of B
  static constexpr int group_pairs = Unroll / 2;                      // pairs of entries of a group at a step
  static constexpr int step = group_pairs * Groups;                   // and of the team
  static constexpr int kept = Items > Groups ? Items / Groups : 1;    // sums a lane is left with by reduce()
  static constexpr int copies = Groups > Items ? Groups / Items : 1;  // groups that are left with the same
  static constexpr int stored = kept < Width ? kept : Width;          // neighbours among them
  static constexpr int stage_ld = n_tile + 1;                         // odd: a column of it lies in different banks
  static_assert(Items % Width == 0);
};

/// Where rows of B are 4 GiB apart or more, it is read by single values.
template <int Width>
using bytes_of_ldb = std::conditional_t<(Width > 1), std::uint32_t, std::uint64_t>;

/// A longer stream is not prefetched: products took 1 to 5 % longer (docs/history, 132).
inline constexpr std::int64_t most_prefetched_bytes = std::int64_t{3} << 19;

/// What the row-wise kernel takes beside the cut.
struct rowwise_grid : stream_grid {
  std::int64_t stride;  // pieces from one of a team to its next
  int of_all;           // where a team's pieces lie apart: so many each team has, and some one more
  std::uint64_t ldb_bytes;
  std::int64_t ld_partials;
  bool vector_c;  // C may be written `stored` values at a time
  bool staged;    // C goes through shared memory
  double* dots;   // dots_with_b::sums, a row for each warp of a chunk; or null
  l2_prefetch pairs;
};

/// How many pieces each team of a thread block takes: all of them `of_all`, the first `more` one more.
struct team_rounds {
  int of_all, more;

  /// `rest`: the pieces from the thread block's first on. `apart`: a team's do not follow each other in its chunk.
  __device__ team_rounds(const rowwise_grid& grid, std::int64_t rest, int teams, bool apart) {
    const std::int64_t most = apart ? teams : std::int64_t{teams} * grid.depth;
    of_all = apart ? grid.of_all : 0;
    more = static_cast<int>(max(min(rest - of_all * grid.stride, most), std::int64_t{0}));
    if (!apart) {
      of_all = more / teams;
      more %= teams;
    }
  }
  __device__ int of(int team) const { return of_all + (team < more ? 1 : 0); }
  __device__ int most() const { return of(0); }
};

/// Long: A may have long rows. Dots: the thread block leaves its part of B'C.
template <class T, int Lanes, int Items, int Groups, int Unroll, int Warps, int MinBlocks, int Width, bool Long,
          bool Dots>
__global__ void __launch_bounds__(Warps * 32, MinBlocks)
    rowwise_kernel(const __grid_constant__ row_stream_args<T> args, const __grid_constant__ rowwise_grid grid) {
  using shape = rowwise_shape<T, Lanes, Items, Groups, Unroll, Warps, Width>;
  using S = scalar_of<T>;
  constexpr int group_pairs = shape::group_pairs;
  const int lane = static_cast<int>(threadIdx.x % Lanes);
  const int group = static_cast<int>(threadIdx.x / Lanes % Groups);
  const int team = static_cast<int>(threadIdx.x / shape::team);
  // What the teams of a warp agree on; a team as large as a warp needs no vote.
  const auto any_team = [](bool yes) { return shape::team == 32 ? yes : __any_sync(0xffffffffu, yes) != 0; };
  const auto all_teams = [](bool yes) { return shape::team == 32 ? yes : __all_sync(0xffffffffu, yes) != 0; };

  const warp_dots<T, shape, Lanes, Width> dots{dynamic_shared<double>()};
  prefetch_share(grid.pairs);
  for (std::int64_t index = blockIdx.x; index < grid.num_blocks; index += gridDim.x) {
    const stream_block at(grid, index, args.n);
    const lane_of_b<T, Lanes, Width> b(args, at.first_col, at.num_cols, lane);
    const bool spread = grid.stride != shape::teams;
    const std::int64_t begin = at.chunk * shape::teams * (spread ? 1 : grid.depth);
    const team_rounds rounds(grid, args.a.num_pieces - begin, shape::teams, spread);
    piece_cursor<S, group_pairs, Groups> a(args.a, begin + team, grid.stride, rounds.of(team), group);
    if (!a.has_entries_at_hand()) return;  // never taken: it keeps the loads of A before the wait
    // All else may be what the kernel before has written. Waiting again at a second turn, if there ever is one, costs
    // nothing, and no path leads around it.
    wait_for_previous();
    let_next_begin();
    const sums_to_c<T, shape, Lanes, Width> result{
        .args = args,
        .ld_partials = grid.ld_partials,
        .vector_c = grid.vector_c,
        .staged = grid.staged,
        .some_long = Long && begin < args.a.num_shared,
        .in_shared = dynamic_shared<S>() + (Dots ? decltype(dots)::shared_bytes / sizeof(S) : 0),
        .c = of_member_here(args.c, args.batch.c) + at.first_col * args.c_col_stride,
        .by = read_scalars(args)};
    // All ones where A is read. By a vote, or ptxas compares anew wherever it is used.
    const unsigned reads_a = __ballot_sync(0xffffffffu, result.by.alpha != S{0});
    int first = 0;  // of the columns that reduce() leaves to this lane: the same for each piece
    const auto pairs_of = [&](const fetched_piece& piece) { return static_cast<int>(piece.num_pairs() & reads_a); };
    for (int round = 0; round < rounds.most(); ++round, a.advance()) {
      a.look_ahead();
      const int pairs = pairs_of(a.piece);
      const int entries = 2 * pairs - a.piece.last_is_padding();
      S sums[Items];
#pragma unroll
      for (int i = 0; i < Items; ++i) sums[i] = S{0};

      // One step: the rows of B of this group's entries are asked for, then the entries of the next step, then the
      // rows are multiplied.
      const auto multiply = [&](auto whole, int base) {
        const auto now = a.ahead;
        const int left = entries - 2 * (base + group);  // from this group's first pair on
        const auto exists = [&](int k, int e) { return decltype(whole)::value || 2 * k * Groups + e < left; };
        const rows_of_b<T, Lanes, Items, Width, group_pairs> rows(
            b, now, static_cast<bytes_of_ldb<Width>>(grid.ldb_bytes), exists);
        const bool more = base + shape::step < pairs;
        a.ahead =
            fetch_pairs<group_pairs, Groups>(args.a, more ? a.piece.first_pair : a.next.first_pair,
                                             more ? pairs : pairs_of(a.next), (more ? base + shape::step : 0) + group);
        rows.multiply_by(now, exists, sums);
      };
      // Rows without entries come last: behind one of them there are no entries to fetch.
      for (int base = 0; any_team(base < pairs); base += shape::step) {
        if (all_teams(2 * (base + shape::step) <= entries)) {
          multiply(std::true_type{}, base);
        } else {
          multiply(std::false_type{}, base);
        }
      }
      first = 0;
      reduce<Items, Groups / 2, Lanes>(sums, group, first);
      if constexpr (Dots) dots.add(args, a, at, lane, first, sums, round == 0);
      result.write(a, at, lane, group, team, first, sums);
    }
    if constexpr (Dots) {
      const std::int64_t row = at.chunk * Warps + threadIdx.x / 32;
      dots.leave(grid.dots + row * args.n + at.first_col, at.num_cols, lane, group, first);
    }
  }
}

template <>
struct implementation<tables::rowwise> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::rowwise_config config = tables::rowwise::configs[Index];
    using T = value_of<config.type>;
    constexpr int widest = config.widest_load();
    const auto& product = *static_cast<const row_stream_args<T>*>(args);
    const bool far_apart = static_cast<std::uint64_t>(product.ldb) * sizeof(T) > UINT32_MAX;
    const int width = far_apart ? 1 : load_width(product, widest, product.b_readable_cols);
    const int status = launch_width<Index, widest>(product, env, width);
    return status != cudaSuccess ? status : add_partials(product, env);
  }

 private:
  template <int Index, int Width, class T>
  static int launch_width(const row_stream_args<T>& args, const launch_env& env, int wanted) {
    if constexpr (Width > 1) {
      if (wanted < Width) return launch_width<Index, Width / 2>(args, env, wanted);
    }
    constexpr tables::rowwise_config config = tables::rowwise::configs[Index];
    using shape = rowwise_shape<T, config.lanes, config.items, config.groups, config.unroll, config.warps, Width>;

    constexpr int sector = sizeof(T) == 2 ? 16 : 8;
    const std::int64_t max_width = args.b_col_stride == 1 ? config.tile_cols() : config.strided_cols();
    const int depth = depth_in_bricks(args.a.rows_together, shape::teams, config.depth);
    const stream_grid cut =
        cut_stream(args.a.num_pieces, args.n, max_width, std::min<std::int64_t>(max_width, sector), args.batch.count,
                   {shape::teams, depth, config.resident_blocks()}, env.num_multiprocessors);

    // The pieces of long rows come first: a team that took several of them would be the last to end.
    const std::int64_t stride = (args.a.num_shared > 0 && cut.depth > 1 ? cut.num_chunks : 1) * shape::teams;

    constexpr int stored = shape::stored;
    const bool vector_c = args.c_col_stride == 1 && args.c_row_stride % stored == 0 && args.batch.c % stored == 0 &&
                          reinterpret_cast<std::uintptr_t>(args.c) % (stored * sizeof(T)) == 0;
    // Where a warp holds 8 pieces or more its stores to one column of C are adjacent already, and single values stored
    // into narrow rows soon fill their sectors.
    const bool staged = args.c_col_stride == 1 ? stored > 1 && !vector_c && shape::n_tile >= 32
                                               : args.n > 1 && shape::team > 4 && shape::teams > 1;
    constexpr bool is_widest = Width == config.widest_load();
    // `Dots` has instances of its own: in the others it would cost registers.
    constexpr bool may_leave_dots = leaves_dots<T>(config) && is_widest;
    double* dots = nullptr;
    if constexpr (may_leave_dots) dots = staged ? nullptr : args.dots.take(cut.num_chunks * config.warps, args.n);
    const rowwise_grid grid{
        cut,
        stride,
        static_cast<int>(args.a.num_pieces / stride),
        static_cast<std::uint64_t>(args.ldb) * sizeof(T),
        partials_ld<scalar_of<T>>(args.n),
        vector_c,
        staged,
        dots,
        prefetch_of(args.a.pairs, args.a.num_pairs, grid_of(cut.num_blocks, args.batch), most_prefetched_bytes)};
    const auto start_as = [&](auto with_long, auto with_dots, std::int64_t shared_bytes) {
      return start(
          begins::while_previous_ends,
          &rowwise_kernel<T, config.lanes, config.items, config.groups, config.unroll, config.warps,
                          config.resident_blocks(), Width, decltype(with_long)::value, decltype(with_dots)::value>,
          grid_of(grid.num_blocks, args.batch), dim3(config.block_threads()), shared_bytes, env.stream, args, grid);
    };
    // Instances that know that A has no long rows take 2 % less; of narrower loads there are none.
    const bool has_long = args.a.num_shared > 0;
    const std::int64_t shared_bytes = staged || has_long ? config.shared_bytes() : 0;
    const auto start_with = [&](auto with_dots, std::int64_t bytes) {
      if constexpr (is_widest) {
        if (!has_long) return start_as(std::false_type{}, with_dots, bytes);
      }
      return start_as(std::true_type{}, with_dots, bytes);
    };
    if constexpr (may_leave_dots) {
      constexpr std::int64_t for_dots = warp_dots<T, shape, config.lanes, Width>::shared_bytes;
      if (dots != nullptr) return start_with(std::true_type{}, for_dots + shared_bytes);
    }
    return start_with(std::false_type{}, shared_bytes);
  }
};

}  // namespace bcsc::kernels::cuda
