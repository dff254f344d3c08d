#include "converters/files/sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <random>
#include <system_error>

#include "converters/files/location.hpp"

namespace bcsc::files {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
constexpr int default_memory_level = 8;
constexpr mode_t read_write_by_umask = 0666;

/// The open descriptor that a path such as /dev/stdout or /dev/fd/3 stands for.
std::optional<int> descriptor_named_by(fs::path path) {
  constexpr int max_links = 16;
  const fs::path own = core::format("/proc/{}/fd", ::getpid());
  for (int links = 0; links < max_links; ++links) {
    const fs::path folder = path.parent_path();
    if (folder == "/proc/self/fd" || folder == "/dev/fd" || folder == own) {
      const std::string name = path.filename().string();
      int number = -1;
      const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
      return status == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
    }
    std::error_code none;
    const fs::path next = fs::read_symlink(path, none);
    if (none) return std::nullopt;
    path = (folder / next).lexically_normal();
  }
  return std::nullopt;
}

std::string path_of(const descriptor& file) { return core::format("/proc/self/fd/{}", file.get()); }

}  // namespace

sink::sink(const fs::path& path) : path_(path.string()), target_(path), compressed_(path.extension() == ".gz") {
  buffer_.reserve(buffer_bytes);
  if (compressed_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window_bits, default_memory_level,
                                  Z_DEFAULT_STRATEGY) != Z_OK) {
    fail_at({.path = path_}, errc::out_of_memory, "no memory for compression");
  }
  try {
    open();
  } catch (...) {
    if (compressed_) deflateEnd(&stream_);
    throw;
  }
}

sink::~sink() {
  if (compressed_) deflateEnd(&stream_);
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void sink::open() {
  std::error_code ignored;
  const fs::file_status status = fs::status(target_, ignored);
  if (open_straight(status)) return;
  // A link stays a link: what it points to is replaced.
  if (fs::is_symlink(target_, ignored)) target_ = fs::weakly_canonical(target_, ignored);
  if (!open_unnamed()) open_named();
  if (fs::exists(status)) ::fchmod(file_->get(), static_cast<mode_t>(status.permissions()));
}

bool sink::open_straight(const fs::file_status& status) {
  if (const std::optional<int> number = descriptor_named_by(target_)) {
    file_ = std::make_unique<descriptor>(::fcntl(*number, F_DUPFD_CLOEXEC, 0));
  } else if (fs::is_fifo(status) || fs::is_character_file(status)) {
    file_ = std::make_unique<descriptor>(::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } else if (!fs::exists(status) || fs::is_regular_file(status)) {
    return false;
  } else {
    fail_at({.path = path_}, errc::io_error, "cannot be written: is not a regular file, pipe or character device");
  }
  if (file_->get() < 0) fail_io("cannot be written", errno);
  straight_ = true;
  return true;
}

bool sink::open_unnamed() {
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  auto file =
      std::make_unique<descriptor>(::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, read_write_by_umask));
  // The file gets its name through /proc, which need not be there.
  if (file->get() < 0 || ::access(path_of(*file).c_str(), F_OK) != 0) return false;
  file_ = std::move(file);
  return true;
}

void sink::open_named() {
  const auto create = [&](const fs::path& name) {
    file_ = std::make_unique<descriptor>(
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, read_write_by_umask));
    return file_->get() >= 0;
  };
  if (!with_fresh_name(create)) fail_io("cannot be written", errno);
}

template <class Create>
bool sink::with_fresh_name(Create&& create) {
  constexpr int attempts = 100;
  std::random_device random;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    fs::path name = target_;
    name += core::format(".{:08x}.tmp", random());
    if (create(name)) {
      temporary_ = std::move(name);
      return true;
    }
    if (errno != EEXIST) break;
  }
  return false;
}

bool sink::link_into_place() {
  const std::string from = path_of(*file_);
  const auto link = [&](const fs::path& name) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link(target_)) return true;
  if (errno != EEXIST || !with_fresh_name(link)) fail_io("cannot be given its name", errno);
  return false;
}

void sink::commit(bool durable) {
  flush();
  if (compressed_) deflate_buffer(Z_FINISH);
  if (durable && !straight_ && ::fsync(file_->get()) != 0) fail_io("cannot be flushed to the disk", errno);
  const bool in_place = straight_ || (temporary_.empty() && link_into_place());
  if (const int number = file_->close(); number != 0) fail_io("cannot be written", number);
  if (!in_place) {
    std::error_code result;
    fs::rename(temporary_, target_, result);
    if (result) fail_io("cannot be renamed into place", result.value());
    temporary_.clear();
  }
  if (!durable || straight_) return;
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
