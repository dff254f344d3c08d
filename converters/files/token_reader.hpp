#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/files/source.hpp"

/// Text whose lines may be longer than memory: tokens in order, and where lines end.
namespace bcsc::files {

/// Cuts a source into tokens. Blanks separate them; the end of a line is LF.
class token_reader {
 public:
  /// Longer tokens are an error: no number has as many characters.
  static constexpr std::size_t max_token = std::size_t{64} << 10;

  struct syntax {
    char separator = ' ';  ///< separates tokens as a blank does
    char comment = '\n';   ///< ends the tokens of a line
  };
  token_reader(source& in, syntax characters);

  /// Goes to the next line, past what is left of this one; false at the end of the content.
  bool next_line();
  /// The next token of the line, valid until the next call; empty at its end. Throws error{parse_error} for one of more
  /// than max_token bytes.
  std::string_view next();

  /// 1-based number of the line; 0 before the first.
  std::int64_t number() const { return number_; }
  /// Whether the content ends with this line's last token, without LF. Known when next() was empty.
  bool unterminated() const { return at_ == end_ && number_ > 0; }

 private:
  enum class kind : std::uint8_t { token, blank, comment, newline };
  kind kind_of(char c) const { return kinds_[static_cast<unsigned char>(c)]; }
  /// Reads on, keeping what begins at `keep`, which moves to the buffer's front; false at the end of the content.
  bool refill(std::size_t keep);
  /// Whether a byte is left to look at.
  bool more() { return at_ < end_ || refill(at_); }
  void skip_to_newline();

  source& in_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;  ///< the part of the buffer that has not been returned yet
  std::int64_t number_ = 0;
  kind kinds_[256] = {};
};

}  // namespace bcsc::files
