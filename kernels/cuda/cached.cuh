#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cached_operand.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rowwise.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/tables/cached.hpp"

/// Row-wise SpMM with rows of B in shared memory, on plain cores: for matrices that meet some rows of B, or all of
/// them, again and again (graphs with hubs; networks). Shared memory feeds a multiprocessor 128 bytes a cycle, L1 64,
/// L2 20 to 30.
///
/// Who owns what: one thread block a multiprocessor owns a slab of B's columns and a share of A's pieces of rows. It
///   copies the slab's rows of a panel's hot columns to shared memory and walks its pieces, panel after panel; with two
///   stages the next panel arrives meanwhile. A *team* of groups x lanes threads of one warp owns a piece times the
///   slab, in registers, as in rowwise.cuh: its lanes stand side by side along the slab, 16 bytes each, its groups take
///   the piece's entries in turn, two neighbours at a time, and are added up by shuffles in a fixed order. Pieces are
///   sorted by length and dealt out to thread blocks in turn, as many at a time as they have teams, so shares are even.
///   The same thread writes an element of C in every panel, so panels need nothing between them but the barrier.
/// What is loaded when: entries a step ahead, pieces two ahead. A piece's first cold rows of B are asked for before its
///   hot ones are multiplied, which hides the way to L2. The last step of a piece loads and multiplies what is there
///   and nothing else: what is not finite in B reaches the rows that have its column, and no others.
/// Bytes moved, N columns in t slabs, P panels, k shares, s bytes a value: (4 + s) t an entry of A and 16 t P a piece;
///   N s of B for each hot entry through shared memory, where 8 lanes take a wavefront of 128 bytes a row without
///   conflicts, and for each cold one through L2; N s k for each hot column; C once, and twice more a panel beyond the
///   first; twice the workspace of heavy rows.
/// Instructions of a warp, for each hot entry of each team: 1 load and 1 of address for B's `items` values, `items`
///   multiply-adds, about 1 for the entry.
/// Preconditions: those of product_args and cached_operand. Deterministic: which lanes add what, and when, follows from
///   the pieces and the row of the table alone.
namespace bcsc::kernels::cuda {

/// The numbers of one instance, and what follows from them. Width: values of B that one load from global memory brings.
template <class T, int Lanes, int Groups, int Unroll, int Cold, int Warps, int Width>
struct cached_shape {
  static constexpr int items = 16 / static_cast<int>(sizeof(T));
  static constexpr int slab = Lanes * items;
  static constexpr int threads = Warps * 32;
  static constexpr int team = Lanes * Groups;
  static constexpr int teams = threads / team;
  static constexpr int row_vectors = slab / Width;  // copies that bring a row of the slab to shared memory
  static constexpr int kept = items > Groups ? items / Groups : 1;    // sums a lane is left with by reduce()
  static constexpr int copies = Groups > items ? Groups / items : 1;  // groups that are left with the same
  static_assert(items % Width == 0);
};

/// How a product is cut into thread blocks: computed by the host, handed to the kernel.
struct cached_grid {
  std::int64_t num_blocks;  // num_shares for each slab
  std::int64_t num_shares;
  double slab_of_block;     // 1 / num_shares
  std::int64_t num_chunks;  // of as many pieces as a thread block has teams
  int width;                // columns of a slab: all are about equally wide
  std::uint64_t ldb_bytes;
  std::int64_t ld_partials;
  bool vector_c;  // C may be written `kept` values at a time
};

/// The first of the items that reduce() leaves a group with.
template <int Items, int Groups>
__device__ int first_kept(int group) {
  int first = 0;
#pragma unroll
  for (int half = Items / 2, distance = Groups / 2; half >= 1 && distance >= 1; half /= 2, distance /= 2) {
    if ((group & distance) != 0) first += half;
  }
  return first;
}

template <class T, int Lanes, int Groups, int Unroll, int Cold, int Warps, int Width, bool HasCold>
__global__ void __launch_bounds__(Warps * 32, 1)
    cached_kernel(const __grid_constant__ cached_args<T> args, const __grid_constant__ cached_grid grid) {
  using shape = cached_shape<T, Lanes, Groups, Unroll, Cold, Warps, Width>;
  constexpr int items = shape::items;
  constexpr int hot_pairs_at_once = Unroll / 2, cold_pairs_at_once = Cold / 2;  // of a group
  constexpr int hot_step = hot_pairs_at_once * Groups, cold_step = cold_pairs_at_once * Groups;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int group = static_cast<int>(threadIdx.x) / Lanes % Groups;
  const int team = static_cast<int>(threadIdx.x) / shape::team;
  wait_for_previous();
  let_next_begin();
  const scalars<T> by = read_scalars(args);
  const bool reads_a = by.alpha != T{0};
  T* const hot_rows = dynamic_shared<T>();
  const char* const hot_lane = reinterpret_cast<const char*>(hot_rows + lane * items);
  const int num_panels = reads_a ? static_cast<int>(args.a.num_panels) : 1;
  const auto num_pieces = static_cast<unsigned>(args.a.num_pieces);
  const auto num_chunks = static_cast<int>(grid.num_chunks), num_shares = static_cast<int>(grid.num_shares);
  const auto num_partials = static_cast<unsigned>(args.a.num_partials);

  // What the teams of a warp agree on. A team as large as a warp needs no vote.
  const auto any_team = [](bool yes) { return shape::team == 32 ? yes : __any_sync(0xffffffffu, yes) != 0; };
  const auto all_teams = [](bool yes) { return shape::team == 32 ? yes : __all_sync(0xffffffffu, yes) != 0; };

  // This group's pairs of the step that begins at pair `first`. What lies behind a piece's end is read as well, so that
  // nothing parts the loads and their addresses are one; it is not multiplied.
  const auto fetch_pairs = [&](auto& to, unsigned first) {
    constexpr int count = sizeof(to) / sizeof(to[0]);
    const core::entry_pair<T>* const from = args.a.pairs + (first + static_cast<unsigned>(group));
#pragma unroll
    for (int k = 0; k < count; ++k) to[k] = load_pair(from + k * Groups);
  };

  for (std::int64_t index = blockIdx.x; index < grid.num_blocks; index += gridDim.x) {
    const std::int64_t slab = divide(index, grid.num_shares, grid.slab_of_block);
    const auto share = static_cast<int>(index - slab * grid.num_shares);
    const std::int64_t first_col = slab * grid.width;
    const int num_cols = static_cast<int>(min(args.n - first_col, static_cast<std::int64_t>(grid.width)));
    const T* const b = args.b + first_col;

    // Starts the copy of a panel's rows of B.
    const auto fill = [&](int panel) {
      const std::int64_t first = static_cast<std::int64_t>(panel) * args.a.panel_slots;
      const int slots = static_cast<int>(min(args.a.num_hot - first, static_cast<std::int64_t>(args.a.panel_slots)));
      T* const to = hot_rows + static_cast<std::int64_t>(panel % args.a.stages) * args.a.panel_slots * shape::slab;
#pragma unroll 4
      for (int q = static_cast<int>(threadIdx.x); q < slots * shape::row_vectors; q += shape::threads) {
        const int col = q % shape::row_vectors * Width;
        const auto row = static_cast<unsigned>(__ldg(args.a.hot_cols + first + q / shape::row_vectors));
        if (col < num_cols) {
          copy_async<Width* static_cast<int>(sizeof(T))>(to + q * Width,
                                                         reinterpret_cast<const char*>(b + col) + row * grid.ldb_bytes,
                                                         Width * static_cast<int>(sizeof(T)));
        }
      }
    };
    if (reads_a) {
      for (int panel = 0; panel < args.a.stages; ++panel) {
        if (panel < num_panels) fill(panel);
        commit_copies();
      }
    }

    // The part of this lane's columns that lies in B and C. Beyond the slab's end its last columns are loaded once
    // more.
    const auto column = [&](int j) { return min(lane * items + j * Width, num_cols - Width); };
    const int first_own = lane * items + first_kept<items, Groups>(group);
    T* const c_own = args.c + (first_col + first_own) * args.c_col_stride;  // in row 0
    const auto owns = [&](int k) { return group % shape::copies == 0 && first_own + k < num_cols; };

    for (int panel = 0; panel < num_panels; ++panel) {
      const core::cached_piece* const pieces = args.a.pieces + static_cast<std::int64_t>(panel) * num_pieces;
      const auto stride = static_cast<unsigned>(num_shares * shape::teams);  // at + 2 * stride stays below 2^32
      const auto fetch_piece = [&](unsigned i) {
        core::cached_piece some{0, 0, 0, 0};
        if (i < num_pieces) {
          const uint4 whole = __ldg(reinterpret_cast<const uint4*>(pieces + i));
          some = {whole.x, whole.y, reads_a ? whole.z : 0, reads_a ? whole.w : 0};
        }
        return some;
      };
      const auto num_pairs = [](unsigned entries) { return static_cast<int>((entries + 1) / 2); };
      const auto first_cold = [](const core::cached_piece& p) { return p.first_pair + (p.hot + 1) / 2; };

      auto at = static_cast<unsigned>(share * shape::teams + team);  // this team's piece
      core::cached_piece piece = fetch_piece(at);
      core::cached_piece next = fetch_piece(at + stride);
      core::entry_pair<T> hot_ahead[hot_pairs_at_once], cold_ahead[cold_pairs_at_once];
      fetch_pairs(hot_ahead, piece.first_pair);
      if constexpr (HasCold) fetch_pairs(cold_ahead, first_cold(piece));

      // This panel's rows of B are there.
      if (args.a.stages == 1) {
        wait_for_all_but<0>();
      } else {
        wait_for_all_but<1>();
      }
      __syncthreads();

      for (int chunk = share; chunk < num_chunks; chunk += num_shares, at += stride) {
        const core::cached_piece after_next = fetch_piece(at + 2 * stride);
        T sums[items];
#pragma unroll
        for (int i = 0; i < items; ++i) sums[i] = T{0};

        // Where they go, and what lies there. A panel beyond the first adds to what those before it have left.
        const bool partial = at < num_partials;
        const bool writes = at < num_pieces && (panel == 0 || piece.hot != 0);
        const T scale = partial ? T{1} : by.alpha;
        const T keep = panel > 0 ? T{1} : partial ? T{0} : by.beta;
        T* to = partial ? args.a.workspace + at * grid.ld_partials + first_col + first_own
                        : c_own + piece.row * args.c_row_stride;
        const std::int64_t to_stride = partial ? 1 : args.c_col_stride;
        const bool at_once = shape::kept > 1 && (partial || grid.vector_c);
        T former[shape::kept];
#pragma unroll
        for (int k = 0; k < shape::kept; ++k) former[k] = T{0};
        if (writes && keep != T{0}) {
          if (at_once) {
            if (owns(0)) read_vector<shape::kept>(former, to);
          } else {
#pragma unroll
            for (int k = 0; k < shape::kept; ++k) {
              if (owns(k)) former[k] = to[k * to_stride];
            }
          }
        }

        // Cold entries: asked for here, multiplied when the hot ones are done.
        T cold_values[cold_pairs_at_once][2][items];
        T cold_factors[cold_pairs_at_once][2];
        const auto ask_for_cold = [&](int base) {
          const int left = static_cast<int>(piece.cold) - 2 * (base + group);
#pragma unroll
          for (int k = 0; k < cold_pairs_at_once; ++k) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const bool valid = 2 * k * Groups + e < left;
              cold_factors[k][e] = valid ? cold_ahead[k].value[e] : T{0};
#pragma unroll
              for (int i = 0; i < items; ++i) cold_values[k][e][i] = T{0};
              if (valid) {
                const T* const from = reinterpret_cast<const T*>(
                    reinterpret_cast<const char*>(b) + static_cast<unsigned>(cold_ahead[k].col[e]) * grid.ldb_bytes);
#pragma unroll
                for (int j = 0; j < items / Width; ++j) {
                  load_vector<Width>(&cold_values[k][e][j * Width], from + column(j));
                }
              }
            }
          }
          const bool more = base + cold_step < num_pairs(piece.cold);
          fetch_pairs(cold_ahead,
                      more ? first_cold(piece) + static_cast<unsigned>(base + cold_step) : first_cold(next));
        };
        const auto multiply_cold = [&]() {
#pragma unroll
          for (int k = 0; k < cold_pairs_at_once; ++k) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
#pragma unroll
              for (int i = 0; i < items; ++i) sums[i] += cold_factors[k][e] * cold_values[k][e][i];
            }
          }
        };
        const bool some_cold = HasCold && any_team(piece.cold != 0);
        if constexpr (HasCold) {
          if (some_cold) {
            ask_for_cold(0);
          } else {
            fetch_pairs(cold_ahead, first_cold(next));
          }
        }

        // Hot entries. `Whole`: every group of every team has all its entries.
        const int pairs = num_pairs(piece.hot);
        const int entries = static_cast<int>(piece.hot);
        const auto fetch_hot = [&](int base) {
          fetch_pairs(hot_ahead, base < pairs ? piece.first_pair + static_cast<unsigned>(base) : next.first_pair);
        };
        const auto multiply_hot = [&](auto whole, int base) {
          const int left = entries - 2 * (base + group);
          const auto valid = [&](int k, int e) { return decltype(whole)::value || 2 * k * Groups + e < left; };
          T values[hot_pairs_at_once][2][items];
          T factors[hot_pairs_at_once][2];
#pragma unroll
          for (int k = 0; k < hot_pairs_at_once; ++k) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              factors[k][e] = valid(k, e) ? hot_ahead[k].value[e] : T{0};
#pragma unroll
              for (int i = 0; i < items; ++i) values[k][e][i] = T{0};
              if (valid(k, e)) {
                read_vector<items>(values[k][e],
                                   reinterpret_cast<const T*>(hot_lane + static_cast<unsigned>(hot_ahead[k].col[e])));
              }
            }
          }
          fetch_hot(base + hot_step);
#pragma unroll
          for (int k = 0; k < hot_pairs_at_once; ++k) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
#pragma unroll
              for (int i = 0; i < items; ++i) sums[i] += factors[k][e] * values[k][e][i];
            }
          }
        };
        if (!any_team(pairs > 0)) fetch_hot(0);
        int base = 0;
#pragma unroll 2
        for (; all_teams(2 * (base + hot_step) <= entries); base += hot_step) multiply_hot(std::true_type{}, base);
#pragma unroll 1
        for (; any_team(base < pairs); base += hot_step) multiply_hot(std::false_type{}, base);
        if (HasCold && some_cold) {
          multiply_cold();
#pragma unroll 1
          for (base = cold_step; any_team(base < num_pairs(piece.cold)); base += cold_step) {
            ask_for_cold(base);
            multiply_cold();
          }
        }

        int first = 0;
        reduce<items, Groups / 2, Lanes>(sums, group, first);
        if (writes) {
#pragma unroll
          for (int k = 0; k < shape::kept; ++k) {
            sums[k] *= scale;
            if (keep != T{0}) sums[k] += keep * former[k];
          }
          if (at_once) {
            if (owns(0)) write_vector<shape::kept>(to, sums);
          } else {
#pragma unroll
            for (int k = 0; k < shape::kept; ++k) {
              if (owns(k)) to[k * to_stride] = sums[k];
            }
          }
        }
        piece = next;
        next = after_next;
      }
      __syncthreads();  // before the next rows of B arrive where these lay
      if (reads_a) {
        if (panel + args.a.stages < num_panels) fill(panel + args.a.stages);
        commit_copies();
      }
    }
  }
}

template <>
struct implementation<tables::cached> {
  template <int Row>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::cached_row row = tables::cached::rows[Row];
    using T = value_of<row.type>;
    const auto& product = *static_cast<const cached_args<T>*>(args);
    const int status = launch_width<Row, row.items()>(product, env, load_width(product, row.items(), product.n));
    return status != cudaSuccess ? status : add_partials(product, env);
  }

 private:
  /// Into how many shares to cut the pieces of a slab of `slab_bytes` of B: for the least time that a multiprocessor
  /// needs for what it does one after the other, in units of a hot entry. What comes through L2 takes 3 to 6 of them,
  /// by how much of B the slabs have that are read at the same time (29.6 TB/s from shared memory; from L2 9.6 of 4
  /// MB, 5.6 of 64, 5.0 of 256): with many shares fewer slabs are, but each thread block copies its hot rows.
  template <class T>
  static std::int64_t shares_for(const cached_operand<T>& a, std::int64_t num_slabs, std::int64_t slab_bytes,
                                 std::int64_t most, int multiprocessors) {
    constexpr double near = 3, far = 6, near_bytes = 8e6, for_doubled = 0.55, for_piece = 16;
    std::int64_t best = 1;
    double least = 0;
    for (std::int64_t shares = 1; shares <= most && shares <= 4 * multiprocessors; ++shares) {
      const std::int64_t turns = ceil_div(shares * num_slabs, multiprocessors);
      const double at_once = static_cast<double>(ceil_div(num_slabs, turns)) * static_cast<double>(slab_bytes);
      const double through_l2 =
          std::clamp(near + for_doubled * std::log2(std::max(at_once, 1.0) / near_bytes), near, far);
      const double work = static_cast<double>(a.hot_entries) + through_l2 * static_cast<double>(a.cold_entries) +
                          for_piece * static_cast<double>(a.num_pieces * a.num_panels);
      const double time =
          static_cast<double>(turns) * (near * static_cast<double>(a.num_hot) + work / static_cast<double>(shares));
      if (shares > 1 && time >= least) continue;
      least = time;
      best = shares;
    }
    return best;
  }

  template <int Row, int Width, class T>
  static int launch_width(const cached_args<T>& args, const launch_env& env, int wanted) {
    if constexpr (Width > 1) {
      if (wanted < Width) return launch_width<Row, Width / 2>(args, env, wanted);
    }
    return args.a.cold_entries > 0 ? launch_with<Row, Width, true>(args, env)
                                   : launch_with<Row, Width, false>(args, env);
  }

  template <int Row, int Width, bool HasCold, class T>
  static int launch_with(const cached_args<T>& args, const launch_env& env) {
    constexpr tables::cached_row row = tables::cached::rows[Row];
    constexpr int warps = HasCold ? row.warps_with_cold() : row.warps;
    using shape = cached_shape<T, row.lanes, row.groups, row.unroll, row.cold, warps, Width>;
    const std::int64_t shared_bytes = std::min<std::int64_t>(args.a.stages, args.a.num_panels) * args.a.panel_slots *
                                      shape::slab * static_cast<std::int64_t>(sizeof(T));
    if (shared_bytes > tables::max_shared_bytes) return cudaErrorInvalidValue;

    // Slabs of even width, in whole sectors of 32 bytes where there are any.
    constexpr int unit = shape::slab < 8 ? shape::slab : 8;
    const std::int64_t even = ceil_div(args.n, ceil_div(args.n, shape::slab));
    const std::int64_t width = ceil_div(even, unit) * unit;
    const std::int64_t num_slabs = ceil_div(args.n, width);
    const std::int64_t num_chunks = ceil_div(args.a.num_pieces, shape::teams);
    const std::int64_t num_shares =
        shares_for(args.a, num_slabs, args.a.cols * width * static_cast<std::int64_t>(sizeof(T)),
                   std::max<std::int64_t>(num_chunks, 1), std::max(1, env.num_multiprocessors));
    const bool vector_c = args.c_col_stride == 1 && args.c_row_stride % shape::kept == 0 && args.n % shape::kept == 0 &&
                          reinterpret_cast<std::uintptr_t>(args.c) % (shape::kept * sizeof(T)) == 0;
    const cached_grid grid{num_slabs * num_shares,
                           num_shares,
                           1.0 / static_cast<double>(num_shares),
                           num_chunks,
                           static_cast<int>(width),
                           static_cast<std::uint64_t>(args.ldb) * sizeof(T),
                           partials_ld<T>(args.n),
                           vector_c};
    return start(begins::while_previous_ends,
                 &cached_kernel<T, row.lanes, row.groups, row.unroll, row.cold, warps, Width, HasCold>, grid.num_blocks,
                 shape::threads, shared_bytes, env.stream, args, grid);
  }
};

}  // namespace bcsc::kernels::cuda
