#include "kernels/cpu/dispatch.hpp"

#include "core/fail.hpp"
#include "kernels/tables/cpu.hpp"
#include "kernels/tables/scatter.hpp"

namespace bcsc::kernels::cpu {

// Defined in spmm_isa.cpp, which is compiled once for each instruction set.
namespace baseline {
launch_fn launcher(tables::cpu_rows, std::size_t row);
launch_fn launcher(tables::cpu_blocks, std::size_t row);
launch_fn launcher(tables::cpu_columns, std::size_t row);
launch_fn launcher(tables::cpu_scatter, std::size_t row);
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
launch_fn launcher(tables::cpu_rows, std::size_t row);
launch_fn launcher(tables::cpu_blocks, std::size_t row);
launch_fn launcher(tables::cpu_columns, std::size_t row);
launch_fn launcher(tables::cpu_scatter, std::size_t row);
}  // namespace avx2

namespace avx512 {
launch_fn launcher(tables::cpu_rows, std::size_t row);
launch_fn launcher(tables::cpu_blocks, std::size_t row);
launch_fn launcher(tables::cpu_columns, std::size_t row);
launch_fn launcher(tables::cpu_scatter, std::size_t row);
}  // namespace avx512
#endif

template <class Algorithm>
launch_fn launcher(std::size_t row, core::cpu_isa isa) {
  if (row >= Algorithm::configs.size()) {
    core::fail(errc::internal, "row = {}: the table of {} has {} rows", row, Algorithm::name,
               Algorithm::configs.size());
  }
#if defined(__x86_64__)
  if (isa == core::cpu_isa::avx512) return avx512::launcher(Algorithm{}, row);
  if (isa == core::cpu_isa::avx2) return avx2::launcher(Algorithm{}, row);
#else
  static_cast<void>(isa);
#endif
  return baseline::launcher(Algorithm{}, row);
}

template launch_fn launcher<tables::cpu_rows>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_blocks>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_columns>(std::size_t, core::cpu_isa);
template launch_fn launcher<tables::cpu_scatter>(std::size_t, core::cpu_isa);

}  // namespace bcsc::kernels::cpu
