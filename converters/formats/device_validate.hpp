#pragma once

#include "bcsc/formats.hpp"

namespace bcsc::converters {

/// Checks a device matrix against its format's invariants (docs/formats.md), order included. Works on the default
/// stream of the given device; complete on return.
/// Throws error{invalid_argument | size_overflow | invalid_format | index_out_of_range} with the host's message: array,
/// position and value; error{wrong_memory_space} for a host view, error{out_of_memory | cuda_error | context_poisoned},
/// and error{no_device} in a build without CUDA.
template <number T, index I>
void validate_on_device(int device, const csr_view<T, I>& a);
template <number T, index I>
void validate_on_device(int device, const bcsc_view<T, I>& a);

}  // namespace bcsc::converters
