#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

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

/// The public readers: which format a file has, and who reads it.
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
/// The text is anything; version and byte order stand behind it. 7.3 is HDF5 behind such a header.
bool begins_as_mat(std::string_view head) {
  const std::string_view version = head.size() < 128 ? "" : head.substr(124, 4);
  return head.starts_with("MATLAB 5.0 MAT-file") || head.starts_with("MATLAB 7.3 MAT-file") ||
         version == std::string_view("\0\1IM", 4) || version == std::string_view("\1\0MI", 4);
}
bool begins_as_container(std::string_view head) { return head.starts_with("BCSCFILE"); }

[[noreturn]] void fail_not_built(const source& in, file_format format) {
  fail_at({.path = in.path()}, errc::unsupported, "a {} file: this build does not read it", to_string(format));
}

file_info read_info(source& in) {
  const file_format format = recognise(in);
  switch (format) {
    case file_format::matrix_market:
      return matrix_market::read_info(in);
    case file_format::container:
      return container::read_info(in);
    case file_format::rutherford_boeing:
      return rutherford_boeing::read_info(in);
    case file_format::smtx:
      return smtx::read_info(in);
    case file_format::libsvm:
      return libsvm::read_info(in);
    case file_format::edge_list:
      return edge_list::read_info(in);
    case file_format::npz:
      return npz::read_info(in);
    case file_format::mat:
      return mat::read_info(in);
    default:
      fail_not_built(in, format);
  }
}

template <value T, index I>
coo_matrix<T, I> read_matrix(source& in) {
  const file_format format = recognise(in);
  switch (format) {
    case file_format::matrix_market:
      return matrix_market::read_matrix<T, I>(in);
    case file_format::container:
      return container::read_matrix<T, I>(in);
    case file_format::rutherford_boeing:
      return rutherford_boeing::read_matrix<T, I>(in);
    case file_format::smtx:
      return smtx::read_matrix<T, I>(in);
    case file_format::libsvm:
      return libsvm::read_matrix<T, I>(in);
    case file_format::edge_list:
      return edge_list::read_matrix<T, I>(in);
    case file_format::npz:
      return npz::read_matrix<T, I>(in);
    case file_format::mat:
      return mat::read_matrix<T, I>(in);
    default:
      fail_not_built(in, format);
  }
}

template <value T, index I>
csr_matrix<T, I> read_as_csr(source& in) {
  const file_format format = recognise(in);
  if (format == file_format::matrix_market) return matrix_market::read_csr<T, I>(in);
  if (format == file_format::container) return container::read_csr<T, I>(in);
  return to_csr(read_matrix<T, I>(in));
}

}  // namespace

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
  std::filesystem::path name = lower_case(std::filesystem::path(full_name).filename().string());
  if (name.extension() == ".gz") name.replace_extension();
  std::string extension = name.extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  std::optional<file_format> named;
  for (const format_row& row : format_rows) {
    if (!named && !extension.empty() && std::ranges::count(row.extensions, extension) > 0) named = row.format;
  }

  const std::string_view head = in.head();
  for (const format_row& row : format_rows) {
    // What calls itself Matrix Market and has no banner is a broken Matrix Market file, not by chance another text.
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

file_info read_file_info(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    file_info info = files::read_info(in);
    if (info.member.empty()) info.member = in.member();
    return info;
  });
}

template <value T, index I>
coo_matrix<T, I> read_coo(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::read_matrix<T, I>(in);
  });
}

template <value T, index I>
csr_matrix<T, I> read_csr(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    return files::read_as_csr<T, I>(in);
  });
}

template <value T>
dense_matrix<T> read_dense(const std::filesystem::path& path, const read_options& options) {
  return files::within_memory(path, [&] {
    files::source in(path, options);
    if (files::recognise(in) == file_format::container) return files::container::read_dense<T>(in);
    return files::matrix_market::read_dense<T>(in);
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
template dense_matrix<float> read_dense(const std::filesystem::path&, const read_options&);
template dense_matrix<double> read_dense(const std::filesystem::path&, const read_options&);

}  // namespace bcsc
