#include "converters/files/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace bcsc::files {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t version_bytes = 2;

/// The Python literals that a header is made of, one after the other.
class literals {
 public:
  literals(std::string_view text, const file_location& where) : text_(text), where_(where) {}

  bool takes(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void require(char c) {
    if (!takes(c)) fail(std::string("needs a '") + c + "'");
  }
  /// Text between quotes of either kind; escapes have no place in a header.
  std::string_view quoted_text() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("needs a quoted text");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("has a text without end");
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    if (inner.find('\\') != std::string_view::npos) fail("has an escape");
    at_ = end + 1;
    return inner;
  }
  bool truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("needs True or False");
  }
  std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> all;
    require('(');
    while (!takes(')')) {
      if (!all.empty()) {
        require(',');
        if (takes(')')) return all;
      }
      all.push_back(size());
    }
    if (all.size() == 1) fail("writes a tuple of one without its comma");
    return all;
  }
  /// Nothing but the padding is left.
  void require_end() {
    skip_blanks();
    if (at_ != text_.size()) fail("goes on behind its end");
  }
  [[noreturn]] void fail(const std::string& what) const {
    fail_at(where_, errc::parse_error, "the array's header {}, at {}", what, files::quoted(text_.substr(at_)));
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::int64_t size() {
    skip_blanks();
    std::int64_t number = 0;
    const char* const first = text_.data() + at_;
    const auto [next, ec] = std::from_chars(first, text_.data() + text_.size(), number);
    if (ec == std::errc::result_out_of_range) {
      fail_at(where_, errc::size_overflow, "the array's shape {}: does not fit 63 bits",
              files::quoted(text_.substr(at_)));
    }
    if (ec != std::errc() || number < 0) fail("needs a size");
    at_ += static_cast<std::size_t>(next - first);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2's long integers
    return number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const file_location& where_;
};

struct number_row {
  char letter;
  number_kind kind;
  std::array<std::size_t, 4> bytes;
};
constexpr std::array<number_row, 5> number_rows{{{'b', number_kind::boolean, {1}},
                                                 {'i', number_kind::signed_integer, {1, 2, 4, 8}},
                                                 {'u', number_kind::unsigned_integer, {1, 2, 4, 8}},
                                                 {'f', number_kind::real, {2, 4, 8}},
                                                 {'c', number_kind::complex, {8, 16}}}};

/// Decodes a type such as "<f8".
void read_descr(std::string_view descr, npy_header& header, const file_location& where) {
  const auto refuse = [&](errc code, const char* why) {
    fail_at(where, code, "dtype {}: {}", files::quoted(descr), why);
  };
  header.descr = descr;
  if (descr.size() < 2) refuse(errc::parse_error, "is none");
  const char order = descr[0];
  header.kind = descr[1];
  if (order != '<' && order != '>' && order != '|' && order != '=') refuse(errc::parse_error, "has no byte order");
  if (header.kind == 'O') refuse(errc::unsupported, "arrays of objects are pickled programs, and are never loaded");

  const std::string_view digits = descr.substr(2);
  std::size_t count = 0;
  const auto [next, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool is_text = header.kind == 'S' || header.kind == 'U';
  const auto row = std::ranges::find(number_rows, header.kind, &number_row::letter);
  if (!is_text && row == number_rows.end()) refuse(errc::unsupported, "holds neither numbers nor text");
  constexpr std::size_t longest_item = std::size_t{1} << 31;  // NumPy's own limit
  if (ec != std::errc() || next != digits.data() + digits.size() || count >= longest_item) {
    refuse(errc::parse_error, "has no size");
  }
  header.item_bytes = header.kind == 'U' ? 4 * count : count;
  // '|' says that there is no byte order, '=' that it is the writer's: taken for ours, as NumPy does.
  header.number.order = order == '<' ? std::endian::little : order == '>' ? std::endian::big : std::endian::native;
  if (is_text) return;
  if (count == 0 || std::ranges::find(row->bytes, count) == row->bytes.end()) {
    refuse(errc::unsupported, "numbers of this size are not read");
  }
  if (order == '|' && count > 1) refuse(errc::parse_error, "has no byte order");
  header.number.kind = row->kind;
  header.number.bytes = count;
}

void count_items(npy_header& header, const file_location& where) {
  // Not by the product alone: a size of 0 must not hide what the others say.
  std::int64_t bytes = static_cast<std::int64_t>(std::max<std::size_t>(header.item_bytes, 1));
  for (const std::int64_t size : header.shape) {
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) {
      fail_at(where, errc::size_overflow, "the array's shape: its bytes do not fit 63 bits");
    }
    header.num_items *= size;
  }
}

}  // namespace

std::size_t npy_preamble::preamble_bytes(std::string_view head, const file_location& where) {
  if (head.size() < min_bytes || !head.starts_with(magic)) fail_at(where, errc::bad_banner, "is not a NumPy array");
  const int major = static_cast<unsigned char>(head[magic.size()]);
  const int minor = static_cast<unsigned char>(head[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    fail_at(where, errc::unsupported, "NumPy array of version {}.{}: 1.0, 2.0 and 3.0 are read", major, minor);
  }
  return magic.size() + version_bytes + (major == 1 ? sizeof(std::uint16_t) : sizeof(std::uint32_t));
}

std::size_t npy_preamble::header_bytes(std::string_view preamble, const file_location& where) {
  const char* const at = preamble.data() + magic.size() + version_bytes;
  const bool is_short = preamble.size() == magic.size() + version_bytes + sizeof(std::uint16_t);
  const std::size_t bytes = is_short ? load<std::uint16_t>(at, std::endian::little)  //
                                     : load<std::uint32_t>(at, std::endian::little);
  if (bytes > max_npy_header) {
    fail_at(where, errc::parse_error, "the array's header announces {} bytes: at most {} are read", bytes,
            max_npy_header);
  }
  return bytes;
}

npy_header parse_npy_header(std::string_view text, const file_location& where) {
  npy_header header;
  literals in(text, where);
  bool has_descr = false, has_order = false, has_shape = false;
  const auto once = [&](bool& had) {
    if (had) in.fail("says something twice");
    had = true;
  };
  in.require('{');
  for (bool first = true; !in.takes('}'); first = false) {
    if (!first) {
      in.require(',');
      if (in.takes('}')) break;
    }
    const std::string_view key = in.quoted_text();
    in.require(':');
    if (key == "descr") {
      once(has_descr);
      if (in.takes('[')) fail_at(where, errc::unsupported, "the array holds records, not numbers");
      read_descr(in.quoted_text(), header, where);
    } else if (key == "fortran_order") {
      once(has_order);
      header.fortran_order = in.truth();
    } else if (key == "shape") {
      once(has_shape);
      header.shape = in.sizes();
    } else {
      in.fail("has a key that does not belong there");
    }
  }
  in.require_end();
  if (!has_descr || !has_order || !has_shape) in.fail("lacks descr, fortran_order or shape");
  count_items(header, where);
  return header;
}

std::string make_npy_header(std::string_view descr, const std::vector<std::int64_t>& shape, bool fortran_order) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += core::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);  // only a tuple of one keeps its comma
  if (shape.size() == 1) sizes.pop_back();
  std::string text = core::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", descr,
                                  fortran_order ? "True" : "False", sizes);

  constexpr std::size_t alignment = 64;
  const std::size_t before = magic.size() + version_bytes + sizeof(std::uint16_t);
  const std::size_t padding = alignment - (before + text.size() + 1) % alignment;
  text.append(padding % alignment, ' ');
  text += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace bcsc::files
