#include "converters/files/sink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>

#include "converters/files/location.hpp"

namespace bcsc::files {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
constexpr int default_memory_level = 8;

}  // namespace

sink::sink(const fs::path& path) : path_(path.string()), target_(path), compressed_(path.extension() == ".gz") {
  std::error_code ignored;
  // A link stays a link: what it points to is replaced.
  if (fs::is_symlink(path, ignored)) target_ = fs::weakly_canonical(path, ignored);
  const fs::file_status status = fs::status(target_, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail_at({.path = path_}, errc::io_error, "cannot be written: is not a regular file");
  }
  buffer_.reserve(buffer_bytes);
  if (compressed_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits, default_memory_level,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
    fail_at({.path = path_}, errc::out_of_memory, "no memory for compression");
  }
  try {
    open_temporary();
  } catch (...) {
    if (compressed_) deflateEnd(&stream_);
    throw;
  }
  if (fs::exists(status)) fs::permissions(temporary_, status.permissions(), ignored);
}

sink::~sink() {
  if (compressed_) deflateEnd(&stream_);
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void sink::open_temporary() {
  constexpr int attempts = 100;
  constexpr int read_write_by_umask = 0666;
  std::random_device random;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    fs::path name = target_;
    name += fmt::format(".{:08x}.tmp", random());
    auto file = std::make_unique<descriptor>(
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, read_write_by_umask));
    if (file->get() >= 0) {
      file_ = std::move(file);
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_io("cannot be written", errno);
}

void sink::commit(bool durable) {
  flush();
  if (compressed_) deflate_buffer(Z_FINISH);
  if (durable && ::fsync(file_->get()) != 0) fail_io("cannot be flushed to the disk", errno);
  if (const int number = file_->close(); number != 0) fail_io("cannot be written", number);
  std::error_code result;
  fs::rename(temporary_, target_, result);
  if (result) fail_io("cannot be renamed into place", result.value());
  temporary_.clear();
  if (!durable) return;
  // The new name; a file system that cannot flush folders has given what it can.
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) ::fsync(opened.get());
}

void sink::make_room(std::size_t size) {
  if (buffer_.size() + size > buffer_bytes) flush();
}

void sink::flush() {
  if (compressed_) {
    deflate_buffer(Z_NO_FLUSH);
  } else {
    write_stored(buffer_.data(), buffer_.size());
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
      fail_at({.path = path_}, errc::internal, "the compressor's state is inconsistent");
    }
    write_stored(out, sizeof out - stream_.avail_out);
  } while (stream_.avail_out == 0);
}

void sink::write_stored(const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file_->get(), from, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_io("cannot be written", errno);
    }
    from += written;
    size -= static_cast<std::size_t>(written);
  }
}

void sink::fail_io(const char* what, int number) const {
  fail_at({.path = path_}, errc::io_error, "{}: {}", what, std::generic_category().message(number));
}

}  // namespace bcsc::files
