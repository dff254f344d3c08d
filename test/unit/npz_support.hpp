#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "test/unit/raw_bytes.hpp"

/// Zip files and NumPy arrays made byte by byte, for the tests of the .npz reader: right ones and wrong ones. Shares no
/// code with the library. Sources: PKWARE's APPNOTE 6.3, NEP 1.
namespace bcsc::test {

struct zip_member {
  std::string name;
  std::string bytes;
  bool deflated = false;
  // What a hostile file may lie about; empty: the truth.
  std::optional<std::uint32_t> crc = {};
  std::optional<std::uint32_t> size = {};            ///< announced, expanded
  std::optional<std::uint32_t> stored_size = {};     ///< announced, as stored
  std::optional<std::string> stored = {};            ///< the stored bytes themselves
  std::uint16_t flags = 0;                           ///< 1: encrypted
  std::optional<std::uint16_t> method = {};          ///< 0 stored, 8 deflated
  std::optional<std::uint32_t> directory_size = {};  ///< announced by the directory alone
  std::optional<std::uint32_t> offset = {};          ///< of the member, in the directory
};

/// Deflate data without any header.
inline std::string deflated(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate failed");
  return out;
}

inline std::string zipped(const std::vector<zip_member>& members, std::string_view comment = "") {
  std::string file, directory;
  for (const zip_member& m : members) {
    const std::string stored = m.stored ? *m.stored : m.deflated ? deflated(m.bytes) : m.bytes;
    const auto crc = m.crc.value_or(static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(m.bytes.data()), static_cast<uInt>(m.bytes.size()))));
    const auto size = m.size.value_or(static_cast<std::uint32_t>(m.bytes.size()));
    const auto stored_size = m.stored_size.value_or(static_cast<std::uint32_t>(stored.size()));
    const auto method = m.method.value_or(m.deflated ? std::uint16_t{8} : std::uint16_t{0});
    const auto common = [&](std::uint32_t announced) {
      return raw<std::uint16_t>({20, m.flags, method, 0, 33}) + raw<std::uint32_t>({crc, stored_size, announced}) +
             raw<std::uint16_t>({static_cast<std::uint16_t>(m.name.size()), 0});
    };
    directory += std::string("PK\x01\x02") + raw<std::uint16_t>(20) + common(m.directory_size.value_or(size)) +
                 raw<std::uint16_t>({0, 0, 0}) + raw<std::uint32_t>(0) +
                 raw<std::uint32_t>(m.offset.value_or(static_cast<std::uint32_t>(file.size()))) + m.name;
    file += std::string("PK\x03\x04") + common(size) + m.name + stored;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  return file + directory + std::string("PK\x05\x06") + raw<std::uint16_t>({0, 0, count, count}) +
         raw<std::uint32_t>({static_cast<std::uint32_t>(directory.size()), static_cast<std::uint32_t>(file.size())}) +
         raw<std::uint16_t>(static_cast<std::uint16_t>(comment.size())) + std::string(comment);
}

/// Where a member's stored bytes begin in zipped(members).
inline std::int64_t data_offset(const std::vector<zip_member>& members, std::size_t which) {
  constexpr std::int64_t local_header = 30;
  std::int64_t offset = 0;
  for (std::size_t k = 0;; ++k) {
    offset += local_header + static_cast<std::int64_t>(members[k].name.size());
    if (k == which) return offset;
    offset +=
        static_cast<std::int64_t>(members[k].deflated ? deflated(members[k].bytes).size() : members[k].bytes.size());
  }
}

/// An array with any header text.
inline std::string npy_with_header(std::string_view text, std::string_view elements,
                                   std::string_view version = std::string_view("\x01\x00", 2)) {
  const std::string length =
      version[0] == 1 ? raw(static_cast<std::uint16_t>(text.size())) : raw(static_cast<std::uint32_t>(text.size()));
  return std::string("\x93NUMPY").append(version).append(length).append(text).append(elements);
}

/// `shape` as Python writes it: "(3,)".
inline std::string npy(std::string_view descr, std::string_view shape, std::string_view elements,
                       bool fortran_order = false) {
  return npy_with_header(std::string("{'descr': '") + std::string(descr) + "', 'fortran_order': " +
                             (fortran_order ? "True" : "False") + ", 'shape': " + std::string(shape) + ", }\n",
                         elements);
}

inline std::string npy_indices(const std::vector<std::int32_t>& list) {
  return npy("<i4", std::string("(") + std::to_string(list.size()) + ",)", raw(list));
}
inline std::string npy_values(const std::vector<double>& list) {
  return npy("<f8", std::string("(") + std::to_string(list.size()) + ",)", raw(list));
}
inline std::string npy_shape(const std::vector<std::int64_t>& shape) {
  return npy("<i8", std::string("(") + std::to_string(shape.size()) + ",)", raw(shape));
}
inline std::string npy_format(const std::string& name) {
  return npy(std::string("|S") + std::to_string(name.size()), "()", name);
}

}  // namespace bcsc::test
