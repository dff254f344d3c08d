#include "core/fail.hpp"
#include "kernels/cuda/triangular_library.hpp"

/// A build whose CUDA toolkit came without cusparse.h.
namespace bcsc::kernels::cuda {

std::string ready_triangular_library() { return "this library was built without cuSPARSE's header"; }
std::unique_ptr<triangular_solve> prepare_triangular_solve(int, const triangular_matrix&, std::int64_t) {
  core::fail(errc::unsupported, "{}", ready_triangular_library());
}

}  // namespace bcsc::kernels::cuda
