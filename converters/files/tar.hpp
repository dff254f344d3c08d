#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

/// What lies in a tar archive. Nothing of it ever reaches the disk, so its members may have any names.
namespace bcsc::files {

/// Whether content that begins so is a tar archive.
bool begins_as_tar(std::string_view head);
inline constexpr std::size_t tar_block = 512;  ///< how much begins_as_tar() must see

/// The archive is damaged.
class tar_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether they can be read: why_no_archives() says why not.
bool can_read_tar();

/// Goes through the regular files of an archive. Uses libarchive; without it the constructor throws tar_error.
class tar_reader {
 public:
  /// Puts 1 .. capacity bytes of the archive at `to`, or returns 0 at its end. What it throws comes out of next() and
  /// read().
  using byte_source = std::function<std::size_t(char* to, std::size_t capacity)>;

  explicit tar_reader(byte_source bytes);
  ~tar_reader();

  /// Goes to the next regular file and tells its path; false at the end of the archive.
  bool next(std::string& name);
  /// Bytes of that file: 1 .. capacity, or 0 at its end.
  std::size_t read(char* to, std::size_t capacity);

 private:
  class library;
  std::unique_ptr<library> library_;
};

}  // namespace bcsc::files
