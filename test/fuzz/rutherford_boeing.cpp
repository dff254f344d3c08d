#include "converters/files/rutherford_boeing_read.hpp"

#include "test/fuzz/fuzz.hpp"

/// Also tests whether the format is recognised.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::rutherford_boeing;
  return bcsc::fuzz::read(
      data, size, 4 | 8, reader::read_info,
      []<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in); },
      [](bcsc::fuzz::input& given) { (void)reader::has_header(given.content.substr(0, 4096)); });
}
