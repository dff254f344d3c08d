#include "converters/files/npz_read.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "converters/files/coo_assembly.hpp"
#include "converters/files/location.hpp"
#include "converters/files/npy_array.hpp"
#include "converters/files/npz_headers.hpp"
#include "converters/files/zip.hpp"
#include "core/memory.hpp"

/// Reading SciPy's .npz in two passes over the zip's directory: the arrays' headers first, and whether they fit each
/// other (npz_headers.hpp); then their elements.
namespace bcsc::files::npz {
namespace {

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
  // SciPy allows spare room after the last entry.
  if (indptr.back() > num_indices) fail(indptr.size() - 1, "is beyond the number of indices,", num_indices);
}

/// Requires the first `count` of a list of indices to lie in 0 .. size - 1.
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

/// CSR whose columns rise strictly is a COO matrix except for its row pointers: nothing is sorted, nothing computed.
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

file_info read_info(source& in) { return npz_file(in).info(); }

template <value T, index I>
coo_matrix<T, I> read_matrix(source& in) {
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

template coo_matrix<float, std::int32_t> read_matrix(source&);
template coo_matrix<float, std::int64_t> read_matrix(source&);
template coo_matrix<double, std::int32_t> read_matrix(source&);
template coo_matrix<double, std::int64_t> read_matrix(source&);

}  // namespace bcsc::files::npz
