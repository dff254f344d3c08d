#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/files.hpp"
#include "bcsc/types.hpp"

/// The .bcsc container as bytes: its header, its table of sections, its checksums. container_arrays.hpp says what the
/// sections mean to a matrix, docs/container.md describes the layout.
namespace bcsc::files::container {

inline constexpr std::string_view magic = "BCSCFILE";
inline constexpr std::uint32_t version = 1;
/// Every section begins at the first free multiple of this.
inline constexpr std::uint64_t alignment = 64;
inline constexpr std::uint32_t max_sections = 64;
inline constexpr std::uint64_t checksum_leaf_bytes = std::uint64_t{1} << 20;
/// Sizes beyond this are refused, so that the sum of any two fits 63 bits.
inline constexpr std::int64_t max_rows = std::int64_t{1} << 62;

/// What a section is made of. The numbers are stored in files.
enum class array_type : std::uint32_t { bytes = 1, u16 = 2, i32 = 3, i64 = 4, fp16 = 5, bf16 = 6, fp32 = 7, fp64 = 8 };
std::string_view to_string(array_type type) noexcept;
std::uint64_t size_of(array_type type) noexcept;

/// The numbers stored in files for formats and elements.
std::uint32_t number_of(matrix_format format) noexcept;
std::uint32_t number_of(value_type element) noexcept;

/// The first bytes of a file.
struct file_header {
  char magic[8] = {};
  std::uint32_t version = 0;
  std::uint32_t header_bytes = 0;     ///< this and the table of sections
  std::uint64_t file_bytes = 0;       ///< the whole file
  std::uint64_t header_checksum = 0;  ///< XXH3-64 of header_bytes bytes, these eight taken as zero
  std::uint32_t kind = 0;             ///< of matrix: number_of(matrix_format)
  std::uint32_t element = 0;          ///< number_of(value_type)
  std::uint32_t index_bytes = 0;      ///< 4 or 8; 0 for dense matrices
  std::uint32_t num_sections = 0;
  std::int64_t rows = 0, cols = 0;
  std::int64_t num_values = 0;  ///< stored values, padding included; for a pattern the entries
  std::int64_t parameters[2] = {};
  char reserved[40] = {};
};
static_assert(sizeof(file_header) == 128);

/// One entry of the section table.
struct section_header {
  static constexpr std::uint32_t required = 1;  ///< flag: a reader that does not know the section must refuse the file
  char name[16] = {};                           ///< padded with zeros
  std::uint32_t type = 0;                       ///< array_type
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;     ///< count times the size of one
  std::uint64_t checksum = 0;  ///< XXH3-64 of the XXH3-64s of its pieces of checksum_leaf_bytes
  std::uint64_t reserved = 0;
};
static_assert(sizeof(section_header) == 64);

struct section {
  std::string name;
  array_type type = array_type::bytes;
  bool is_required = false;
  std::uint64_t offset = 0, count = 0, bytes = 0, checksum = 0;
  std::uint64_t entry = 0;  ///< offset in the file of its entry in the section table
};

/// What a file says of itself, before its sections.
struct directory {
  file_header header;
  matrix_format format = matrix_format::csr;
  value_type element = value_type::fp32;
  std::vector<section> sections;
  const section* find(std::string_view name) const;
};

/// Reads and checks header and table from `head`, the first bytes of the file (all of them, or at least as many as
/// header_bytes_of() says); `file_bytes` is the length of the whole file, if known. Afterwards all stated sizes and
/// places hold; the contents of the sections have not been looked at.
/// Throws error{bad_banner | unsupported | truncated | trailing_data | checksum_mismatch | parse_error |
/// value_out_of_range | size_overflow} with the offset of the field at fault.
directory parse(std::string_view head, std::optional<std::uint64_t> file_bytes, const std::string& path);

/// How many of a file's first bytes parse() must see, according to its first 128.
std::uint64_t header_bytes_of(std::string_view head, const std::string& path);

/// Compares the checksums of all sections, and requires that only zeros lie between them. Parallel.
/// Throws error{checksum_mismatch} with the offset of the section, error{cancelled}.
void verify(std::string_view content, const directory& found, const std::string& path,
            const progress_callback& progress);
/// The checksum of one section of `content`, which reaches at least to its end.
void verify_section(std::string_view content, const section& s, const std::string& path,
                    const progress_callback& progress = {});

/// The checksum of a section's bytes; `report` receives from time to time how many are done. Parallel.
std::uint64_t checksum_of(std::string_view bytes, const std::function<void(std::uint64_t)>& report = {});
/// That of header and table together.
std::uint64_t header_checksum_of(std::string_view header_and_table);

/// Throws error{unsupported} on machines that are not little-endian: arrays would have to be copied there.
void require_little_endian(const std::string& path);

constexpr std::uint64_t align_up(std::uint64_t offset) { return (offset + alignment - 1) / alignment * alignment; }

}  // namespace bcsc::files::container
