#include "converters/files/line_reader.hpp"

#include <algorithm>

namespace bcsc::files {
namespace {

/// What is read at once, however large the buffer has grown.
constexpr std::size_t piece_of_lines = std::size_t{256} << 10;

}  // namespace

bool line_reader::next_beyond_buffer(std::string_view& line) {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const char* newline = nullptr;
  while (newline == nullptr && end_ < max_line) {
    if (end_ == buffer_.size()) buffer_.resize(std::min(2 * end_, max_line));
    const std::size_t size = in_.read(buffer_.data() + end_, std::min(buffer_.size() - end_, piece_of_lines));
    if (size == 0) break;
    newline = find_newline(buffer_.data() + end_, size);
    end_ += size;
  }
  if (newline == nullptr && end_ == 0) return false;
  line = {buffer_.data(), newline != nullptr ? static_cast<std::size_t>(newline - buffer_.data()) : end_};
  begin_ = newline != nullptr ? line.size() + 1 : end_;
  cut_ = newline == nullptr && end_ == max_line;
  unterminated_ = newline == nullptr && !cut_;
  ++number_;
  return true;
}

void line_reader::drop_rest_of_line() {
  cut_ = false;
  for (;;) {
    begin_ = 0;
    end_ = in_.read(buffer_.data(), buffer_.size());
    if (end_ == 0) return;
    if (const char* const newline = find_newline(buffer_.data(), end_)) {
      begin_ = static_cast<std::size_t>(newline - buffer_.data()) + 1;
      return;
    }
  }
}

}  // namespace bcsc::files
