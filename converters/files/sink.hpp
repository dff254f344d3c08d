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

/// A file that comes into being whole or not at all: the text goes to a temporary file beside it, gzip if the path ends
/// in ".gz", and commit() renames that. Without commit() nothing is left behind.
class sink {
 public:
  /// Throws error{io_error} if the folder cannot be written, or if `path` exists and is not a regular file.
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

  /// Writes what is left and gives the file its name. With `durable` a machine that then loses its power has the old
  /// file or the new one, whole. Throws error{io_error}.
  void commit(bool durable = false);
  const std::string& path() const { return path_; }

 private:
  void make_room(std::size_t size);
  void flush();
  void write_stored(const char* from, std::size_t size);
  void deflate_buffer(int flush_mode);
  void open_temporary();
  [[noreturn]] void fail_io(const char* what, int number) const;

  std::string path_;
  std::filesystem::path target_, temporary_;
  std::unique_ptr<descriptor> file_;
  std::string buffer_;
  bool compressed_;
  z_stream stream_{};
};

}  // namespace bcsc::files
