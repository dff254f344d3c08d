#include "test/unit/cache_policies.hpp"

#include <cuda_runtime.h>

namespace bcsc::test {

namespace {

__global__ void create(created_policies* to) {
  asm("createpolicy.fractional.L2::evict_normal.b64 %0;" : "=l"(to->normal));
  asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(to->first));
}

}  // namespace

int create_policies(created_policies& to) {
  created_policies* there = nullptr;
  cudaError_t status = cudaMalloc(&there, sizeof(created_policies));
  if (status != cudaSuccess) return status;
  create<<<1, 1>>>(there);
  status = cudaMemcpy(&to, there, sizeof(created_policies), cudaMemcpyDeviceToHost);
  const cudaError_t freed = cudaFree(there);
  return status != cudaSuccess ? status : freed;
}

}  // namespace bcsc::test
