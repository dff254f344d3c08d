#include "converters/files/source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "converters/files/location.hpp"

namespace bcsc::files {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
constexpr std::int64_t report_every = std::int64_t{4} << 20;
/// Below this a high ratio harms nobody: a kilobyte of gzip may well be a megabyte of blanks.
constexpr std::int64_t harmless_expansion = std::int64_t{1} << 20;
constexpr unsigned char gzip_magic[] = {0x1f, 0x8b};
/// zlib's windowBits for "a gzip header, nothing else, and the largest window".
constexpr int gzip_window_bits = 15 + 16;

std::string system_message(int number) { return std::generic_category().message(number); }

bool begins_with_magic(const Bytef* bytes, uInt size) {
  return size >= sizeof gzip_magic && std::memcmp(bytes, gzip_magic, sizeof gzip_magic) == 0;
}

}  // namespace

int descriptor::close() noexcept {
  if (number_ < 0) return 0;
  const int result = ::close(number_);
  number_ = -1;
  return result == 0 ? 0 : errno;
}

byte_block::~byte_block() {
  if (mapped_) {
    ::munmap(data_, capacity_);
  } else {
    std::free(data_);
  }
}

bool byte_block::map(int file, std::size_t size) {
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (at == MAP_FAILED) return false;
  data_ = static_cast<char*>(at);
  capacity_ = size;
  mapped_ = true;
  return true;
}

void byte_block::reserve(std::size_t kept, std::size_t least) {
  if (capacity_ - kept >= least) return;
  // realloc() moves large blocks by their page table: neither copied nor filled, as a vector would.
  const std::size_t capacity = std::max(kept + least, capacity_ + capacity_ / 2);
  void* const at = std::realloc(data_, capacity);
  if (at == nullptr) throw std::bad_alloc();
  data_ = static_cast<char*>(at);
  capacity_ = capacity;
}

source::source(const std::filesystem::path& path, const read_options& options)
    : path_(path.string()),
      options_(options),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      next_report_(report_every),
      chunk_(chunk_bytes) {
  if (file_.get() < 0) fail_at({.path = path_}, errc::io_error, "cannot be opened: {}", system_message(errno));
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    fail_at({.path = path_}, errc::io_error, "cannot be examined: {}", system_message(errno));
  }
  if (S_ISDIR(status.st_mode)) fail_at({.path = path_}, errc::io_error, "is a directory");
  regular_ = S_ISREG(status.st_mode);
  if (regular_) stored_bytes_ = status.st_size;
  recognise_compression();
}

source::source(std::string_view stored, std::string name, const read_options& options)
    : path_(std::move(name)),
      options_(options),
      file_(-1),
      stored_(stored),
      in_memory_(stored),
      stored_bytes_(static_cast<std::int64_t>(stored.size())),
      next_report_(report_every),
      chunk_(chunk_bytes) {
  recognise_compression();
}

void source::recognise_compression() {
  while (stream_.avail_in < sizeof gzip_magic && refill_chunk()) {
  }
  if (begins_with_magic(stream_.next_in, stream_.avail_in)) {
    if (inflateInit2(&stream_, gzip_window_bits) != Z_OK) {
      fail_at({.path = path_}, errc::out_of_memory, "no memory for decompression");
    }
    compressed_ = true;
  }
}

source::~source() {
  if (compressed_) inflateEnd(&stream_);
}

std::string_view source::head(std::size_t most) {
  if (content_) return content_->substr(0, most);
  while (head_.size() < most) {
    const std::size_t have = head_.size();
    head_.resize(most);
    const std::size_t size = read_on(head_.data() + have, most - have);
    head_.resize(have + size);
    if (size == 0) break;
  }
  return std::string_view(head_).substr(0, most);
}

std::size_t source::read(char* to, std::size_t capacity) {
  if (content_) return 0;
  if (head_.empty()) return read_on(to, capacity);
  const std::size_t size = head_.copy(to, capacity);
  head_.erase(0, size);
  return size;
}

std::string_view source::content() {
  if (content_) return *content_;
  if (!compressed_ && file_.get() < 0) {
    content_ = stored_;
  } else if (!compressed_ && regular_ && stored_bytes_ > 0 &&
             whole_.map(file_.get(), static_cast<std::size_t>(stored_bytes_))) {
    content_ = std::string_view(whole_.data(), whole_.capacity());
  } else {
    constexpr std::size_t least = std::size_t{1} << 20;
    std::size_t size = 0;
    for (std::size_t more = 1; more > 0; size += more) {
      whole_.reserve(size, least);
      more = read(whole_.data() + size, whole_.capacity() - size);
    }
    content_ = std::string_view(whole_.data(), size);
    return *content_;
  }
  stored_read_ = stored_bytes_;
  stream_.avail_in = 0;
  report_progress(true);
  return *content_;
}

std::size_t source::read_on(char* to, std::size_t capacity) {
  const std::size_t size = compressed_ ? inflate_some(to, capacity) : read_plain(to, capacity);
  produced_ += static_cast<std::int64_t>(size);
  if (compressed_) check_expansion();
  report_progress(size == 0);
  return size;
}

std::size_t source::read_stored(char* to, std::size_t capacity) {
  if (file_.get() < 0) {
    const std::size_t size = in_memory_.copy(to, capacity);
    in_memory_.remove_prefix(size);
    stored_read_ += static_cast<std::int64_t>(size);
    return size;
  }
  for (;;) {
    const ssize_t size = ::read(file_.get(), to, capacity);
    if (size >= 0) {
      stored_read_ += size;
      return static_cast<std::size_t>(size);
    }
    if (errno != EINTR) fail_at({.path = path_}, errc::io_error, "cannot be read: {}", system_message(errno));
  }
}

bool source::refill_chunk() {
  std::memmove(chunk_.data(), stream_.next_in == nullptr ? chunk_.data() : reinterpret_cast<char*>(stream_.next_in),
               stream_.avail_in);
  stream_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
  const std::size_t size = read_stored(chunk_.data() + stream_.avail_in, chunk_.size() - stream_.avail_in);
  stream_.avail_in += static_cast<uInt>(size);
  return size > 0;
}

std::size_t source::read_plain(char* to, std::size_t capacity) {
  if (stream_.avail_in == 0) return read_stored(to, capacity);
  const std::size_t size = std::min<std::size_t>(capacity, stream_.avail_in);
  std::memcpy(to, stream_.next_in, size);
  stream_.next_in += size;
  stream_.avail_in -= static_cast<uInt>(size);
  return size;
}

std::size_t source::inflate_some(char* to, std::size_t capacity) {
  capacity = std::min<std::size_t>(capacity, std::size_t{1} << 30);  // zlib counts in 32 bits
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = static_cast<uInt>(capacity);
  while (stream_.avail_out == capacity) {
    if (!inside_member_ && !begin_next_member()) break;
    if (stream_.avail_in == 0 && !refill_chunk()) {
      fail_at(here(), errc::truncated, "the compressed stream ends too early");
    }
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      inside_member_ = false;
    } else if (status == Z_MEM_ERROR) {
      fail_at({.path = path_}, errc::out_of_memory, "no memory for decompression");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_at(here(), errc::corrupt_compression, "the compressed stream is damaged: {}",
              stream_.msg != nullptr ? stream_.msg : zError(status));
    }
  }
  return capacity - stream_.avail_out;
}

bool source::begin_next_member() {
  while (stream_.avail_in < sizeof gzip_magic && refill_chunk()) {
  }
  if (stream_.avail_in == 0) return false;
  if (!begins_with_magic(stream_.next_in, stream_.avail_in)) {
    fail_at(here(), errc::corrupt_compression, "what follows the compressed stream is not gzip");
  }
  inflateReset(&stream_);
  inside_member_ = true;
  return true;
}

void source::check_expansion() const {
  if (produced_ > options_.max_expanded_bytes) {
    fail_at(here(), errc::decompression_limit, "expands beyond max_expanded_bytes = {}", options_.max_expanded_bytes);
  }
  const std::int64_t stored = stored_bytes_ > 0 ? stored_bytes_ : stored_position();
  if (produced_ > harmless_expansion &&
      static_cast<double>(produced_) > options_.max_expansion_ratio * static_cast<double>(stored)) {
    fail_at(here(), errc::decompression_limit, "{} bytes expand beyond max_expansion_ratio = {}", stored,
            options_.max_expansion_ratio);
  }
}

void source::report_progress(bool at_end) {
  if (!options_.progress || (!at_end && produced_ < next_report_)) return;
  next_report_ = produced_ + report_every;
  if (!options_.progress(stored_position(), stored_bytes_)) fail_at(here(), errc::cancelled, "reading was cancelled");
}

bool line_reader::next_beyond_buffer(std::string_view& line) {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const char* newline = nullptr;
  while (newline == nullptr && end_ < buffer_.size()) {
    const std::size_t size = in_.read(buffer_.data() + end_, std::min(buffer_.size() - end_, chunk_bytes));
    if (size == 0) break;
    newline = find_newline(buffer_.data() + end_, size);
    end_ += size;
  }
  if (newline == nullptr && end_ == 0) return false;
  line = {buffer_.data(), newline != nullptr ? static_cast<std::size_t>(newline - buffer_.data()) : end_};
  begin_ = newline != nullptr ? line.size() + 1 : end_;
  cut_ = newline == nullptr && end_ == buffer_.size();
  unterminated_ = newline == nullptr && !cut_;
  ++number_;
  return true;
}

void line_reader::drop_rest_of_line() {
  cut_ = false;
  for (;;) {
    begin_ = 0;
    end_ = in_.read(buffer_.data(), buffer_.size());
    if (end_ == 0) return;
    if (const char* const newline = find_newline(buffer_.data(), end_)) {
      begin_ = static_cast<std::size_t>(newline - buffer_.data()) + 1;
      return;
    }
  }
}

}  // namespace bcsc::files
