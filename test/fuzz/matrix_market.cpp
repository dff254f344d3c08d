#include "converters/files/matrix_market_read.hpp"

#include "test/fuzz/fuzz.hpp"

/// The two highest of the first byte's bits choose how small the reader's chunks are, so that short inputs have
/// borders.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::files::matrix_market;
  constexpr std::size_t chunk_bytes[] = {reader::usual_chunk_bytes, 1, 12, 100};
  const std::size_t chunk = chunk_bytes[size == 0 ? 0 : data[0] >> 6];
  return bcsc::fuzz::read(
      data, size, 4 | 8, reader::read_info,
      [chunk]<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in, chunk); });
}
