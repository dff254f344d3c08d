#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bcsc/any_matrix.hpp"
#include "converters/files/container_directory.hpp"
#include "converters/files/container_read.hpp"
#include "test/fuzz/fuzz.hpp"
#include "test/support/viewed.hpp"

/// Containers with correct checksums, as a forger would send: without them no change of a byte would get past the
/// header. The first byte chooses options.
namespace bcsc::fuzz {
namespace {

using namespace files::container;

template <class Record>
void put(std::string& bytes, std::size_t at, const Record& record) {
  bytes.replace(at, sizeof record, reinterpret_cast<const char*>(&record), sizeof record);
}

/// As far as header and table can be followed.
void sign(std::string& bytes) {
  file_header header;
  if (bytes.size() < sizeof header) return;
  bytes.copy(reinterpret_cast<char*>(&header), sizeof header);
  const std::size_t table_end = sizeof header + std::size_t{header.num_sections} * sizeof(section_header);
  if (header.num_sections > max_sections || bytes.size() < table_end) return;
  for (std::size_t at = sizeof header; at < table_end; at += sizeof(section_header)) {
    section_header section;
    bytes.copy(reinterpret_cast<char*>(&section), sizeof section, at);
    if (section.offset > bytes.size() || section.bytes > bytes.size() - section.offset) continue;
    section.checksum = checksum_of(std::string_view(bytes).substr(section.offset, section.bytes));
    put(bytes, at, section);
  }
  header.header_checksum = header_checksum_of(std::string_view(bytes).substr(0, table_end));
  put(bytes, 0, header);
}

/// What is read of the file: its header, entries of one type, or the matrix as it is stored and then in CSR.
enum class way : std::uint8_t { stored, stored_as_pattern, matrix, info };

/// Entries of a format other than COO go through CSR, which inherently takes a pointer for each row.
bool has_few_rows_or_entries_only(const std::string& bytes) {
  file_header header;
  if (bytes.size() < sizeof header || !bytes.starts_with(magic)) return false;
  bytes.copy(reinterpret_cast<char*>(&header), sizeof header);
  return header.kind == number_of(matrix_format::coo) || std::max(header.rows, header.cols) < 1 << 12;
}

void read_signed(const std::string& bytes, const read_options& options, way how) {
  try {
    files::source in(bytes, "fuzz", options);
    if (how == way::info) {
      (void)read_info(in);
      return;
    }
    if (how == way::matrix && has_few_rows_or_entries_only(bytes)) {
      validate(viewed(read_matrix<float, std::int64_t>(in)));
      return;
    }
    const opened file(in, {});
    validate(file.view());
    if (file.info().rows >= 1 << 12 || file.info().cols >= 1 << 12) return;
    conversion_options wanted{.indices = index_type::int64};
    if (how == way::stored_as_pattern) wanted.element = value_type::pattern;
    validate(viewed(convert(file.view(), matrix_format::csr, wanted)));
  } catch (const error&) {
  }
}

}  // namespace
}  // namespace bcsc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 128) == 0) bcsc::fuzz::sign(bytes);
  bcsc::fuzz::read_signed(bytes, bcsc::fuzz::options_of(data[0]), static_cast<bcsc::fuzz::way>(data[0] >> 4 & 3));
  return 0;
}
