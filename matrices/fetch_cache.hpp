#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "bcsc/catalogue.hpp"
#include "converters/files/source.hpp"

/// The cache's files for one matrix, side by side: NAME.tar.gz and, while it is needed,
///   .sha256    what sha256sum prints, written at the first fetch
///   .part      the bytes of an unfinished download
///   .resume    what the server said about them
/// .lock held by the process that downloads; absent otherwise
namespace bcsc::suitesparse {

/// What is known about a partial download. Written before its first byte, so that it never describes other bytes.
struct resume_point {
  std::string url;
  std::string validator;    ///< the ETag, if it is a strong one, else the date; without either nothing can be resumed
  std::int64_t total = -1;  ///< -1 if the server did not say
  std::int64_t offset = 0;  ///< bytes already loaded
};

class cache_slot {
 public:
  cache_slot(const entry& matrix, const std::filesystem::path& cache);

  const std::filesystem::path& archive() const { return archive_; }
  const std::filesystem::path& part() const { return part_; }
  const std::filesystem::path& lock() const { return lock_; }
  const std::filesystem::path& record() const { return record_; }

  /// Where to resume; offset 0 if there is nothing, or nothing known to be from this URL.
  resume_point resume(const std::string& url) const;
  /// Empties the partial download and notes what will come.
  void start_over(const resume_point& announced) const;
  void discard_partial() const;

  /// The recorded SHA-256; empty if there is no record. Throws error{parse_error} if the file holds none.
  std::string recorded_sha256() const;
  void record_sha256(const std::string& sum) const;
  /// Gives the downloaded file its name.
  void keep() const;

 private:
  std::filesystem::path archive_, part_, resume_, record_, lock_;
};

/// An exclusive lock between processes; the system releases it when its holder ends, however that happens.
class file_lock {
 public:
  /// Waits for it; `idle` is called several times a second meanwhile and may throw. Throws error{io_error}.
  file_lock(const std::filesystem::path& path, const std::function<void()>& idle);
  ~file_lock();
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;

 private:
  std::filesystem::path path_;
  std::unique_ptr<files::descriptor> file_;
};

}  // namespace bcsc::suitesparse
