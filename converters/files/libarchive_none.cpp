#include "converters/files/archives.hpp"

namespace bcsc::files {

std::string why_no_archives() { return "built without libarchive (option 'archive')"; }

}  // namespace bcsc::files
