#include "converters/files/npz_headers.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "converters/files/location.hpp"

namespace bcsc::files::npz {
namespace {

constexpr std::array<std::pair<std::string_view, storage>, 5> storage_names{{{"csr", storage::csr},
                                                                             {"csc", storage::csc},
                                                                             {"coo", storage::coo},
                                                                             {"bsr", storage::bsr},
                                                                             {"dia", storage::dia}}};

/// A text of one element, in bytes or UTF-32, without the zeros that pad it.
std::string read_text(zip_reader& zip, const npy_header& header) {
  constexpr std::size_t longest = 64;
  if (header.is_number() || header.num_items != 1 || header.item_bytes > longest) {
    fail_at(zip.where(), errc::parse_error, "{}: must be one short text, not {} of dtype {}", zip.name(),
            header.num_items, files::quoted(header.descr));
  }
  std::string text;
  for_each_npy_piece(zip, header, [&](const char* from, std::size_t) {
    const std::size_t width = header.kind == 'U' ? sizeof(std::uint32_t) : 1;
    for (std::size_t k = 0; k < header.item_bytes; k += width) {
      const std::uint32_t code =
          width == 1 ? static_cast<unsigned char>(from[k]) : load<std::uint32_t>(from + k, header.number.order);
      text += code < 0x80 ? static_cast<char>(code) : '?';
    }
  });
  return text.substr(0, text.find('\0'));
}

}  // namespace

std::optional<part> part_of(std::string_view member) {
  constexpr std::string_view extension = ".npy";
  if (!member.ends_with(extension)) return std::nullopt;
  member.remove_suffix(extension.size());
  const auto found = std::ranges::find(part_names, member);
  if (found == part_names.end()) return std::nullopt;
  return static_cast<part>(found - part_names.begin());
}

void npz_file::read_headers() {
  zip_reader zip(in_);
  std::string format;
  while (zip.next()) {
    const auto which = part_of(zip.name());
    if (!which) continue;
    auto& array = arrays_[static_cast<std::size_t>(*which)];
    if (array) fail_at(zip.where(), errc::trailing_data, "{}: stored twice", zip.name());
    array = stored_array{read_npy_header(zip), zip.where()};
    if (*which == part::format) format = read_text(zip, array->header);
    if (*which == part::shape) read_shape(zip, array->header);
  }
  for (const part which : {part::format, part::shape}) {
    if (!has(which)) {
      fail_at({.path = path()}, errc::truncated, "{}.npy is missing: not a matrix of scipy.sparse.save_npz",
              name_of(which));
    }
  }
  const auto known = std::ranges::find(storage_names, format, &std::pair<std::string_view, storage>::first);
  if (known == storage_names.end()) {
    fail_at(array(part::format).where, errc::unsupported, "format {}: csr, csc, coo, bsr and dia are read",
            files::quoted(format));
  }
  kind_ = known->second;
}

void npz_file::read_shape(zip_reader& zip, const npy_header& header) {
  if (!header.is_number() || !header.number.is_integer() || header.shape.size() != 1) {
    fail_at(zip.where(), errc::parse_error, "shape.npy: must be a list of integers, not {} of dtype {}",
            shape_text(header), files::quoted(header.descr));
  }
  if (header.num_items != 2) {
    fail_at(zip.where(), errc::unsupported, "shape.npy: {} dimensions: only matrices are read", header.num_items);
  }
  std::array<std::int64_t, 2> sizes{};
  for_each_npy_piece(zip, header, [&](const char* from, std::size_t items) {
    if (decode(header.number, from, items, sizes.data()) < items) {
      fail_at(zip.where(), errc::size_overflow, "shape.npy: a size does not fit 63 bits");
    }
  });
  std::tie(rows_, cols_) = std::pair(sizes[0], sizes[1]);
  if (rows_ < 0 || cols_ < 0) {
    fail_at(zip.where(), errc::value_out_of_range, "shape.npy: {} x {}: is negative", rows_, cols_);
  }
}

/// An array that this kind of storage requires.
const stored_array& npz_file::require(part which, std::size_t num_dims) const {
  if (!has(which)) {
    fail_at({.path = path()}, errc::truncated, "{}.npy is missing: a matrix of format {} needs it", name_of(which),
            storage_names[static_cast<std::size_t>(kind_)].first);
  }
  const stored_array& found = array(which);
  if (found.header.shape.size() != num_dims) {
    fail_at(found.where, errc::invalid_format, "{}.npy: has shape {}, needs {} dimensions", name_of(which),
            shape_text(found.header), num_dims);
  }
  return found;
}

/// A list of `size` indices.
void npz_file::require_indices(part which, std::int64_t size) const {
  const stored_array& found = require(which, which == part::coords ? 2 : 1);
  const npy_header& header = found.header;
  if (!header.is_number() || !header.number.is_integer()) {
    fail_at(found.where, errc::unsupported, "{}.npy: dtype {}: indices must be integers", name_of(which),
            files::quoted(header.descr));
  }
  if (header.num_items != size || (which == part::coords && header.shape[0] != 2)) {
    fail_at(found.where, errc::invalid_format, "{}.npy: has shape {}, the other arrays need {} elements",
            name_of(which), shape_text(header), size);
  }
}

void npz_file::check_headers() {
  const auto pointers = [&](std::int64_t count) {
    if (count == std::numeric_limits<std::int64_t>::max()) {
      fail_at(array(part::shape).where, errc::size_overflow, "{} x {}: has more pointers than 63 bits count", rows_,
              cols_);
    }
    require_indices(part::indptr, count + 1);
  };
  const std::size_t value_dims = kind_ == storage::bsr ? 3 : kind_ == storage::dia ? 2 : 1;
  const stored_array& data = require(part::data, value_dims);
  if (!data.header.is_number()) {
    fail_at(data.where, errc::unsupported, "data.npy: dtype {}: values must be numbers",
            files::quoted(data.header.descr));
  }
  switch (kind_) {
    case storage::csr:
    case storage::csc:
      require_indices(part::indices, data.header.num_items);
      pointers(kind_ == storage::csr ? rows_ : cols_);
      break;
    case storage::coo:
      // SciPy may also write `coords` for matrices: two lists in one array.
      if (has(part::coords)) {
        require_indices(part::coords, 2 * data.header.num_items);
      } else {
        require_indices(part::row, data.header.num_items);
        require_indices(part::col, data.header.num_items);
      }
      break;
    case storage::bsr: {
      const std::int64_t block_rows = data.header.shape[1], block_cols = data.header.shape[2];
      if (block_rows == 0 || block_cols == 0 || rows_ % block_rows != 0 || cols_ % block_cols != 0) {
        fail_at(data.where, errc::invalid_format, "data.npy: blocks of {} x {} do not tile {} x {}", block_rows,
                block_cols, rows_, cols_);
      }
      require_indices(part::indices, data.header.shape[0]);
      pointers(rows_ / block_rows);
      break;
    }
    case storage::dia:
      require_indices(part::offsets, data.header.shape[0]);
      break;
  }
}

bool npz_file::is_needed(part which) const {
  switch (which) {
    case part::format:
    case part::shape:
      return false;
    case part::data:
      return true;
    case part::indices:
    case part::indptr:
      return kind_ == storage::csr || kind_ == storage::csc || kind_ == storage::bsr;
    case part::row:
    case part::col:
      return kind_ == storage::coo && !has(part::coords);
    case part::coords:
      return kind_ == storage::coo;
    case part::offsets:
      return kind_ == storage::dia;
  }
  return false;
}

file_info npz_file::info() const {
  const npy_header& data = array(part::data).header;
  file_info info;
  info.format = file_format::npz;
  info.rows = rows_;
  info.cols = cols_;
  info.stored_entries = data.num_items;
  info.field = data.number.kind == number_kind::complex ? file_field::complex
               : data.number.kind == number_kind::real  ? file_field::real
                                                        : file_field::integer;
  return info;
}

template <index I>
void npz_file::require_readable() const {
  if (std::max(rows_, cols_) > std::numeric_limits<I>::max()) {
    fail_at(array(part::shape).where, errc::size_overflow, "{} x {}: does not fit {}-bit indices", rows_, cols_,
            sizeof(I) * 8);
  }
  const stored_array& data = array(part::data);
  if (data.header.number.kind == number_kind::complex && !in_.options().real_part) {
    fail_at(data.where, errc::unsupported,
            "data.npy: complex values: only real ones are held (real_part drops the rest)");
  }
}

template void npz_file::require_readable<std::int32_t>() const;
template void npz_file::require_readable<std::int64_t>() const;

}  // namespace bcsc::files::npz
