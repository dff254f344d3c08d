#include <cstdint>
#include <string_view>

#include "bcsc/files.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"

/// Writing .smtx files: what smtx_read.cpp reads.
namespace bcsc {
namespace files {
namespace {

template <class Numbers>
void put_line(sink& out, const Numbers& numbers, write_progress& progress) {
  bool first = true;
  for (const auto number : numbers) {
    if (!first) out.put(" ");
    first = false;
    out.put_number(number);
    progress.advance();
  }
  out.put("\n");
}

template <value T, index I>
void write_pattern(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  require_valid_on_host(a);
  sink out(path);
  out.put(core::format("{}, {}, {}\n", a.rows, a.cols, a.nnz()));
  write_progress progress(options, a.rows + 1 + a.nnz(), out.path());
  put_line(out, a.row_ptr, progress);
  put_line(out, a.col_ind, progress);
  out.commit();
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_smtx(const std::filesystem::path& path, const csr_view<T, I>& a, const write_options& options) {
  files::write_pattern(path, a, options);
}

template void write_smtx(const std::filesystem::path&, const csr_view<float, std::int32_t>&, const write_options&);
template void write_smtx(const std::filesystem::path&, const csr_view<float, std::int64_t>&, const write_options&);
template void write_smtx(const std::filesystem::path&, const csr_view<double, std::int32_t>&, const write_options&);
template void write_smtx(const std::filesystem::path&, const csr_view<double, std::int64_t>&, const write_options&);

}  // namespace bcsc
