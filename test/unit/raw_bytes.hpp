#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace bcsc::test {

/// The bytes of numbers, in either order.
template <class S>
std::string raw(const std::vector<S>& numbers, std::endian order = std::endian::little) {
  std::string bytes;
  for (const S number : numbers) {
    char one[sizeof(S)];
    std::memcpy(one, &number, sizeof(S));
    const std::string in_memory(one, sizeof(S));
    bytes += order == std::endian::native ? in_memory : std::string(in_memory.rbegin(), in_memory.rend());
  }
  return bytes;
}
template <class S>
std::string raw(S number, std::endian order = std::endian::little) {
  return raw(std::vector<S>{number}, order);
}

}  // namespace bcsc::test
