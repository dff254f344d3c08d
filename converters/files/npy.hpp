#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converters/files/binary_numbers.hpp"
#include "converters/files/location.hpp"

/// NumPy's file format for one array: a header, then the elements. Source: NEP 1, "A Simple File Format for NumPy
/// Arrays", and numpy.lib.format (versions 1.0, 2.0, 3.0).
namespace bcsc::files {

struct npy_header {
  std::string descr;   ///< as written, e.g. "<f8"
  char kind = '\0';    ///< NumPy's letter: b i u f c numbers; S U text
  number_type number;  ///< if is_number()
  std::size_t item_bytes = 0;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t num_items = 1;  ///< the product of the shape

  bool is_number() const { return kind != 'S' && kind != 'U'; }
  std::int64_t data_bytes() const { return num_items * static_cast<std::int64_t>(item_bytes); }
};

/// Longer headers are refused: ours need a hundred bytes, and NumPy itself trusts 10000.
inline constexpr std::size_t max_npy_header = 10000;

/// What an array begins with: the magic, the version and the length of the header.
struct npy_preamble {
  static constexpr std::size_t min_bytes = 8;  ///< enough for preamble_bytes()
  static constexpr std::size_t max_bytes = 12;

  /// Bytes of the preamble that begins so. Throws error{bad_banner | unsupported}.
  static std::size_t preamble_bytes(std::string_view head, const file_location& where);
  /// Bytes of the header behind it. Throws error{parse_error} beyond max_npy_header.
  static std::size_t header_bytes(std::string_view preamble, const file_location& where);
};

/// What a header's text says: a Python dictionary of 'descr', 'fortran_order' and 'shape', in any order, and nothing
/// else. Throws error{parse_error | size_overflow}, and error{unsupported} for elements that are neither numbers of at
/// most 64 bits (complex: 128) nor text: objects above all, which are pickled programs.
npy_header parse_npy_header(std::string_view text, const file_location& where);

/// Magic and header of a version 1.0 array, padded as NumPy does. `descr` such as "<f8".
std::string make_npy_header(std::string_view descr, const std::vector<std::int64_t>& shape, bool fortran_order = false);

/// NumPy's name of numbers of this machine's byte order.
template <class S>
std::string npy_descr() {
  constexpr char order = std::endian::native == std::endian::little ? '<' : '>';
  const char kind = std::is_floating_point_v<S> || std::is_same_v<S, half> ? 'f' : 'i';
  return std::string(1, order) + kind + std::to_string(sizeof(S));
}

}  // namespace bcsc::files
