#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "converters/files/archives.hpp"
#include "converters/files/libarchive.hpp"
#include "converters/files/tar.hpp"

namespace bcsc::files {

/// libarchive's reader, whose callbacks must not let an exception through.
class tar_reader::library {
 public:
  explicit library(byte_source bytes) : bytes_(std::move(bytes)), archive_(libarchive::get().read_new()) {
    if (archive_ == nullptr) throw std::bad_alloc();
    libarchive::get().read_support_format_tar(archive_);
    const auto fetch = [](archive* a, void* self, const void** buffer) {
      return static_cast<library*>(self)->fetch(a, buffer);
    };
    if (libarchive::get().read_open(archive_, this, nullptr, fetch, nullptr) != ARCHIVE_OK) {
      // The destructor does not run if the constructor throws.
      const std::string message = damage();
      libarchive::get().read_free(archive_);
      if (failure_) std::rethrow_exception(failure_);
      throw tar_error(message);
    }
  }
  ~library() { libarchive::get().read_free(archive_); }
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  bool next(std::string& name) {
    for (;;) {
      archive_entry* entry = nullptr;
      const int status = libarchive::get().read_next_header(archive_, &entry);
      if (status == ARCHIVE_EOF) return false;
      require(status);
      if (libarchive::get().entry_filetype(entry) != AE_IFREG || libarchive::get().entry_hardlink(entry) != nullptr)
        continue;
      // Empty if the name cannot be expressed in this locale: then it cannot be requested.
      const char* path = libarchive::get().entry_pathname(entry);
      if (path == nullptr) path = libarchive::get().entry_pathname_utf8(entry);
      name = path != nullptr ? path : "";
      return true;
    }
  }

  std::size_t read(char* to, std::size_t capacity) {
    const la_ssize_t size = libarchive::get().read_data(archive_, to, capacity);
    require(size < 0 ? static_cast<int>(size) : ARCHIVE_OK);
    return static_cast<std::size_t>(size);
  }

 private:
  la_ssize_t fetch(archive* a, const void** buffer) {
    *buffer = buffer_.data();
    try {
      return static_cast<la_ssize_t>(bytes_(buffer_.data(), buffer_.size()));
    } catch (...) {
      failure_ = std::current_exception();
      libarchive::get().set_error(a, EIO, "the archive's bytes cannot be had");
      return -1;
    }
  }

  /// A warning says that something besides the content is odd.
  void require(int status) const {
    if (failure_) std::rethrow_exception(failure_);
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) throw tar_error(damage());
  }

  std::string damage() const {
    const char* const message = libarchive::get().error_string(archive_);
    return message != nullptr ? message : "of an unknown kind";
  }

  byte_source bytes_;
  std::array<char, std::size_t{64} << 10> buffer_;
  std::exception_ptr failure_;
  archive* archive_;
};

bool can_read_tar() { return why_no_archives().empty(); }

tar_reader::tar_reader(byte_source bytes) : library_(std::make_unique<library>(std::move(bytes))) {}
tar_reader::~tar_reader() = default;
bool tar_reader::next(std::string& name) { return library_->next(name); }
std::size_t tar_reader::read(char* to, std::size_t capacity) { return library_->read(to, capacity); }

}  // namespace bcsc::files
