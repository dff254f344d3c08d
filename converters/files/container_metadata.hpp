#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bcsc/container.hpp"
#include "converters/files/container_directory.hpp"

/// A container's metadata: key NUL value NUL, and so on, keys ascending.
namespace bcsc::files::container {

inline constexpr std::string_view metadata_section = "metadata";
inline constexpr std::uint64_t max_metadata_bytes = std::uint64_t{64} << 10;
inline constexpr std::size_t max_key_bytes = 255;

/// Throws error{invalid_argument} for what cannot be stored.
std::string encode_metadata(const container_metadata& metadata);
/// `at` is where `bytes` lie in the file. Throws error{parse_error}.
container_metadata decode_metadata(std::string_view bytes, std::uint64_t at, const std::string& path);
/// Requires metadata to precede all arrays, so that the first pages of a file hold all of its metadata. Throws
/// error{parse_error}.
void require_bounded_metadata(const section& words, const directory& found, const std::string& path);

}  // namespace bcsc::files::container
