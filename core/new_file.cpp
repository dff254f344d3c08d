#include "core/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "bcsc/error.hpp"
#include "core/format.hpp"

namespace bcsc::core {
namespace fs = std::filesystem;
namespace {

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

std::string path_of(int file) { return core::format("/proc/self/fd/{}", file); }

}  // namespace

new_file::new_file(const fs::path& path) : path_(path.string()), target_(path) { open(); }

new_file::~new_file() {
  close();
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void new_file::open() {
  std::error_code failure;
  const fs::file_status status = fs::status(target_, failure);
  // A chain of links without an end, or a folder that may not be looked into.
  if (status.type() == fs::file_type::none) fail_io("cannot be written", failure.value());
  if (open_straight(status)) return;
  target_ = behind_links(target_);
  if (!open_unnamed()) open_named();
  if (fs::exists(status)) ::fchmod(file_, static_cast<mode_t>(status.permissions()));
}

bool new_file::open_straight(const fs::file_status& status) {
  if (const std::optional<int> number = descriptor_named_by(target_)) {
    file_ = ::fcntl(*number, F_DUPFD_CLOEXEC, 0);
  } else if (fs::is_fifo(status) || fs::is_character_file(status)) {
    file_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else if (!fs::exists(status) || fs::is_regular_file(status)) {
    return false;
  } else {
    throw error(errc::io_error,
                core::format("{}: cannot be written: is not a regular file, pipe or character device", path_), {path_});
  }
  if (file_ < 0) fail_io("cannot be written", errno);
  straight_ = true;
  return true;
}

bool new_file::open_unnamed() {
  const int file = ::open(folder().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, read_write_by_umask);
  if (file < 0) return false;
  file_ = file;
  // The file gets its name through /proc, which need not be there.
  if (::access(path_of(file).c_str(), F_OK) == 0) return true;
  close();
  return false;
}

void new_file::open_named() {
  const auto create = [&](const fs::path& name) {
    file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, read_write_by_umask);
    return file_ >= 0;
  };
  if (!with_fresh_name(create)) fail_io("cannot be written", errno);
}

template <class Create>
bool new_file::with_fresh_name(Create&& create) {
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

bool new_file::link_into_place() {
  const std::string from = path_of(file_);
  const auto link = [&](const fs::path& name) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link(target_)) return true;
  if (errno != EEXIST || !with_fresh_name(link)) fail_io("cannot be given its name", errno);
  return false;
}

void new_file::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_io("cannot be written", errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void new_file::commit(bool durable) {
  if (durable && !straight_ && ::fsync(file_) != 0) fail_io("cannot be flushed to the disk", errno);
  const bool in_place = straight_ || (temporary_.empty() && link_into_place());
  if (const int number = close(); number != 0) fail_io("cannot be written", number);
  if (!in_place) {
    std::error_code result;
    fs::rename(temporary_, target_, result);
    if (result) fail_io("cannot be renamed into place", result.value());
    temporary_.clear();
  }
  if (!durable || straight_) return;
  // The new name; a file system that cannot flush folders has given what it can.
  const int opened = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

fs::path new_file::folder() const { return target_.has_parent_path() ? target_.parent_path() : fs::path("."); }

int new_file::close() noexcept {
  const int number = std::exchange(file_, -1);
  return number < 0 || ::close(number) == 0 ? 0 : errno;
}

void new_file::fail_io(const char* what, int number) const {
  throw error(errc::io_error, core::format("{}: {}: {}", path_, what, std::generic_category().message(number)),
              {path_});
}

void write_new_file(const fs::path& path, std::string_view bytes) {
  new_file file(path);
  file.write(bytes);
  file.commit();
}

bool is_written_directly(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return descriptor_named_by(path) || (fs::exists(status) && !fs::is_regular_file(status));
}

fs::path behind_links(fs::path file) {
  constexpr int max_links = 40;  // as Linux follows
  std::error_code none;
  for (int i = 0; i < max_links; ++i) {
    const fs::path target = fs::read_symlink(file, none);
    if (none) break;
    file = file.parent_path() / target;  // which is the target alone if that is absolute
  }
  return file;
}

}  // namespace bcsc::core
