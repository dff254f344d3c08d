#include "kernels/cpu/dispatch.hpp"

namespace bcsc::kernels::cpu {

// Defined in isa/spmm_isa.cpp, which is compiled once for each instruction set.
namespace baseline {
launch_fn launcher(std::size_t table, std::size_t config);
}
#if defined(__x86_64__)
namespace avx2 {
launch_fn launcher(std::size_t table, std::size_t config);
}
namespace avx512 {
launch_fn launcher(std::size_t table, std::size_t config);
}
#endif

launch_fn launcher(std::size_t table, std::size_t config, core::cpu_isa isa) {
#if defined(__x86_64__)
  if (isa == core::cpu_isa::avx512) return avx512::launcher(table, config);
  if (isa == core::cpu_isa::avx2) return avx2::launcher(table, config);
#else
  static_cast<void>(isa);
#endif
  return baseline::launcher(table, config);
}

}  // namespace bcsc::kernels::cpu
