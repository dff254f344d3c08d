#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "bcsc/formats.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

/// A CSR made on a GPU for what is made of it next.
template <number T>
struct csr_on_device {
  std::int64_t rows = 0, cols = 0;
  core::device_buffer<std::int32_t> row_ptr, col_ind;
  core::device_buffer<T> values;

  csr_view<T, std::int32_t> view() const {
    const auto all = [](const auto& array) { return std::span(std::as_const(array).data(), core::at(array.size())); };
    return {rows, cols, all(row_ptr), all(col_ind), all(values), memory_space::device};
  }
};

/// As permute_rows: row i of the result is row order[i] of `a`, a permutation, which is not checked. `a` lies on the
/// host or on the device, and holds its invariants; there are fewer than 2^31 entries. Works on the default stream of
/// the given device; complete on return.
/// Throws error{out_of_memory | cuda_error | context_poisoned}, and error{no_device} in a build without CUDA.
template <number T>
csr_on_device<T> permute_rows_on_device(int device, const csr_view<T, std::int32_t>& a,
                                        std::span<const std::int64_t> order);

}  // namespace bcsc::converters
