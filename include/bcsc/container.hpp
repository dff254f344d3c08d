#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/files.hpp"

#pragma GCC visibility push(default)
/// The .bcsc container: any matrix of this library in one file, checksummed, used in place once it is mapped.
/// docs/container.md has its layout, byte for byte.
namespace bcsc {

/// A container's text: UTF-8 without NUL, keys of 1 to 255 bytes, 64 KiB in all. Well-known keys: name, source,
/// comment, kind; and field and symmetry, which describe the file that the matrix came from.
using container_metadata = std::map<std::string, std::string, std::less<>>;

/// One array of a container.
struct container_section {
  std::string name;
  std::string type;  ///< "i32", "fp64" ...
  std::int64_t offset = 0, count = 0, bytes = 0;
};

/// What a container's header says.
struct container_info {
  std::uint32_t version = 0;
  std::int64_t file_bytes = 0;
  matrix_format format = matrix_format::csr;
  value_type element = value_type::fp32;
  std::int64_t index_bytes = 4;  ///< 4 or 8; 0 for a dense matrix
  std::int64_t rows = 0, cols = 0;
  std::int64_t num_values = 0;  ///< stored values, padding included; for a pattern its entries
  container_metadata metadata;
  std::vector<container_section> sections;  ///< in the order of the file
};

struct container_read_options {
  /// Whether the arrays are compared with their checksums. The header always is.
  bool verify_checksums = true;
  /// Whether the arrays are checked against the format's invariants. A checksum says that a file is as it was written,
  /// not that its content is valid: trust only files that you have written yourself.
  trust check = trust::validate;
  /// Whether a plain file is mapped. False: it is read into memory, so that nothing done to the file later reaches the
  /// matrix, and a change while it is read is error{truncated | io_error}.
  bool map = true;
  progress_callback progress = {};
};

/// Header and metadata, without the arrays. Throws as mapped_matrix.
container_info read_container_info(const std::filesystem::path& path);

/// A container, mapped and not copied: opening it costs the checks alone, and its pages are shared with every other
/// process that maps it. Read-only. If another process shortens or overwrites the file while it is mapped, so does the
/// matrix (SIGBUS, or other values): replace such files as write_container() does, or set `map = false`, which holds
/// the file in memory. A gzipped container is expanded into memory in any case. A moved-from one may be destroyed or
/// assigned to; all else is error{invalid_argument}.
class mapped_matrix {
 public:
  /// Throws error{io_error | bad_banner | unsupported | truncated | trailing_data | parse_error | value_out_of_range |
  /// size_overflow | checksum_mismatch | out_of_memory | cancelled} with the byte, and, from the checks of the
  /// format, error{invalid_format | index_out_of_range | ...} with the path.
  explicit mapped_matrix(const std::filesystem::path& path, const container_read_options& options = {});
  ~mapped_matrix();
  mapped_matrix(mapped_matrix&&) noexcept;
  mapped_matrix& operator=(mapped_matrix&&) noexcept;

  const container_info& info() const;
  /// The matrix where it lies; valid as long as this object (moves included).
  any_view view() const&;
  void view() const&& = delete;  // it would outlive a temporary
  /// The same, of a known type: as<csr_view<float>>(). Throws error{invalid_argument} if the file holds another.
  template <matrix_view View>
  View as() const& {
    return view().visit([&]<class Held>(const Held& held) -> View {
      if constexpr (std::same_as<Held, View>) {
        return held;
      } else {
        fail_type(format_of<View>);
      }
    });
  }

  template <matrix_view View>
  void as() const&& = delete;

 private:
  [[noreturn]] void fail_type(matrix_format wanted) const;
  struct impl;
  impl& opened(const char* member) const;  // throws in one that has been moved from
  std::unique_ptr<impl> impl_;
};

/// A container's matrix, copied; the file is mapped only during the call. With `map = false` it is never mapped, and
/// takes memory of its own until the copy is made. Throws as mapped_matrix.
any_matrix read_container(const std::filesystem::path& path, const container_read_options& options = {});

struct container_write_options {
  container_metadata metadata = {};
  progress_callback progress = {};
};

/// Writes a host matrix of any format, which is checked first. The file is written beside its target, flushed to disk
/// and renamed, so that processes that have the old one mapped keep it, and a failure leaves nothing behind; gzip if
/// the path ends in ".gz". Takes no memory beyond the matrix. Throws error{io_error | invalid_argument (metadata) |
/// cancelled | bad_leading_dimension (a dense view that is not packed)}, and what validate(view) throws.
void write_container(const std::filesystem::path& path, const any_view& a, const container_write_options& options = {});

}  // namespace bcsc
#pragma GCC visibility pop
