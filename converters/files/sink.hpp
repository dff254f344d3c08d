#pragma once

#include <zlib.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/new_file.hpp"

/// Where writers put their text.
namespace bcsc::files {

/// A new_file, buffered, and gzipped if the path ends in ".gz".
class sink {
 public:
  /// Throws what new_file's constructor throws, and error{out_of_memory}.
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

  /// Writes what is left, and commits the file. Throws error{io_error}.
  void commit(bool durable = false);
  const std::string& path() const { return file_.path(); }

 private:
  void make_room(std::size_t size);
  void flush();
  void deflate_buffer(int flush_mode);

  core::new_file file_;
  std::string buffer_;
  bool compressed_;
  z_stream stream_{};
};

}  // namespace bcsc::files
