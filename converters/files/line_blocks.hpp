#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "converters/files/source.hpp"

/// A source's text in pieces of whole lines, so that many threads can read them.
namespace bcsc::files {

/// Lines with their ends; only the content's last line may lack one, and then a newline that is not part of it follows
/// the text. Beyond that, scan's overlook may be read.
struct line_block {
  std::string_view text;
  bool unterminated = false;  ///< the last line was ended by the end of the content
};

class line_blocks {
 public:
  /// Continues after `begun`, which was read from the source before and starts a line. About `block_bytes` per block.
  line_blocks(source& in, std::string_view begun, std::size_t block_bytes);

  /// The next block, never empty, in `memory`. A line longer than line_reader::max_line may come alone, cut somewhere
  /// beyond that length, without an end. False at the end of the content. Throws as source::read(), and std::bad_alloc.
  bool next(byte_block& memory, line_block& block);

 private:
  std::size_t read(char* to, std::size_t capacity);
  void drop_rest_of_line(byte_block& memory);
  /// Makes the last `size` bytes that were read, which end at `end`, be read again.
  void put_back(const char* end, std::size_t size);

  source& in_;
  std::size_t block_bytes_;
  std::string rest_;  ///< to be read, from `taken_` on, before the source is
  std::size_t taken_ = 0;
  bool at_end_ = false;
  bool cut_ = false;
};

}  // namespace bcsc::files
