#include "converters/files/archives.hpp"
#include "converters/files/tar.hpp"

/// Builds without libarchive.
namespace bcsc::files {

class tar_reader::library {};

bool can_read_tar() { return false; }

tar_reader::tar_reader(byte_source) { throw tar_error(why_no_archives()); }
tar_reader::~tar_reader() = default;
bool tar_reader::next(std::string&) { return false; }
std::size_t tar_reader::read(char*, std::size_t) { return 0; }

}  // namespace bcsc::files
