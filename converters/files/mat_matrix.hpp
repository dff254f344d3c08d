#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/files/mat_elements.hpp"

/// What MATLAB's levels 5 and 7.3 have in common: the kinds of arrays, and a matrix among them as COO.
namespace bcsc::files::mat {

/// By their numbers in a file of level 5.
enum class array_class : std::uint8_t {
  unknown,
  cell,
  structure,
  object,
  character,
  sparse,
  real64,
  real32,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  function,
  opaque
};
std::string_view to_string(array_class kind);
/// The class of that name in MATLAB, "double", say.
array_class class_named(std::string_view name);

/// What the file says of an array before its data.
struct array_head {
  array_class kind = array_class::unknown;
  bool complex = false, logical = false;
  std::vector<std::int64_t> sizes;
  std::string name;

  bool is_sparse() const { return kind == array_class::sparse; }
  bool is_number() const { return kind >= array_class::real64 && kind <= array_class::uint64; }
  bool holds_arrays() const { return kind == array_class::cell || kind == array_class::structure; }
  /// "3x4 sparse"
  std::string describe() const;
};

/// A sparse or dense matrix as its lists lie in the file. Dense ones have values alone, column by column.
struct mat_matrix {
  std::string path;  ///< of the variable: "A", "Problem.A"
  array_head head;
  stretch content;                    ///< where it lies, for messages
  number_list row_ind, values;        ///< may be longer than the column pointers say
  std::vector<std::int64_t> col_ptr;  ///< sparse: cols + 1 of them

  std::int64_t rows() const { return head.sizes[0]; }
  std::int64_t cols() const { return head.sizes[1]; }
};

/// Throws error{unsupported} unless it is a matrix of numbers.
void require_matrix(const mat_matrix& a);
/// Reads and checks the column pointers, except for where they end. Throws error{invalid_format | size_overflow}.
void set_col_ptr(mat_matrix& a, const number_list& pointers);
/// Checks the lengths of the lists against the pointers or sizes. Throws error{invalid_format}.
void require_lengths(const mat_matrix& a);

/// Of a checked matrix.
file_info info_of(const mat_matrix& a);
/// Throws error{unsupported | size_overflow | index_out_of_range | value_out_of_range}.
template <value T, index I>
coo_matrix<T, I> to_coo(const mat_matrix& a, const read_options& options);

}  // namespace bcsc::files::mat
