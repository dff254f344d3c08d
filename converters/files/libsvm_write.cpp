#include <cmath>
#include <cstdint>
#include <span>

#include "bcsc/files.hpp"
#include "converters/files/location.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"
#include "core/fail.hpp"

/// Writing LIBSVM files: what libsvm_read.cpp reads.
namespace bcsc {
namespace files {
namespace {

template <value T, index I>
void write_rows(const std::filesystem::path& path, const csr_view<T, I>& a, std::span<const double> labels,
                const write_options& options) {
  require_valid_on_host(a);
  require_general(options);
  require_index_base(options);
  if (options.field == file_field::pattern) {
    core::fail(errc::invalid_argument, "options.field: a LIBSVM file holds values");
  }
  if (!labels.empty() && static_cast<std::int64_t>(labels.size()) != a.rows) {
    core::fail(errc::size_mismatch, "labels: {} for {} rows", labels.size(), a.rows);
  }
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (!std::isfinite(labels[row])) {
      fail_at({.path = path.string()}, errc::value_out_of_range, "label {} = {}: is not a finite number", row,
              labels[row]);
    }
  }
  require_all_writable(a, options, path.string());

  sink out(path);
  put_comment(out, "# ", options.comment);
  write_progress progress(options, a.rows, out.path());
  for (std::int64_t row = 0; row < a.rows; ++row) {
    progress.advance();
    out.put_number(labels.empty() ? 0.0 : labels[static_cast<std::size_t>(row)]);
    for (I k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      out.put(" ");
      out.put_number(static_cast<std::int64_t>(a.col_ind[k]) + options.index_base);
      out.put(":");
      put_value(out, a.values[k], options.field);
    }
    out.put("\n");
  }
  out.commit();
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_libsvm(const std::filesystem::path& path, const csr_view<T, I>& a, std::span<const double> labels,
                  const write_options& options) {
  files::write_rows(path, a, labels, options);
}

template void write_libsvm(const std::filesystem::path&, const csr_view<float, std::int32_t>&, std::span<const double>,
                           const write_options&);
template void write_libsvm(const std::filesystem::path&, const csr_view<float, std::int64_t>&, std::span<const double>,
                           const write_options&);
template void write_libsvm(const std::filesystem::path&, const csr_view<double, std::int32_t>&, std::span<const double>,
                           const write_options&);
template void write_libsvm(const std::filesystem::path&, const csr_view<double, std::int64_t>&, std::span<const double>,
                           const write_options&);

}  // namespace bcsc
