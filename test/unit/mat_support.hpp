#pragma once

#include <zlib.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "test/unit/raw_bytes.hpp"

/// MATLAB's level 5 files made byte by byte, for the tests of the .mat reader: right ones and wrong ones. Shares no
/// code with the library. Source: The MathWorks, "MAT-File Format".
namespace bcsc::test {

/// A zlib stream.
inline std::string zlib_stream(std::string_view bytes) {
  std::string out(compressBound(static_cast<uLong>(bytes.size())), '\0');
  auto size = static_cast<uLongf>(out.size());
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), 9) != Z_OK) {
    throw std::bad_alloc();
  }
  out.resize(size);
  return out;
}

/// Element types and array classes by their numbers in the format.
enum mi : std::uint32_t {
  mi_int8 = 1,
  mi_uint8 = 2,
  mi_int16 = 3,
  mi_uint16 = 4,
  mi_int32 = 5,
  mi_uint32 = 6,
  mi_single = 7,
  mi_double = 9,
  mi_int64 = 12,
  mi_uint64 = 13,
  mi_matrix = 14,
  mi_compressed = 15,
  mi_utf8 = 16
};
enum mx : std::uint32_t {
  mx_cell = 1,
  mx_struct = 2,
  mx_char = 4,
  mx_sparse = 5,
  mx_double = 6,
  mx_single = 7,
  mx_int8 = 8,
  mx_uint8 = 9,
  mx_int64 = 14,
  mx_uint64 = 15,
  mx_opaque = 17
};
constexpr std::uint32_t flag_logical = 0x200, flag_complex = 0x800;

/// Writes in one byte order.
struct mat_maker {
  std::endian order = std::endian::little;

  template <class S>
  std::string list(const std::vector<S>& numbers) const {
    return raw(numbers, order);
  }
  std::string tag(std::uint32_t type, std::size_t size) const {
    return list<std::uint32_t>({type, static_cast<std::uint32_t>(size)});
  }
  std::string element(std::uint32_t type, const std::string& data) const {
    const std::size_t padding = type == mi_compressed ? 0 : (8 - data.size() % 8) % 8;
    return tag(type, data.size()) + data + std::string(padding, '\0');
  }
  /// At most four bytes.
  std::string small(std::uint32_t type, const std::string& data) const {
    return list<std::uint32_t>({type | static_cast<std::uint32_t>(data.size()) << 16}) + data +
           std::string(4 - data.size(), '\0');
  }
  std::string int32s(const std::vector<std::int32_t>& numbers) const { return element(mi_int32, list(numbers)); }
  std::string doubles(const std::vector<double>& numbers) const { return element(mi_double, list(numbers)); }

  /// What every array begins with.
  std::string head(std::uint32_t kind, const std::vector<std::int32_t>& sizes, const std::string& name,
                   std::uint32_t nzmax = 0) const {
    return element(mi_uint32, list<std::uint32_t>({kind, nzmax})) + int32s(sizes) + element(mi_int8, name);
  }
  std::string array(const std::string& content) const { return element(mi_matrix, content); }
  std::string sparse(const std::string& name, const std::vector<std::int32_t>& sizes,
                     const std::vector<std::int32_t>& ir, const std::vector<std::int32_t>& jc,
                     const std::vector<double>& pr, std::uint32_t flags = 0) const {
    return array(head(mx_sparse | flags, sizes, name, static_cast<std::uint32_t>(ir.size())) + int32s(ir) + int32s(jc) +
                 doubles(pr));
  }
  /// A struct array; `fields` are arrays without names, element by element.
  std::string structure(const std::string& name, const std::vector<std::int32_t>& sizes,
                        const std::vector<std::string>& field_names, const std::vector<std::string>& fields) const {
    constexpr std::size_t length = 8;
    std::string names, all;
    for (const std::string& field : field_names) names += field + std::string(length - field.size(), '\0');
    for (const std::string& field : fields) all += field;
    return array(head(mx_struct, sizes, name) + small(mi_int32, list<std::int32_t>({length})) +
                 element(mi_int8, names) + all);
  }
  std::string cell(const std::string& name, const std::vector<std::int32_t>& sizes,
                   const std::vector<std::string>& arrays) const {
    std::string all;
    for (const std::string& inner : arrays) all += inner;
    return array(head(mx_cell, sizes, name) + all);
  }
  std::string compressed(const std::string& variable) const { return element(mi_compressed, zlib_stream(variable)); }

  std::string header(std::uint16_t version = 0x0100) const {
    std::string text = "MATLAB 5.0 MAT-file, made by a test";
    text.resize(124, ' ');
    return text + list<std::uint16_t>({version}) + (order == std::endian::little ? "IM" : "MI");
  }
  std::string file(const std::string& variables) const { return header() + variables; }
};

}  // namespace bcsc::test
