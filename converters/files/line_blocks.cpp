#include "converters/files/line_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "converters/files/line_reader.hpp"
#include "converters/files/scan.hpp"

namespace bcsc::files {
namespace {

/// The newline after the text, and what scan may look at beyond it.
constexpr std::size_t padding = 1 + scan::overlook;

/// How many of the bytes end with the last newline; 0 if there is none.
std::size_t length_of_lines(const char* bytes, std::size_t size) {
  const std::size_t newline = std::string_view(bytes, size).rfind('\n');
  return newline == std::string_view::npos ? 0 : newline + 1;
}

}  // namespace

line_blocks::line_blocks(source& in, std::string_view begun, std::size_t block_bytes)
    : in_(in), block_bytes_(std::max<std::size_t>(block_bytes, 1)), rest_(begun) {}

bool line_blocks::next(byte_block& memory, line_block& block) {
  if (cut_) drop_rest_of_line(memory);
  std::size_t size = 0, lines = 0;
  // At least one whole line, or so much of one that it is too long for a line.
  while (!at_end_ && (size < block_bytes_ || (lines == 0 && size < line_reader::max_line))) {
    const std::size_t wanted = size < block_bytes_ ? block_bytes_ - size : block_bytes_;
    memory.reserve(size, wanted + padding);
    const std::size_t more = read(memory.data() + size, wanted);
    at_end_ = more == 0;
    if (const std::size_t found = length_of_lines(memory.data() + size, more); found > 0) lines = size + found;
    size += more;
  }
  if (size == 0) return false;
  cut_ = lines == 0 && !at_end_;
  if (!cut_ && !at_end_) {
    put_back(memory.data() + size, size - lines);
    size = lines;
  }
  block.text = {memory.data(), size};
  block.unterminated = at_end_ && block.text.back() != '\n';
  memory.data()[size] = '\n';
  std::memset(memory.data() + size + 1, 0, padding - 1);
  return true;
}

std::size_t line_blocks::read(char* to, std::size_t capacity) {
  if (taken_ == rest_.size()) return in_.read(to, capacity);
  const std::size_t size = rest_.copy(to, capacity, taken_);
  taken_ += size;
  return size;
}

void line_blocks::drop_rest_of_line(byte_block& memory) {
  memory.reserve(0, block_bytes_ + padding);
  while (!at_end_) {
    const std::size_t size = read(memory.data(), block_bytes_);
    at_end_ = size == 0;
    const void* const newline = std::memchr(memory.data(), '\n', size);
    if (newline == nullptr) continue;
    put_back(memory.data() + size,
             static_cast<std::size_t>(memory.data() + size - static_cast<const char*>(newline)) - 1);
    return;
  }
}

void line_blocks::put_back(const char* end, std::size_t size) {
  if (taken_ >= size && taken_ < rest_.size()) {
    taken_ -= size;  // they all came from there
    return;
  }
  rest_.assign(end - size, size);
  taken_ = 0;
}

}  // namespace bcsc::files
