#pragma once

#include "bcsc/convert.hpp"
#include "kernels/forms/block_slices/block_slices.hpp"
#include "kernels/forms/bricks/bricks.hpp"
#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"
#include "test/support/same_bytes.hpp"
#include "test/support/uneven_rows.hpp"

/// What conversions make on a device, or on an emulated one, against what the host makes: bit for bit.
namespace bcsc::test {

template <class T, class I>
void expect_same(const compact_bcsc_view<T, I>& actual, const compact_bcsc_view<T, I>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.m_block, wanted.m_block);
  expect_same_bytes(actual.block_row, wanted.block_row, "block_row");
  expect_same_bytes(actual.brow_ptr, wanted.brow_ptr, "brow_ptr");
  expect_same_bytes(actual.entry_ptr, wanted.entry_ptr, "entry_ptr");
  expect_same_bytes(actual.dense_end, wanted.dense_end, "dense_end");
  expect_same_bytes(actual.col_ind, wanted.col_ind, "col_ind");
  expect_same_bytes(actual.col_ind16, wanted.col_ind16, "col_ind16");
  expect_same_bytes(actual.col_count, wanted.col_count, "col_count");
  expect_same_bytes(actual.row_in_block, wanted.row_in_block, "row_in_block");
  expect_same_bytes(actual.values, wanted.values, "values");
}

template <class T>
void expect_same(const forms::device_mma_tiles<T>& actual, const forms::mma_tiles_matrix<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.height, wanted.height);
  EXPECT_EQ(actual.num_slots, wanted.num_slots);
  expect_same_bytes(actual.items, wanted.items, "items");
  expect_same_bytes(actual.groups, wanted.groups, "groups");
  expect_same_bytes(actual.col_ind, wanted.col_ind, "col_ind");
  expect_same_bytes(actual.tiles, wanted.tiles, "tiles");
  expect_same_bytes(actual.masks, wanted.masks, "masks");
  expect_same_bytes(actual.sums, wanted.sums, "sums");
}

template <class T>
void expect_same(const forms::device_fma_tiles<T>& actual, const forms::fma_tiles_matrix<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.height, wanted.height);
  expect_same_bytes(actual.blocks, wanted.blocks, "blocks");
  expect_same_bytes(actual.steps, wanted.steps, "steps");
  expect_same_bytes(actual.tiles, wanted.tiles, "tiles");
  expect_same_bytes(actual.masks, wanted.masks, "masks");
}

template <class T>
void expect_same(const forms::device_block_slices<T>& actual, const forms::block_slices<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.nnzc, wanted.nnzc);
  EXPECT_EQ(actual.num_blocks, wanted.num_blocks);
  EXPECT_EQ(actual.height, wanted.height);
  EXPECT_EQ(actual.lanes, wanted.lanes);
  EXPECT_EQ(actual.num_alone, wanted.num_alone);
  EXPECT_EQ(actual.num_long, wanted.num_long);
  EXPECT_EQ(actual.num_longest, wanted.num_longest);
  EXPECT_EQ(actual.longest_steps, wanted.longest_steps);
  expect_same_bytes(actual.slices, wanted.slices, "slices");
  expect_same_bytes(actual.first_diagonal, wanted.first_diagonal, "first_diagonal");
  expect_same_bytes(actual.diagonals, wanted.diagonals, "diagonals");
  expect_same_bytes(actual.words, wanted.words, "words");
  expect_same_bytes(actual.values, wanted.values, "values");
  expect_same_bytes(actual.listed, wanted.listed, "listed");
  expect_same_bytes(actual.block_row, wanted.block_row, "block_row");
}

/// Ways to cut a row stream: alone and shared, in pieces longer and shorter than what stays whole.
inline constexpr forms::row_stream_options ways_to_cut[] = {
    {},
    {2, 1},
    {6, 4},
    {64, 1000},
    {1 << 30, 1},
    {1 << 30, 1ll << 40},
    {8, 2, 4},
    {.split = 8, .grain = 2, .piece = 4, .sharing = 4},
    {.split = 64, .piece = 32, .sharing = 32},
    {.split = 64, .piece = 128, .sharing = 2},
};

template <class T>
void expect_same(const forms::device_row_stream<T>& actual, const forms::row_stream<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.nnz, wanted.nnz);
  EXPECT_EQ(actual.sharing, wanted.sharing);
  EXPECT_EQ(actual.num_shared, wanted.num_shared);
  EXPECT_EQ(actual.num_partials, wanted.num_partials);
  expect_same_bytes(actual.pieces, wanted.pieces, "pieces");
  EXPECT_TRUE(same_bits(actual.pairs.download(), wanted.pairs)) << "pairs";
  expect_same_bytes(actual.heavy_ptr, wanted.heavy_ptr, "heavy_ptr");
}

template <class T>
void expect_same(const forms::device_bricks<T>& actual, const forms::bricks_matrix<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.nnz, wanted.nnz);
  EXPECT_EQ(actual.slots, wanted.slots);
  EXPECT_EQ(actual.num_partial_bricks, wanted.num_partial_bricks);
  expect_same_bytes(actual.first_layer, wanted.first_layer, "first_layer");
  expect_same_bytes(actual.layers, wanted.layers, "layers");
  expect_same_bytes(actual.brick_rows, wanted.brick_rows, "brick_rows");
  expect_same_bytes(actual.fetches, wanted.fetches, "fetches");
  expect_same_bytes(actual.entry_slots, wanted.entry_slots, "entry_slots");
  expect_same_bytes(actual.values, wanted.values, "values");
  expect_same_bytes(actual.pieces, wanted.pieces, "pieces");
  expect_same_bytes(actual.heavy_ptr, wanted.heavy_ptr, "heavy_ptr");
}

}  // namespace bcsc::test
