#include "converters/files/libarchive.hpp"

#include <fmt/format.h>

#include "converters/files/archives.hpp"

namespace bcsc::files {

const libarchive& libarchive::get() {
  static const libarchive loaded;
  return loaded;
}

std::string why_no_archives() {
  const std::string& missing = libarchive::get().why_not();
  if (missing.empty()) return {};
  return fmt::format(
      "libarchive cannot be loaded ({}): install it, on Debian and Ubuntu the package libarchive13 or "
      "libarchive13t64, elsewhere libarchive",
      missing);
}

}  // namespace bcsc::files
