#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/files.hpp"
#include "converters/files/npy.hpp"
#include "converters/files/sink.hpp"
#include "converters/files/zip.hpp"
#include "lib/core/fail.hpp"

/// Writing SciPy's .npz: the arrays of a CSR matrix as they lie in memory.
namespace bcsc {
namespace files {
namespace {

std::string_view bytes_of(const auto& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size() * sizeof(array[0])};
}

void put_array(zip_writer& zip, const std::string& name, std::string_view descr, const std::vector<std::int64_t>& shape,
               std::string_view bytes) {
  const std::string header = make_npy_header(descr, shape);
  zip.begin(name + ".npy", static_cast<std::int64_t>(header.size() + bytes.size()));
  zip.put(header);
  zip.put(bytes);
}

template <class S>
void put_list(zip_writer& zip, const std::string& name, std::span<const S> list) {
  put_array(zip, name, npy_descr<S>(), {static_cast<std::int64_t>(list.size())}, bytes_of(list));
}

}  // namespace
}  // namespace files

template <value T, index I>
void write_npz(const std::filesystem::path& path, const csr_view<T, I>& a, bool compressed) {
  if (a.space != memory_space::host) core::fail(errc::wrong_memory_space, "a: must lie on the host");
  validate(a);
  files::sink out(path);
  files::zip_writer zip(out, compressed);
  const std::array<std::int64_t, 2> shape{a.rows, a.cols};
  files::put_list(zip, "indices", a.col_ind);
  files::put_list(zip, "indptr", a.row_ptr);
  files::put_array(zip, "format", "|S3", {}, "csr");
  files::put_list(zip, "shape", std::span<const std::int64_t>(shape));
  files::put_list(zip, "data", a.values);
  zip.finish();
  out.commit();
}

template void write_npz(const std::filesystem::path&, const csr_view<float, std::int32_t>&, bool);
template void write_npz(const std::filesystem::path&, const csr_view<float, std::int64_t>&, bool);
template void write_npz(const std::filesystem::path&, const csr_view<double, std::int32_t>&, bool);
template void write_npz(const std::filesystem::path&, const csr_view<double, std::int64_t>&, bool);

}  // namespace bcsc
