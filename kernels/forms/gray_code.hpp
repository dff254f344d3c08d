#pragma once

/// The order of sets of parts in which neighbours differ by one part.
namespace bcsc::forms {

/// The position of `parts`, at most 16 of them, in the reflected Gray code, along which one part is added or removed at
/// a time: a group of the last columns of one set of parts and the first of the next has at most one tile too many.
constexpr unsigned gray_rank(unsigned parts) {
  parts ^= parts >> 8;
  parts ^= parts >> 4;
  parts ^= parts >> 2;
  return parts ^ parts >> 1;
}

}  // namespace bcsc::forms
