#pragma once

#include <cuda_runtime.h>

/// Stands in for kernels/cuda/cluster.cuh on the emulated GPU, which runs the thread blocks of a cluster together.
namespace bcsc::kernels::cuda {

inline constexpr int most_cluster_blocks = 8;

inline int cluster_rank() { return static_cast<int>(emulation::cluster_rank()); }

template <class T>
T* of_cluster_rank(T* shared, int rank, emulation::source_line where = emulation::source_line::current()) {
  return reinterpret_cast<T*>(emulation::shared_memory_of_rank(shared, static_cast<unsigned>(rank), where));
}

inline void arrive_at_cluster(emulation::source_line where = emulation::source_line::current()) {
  emulation::arrive_at_cluster(where);
}
inline void wait_for_cluster(emulation::source_line where = emulation::source_line::current()) {
  emulation::wait_for_cluster(where);
}

}  // namespace bcsc::kernels::cuda
