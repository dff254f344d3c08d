#include "lib/choice/shares.hpp"

#include <algorithm>
#include <iterator>

#include "core/checked.hpp"
#include "kernels/forms/bricks/bricks.hpp"

namespace bcsc::choice {

namespace {

using kernels::operand_form;

constexpr std::int64_t vector_bytes = 16;

std::int64_t tiles_of(const registered_kernel& kernel, std::int64_t cols) {
  return core::ceil_div(cols, std::int64_t{kernel.info.n_tile});
}

bool has_aligned_rows(const problem& p, std::int64_t cols) {
  return cols * static_cast<std::int64_t>(size_of(p.type)) % vector_bytes == 0;
}

/// Of a grid (docs/history, 110). Not where there are too few bricks for the GPU, where rows of B are not whole vectors
/// and would be copied value by value, nor in fp32 where the last tile of columns is mostly empty.
bool has_bricks(const problem& p, const registered_kernel& kernel) {
  if (!p.grid.exists()) return false;
  constexpr std::int64_t max_cols = std::int64_t{1} << 24;  // so that products with any grid fit
  const std::int64_t cols = std::min(p.cols, max_cols), tiles = tiles_of(kernel, cols);
  const std::int64_t places = places_for(kernel.info, p.num_multiprocessors, p.max_shared_bytes);
  const std::int64_t bricks = forms::num_bricks(p.grid, forms::brick_for(p.grid, places, tiles));
  const bool fills_gpu = 4 * bricks * tiles >= 3 * places;
  const bool fills_tiles = 5 * cols >= 4 * tiles * kernel.info.n_tile;
  const bool is_short = p.nnz <= max_length_in_layers(p.type, cols) * p.rows;
  return is_short && has_aligned_rows(p, cols) && fills_gpu && (fills_tiles || p.type == value_type::fp64);
}

/// From stencils on an H200. For more columns row-wise kernels find A's entries in L1 for several of B's tiles; layers
/// of longer rows, 27 points, have fewer rows to share what they copy.
double share_of_bricks(const problem& p, const kernel_info& kernel) {
  constexpr std::int64_t few = 32, long_row = 10;
  if (p.nnz > long_row * p.rows) return p.type == value_type::fp64 ? 0.84 : 0.96;
  const bool is_full = p.cols % kernel.n_tile == 0;
  if (p.type == value_type::fp64) return p.cols <= few && is_full ? 0.73 : 0.79;
  return p.cols <= few ? 0.81 : 0.93;
}

constexpr std::int64_t kept_rows = 128;  // by the window

/// Of a band, whose window of rows slides on as long as it holds what the rows of a row block read on both sides of it,
/// and of which each place on the GPU gets some row blocks (docs/history, 140).
bool is_band(const problem& p, const registered_kernel& kernel) {
  constexpr std::int64_t widest = kept_rows / 2, max_cols = std::int64_t{1} << 24;
  const std::int64_t cols = std::min(p.cols, max_cols), tiles = tiles_of(kernel, cols);
  const bool is_wide = kernel.info.n_tile >= 128;
  const bool suits_cols = is_wide ? 4 * cols >= 3 * tiles * kernel.info.n_tile : tiles == 1 && cols > 48;
  const std::int64_t places = places_for(kernel.info, p.num_multiprocessors, p.max_shared_bytes);
  const std::int64_t blocks = core::ceil_div(p.rows, std::int64_t{kernel.info.m_tile}) * tiles;
  const bool fills_gpu = 10 * blocks >= (is_wide ? 23 : 35) * places;
  const bool is_square = p.inner - p.rows <= p.rows / 8;  // so that rows on top of each other share columns
  return p.farthest <= widest && is_square && !p.b_is_col_major && suits_cols && fills_gpu && has_aligned_rows(p, cols);
}

/// Whether row blocks keep the order of their columns (kernels/forms/mma_tiles/stored.cpp), or have so few that the
/// window holds all of them; otherwise it begins anew several times in each.
bool slides(const problem& p, const block_statistics& s) {
  constexpr std::int64_t part_rows = 8;
  return p.nnz >= s.nnzc * (s.m_block / part_rows) || s.m_block + 2 * p.farthest <= kept_rows;
}

/// From 19 bands on an H200.
double share_of_band(const problem& p, const kernel_info&) { return p.cols > 64 ? 0.87 : 0.85; }

/// Kernels made for one kind of matrices: for which, of whose time they take a share, and which.
struct kind {
  bool (*has)(const registered_kernel& kernel);
  bool (*suits)(const problem& p, const registered_kernel& kernel);
  bool (*suits_blocks)(const problem& p, const block_statistics& s);
  bool (*compares_with)(operand_form other);
  double (*share)(const problem& p, const kernel_info& kernel);
  const char* text;
};

constexpr kind kinds[] = {
    {.has = [](const registered_kernel& kernel) { return kernel.form == operand_form::bricks; },
     .suits = has_bricks,
     .suits_blocks = [](const problem&, const block_statistics&) { return true; },
     .compares_with = [](operand_form other) { return other == operand_form::row_stream; },
     .share = share_of_bricks,
     .text = "a share of a row-wise config's by "},
    {.has = [](const registered_kernel& kernel) { return kernel.info.algorithm == "sliding"; },
     .suits = is_band,
     .suits_blocks = slides,
     .compares_with =
         [](operand_form other) { return other == operand_form::mma_tiles || other == operand_form::staged_tiles; },
     .share = share_of_band,
     .text = "a share of a tensor-core config's by "},
};

/// Null for a kernel that has costs of its own.
const kind* kind_of(const registered_kernel& kernel) {
  const auto found = std::ranges::find_if(kinds, [&](const kind& k) { return k.has(kernel); });
  return found != std::end(kinds) ? found : nullptr;
}

}  // namespace

bool has_share(const problem& p, const registered_kernel& kernel) {
  const kind* const of = kind_of(kernel);
  return of != nullptr && of->suits(p, kernel);
}

bool takes_share_of(const registered_kernel& kernel, const registered_kernel& other) {
  const kind* const of = kind_of(kernel);
  return of != nullptr && kind_of(other) == nullptr && of->compares_with(other.form);
}

const char* share_text(const registered_kernel& kernel) {
  const kind* const of = kind_of(kernel);
  return of != nullptr ? of->text : "";
}

void predict_shares(const problem& p, std::vector<prediction>& all) {
  for (prediction& one : all) {
    const kind* const of = kind_of(*one.kernel);
    if (of == nullptr || !of->suits(p, *one.kernel) || !of->suits_blocks(p, *one.at)) continue;
    const prediction* best = nullptr;
    for (const prediction& other : all) {
      const bool counts = takes_share_of(*one.kernel, *other.kernel) && other.seconds > 0;
      if (counts && (best == nullptr || other.seconds < best->seconds)) best = &other;
    }
    if (best == nullptr) continue;
    one.seconds = of->share(p, one.kernel->info) * best->seconds;
    one.doubt = best->doubt;
  }
}

}  // namespace bcsc::choice
