#include <algorithm>
#include <exception>
#include <new>

#include "converters/files/archives.hpp"
#include "converters/files/libarchive.hpp"
#include "converters/files/location.hpp"
#include "converters/files/zip.hpp"

namespace bcsc::files {
namespace {

/// For the file at `path`, which the error names where libarchive is missing.
const libarchive& libarchive_for(const std::string& path) {
  const std::string missing = why_no_archives();
  if (!missing.empty()) fail_at({.path = path}, errc::unsupported, "a zip file: {}", missing);
  return libarchive::get();
}

std::string message_of(archive* a) {
  const char* const text = libarchive::get().error_string(a);
  return text != nullptr ? text : "no reason given";
}

}  // namespace

// --- Reading --------------------------------------------------------------------------------------------------------

struct zip_reader::archive_handle {
  archive* const at;
  explicit archive_handle(const std::string& path) : at(libarchive_for(path).read_new()) {
    if (at == nullptr) throw std::bad_alloc();
  }
  ~archive_handle() { libarchive::get().read_free(at); }
};

zip_reader::zip_reader(source& in)
    : in_(in),
      content_(in.content()),
      meter_(in, content_.size()),
      where_{.path = in.path()},
      archive_(std::make_unique<archive_handle>(in.path())) {
  if (!content_.starts_with("PK")) fail_at(where_, errc::bad_banner, "is not a zip file");
  // By its directory and nothing else, as Python reads it: a file that is cut short has none.
  libarchive::get().read_support_format_zip_seekable(archive_->at);
  if (libarchive::get().read_open_memory(archive_->at, content_.data(), content_.size()) != ARCHIVE_OK) {
    if (!in_.compressed()) where_.byte = static_cast<std::int64_t>(content_.size());
    fail_at(where_, errc::truncated, "the zip file ends without its directory");
  }
}

zip_reader::~zip_reader() = default;

bool zip_reader::next() {
  archive_entry* entry = nullptr;
  const int status = libarchive::get().read_next_header(archive_->at, &entry);
  if (status == ARCHIVE_EOF) return false;
  where_ = {.path = in_.path()};
  // Directory and member that contradict each other are a mere warning to libarchive.
  if (status != ARCHIVE_OK) {
    fail_at(where_, errc::corrupt_compression, "the zip file is damaged: {}", message_of(archive_->at));
  }
  if (!in_.compressed()) where_.byte = libarchive::get().filter_bytes(archive_->at, -1);
  const char* const name = libarchive::get().entry_pathname(entry);
  name_ = name != nullptr ? name : "";
  size_ = libarchive::get().entry_size_is_set(entry) != 0 ? libarchive::get().entry_size(entry) : -1;
  if (libarchive::get().entry_is_encrypted(entry) != 0) {
    fail_at(where_, errc::unsupported, "member {} is encrypted", files::quoted(name_));
  }
  return true;
}

std::size_t zip_reader::read(char* to, std::size_t capacity) {
  std::size_t size = 0;
  while (size < capacity) {
    const la_ssize_t more = libarchive::get().read_data(archive_->at, to + size, capacity - size);
    if (more < 0) {
      fail_at(where_, errc::corrupt_compression, "member {} is damaged: {}", files::quoted(name_),
              message_of(archive_->at));
    }
    if (more == 0) break;
    size += static_cast<std::size_t>(more);
  }
  meter_.count(static_cast<std::int64_t>(size), where_);
  return size;
}

// --- Writing --------------------------------------------------------------------------------------------------------

struct zip_writer::archive_handle {
  archive* const at;
  sink& out;
  std::exception_ptr thrown;  ///< by the sink; it must not pass through libarchive's frames

  explicit archive_handle(sink& to) : at(libarchive_for(to.path()).write_new()), out(to) {
    if (at == nullptr) throw std::bad_alloc();
  }
  ~archive_handle() {
    libarchive::get().write_fail(at);  // whatever is not finished stays unfinished
    libarchive::get().write_free(at);
  }

  void require(int status) {
    if (thrown) std::rethrow_exception(thrown);
    if (status != ARCHIVE_OK) {
      fail_at({.path = out.path()}, errc::io_error, "the zip file cannot be written: {}", message_of(at));
    }
  }

  static la_ssize_t write(archive*, void* self, const void* bytes, std::size_t size) {
    auto& handle = *static_cast<archive_handle*>(self);
    try {
      handle.out.put({static_cast<const char*>(bytes), size});
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      handle.thrown = std::current_exception();
      return -1;
    }
  }
};

zip_writer::zip_writer(sink& out, bool compressed) : archive_(std::make_unique<archive_handle>(out)) {
  archive_->require(libarchive::get().write_set_format_zip(archive_->at));
  archive_->require(compressed ? libarchive::get().write_zip_set_compression_deflate(archive_->at)
                               : libarchive::get().write_zip_set_compression_store(archive_->at));
  libarchive::get().write_set_bytes_per_block(archive_->at,
                                              0);  // the sink has a buffer of its own, and wants no padding
  archive_->require(
      libarchive::get().write_open(archive_->at, archive_.get(), nullptr, archive_handle::write, nullptr));
}

zip_writer::~zip_writer() = default;

void zip_writer::begin(const std::string& name, std::int64_t size) {
  struct entry_handle {
    archive_entry* const at = libarchive::get().entry_new();
    ~entry_handle() { libarchive::get().entry_free(at); }
  } entry;
  if (entry.at == nullptr) throw std::bad_alloc();
  // No time, no owner: equal matrices give equal files.
  libarchive::get().entry_set_pathname(entry.at, name.c_str());
  libarchive::get().entry_set_filetype(entry.at, AE_IFREG);
  libarchive::get().entry_set_perm(entry.at, 0644);
  libarchive::get().entry_set_size(entry.at, size);
  archive_->require(libarchive::get().write_header(archive_->at, entry.at));
}

void zip_writer::put(std::string_view bytes) {
  while (!bytes.empty()) {
    // In pieces, because stored ones arrive at the sink as they are, and it keeps them for a while.
    constexpr std::size_t piece = std::size_t{64} << 10;
    const la_ssize_t written = libarchive::get().write_data(archive_->at, bytes.data(), std::min(piece, bytes.size()));
    archive_->require(written > 0 ? ARCHIVE_OK : ARCHIVE_FATAL);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void zip_writer::finish() { archive_->require(libarchive::get().write_close(archive_->at)); }

}  // namespace bcsc::files
