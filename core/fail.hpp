#pragma once

#include <utility>

#include "bcsc/error.hpp"
#include "core/format.hpp"

namespace bcsc::core {

/// Throws bcsc::error with a formatted message (fmt syntax). The message names the parameter and its value.
template <class... Args>
[[noreturn]] void fail(errc code, fmt::format_string<Args...> message, Args&&... args) {
  throw error(code, core::format(message, std::forward<Args>(args)...));
}

}  // namespace bcsc::core
