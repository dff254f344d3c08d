#pragma once

#include <fmt/format.h>

#include <utility>

#include "bcsc/error.hpp"

namespace bcsc::core {

/// Throws bcsc::error with a formatted message (fmt syntax). The message names the parameter and its value.
template <class... Args>
[[noreturn]] void fail(errc code, fmt::format_string<Args...> message, Args&&... args) {
  throw error(code, fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace bcsc::core
