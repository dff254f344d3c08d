#include "lib/choice/shares.hpp"

#include <algorithm>

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
double share_of_band(const problem& p) { return p.cols > 64 ? 0.87 : 0.85; }

bool is_sliding(const registered_kernel& kernel) { return kernel.info.algorithm == "sliding"; }

double share_of(const problem& p, const registered_kernel& kernel) {
  return is_sliding(kernel) ? share_of_band(p) : share_of_bricks(p, kernel.info);
}

}  // namespace

bool has_share(const problem& p, const registered_kernel& kernel) {
  if (is_sliding(kernel)) return is_band(p, kernel);
  return kernel.form == operand_form::bricks && has_bricks(p, kernel);
}

bool takes_share_of(const registered_kernel& kernel, const registered_kernel& other) {
  if (is_sliding(kernel)) return other.form == operand_form::mma_tiles || other.form == operand_form::staged_tiles;
  return kernel.form == operand_form::bricks && other.form == operand_form::row_stream;
}

const char* share_text(const registered_kernel& kernel) {
  return is_sliding(kernel) ? "a share of a tensor-core config's by " : "a share of a row-wise config's by ";
}

void predict_shares(const problem& p, std::vector<prediction>& all) {
  for (prediction& one : all) {
    if (one.seconds > 0 || !has_share(p, *one.kernel)) continue;
    if (is_sliding(*one.kernel) && !slides(p, *one.at)) continue;
    const prediction* best = nullptr;
    for (const prediction& other : all) {
      const bool counts =
          takes_share_of(*one.kernel, *other.kernel) && other.seconds > 0 && !has_share(p, *other.kernel);
      if (counts && (best == nullptr || other.seconds < best->seconds)) best = &other;
    }
    if (best == nullptr) continue;
    one.seconds = share_of(p, *one.kernel) * best->seconds;
    one.doubt = best->doubt;
  }
}

}  // namespace bcsc::choice
