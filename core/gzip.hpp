#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Small texts as gzip streams, which carry their length and a CRC-32.
namespace bcsc::core {

std::string gzipped(std::string_view text);

/// The reverse, of one whole stream. Throws error{corrupt_compression}: damaged, cut short, or followed by more;
/// error{invalid_format} for a text of more than `max_bytes`.
std::string gunzipped(std::string_view stream, std::size_t max_bytes);

}  // namespace bcsc::core
