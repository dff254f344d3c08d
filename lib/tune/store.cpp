#include "lib/tune/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/fail.hpp"

namespace bcsc::tuning {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view title = "bcsc tuning cache";
constexpr std::string_view header = "bcsc tuning cache 1\n";
constexpr std::size_t checksum_digits = 8;
/// Some thirty times what a full cache takes.
constexpr std::int64_t max_file_bytes = std::int64_t{32} << 20;

[[noreturn]] void fail_io(const fs::path& file, const char* what, int number) {
  throw error(errc::io_error,
              core::format("tuning cache {}: {}: {}", file.string(), what, std::generic_category().message(number)),
              {file.string()});
}

/// An open file.
class open_file {
 public:
  open_file(const fs::path& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~open_file() {
    if (number_ >= 0) ::close(number_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  int number() const { return number_; }
  /// Reports the result of closing it: some file systems report a full disk only then.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Empty where there is no file.
std::string contents_of(const fs::path& path) {
  const open_file file(path, O_RDONLY | O_NONBLOCK);
  if (file.number() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    fail_io(path, "cannot be opened", errno);
  }
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) fail_io(path, "cannot be read", errno);
  if (!S_ISREG(facts.st_mode) || facts.st_size > max_file_bytes) {
    core::fail(errc::invalid_format, "tuning cache {}: {}; it is left as it is", path.string(),
               S_ISREG(facts.st_mode) ? "too large to be one" : "no regular file");
  }
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_io(path, "cannot be read", errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

std::string checksum_of(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(text.data());
  return core::format("{:08x}", ::crc32(0, bytes, static_cast<uInt>(text.size())));
}

/// `line`: without its line break. Empty if it is damaged.
std::optional<cache_entry> entry_of(std::string_view line) {
  if (line.size() <= checksum_digits || line[checksum_digits] != '\t') return std::nullopt;
  const std::string_view rest = line.substr(checksum_digits + 1);
  const std::size_t tab = rest.find('\t');
  if (tab == rest.npos || checksum_of(rest) != line.substr(0, checksum_digits)) return std::nullopt;
  return cache_entry{std::string(rest.substr(0, tab)), std::string(rest.substr(tab + 1))};
}

std::string line_of(const cache_entry& entry) {
  const std::string rest = entry.key + '\t' + entry.value;
  return checksum_of(rest) + '\t' + rest + '\n';
}

/// Whether a file that begins so was written by another version.
bool is_of_other_version(std::string_view text) { return text.starts_with(title) && !text.starts_with(header); }

stored_entries parse(const fs::path& file, std::string_view text) {
  stored_entries found;
  // A file may have been cut off within its header.
  const bool is_titled = text.starts_with(title) || header.starts_with(text);
  if (is_of_other_version(text)) return found;
  for (std::string_view left = text.starts_with(header) ? text.substr(header.size()) : text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    if (auto entry = entry_of(left.substr(0, end))) {
      found.entries.push_back(std::move(*entry));
    } else {
      ++found.num_damaged;
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  // A damaged header is no reason to lose what follows it; but what holds nothing of ours is not ours.
  if (!is_titled && found.entries.empty()) {
    core::fail(errc::invalid_format, "tuning cache {}: the file is something else; it is left as it is", file.string());
  }
  return found;
}

/// Held by one process at a time; released when it ends, however it ends.
class store_lock {
 public:
  explicit store_lock(const fs::path& path) : file_(path, O_RDWR | O_CREAT) {
    if (file_.number() < 0) fail_io(path, "cannot be locked", errno);
    constexpr std::chrono::milliseconds patience(10'000), pause(2);
    const auto begin = std::chrono::steady_clock::now();
    while (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) fail_io(path, "cannot be locked", errno);
      if (std::chrono::steady_clock::now() - begin > patience) fail_io(path, "locked by another process", EWOULDBLOCK);
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  open_file file_;
};

void write_all(const fs::path& path, std::string_view text) {
  open_file file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  if (file.number() < 0) fail_io(path, "cannot be written", errno);
  while (!text.empty()) {
    const ssize_t put = ::write(file.number(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_io(path, "cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (!file.close()) fail_io(path, "cannot be written", errno);
}

/// The file that a name stands for: a link stays a link, even one to what is not there yet.
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

}  // namespace

stored_entries read_store(const fs::path& file) { return parse(file, contents_of(file)); }

std::string find_in_store(const fs::path& file, std::string_view key) {
  const std::string text = contents_of(file);
  if (is_of_other_version(text)) return {};
  const std::string wanted = core::format("\t{}\t", key);
  const std::size_t at = text.rfind(wanted);
  if (at == text.npos || at < checksum_digits) return {};
  const std::size_t begin = at - checksum_digits, end = std::min(text.find('\n', at), text.size());
  const auto entry = entry_of(std::string_view(text).substr(begin, end - begin));
  return entry ? entry->value : std::string();
}

void change_store(const fs::path& named, const std::function<void(std::vector<cache_entry>&)>& change) {
  const fs::path file = behind_links(named);
  (void)read_store(file);  // nothing is left beside a file that is something else
  std::error_code failure;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failure);
  if (failure) fail_io(file, "its folder cannot be made", failure.value());
  const store_lock lock(fs::path(file).concat(".lock"));
  stored_entries held = read_store(file);
  change(held.entries);

  std::string text(header);
  for (const cache_entry& entry : held.entries) text += line_of(entry);
  const fs::path beside = fs::path(file).concat(".new");
  try {
    write_all(beside, text);
    fs::rename(beside, file, failure);
    if (failure) fail_io(file, "cannot be written", failure.value());
  } catch (const error&) {
    fs::remove(beside, failure);
    throw;
  }
}

}  // namespace bcsc::tuning
