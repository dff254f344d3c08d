#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/files.hpp"
#include "converters/files/container_read.hpp"
#include "converters/files/edge_list_read.hpp"
#include "converters/files/file_formats.hpp"
#include "converters/files/libsvm_read.hpp"
#include "converters/files/location.hpp"
#include "converters/files/mat_read.hpp"
#include "converters/files/matrix_market_read.hpp"
#include "converters/files/npz_read.hpp"
#include "converters/files/rutherford_boeing_read.hpp"
#include "converters/files/smtx_read.hpp"
#include "converters/files/within_memory.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"

/// The public readers: which format a file has, and which reader takes it.
namespace bcsc {
namespace files {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return lower;
}

bool begins_as_matrix_market(std::string_view head) {
  return lower_case(head.substr(0, 14)).starts_with("%%matrixmarket");
}
bool begins_as_npz(std::string_view head) { return head.starts_with("PK\x03\x04"); }
/// The text may be anything; version and byte order follow it. Level 7.3 is HDF5 after such a header.
bool begins_as_mat(std::string_view head) {
  const std::string_view version = head.size() < 128 ? "" : head.substr(124, 4);
  return head.starts_with("MATLAB 5.0 MAT-file") || head.starts_with("MATLAB 7.3 MAT-file") ||
         version == std::string_view("\0\1IM", 4) || version == std::string_view("\1\0MI", 4);
}
bool begins_as_container(std::string_view head) { return head.starts_with("BCSCFILE"); }

/// How a format is read.
template <value T, index I>
struct reader_row {
  file_format format;
  file_info (*read_info)(source&);
  coo_matrix<T, I> (*read_matrix)(source&);
  csr_matrix<T, I> (*read_csr)(source&) = nullptr;  ///< of formats that need not become COO first
};
template <value T, index I>
constexpr reader_row<T, I> readers[] = {
    {file_format::matrix_market, matrix_market::read_info,
     [](source& in) { return matrix_market::read_matrix<T, I>(in); },
     [](source& in) { return matrix_market::read_csr<T, I>(in); }},
    {file_format::rutherford_boeing, rutherford_boeing::read_info, rutherford_boeing::read_matrix<T, I>},
    {file_format::smtx, smtx::read_info, smtx::read_matrix<T, I>},
    {file_format::libsvm, libsvm::read_info, libsvm::read_matrix<T, I>},
    {file_format::edge_list, edge_list::read_info, edge_list::read_matrix<T, I>},
    {file_format::npz, npz::read_info, npz::read_matrix<T, I>},
    {file_format::mat, mat::read_info, mat::read_matrix<T, I>},
    {file_format::container, container::read_info, container::read_matrix<T, I>, container::read_csr<T, I>}};

template <value T, index I>
const reader_row<T, I>* find_reader(file_format format) {
  const auto* const found = std::ranges::find(readers<T, I>, format, &reader_row<T, I>::format);
  return found == std::end(readers<T, I>) ? nullptr : found;
}

template <value T, index I>
const reader_row<T, I>& reader_of(source& in) {
  const file_format format = recognise(in);
  if (const auto* const found = find_reader<T, I>(format)) return *found;
  fail_at({.path = in.path()}, errc::unsupported, "a {} file: this build does not read it", to_string(format));
}

template <value T, index I>
csr_matrix<T, I> read_as_csr(source& in) {
  const reader_row<T, I>& reader = reader_of<T, I>(in);
  if (reader.read_csr != nullptr) return reader.read_csr(in);
  const coo_matrix<T, I> a = reader.read_matrix(in);
  in.require_memory(0, core::saturating_product(a.rows() + 1, sizeof(I)),
                    core::format("the pointers of {} rows", a.rows()), {.path = in.path()});
  return to_csr(a);
}

/// CSR with narrow indices, or with wide ones where those do not suffice: then the file is opened once more.
template <value T>
any_matrix read_as_fitting_csr(source& in) {
  try {
    return read_as_csr<T, std::int32_t>(in);
  } catch (const error& problem) {
    if (problem.code() != errc::size_overflow) throw;
  }
  source again(in.path(), in.options());
  return read_as_csr<T, std::int64_t>(again);
}

}  // namespace

std::string extension_of(const std::filesystem::path& path) {
  std::filesystem::path name = lower_case(path.filename().string());
  if (name.extension() == ".gz") name.replace_extension();
  const std::string extension = name.extension().string();
  return extension.empty() ? extension : extension.substr(1);
}

const std::array<format_row, 8> format_rows{
    {{file_format::matrix_market, "matrix-market", {"mtx", "mm"}, begins_as_matrix_market},
     {file_format::rutherford_boeing,
      "rutherford-boeing",
      {"rb", "hb", "rua", "rsa", "psa", "pua", "rra", "pra"},
      rutherford_boeing::has_header},
     {file_format::smtx, "smtx", {"smtx"}, nullptr},
     {file_format::libsvm, "libsvm", {"libsvm", "svm", "svmlight"}, nullptr},
     {file_format::npz, "npz", {"npz"}, begins_as_npz},
     {file_format::mat, "mat", {"mat"}, begins_as_mat},
     {file_format::edge_list, "edge-list", {"el", "edges", "txt", "tsv", "csv"}, nullptr},
     {file_format::container, "bcsc", {"bcsc"}, begins_as_container}}};

file_format recognise(source& in) {
  if (in.options().format) return *in.options().format;
  const std::string& full_name = in.member().empty() ? in.path() : in.member();
  const std::string extension = extension_of(full_name);
  std::optional<file_format> named;
  for (const format_row& row : format_rows) {
    if (!named && !extension.empty() && std::ranges::count(row.extensions, extension) > 0) named = row.format;
  }

  const std::string_view head = in.head();
  for (const format_row& row : format_rows) {
    // A file named as Matrix Market that has no banner is a broken Matrix Market file, not by chance another text.
    if (named == file_format::matrix_market && row.format == file_format::rutherford_boeing) continue;
    if (row.has_mark != nullptr && row.has_mark(head)) return row.format;
  }
  return named.value_or(file_format::matrix_market);
}

}  // namespace files

std::string_view to_string(file_format format) noexcept {
  for (const auto& row : files::format_rows) {
    if (row.format == format) return row.name;
  }
  return "unknown";
}

std::optional<file_format> format_of_name(const std::filesystem::path& path) {
  const std::string extension = files::extension_of(path);
  for (const files::format_row& row : files::format_rows) {
    if (row.extensions.front() == extension) return row.format;
  }
  return std::nullopt;
}

std::vector<file_format_info> file_formats() {
  std::vector<file_format_info> all;
  for (const files::format_row& row : files::format_rows) {
    file_format_info info{.format = row.format,
                          .name = row.name,
                          .extensions = {},
                          .has_mark = row.has_mark != nullptr,
                          .can_read = files::find_reader<float, std::int32_t>(row.format) != nullptr,
                          .can_write = files::can_write(row.format),
                          .has_triangles = files::has_triangles(row.format)};
    for (const std::string_view extension : row.extensions) {
      if (!extension.empty()) info.extensions.push_back(extension);
    }
    all.push_back(std::move(info));
  }
  return all;
}

file_info read_file_info(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    const auto& reader = files::reader_of<float, std::int32_t>(in);
    file_info info = reader.read_info(in);
    info.format = reader.format;
    if (info.member.empty()) info.member = in.member();
    return info;
  });
}

template <value T, index I>
coo_matrix<T, I> read_coo(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::reader_of<T, I>(in).read_matrix(in);
  });
}

template <value T, index I>
csr_matrix<T, I> read_csr(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::read_as_csr<T, I>(in);
  });
}

any_matrix read_matrix(const std::filesystem::path& path, const read_options& options, value_type element) {
  if (element != value_type::fp32 && element != value_type::fp64) {
    core::fail(errc::invalid_argument, "element = {}: files are read as fp32 or fp64", to_string(element));
  }
  return files::within_memory(path, [&] {
    files::source in(path, options);
    if (files::recognise(in) == file_format::container) {
      return files::container::read_any(in, {.map = options.map_containers, .progress = options.progress});
    }
    return element == value_type::fp32 ? files::read_as_fitting_csr<float>(in) : files::read_as_fitting_csr<double>(in);
  });
}

template <value T, index I>
labelled_matrix<T, I> read_libsvm(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::libsvm::read_labelled<T, I>(in);
  });
}

template coo_matrix<float, std::int32_t> read_coo(const std::filesystem::path&, const read_options&);
template coo_matrix<float, std::int64_t> read_coo(const std::filesystem::path&, const read_options&);
template coo_matrix<double, std::int32_t> read_coo(const std::filesystem::path&, const read_options&);
template coo_matrix<double, std::int64_t> read_coo(const std::filesystem::path&, const read_options&);
template csr_matrix<float, std::int32_t> read_csr(const std::filesystem::path&, const read_options&);
template csr_matrix<float, std::int64_t> read_csr(const std::filesystem::path&, const read_options&);
template csr_matrix<double, std::int32_t> read_csr(const std::filesystem::path&, const read_options&);
template csr_matrix<double, std::int64_t> read_csr(const std::filesystem::path&, const read_options&);
template labelled_matrix<float, std::int32_t> read_libsvm(const std::filesystem::path&, const read_options&);
template labelled_matrix<float, std::int64_t> read_libsvm(const std::filesystem::path&, const read_options&);
template labelled_matrix<double, std::int32_t> read_libsvm(const std::filesystem::path&, const read_options&);
template labelled_matrix<double, std::int64_t> read_libsvm(const std::filesystem::path&, const read_options&);

}  // namespace bcsc
