#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "converters/files/source.hpp"

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

/// Reads the input twice, its header alone and whole; the first byte chooses options, value and index type.
template <class ReadInfo, class ReadMatrix>
int read(const std::uint8_t* data, std::size_t size, ReadInfo read_info, ReadMatrix read_matrix) {
  if (size == 0) return 0;
  const std::uint8_t flags = data[0];
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const read_options options = options_of(flags);
  try {
    files::source in(content, "fuzz", options);
    (void)read_info(in);
  } catch (const error&) {
  }
  const auto check = [&]<value T, index I>(T, I) {
    files::source in(content, "fuzz", options);
    const coo_matrix<T, I> a = read_matrix.template operator()<T, I>(in);
    validate(a.view());
    if (a.rows() < 1 << 20) validate(to_csr(a).view());
  };
  try {
    switch (flags >> 4 & 3) {
      case 0:
        check(float{}, std::int32_t{});
        break;
      case 1:
        check(double{}, std::int32_t{});
        break;
      case 2:
        check(float{}, std::int64_t{});
        break;
      default:
        check(double{}, std::int64_t{});
        break;
    }
  } catch (const error&) {
  }
  return 0;
}

}  // namespace bcsc::fuzz

/// One target: a reader that lives in namespace bcsc::files::reader.
#define BCSC_FUZZ_READER(reader)                                                                \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {           \
    return bcsc::fuzz::read(                                                                    \
        data, size, [](bcsc::files::source& in) { return bcsc::files::reader::read_info(in); }, \
        []<bcsc::value T, bcsc::index I>(bcsc::files::source& in) {                             \
          return bcsc::files::reader::read_matrix<T, I>(in);                                    \
        });                                                                                     \
  }
