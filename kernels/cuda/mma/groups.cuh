#pragma once

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/products.cuh"
#include "kernels/cuda/mma/source.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"

/// The groups of columns of a row block, one after the other, with those to come under way: straight to registers, or
/// through shared memory.
namespace bcsc::kernels::cuda {

/// Adds a piece of B times the group's tiles to the sums.
template <class Shape, class Product>
__device__ void add_piece(typename Shape::sums& sums, int p, const typename Product::left& b, unsigned parts,
                          const typename Product::right (&a)[Shape::parts]) {
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part) {
    if (Shape::parts == 1 || has_part(parts, part)) Product::add(sums[part][p], b, a[part]);
  }
}

/// B straight from global memory to registers. No load is conditional, since the compiler copies registers that are
/// loaded conditionally: past the end the last group is loaded again, and parts without a tile load another one.
template <class T, class Shape, class Source>
__device__ void multiply_direct(const Source& from, int begin, int end, typename Shape::sums& sums) {
  using product = product_of<T, Shape>;
  constexpr int ahead = Shape::ahead;
  if (begin == end) return;
  const auto group_at = [&](int index) { return from.group(index < end ? index : end - 1); };

  typename Shape::word b[ahead][Shape::pieces][2][Shape::words];
  typename Shape::word tiles[ahead][Shape::parts][Shape::tile_words];
  unsigned parts[ahead];
  const auto load_tiles = [&](const mma_group& group, int u) {
    parts[u] = group.parts;
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) from.load_tile(tiles[u][part], group, part);
  };
  const auto load_piece = [&](const T* const(&rows)[2], int u, int p) {
#pragma unroll
    for (int i = 0; i < 2; ++i) from.load(b[u][p][i], rows[i], p);
  };

  mma_group next = from.group(begin);  // the one whose tiles and rows of B are loaded next
#pragma unroll
  for (int u = 0; u < ahead; ++u) {
    const T* const rows[2] = {from.row(next.cols[0]), from.row(next.cols[1])};
    load_tiles(next, u);
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      if (from.has_piece(p)) load_piece(rows, u, p);
    }
    next = group_at(begin + u + 1);
  }

#pragma unroll 1
  for (int first = begin; first < end; first += ahead) {
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const int index = first + u;
      if (u > 0 && index >= end) break;
      from.forget_offsets();
      const unsigned now = parts[u];
      typename product::right a[Shape::parts];
#pragma unroll
      for (int part = 0; part < Shape::parts; ++part) a[part] = product::of_a(tiles[u][part]);
      const T* const rows[2] = {from.row(next.cols[0]), from.row(next.cols[1])};
      load_tiles(next, u);
      if constexpr (Shape::prefetches) from.prefetch_tiles_behind(next);
      next = group_at(index + ahead + 1);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        if (!from.has_piece(p)) continue;
        const typename product::left piece = product::of_b(b[u][p]);
        if constexpr (product::splits) load_piece(rows, u, p);
        add_piece<Shape, product>(sums, p, piece, now, a);
        if constexpr (!product::splits) load_piece(rows, u, p);
      }
    }
  }
}

/// B and A through the warp's stages in shared memory; each lane reads back only what it copied.
template <class T, class Shape, class Source>
__device__ void multiply_staged(const Source& from, int begin, int end, typename Shape::sums& sums, T* stages) {
  using product = product_of<T, Shape>;
  constexpr int ahead = Shape::ahead;
  if (begin == end) return;
  const auto group_at = [&](int index) { return from.group(index < end ? index : end - 1); };

  const int lane = static_cast<int>(threadIdx.x) % 32;
  T* const own_b = stages + lane * Shape::vector;
  T* const own_tiles = stages + 8 * Shape::slab + lane * 2;
  const auto b_at = [&](int stage, int p, int i) {
    return own_b + stage * Shape::stage_values + (2 * p + i) * 32 * Shape::vector;
  };
  const auto tile_at = [&](int stage, int part) {
    return own_tiles + stage * Shape::stage_values + part * forms::mma_tile_values;
  };
  const auto start = [&](const mma_group& group, int stage) {
    constexpr int bytes = 2 * static_cast<int>(sizeof(T));
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) {
      if (Shape::parts > 1 && !has_part(group.parts, part)) continue;
      copy_async<bytes>(tile_at(stage, part), from.tile(group, part), bytes);
    }
    const T* const rows[2] = {from.row(group.cols[0]), from.row(group.cols[1])};
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      if (!from.has_piece(p)) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) from.copy(b_at(stage, p, i), rows[i], p);
    }
  };

  unsigned parts[Shape::stages] = {};  // of the groups under way, the one to be multiplied first
  mma_group next = from.group(begin);
#pragma unroll
  for (int u = 0; u < ahead; ++u) {
    parts[u] = next.parts;
    if (begin + u < end) start(next, u);
    commit_copies();
    next = group_at(begin + u + 1);
  }

  int now = 0;
  int free = ahead;  // the stage read in the previous step
#pragma unroll 1
  for (int index = begin; index < end; ++index) {
    from.forget_offsets();
    wait_for_all_but<ahead - 1>();
    parts[ahead] = next.parts;
    if (index + ahead < end) start(next, free);
    commit_copies();
    next = group_at(index + ahead + 1);

    typename product::right a[Shape::parts];
#pragma unroll
    for (int part = 0; part < Shape::parts; ++part) {
      if (Shape::parts > 1 && !has_part(parts[0], part)) continue;
      typename Shape::word tile[Shape::tile_words];
      read_values<2>(tile, tile_at(now, part));
      a[part] = product::of_a(tile);
    }
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      if (!from.has_piece(p)) continue;
      typename Shape::word rows[2][Shape::words];
#pragma unroll
      for (int i = 0; i < 2; ++i) read_values<Shape::vector>(rows[i], b_at(now, p, i));
      add_piece<Shape, product>(sums, p, product::of_b(rows), parts[0], a);
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u) parts[u] = parts[u + 1];
    free = now;
    now = now == Shape::stages - 1 ? 0 : now + 1;
  }
}

}  // namespace bcsc::kernels::cuda
