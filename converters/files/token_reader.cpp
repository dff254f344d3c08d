#include "converters/files/token_reader.hpp"

#include <cstring>

#include "converters/files/location.hpp"

namespace bcsc::files {
namespace {

constexpr std::size_t first_buffer_bytes = std::size_t{256} << 10;
static_assert(first_buffer_bytes > token_reader::max_token);

}  // namespace

token_reader::token_reader(source& in, syntax characters) : in_(in), buffer_(in.first_buffer(first_buffer_bytes)) {
  // A CR counts as a blank, so that CRLF files need no care.
  for (const char c : {' ', '\t', '\r', '\v', '\f', characters.separator}) {
    kinds_[static_cast<unsigned char>(c)] = kind::blank;
  }
  kinds_[static_cast<unsigned char>(characters.comment)] = kind::comment;
  kinds_[static_cast<unsigned char>('\n')] = kind::newline;
}

bool token_reader::refill(std::size_t keep) {
  std::memmove(buffer_.data(), buffer_.data() + keep, end_ - keep);
  end_ -= keep;
  at_ -= keep;
  if (end_ == buffer_.size())
    buffer_.resize(2 * end_);  // a token longer than the buffer, and shorter than first_buffer_bytes
  const std::size_t size = in_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += size;
  return size > 0;
}

void token_reader::skip_to_newline() {
  while (more()) {
    const char* const from = buffer_.data() + at_;
    if (const void* const newline = std::memchr(from, '\n', end_ - at_)) {
      at_ += static_cast<std::size_t>(static_cast<const char*>(newline) - from);
      return;
    }
    at_ = end_;
  }
}

bool token_reader::next_line() {
  if (number_ > 0) {
    skip_to_newline();
    if (more()) ++at_;
  }
  if (!more()) return false;
  ++number_;
  return true;
}

std::string_view token_reader::next() {
  while (more() && kind_of(buffer_[at_]) == kind::blank) ++at_;
  if (more() && kind_of(buffer_[at_]) == kind::comment) skip_to_newline();
  std::size_t first = at_;
  for (;; ++at_) {
    if (at_ == end_) {
      const bool ended = !refill(first);
      first = 0;
      if (ended) break;
    }
    if (kind_of(buffer_[at_]) != kind::token) break;
    if (at_ - first == max_token) {
      fail_at({.path = in_.path(), .line = number_}, errc::parse_error, "{}: is longer than {} bytes",
              quoted({buffer_.data() + first, max_token}), max_token);
    }
  }
  return {buffer_.data() + first, at_ - first};
}

}  // namespace bcsc::files
