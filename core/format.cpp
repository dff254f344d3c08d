#define FMT_HEADER_ONLY 1  // only here: fmt is compiled into libbcsc, so that its users need none
#include "core/format.hpp"

#include <fmt/format.h>

namespace bcsc::core {

std::string vformat(fmt::string_view message, fmt::format_args arguments) { return fmt::vformat(message, arguments); }

}  // namespace bcsc::core
