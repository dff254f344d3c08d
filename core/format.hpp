#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace bcsc::core {

/// fmt::vformat, compiled once (format.cpp): fmt's formatting takes six seconds to compile wherever it is included.
std::string vformat(fmt::string_view message, fmt::format_args arguments);

/// fmt::format.
template <class... Args>
std::string format(fmt::format_string<Args...> message, Args&&... args) {
  return core::vformat(message, fmt::make_format_args(args...));
}

/// For messages: "38.1 us", "16.03 ms".
std::string time_text(double seconds);

/// The elements of a range with `separator` between them.
template <class Range>
std::string joined(const Range& elements, fmt::string_view separator) {
  std::string text;
  bool is_first = true;
  for (const auto& element : elements) {
    if (!is_first) text.append(separator.data(), separator.size());
    is_first = false;
    text += core::format("{}", element);
  }
  return text;
}

}  // namespace bcsc::core
