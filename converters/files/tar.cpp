#include "converters/files/tar.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace bcsc::files {

bool begins_as_tar(std::string_view head) {
  if (head.size() < tar_block) return false;
  if (head.substr(257, 5) == "ustar") return true;
  // Archives older than that mark have the sum of their header's bytes, those of the sum itself counted as blanks.
  constexpr std::size_t sum_at = 148, sum_size = 8;
  unsigned expected = 0, sum = sum_size * ' ';
  const std::string_view field = head.substr(sum_at, sum_size);
  const char* const digits = field.data() + std::min(field.find_first_not_of(' '), field.size());
  if (std::from_chars(digits, field.data() + field.size(), expected, 8).ec != std::errc()) return false;
  for (std::size_t i = 0; i < tar_block; ++i) {
    if (i < sum_at || i >= sum_at + sum_size) sum += static_cast<unsigned char>(head[i]);
  }
  return sum == expected;
}

}  // namespace bcsc::files
