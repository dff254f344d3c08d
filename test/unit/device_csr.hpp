#pragma once

#include "bcsc/context.hpp"
#include "converters/formats/device_compact.hpp"

namespace bcsc::test {

/// The number of the first usable GPU, or -1.
inline int usable_device() {
  for (const device_info& info : devices()) {
    if (info.usable) return info.device;
  }
  return -1;
}

/// A copy of a host matrix on the GPU.
template <class T, class I>
struct device_csr {
  csr_view<T, I> host;
  core::device_buffer<I> row_ptr, col_ind;
  converters::device_values<T> values;

  device_csr(int device, csr_view<T, I> a)
      : host(a), row_ptr(device, a.row_ptr), col_ind(device, a.col_ind), values(device, a.nnz()) {
    if constexpr (number<T>) values.buffer.upload(a.values);
  }
  csr_view<T, I> view() const {
    return {host.rows,
            host.cols,
            {row_ptr.data(), host.row_ptr.size()},
            {col_ind.data(), host.col_ind.size()},
            values.span(),
            memory_space::device};
  }
};

}  // namespace bcsc::test
