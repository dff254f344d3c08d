#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/registry.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/stage.hpp"

namespace bcsc::bench {

/// A product made ready: what starts it, and what is known of it.
struct prepared {
  launch start;
  std::string kernel;          ///< ours: the name in the registry
  std::string reason;          ///< ours: why the plan chose it
  std::int64_t m_block = 0;    ///< ours
  error_bound bound;           ///< of its result
  double convert_seconds = 0;  ///< CSR on the host -> ready; 0 where CSR itself is multiplied
};

/// Whether the values of one column are contiguous, as products with a vector need them.
template <class T>
bool is_vector(dense_view<T> x) {
  return x.cols == 1 && (x.order == layout::col_major || x.ld == 1);
}

/// Another library's way to compute C = op(A)*B on one matrix.
template <number T>
struct rival {
  std::string name;          ///< "cusparse-csr-alg3"
  std::string group;         ///< those that are compared as one: "cusparse", "cublas", "eigen", "reference"
  bool bounded = true;       ///< false: computes in less than T's precision (TF32); its error is reported, not judged
  bool other_layout = true;  ///< thorough runs measure it in the layout that was not asked for, too
  std::optional<std::int64_t> only_cols = {};  ///< the one N that it computes; none: every N
  bool thorough = false;                       ///< hardly ever the fastest: measured in thorough runs only
  /// Makes it ready on these operands, which lie on the stage. Throws error{unsupported} if it cannot do that.
  std::function<prepared(dense_view<const T> b, dense_view<T> c)> prepare;

  bool computes(std::int64_t cols) const { return cols == only_cols.value_or(cols); }
};

/// A matrix as rivals are given it.
template <number T>
struct problem {
  csr_view<T, std::int32_t> host;
  csr_view<T, std::int32_t> placed;  ///< the same on the stage
  op transpose = op::none;           ///< C = op(A) * B; for the transpose only cuSPARSE's products from CSR
};

/// The libraries we compare with, opened once for all matrices.
class rivals {
 public:
  rivals() = default;
  virtual ~rivals() = default;
  rivals(const rivals&) = delete;
  rivals& operator=(const rivals&) = delete;

  /// The group our ratio is measured against, "cusparse" or "eigen"; empty if it is not in this build.
  virtual std::string main_group() const = 0;
  /// Adds the libraries' versions.
  virtual void describe(machine_facts& facts) const = 0;
  /// May keep what belongs to the matrix alive as long as the result lives; `p` and the stage must outlive it.
  virtual std::vector<rival<float>> on(const problem<float>& p) = 0;
  virtual std::vector<rival<double>> on(const problem<double>& p) = 0;
  /// Few have any for these.
  virtual std::vector<rival<half>> on(const problem<half>&) { return {}; }
  virtual std::vector<rival<bfloat16>> on(const problem<bfloat16>&) { return {}; }
};

/// bench/baselines: Eigen (if it was found) and the serial reference.
std::unique_ptr<rivals> open_cpu_rivals(int threads);
/// The same, and MKL where the loader finds its libmkl_rt; the main group stays as it is without. Once per process.
std::unique_ptr<rivals> open_found_cpu_rivals(int threads);
/// bench/baselines: MKL, from `library` (the path of libmkl_rt), on the threads of libgomp, which our own code uses
/// too. Once per process. Throws error{io_error} if it cannot be loaded.
std::unique_ptr<rivals> open_mkl_rivals(const std::string& library, int threads);
/// bench/baselines: cuSPARSE and cuBLAS.
std::unique_ptr<rivals> open_cuda_rivals(stage& where);

}  // namespace bcsc::bench
