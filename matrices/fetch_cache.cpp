#include "matrices/fetch_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "bcsc/fetch.hpp"
#include "converters/files/location.hpp"
#include "converters/files/sink.hpp"
#include "core/fail.hpp"

namespace bcsc::suitesparse {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t sha256_digits = 64;

std::string environment(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

fs::path beside(const fs::path& archive, const char* extension) { return fs::path(archive).concat(extension); }

[[noreturn]] void fail_io(const fs::path& path, const char* what, int number) {
  files::fail_at({.path = path.string()}, errc::io_error, "{}: {}", what, std::generic_category().message(number));
}

void remove_file(const fs::path& path) {
  std::error_code result;
  fs::remove(path, result);
  if (result) fail_io(path, "cannot be removed", result.value());
}

/// Opens a lock's file, creating it if need be.
int open_lock(const fs::path& path) {
  constexpr int read_write_by_umask = 0666;
  const int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, read_write_by_umask);
  if (number < 0) fail_io(path, "cannot be locked", errno);
  return number;
}

bool is_still_at(int number, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(number, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

void wait_for_lock(int number, const fs::path& path, const std::function<void()>& idle) {
  constexpr auto pause = std::chrono::milliseconds(100);
  while (::flock(number, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail_io(path, "cannot be locked", errno);
    idle();
    std::this_thread::sleep_for(pause);
  }
}

/// Locks the file that has the name now: its former holder may have removed the one that was opened.
std::unique_ptr<files::descriptor> take_lock(const fs::path& path, const std::function<void()>& idle) {
  for (;;) {
    auto file = std::make_unique<files::descriptor>(open_lock(path));
    wait_for_lock(file->get(), path, idle);
    if (is_still_at(file->get(), path)) return file;
  }
}

}  // namespace

fs::path cache_folder() {
  if (const std::string own = environment("BCSC_CACHE"); !own.empty()) return own;
  // The XDG specification: a relative path is to be ignored.
  if (const fs::path shared = environment("XDG_CACHE_HOME"); shared.is_absolute()) return shared / "bcsc";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "bcsc";
  core::fail(errc::invalid_argument, "cache: not given, and none of BCSC_CACHE, XDG_CACHE_HOME and HOME is set");
}

fs::path cached_path(const entry& matrix, const fs::path& cache) {
  return cache / matrix.group / std::string(matrix.name).append(".tar.gz");
}

cache_slot::cache_slot(const entry& matrix, const fs::path& cache)
    : archive_(cached_path(matrix, cache)),
      part_(beside(archive_, ".part")),
      resume_(beside(archive_, ".resume")),
      record_(beside(archive_, ".sha256")),
      lock_(beside(archive_, ".lock")) {
  std::error_code result;
  fs::create_directories(archive_.parent_path(), result);
  if (result) fail_io(archive_.parent_path(), "cannot be made", result.value());
}

resume_point cache_slot::resume(const std::string& url) const {
  std::ifstream file(resume_);
  resume_point noted;
  std::string total, end;
  std::getline(file, noted.url);
  std::getline(file, noted.validator);
  std::getline(file, total);
  std::getline(file, end);
  // A note that was cut off lacks its last line.
  if (end != "end" || noted.url != url || noted.validator.empty()) return {};
  noted.total = std::strtoll(total.c_str(), nullptr, 10);
  std::error_code missing;
  const auto size = fs::file_size(part_, missing);
  if (missing) return {};
  noted.offset = static_cast<std::int64_t>(size);
  if (noted.total >= 0 && noted.offset > noted.total) return {};
  return noted;
}

void cache_slot::start_over(const resume_point& announced) const {
  discard_partial();
  std::ofstream note(resume_, std::ios::trunc);
  note << announced.url << '\n' << announced.validator << '\n' << announced.total << "\nend\n" << std::flush;
  if (!note) fail_io(resume_, "cannot be written", errno);
}

void cache_slot::discard_partial() const {
  remove_file(resume_);
  remove_file(part_);
}

std::string cache_slot::recorded_sha256() const {
  std::ifstream file(record_);
  if (!file) return {};
  std::string sum;
  file >> sum;
  if (sum.size() != sha256_digits || sum.find_first_not_of("0123456789abcdef") != std::string::npos) {
    files::fail_at({.path = record_.string(), .line = 1}, errc::parse_error, "is not a SHA-256 as sha256sum writes it");
  }
  return sum;
}

void cache_slot::record_sha256(const std::string& sum) const {
  files::sink out(record_);
  out.put(sum + "  " + archive_.filename().string() + "\n");
  out.commit();
}

void cache_slot::keep() const {
  std::error_code result;
  fs::rename(part_, archive_, result);
  if (result) fail_io(archive_, "cannot be renamed into place", result.value());
  remove_file(resume_);
}

file_lock::file_lock(const fs::path& path, const std::function<void()>& idle)
    : path_(path), file_(take_lock(path, idle)) {}

file_lock::~file_lock() {
  // Removed while it is held: a process that waits for it will notice.
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace bcsc::suitesparse
