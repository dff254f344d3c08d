#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "converters/files/npy_array.hpp"
#include "converters/files/source.hpp"
#include "converters/files/zip.hpp"

/// What an .npz file holds, as its arrays' headers say: whether it is a matrix of SciPy's, of which kind of storage,
/// and whether its arrays fit each other.
namespace bcsc::files::npz {

/// SciPy's kinds of sparse arrays that are read.
enum class storage : std::uint8_t { csr, csc, coo, bsr, dia };

/// The arrays a file may hold; others in the same archive are ignored.
enum class part : std::uint8_t { format, shape, data, indices, indptr, row, col, coords, offsets };
inline constexpr std::array<std::string_view, 9> part_names{"format", "shape", "data",   "indices", "indptr",
                                                            "row",    "col",   "coords", "offsets"};
constexpr std::string_view name_of(part which) { return part_names[static_cast<std::size_t>(which)]; }
static_assert(name_of(part::offsets) == "offsets");

/// Which of them a member NAME.npy of the archive holds.
std::optional<part> part_of(std::string_view member);

struct stored_array {
  npy_header header;
  file_location where;
};

/// A file whose headers have been read and fit each other.
class npz_file {
 public:
  explicit npz_file(source& in) : in_(in) {
    read_headers();
    check_headers();
  }

  const std::string& path() const { return in_.path(); }
  storage kind() const { return kind_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  const stored_array& array(part which) const { return *arrays_[static_cast<std::size_t>(which)]; }
  bool has(part which) const { return arrays_[static_cast<std::size_t>(which)].has_value(); }
  file_info info() const;

  /// Throws error{size_overflow} if I cannot hold the sizes, error{unsupported} for complex values that are not wanted.
  template <index I>
  void require_readable() const;
  /// Calls take(part, zip, header) for each array that the kind of storage needs, with the zip at its first element.
  template <class F>
  void for_each_needed_array(F&& take) const;

 private:
  void read_headers();
  void read_shape(zip_reader& zip, const npy_header& header);
  void check_headers();
  bool is_needed(part which) const;
  const stored_array& require(part which, std::size_t num_dims) const;
  void require_indices(part which, std::int64_t size) const;

  source& in_;
  storage kind_ = storage::csr;
  std::int64_t rows_ = 0, cols_ = 0;
  std::array<std::optional<stored_array>, part_names.size()> arrays_;
};

template <class F>
void npz_file::for_each_needed_array(F&& take) const {
  zip_reader zip(in_);
  while (zip.next()) {
    const auto which = part_of(zip.name());
    if (!which || !is_needed(*which)) continue;
    read_npy_header(zip);
    take(*which, zip, array(*which).header);
  }
}

}  // namespace bcsc::files::npz
