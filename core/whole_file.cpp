#include "core/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/fail.hpp"

namespace bcsc::core {
namespace fs = std::filesystem;

namespace {

void write_all(std::string_view what, const fs::path& path, std::string_view text) {
  open_file file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (file.number() < 0) fail_io(what, path, "cannot be written", errno);
  while (!text.empty()) {
    const ssize_t put = ::write(file.number(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_io(what, path, "cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (!file.close()) fail_io(what, path, "cannot be written", errno);
}

}  // namespace

open_file::open_file(const fs::path& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
open_file::~open_file() {
  if (number_ >= 0) ::close(number_);
}
bool open_file::close() { return ::close(std::exchange(number_, -1)) == 0; }

void fail_io(std::string_view what, const fs::path& file, const char* failed, int number) {
  throw error(errc::io_error,
              format("{} {}: {}: {}", what, file.string(), failed, std::generic_category().message(number)),
              {file.string()});
}

std::string read_whole(std::string_view what, const fs::path& path, std::int64_t max_bytes) {
  const open_file file(path, O_RDONLY | O_NONBLOCK);
  if (file.number() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    fail_io(what, path, "cannot be opened", errno);
  }
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) fail_io(what, path, "cannot be read", errno);
  if (!S_ISREG(facts.st_mode) || facts.st_size > max_bytes) {
    fail(errc::invalid_format, "{} {}: {}; it is left as it is", what, path.string(),
         S_ISREG(facts.st_mode) ? "too large to be one" : "no regular file");
  }
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(what, path, "cannot be read", errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

void make_folder_of(std::string_view what, const fs::path& file) {
  std::error_code failure;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failure);
  if (failure) fail_io(what, file, "its folder cannot be made", failure.value());
}

void replace_whole(std::string_view what, const fs::path& file, std::string_view text) {
  make_folder_of(what, file);
  const fs::path beside = fs::path(file).concat(".new");
  std::error_code failure;
  try {
    write_all(what, beside, text);
    fs::rename(beside, file, failure);
    if (failure) fail_io(what, file, "cannot be written", failure.value());
  } catch (const error&) {
    fs::remove(beside, failure);
    throw;
  }
}

std::string checksum_of(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(text.data());
  return format("{:08x}", ::crc32(0, bytes, static_cast<uInt>(text.size())));
}

}  // namespace bcsc::core
