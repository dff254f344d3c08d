#pragma once

#include <cstdint>

#include "bcsc/convert.hpp"
#include "converters/formats/device_compact.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// Compact BCSC of `csr` on how.device: what tiles are made from there. Row blocks of heights of their own are made on
/// the host.
template <number T, index I>
converters::device_compact<T, std::int32_t> blocks_on_device(const csr_view<T, I>& csr, const storing& how) {
  if constexpr (sizeof(I) > sizeof(std::int32_t)) {
    return blocks_on_device<T, std::int32_t>(cast<T, std::int32_t>(csr), how);
  } else if (csr.space == memory_space::device) {
    return converters::to_compact_on_device(*how.device, csr, how.m_block);
  } else {
    const auto blocks = to_compact(csr, {.m_block = how.m_block, .boundaries = how.boundaries});
    return converters::upload(*how.device, blocks.view());
  }
}

}  // namespace bcsc::forms
