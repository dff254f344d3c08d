#define FMT_HEADER_ONLY 1  // here alone: libbcsc has fmt inside, so that its users need none
#include "core/format.hpp"

#include <fmt/format.h>

namespace bcsc::core {

std::string vformat(fmt::string_view message, fmt::format_args arguments) { return fmt::vformat(message, arguments); }

}  // namespace bcsc::core
