#include "core/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "core/fail.hpp"

namespace bcsc::core {

namespace {

constexpr int gzip_window = MAX_WBITS + 16;  // zlib's way of asking for gzip's header and checksum

/// zlib only reads what it is given, but does not say so.
void give(z_stream& state, std::string_view bytes) {
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uInt>(bytes.size());
}

/// What a stream says at its end, in four bytes; any number where it is damaged.
std::size_t length_in(std::string_view stream) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, stream.size()); ++i) {
    length = length << 8 | static_cast<unsigned char>(stream[stream.size() - 1 - i]);
  }
  return length;
}

void take(z_stream& state, std::string& to) {
  state.next_out = reinterpret_cast<Bytef*>(to.data());
  state.avail_out = static_cast<uInt>(to.size());
}

}  // namespace

std::string gzipped(std::string_view text) {
  z_stream state{};
  constexpr int memory = 6;  // blocks of 4096 symbols: their codes follow a text whose parts differ
  if (deflateInit2(&state, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> owner(&state, &deflateEnd);
  std::string compressed(deflateBound(&state, static_cast<uLong>(text.size())), '\0');
  give(state, text);
  take(state, compressed);
  if (deflate(&state, Z_FINISH) != Z_STREAM_END) fail(errc::internal, "deflateBound() is no bound");
  compressed.resize(compressed.size() - state.avail_out);
  return compressed;
}

std::string gunzipped(std::string_view stream, std::size_t max_bytes) {
  z_stream state{};
  if (inflateInit2(&state, gzip_window) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&state, &inflateEnd);
  std::string text(std::min(length_in(stream), max_bytes) + 1, '\0');
  give(state, stream);
  take(state, text);
  const int status = inflate(&state, Z_FINISH);
  text.resize(text.size() - state.avail_out);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (text.size() > max_bytes) fail(errc::invalid_format, "more than {} bytes when decompressed", max_bytes);
  if (status != Z_STREAM_END || state.avail_in > 0) fail(errc::corrupt_compression, "damaged");
  return text;
}

}  // namespace bcsc::core
