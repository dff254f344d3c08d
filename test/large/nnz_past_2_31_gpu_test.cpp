// A product with 2^31 + 10 non-zeros on a GPU, from CSR with 64-bit indices: every element of C, and of the product
// with the stored transpose, is what it must be. Pattern and values have closed forms, from which the sums are computed
// again. The large one needs BCSC_LARGE=1, 64 GiB here and 24 GiB on the GPU; the same at a thousandth of the size
// always runs, on the CPU and, where there is one, on a GPU.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bcsc/plan.hpp"
#include "core/buffer.hpp"
#include "test/support/operands.hpp"
#include "test/support/tuned_kernels.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

using I = std::int64_t;
constexpr std::int64_t n = 8;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Light rows of 1023, 1024 and 1025 entries in turn, so that a third of them ends in a whole pair; then four full
/// rows, which are heavy; then one that brings the number of non-zeros to the wanted total.
struct sawtooth {
  std::int64_t light, last;  ///< light rows, a multiple of 3; entries of the last row
  static constexpr std::int64_t heavy = 4, cols = 16384;

  std::int64_t rows() const { return light + heavy + 1; }
  std::int64_t length(std::int64_t row) const {
    return row < light ? 1023 + row % 3 : row < light + heavy ? cols : last;
  }
  std::int64_t begin(std::int64_t row) const {
    const std::int64_t before = std::min(row, light), full = std::clamp<std::int64_t>(row - light, 0, heavy);
    return 1024 * before - (before % 3 == 0 ? 0 : 1) + cols * full + (row > light + heavy ? last : 0);
  }
  std::int64_t nnz() const { return begin(rows()); }
  std::int64_t column(std::int64_t row, std::int64_t k) const { return length(row) == cols ? k : 15 * k + row % 16; }
  static int value(std::int64_t row, std::int64_t k) { return static_cast<int>((7 * row + 13 * k) % 7) - 3; }
  static int b(std::int64_t row, std::int64_t col) { return static_cast<int>((5 * row + 3 * col) % 9) - 4; }
};

/// Arrays that are left uninitialised until the threads that use them fill them.
struct host_csr {
  std::int64_t rows, nnz;
  std::unique_ptr<I[]> row_ptr, col_ind;
  std::unique_ptr<float[]> values;

  explicit host_csr(const sawtooth& a)
      : rows(a.rows()),
        nnz(a.nnz()),
        row_ptr(new I[at(rows) + 1]),
        col_ind(new I[at(nnz)]),
        values(new float[at(nnz)]) {
#pragma omp parallel for
    for (std::int64_t i = 0; i <= rows; ++i) row_ptr[at(i)] = a.begin(i);
#pragma omp parallel for schedule(dynamic, 1024)
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t begin = a.begin(i), length = a.length(i);
      for (std::int64_t k = 0; k < length; ++k) {
        col_ind[at(begin + k)] = a.column(i, k);
        values[at(begin + k)] = static_cast<float>(sawtooth::value(i, k));
      }
    }
  }
  csr_view<float, I> view() const {
    return {rows, sawtooth::cols, {row_ptr.get(), at(rows) + 1}, {col_ind.get(), at(nnz)}, {values.get(), at(nnz)}};
  }
};

/// Elements of C = A * B that are not what they must be.
std::int64_t num_wrong(const sawtooth& a, const std::vector<float>& c) {
  std::vector<int> b(at(sawtooth::cols * n));
  for (std::int64_t k = 0; k < sawtooth::cols * n; ++k) b[at(k)] = sawtooth::b(k / n, k % n);
  std::int64_t wrong = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : wrong)
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    int sums[n] = {};
    for (std::int64_t k = 0, length = a.length(i); k < length; ++k) {
      const int value = sawtooth::value(i, k);
      const int* const line = &b[at(a.column(i, k) * n)];
      for (std::int64_t j = 0; j < n; ++j) sums[j] += value * line[j];
    }
    for (std::int64_t j = 0; j < n; ++j) wrong += c[at(i * n + j)] == static_cast<float>(sums[j]) ? 0 : 1;
  }
  return wrong;
}

/// The same for C = A' * B.
std::int64_t num_wrong_transposed(const sawtooth& a, const std::vector<float>& c) {
  std::vector<int> sums(at(sawtooth::cols * n), 0);
#pragma omp parallel
  {
    std::vector<int> mine(sums.size(), 0);
#pragma omp for schedule(dynamic, 1024)
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      int b[n];
      for (std::int64_t j = 0; j < n; ++j) b[j] = sawtooth::b(i, j);
      for (std::int64_t k = 0, length = a.length(i); k < length; ++k) {
        const int value = sawtooth::value(i, k);
        int* const line = &mine[at(a.column(i, k) * n)];
        for (std::int64_t j = 0; j < n; ++j) line[j] += value * b[j];
      }
    }
#pragma omp critical
    std::ranges::transform(mine, sums, sums.begin(), [](int x, int y) { return x + y; });
  }
  std::int64_t wrong = 0;
  for (std::size_t k = 0; k < sums.size(); ++k) wrong += c[k] == static_cast<float>(sums[k]) ? 0 : 1;
  return wrong;
}

class stopwatch {
 public:
  void tell(const char* what) {
    const auto now = std::chrono::steady_clock::now();
    std::printf("%-32s %8.3f s\n", what, std::chrono::duration<double>(now - last_).count());
    std::fflush(stdout);
    last_ = std::chrono::steady_clock::now();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// B, and C full of NaN, where `ctx` computes.
class operands_there {
 public:
  operands_there(const context& ctx, std::int64_t b_rows, std::int64_t c_rows)
      : on_gpu_(ctx.kind() == backend::cuda),
        b_rows_(b_rows),
        c_rows_(c_rows),
        b_(at(b_rows * n)),
        c_(at(c_rows * n), std::numeric_limits<float>::quiet_NaN()) {
    for (std::int64_t i = 0; i < b_rows; ++i) {
      for (std::int64_t j = 0; j < n; ++j) b_[at(i * n + j)] = static_cast<float>(sawtooth::b(i, j));
    }
    if (!on_gpu_) return;
    b_there_ = core::device_buffer<float>(ctx.device().device, std::span<const float>(b_));
    c_there_ = core::device_buffer<float>(ctx.device().device, std::span<const float>(c_));
  }
  /// C, when it is complete.
  const std::vector<float>& product(const spmm_plan<float>& plan) {
    plan.run(1.0f, dense_view<const float>(on_gpu_ ? b_there_.data() : b_.data(), b_rows_, n), 0.0f,
             dense_view<float>(on_gpu_ ? c_there_.data() : c_.data(), c_rows_, n));
    if (on_gpu_) c_ = c_there_.download();
    return c_;
  }

 private:
  bool on_gpu_;
  std::int64_t b_rows_, c_rows_;
  std::vector<float> b_, c_;
  core::device_buffer<float> b_there_, c_there_;
};

void expect_products(const context& ctx, const sawtooth& a, const std::string& algorithm) {
  stopwatch watch;
  std::optional<host_csr> csr(a);
  watch.tell("made as CSR");
  const spmm_plan<float> plan(ctx, csr->view(), {.cols = n, .expert = {.kernel = algorithm}});
  watch.tell("plan");
  csr.reset();
  std::printf("%s\n", plan.explain().c_str());
  EXPECT_EQ(plan.facts().nnz, a.nnz());
  if (ctx.kind() == backend::cuda) {
    EXPECT_EQ(plan.facts().kernel.algorithm, "rowwise");
    EXPECT_EQ(plan.facts().kernel.index_bits, 32);
  }
  watch = {};
  {
    operands_there operands(ctx, sawtooth::cols, a.rows());
    watch.tell("B and C");
    for (int time = 0; time < 2; ++time) {
      (void)operands.product(plan);
      watch.tell(time == 0 ? "product, first, and copy of C" : "product, and copy of C");
    }
    EXPECT_EQ(num_wrong(a, operands.product(plan)), 0) << "of " << a.rows() * n;
    watch.tell("checked");
  }
  const auto transposed = plan.transposed();
  ASSERT_TRUE(transposed.has_value());
  operands_there operands(ctx, a.rows(), sawtooth::cols);
  watch.tell("B and C of the transpose");
  const std::vector<float>& c = operands.product(*transposed);
  watch.tell("product with the transpose");
  EXPECT_EQ(num_wrong_transposed(a, c), 0) << "of " << sawtooth::cols * n;
  watch.tell("checked");
}

constexpr sawtooth large{2097087, 1034}, small{2097, 1034};

TEST(nnz_past_2_31, is_what_it_is_called) {
  EXPECT_EQ(large.nnz(), (std::int64_t{1} << 31) + 10);
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < small.rows(); ++i) {
    ASSERT_EQ(small.begin(i), begin) << "row " << i;
    begin += small.length(i);
    ASSERT_LT(small.column(i, small.length(i) - 1), sawtooth::cols);
  }
  EXPECT_EQ(small.nnz(), begin);
  EXPECT_NO_THROW(validate(viewed(host_csr(small))));
}

TEST(nnz_past_2_31, at_a_thousandth_of_the_size_on_the_cpu) { expect_products(context::cpu(), small, ""); }

TEST(nnz_past_2_31, at_a_thousandth_of_the_size_on_the_gpu) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  expect_products(*ctx, small, "rowwise");
}

/// What the system has left, in GiB.
double available_gib() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  double kib = 0;
  for (std::string unit; info >> name >> kib; std::getline(info, unit)) {
    if (name == "MemAvailable:") return kib / (1 << 20);
  }
  return 0;
}

TEST(nnz_past_2_31, multiplies_on_the_gpu) {
  if (std::getenv("BCSC_LARGE") == nullptr) GTEST_SKIP() << "needs 64 GiB; BCSC_LARGE=1 asks for it";
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  if (available_gib() < 64) GTEST_SKIP() << "needs 64 GiB, " << available_gib() << " are free";
  {
    const core::gpu::device_guard guard(ctx->device().device);
    const double free_gib = static_cast<double>(core::gpu::free_bytes()) / (1 << 30);
    if (free_gib < 24) GTEST_SKIP() << "needs 24 GiB on the GPU, " << free_gib << " are free";
  }
  // Without its own costs (kernel_space=small) the row-wise kernel is not sure to be chosen.
  expect_products(*ctx, large, test::has_few_configs ? "rowwise" : "");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%lld non-zeros, peak memory %.1f GiB\n", static_cast<long long>(large.nnz()),
              static_cast<double>(usage.ru_maxrss) / (1 << 20));
}

}  // namespace
}  // namespace bcsc::test
