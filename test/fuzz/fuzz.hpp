#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "converters/files/source.hpp"
#include "test/support/viewed.hpp"

/// What the fuzz targets share. Whatever bytes a reader is given, it returns a matrix that holds its invariants or
/// throws bcsc::error: anything else (another exception, a crash, a report of a sanitizer, memory beyond the limit) is
/// a finding.
namespace bcsc::fuzz {

/// Small limits, so that a bomb shows as error{decompression_limit} and not as slowness.
inline read_options options_of(std::uint8_t flags) {
  read_options options;
  options.max_expanded_bytes = std::int64_t{1} << 24;
  if ((flags & 1) != 0) options.real_part = true;
  if ((flags & 2) != 0) options.pattern_seed = flags;
  if ((flags & 4) != 0) options.index_base = (flags & 8) != 0 ? 1 : 0;
  return options;
}

/// Calls check(float{}, std::int32_t{}), or with other types, as two of the first byte's bits say.
template <class F>
void with_types(std::uint8_t flags, F&& check) {
  switch (flags >> 4 & 3) {
    case 0:
      return check(float{}, std::int32_t{});
    case 1:
      return check(double{}, std::int32_t{});
    case 2:
      return check(float{}, std::int64_t{});
    default:
      return check(double{}, std::int64_t{});
  }
}

template <value T, index I>
void require_valid(const coo_matrix<T, I>& a) {
  validate(a.view());
  if (a.rows() < 1 << 12) validate(viewed(to_csr(a)));
}

/// What a target makes of its bytes: the first of them chooses options and types, the rest is the file.
struct input {
  std::uint8_t flags;
  std::string_view content;
  read_options options;
};

/// Reads a file: its header alone if all of `header_bits` are set in the first byte (bits that say nothing else to this
/// reader), else whole. `prepare` may change the input, as the first byte's other bits say.
template <class ReadInfo, class ReadMatrix, class Prepare>
int read(const std::uint8_t* data, std::size_t size, std::uint8_t header_bits, ReadInfo read_info,
         ReadMatrix read_matrix, Prepare prepare) {
  if (size == 0) return 0;
  input given{data[0], {reinterpret_cast<const char*>(data) + 1, size - 1}, options_of(data[0])};
  prepare(given);
  try {
    if ((given.flags & header_bits) == header_bits) {
      files::source in(given.content, "fuzz", given.options);
      (void)read_info(in);
      return 0;
    }
    with_types(given.flags, [&]<value T, index I>(T, I) {
      files::source in(given.content, "fuzz", given.options);
      require_valid(read_matrix.template operator()<T, I>(in));
    });
  } catch (const error&) {
  }
  return 0;
}
template <class ReadInfo, class ReadMatrix>
int read(const std::uint8_t* data, std::size_t size, std::uint8_t header_bits, ReadInfo read_info,
         ReadMatrix read_matrix) {
  return read(data, size, header_bits, read_info, read_matrix, [](input&) {});
}

}  // namespace bcsc::fuzz
