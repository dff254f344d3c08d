#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "converters/files/source.hpp"

namespace bcsc::files {

/// Cuts a source into lines. The end of a line is LF; a CR before it is left to the parser, which takes it as a blank.
class line_reader {
 public:
  /// A longer line is returned up to here; cut() is then true.
  static constexpr std::size_t max_line = std::size_t{1} << 20;

  explicit line_reader(source& in) : in_(in), buffer_(in.first_buffer(max_line)) {}

  /// The next line, without its end, valid until the next call; false at the end of the content.
  bool next(std::string_view& line) {
    if (cut_) drop_rest_of_line();
    const char* const from = buffer_.data() + begin_;
    if (const char* const newline = find_newline(from, end_ - begin_)) {
      line = {from, static_cast<std::size_t>(newline - from)};
      begin_ += line.size() + 1;
      ++number_;
      return true;
    }
    return next_beyond_buffer(line);
  }

  /// 1-based number of the line that next() returned last; 0 before.
  std::int64_t number() const { return number_; }
  /// Whether that line was ended by the end of the content rather than by LF.
  bool unterminated() const { return unterminated_; }
  bool cut() const { return cut_; }
  /// What has been read from the source but not returned. After taking it, next() must not be called again.
  std::string_view rest() const { return {buffer_.data() + begin_, end_ - begin_}; }

 private:
  static const char* find_newline(const char* from, std::size_t size) {
    return static_cast<const char*>(std::memchr(from, '\n', size));
  }
  bool next_beyond_buffer(std::string_view& line);
  void drop_rest_of_line();

  source& in_;
  std::vector<char> buffer_;         ///< grows up to max_line
  std::size_t begin_ = 0, end_ = 0;  ///< the part of the buffer that has not been returned yet
  std::int64_t number_ = 0;
  bool unterminated_ = false;
  bool cut_ = false;
};

}  // namespace bcsc::files
