#include "lib/solvers/lapack.hpp"

#include "core/format.hpp"

namespace bcsc::solvers {

lapack::lapack(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    core::run_time_library library(name);
    library.bind(dsyevd, "dsyevd_");
    library.bind(dpotrf, "dpotrf_");
    library.bind(dtrtrs, "dtrtrs_");
    library.bind(dgemm, "dgemm_");
    if (library.why_not().empty()) {
      why_not_.clear();
      return;
    }
    if (why_not_.empty()) why_not_ = library.why_not();
  }
}

const lapack& lapack::get() {
  // What the system takes for LAPACK (on Debian an alternative: the reference, OpenBLAS, ...), else OpenBLAS by itself.
  static const lapack loaded{"liblapack.so.3", "libopenblas.so.0"};
  return loaded;
}

std::string why_no_lapack(const lapack& library) {
  const std::string& missing = library.why_not();
  if (missing.empty()) return {};
  return core::format(
      "LAPACK cannot be loaded ({}): install it, on Debian and Ubuntu the package liblapack3 or libopenblas0, "
      "elsewhere lapack or openblas",
      missing);
}

}  // namespace bcsc::solvers
