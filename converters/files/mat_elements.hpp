#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/files/binary_numbers.hpp"
#include "converters/files/expansion.hpp"
#include "converters/files/location.hpp"
#include "converters/files/source.hpp"

/// What MATLAB's level 5 files are made of: data elements, each a tag (type, bytes) and data, one inside the other.
/// Source: The MathWorks, "MAT-File Format".
namespace bcsc::files::mat {

enum class element_type : std::uint32_t {
  int8 = 1,
  uint8 = 2,
  int16 = 3,
  uint16 = 4,
  int32 = 5,
  uint32 = 6,
  single = 7,
  real64 = 9,
  int64 = 12,
  uint64 = 13,
  matrix = 14,
  compressed = 15,
  utf8 = 16,
  utf16 = 17,
  utf32 = 18
};

/// Facts of the whole file.
struct file_facts {
  std::string path;
  std::endian order = std::endian::little;
  bool has_offsets = true;  ///< false where the file itself is compressed: positions are not those of the stored bytes
};

/// A stretch of the file, or of what a compressed element of it expands to.
struct stretch {
  const file_facts* file = nullptr;
  std::string_view bytes;
  std::int64_t offset = 0;                       ///< of the first byte, in the file or in the expanded element
  std::optional<std::int64_t> compressed = {};   ///< where that element lies in the file
  std::shared_ptr<const byte_block> owner = {};  ///< of expanded bytes

  stretch part(std::size_t from, std::size_t size) const;
  file_location where(std::size_t at = 0) const;
  /// Throws with the place of byte `at`.
  template <class... Args>
  [[noreturn]] void fail(std::size_t at, errc code, fmt::format_string<Args...> message, Args&&... args) const {
    const std::string text = core::format(message, std::forward<Args>(args)...);
    if (!compressed) fail_at(where(at), code, "{}", text);
    fail_at(where(at), code, "byte {} of a variable as expanded: {}", offset + static_cast<std::int64_t>(at), text);
  }
};

struct element {
  element_type type = element_type::matrix;
  stretch data;

  /// How its numbers are stored; nothing if it holds none.
  std::optional<number_type> numbers() const;
  template <class... Args>
  [[noreturn]] void fail(errc code, fmt::format_string<Args...> message, Args&&... args) const {
    data.fail(0, code, message, std::forward<Args>(args)...);
  }
};

/// A list of numbers that an element holds.
struct number_list {
  element from;
  number_type type;
  std::int64_t size = 0;

  /// Converts the numbers first .. first + count - 1, which must be there. Returns how many fit T before one does not.
  template <class T>
  std::size_t decode(std::size_t first, std::size_t count, T* to) const {
    return files::decode(type, from.data.bytes.data() + first * type.bytes, count, to);
  }
  /// All of them. Throws error{size_overflow} for what does not fit 63 bits.
  std::vector<std::int64_t> integers(const char* what) const;
};

/// Takes the elements of a stretch in order.
class element_reader {
 public:
  explicit element_reader(stretch in) : in_(std::move(in)) {}

  bool at_end() const { return at_ == in_.bytes.size(); }
  /// Throws error{truncated | parse_error}.
  element next(const char* what);
  /// The next element, which must hold numbers; integers, unless `reals`. Throws error{truncated | parse_error}.
  number_list numbers(const char* what, bool reals = false);
  /// The next element, which must hold text of 8-bit characters; its bytes. Throws error{truncated | parse_error}.
  std::string_view text(const char* what);
  const stretch& in() const { return in_; }

 private:
  stretch in_;
  std::size_t at_ = 0;
};

/// What a compressed element expands to: one matrix element, from its tag on. At most `most` bytes of it, if that is
/// given; else all, and the checksum has been compared. Throws error{corrupt_compression | truncated | parse_error |
/// decompression_limit | cancelled}.
stretch expand(const element& compressed, expansion_meter& meter, std::optional<std::size_t> most = {});

}  // namespace bcsc::files::mat
