#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "converters/files/binary_numbers.hpp"
#include "converters/files/location.hpp"
#include "converters/files/npy.hpp"
#include "core/memory.hpp"

/// NumPy arrays read from whatever holds them: a zip's current member (zip_reader) or a file (npy_file). Both give
/// bytes by read(), and know name(), size() (-1: unknown), where() and what memory may be taken.
namespace bcsc::files {

/// Reads the preamble and the header of an array.
template <class Stream>
npy_header read_npy_header(Stream& in) {
  const auto read = [&](std::string& into, std::size_t bytes) {
    const std::size_t before = into.size();
    into.resize(before + bytes);
    into.resize(before + in.read(into.data() + before, bytes));
    return into.size() == before + bytes;
  };
  std::string preamble;
  read(preamble, npy_preamble::min_bytes);
  const std::size_t preamble_bytes = npy_preamble::preamble_bytes(preamble, in.where());
  std::string text;
  if (!read(preamble, preamble_bytes - preamble.size()) ||
      !read(text, npy_preamble::header_bytes(preamble, in.where()))) {
    fail_at(in.where(), errc::truncated, "{}: ends within its header", in.name());
  }
  const npy_header header = parse_npy_header(text, in.where());

  // An announced size beyond the limits is refused before anything else is tried.
  in.require_permitted(in.size());
  const std::int64_t announced = in.size() - static_cast<std::int64_t>(preamble.size() + text.size());
  if (in.size() >= 0 && announced != header.data_bytes()) {
    fail_at(in.where(), announced < header.data_bytes() ? errc::truncated : errc::trailing_data,
            "{}: {} bytes of elements, its header announces {}", in.name(), announced, header.data_bytes());
  }
  return header;
}

/// Calls take(elements, how many) for the elements of an array piece by piece, and checks that there are exactly as
/// many as its header announced.
template <class Stream, class F>
void for_each_npy_piece(Stream& in, const npy_header& header, F&& take) {
  constexpr std::int64_t piece_bytes = std::int64_t{64} << 10;
  const auto item_bytes = static_cast<std::int64_t>(header.item_bytes);
  std::vector<char> piece(static_cast<std::size_t>(std::clamp<std::int64_t>(header.data_bytes(), 1, piece_bytes)));
  for (std::int64_t left = header.num_items; left > 0 && item_bytes > 0;) {
    const std::int64_t items = std::min(left, piece_bytes / item_bytes);
    const auto bytes = static_cast<std::size_t>(items * item_bytes);
    if (in.read(piece.data(), bytes) < bytes) {
      fail_at(in.where(), errc::truncated, "{}: ends {} elements before the {} announced", in.name(), left,
              header.num_items);
    }
    take(piece.data(), static_cast<std::size_t>(items));
    left -= items;
  }
  // Reading past the end compares a member's checksum, too.
  if (in.read(piece.data(), 1) > 0) {
    fail_at(in.where(), errc::trailing_data, "{}: more than the {} elements announced", in.name(), header.num_items);
  }
}

/// The elements of an array as values or as indices.
template <class T, class Stream>
std::vector<T> read_npy_numbers(Stream& in, const npy_header& header) {
  std::vector<T> numbers;
  const std::int64_t credible = in.credible_bytes() / static_cast<std::int64_t>(header.item_bytes);
  // A size known from outside the header has been held to the limits of expansion.
  const std::int64_t expected = in.size() >= 0 ? header.num_items : std::min(header.num_items, credible);
  in.require_memory(core::saturating_product(expected, sizeof(T)));
  numbers.reserve(static_cast<std::size_t>(std::min(header.num_items, credible)));
  for_each_npy_piece(in, header, [&](const char* from, std::size_t items) {
    const std::size_t before = numbers.size();
    numbers.resize(before + items);
    const std::size_t decoded = decode(header.number, from, items, numbers.data() + before);
    if (decoded == items) return;
    const char* const at = from + decoded * header.item_bytes;
    if constexpr (std::is_floating_point_v<T>) {
      double value = 0;
      decode(header.number, at, 1, &value);
      fail_at(in.where(), errc::value_out_of_range, "{}: element {} = {}: does not fit {}", in.name(), before + decoded,
              value, to_string(value_type_of<T>));
    } else {
      std::int64_t index = std::numeric_limits<std::int64_t>::max();
      decode(header.number, at, 1, &index);
      fail_at(in.where(), errc::index_out_of_range, "{}: element {} = {}: does not fit {}-bit indices", in.name(),
              before + decoded, index, sizeof(T) * 8);
    }
  });
  return numbers;
}

inline std::string shape_text(const npy_header& header) {
  std::string text = "(";
  for (const std::int64_t size : header.shape) text.append(text.size() > 1 ? ", " : "").append(std::to_string(size));
  return text.append(")");
}

}  // namespace bcsc::files
