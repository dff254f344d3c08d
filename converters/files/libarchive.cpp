#include "converters/files/libarchive.hpp"

#include "converters/files/archives.hpp"
#include "core/format.hpp"

namespace bcsc::files {

const libarchive& libarchive::get() {
  static const libarchive loaded;
  return loaded;
}

std::string why_no_archives() {
  const std::string& missing = libarchive::get().why_not();
  if (missing.empty()) return {};
  return core::format(
      "libarchive cannot be loaded ({}): install it, on Debian and Ubuntu the package libarchive13 or "
      "libarchive13t64, elsewhere libarchive",
      missing);
}

}  // namespace bcsc::files
