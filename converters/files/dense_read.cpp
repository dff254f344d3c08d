#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/dense_files.hpp"
#include "converters/files/container_read.hpp"
#include "converters/files/dense_formats.hpp"
#include "converters/files/file_formats.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_read.hpp"
#include "converters/files/npy_array.hpp"
#include "converters/files/npy_file.hpp"
#include "converters/files/within_memory.hpp"
#include "converters/files/zip.hpp"

/// Reading dense files: which format a file has, and which reader takes it. NumPy's arrays are read here, by themselves
/// or out of a .npz.
namespace bcsc {
namespace files {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";

// --- NumPy ----------------------------------------------------------------------------------------------------------

/// Requires an array's elements to be values of a matrix or a vector. Throws error{unsupported}.
template <class Stream>
void require_matrix(const Stream& in, const npy_header& header, const read_options& options) {
  if (header.shape.empty() || header.shape.size() > 2) {
    fail_at(in.where(), errc::unsupported, "{}: has shape {}: only vectors and matrices are read", in.name(),
            shape_text(header));
  }
  if (!header.is_number()) {
    fail_at(in.where(), errc::unsupported, "{}: dtype {}: values must be numbers", in.name(),
            files::quoted(header.descr));
  }
  if (header.number.kind == number_kind::complex && !options.real_part) {
    fail_at(in.where(), errc::unsupported, "{}: dtype {}: complex values, of which only the real parts can be had",
            in.name(), files::quoted(header.descr));
  }
}

dense_file_info info_of(const npy_header& header, std::string_view format) {
  return {.format = format,
          .rows = header.shape.front(),
          .cols = header.shape.size() > 1 ? header.shape.back() : 1,
          .order = header.fortran_order ? layout::col_major : layout::row_major,
          .member = {}};
}

template <class Stream>
npy_header read_matrix_header(Stream& in, const read_options& options) {
  const npy_header header = read_npy_header(in);
  require_matrix(in, header, options);
  return header;
}

template <value T, class Stream>
dense_matrix<T> read_npy_matrix(Stream& in, const read_options& options) {
  const npy_header header = read_matrix_header(in, options);
  const dense_file_info info = info_of(header, "npy");
  return {info.rows, info.cols, info.order, read_npy_numbers<T>(in, header)};
}

/// The arrays of a .npz, in the order in which they lie.
std::vector<std::string> array_names(source& in) {
  constexpr std::string_view extension = ".npy";
  std::vector<std::string> names;
  zip_reader zip(in);
  while (zip.next()) {
    const std::string& name = zip.name();
    if (!name.ends_with(extension)) continue;
    const std::string array = name.substr(0, name.size() - extension.size());
    if (std::ranges::count(names, array) > 0) fail_at(zip.where(), errc::trailing_data, "{}: stored twice", name);
    names.push_back(array);
  }
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(most, names.size()); ++k) text += (k > 0 ? ", " : "") + files::quoted(names[k]);
  return text + (names.size() > most ? ", ..." : "");
}

/// The array that is to be read: the one that is named, or the only one.
std::string chosen_array(source& in) {
  const std::vector<std::string> names = array_names(in);
  const std::string& wanted = in.options().member;
  if (names.empty()) fail_at({.path = in.path()}, errc::truncated, "holds no array");
  if (!wanted.empty()) {
    if (std::ranges::count(names, wanted) > 0) return wanted;
    fail_at({.path = in.path()}, errc::invalid_argument, "holds no array {}, but {}", files::quoted(wanted),
            list_of(names));
  }
  if (names.size() == 1) return names.front();
  fail_at({.path = in.path()}, errc::invalid_argument, "holds {} arrays, of which one must be named: {}", names.size(),
          list_of(names));
}

/// Calls read(zip), with the zip at the array that is to be read.
template <class Read>
auto with_chosen_array(source& in, Read&& read) {
  const std::string chosen = chosen_array(in) + ".npy";
  zip_reader zip(in);
  while (zip.next()) {
    if (zip.name() == chosen) return read(zip);
  }
  fail_at({.path = in.path()}, errc::io_error, "changed while it was read");
}

// --- The table ------------------------------------------------------------------------------------------------------

/// How a format is read.
struct dense_reader {
  dense_format format;
  std::string_view name;
  dense_file_info (*read_info)(source&);
  dense_matrix<float> (*read_fp32)(source&);
  dense_matrix<double> (*read_fp64)(source&);

  template <value T>
  auto read() const {
    if constexpr (std::is_same_v<T, float>) {
      return read_fp32;
    } else {
      return read_fp64;
    }
  }
};

template <value T>
dense_matrix<T> read_npy(source& in) {
  npy_file file(in);
  return read_npy_matrix<T>(file, in.options());
}
template <value T>
dense_matrix<T> read_npz(source& in) {
  return with_chosen_array(in, [&](zip_reader& zip) { return read_npy_matrix<T>(zip, in.options()); });
}
template <value T>
dense_matrix<T> read_market(source& in) {
  return matrix_market::read_dense<T>(in);
}

dense_file_info read_market_info(source& in) {
  const file_info info = matrix_market::read_info(in);
  if (!info.array) {
    fail_at({.path = in.path(), .line = 1}, errc::unsupported, "coordinate form: a dense matrix needs array form");
  }
  return {.format = "matrix-market", .rows = info.rows, .cols = info.cols, .member = in.member()};
}
dense_file_info read_npy_info(source& in) {
  npy_file file(in);
  return info_of(read_matrix_header(file, in.options()), "npy");
}
dense_file_info read_npz_info(source& in) {
  return with_chosen_array(in, [&](zip_reader& zip) {
    dense_file_info info = info_of(read_matrix_header(zip, in.options()), "npz");
    info.member = zip.name().substr(0, zip.name().rfind('.'));
    return info;
  });
}
dense_file_info read_container_info(source& in) {
  const file_info info = container::read_info(in);
  return {.format = "bcsc", .rows = info.rows, .cols = info.cols, .member = {}};
}

constexpr dense_reader dense_readers[] = {
    {dense_format::matrix_market, "matrix-market", read_market_info, read_market<float>, read_market<double>},
    {dense_format::npy, "npy", read_npy_info, read_npy<float>, read_npy<double>},
    {dense_format::npz, "npz", read_npz_info, read_npz<float>, read_npz<double>},
    {dense_format::container, "bcsc", read_container_info, container::read_dense<float>,
     container::read_dense<double>}};

/// Which dense format a format of matrix files may hold.
std::optional<dense_format> dense_format_of(file_format format) {
  switch (format) {
    case file_format::matrix_market:
      return dense_format::matrix_market;
    case file_format::npz:
      return dense_format::npz;
    case file_format::container:
      return dense_format::container;
    default:
      return std::nullopt;
  }
}

const dense_reader& dense_reader_of(source& in) {
  dense_format format = dense_format::npy;
  const bool is_npy = !in.options().format &&
                      (in.head().starts_with(npy_magic) || extension_of(std::filesystem::path(in.path())) == "npy");
  if (!is_npy) {
    const file_format recognised = recognise(in);
    const auto found = dense_format_of(recognised);
    if (!found) {
      fail_at({.path = in.path()}, errc::unsupported, "a {} file holds no dense matrix", to_string(recognised));
    }
    format = *found;
  }
  return *std::ranges::find(dense_readers, format, &dense_reader::format);
}

}  // namespace

std::optional<dense_format> dense_format_of_name(const std::filesystem::path& path) {
  if (extension_of(path) == "npy") return dense_format::npy;
  const auto format = format_of_name(path);
  return format ? dense_format_of(*format) : std::nullopt;
}

}  // namespace files

dense_file_info read_dense_info(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::dense_reader_of(in).read_info(in);
  });
}

template <value T>
dense_matrix<T> read_dense(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::dense_reader_of(in).read<T>()(in);
  });
}

bool is_dense_file_name(const std::filesystem::path& path) { return files::dense_format_of_name(path).has_value(); }

template dense_matrix<float> read_dense(const std::filesystem::path&, const read_options&);
template dense_matrix<double> read_dense(const std::filesystem::path&, const read_options&);

}  // namespace bcsc
