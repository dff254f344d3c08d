#include "converters/files/mat_elements.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

namespace bcsc::files::mat {
namespace {

constexpr std::size_t tag_bytes = 8;

struct number_row {
  element_type type;
  number_kind kind;
  std::size_t bytes;
};
constexpr std::array<number_row, 10> number_rows{{{element_type::int8, number_kind::signed_integer, 1},
                                                  {element_type::uint8, number_kind::unsigned_integer, 1},
                                                  {element_type::int16, number_kind::signed_integer, 2},
                                                  {element_type::uint16, number_kind::unsigned_integer, 2},
                                                  {element_type::int32, number_kind::signed_integer, 4},
                                                  {element_type::uint32, number_kind::unsigned_integer, 4},
                                                  {element_type::single, number_kind::real, 4},
                                                  {element_type::real64, number_kind::real, 8},
                                                  {element_type::int64, number_kind::signed_integer, 8},
                                                  {element_type::uint64, number_kind::unsigned_integer, 8}}};

/// A deflate stream with zlib's header, ended in every case.
class inflater {
 public:
  explicit inflater(std::string_view stored) : left_(stored) {
    if (inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
  }
  ~inflater() { inflateEnd(&stream_); }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;

  /// Fills `to` as far as the stream goes; returns zlib's status, Z_BUF_ERROR if the stored bytes end too early.
  int read(char* to, std::size_t capacity, std::size_t& size) {
    constexpr std::size_t most = std::size_t{1} << 30;  // zlib counts in 32 bits
    size = 0;
    while (size < capacity) {
      if (stream_.avail_in == 0) {
        const std::size_t piece = std::min(left_.size(), most);
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left_.data()));
        stream_.avail_in = static_cast<uInt>(piece);
        left_.remove_prefix(piece);
      }
      const auto room = static_cast<uInt>(std::min(capacity - size, most));
      stream_.next_out = reinterpret_cast<Bytef*>(to + size);
      stream_.avail_out = room;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      size += room - stream_.avail_out;
      if (status != Z_OK) return status;
    }
    return Z_OK;
  }
  const char* message(int status) const { return stream_.msg != nullptr ? stream_.msg : zError(status); }

 private:
  std::string_view left_;
  z_stream stream_{};
};

}  // namespace

stretch stretch::part(std::size_t from, std::size_t size) const {
  stretch inner = *this;
  inner.bytes = bytes.substr(from, size);
  inner.offset += static_cast<std::int64_t>(from);
  return inner;
}

file_location stretch::where(std::size_t at) const {
  file_location place{.path = file->path};
  if (file->has_offsets) place.byte = compressed ? *compressed : offset + static_cast<std::int64_t>(at);
  return place;
}

std::optional<number_type> element::numbers() const {
  const auto row = std::ranges::find(number_rows, type, &number_row::type);
  if (row == number_rows.end()) return std::nullopt;
  return number_type{row->kind, row->bytes, data.file->order};
}

std::vector<std::int64_t> number_list::integers(const char* what) const {
  std::vector<std::int64_t> list(static_cast<std::size_t>(size));
  const std::size_t decoded = decode(0, list.size(), list.data());
  if (decoded < list.size()) {
    from.data.fail(decoded * type.bytes, errc::size_overflow, "the {}: number {} does not fit 63 bits", what, decoded);
  }
  return list;
}

element element_reader::next(const char* what) {
  const std::size_t left = in_.bytes.size() - at_;
  if (left < tag_bytes) in_.fail(at_, errc::truncated, "ends before the {}", what);
  const std::endian order = in_.file->order;
  const char* const tag = in_.bytes.data() + at_;
  const auto first = load<std::uint32_t>(tag, order);
  const std::uint32_t small_size = first >> 16;
  if (small_size != 0) {
    // Up to four bytes of data share the eight of the tag.
    if (small_size > 4) {
      in_.fail(at_, errc::parse_error, "the {}: a small element of {} bytes holds at most 4", what, small_size);
    }
    element small{static_cast<element_type>(first & 0xffff), in_.part(at_ + 4, small_size)};
    at_ += tag_bytes;
    return small;
  }
  const auto size = std::size_t{load<std::uint32_t>(tag + 4, order)};
  if (size > left - tag_bytes) {
    in_.fail(at_, errc::truncated, "the {} announces {} bytes, {} are left", what, size, left - tag_bytes);
  }
  element found{static_cast<element_type>(first), in_.part(at_ + tag_bytes, size)};
  // Data are padded to eight bytes, except for compressed ones. (The last may lack padding.)
  const std::size_t padding = found.type == element_type::compressed ? 0 : (8 - size % 8) % 8;
  at_ += std::min(left, tag_bytes + size + padding);
  return found;
}

number_list element_reader::numbers(const char* what, bool reals) {
  element found = next(what);
  const auto type = found.numbers();
  if (!type || (!reals && !type->is_integer())) {
    found.fail(errc::parse_error, "the {}: element type {} holds no {}", what, static_cast<std::uint32_t>(found.type),
               reals ? "numbers" : "integers");
  }
  const std::size_t bytes = found.data.bytes.size();
  if (bytes % type->bytes != 0) {
    found.fail(errc::parse_error, "the {}: {} bytes are not a whole number of {}", what, bytes, type->bytes);
  }
  const auto size = static_cast<std::int64_t>(bytes / type->bytes);
  return {std::move(found), *type, size};
}

std::string_view element_reader::text(const char* what) {
  const element found = next(what);
  if (found.type != element_type::int8 && found.type != element_type::uint8 && found.type != element_type::utf8) {
    found.fail(errc::parse_error, "the {}: element type {} holds no text", what,
               static_cast<std::uint32_t>(found.type));
  }
  return found.data.bytes;
}

stretch expand(const element& compressed, expansion_meter& meter, std::optional<std::size_t> most) {
  stretch out = compressed.data;
  out.compressed = compressed.data.offset;
  out.offset = 0;
  const file_location where = out.where();
  inflater stream(compressed.data.bytes);
  const auto block = std::make_shared<byte_block>();
  std::size_t size = 0;
  // Reads on up to `end`; false if the stream ends before.
  const auto read_to = [&](std::size_t end) {
    constexpr std::size_t piece = std::size_t{1} << 20;
    while (size < end) {
      const std::size_t more = std::min(end - size, piece);
      block->reserve(size, more);
      std::size_t expanded = 0;
      const int status = stream.read(block->data() + size, more, expanded);
      size += expanded;
      meter.count(static_cast<std::int64_t>(expanded), where);
      if (status == Z_STREAM_END) return size == end;
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      if (status == Z_BUF_ERROR) fail_at(where, errc::truncated, "a compressed variable ends too early");
      if (status != Z_OK) {
        fail_at(where, errc::corrupt_compression, "a compressed variable is damaged: {}", stream.message(status));
      }
    }
    return true;
  };
  const auto finished = [&] {
    out.owner = block;
    out.bytes = {block->data(), size};
    return out;
  };

  if (!read_to(tag_bytes)) fail_at(where, errc::truncated, "a compressed variable expands to {} bytes", size);
  const std::endian order = out.file->order;
  const auto type = static_cast<element_type>(load<std::uint32_t>(block->data(), order));
  if (type != element_type::matrix) {
    fail_at(where, errc::parse_error, "a compressed variable expands to element type {}, not to a matrix",
            static_cast<std::uint32_t>(type));
  }
  const std::size_t total = tag_bytes + load<std::uint32_t>(block->data() + 4, order);
  if (most && *most < total) {
    read_to(*most);
    return finished();
  }
  meter.require_permitted(static_cast<std::int64_t>(total - size), where);
  meter.require_memory(static_cast<std::int64_t>(total), where);
  if (!read_to(total)) {
    fail_at(where, errc::truncated, "a compressed variable expands to {} bytes, and announces {}", size, total);
  }
  // One byte more, which must not be there, makes zlib compare the checksum.
  if (read_to(total + 1))
    fail_at(where, errc::trailing_data, "a compressed variable expands to more than {} bytes", total);
  return finished();
}

}  // namespace bcsc::files::mat
