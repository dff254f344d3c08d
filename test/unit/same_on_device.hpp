#pragma once

#include "converters/formats/fragments.hpp"
#include "converters/formats/rows_stream.hpp"
#include "test/support/same_bytes.hpp"
#include "test/support/uneven_rows.hpp"

/// What conversions make on a device, or on an emulated one, against what the host makes: bit for bit.
namespace bcsc::test {

template <class T>
void expect_same(const converters::device_fragments<T>& actual, const converters::fragments_matrix<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.height, wanted.height);
  EXPECT_EQ(actual.num_slots, wanted.num_slots);
  expect_same_bytes(actual.items, wanted.items, "items");
  expect_same_bytes(actual.groups, wanted.groups, "groups");
  expect_same_bytes(actual.col_ind, wanted.col_ind, "col_ind");
  expect_same_bytes(actual.tiles, wanted.tiles, "tiles");
  expect_same_bytes(actual.sums, wanted.sums, "sums");
}

template <class T>
void expect_same(const converters::device_rows_stream<T>& actual, const converters::rows_stream<T>& wanted) {
  EXPECT_EQ(actual.rows, wanted.rows);
  EXPECT_EQ(actual.cols, wanted.cols);
  EXPECT_EQ(actual.nnz, wanted.nnz);
  EXPECT_EQ(actual.num_partials, wanted.num_partials);
  expect_same_bytes(actual.pieces, wanted.pieces, "pieces");
  EXPECT_TRUE(same_bits(actual.pairs.download(), wanted.pairs)) << "pairs";
  expect_same_bytes(actual.heavy_ptr, wanted.heavy_ptr, "heavy_ptr");
}

}  // namespace bcsc::test
