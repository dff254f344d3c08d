#pragma once

#include <concepts>
#include <cstdint>

#include "bcsc/any_matrix.hpp"
#include "converters/files/container_directory.hpp"

/// What the sections of a container are to a matrix. Each format says once what it is made of, in the order in which it
/// lies in the file (`pass`); a writer collects that, a reader fills it in.
namespace bcsc::files::container {

template <class Archive, element T, index I>
void pass(Archive& io, coo_view<T, I>& a) {
  io.indices("row_ind", a.row_ind);
  io.indices("col_ind", a.col_ind);
  io.values(a.values);
}

template <class Archive, element T, index I>
void pass(Archive& io, csr_view<T, I>& a) {
  io.indices("row_ptr", a.row_ptr);
  io.indices("col_ind", a.col_ind);
  io.values(a.values);
}

template <class Archive, element T, index I>
void pass(Archive& io, csc_view<T, I>& a) {
  io.indices("col_ptr", a.col_ptr);
  io.indices("row_ind", a.row_ind);
  io.values(a.values);
}

template <class Archive, number T, index I>
void pass(Archive& io, bsr_view<T, I>& a) {
  io.parameter(a.row_block);
  io.parameter(a.col_block);
  io.indices("brow_ptr", a.brow_ptr);
  io.indices("bcol_ind", a.bcol_ind);
  io.values(a.values);
}

template <class Archive, number T, index I>
void pass(Archive& io, ell_view<T, I>& a) {
  io.parameter(a.block);
  io.parameter(a.blocks_per_row);
  io.indices("bcol_ind", a.bcol_ind);
  io.values(a.values);
}

template <class Archive, element T, index I>
void pass(Archive& io, bcsc_view<T, I>& a) {
  io.parameter(a.m_block);
  io.indices("brow_ptr", a.brow_ptr);
  io.indices("col_ind", a.col_ind);
  io.indices("col_ptr", a.col_ptr);
  io.indices("row_ind", a.row_ind);
  io.values(a.values);
}

template <class Archive, element T, index I>
void pass(Archive& io, compact_bcsc_view<T, I>& a) {
  io.parameter(a.m_block);
  io.indices_unless_empty("block_row", a.block_row);
  io.indices("brow_ptr", a.brow_ptr);
  if (a.m_block == 1) {
    io.same_indices("entry_ptr", a.entry_ptr, a.brow_ptr);
  } else {
    io.indices("entry_ptr", a.entry_ptr);
  }
  io.indices_unless_empty("dense_end", a.dense_end);
  io.indices_or("col_ind", a.col_ind, "col_ind16", a.col_ind16);
  io.small("col_count", a.col_count, static_cast<std::size_t>(a.nnzc()), a.m_block);
  io.values(a.values);
  io.small("row_in_block", a.row_in_block, a.values.size(), a.m_block);
}

template <class Archive, number T>
void pass(Archive& io, dense_view<const T>& a) {
  io.parameter(a.order);
  io.values(a);
}

/// The array_type of a section that holds a T.
template <class T>
constexpr array_type array_type_of() {
  return std::same_as<T, std::uint16_t>  ? array_type::u16
         : std::same_as<T, std::int32_t> ? array_type::i32
         : std::same_as<T, std::int64_t> ? array_type::i64
         : std::same_as<T, half>         ? array_type::fp16
         : std::same_as<T, bfloat16>     ? array_type::bf16
         : std::same_as<T, float>        ? array_type::fp32
                                         : array_type::fp64;
}

/// Bytes of a view's index; dense matrices have none.
template <matrix_view View>
constexpr std::uint32_t index_bytes_of() {
  if constexpr (format_of<View> == matrix_format::dense) {
    return 0;
  } else {
    return static_cast<std::uint32_t>(sizeof(typename View::index_t));
  }
}

}  // namespace bcsc::files::container
