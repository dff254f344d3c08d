#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/formats.hpp"

namespace bcsc::converters {

/// As analyse_blocks, for a matrix on the device, which holds its invariants: one sort, then O(nnz) for each of
/// `m_blocks`; only counts come to the host. Works on the default stream of the given device; complete on return.
/// Throws error{invalid_argument} for a height below 1, error{wrong_memory_space} for a host view, error{out_of_memory
/// | cuda_error | context_poisoned}, and error{no_device} in a build without CUDA.
template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const csr_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks);
template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const bcsc_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks);

}  // namespace bcsc::converters
