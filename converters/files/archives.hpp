#pragma once

#include <string>

namespace bcsc::files {

/// Why no archive (tar, zip) can be read or written: the build has no libarchive, or this machine has none, with the
/// package to install. Empty where they can be.
std::string why_no_archives();

}  // namespace bcsc::files
