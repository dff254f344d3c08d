#include <cuda_runtime_api.h>

#include "kernels/cuda/dense_library.hpp"

/// A build whose CUDA toolkit came without cublasLt.h.
namespace bcsc::kernels::cuda {

std::string ready_dense_library(int) { return "this library was built without cuBLASLt's header"; }
int multiply_dense(const dense_product&, CUstream_st*) { return cudaErrorNotSupported; }

}  // namespace bcsc::kernels::cuda
