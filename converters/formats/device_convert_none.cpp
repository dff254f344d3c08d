#include "converters/formats/device_convert.hpp"
#include "converters/formats/no_cuda.hpp"

/// A build without CUDA: there is no device matrix to work on.
namespace bcsc::converters {

template <value T, index I>
void validate_on_device(int, const csr_view<T, I>&) {
  no_cuda();
}
template <value T, index I>
void validate_on_device(int, const bcsc_view<T, I>&) {
  no_cuda();
}
template <value T, index I>
device_bcsc<T, I> to_bcsc_on_device(int, const csr_view<T, I>&, std::int64_t) {
  no_cuda();
}
template <value T, index I>
device_bcsc<T, I> reblock_on_device(int, const bcsc_view<T, I>&, std::int64_t) {
  no_cuda();
}
template <value T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<T, I>&, std::span<const std::int64_t>) {
  no_cuda();
}
template <value T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<T, I>&, std::span<const std::int64_t>) {
  no_cuda();
}

template void validate_on_device(int, const csr_view<float, std::int32_t>&);
template void validate_on_device(int, const csr_view<float, std::int64_t>&);
template void validate_on_device(int, const csr_view<double, std::int32_t>&);
template void validate_on_device(int, const csr_view<double, std::int64_t>&);
template void validate_on_device(int, const bcsc_view<float, std::int32_t>&);
template void validate_on_device(int, const bcsc_view<float, std::int64_t>&);
template void validate_on_device(int, const bcsc_view<double, std::int32_t>&);
template void validate_on_device(int, const bcsc_view<double, std::int64_t>&);
template device_bcsc<float, std::int32_t> to_bcsc_on_device(int, const csr_view<float, std::int32_t>&, std::int64_t);
template device_bcsc<float, std::int64_t> to_bcsc_on_device(int, const csr_view<float, std::int64_t>&, std::int64_t);
template device_bcsc<double, std::int32_t> to_bcsc_on_device(int, const csr_view<double, std::int32_t>&, std::int64_t);
template device_bcsc<double, std::int64_t> to_bcsc_on_device(int, const csr_view<double, std::int64_t>&, std::int64_t);
template device_bcsc<float, std::int32_t> reblock_on_device(int, const bcsc_view<float, std::int32_t>&, std::int64_t);
template device_bcsc<float, std::int64_t> reblock_on_device(int, const bcsc_view<float, std::int64_t>&, std::int64_t);
template device_bcsc<double, std::int32_t> reblock_on_device(int, const bcsc_view<double, std::int32_t>&, std::int64_t);
template device_bcsc<double, std::int64_t> reblock_on_device(int, const bcsc_view<double, std::int64_t>&, std::int64_t);
template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<float, std::int32_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<float, std::int64_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<double, std::int32_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<double, std::int64_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<float, std::int32_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<float, std::int64_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<double, std::int32_t>&,
                                                                std::span<const std::int64_t>);
template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<double, std::int64_t>&,
                                                                std::span<const std::int64_t>);

}  // namespace bcsc::converters
