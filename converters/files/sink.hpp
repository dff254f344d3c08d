#pragma once

#include <zlib.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "bcsc/error.hpp"
#include "converters/files/source.hpp"

/// Where writers put their text.
namespace bcsc::files {

/// A file that comes into being whole or not at all: the text goes to a temporary file in its folder, gzipped if the
/// path ends in ".gz", and commit() gives that the name. Without commit() nothing is left behind. Where the file system
/// has files without names (O_TMPFILE), the temporary one has none, so that not even a killed process leaves it.
///
/// Pipes, character devices and open descriptors (/dev/stdout, /dev/fd/3) are written directly, from the first byte to
/// the last.
class sink {
 public:
  /// Throws error{io_error} if the folder cannot be written, or if `path` exists and is none of these.
  explicit sink(const std::filesystem::path& path);
  ~sink();
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;

  void put(std::string_view text) {
    make_room(text.size());
    buffer_ += text;
  }
  /// The shortest digits that read back equal.
  template <class Number>
  void put_number(Number number) {
    constexpr std::size_t longest = 32;  // -1.7976931348623157e+308 has 24
    char digits[longest];
    put(std::string_view(digits, std::to_chars(digits, digits + longest, number).ptr));
  }

  /// Writes what is left and gives the file its name. With `durable`, a power failure afterwards leaves the old file or
  /// the new one, whole. Throws error{io_error}.
  void commit(bool durable = false);
  const std::string& path() const { return path_; }

 private:
  void make_room(std::size_t size);
  void flush();
  void write_stored(const char* from, std::size_t size);
  void deflate_buffer(int flush_mode);
  void open();
  /// Opens `path` for writing directly; false if it is a regular file, or is to become one.
  bool open_straight(const std::filesystem::file_status& status);
  bool open_unnamed();
  void open_named();
  /// Gives the unnamed file the target's name; false, and a name of its own, if there is a file of that name already.
  bool link_into_place();
  /// Tries create(name) with random names beside the target until none exists; false, and errno, if it fails otherwise.
  template <class Create>
  bool with_fresh_name(Create&& create);
  [[noreturn]] void fail_io(const char* what, int number) const;

  std::string path_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;  ///< the name of the temporary file; empty while it has none
  std::unique_ptr<descriptor> file_;
  bool straight_ = false;  ///< what is written is the target itself
  std::string buffer_;
  bool compressed_;
  z_stream stream_{};
};

}  // namespace bcsc::files
