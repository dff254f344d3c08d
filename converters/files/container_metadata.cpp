#include "converters/files/container_metadata.hpp"

#include <cstddef>
#include <optional>

#include "converters/files/location.hpp"
#include "core/fail.hpp"

namespace bcsc::files::container {
namespace {

/// Bytes of the code point that `text` begins with; 0 if it is not UTF-8 (RFC 3629: shortest form, no surrogates, up to
/// U+10FFFF).
std::size_t code_point_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || beyond ? 0 : size;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = code_point_bytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

/// Cuts the text up to the next NUL off `rest`; nothing if there is none.
std::optional<std::string_view> next_text(std::string_view& rest) {
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return text;
}

}  // namespace

std::string encode_metadata(const container_metadata& metadata) {
  std::string bytes;
  for (const auto& [key, value] : metadata) {
    if (key.empty() || key.size() > max_key_bytes) {
      core::fail(errc::invalid_argument, "metadata: the key {} has {} bytes: must have 1 .. {}", files::quoted(key),
                 key.size(), max_key_bytes);
    }
    for (const std::string& text : {key, value}) {
      if (text.find('\0') != std::string::npos || !is_utf8(text)) {
        core::fail(errc::invalid_argument, "metadata: {} is not UTF-8 without NUL", files::quoted(text));
      }
      bytes += text;
      bytes += '\0';
    }
  }
  if (bytes.size() > max_metadata_bytes) {
    core::fail(errc::invalid_argument, "metadata: takes {} bytes: must take at most {}", bytes.size(),
               max_metadata_bytes);
  }
  return bytes;
}

container_metadata decode_metadata(std::string_view bytes, std::uint64_t at, const std::string& path) {
  container_metadata metadata;
  const char* const begin = bytes.data();
  while (!bytes.empty()) {
    const auto byte = static_cast<std::int64_t>(at) + (bytes.data() - begin);
    const std::optional<std::string_view> key = next_text(bytes), value = next_text(bytes);
    if (!key || !value) fail_at({.path = path, .byte = byte}, errc::parse_error, "metadata: has no end");
    if (key->empty() || key->size() > max_key_bytes || !is_utf8(*key) || !is_utf8(*value)) {
      fail_at({.path = path, .byte = byte}, errc::parse_error,
              "metadata: {} = {}: must be UTF-8, the key of 1 .. {} bytes", quoted(*key), quoted(*value),
              max_key_bytes);
    }
    if (!metadata.empty() && *key <= metadata.rbegin()->first) {
      fail_at({.path = path, .byte = byte}, errc::parse_error, "metadata: the key {} must come before {}", quoted(*key),
              files::quoted(metadata.rbegin()->first));
    }
    metadata.emplace_hint(metadata.end(), *key, *value);
  }
  return metadata;
}

void require_bounded_metadata(const section& words, const directory& found, const std::string& path) {
  const auto fail = [&](std::size_t field, std::string_view why) {
    fail_at({.path = path, .byte = static_cast<std::int64_t>(words.entry + field)}, errc::parse_error, "section {}: {}",
            metadata_section, why);
  };
  if (&words != found.sections.data()) fail(0, "must be the first");
  if (words.type != array_type::bytes) fail(offsetof(section_header, type), "must be of bytes");
  if (words.bytes > max_metadata_bytes) fail(offsetof(section_header, bytes), "is larger than 64 KiB");
}

}  // namespace bcsc::files::container
