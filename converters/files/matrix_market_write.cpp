#include <algorithm>
#include <cstdint>
#include <string_view>

#include "bcsc/files.hpp"
#include "converters/files/location.hpp"
#include "converters/files/matrix_market_names.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"
#include "core/fail.hpp"

/// Writing Matrix Market files. Everything is checked before the first byte is written.
namespace bcsc {
namespace files {
namespace {

void require_valid(bool array, const write_options& options) {
  if (options.field == file_field::complex || options.symmetry == file_symmetry::hermitian) {
    core::fail(errc::invalid_argument, "options: '{} {}' is for complex values, which are not held",
               to_string(options.field), to_string(options.symmetry));
  }
  if (!is_valid_banner(array, options.field, options.symmetry)) {
    core::fail(errc::invalid_argument, "options: there is no Matrix Market file '{} {} {}'",
               array ? "array" : "coordinate", to_string(options.field), to_string(options.symmetry));
  }
}

void put_head(sink& out, bool array, const write_options& options) {
  out.put(banner_mark);
  out.put(array ? " matrix array " : " matrix coordinate ");
  out.put(to_string(options.field));
  out.put(" ");
  out.put(to_string(options.symmetry));
  out.put("\n");
  put_comment(out, "% ", options.comment);
}

template <value T, index I>
void write_coordinates(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  require_valid_on_host(a);
  require_valid(false, options);
  require_square(a.rows, a.cols, options, path.string());

  std::int64_t num_stored = 0;
  const auto for_each_stored = [&](auto&& visit) {
    for (std::int64_t row = 0; row < a.rows; ++row) {
      for (I k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
        const auto col = static_cast<std::int64_t>(a.col_ind[k]);
        if (options.symmetry == file_symmetry::general || col <= row) visit(row, col, a.values[k]);
      }
    }
  };
  for_each_stored([&](std::int64_t row, std::int64_t col, T value) {
    require_writable(value, row, col, options.field, path.string());
    ++num_stored;
  });
  require_symmetry(a, options, path.string());

  sink out(path);
  put_head(out, false, options);
  out.put_number(a.rows);
  out.put(" ");
  out.put_number(a.cols);
  out.put(" ");
  out.put_number(num_stored);
  out.put("\n");
  write_progress progress(options, num_stored, out.path());
  for_each_stored([&](std::int64_t row, std::int64_t col, T value) {
    progress.advance();
    out.put_number(row + 1);
    out.put(" ");
    out.put_number(col + 1);
    if (options.field != file_field::pattern) {
      out.put(" ");
      put_value(out, value, options.field);
    }
    out.put("\n");
  });
  out.commit();
}

template <value T>
void write_array(const std::filesystem::path& path, const dense_matrix<T>& a, const write_options& options) {
  require_valid(true, options);
  require_square(a.rows(), a.cols(), options, path.string());
  const std::int64_t rows = a.rows(), cols = a.cols();
  const bool general = options.symmetry == file_symmetry::general;
  const bool skew = options.symmetry == file_symmetry::skew_symmetric;
  for (std::int64_t col = 0; col < cols; ++col) {
    for (std::int64_t row = 0; row < rows; ++row) {
      require_writable(a(row, col), row, col, options.field, path.string());
      if (!general && !is_twin(a(row, col), a(col, row), options))
        fail_twin(row, col, a(row, col), options, path.string());
    }
  }

  sink out(path);
  put_head(out, true, options);
  out.put_number(rows);
  out.put(" ");
  out.put_number(cols);
  out.put("\n");
  write_progress progress(options, cols, out.path());
  for (std::int64_t col = 0; col < cols; ++col) {
    progress.advance();
    for (std::int64_t row = general ? 0 : skew ? col + 1 : col; row < rows; ++row) {
      put_value(out, a(row, col), options.field);
      out.put("\n");
    }
  }
  out.commit();
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_matrix_market(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  files::write_coordinates(path, a, options);
}

template <value T>
void write_matrix_market(const std::filesystem::path& path, const dense_matrix<T>& a, const write_options& options) {
  files::write_array(path, a, options);
}

template void write_matrix_market(const std::filesystem::path&, const csr_view<float, std::int32_t>&,
                                  const write_options&);
template void write_matrix_market(const std::filesystem::path&, const csr_view<float, std::int64_t>&,
                                  const write_options&);
template void write_matrix_market(const std::filesystem::path&, const csr_view<double, std::int32_t>&,
                                  const write_options&);
template void write_matrix_market(const std::filesystem::path&, const csr_view<double, std::int64_t>&,
                                  const write_options&);
template void write_matrix_market(const std::filesystem::path&, const dense_matrix<float>&, const write_options&);
template void write_matrix_market(const std::filesystem::path&, const dense_matrix<double>&, const write_options&);

}  // namespace bcsc
