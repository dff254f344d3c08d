#include "test/conformance/chained_kernels.hpp"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

namespace bcsc::test {

namespace {

constexpr int threads = 256;

/// Elements are numbered along their lines in memory, line by line, member by member.
struct numbering {
  std::int64_t total, length, lines;
  bool by_rows;

  explicit numbering(const chained_matrix& m)
      : total(m.count * m.rows * m.cols),
        length(m.col_stride == 1 ? m.cols : m.rows),
        lines(m.col_stride == 1 ? m.rows : m.cols),
        by_rows(m.col_stride == 1) {}

  struct place {
    std::int64_t member, row, col;
  };
  __device__ place at(std::int64_t i) const {
    const std::int64_t line = i / length, along = i - line * length;
    const std::int64_t member = line / lines, across = line - member * lines;
    return by_rows ? place{member, across, along} : place{member, along, across};
  }
};

__device__ void behave(const manners& how) {
#if __CUDA_ARCH__ >= 900
  if (how.begins_early) cudaGridDependencySynchronize();
  if (how.lets_next_begin) cudaTriggerProgrammaticLaunchCompletion();
#endif
  const long long begin = clock64();
  while (clock64() - begin < how.delay) {
  }
}

template <class T>
__device__ T number(int x) {
  return static_cast<T>(x);
}
template <>
__device__ half number<half>(int x) {
  return __float2half_rn(static_cast<float>(x));
}

template <class T, class S>
__global__ void __launch_bounds__(threads)
    write_kernel(chained_matrix b, numbering all, int added, device_scalars scalars, manners how) {
  behave(how);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < all.total; i += step) {
    const numbering::place at = all.at(i);
    static_cast<T*>(b.data)[at.member * b.stride + at.row * b.row_stride + at.col * b.col_stride] =
        number<T>(base_value(at.member, at.row, at.col) + added);
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == threads - 1) {
    if (scalars.alpha != nullptr) *static_cast<S*>(scalars.alpha) = static_cast<S>(scalars.alpha_value);
    if (scalars.beta != nullptr) *static_cast<S*>(scalars.beta) = static_cast<S>(scalars.beta_value);
  }
}

template <class T>
__device__ bool differ(T a, T b) {
  return !(a == b);
}
template <>
__device__ bool differ<half>(half a, half b) {
  return !(__half2float(a) == __half2float(b));
}

template <class T>
__global__ void __launch_bounds__(threads) read_kernel(chained_matrix c, numbering all, chained_result wanted,
                                                       chained_counts* counts, std::uint64_t round, manners how) {
  behave(how);
  unsigned long long mismatches = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < all.total; i += step) {
    const numbering::place at = all.at(i);
    const T got = static_cast<const T*>(c.data)[at.member * c.stride + at.row * c.row_stride + at.col * c.col_stride];
    const int exact = wanted.by_product * wanted.product[(at.member * c.rows + at.row) * c.cols + at.col] +
                      wanted.by_row_sum * wanted.row_sum[at.row];
    if (differ(got, number<T>(exact))) ++mismatches;
  }
  if (mismatches > 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&counts->mismatches), mismatches);
    atomicMin(reinterpret_cast<unsigned long long*>(&counts->first_round), static_cast<unsigned long long>(round));
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&counts->rounds), 1ull);
  }
}

/// A few thread blocks of each multiprocessor at most: the kernel after it has room beside it.
unsigned blocks_for(std::int64_t elements) {
  constexpr std::int64_t most = 264;
  return static_cast<unsigned>(std::clamp<std::int64_t>((elements + threads - 1) / threads, 1, most));
}

template <class... Params, class... Args>
int start(void (*kernel)(Params...), std::int64_t elements, const manners& how, CUstream_st* stream,
          const Args&... args) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_for(elements));
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = how.begins_early ? 1 : 0;
  return static_cast<int>(cudaLaunchKernelEx(&config, kernel, args...));
}

}  // namespace

int write_round(const chained_matrix& b, int added, const device_scalars& scalars, const manners& how,
                CUstream_st* stream) {
  const numbering all(b);
  switch (b.type) {
    case value_type::fp32:
      return start(&write_kernel<float, float>, all.total, how, stream, b, all, added, scalars, how);
    case value_type::fp64:
      return start(&write_kernel<double, double>, all.total, how, stream, b, all, added, scalars, how);
    case value_type::fp16:
      return start(&write_kernel<half, float>, all.total, how, stream, b, all, added, scalars, how);
    default:
      return static_cast<int>(cudaErrorInvalidValue);
  }
}

int read_round(const chained_matrix& c, const chained_result& wanted, chained_counts* counts, std::uint64_t round,
               const manners& how, CUstream_st* stream) {
  const numbering all(c);
  switch (c.type) {
    case value_type::fp32:
      return start(&read_kernel<float>, all.total, how, stream, c, all, wanted, counts, round, how);
    case value_type::fp64:
      return start(&read_kernel<double>, all.total, how, stream, c, all, wanted, counts, round, how);
    case value_type::fp16:
      return start(&read_kernel<half>, all.total, how, stream, c, all, wanted, counts, round, how);
    default:
      return static_cast<int>(cudaErrorInvalidValue);
  }
}

bool may_begin_early() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, &read_kernel<float>) == cudaSuccess && attributes.binaryVersion >= 90;
}

}  // namespace bcsc::test
