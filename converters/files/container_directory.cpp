#include "converters/files/container_directory.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "converters/files/location.hpp"
#include "converters/formats/parallel.hpp"

namespace bcsc::files::container {
namespace {

struct type_row {
  array_type type;
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<type_row, 8> type_rows{{{array_type::bytes, "bytes", 1},
                                             {array_type::u16, "u16", 2},
                                             {array_type::i32, "i32", 4},
                                             {array_type::i64, "i64", 8},
                                             {array_type::fp16, "fp16", 2},
                                             {array_type::bf16, "bf16", 2},
                                             {array_type::fp32, "fp32", 4},
                                             {array_type::fp64, "fp64", 8}}};

const type_row* find_type(std::uint32_t number) {
  const auto* const found = std::ranges::find_if(
      type_rows, [&](const type_row& row) { return static_cast<std::uint32_t>(row.type) == number; });
  return found == type_rows.end() ? nullptr : &*found;
}

std::uint64_t hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

/// Fields of the header and the table, with their place in the file for the message.
class header_reader {
 public:
  header_reader(std::string_view head, const std::string& path) : head_(head), path_(path) {}

  template <class... Args>
  [[noreturn]] void fail(std::uint64_t byte, errc code, fmt::format_string<Args...> message, Args&&... args) const {
    fail_at({.path = path_, .byte = static_cast<std::int64_t>(byte)}, code, message, std::forward<Args>(args)...);
  }

  template <class Record>
  Record record(std::uint64_t at) const {
    if (at > head_.size() || head_.size() - at < sizeof(Record)) {
      fail(head_.size(), errc::truncated, "the file ends inside its header");
    }
    Record read;
    std::memcpy(&read, head_.data() + at, sizeof read);
    return read;
  }

  template <std::size_t Size>
  void require_zeros(const char (&reserved)[Size], std::uint64_t at) const {
    for (std::size_t i = 0; i < Size; ++i) {
      if (reserved[i] != 0) fail(at + i, errc::unsupported, "a reserved byte is not 0: written by a newer version");
    }
  }

 private:
  std::string_view head_;
  const std::string& path_;
};

file_header read_file_header(const header_reader& in, std::string_view head) {
  if (!head.starts_with(magic)) in.fail(0, errc::bad_banner, "does not begin with \"{}\"", magic);
  const auto header = in.record<file_header>(0);
  if (header.version == 0 || header.version > version) {
    in.fail(offsetof(file_header, version), errc::unsupported,
            "version {} of the container: this library reads up to version {}", header.version, version);
  }
  if (header.num_sections > max_sections) {
    in.fail(offsetof(file_header, num_sections), errc::parse_error, "num_sections = {}: must be at most {}",
            header.num_sections, max_sections);
  }
  const std::uint64_t wanted = sizeof(file_header) + std::uint64_t{header.num_sections} * sizeof(section_header);
  if (header.header_bytes != wanted) {
    in.fail(offsetof(file_header, header_bytes), errc::parse_error, "header_bytes = {}: must be {} with {} sections",
            header.header_bytes, wanted, header.num_sections);
  }
  return header;
}

void check_size(const header_reader& in, std::uint64_t at, std::int64_t value, std::int64_t least, const char* name) {
  if (value >= least && value <= max_rows) return;
  in.fail(at, errc::value_out_of_range, "{} = {}: must be {} .. 2^62", name, value, least);
}

/// The formats as files encode them: their numbers, what they use the two parameters for, and the range of each; a
/// parameter without a name must be 0.
struct format_number {
  matrix_format format;
  std::uint32_t number;
  struct parameter {
    const char* name = nullptr;
    std::int64_t least = 0, most = 0;
  };
  std::array<parameter, 2> parameters = {};
};
constexpr std::array<format_number, 8> format_numbers{
    {{matrix_format::coo, 1},
     {matrix_format::csr, 2},
     {matrix_format::csc, 3},
     {matrix_format::bsr, 4, {{{"row_block", 1, max_rows}, {"col_block", 1, max_rows}}}},
     {matrix_format::ell, 5, {{{"block", 1, max_rows}, {"blocks_per_row", 0, max_rows}}}},
     {matrix_format::dense, 6, {{{"layout", 0, 1}}}},
     {matrix_format::bcsc, 7, {{{"m_block", 1, max_rows}}}},
     {matrix_format::compact_bcsc, 8, {{{"m_block", 1, 65536}}}}}};

constexpr std::array<std::pair<value_type, std::uint32_t>, 5> element_numbers{{{value_type::fp32, 1},
                                                                               {value_type::fp64, 2},
                                                                               {value_type::fp16, 3},
                                                                               {value_type::bf16, 4},
                                                                               {value_type::pattern, 5}}};

void read_matrix_fields(const header_reader& in, directory& found) {
  const file_header& header = found.header;
  const auto format = std::ranges::find(format_numbers, header.kind, &format_number::number);
  if (format == format_numbers.end()) {
    in.fail(offsetof(file_header, kind), errc::unsupported, "kind {} of matrix: unknown", header.kind);
  }
  found.format = format->format;
  const auto element =
      std::ranges::find(element_numbers, header.element, &decltype(element_numbers)::value_type::second);
  if (element == element_numbers.end()) {
    in.fail(offsetof(file_header, element), errc::unsupported, "element type {}: unknown", header.element);
  }
  found.element = element->first;
  if (!can_hold(found.format, found.element)) {
    in.fail(offsetof(file_header, element), errc::parse_error, "{}: cannot hold a {}", to_string(found.format),
            to_string(found.element));
  }
  const bool has_indices = found.format != matrix_format::dense;
  if (has_indices ? header.index_bytes != 4 && header.index_bytes != 8 : header.index_bytes != 0) {
    in.fail(offsetof(file_header, index_bytes), errc::parse_error, "index_bytes = {}: must be {}", header.index_bytes,
            has_indices ? "4 or 8" : "0");
  }
  check_size(in, offsetof(file_header, rows), header.rows, 0, "rows");
  check_size(in, offsetof(file_header, cols), header.cols, 0, "cols");
  check_size(in, offsetof(file_header, num_values), header.num_values, 0, "num_values");
  for (std::size_t i = 0; i < format->parameters.size(); ++i) {
    const auto& [name, least, most] = format->parameters[i];
    const std::int64_t value = header.parameters[i];
    if (value >= least && value <= most) continue;
    in.fail(offsetof(file_header, parameters) + 8 * i, errc::value_out_of_range, "{} = {}: must be {} .. {}",
            name != nullptr ? name : "an unused parameter", value, least, most);
  }
  in.require_zeros(header.reserved, offsetof(file_header, reserved));
}

std::string name_of(const header_reader& in, const section_header& row, std::uint64_t at) {
  const std::string_view field(row.name, sizeof row.name);
  const std::string_view name = field.substr(0, field.find('\0'));
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || !std::ranges::all_of(name, fits) ||
      field.find_first_not_of('\0', name.size()) != std::string_view::npos) {
    in.fail(at, errc::parse_error, "a section's name is {}: must be letters a-z, digits and _, filled up with zeros",
            quoted(field));
  }
  return std::string(name);
}

section read_section(const header_reader& in, std::uint64_t at, std::uint64_t offset, std::uint64_t file_bytes) {
  const auto row = in.record<section_header>(at);
  const std::string name = name_of(in, row, at);
  const type_row* const type = find_type(row.type);
  if (type == nullptr) {
    in.fail(at + offsetof(section_header, type), errc::unsupported, "section {}: element type {} is unknown", name,
            row.type);
  }
  if ((row.flags & ~section_header::required) != 0) {
    in.fail(at + offsetof(section_header, flags), errc::unsupported, "section {}: flags {:#x} are unknown", name,
            row.flags);
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(row.count, type->bytes, &bytes)) {
    in.fail(at + offsetof(section_header, count), errc::size_overflow, "section {}: {} entries of {} do not fit", name,
            row.count, type->name);
  }
  if (row.bytes != bytes) {
    in.fail(at + offsetof(section_header, bytes), errc::parse_error,
            "section {}: bytes = {}: must be {}, for {} entries of {}", name, row.bytes, bytes, row.count, type->name);
  }
  if (row.offset != offset) {
    in.fail(at + offsetof(section_header, offset), errc::parse_error,
            "section {}: offset = {}: must be {}, the first multiple of {} behind what comes before it", name,
            row.offset, offset, alignment);
  }
  if (offset > file_bytes || bytes > file_bytes - offset) {
    in.fail(at + offsetof(section_header, bytes), errc::parse_error,
            "section {}: {} bytes at {} reach beyond the file's {}", name, bytes, offset, file_bytes);
  }
  if (row.reserved != 0) {
    in.fail(at + offsetof(section_header, reserved), errc::unsupported,
            "section {}: a reserved field is not 0: written by a newer version", name);
  }
  return {.name = name,
          .type = type->type,
          .is_required = (row.flags & section_header::required) != 0,
          .offset = offset,
          .count = row.count,
          .bytes = bytes,
          .checksum = row.checksum,
          .entry = at};
}

void require_zeros_between(std::string_view content, std::uint64_t from, std::uint64_t to, const std::string& path) {
  const std::size_t at = content.substr(0, to).find_first_not_of('\0', from);
  if (at == std::string_view::npos) return;
  fail_at({.path = path, .byte = static_cast<std::int64_t>(at)}, errc::checksum_mismatch,
          "a byte between two sections is not 0: the file is damaged");
}

}  // namespace

std::string_view to_string(array_type type) noexcept {
  const type_row* const row = find_type(static_cast<std::uint32_t>(type));
  return row == nullptr ? "unknown" : row->name;
}

std::uint64_t size_of(array_type type) noexcept {
  const type_row* const row = find_type(static_cast<std::uint32_t>(type));
  return row == nullptr ? 0 : row->bytes;
}

std::uint32_t number_of(matrix_format format) noexcept {
  return std::ranges::find(format_numbers, format, &format_number::format)->number;
}

std::uint32_t number_of(value_type element) noexcept {
  return std::ranges::find(element_numbers, element, &decltype(element_numbers)::value_type::first)->second;
}

const section* directory::find(std::string_view name) const {
  const auto found = std::ranges::find(sections, name, &section::name);
  return found == sections.end() ? nullptr : &*found;
}

void require_little_endian(const std::string& path) {
  if constexpr (std::endian::native != std::endian::little) {
    fail_at({.path = path}, errc::unsupported, "a container is little-endian, this machine is not");
  }
}

std::uint64_t header_bytes_of(std::string_view head, const std::string& path) {
  return read_file_header(header_reader(head, path), head).header_bytes;
}

directory parse(std::string_view head, std::optional<std::uint64_t> file_bytes, const std::string& path) {
  require_little_endian(path);
  const header_reader in(head, path);
  directory found;
  found.header = read_file_header(in, head);
  const file_header& header = found.header;
  if (header.header_bytes > head.size()) in.fail(head.size(), errc::truncated, "the file ends inside its header");
  if (header_checksum_of(head.substr(0, header.header_bytes)) != header.header_checksum) {
    in.fail(offsetof(file_header, header_checksum), errc::checksum_mismatch,
            "the header's checksum does not match: the file is damaged");
  }
  if (file_bytes && *file_bytes < header.file_bytes) {
    in.fail(*file_bytes, errc::truncated, "the file ends after {} of its {} bytes", *file_bytes, header.file_bytes);
  }
  if (file_bytes && *file_bytes > header.file_bytes) {
    in.fail(header.file_bytes, errc::trailing_data, "the file continues after its {} bytes", header.file_bytes);
  }
  if (header.file_bytes > std::uint64_t{max_rows}) {
    in.fail(offsetof(file_header, file_bytes), errc::size_overflow, "file_bytes = {}: must be at most 2^62",
            header.file_bytes);
  }
  read_matrix_fields(in, found);

  std::uint64_t end = header.header_bytes;
  for (std::uint64_t i = 0; i < header.num_sections; ++i) {
    const std::uint64_t at = sizeof(file_header) + i * sizeof(section_header);
    section next = read_section(in, at, align_up(end), header.file_bytes);
    if (found.find(next.name) != nullptr) {
      in.fail(at, errc::parse_error, "section {}: occurs twice", next.name);
    }
    end = next.offset + next.bytes;
    found.sections.push_back(std::move(next));
  }
  if (end != header.file_bytes) {
    in.fail(offsetof(file_header, file_bytes), errc::parse_error, "file_bytes = {}: the last section ends at {}",
            header.file_bytes, end);
  }
  return found;
}

void verify(std::string_view content, const directory& found, const std::string& path,
            const progress_callback& progress) {
  std::uint64_t end = found.header.header_bytes;
  for (const section& s : found.sections) {
    require_zeros_between(content, end, s.offset, path);
    verify_section(content, s, path, progress);
    end = s.offset + s.bytes;
  }
}

void verify_section(std::string_view content, const section& s, const std::string& path,
                    const progress_callback& progress) {
  const std::string_view bytes = content.substr(s.offset, s.bytes);
  const auto report = [&](std::uint64_t done) {
    const auto at = static_cast<std::int64_t>(s.offset + done);
    if (progress && !progress(at, static_cast<std::int64_t>(content.size()))) {
      fail_at({.path = path, .byte = at}, errc::cancelled, "reading was cancelled");
    }
  };
  if (checksum_of(bytes, report) == s.checksum) return;
  fail_at({.path = path, .byte = static_cast<std::int64_t>(s.offset)}, errc::checksum_mismatch,
          "section {}: its checksum does not match: the file is damaged", s.name);
}

std::uint64_t checksum_of(std::string_view bytes, const std::function<void(std::uint64_t)>& report) {
  constexpr std::uint64_t leaves_a_report = 64;
  const std::uint64_t num_leaves = (bytes.size() + checksum_leaf_bytes - 1) / checksum_leaf_bytes;
  auto leaves = converters::storage<std::uint64_t>(static_cast<std::int64_t>(num_leaves), "checksums");
  for (std::uint64_t first = 0; first < num_leaves; first += leaves_a_report) {
    const std::uint64_t last = std::min(first + leaves_a_report, num_leaves);
    converters::parallel_for(static_cast<std::int64_t>(last - first), [&](std::int64_t i) {
      const std::uint64_t leaf = first + static_cast<std::uint64_t>(i);
      leaves[leaf] = hash(bytes.substr(leaf * checksum_leaf_bytes, checksum_leaf_bytes));
    });
    if (report) report(std::min<std::uint64_t>(last * checksum_leaf_bytes, bytes.size()));
  }
  return XXH3_64bits(leaves.data(), leaves.size() * sizeof(std::uint64_t));
}

std::uint64_t header_checksum_of(std::string_view header_and_table) {
  constexpr std::size_t at = offsetof(file_header, header_checksum), size = sizeof(file_header::header_checksum);
  constexpr std::uint64_t zero = 0;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, header_and_table.data(), at);
  XXH3_64bits_update(&state, &zero, size);
  XXH3_64bits_update(&state, header_and_table.data() + at + size, header_and_table.size() - at - size);
  return XXH3_64bits_digest(&state);
}

}  // namespace bcsc::files::container
