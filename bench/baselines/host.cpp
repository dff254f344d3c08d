#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/reference.hpp"
#include "bench/harness/contender.hpp"

#if BCSC_BENCH_WITH_EIGEN
#include "bench/baselines/eigen_product.hpp"
#endif

/// What the CPU offers for comparison: Eigen's row-major sparse times dense, with the same number of threads, our own
/// serial reference, and MKL where it is installed.
namespace bcsc::bench {

namespace {

#if BCSC_BENCH_WITH_EIGEN

template <value T>
rival<T> eigen(const problem<T>& p, int threads) {
  return {.name = "eigen", .group = "eigen", .prepare = [a = p.host, threads](dense_view<const T> b, dense_view<T> c) {
            const eigen_operands<T> task{.rows = a.rows,
                                         .inner = a.cols,
                                         .nnz = a.nnz(),
                                         .row_ptr = a.row_ptr.data(),
                                         .col_ind = a.col_ind.data(),
                                         .values = a.values.data(),
                                         .b = b.data,
                                         .c = c.data,
                                         .cols = b.cols,
                                         .row_major = b.order == layout::row_major,
                                         .threads = threads};
            prepared ready;
            ready.start = [task, library = best_eigen()] { library.multiply(task); };
            return ready;
          }};
}

#endif

template <number T>
rival<T> serial_reference(const problem<T>& p, bool thorough) {
  return {.name = "reference-csr",
          .group = "reference",
          .other_layout = false,
          .thorough = thorough,
          .prepare = [a = p.host](dense_view<const T> b, dense_view<T> c) {
            prepared ready;
            ready.start = [a, b, c] { reference::spmm<T, std::int32_t>(1, a, b, 0, c); };
            return ready;
          }};
}

class cpu_rivals final : public rivals {
 public:
  /// `mkl` may be null.
  cpu_rivals(int threads, std::unique_ptr<rivals> mkl) : threads_(threads), mkl_(std::move(mkl)) {}

#if BCSC_BENCH_WITH_EIGEN
  std::string main_group() const override { return "eigen"; }
#else
  std::string main_group() const override { return "reference"; }
#endif
  void describe(machine_facts& facts) const override {
#if BCSC_BENCH_WITH_EIGEN
    facts.versions["eigen"] = BCSC_BENCH_EIGEN_VERSION;
#endif
    if (mkl_) mkl_->describe(facts);
  }

  std::vector<rival<float>> on(const problem<float>& p) override { return all(p); }
  std::vector<rival<double>> on(const problem<double>& p) override { return all(p); }
  std::vector<rival<half>> on(const problem<half>& p) override { return all(p); }
  std::vector<rival<bfloat16>> on(const problem<bfloat16>& p) override { return all(p); }

 private:
  template <number T>
  std::vector<rival<T>> all(const problem<T>& p) const {
    std::vector<rival<T>> them;
#if BCSC_BENCH_WITH_EIGEN
    if constexpr (value<T>) them.push_back(eigen(p, threads_));
#endif
    them.push_back(serial_reference(p, !them.empty()));  // of no interest beside Eigen
    if (mkl_ && p.transpose == op::none) std::ranges::move(mkl_->on(p), std::back_inserter(them));
    return them;
  }

  [[maybe_unused]] int threads_;
  std::unique_ptr<rivals> mkl_;
};

/// MKL by the names of its versions; nothing where the loader finds none that can be used.
std::unique_ptr<rivals> find_mkl(int threads) {
  for (const char* const name : {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"}) {
    try {
      return open_mkl_rivals(name, threads);
    } catch (const error&) {  // nobody has asked for it
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<rivals> open_cpu_rivals(int threads) { return std::make_unique<cpu_rivals>(threads, nullptr); }
std::unique_ptr<rivals> open_found_cpu_rivals(int threads) {
  return std::make_unique<cpu_rivals>(threads, find_mkl(threads));
}

}  // namespace bcsc::bench
