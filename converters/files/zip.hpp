#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "converters/files/expansion.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/source.hpp"

/// Zip files through libarchive; a build without it (option `archive`) answers error{unsupported}.
namespace bcsc::files {

/// Walks over the members that the directory at the file's end lists, in the order in which they lie.
class zip_reader {
 public:
  /// Throws error{unsupported | bad_banner | truncated | corrupt_compression}.
  explicit zip_reader(source& in);
  ~zip_reader();
  zip_reader(const zip_reader&) = delete;
  zip_reader& operator=(const zip_reader&) = delete;

  /// Goes to the next member; false after the last. Throws error{corrupt_compression | unsupported}.
  bool next();
  const std::string& name() const { return name_; }
  /// The member's size as the directory announces it; -1 if it does not.
  std::int64_t size() const { return size_; }
  /// Where the member's stored bytes begin; the path alone where the file itself is compressed.
  const file_location& where() const { return where_; }

  /// The next bytes of the member, `capacity` of them or all that are left; at its end its checksum has been compared.
  /// Throws error{corrupt_compression | decompression_limit | cancelled}.
  std::size_t read(char* to, std::size_t capacity);

  /// Bytes that a member can hold without being compressed unusually well: what may be allocated beforehand.
  std::int64_t credible_bytes() const { return 8 * static_cast<std::int64_t>(content_.size()); }
  /// Throws error{decompression_limit} if `bytes` of the current member are more than the file may expand to.
  void require_permitted(std::int64_t bytes) const { meter_.require_permitted(bytes, where_); }
  /// Requires memory for `bytes` of the current member. Throws error{out_of_memory}.
  void require_memory(std::int64_t bytes) const { in_.require_memory(0, bytes, name_, where_); }

 private:
  struct archive_handle;

  source& in_;
  std::string_view content_;
  expansion_meter meter_;
  std::string name_;
  std::int64_t size_ = -1;
  file_location where_;
  std::unique_ptr<archive_handle> archive_;
};

/// Writes members one after the other into a sink; equal members give equal bytes.
class zip_writer {
 public:
  /// `compressed`: deflated rather than stored. Throws error{unsupported}.
  zip_writer(sink& out, bool compressed);
  ~zip_writer();
  zip_writer(const zip_writer&) = delete;
  zip_writer& operator=(const zip_writer&) = delete;

  /// Begins a member of `size` bytes, which put() then gets.
  void begin(const std::string& name, std::int64_t size);
  void put(std::string_view bytes);
  /// Writes the directory. The sink is not committed.
  void finish();

 private:
  struct archive_handle;
  std::unique_ptr<archive_handle> archive_;
};

}  // namespace bcsc::files
