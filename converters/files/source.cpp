#include "converters/files/source.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "converters/files/archives.hpp"
#include "converters/files/location.hpp"
#include "core/memory.hpp"

namespace bcsc::files {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
/// What content() reads at once, so that progress is reported on the way.
constexpr std::size_t content_piece = std::size_t{1} << 20;
constexpr std::int64_t report_every = std::int64_t{4} << 20;
/// Below this a high ratio is harmless: a kilobyte of gzip may well be a megabyte of blanks.
constexpr std::int64_t harmless_expansion = std::int64_t{1} << 20;
constexpr unsigned char gzip_magic[] = {0x1f, 0x8b};

std::string system_message(int number) { return std::generic_category().message(number); }

struct other_compression {
  std::string_view magic, name;
};
constexpr other_compression other_compressions[] = {{"BZh", "bzip2"},
                                                    {"\xfd"
                                                     "7zXZ",
                                                     "xz"},
                                                    {"\x28\xb5\x2f\xfd", "zstd"},
                                                    {"\x1f\x9d", "compress"}};

/// What an archive is searched for.
constexpr std::string_view matrix_extensions[] = {".mtx", ".rb"};

bool is_matrix_file(const std::filesystem::path& name) {
  return std::ranges::count(matrix_extensions, name.extension().string()) > 0;
}

/// NAME/NAME.mtx.
bool is_named_like_its_folder(const std::filesystem::path& name) {
  return is_matrix_file(name) && name.stem() == name.parent_path().filename();
}

std::string_view without_dot_slash(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

/// A list of names for a message, of bounded length.
class name_list {
 public:
  void add(const std::string& name) {
    if (++count_ <= most) text_ += (count_ > 1 ? ", " : "") + files::quoted(name);
  }
  std::int64_t count() const { return count_; }
  std::string text() const { return count_ == 0 ? "none" : text_ + (count_ > most ? ", ..." : ""); }

 private:
  static constexpr std::int64_t most = 8;
  std::int64_t count_ = 0;
  std::string text_;
};

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
  // realloc() moves large blocks by remapping their pages: neither copied nor filled, unlike a vector.
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
  modified_ = status.st_mtim;
#ifdef POSIX_FADV_SEQUENTIAL
  if (regular_) ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
  recognise_compression();
  choose_member();
}

source::source(std::string_view stored, std::string name, const read_options& options)
    : path_(std::move(name)),
      options_(options),
      file_(-1),
      stored_(stored),
      in_memory_(stored),
      stored_bytes_(static_cast<std::int64_t>(stored.size())),
      next_report_(report_every),
      chunk_(std::clamp<std::size_t>(stored.size(), 1, chunk_bytes)) {
  recognise_compression();
  choose_member();
}

std::size_t source::first_buffer(std::size_t most) const {
  constexpr std::int64_t least = 4096;
  if (stored_bytes_ == 0) return most;
  return std::min(most, static_cast<std::size_t>(std::max(credible_bytes() + 1, least)));
}

void source::recognise_compression() {
  constexpr uInt longest_magic = 8;
  while (stream_.avail_in < longest_magic && refill_chunk()) {
  }
  const std::string_view begin(reinterpret_cast<const char*>(stream_.next_in), stream_.avail_in);
  for (const auto& [magic, name] : other_compressions) {
    if (begin.starts_with(magic)) {
      fail_at({.path = path_}, errc::unsupported, "compressed by {}: only gzip is read", name);
    }
  }
  if (begins_with_magic(stream_.next_in, stream_.avail_in)) {
    if (inflateInit2(&stream_, gzip_window_bits) != Z_OK) {
      fail_at({.path = path_}, errc::out_of_memory, "no memory for decompression");
    }
    compressed_ = true;
  }
}

template <class F>
auto source::with_archive(F&& use) {
  try {
    return use(tar_);
  } catch (const tar_error& damage) {
    fail_at(here(), ended_ ? errc::truncated : errc::corrupt_compression, "the archive is damaged: {}", damage.what());
  }
}

void source::choose_member() {
  if (!begins_as_tar(head(tar_block))) return;
  if (const std::string missing = why_no_archives(); !missing.empty()) {
    fail_at({.path = path_}, errc::unsupported, "a tar archive: {}", missing);
  }
  archive_head_ = std::exchange(head_, {});
  const auto open_archive = [&] {
    with_archive([&](auto& tar) {
      tar =
          std::make_unique<tar_reader>([this](char* to, std::size_t capacity) { return read_expanded(to, capacity); });
    });
  };
  const auto next_file = [&] { return with_archive([&](auto& tar) { return tar->next(member_); }); };

  open_archive();
  name_list files, matrices;
  std::int64_t last_matrix = 0;
  while (next_file()) {
    if (is_preferred(member_)) return;
    files.add(member_);
    if (!is_matrix_file(member_)) continue;
    matrices.add(member_);
    last_matrix = files.count();
  }
  if (!options_.member.empty()) {
    fail_at({.path = path_}, errc::invalid_argument, "member = {}: is not in the archive, which holds {}",
            files::quoted(options_.member), files.text());
  }
  if (matrices.count() == 0) {
    fail_at({.path = path_}, errc::unsupported, "the archive holds no matrix (.mtx, .rb), but {}", files.text());
  }
  if (matrices.count() > 1) {
    fail_at({.path = path_}, errc::invalid_argument, "member: must say which, the archive holds {}", matrices.text());
  }
  read_again_from_start();
  open_archive();
  for (std::int64_t k = 0; k < last_matrix; ++k) next_file();
}

bool source::is_preferred(std::string_view name) const {
  name = without_dot_slash(name);
  return options_.member.empty() ? is_named_like_its_folder(name) : name == without_dot_slash(options_.member);
}

void source::read_again_from_start() {
  if (file_.get() >= 0 && ::lseek(file_.get(), 0, SEEK_SET) != 0) {
    fail_at({.path = path_}, errc::unsupported, "member: must name one, an archive from a pipe is not read twice");
  }
  in_memory_ = stored_;
  stream_.avail_in = 0;
  stored_read_ = produced_ = 0;
  next_report_ = report_every;
  ended_ = false;
  inside_gzip_ = true;
  if (compressed_) inflateReset(&stream_);
}

std::size_t source::read_member(char* to, std::size_t capacity) {
  if (member_ended_) return 0;
  const std::size_t size = with_archive([&](auto& tar) { return tar->read(to, capacity); });
  // A sparse file in an archive expands without any compression.
  member_produced_ += static_cast<std::int64_t>(size);
  check_expansion(member_produced_);
  member_ended_ = size == 0;
  if (member_ended_) finish_archive();
  return size;
}

void source::finish_archive() {
  std::string name;
  while (with_archive([&](auto& tar) { return tar->next(name); })) {
    if (!is_preferred(name)) continue;
    fail_at({.path = path_}, errc::invalid_argument, "member: must say which, the archive holds {}, {}",
            files::quoted(member_), files::quoted(name));
  }
  // Reads the closing blocks of zeros, which makes zlib compare gzip's checksum.
  for (char zeros[tar_block]; read_expanded(zeros, sizeof zeros) > 0;) {
  }
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
  const bool as_stored = !compressed_ && tar_ == nullptr;
  if (as_stored && file_.get() < 0) return take_whole(stored_);
  constexpr std::size_t least = std::size_t{64} << 10;
  const errc code = as_stored ? errc::out_of_memory : errc::decompression_limit;
  std::size_t size = 0;
  if (as_stored && stored_bytes_ > 0) {
    // One byte more, so that the end is seen without reallocating.
    require_memory(0, stored_bytes_ + 1, "the file", {.path = path_}, code);
    whole_.reserve(0, static_cast<std::size_t>(stored_bytes_) + 1);
  }
  for (std::size_t more = 1; more > 0; size += more) {
    if (size == whole_.capacity()) {
      const std::size_t wanted = std::max(least, size / 2);
      require_memory(static_cast<std::int64_t>(size), static_cast<std::int64_t>(wanted), "the content", here(), code);
      whole_.reserve(size, wanted);
    }
    more = read(whole_.data() + size, std::min(whole_.capacity() - size, content_piece));
  }
  content_ = std::string_view(whole_.data(), size);
  return *content_;
}

std::string_view source::mapped_content() {
  const bool can_be_mapped = !content_ && !compressed_ && tar_ == nullptr && regular_ && stored_bytes_ > 0;
  if (!can_be_mapped || !whole_.map(file_.get(), static_cast<std::size_t>(stored_bytes_))) return content();
  return take_whole({whole_.data(), whole_.capacity()});
}

std::string_view source::take_whole(std::string_view content) {
  content_ = content;
  stored_read_ = stored_bytes_;
  stream_.avail_in = 0;
  report_progress(true);
  return content;
}

void source::require_memory(std::int64_t held, std::int64_t more, std::string_view what, const file_location& where,
                            errc code) const {
  // Asking the system costs as much as filling this.
  constexpr std::int64_t harmless = std::int64_t{16} << 20;
  if (!options_.max_memory_bytes && more < harmless) return;
  const std::int64_t available =
      options_.max_memory_bytes ? *options_.max_memory_bytes - held : core::measure_memory().least();
  if (more <= available) return;
  const std::int64_t needed = more > std::numeric_limits<std::int64_t>::max() - held ? more : held + more;
  fail_at(where, code, "{}: needs {} of memory, {} are available", what, core::bytes_text(needed),
          core::bytes_text(available + held));
}

std::int64_t source::holdable(std::int64_t announced, std::int64_t bytes) const {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (compressed_ || tar_ != nullptr) {
    most = options_.max_expanded_bytes;
    const double by_ratio = options_.max_expansion_ratio * static_cast<double>(stored_bytes_);
    if (stored_bytes_ > 0 && by_ratio < static_cast<double>(most)) {
      most = std::max(static_cast<std::int64_t>(by_ratio), harmless_expansion);
    }
  } else if (stored_bytes_ > 0) {
    most = stored_bytes_;
  }
  return std::min(announced, most / bytes + 1);
}

std::size_t source::read_on(char* to, std::size_t capacity) {
  return tar_ != nullptr ? read_member(to, capacity) : read_expanded(to, capacity);
}

std::size_t source::read_expanded(char* to, std::size_t capacity) {
  if (!archive_head_.empty()) {
    const std::size_t size = archive_head_.copy(to, capacity);
    archive_head_.erase(0, size);
    return size;
  }
  if (ended_) return 0;
  const std::size_t size = compressed_ ? inflate_some(to, capacity) : read_plain(to, capacity);
  produced_ += static_cast<std::int64_t>(size);
  if (compressed_) check_expansion(produced_);
  ended_ = size == 0;
  report_progress(ended_);
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
      if (size == 0 && capacity > 0) require_unchanged();
      return static_cast<std::size_t>(size);
    }
    if (errno != EINTR) fail_at({.path = path_}, errc::io_error, "cannot be read: {}", system_message(errno));
  }
}

void source::require_unchanged() const {
  if (!regular_) return;
  if (stored_read_ < stored_bytes_) {
    fail_at({.path = path_, .byte = stored_read_}, errc::truncated,
            "the file was shortened while it was read: it had {} bytes when it was opened", stored_bytes_);
  }
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    fail_at({.path = path_}, errc::io_error, "cannot be examined: {}", system_message(errno));
  }
  // Files in /proc claim to be empty.
  const bool is_longer = stored_bytes_ > 0 && stored_read_ > stored_bytes_;
  const timespec& modified = status.st_mtim;
  const bool is_rewritten = modified.tv_sec != modified_.tv_sec || modified.tv_nsec != modified_.tv_nsec;
  if (is_longer || is_rewritten) {
    fail_at({.path = path_, .byte = stored_read_}, errc::io_error, "the file was written while it was read");
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
    if (!inside_gzip_ && !begin_next_gzip()) break;
    if (stream_.avail_in == 0 && !refill_chunk()) {
      fail_at(here(), errc::truncated, "the compressed stream ends too early");
    }
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      inside_gzip_ = false;
    } else if (status == Z_MEM_ERROR) {
      fail_at({.path = path_}, errc::out_of_memory, "no memory for decompression");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_at(here(), errc::corrupt_compression, "the compressed stream is damaged: {}",
              stream_.msg != nullptr ? stream_.msg : zError(status));
    }
  }
  return capacity - stream_.avail_out;
}

bool source::begin_next_gzip() {
  while (stream_.avail_in < sizeof gzip_magic && refill_chunk()) {
  }
  if (stream_.avail_in == 0) return false;
  if (!begins_with_magic(stream_.next_in, stream_.avail_in)) {
    fail_at(here(), errc::corrupt_compression, "what follows the compressed stream is not gzip");
  }
  inflateReset(&stream_);
  inside_gzip_ = true;
  return true;
}

void source::check_expansion(std::int64_t expanded) const {
  if (expanded > options_.max_expanded_bytes) {
    fail_at(here(), errc::decompression_limit, "expands beyond max_expanded_bytes = {}", options_.max_expanded_bytes);
  }
  const std::int64_t stored = stored_bytes_ > 0 ? stored_bytes_ : stored_position();
  if (expanded > harmless_expansion &&
      static_cast<double>(expanded) > options_.max_expansion_ratio * static_cast<double>(stored)) {
    fail_at(here(), errc::decompression_limit, "{} bytes expand beyond max_expansion_ratio = {}", stored,
            options_.max_expansion_ratio);
  }
}

void source::report_progress(bool at_end) {
  if (!options_.progress || (!at_end && produced_ < next_report_)) return;
  next_report_ = produced_ + report_every;
  reported_ = std::max(reported_, stored_position());  // never back, though an archive may be read twice
  if (!options_.progress(reported_, stored_bytes_)) fail_at(here(), errc::cancelled, "reading was cancelled");
}

}  // namespace bcsc::files
