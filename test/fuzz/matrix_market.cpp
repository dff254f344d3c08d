#include "converters/files/matrix_market_read.hpp"

#include "test/fuzz/fuzz.hpp"

namespace bcsc::fuzz {
namespace {

namespace reader = files::matrix_market;

/// Through the reader that makes CSR or a dense matrix at once; CSR inherently takes a pointer for each row.
template <class F>
void read_directly(std::string_view content, const read_options& options, F&& read_matrix) {
  try {
    files::source header(content, "fuzz", options);
    if (reader::read_info(header).rows >= 1 << 12) return;
    files::source in(content, "fuzz", options);
    const auto a = read_matrix(in);
    validate(a.view());
  } catch (const error&) {
  }
}

}  // namespace
}  // namespace bcsc::fuzz

/// The two highest of the first byte's bits choose how small the reader's chunks are, so that short inputs have chunk
/// boundaries; two others what becomes of the entries.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reader = bcsc::fuzz::reader;
  if (size == 0) return 0;
  constexpr std::size_t chunk_bytes[] = {reader::usual_chunk_bytes, 1, 12, 100};
  const std::size_t chunk = chunk_bytes[data[0] >> 6];
  constexpr std::uint8_t as_csr = 4, as_dense = 8, header_alone = as_csr | as_dense;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int kind = data[0] & header_alone;
  if (kind == as_csr || kind == as_dense) {
    const bcsc::read_options options = bcsc::fuzz::options_of(data[0]);
    bcsc::fuzz::with_types(data[0], [&]<bcsc::value T, bcsc::index I>(T, I) {
      if (kind == as_csr) {
        bcsc::fuzz::read_directly(content, options, [&](auto& in) { return reader::read_csr<T, I>(in, chunk); });
      } else {
        bcsc::fuzz::read_directly(content, options, [&](auto& in) { return reader::read_dense<T>(in, chunk); });
      }
    });
    return 0;
  }
  return bcsc::fuzz::read(
      data, size, header_alone, reader::read_info,
      [chunk]<bcsc::value T, bcsc::index I>(bcsc::files::source& in) { return reader::read_matrix<T, I>(in, chunk); });
}
