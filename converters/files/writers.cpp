#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

#include "bcsc/container.hpp"
#include "bcsc/files.hpp"
#include "converters/files/file_formats.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_names.hpp"

/// The public writer of any matrix: which format a file gets, and which writer makes it.
namespace bcsc {
namespace files {
namespace {

namespace fs = std::filesystem;

/// Calls write(csr) with the matrix as CSR of fp32 or fp64: in place if it already is that, else converted. 16-bit
/// values are fp32 values, so no digit is lost.
template <class Write>
void with_csr(const any_view& a, Write&& write) {
  const bool done = a.visit([&]<matrix_view View>(const View& view) {
    if constexpr (format_of<View> == matrix_format::csr && value<typename View::value_t>) {
      write(view);
      return true;
    } else {
      return false;
    }
  });
  if (done) return;
  const bool is_double = a.element() == value_type::fp64;
  const any_matrix csr = convert(a, matrix_format::csr, {.element = is_double ? value_type::fp64 : value_type::fp32});
  csr.view().visit([&]<matrix_view View>(const View& view) {
    if constexpr (format_of<View> == matrix_format::csr && value<typename View::value_t>) write(view);
  });
}

void write_market(const fs::path& path, const any_view& a, const write_options& options) {
  const bool done = a.visit([&]<matrix_view View>(const View& view) {
    if constexpr (format_of<View> == matrix_format::dense) {
      using T = std::conditional_t<std::same_as<typename View::value_t, double>, double, float>;
      dense_matrix<T> packed(view.rows, view.cols, view.order);
      for (std::int64_t i = 0; i < view.rows; ++i) {
        for (std::int64_t j = 0; j < view.cols; ++j) packed(i, j) = static_cast<T>(view(i, j));
      }
      write_matrix_market(path, packed, options);
      return true;
    } else {
      return false;
    }
  });
  if (!done) with_csr(a, [&](const auto& csr) { write_matrix_market(path, csr, options); });
}

struct writer_row {
  file_format format;
  bool has_triangles;  ///< stores one triangle of a symmetric matrix, where that is asked for
  void (*write)(const fs::path&, const any_view&, const write_options&);
};
constexpr writer_row writers[] = {
    {file_format::matrix_market, true, write_market},
    {file_format::rutherford_boeing, true,
     [](const fs::path& path, const any_view& a, const write_options& options) {
       with_csr(a, [&](const auto& csr) { write_rutherford_boeing(path, csr, options); });
     }},
    {file_format::smtx, false,
     [](const fs::path& path, const any_view& a, const write_options& options) {
       with_csr(a, [&](const auto& csr) { write_smtx(path, csr, options); });
     }},
    {file_format::libsvm, false,
     [](const fs::path& path, const any_view& a, const write_options& options) {
       write_options chosen = options;
       if (a.element() == value_type::pattern) chosen.field = file_field::real;  // the format has no patterns
       with_csr(a, [&](const auto& csr) { write_libsvm(path, csr, {}, chosen); });
     }},
    {file_format::npz, false,
     [](const fs::path& path, const any_view& a, const write_options& options) {
       with_csr(a, [&](const auto& csr) { write_npz(path, csr, true, options.progress); });
     }},
    {file_format::edge_list, false,
     [](const fs::path& path, const any_view& a, const write_options& options) {
       with_csr(a, [&](const auto& csr) { write_edge_list(path, csr, options); });
     }},
    {file_format::container, false,
     [](const fs::path& path, const any_view& a, const write_options& options) {
       write_container(path, a, {.metadata = options.metadata, .progress = options.progress});
     }},
};

const writer_row* find_writer(file_format format) {
  const auto* const found = std::ranges::find(writers, format, &writer_row::format);
  return found == std::end(writers) ? nullptr : found;
}

std::string writable_extensions() {
  std::string list;
  for (const file_format_info& info : file_formats()) {
    if (info.can_write) list += core::format("{}.{}", list.empty() ? "" : ", ", info.extensions.front());
  }
  return list;
}

}  // namespace

bool can_write(file_format format) { return find_writer(format) != nullptr; }

bool has_triangles(file_format format) {
  const writer_row* const writer = find_writer(format);
  return writer != nullptr && writer->has_triangles;
}

}  // namespace files

void write_matrix(const std::filesystem::path& path, const any_view& a, const write_options& options) {
  const std::optional<file_format> format = options.format ? options.format : format_of_name(path);
  if (!format) {
    files::fail_at({.path = path.string()}, errc::invalid_argument,
                   "the name tells no format to write: it ends in none of {}", files::writable_extensions());
  }
  const files::writer_row* const writer = files::find_writer(*format);
  if (writer == nullptr) {
    files::fail_at({.path = path.string()}, errc::unsupported, "a {} file: this build does not write it",
                   to_string(*format));
  }
  if (options.symmetry != file_symmetry::general && !writer->has_triangles) {
    files::fail_at({.path = path.string()}, errc::invalid_argument, "symmetry = {}: a {} file holds whole matrices",
                   files::to_string(options.symmetry), to_string(*format));
  }
  write_options chosen = options;
  if (a.element() == value_type::pattern) chosen.field = file_field::pattern;
  writer->write(path, a, chosen);
}

}  // namespace bcsc
