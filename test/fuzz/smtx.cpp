#include "converters/files/smtx_read.hpp"

#include "test/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::smtx;
  return bcsc::fuzz::read(
      data, size, 4 | 8, reader::read_info,
      []<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in); });
}
