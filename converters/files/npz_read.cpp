#include "converters/files/npz_read.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/location.hpp"
#include "converters/files/npy_array.hpp"
#include "converters/files/zip.hpp"
#include "core/memory.hpp"

/// Reading SciPy's .npz in two passes over the zip's directory: the arrays' headers first, and whether they fit each
/// other; then their elements.
namespace bcsc::files {
namespace {

enum class storage : std::uint8_t { csr, csc, coo, bsr, dia };
constexpr std::array<std::pair<std::string_view, storage>, 5> storage_names{{{"csr", storage::csr},
                                                                             {"csc", storage::csc},
                                                                             {"coo", storage::coo},
                                                                             {"bsr", storage::bsr},
                                                                             {"dia", storage::dia}}};

/// The arrays a file may hold; others that somebody put beside them are left alone.
enum class part : std::uint8_t { format, shape, data, indices, indptr, row, col, coords, offsets };
constexpr std::array<std::string_view, 9> part_names{"format", "shape", "data",   "indices", "indptr",
                                                     "row",    "col",   "coords", "offsets"};
constexpr std::string_view name_of(part which) { return part_names[static_cast<std::size_t>(which)]; }
static_assert(name_of(part::offsets) == "offsets");

std::optional<part> part_of(std::string_view member) {
  constexpr std::string_view extension = ".npy";
  if (!member.ends_with(extension)) return std::nullopt;
  member.remove_suffix(extension.size());
  const auto found = std::ranges::find(part_names, member);
  if (found == part_names.end()) return std::nullopt;
  return static_cast<part>(found - part_names.begin());
}

struct stored_array {
  npy_header header;
  file_location where;
};

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

/// An array that the kind of storage cannot do without.
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
      // The next SciPy will write `coords` for matrices too: two lists in one array.
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

/// The arrays of any kind of storage; those it does not have are empty.
template <value T, index I>
struct elements {
  std::vector<T> data;
  std::vector<std::int64_t> indptr, offsets;
  std::vector<I> indices, row, col;

  explicit elements(const npz_file& file) {
    file.for_each_needed_array([&](part which, zip_reader& zip, const npy_header& header) {
      switch (which) {
        case part::data:
          data = read_npy_numbers<T>(zip, header);
          break;
        case part::indptr:
          indptr = read_npy_numbers<std::int64_t>(zip, header);
          break;
        case part::offsets:
          offsets = read_npy_numbers<std::int64_t>(zip, header);
          break;
        case part::indices:
          indices = read_npy_numbers<I>(zip, header);
          break;
        case part::row:
          row = read_npy_numbers<I>(zip, header);
          break;
        case part::col:
          col = read_npy_numbers<I>(zip, header);
          break;
        case part::coords:
          split_coords(read_npy_numbers<I>(zip, header), header.fortran_order);
          break;
        case part::format:
        case part::shape:
          break;
      }
    });
  }

 private:
  void split_coords(const std::vector<I>& both, bool interleaved) {
    const std::size_t nnz = both.size() / 2;
    row.reserve(nnz);
    col.reserve(nnz);
    for (std::size_t k = 0; k < nnz; ++k) {
      row.push_back(interleaved ? both[2 * k] : both[k]);
      col.push_back(interleaved ? both[2 * k + 1] : both[nnz + k]);
    }
  }
};

void require_pointers(const npz_file& file, const std::vector<std::int64_t>& indptr, std::int64_t num_indices) {
  const auto fail = [&](std::size_t k, const char* why, std::int64_t than) {
    fail_at(file.array(part::indptr).where, errc::invalid_format, "indptr.npy: element {} = {}: {} {}", k, indptr[k],
            why, than);
  };
  if (indptr.front() != 0) fail(0, "must be", 0);
  for (std::size_t k = 1; k < indptr.size(); ++k) {
    if (indptr[k] < indptr[k - 1]) fail(k, "must not fall below", indptr[k - 1]);
  }
  // SciPy allows room behind the last entry.
  if (indptr.back() > num_indices) fail(indptr.size() - 1, "is beyond the number of indices,", num_indices);
}

/// The first `count` of a list of indices lie in 0 .. size - 1.
template <index I>
void require_in_range(const npz_file& file, part which, const std::vector<I>& indices, std::int64_t count,
                      std::int64_t size) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    if (indices[k] < 0 || indices[k] >= size) {
      fail_at(file.array(which).where, errc::index_out_of_range, "{}.npy: element {} = {}: must lie in 0 .. {}",
              name_of(which), k, indices[k], size - 1);
    }
  }
}

template <value T, index I>
void require_valid(const npz_file& file, const elements<T, I>& from) {
  const auto compressed = [&](std::int64_t size) {
    require_pointers(file, from.indptr, static_cast<std::int64_t>(from.indices.size()));
    require_in_range(file, part::indices, from.indices, from.indptr.back(), size);
  };
  switch (file.kind()) {
    case storage::csr:
      compressed(file.cols());
      break;
    case storage::csc:
      compressed(file.rows());
      break;
    case storage::bsr:
      compressed(file.cols() / file.array(part::data).header.shape[2]);
      break;
    case storage::coo: {
      const auto nnz = static_cast<std::int64_t>(from.data.size());
      require_in_range(file, file.has(part::coords) ? part::coords : part::row, from.row, nnz, file.rows());
      require_in_range(file, file.has(part::coords) ? part::coords : part::col, from.col, nnz, file.cols());
      break;
    }
    case storage::dia:
      break;  // diagonals outside the matrix are padding
  }
}

/// CSR whose columns rise strictly is a COO matrix but for its row pointers: nothing is sorted, nothing computed.
template <value T, index I>
bool is_sorted_csr(const elements<T, I>& from) {
  for (std::size_t row = 0; row + 1 < from.indptr.size(); ++row) {
    for (auto k = from.indptr[row] + 1; k < from.indptr[row + 1]; ++k) {
      if (from.indices[static_cast<std::size_t>(k)] <= from.indices[static_cast<std::size_t>(k - 1)]) return false;
    }
  }
  return true;
}

template <value T, index I>
coo_matrix<T, I> from_sorted_csr(const npz_file& file, elements<T, I> from) {
  const auto nnz = static_cast<std::size_t>(from.indptr.back());
  std::vector<I> row_ind(nnz);
  for (std::size_t row = 0; row + 1 < from.indptr.size(); ++row) {
    std::fill(row_ind.begin() + from.indptr[row], row_ind.begin() + from.indptr[row + 1], static_cast<I>(row));
  }
  from.indices.resize(nnz);
  from.data.resize(nnz);
  return {file.rows(), file.cols(), std::move(row_ind), std::move(from.indices), std::move(from.data), trust::trusted};
}

/// Entries of CSR, or with rows and columns exchanged, of CSC.
template <value T, index I>
std::vector<entry<T, I>> entries_of_compressed(const elements<T, I>& from, bool by_columns) {
  std::vector<entry<T, I>> entries;
  entries.reserve(static_cast<std::size_t>(from.indptr.back()));
  for (std::size_t major = 0; major + 1 < from.indptr.size(); ++major) {
    for (auto k = static_cast<std::size_t>(from.indptr[major]); k < static_cast<std::size_t>(from.indptr[major + 1]);
         ++k) {
      const auto at = static_cast<I>(major);
      entries.push_back(by_columns ? entry<T, I>{from.indices[k], at, from.data[k]}
                                   : entry<T, I>{at, from.indices[k], from.data[k]});
    }
  }
  return entries;
}

template <value T, index I>
std::vector<entry<T, I>> entries_of_coordinates(const elements<T, I>& from) {
  std::vector<entry<T, I>> entries;
  entries.reserve(from.data.size());
  for (std::size_t k = 0; k < from.data.size(); ++k) entries.push_back({from.row[k], from.col[k], from.data[k]});
  return entries;
}

/// A zero inside a block cannot be told from padding: dropped, as from our own BSR.
template <value T, index I>
std::vector<entry<T, I>> entries_of_blocks(const npy_header& data, const elements<T, I>& from) {
  const std::int64_t num_blocks = data.shape[0], block_rows = data.shape[1], block_cols = data.shape[2];
  std::vector<entry<T, I>> entries;
  for (std::size_t block_row = 0; block_row + 1 < from.indptr.size(); ++block_row) {
    for (std::int64_t block = from.indptr[block_row]; block < from.indptr[block_row + 1]; ++block) {
      for (std::int64_t i = 0; i < block_rows; ++i) {
        for (std::int64_t j = 0; j < block_cols; ++j) {
          const std::int64_t at = data.fortran_order ? block + num_blocks * (i + block_rows * j)
                                                     : (block * block_rows + i) * block_cols + j;
          const T value = from.data[static_cast<std::size_t>(at)];
          if (value == T{0}) continue;
          const std::int64_t row = static_cast<std::int64_t>(block_row) * block_rows + i;
          const std::int64_t col = from.indices[static_cast<std::size_t>(block)] * block_cols + j;
          entries.push_back({static_cast<I>(row), static_cast<I>(col), value});
        }
      }
    }
  }
  return entries;
}

/// Diagonal d holds entry (j - offset, j) at its place j; what lies outside the matrix is padding, and so is a zero.
template <value T, index I>
std::vector<entry<T, I>> entries_of_diagonals(const npz_file& file, const elements<T, I>& from) {
  const npy_header& data = file.array(part::data).header;
  const std::int64_t num_diagonals = data.shape[0], length = data.shape[1];
  std::vector<entry<T, I>> entries;
  for (std::int64_t d = 0; d < num_diagonals; ++d) {
    const std::int64_t offset = from.offsets[static_cast<std::size_t>(d)];
    if (offset >= file.cols() || offset <= -file.rows()) continue;
    const std::int64_t end = std::min({length, file.cols(),
                                       offset < 0                           ? file.rows() + offset
                                       : file.cols() - offset < file.rows() ? file.cols()
                                                                            : file.rows() + offset});
    for (std::int64_t col = std::max<std::int64_t>(offset, 0); col < end; ++col) {
      const T value =
          from.data[static_cast<std::size_t>(data.fortran_order ? d + num_diagonals * col : d * length + col)];
      if (value != T{0}) entries.push_back({static_cast<I>(col - offset), static_cast<I>(col), value});
    }
  }
  return entries;
}

template <value T, index I>
std::vector<entry<T, I>> entries_of(const npz_file& file, const elements<T, I>& from) {
  switch (file.kind()) {
    case storage::csr:
    case storage::csc:
      return entries_of_compressed(from, file.kind() == storage::csc);
    case storage::coo:
      return entries_of_coordinates(from);
    case storage::bsr:
      return entries_of_blocks(file.array(part::data).header, from);
    case storage::dia:
      return entries_of_diagonals(file, from);
  }
  return {};
}

}  // namespace

file_info npz::read_info(source& in) { return npz_file(in).info(); }

template <value T, index I>
coo_matrix<T, I> npz::read_matrix(source& in) {
  const npz_file file(in);
  file.require_readable<I>();
  std::vector<entry<T, I>> entries;
  {
    elements<T, I> from(file);
    require_valid(file, from);
    if (file.kind() == storage::csr && is_sorted_csr(from)) return from_sorted_csr(file, std::move(from));
    in.require_memory(0, core::saturating_product(static_cast<std::int64_t>(from.data.size()), sizeof(entries[0])),
                      "the list of entries", {.path = in.path()});
    entries = entries_of(file, from);
  }
  return assemble(file.rows(), file.cols(), std::move(entries), file_symmetry::general, file.path());
}

template coo_matrix<float, std::int32_t> npz::read_matrix(source&);
template coo_matrix<float, std::int64_t> npz::read_matrix(source&);
template coo_matrix<double, std::int32_t> npz::read_matrix(source&);
template coo_matrix<double, std::int64_t> npz::read_matrix(source&);

}  // namespace bcsc::files
