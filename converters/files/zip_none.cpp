#include "converters/files/archives.hpp"
#include "converters/files/location.hpp"
#include "converters/files/zip.hpp"

/// A build without libarchive: zip files are refused with an error that says so.
namespace bcsc::files {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  fail_at({.path = path}, errc::unsupported, "a zip file: {}", why_no_archives());
}

}  // namespace

struct zip_reader::archive_handle {};

zip_reader::zip_reader(source& in) : in_(in), meter_(in, 0) { refuse(in.path()); }
zip_reader::~zip_reader() = default;
bool zip_reader::next() { return false; }
std::size_t zip_reader::read(char*, std::size_t) { return 0; }

struct zip_writer::archive_handle {};

zip_writer::zip_writer(sink& out, bool) { refuse(out.path()); }
zip_writer::~zip_writer() = default;
void zip_writer::begin(const std::string&, std::int64_t) {}
void zip_writer::put(std::string_view) {}
void zip_writer::finish() {}

}  // namespace bcsc::files
