#pragma once

#include <zlib.h>

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "converters/files/tar.hpp"

/// Where readers get their bytes from: memory stays constant however long the file.
namespace bcsc::files {

/// zlib's windowBits for "a gzip header, nothing else, and the largest window".
inline constexpr int gzip_window_bits = 15 + 16;

/// A POSIX file descriptor with an owner.
class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { close(); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  int get() const { return number_; }
  /// Closes it; returns 0 or errno.
  int close() noexcept;

 private:
  int number_;
};

/// zlib's state, released with its owner.
struct inflate_stream : z_stream {
  inflate_stream() : z_stream{} {}
  ~inflate_stream() {
    if (state != nullptr) inflateEnd(this);
  }
  inflate_stream(const inflate_stream&) = delete;
  inflate_stream& operator=(const inflate_stream&) = delete;
};

/// Bytes that a file is mapped to, or that were collected without knowing how many would come.
class byte_block {
 public:
  byte_block() = default;
  ~byte_block();
  byte_block(const byte_block&) = delete;
  byte_block& operator=(const byte_block&) = delete;

  /// Maps the first `size` bytes of a regular file, to be read only; false where that cannot be done.
  bool map(int file, std::size_t size);
  /// Room for at least `least` further bytes, after the `kept` in use. Throws std::bad_alloc.
  void reserve(std::size_t kept, std::size_t least);
  char* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  bool mapped_ = false;
};

/// A file's content in order, decompressed on the way if it begins with gzip's magic bytes (RFC 1952; any number of
/// members). Of a tar archive the content is that of one file in it: read_options::member; else the matrix file named
/// like its folder (NAME/NAME.mtx, as the SuiteSparse collection ships them); else the only matrix file.
/// Reports progress, and enforces the limits of decompression.
class source {
 public:
  /// Throws error{io_error} if `path` cannot be opened or is a directory, error{unsupported} for other compressions,
  /// archives that this build cannot read, and archives without a matrix, error{invalid_argument} if
  /// read_options::member is needed, or names nothing, and what read() throws.
  source(const std::filesystem::path& path, const read_options& options);
  /// The content of a file named `name` that lies in memory already; `stored` must outlive the source.
  source(std::string_view stored, std::string name, const read_options& options);
  source(const source&) = delete;
  source& operator=(const source&) = delete;

  /// Puts 1 .. capacity bytes at `to`, or returns 0 at the end of the content. Throws error{io_error | truncated |
  /// corrupt_compression | decompression_limit | cancelled}, the last four with the offset into the stored file.
  std::size_t read(char* to, std::size_t capacity);

  /// The first `most` bytes of the content, or all of a shorter one; read() still returns them.
  std::string_view head(std::size_t most = 4096);

  /// All of the content, from its first byte, until the source is gone: for readers of binary formats. Nothing may have
  /// been read() before; head() may have been called. What lies in memory is handed out as it is, anything else is read
  /// to its end, within the limits of decompression and of memory. read() returns 0 afterwards. Throws as read(),
  /// error{out_of_memory}, and std::bad_alloc.
  std::string_view content();
  /// The same, but a plain regular file is mapped: a process that shortens it meanwhile kills its readers (SIGBUS).
  std::string_view mapped_content();

  /// Requires that `more` bytes can be had on top of the `held` ones that `what` (its name in the message) has already
  /// taken: of read_options' memory, or of what memory there is. Throws error{code}.
  void require_memory(std::int64_t held, std::int64_t more, std::string_view what, const file_location& where,
                      errc code = errc::out_of_memory) const;

  const std::string& path() const { return path_; }
  /// The path of the content inside its archive; empty if there is none.
  const std::string& member() const { return member_; }
  const read_options& options() const { return options_; }
  bool compressed() const { return compressed_; }
  /// Bytes of the file as stored; 0 if unknown (a pipe).
  std::int64_t stored_bytes() const { return stored_bytes_; }
  /// Bytes of content that the file can be expected to hold; a compressed one may hold more. 0 if unknown (a pipe).
  std::int64_t credible_bytes() const { return compressed_ ? 8 * stored_bytes_ : stored_bytes_; }
  /// How many of `announced` things of at least `bytes` bytes the content can hold, if it expands as far as it may.
  std::int64_t holdable(std::int64_t announced, std::int64_t bytes) const;
  /// The initial size of a buffer that grows up to `most`: small for small files.
  std::size_t first_buffer(std::size_t most) const;

 private:
  void recognise_compression();
  /// As read(), past what head() has kept.
  std::size_t read_on(char* to, std::size_t capacity);
  /// The same of the archive, if it is one, rather than of the file in it.
  std::size_t read_expanded(char* to, std::size_t capacity);
  std::size_t read_member(char* to, std::size_t capacity);
  /// Finds the file of an archive that is to be read, and leaves tar_ at its first byte.
  void choose_member();
  /// Whether an archive's file of that name is taken without looking at those after it.
  bool is_preferred(std::string_view name) const;
  /// Goes through what follows the member: it may be damaged, or hold a second one that is just as preferred.
  void finish_archive();
  void read_again_from_start();
  /// Calls `use` on tar_; damage becomes an error of this file.
  template <class F>
  auto with_archive(F&& use);
  std::size_t read_stored(char* to, std::size_t capacity);
  /// Requires, at the end of a regular file, that it is as long as when it was opened and has not been written since.
  void require_unchanged() const;
  std::size_t read_plain(char* to, std::size_t capacity);
  std::size_t inflate_some(char* to, std::size_t capacity);
  /// Moves what is left of the stored chunk to its front and reads on after it; false at the end of the file.
  bool refill_chunk();
  /// At the end of one of gzip's members: true if another begins here, false at the end of the file.
  bool begin_next_gzip();
  void check_expansion(std::int64_t expanded) const;
  /// Makes what lies in memory the content.
  std::string_view take_whole(std::string_view content);
  void report_progress(bool at_end);
  std::int64_t stored_position() const { return stored_read_ - static_cast<std::int64_t>(stream_.avail_in); }
  file_location here() const { return {.path = path_, .byte = stored_position()}; }

  std::string path_;
  read_options options_;
  descriptor file_;             ///< none if the content lies in memory
  bool regular_ = false;        ///< a regular file
  timespec modified_{};         ///< when it was written last, as of its opening
  std::string_view stored_;     ///< the content that lies in memory
  std::string_view in_memory_;  ///< the part of it that has not been read yet
  std::string head_;            ///< decompressed already, for head(); what is left of it is read first
  byte_block whole_;            ///< what content() hands out, where it does not lie in memory anyway
  std::optional<std::string_view> content_;
  std::int64_t stored_bytes_ = 0;
  std::int64_t stored_read_ = 0;  ///< stored bytes taken from the file, the unused ones of the chunk included
  std::int64_t produced_ = 0;     ///< bytes read, decompressed
  std::int64_t next_report_ = 0;  ///< `produced_` at which progress is told next
  std::int64_t reported_ = 0;     ///< the progress reported so far
  bool ended_ = false;            ///< no more bytes to be read
  std::string archive_head_;      ///< decompressed already, for the archive
  std::unique_ptr<tar_reader> tar_;
  std::string member_;
  std::int64_t member_produced_ = 0;
  bool member_ended_ = false;
  bool compressed_ = false;
  bool inside_gzip_ = true;  ///< not between two of gzip's members
  std::vector<char> chunk_;
  inflate_stream stream_;  ///< next_in and avail_in also serve plain files, for the bytes looked at by the constructor
};

}  // namespace bcsc::files
