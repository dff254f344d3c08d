#include <algorithm>

#include "bcsc/device.hpp"
#include "converters/formats/device_arrays.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"

/// Matrices from the host to a GPU and back: every format the same way, array by array.
namespace bcsc {

namespace {

using converters::device_arrays;
using converters::for_arrays;
using converters::on_device;
using converters::parts_of;
using converters::require_host;
using converters::storage;
namespace gpu = core::gpu;

template <class X>
std::vector<X> fetch(std::span<const X> array) {
  auto host = storage<X>(static_cast<std::int64_t>(array.size()), "downloaded array");
  if (!array.empty()) gpu::copy_to_host(host.data(), array.data(), array.size_bytes());
  return host;
}
inline pattern_array fetch(pattern_span array) { return pattern_array(array.size()); }

/// The same matrix without gaps, in the same layout.
template <class T>
dense_matrix<T> packed_on_host(const dense_view<const T>& a) {
  dense_matrix<T> packed(a.rows, a.cols, a.order);
  const bool by_rows = a.order == layout::row_major;
  const std::int64_t lines = by_rows ? a.rows : a.cols, length = by_rows ? a.cols : a.rows;
  for (std::int64_t i = 0; i < lines; ++i) std::copy_n(a.data + i * a.ld, length, packed.data() + i * length);
  return packed;
}

template <class T>
bool is_packed(const dense_view<const T>& a) {
  return a.ld == dense_view<const T>(a.data, a.rows, a.cols, a.order).ld;
}

}  // namespace

template <sparse_view View>
device_matrix<View> upload(const context& ctx, const View& a, trust check) {
  return on_device<device_matrix<View>>(ctx, "upload", [&](auto device) {
    require_host(a.space, parts_of<View>::name);
    if (check == trust::validate) validate(a);
    device_arrays arrays(device);
    View out = a;
    out.space = memory_space::device;
    for_arrays(out, [&](const char*, auto& array) { array = arrays.add_copy_of_host(array); });
    return arrays.as(out);
  });
}

template <sparse_view View>
host_matrix_of<View> download(const context& ctx, const View& a) {
  return on_device<host_matrix_of<View>>(ctx, "download", [&](auto device) {
    converters::require_on_device(device, a);
    const auto fetch_all = [&](const auto&... part) { return std::tuple(fetch(a.*part.array)...); };
    return std::make_from_tuple<host_matrix_of<View>>(std::tuple_cat(
        parts_of<View>::sizes(a), std::apply(fetch_all, parts_of<View>::arrays), std::tuple(trust::trusted)));
  });
}

template <number T>
device_dense<T> upload(const context& ctx, const dense_view<const T>& a) {
  return on_device<device_dense<T>>(ctx, "upload", [&](auto device) {
    const std::int64_t extent = converters::dense_extent(a);
    if (extent > 0 && gpu::is_device_only(a.data)) {
      core::fail(errc::wrong_memory_space, "dense lies in device memory: must lie on the host");
    }
    dense_matrix<T> packed;
    if (!is_packed(a)) packed = packed_on_host(a);
    const std::span<const T> values(is_packed(a) ? a.data : packed.data(), static_cast<std::size_t>(a.rows * a.cols));
    device_arrays arrays(device);
    const dense_view<T> out(arrays.add_copy_of_host(values).data(), a.rows, a.cols, a.order);
    gpu::synchronize();  // before `packed` is freed
    return arrays.as(out);
  });
}

template <number T>
dense_matrix<T> download(const context& ctx, const dense_view<const T>& a) {
  return on_device<dense_matrix<T>>(ctx, "download", [&](auto device) {
    const std::int64_t extent = converters::dense_extent(a);
    converters::require_on_device(device, a.data, static_cast<std::size_t>(extent), "dense");
    const std::span<const T> all(a.data, static_cast<std::size_t>(extent));
    if (!is_packed(a)) {
      const std::vector<T> spread = fetch(all);
      return packed_on_host(dense_view<const T>(spread.data(), a.rows, a.cols, a.ld, a.order));
    }
    dense_matrix<T> packed(a.rows, a.cols, a.order);
    if (extent > 0) gpu::copy_to_host(packed.data(), a.data, all.size_bytes());
    return packed;
  });
}

#define BCSC_INSTANTIATE(T, I)                                                      \
  template device_coo<T, I> upload(const context&, const coo_view<T, I>&, trust);   \
  template device_csr<T, I> upload(const context&, const csr_view<T, I>&, trust);   \
  template device_csc<T, I> upload(const context&, const csc_view<T, I>&, trust);   \
  template device_bcsc<T, I> upload(const context&, const bcsc_view<T, I>&, trust); \
  template coo_matrix<T, I> download(const context&, const coo_view<T, I>&);        \
  template csr_matrix<T, I> download(const context&, const csr_view<T, I>&);        \
  template csc_matrix<T, I> download(const context&, const csc_view<T, I>&);        \
  template bcsc_matrix<T, I> download(const context&, const bcsc_view<T, I>&);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I)                                                    \
  template device_bsr<T, I> upload(const context&, const bsr_view<T, I>&, trust); \
  template device_ell<T, I> upload(const context&, const ell_view<T, I>&, trust); \
  template bsr_matrix<T, I> download(const context&, const bsr_view<T, I>&);      \
  template ell_matrix<T, I> download(const context&, const ell_view<T, I>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T)                                                    \
  template device_dense<T> upload(const context&, const dense_view<const T>&); \
  template dense_matrix<T> download(const context&, const dense_view<const T>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
