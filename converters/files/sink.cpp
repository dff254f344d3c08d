#include "converters/files/sink.hpp"

#include "converters/files/location.hpp"
#include "converters/files/source.hpp"

namespace bcsc::files {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
constexpr int default_memory_level = 8;

}  // namespace

sink::sink(const std::filesystem::path& path) : file_(path), compressed_(path.extension() == ".gz") {
  buffer_.reserve(buffer_bytes);
  if (compressed_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits, default_memory_level,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
    fail_at({.path = file_.path()}, errc::out_of_memory, "no memory for compression");
  }
}

sink::~sink() {
  if (compressed_) deflateEnd(&stream_);
}

void sink::commit(bool durable) {
  flush();
  if (compressed_) deflate_buffer(Z_FINISH);
  file_.commit(durable);
}

void sink::make_room(std::size_t size) {
  if (buffer_.size() + size > buffer_bytes) flush();
}

void sink::flush() {
  if (compressed_) {
    deflate_buffer(Z_NO_FLUSH);
  } else {
    file_.write(buffer_);
  }
  buffer_.clear();
}

void sink::deflate_buffer(int flush_mode) {
  stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  stream_.avail_in = static_cast<uInt>(buffer_.size());
  char out[std::size_t{32} << 10];
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = sizeof out;
    if (deflate(&stream_, flush_mode) == Z_STREAM_ERROR) {
      fail_at({.path = file_.path()}, errc::internal, "the compressor's state is inconsistent");
    }
    file_.write(std::string_view(out, sizeof out - stream_.avail_out));
  } while (stream_.avail_out == 0);
}

}  // namespace bcsc::files
