#include "lib/tune/store.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "core/fail.hpp"
#include "core/new_file.hpp"
#include "core/whole_file.hpp"

namespace bcsc::tuning {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view what = "tuning cache";
constexpr std::string_view title = "bcsc tuning cache";
constexpr std::string_view header = "bcsc tuning cache 1\n";
constexpr std::size_t checksum_digits = 8;
/// Some thirty times what a full cache takes.
constexpr std::int64_t max_file_bytes = std::int64_t{32} << 20;

/// `line`: without its line break. Empty if it is damaged.
std::optional<cache_entry> entry_of(std::string_view line) {
  if (line.size() <= checksum_digits || line[checksum_digits] != '\t') return std::nullopt;
  const std::string_view rest = line.substr(checksum_digits + 1);
  const std::size_t tab = rest.find('\t');
  if (tab == rest.npos || core::checksum_of(rest) != line.substr(0, checksum_digits)) return std::nullopt;
  return cache_entry{std::string(rest.substr(0, tab)), std::string(rest.substr(tab + 1))};
}

std::string line_of(const cache_entry& entry) {
  const std::string rest = entry.key + '\t' + entry.value;
  return core::checksum_of(rest) + '\t' + rest + '\n';
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
    if (file_.number() < 0) core::fail_io(what, path, "cannot be locked", errno);
    constexpr std::chrono::milliseconds patience(10'000), pause(2);
    const auto begin = std::chrono::steady_clock::now();
    while (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) core::fail_io(what, path, "cannot be locked", errno);
      if (std::chrono::steady_clock::now() - begin > patience)
        core::fail_io(what, path, "locked by another process", EWOULDBLOCK);
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  core::open_file file_;
};

}  // namespace

stored_entries read_store(const fs::path& file) { return parse(file, core::read_whole(what, file, max_file_bytes)); }

std::string find_in_store(const fs::path& file, std::string_view key) {
  const std::string text = core::read_whole(what, file, max_file_bytes);
  if (is_of_other_version(text)) return {};
  const std::string wanted = core::format("\t{}\t", key);
  const std::size_t at = text.rfind(wanted);
  if (at == text.npos || at < checksum_digits) return {};
  const std::size_t begin = at - checksum_digits, end = std::min(text.find('\n', at), text.size());
  const auto entry = entry_of(std::string_view(text).substr(begin, end - begin));
  return entry ? entry->value : std::string();
}

void change_store(const fs::path& named, const std::function<void(std::vector<cache_entry>&)>& change) {
  const fs::path file = core::behind_links(named);
  (void)read_store(file);  // nothing is left beside a file that is something else
  core::make_folder_of(what, file);
  const store_lock lock(fs::path(file).concat(".lock"));
  stored_entries held = read_store(file);
  change(held.entries);

  std::string text(header);
  for (const cache_entry& entry : held.entries) text += line_of(entry);
  core::replace_whole(what, file, text);
}

}  // namespace bcsc::tuning
