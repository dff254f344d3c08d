#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Containers laid out by hand, from docs/container.md alone: nothing of the library is used.
namespace bcsc::test {

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  bytes.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T get(const std::string& bytes, std::size_t at) {
  T value{};
  bytes.copy(reinterpret_cast<char*>(&value), sizeof value, at);
  return value;
}

inline constexpr std::size_t header_size = 128, entry_size = 64;

/// Where the fields of section i's entry stand.
struct entry_fields {
  std::size_t name, type, flags, offset, count, bytes, checksum, reserved;
};
inline entry_fields entry(std::size_t i) {
  const std::size_t at = header_size + i * entry_size;
  return {at, at + 16, at + 20, at + 24, at + 32, at + 40, at + 48, at + 56};
}

inline std::uint64_t section_checksum(std::string_view bytes) {
  constexpr std::size_t leaf = 1048576;
  std::string hashes;
  for (std::size_t at = 0; at < bytes.size(); at += leaf) {
    const std::uint64_t hash = XXH3_64bits(bytes.data() + at, std::min(leaf, bytes.size() - at));
    hashes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  }
  return XXH3_64bits(hashes.data(), hashes.size());
}

/// Makes the header's checksum right again, as far as the file goes.
inline std::string sign_header(std::string bytes) {
  const std::size_t size = std::min<std::size_t>(get<std::uint32_t>(bytes, 12), bytes.size());
  put<std::uint64_t>(bytes, 24, 0);
  put<std::uint64_t>(bytes, 24, XXH3_64bits(bytes.data(), size));
  return bytes;
}

/// Makes all checksums right again, of a file whose table of sections can be believed.
inline std::string sign(std::string bytes) {
  for (std::size_t i = 0; i < get<std::uint32_t>(bytes, 44); ++i) {
    const entry_fields e = entry(i);
    const std::string_view content =
        std::string_view(bytes).substr(get<std::uint64_t>(bytes, e.offset), get<std::uint64_t>(bytes, e.bytes));
    put(bytes, e.checksum, section_checksum(content));
  }
  return sign_header(std::move(bytes));
}

enum : std::uint32_t { kind_coo = 1, kind_csr, kind_csc, kind_bsr, kind_ell, kind_dense, kind_bcsc, kind_compact };
enum : std::uint32_t { of_fp32 = 1, of_fp64, of_fp16, of_bf16, of_pattern };
enum : std::uint32_t { type_bytes = 1, type_u16, type_i32, type_i64, type_fp16, type_bf16, type_fp32, type_fp64 };

struct raw_section {
  std::string name;
  std::uint32_t type, size, flags;
  std::string bytes;
};

template <class T>
raw_section array_of(std::string name, std::uint32_t type, const std::vector<T>& values, std::uint32_t flags = 1) {
  return {std::move(name), type, sizeof(T), flags,
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}
inline raw_section indices(std::string name, const std::vector<std::int32_t>& values) {
  return array_of(std::move(name), type_i32, values);
}
inline raw_section words(const std::string& text) { return {"metadata", type_bytes, 1, 0, text}; }

struct raw_container {
  std::uint32_t kind = kind_csr, element = of_fp32, index_bytes = 4;
  std::int64_t rows = 0, cols = 0, num_values = 0;
  std::array<std::int64_t, 2> parameters{0, 0};
  std::vector<raw_section> sections;

  std::string bytes() const {
    const std::size_t header_bytes = header_size + entry_size * sections.size();
    std::string file(header_bytes, '\0');
    file.replace(0, 8, "BCSCFILE");
    put<std::uint32_t>(file, 8, 1);
    put(file, 12, static_cast<std::uint32_t>(header_bytes));
    put(file, 32, kind);
    put(file, 36, element);
    put(file, 40, index_bytes);
    put(file, 44, static_cast<std::uint32_t>(sections.size()));
    put(file, 48, rows);
    put(file, 56, cols);
    put(file, 64, num_values);
    put(file, 72, parameters[0]);
    put(file, 80, parameters[1]);
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const raw_section& s = sections[i];
      file.append((64 - file.size() % 64) % 64, '\0');
      const entry_fields e = entry(i);
      file.replace(e.name, s.name.size(), s.name);
      put(file, e.type, s.type);
      put(file, e.flags, s.flags);
      put<std::uint64_t>(file, e.offset, file.size());
      put<std::uint64_t>(file, e.count, s.bytes.size() / s.size);
      put<std::uint64_t>(file, e.bytes, s.bytes.size());
      file += s.bytes;
    }
    put<std::uint64_t>(file, 16, file.size());
    return sign(std::move(file));
  }
};

/// The matrix of docs/formats.md in CSR.
inline raw_container golden_csr() {
  return {.rows = 6,
          .cols = 6,
          .num_values = 16,
          .sections = {indices("row_ptr", {0, 4, 7, 10, 12, 14, 16}),
                       indices("col_ind", {0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3, 4, 5, 4, 5}),
                       array_of<float>("values", type_fp32,
                                       {7.5f, 2.9f, 2.8f, 2.7f, 6.8f, 5.7f, 3.8f, 2.4f, 6.2f, 3.2f, 9.7f, 2.3f, 5.8f,
                                        5.0f, 6.6f, 8.1f})}};
}

/// One small valid file of every kind: 3 x 4, entries (0, 1), (0, 3), (2, 0), (2, 1).
inline std::vector<std::pair<std::string, raw_container>> one_of_each() {
  const auto make = [](std::uint32_t kind, std::uint32_t element, std::int64_t num_values,
                       std::array<std::int64_t, 2> parameters, std::vector<raw_section> sections) {
    return raw_container{kind,       element,    kind == kind_dense ? 0u : 4u, 3, 4,
                         num_values, parameters, std::move(sections)};
  };
  const auto fp32 = [](std::vector<float> values) { return array_of("values", type_fp32, values); };
  const auto u16 = [](std::vector<std::uint16_t> bits, std::uint32_t type) { return array_of("values", type, bits); };
  std::vector<std::pair<std::string, raw_container>> all{
      {"coo", make(kind_coo, of_fp32, 4, {0, 0},
                   {indices("row_ind", {0, 0, 2, 2}), indices("col_ind", {1, 3, 0, 1}), fp32({1, 2, 3, 4})})},
      {"csr", make(kind_csr, of_fp16, 4, {0, 0},
                   {words(std::string("kind\0test\0name\0tiny\0", 20)), indices("row_ptr", {0, 2, 2, 4}),
                    indices("col_ind", {1, 3, 0, 1}), u16({0x3c00, 0x4000, 0x4200, 0x4400}, type_fp16)})},
      {"csc", make(kind_csc, of_bf16, 4, {0, 0},
                   {indices("col_ptr", {0, 1, 3, 3, 4}), indices("row_ind", {2, 0, 2, 0}),
                    u16({0x4040, 0x3f80, 0x4080, 0x4000}, type_bf16)})},
      {"bsr", make(kind_bsr, of_fp32, 12, {2, 2},
                   {indices("brow_ptr", {0, 2, 3}), indices("bcol_ind", {0, 1, 0}),
                    fp32({0, 1, 0, 0, 0, 2, 0, 0, 3, 4, 0, 0})})},
      {"ell", make(kind_ell, of_fp32, 16, {2, 2},
                   {indices("bcol_ind", {0, 1, 0, -1}), fp32({0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0})})},
      {"dense", make(kind_dense, of_fp32, 12, {1, 0}, {fp32({0, 0, 3, 1, 0, 4, 0, 0, 0, 2, 0, 0})})},
      {"bcsc", make(kind_bcsc, of_fp32, 4, {2, 0},
                    {indices("brow_ptr", {0, 2, 4}), indices("col_ind", {1, 3, 0, 1}),
                     indices("col_ptr", {0, 1, 2, 3, 4}), indices("row_ind", {0, 0, 2, 2}), fp32({1, 2, 3, 4})})},
      {"compact_bcsc", make(kind_compact, of_fp32, 4, {3, 0},
                            {indices("brow_ptr", {0, 3}), indices("entry_ptr", {0, 4}), indices("col_ind", {0, 1, 3}),
                             array_of<std::uint8_t>("col_count", type_bytes, {0, 1, 0}), fp32({3, 1, 4, 2}),
                             array_of<std::uint8_t>("row_in_block", type_bytes, {2, 0, 2, 0})})},
      {"compact_narrow", make(kind_compact, of_fp32, 4, {3, 0},
                              {indices("brow_ptr", {0, 3}), indices("entry_ptr", {0, 4}),
                               array_of<std::uint16_t>("col_ind16", type_u16, {0, 1, 3}),
                               array_of<std::uint8_t>("col_count", type_bytes, {0, 1, 0}), fp32({3, 1, 4, 2}),
                               array_of<std::uint8_t>("row_in_block", type_bytes, {2, 0, 2, 0})})},
      {"compact_as_csr",
       make(kind_compact, of_fp32, 4, {1, 0},
            {indices("brow_ptr", {0, 2, 2, 4}), indices("col_ind", {1, 3, 0, 1}), fp32({1, 2, 3, 4})})},
      {"pattern",
       make(kind_csr, of_pattern, 4, {0, 0}, {indices("row_ptr", {0, 2, 2, 4}), indices("col_ind", {1, 3, 0, 1})})}};
  return all;
}

}  // namespace bcsc::test
