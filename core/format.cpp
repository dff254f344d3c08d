#define FMT_HEADER_ONLY 1  // only here: fmt is compiled into libbcsc, so that its users need none
#include "core/format.hpp"

#include <fmt/format.h>

namespace bcsc::core {

std::string vformat(fmt::string_view message, fmt::format_args arguments) { return fmt::vformat(message, arguments); }

std::string time_text(double seconds) {
  if (seconds >= 1) return core::format("{:.2f} s", seconds);
  return seconds >= 1e-3 ? core::format("{:.2f} ms", seconds * 1e3) : core::format("{:.1f} us", seconds * 1e6);
}

}  // namespace bcsc::core
