#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "bcsc/container.hpp"
#include "converters/files/container_arrays.hpp"
#include "converters/files/container_directory.hpp"
#include "converters/files/container_metadata.hpp"
#include "converters/files/location.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/within_memory.hpp"
#include "core/fail.hpp"

/// Writing containers: first the checksums of all arrays, then the file from its first byte to its last, so that it may
/// be compressed on the way.
namespace bcsc {
namespace files::container {
namespace {

template <class T>
std::string_view bytes_of(std::span<const T> array) {
  return {reinterpret_cast<const char*>(array.data()), array.size_bytes()};
}

/// Collects what a view is made of: header and sections, and where the bytes of each lie.
class array_collector {
 public:
  file_header header;
  std::vector<section_header> table;
  std::vector<std::string_view> contents;  ///< of each section

  void add(std::string_view name, array_type type, std::uint32_t flags, std::string_view bytes) {
    section_header row;
    if (name.size() > sizeof row.name) core::fail(errc::internal, "section {}: its name is too long", name);
    name.copy(row.name, sizeof row.name);
    row.type = static_cast<std::uint32_t>(type);
    row.flags = flags;
    row.count = bytes.size() / size_of(type);
    row.bytes = bytes.size();
    table.push_back(row);
    contents.push_back(bytes);
  }

  // What pass() calls.
  void parameter(std::int64_t value) { header.parameters[next_parameter_++] = value; }
  void parameter(layout order) { header.parameters[next_parameter_++] = static_cast<std::int64_t>(order); }
  template <index I>
  void indices(std::string_view name, std::span<const I> array) {
    add(name, array_type_of<I>(), section_header::required, bytes_of(array));
  }
  template <index I>
  void indices_unless_empty(std::string_view name, std::span<const I> array) {
    if (!array.empty()) indices(name, array);
  }
  template <index I>
  void indices_or(std::string_view name, std::span<const I> array, std::string_view short_name,
                  std::span<const std::uint16_t> short_array) {
    if (short_array.empty()) return indices(name, array);
    if (!array.empty()) core::fail(errc::invalid_format, "{}: must be empty where {} is not", name, short_name);
    add(short_name, array_type::u16, section_header::required, bytes_of(short_array));
  }
  template <index I>
  void same_indices(std::string_view name, std::span<const I> array, std::span<const I> stored) {
    if (std::ranges::equal(array, stored)) return;
    core::fail(errc::invalid_format, "{}: must be what brow_ptr is, where m_block = 1", name);
  }
  void small(std::string_view name, const small_indices& array, std::size_t, std::int64_t) {
    if (array.bytes() == 0) return;
    add(name, array.bytes() == 1 ? array_type::bytes : array_type::u16, section_header::required,
        {static_cast<const char*>(array.data()), array.size_bytes()});
  }
  void values(pattern_span entries) { header.num_values = static_cast<std::int64_t>(entries.size()); }
  template <number T>
  void values(std::span<const T> array) {
    header.num_values = static_cast<std::int64_t>(array.size());
    add("values", array_type_of<T>(), section_header::required, bytes_of(array));
  }
  template <number T>
  void values(const dense_view<const T>& a) {
    const std::int64_t packed = std::max<std::int64_t>(1, a.order == layout::row_major ? a.cols : a.rows);
    if (a.ld != packed) {
      core::fail(errc::bad_leading_dimension, "ld = {}: must be {}: a container holds packed matrices", a.ld, packed);
    }
    values(std::span<const T>(a.data, static_cast<std::size_t>(a.rows * a.cols)));
  }

 private:
  std::size_t next_parameter_ = 0;
};

array_collector collect(const any_view& a, std::string_view words) {
  array_collector to;
  magic.copy(to.header.magic, sizeof to.header.magic);
  to.header.version = version;
  to.header.kind = number_of(a.format());
  to.header.element = number_of(a.element());
  to.header.rows = a.rows();
  to.header.cols = a.cols();
  if (!words.empty()) to.add(metadata_section, array_type::bytes, 0, words);
  a.visit([&]<matrix_view View>(View view) {
    to.header.index_bytes = index_bytes_of<View>();
    pass(to, view);
  });
  return to;
}

/// Gives the sections their places and checksums; returns header and table as they stand in the file.
std::string finish_header(array_collector& from) {
  file_header& header = from.header;
  header.num_sections = static_cast<std::uint32_t>(from.table.size());
  header.header_bytes = static_cast<std::uint32_t>(sizeof(file_header) + from.table.size() * sizeof(section_header));
  std::uint64_t end = header.header_bytes;
  for (std::size_t i = 0; i < from.table.size(); ++i) {
    section_header& row = from.table[i];
    row.offset = align_up(end);
    row.checksum = checksum_of(from.contents[i]);
    end = row.offset + row.bytes;
  }
  header.file_bytes = end;
  const auto as_bytes = [&] {
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    return bytes.append(bytes_of(std::span<const section_header>(from.table)));
  };
  header.header_checksum = header_checksum_of(as_bytes());
  return as_bytes();
}

/// Writes long arrays in pieces and reports progress.
class piecewise_writer {
 public:
  piecewise_writer(sink& out, std::uint64_t total, const progress_callback& progress)
      : out_(out), total_(total), progress_(progress) {}

  void put(std::string_view bytes) {
    constexpr std::size_t piece_bytes = std::size_t{128} << 10;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece_bytes, bytes.size()))) {
      const std::string_view piece = bytes.substr(0, piece_bytes);
      out_.put(piece);
      done_ += piece.size();
      report();
    }
  }
  void put_zeros_up_to(std::uint64_t offset) { put(std::string(offset - done_, '\0')); }

 private:
  void report() {
    constexpr std::uint64_t report_every = std::uint64_t{4} << 20;
    if (!progress_ || (done_ < next_report_ && done_ < total_)) return;
    next_report_ = done_ + report_every;
    if (!progress_(static_cast<std::int64_t>(done_), static_cast<std::int64_t>(total_))) {
      fail_at({.path = out_.path(), .byte = static_cast<std::int64_t>(done_)}, errc::cancelled,
              "writing was cancelled");
    }
  }

  sink& out_;
  std::uint64_t total_, done_ = 0, next_report_ = 0;
  const progress_callback& progress_;
};

}  // namespace
}  // namespace files::container

void write_container(const std::filesystem::path& path, const any_view& a, const container_write_options& options) {
  namespace container = files::container;
  container::require_little_endian(path.string());
  validate(a);
  const std::string words = container::encode_metadata(options.metadata);
  files::within_memory(path, [&] {
    container::array_collector from = container::collect(a, words);
    const std::string header = container::finish_header(from);
    files::sink out(path);
    container::piecewise_writer writer(out, from.header.file_bytes, options.progress);
    writer.put(header);
    for (std::size_t i = 0; i < from.table.size(); ++i) {
      writer.put_zeros_up_to(from.table[i].offset);
      writer.put(from.contents[i]);
    }
    out.commit(true);
  });
}

}  // namespace bcsc
