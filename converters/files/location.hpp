#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "bcsc/error.hpp"
#include "core/format.hpp"

/// Errors of the file readers and writers: each says where in which file it lies.
namespace bcsc::files {

inline std::string describe(const file_location& where) {
  if (where.line > 0) return core::format("{}:{}", where.path, where.line);
  if (where.byte >= 0) return core::format("{}, byte {}", where.path, where.byte);
  return where.path;
}

/// Throws bcsc::error with the location both in where() and in the message.
template <class... Args>
[[noreturn]] void fail_at(file_location where, errc code, fmt::format_string<Args...> message, Args&&... args) {
  const std::string text = core::format("{}: {}", describe(where), core::format(message, std::forward<Args>(args)...));
  throw error(code, text, std::move(where));
}

/// A token of a file for a message: quoted, cut to a readable length, without control characters.
inline std::string quoted(std::string_view token) {
  constexpr std::size_t readable = 40;
  std::string text = "'";
  for (const char c : token.substr(0, readable)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte >= 0x7f ? core::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return text + (token.size() > readable ? "...'" : "'");
}

}  // namespace bcsc::files
