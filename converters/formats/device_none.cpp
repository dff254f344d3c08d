#include "converters/formats/device_analysis.hpp"
#include "converters/formats/device_validate.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/no_cuda.hpp"
#include "converters/formats/pattern_hash.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::converters {

template <number T, index I>
void validate_on_device(int, const csr_view<T, I>&) {
  no_cuda();
}
template <number T, index I>
void validate_on_device(int, const bcsc_view<T, I>&) {
  no_cuda();
}
template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<T, I>&, std::span<const std::int64_t>) {
  no_cuda();
}
template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<T, I>&, std::span<const std::int64_t>) {
  no_cuda();
}

template <index I>
pattern_hash hash_pattern_on_device(int, const csr_pattern<I>&) {
  no_cuda();
}
template pattern_hash hash_pattern_on_device(int, const csr_pattern<std::int32_t>&);
template pattern_hash hash_pattern_on_device(int, const csr_pattern<std::int64_t>&);

#define BCSC_INSTANTIATE(T, I)                                                                    \
  template void validate_on_device(int, const csr_view<T, I>&);                                   \
  template void validate_on_device(int, const bcsc_view<T, I>&);                                  \
  template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<T, I>&,     \
                                                                  std::span<const std::int64_t>); \
  template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<T, I>&,    \
                                                                  std::span<const std::int64_t>);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
