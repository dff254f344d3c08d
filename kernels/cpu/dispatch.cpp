#include "kernels/cpu/dispatch.hpp"

#include "core/fail.hpp"
#include "kernels/tables/cpu.hpp"
#include "kernels/tables/scatter.hpp"

namespace bcsc::kernels::cpu {

// Defined in isa/spmm_isa.cpp, which is compiled once for each instruction set.
namespace baseline {
launch_fn launcher(tables::cpu_rows, std::size_t config);
launch_fn launcher(tables::cpu_blocks, std::size_t config);
launch_fn launcher(tables::cpu_columns, std::size_t config);
launch_fn launcher(tables::cpu_slices, std::size_t config);
launch_fn launcher(tables::cpu_scatter, std::size_t config);
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
launch_fn launcher(tables::cpu_rows, std::size_t config);
launch_fn launcher(tables::cpu_blocks, std::size_t config);
launch_fn launcher(tables::cpu_columns, std::size_t config);
launch_fn launcher(tables::cpu_slices, std::size_t config);
launch_fn launcher(tables::cpu_scatter, std::size_t config);
}  // namespace avx2

namespace avx512 {
launch_fn launcher(tables::cpu_rows, std::size_t config);
launch_fn launcher(tables::cpu_blocks, std::size_t config);
launch_fn launcher(tables::cpu_columns, std::size_t config);
launch_fn launcher(tables::cpu_slices, std::size_t config);
launch_fn launcher(tables::cpu_scatter, std::size_t config);
}  // namespace avx512
#endif

template <class Algorithm>
launch_fn launcher(std::size_t config, core::cpu_isa isa) {
  if (config >= Algorithm::configs.size()) {
    core::fail(errc::internal, "config = {}: {} has {} configs", config, Algorithm::name, Algorithm::configs.size());
  }
#if defined(__x86_64__)
  if (isa == core::cpu_isa::avx512) return avx512::launcher(Algorithm{}, config);
  if (isa == core::cpu_isa::avx2) return avx2::launcher(Algorithm{}, config);
#else
  static_cast<void>(isa);
#endif
  return baseline::launcher(Algorithm{}, config);
}

template launch_fn launcher<tables::cpu_rows>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_blocks>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_columns>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_slices>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_scatter>(std::size_t, core::cpu_isa);

}  // namespace bcsc::kernels::cpu
