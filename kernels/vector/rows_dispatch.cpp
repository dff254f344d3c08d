#include "core/context_state.hpp"
#include "kernels/vector/rows.hpp"

namespace bcsc::kernels::vector {

// Defined in isa/rows_isa.cpp, which is compiled once for each instruction set.
namespace baseline {
template <class T>
const row_operations<T>& rows();
}
#if defined(__x86_64__)
namespace avx2 {
template <class T>
const row_operations<T>& rows();
}
namespace avx512 {
template <class T>
const row_operations<T>& rows();
}
#endif

template <class T>
const row_operations<T>& rows_for(core::cpu_isa isa) {
#if defined(__x86_64__)
  if (isa == core::cpu_isa::avx512) return avx512::rows<T>();
  if (isa == core::cpu_isa::avx2) return avx2::rows<T>();
#else
  static_cast<void>(isa);
#endif
  return baseline::rows<T>();
}

template const row_operations<float>& rows_for<float>(core::cpu_isa);
template const row_operations<double>& rows_for<double>(core::cpu_isa);

}  // namespace bcsc::kernels::vector
