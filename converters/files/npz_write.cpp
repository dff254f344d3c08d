#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/files.hpp"
#include "converters/files/npy.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/writing.hpp"
#include "converters/files/zip.hpp"
#include "core/fail.hpp"

/// Writing SciPy's .npz: the arrays of a CSR matrix as they lie in memory.
namespace bcsc {
namespace files {
namespace {

std::string_view bytes_of(const auto& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size() * sizeof(array[0])};
}

void put_array(zip_writer& zip, const std::string& name, std::string_view descr, const std::vector<std::int64_t>& shape,
               std::string_view bytes, write_progress& progress) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 18;
  const std::string header = make_npy_header(descr, shape);
  zip.begin(name + ".npy", static_cast<std::int64_t>(header.size() + bytes.size()));
  zip.put(header);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece_bytes, bytes.size()))) {
    zip.put(bytes.substr(0, piece_bytes));
    progress.advance(static_cast<std::int64_t>(std::min(piece_bytes, bytes.size())));
  }
}

template <class S>
void put_list(zip_writer& zip, const std::string& name, std::span<const S> list, write_progress& progress) {
  put_array(zip, name, npy_descr<S>(), {static_cast<std::int64_t>(list.size())}, bytes_of(list), progress);
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_npz(const std::filesystem::path& path, const csr_view<T, I>& a, bool compressed,
               const progress_callback& progress_told) {
  if (a.space != memory_space::host) core::fail(errc::wrong_memory_space, "a: must lie on the host");
  validate(a);
  files::sink out(path);
  files::zip_writer zip(out, compressed);
  const std::array<std::int64_t, 2> shape{a.rows, a.cols};
  const std::size_t bytes =
      a.col_ind.size_bytes() + a.row_ptr.size_bytes() + a.values.size_bytes() + sizeof shape + sizeof "csr" - 1;
  const write_options told{.progress = progress_told};
  files::write_progress progress(told, static_cast<std::int64_t>(bytes), out.path());
  files::put_list(zip, "indices", a.col_ind, progress);
  files::put_list(zip, "indptr", a.row_ptr, progress);
  files::put_array(zip, "format", "|S3", {}, "csr", progress);
  files::put_list(zip, "shape", std::span<const std::int64_t>(shape), progress);
  files::put_list(zip, "data", a.values, progress);
  zip.finish();
  out.commit();
}

template void write_npz(const std::filesystem::path&, const csr_view<float, std::int32_t>&, bool,
                        const progress_callback&);
template void write_npz(const std::filesystem::path&, const csr_view<float, std::int64_t>&, bool,
                        const progress_callback&);
template void write_npz(const std::filesystem::path&, const csr_view<double, std::int32_t>&, bool,
                        const progress_callback&);
template void write_npz(const std::filesystem::path&, const csr_view<double, std::int64_t>&, bool,
                        const progress_callback&);

}  // namespace bcsc
