// Products in a chain on one stream: a foreign kernel writes B, the plan runs, a foreign kernel compares C; then the
// next round, with no synchronisation between them. The foreign kernels are started with programmatic stream
// serialization and without, and some let the product begin before they write. All numbers are small integers, so that
// C is known exactly: a round adds (round % 13) to B, and so that many times A's row sums to C.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bcsc/plan.hpp"
#include "test/conformance/chained_kernels.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

/// alpha and beta of the rounds.
enum class factors {
  plain,      ///< 1 and 0
  kept,       ///< 1 and -1, on the host: C depends on the C before
  on_device,  ///< 1 to 3, and 0 or -1 in turn: written by the foreign kernel that writes B
};

/// A's rows: even ones, or a few with a hundred times as many entries.
struct pattern {
  std::int64_t rows, cols, mean;
  std::int64_t heavy_rows = 0, heavy_length = 0;
};

struct chain {
  std::string name;
  std::string algorithm;  ///< empty: as the plan chooses; "scatter": A' * B from a plan that stores A
  value_type type;
  pattern a;
  std::int64_t n;
  layout b_layout = layout::row_major, c_layout = layout::row_major;
  col_major_b reading = col_major_b::as_predicted;
  factors by = factors::plain;
  std::int64_t batch = 1;
  std::size_t min_kernels = 1;  ///< that a run starts: more where it packs, turns or adds partial sums
};

void PrintTo(const chain& c, std::ostream* out) { *out << c.name; }

constexpr pattern small{700, 600, 12};
constexpr pattern small_heavy{500, 2000, 12, 3, 900};     // which `rowwise` shares among the teams of a thread block,
constexpr pattern small_heavier{500, 5000, 12, 3, 5000};  // and these among thread blocks
constexpr pattern large{60000, 60000, 12};                // B: 7.7 MB in fp32 with N = 32
constexpr pattern large_heavy{40000, 60000, 12, 8, 6000};
constexpr pattern long_c{80000, 20000, 6};  // C: 41 MB in fp32 with N = 128, which row-wise kernels leave to be turned

std::vector<chain> small_chains() {
  const auto col = layout::col_major;
  std::vector<chain> all;
  for (const std::string algorithm : {"rowwise", "mma", ""}) {
    const std::string of = algorithm.empty() ? "chosen" : algorithm;
    all.push_back({of + "_fp32", algorithm, value_type::fp32, small, 32});
    all.push_back({of + "_fp32_kept", algorithm, value_type::fp32, small, 7, layout::row_major, col,
                   col_major_b::as_predicted, factors::kept});
    all.push_back({of + "_fp32_scalars_on_device", algorithm, value_type::fp32, small, 33, layout::row_major,
                   layout::row_major, col_major_b::as_predicted, factors::on_device});
    all.push_back({of + "_fp32_packed", algorithm, value_type::fp32, small, 16, col, col, col_major_b::packed,
                   factors::kept, 1, 2});
    all.push_back({of + "_fp32_batch", algorithm, value_type::fp32, small, 8, layout::row_major, layout::row_major,
                   col_major_b::as_predicted, factors::kept, 5});
    all.push_back({of + "_fp64", algorithm, value_type::fp64, small, 16, layout::row_major, layout::row_major,
                   col_major_b::as_predicted, factors::on_device});
    all.push_back({of + "_fp16", algorithm, value_type::fp16, small, 24});
    all.push_back(
        {of + "_fp32_in_place", algorithm, value_type::fp32, small, 4, col, col, col_major_b::in_place, factors::kept});
    all.push_back({of + "_fp16_packed_batch", algorithm, value_type::fp16, small, 17, col, layout::row_major,
                   col_major_b::packed, factors::plain, 3, 2});
  }
  for (const std::string algorithm : {"rowwise", "mma"}) {
    const pattern& heavy = algorithm == "mma" ? small_heavy : small_heavier;
    all.push_back({algorithm + "_fp32_heavy", algorithm, value_type::fp32, heavy, 16, layout::row_major,
                   layout::row_major, col_major_b::as_predicted, factors::kept, 1, 2});
    all.push_back({algorithm + "_fp64_heavy_batch", algorithm, value_type::fp64, heavy, 5, layout::row_major, col,
                   col_major_b::as_predicted, factors::on_device, 2, 2});
  }
  all.push_back({"rowwise_fp16_heavy", "rowwise", value_type::fp16, small_heavier, 16, layout::row_major,
                 layout::row_major, col_major_b::as_predicted, factors::plain, 1, 2});
  all.push_back({"rowwise_fp32_shared", "rowwise", value_type::fp32, small_heavy, 16, layout::row_major,
                 layout::row_major, col_major_b::as_predicted, factors::kept});
  all.push_back({"rowwise_fp64_shared_batch", "rowwise", value_type::fp64, small_heavy, 5, layout::row_major, col,
                 col_major_b::as_predicted, factors::on_device, 2});
  all.push_back({"staged_fp32", "staged", value_type::fp32, small, 33, layout::row_major, col,
                 col_major_b::as_predicted, factors::kept});
  all.push_back({"staged_fp32_packed", "staged", value_type::fp32, small, 16, col, col, col_major_b::packed,
                 factors::on_device, 1, 2});
  all.push_back({"staged_fp16_batch", "staged", value_type::fp16, small, 72, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::kept, 3});
  all.push_back({"staged_fp16_heavy", "staged", value_type::fp16, small_heavy, 16, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::plain, 1, 2});
  all.push_back({"sliding_fp64", "sliding", value_type::fp64, small, 33, layout::row_major, col,
                 col_major_b::as_predicted, factors::kept});
  all.push_back({"sliding_fp64_packed_batch", "sliding", value_type::fp64, small, 16, col, col, col_major_b::packed,
                 factors::on_device, 2});
  all.push_back({"sliding_fp64_heavy", "sliding", value_type::fp64, small_heavy, 20, layout::row_major,
                 layout::row_major, col_major_b::as_predicted, factors::plain, 1, 2});
  all.push_back({"wgmma_fp32", "wgmma", value_type::fp32, small, 33, layout::row_major, col, col_major_b::as_predicted,
                 factors::kept});
  all.push_back({"wgmma_fp16_batch", "wgmma", value_type::fp16, small, 72, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::kept, 3});
  all.push_back({"wgmma_fp16_heavy", "wgmma", value_type::fp16, small_heavy, 16, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::plain, 1, 2});
  all.push_back({"fma_fp32", "fma", value_type::fp32, small, 33, layout::row_major, col, col_major_b::as_predicted,
                 factors::kept});
  all.push_back({"fma_fp32_packed_batch", "fma", value_type::fp32, small, 16, col, col, col_major_b::packed,
                 factors::on_device, 2});
  all.push_back({"fma_fp64", "fma", value_type::fp64, small, 40, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::on_device});
  all.push_back({"brickwise_fp32", "brickwise", value_type::fp32, small, 33, layout::row_major, col,
                 col_major_b::as_predicted, factors::kept});
  all.push_back({"brickwise_fp32_packed_batch", "brickwise", value_type::fp32, small, 16, col, col, col_major_b::packed,
                 factors::on_device, 2});
  all.push_back({"brickwise_fp64_heavy", "brickwise", value_type::fp64, small_heavy, 20, layout::row_major,
                 layout::row_major, col_major_b::as_predicted, factors::on_device, 1, 2});
  all.push_back({"rowwise_fp32_one_column", "rowwise", value_type::fp32, small, 1});
  all.push_back({"sliced_fp32_one_column", "sliced", value_type::fp32, small, 1, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::kept});
  all.push_back({"sliced_fp64_heavy_batch", "sliced", value_type::fp64, small_heavy, 1, col, col,
                 col_major_b::as_predicted, factors::on_device, 2});
  all.push_back({"sliced_fp16_columns", "sliced", value_type::fp16, small, 3});
  all.push_back({"scatter_fp32", "scatter", value_type::fp32, small, 16, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::on_device, 1, 2});
  all.push_back({"scatter_fp64", "scatter", value_type::fp64, small, 5, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::plain, 1, 2});
  return all;
}

std::vector<chain> large_chains() {
  const auto col = layout::col_major;
  std::vector<chain> all;
  for (const std::string algorithm : {"rowwise", "mma", ""}) {
    const std::string of = algorithm.empty() ? "chosen" : algorithm;
    all.push_back({of + "_fp32", algorithm, value_type::fp32, large, 32, layout::row_major, layout::row_major,
                   col_major_b::as_predicted, factors::kept});
    all.push_back({of + "_fp64_packed", algorithm, value_type::fp64, large, 16, col, col, col_major_b::packed,
                   factors::on_device, 1, 2});
    all.push_back({of + "_fp32_heavy", algorithm, value_type::fp32, large_heavy, 32, layout::row_major,
                   layout::row_major, col_major_b::as_predicted, factors::on_device, 1, algorithm.empty() ? 1u : 2u});
    all.push_back({of + "_fp16", algorithm, value_type::fp16, large, 64});
    all.push_back({of + "_fp32_in_place", algorithm, value_type::fp32, large, 16, col, col, col_major_b::in_place,
                   factors::kept});
  }
  all.push_back({"rowwise_fp32_turned", "rowwise", value_type::fp32, long_c, 128, col, col, col_major_b::packed,
                 factors::kept, 1, 4});
  all.push_back(
      {"mma_fp32_packed", "mma", value_type::fp32, long_c, 128, col, col, col_major_b::packed, factors::plain, 1, 2});
  all.push_back({"rowwise_fp32_batch", "rowwise", value_type::fp32, large, 8, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::kept, 4});
  all.push_back({"scatter_fp32", "scatter", value_type::fp32, large, 32, layout::row_major, layout::row_major,
                 col_major_b::as_predicted, factors::on_device, 1, 2});
  return all;
}

/// A with entries 1, 2 and 3, at least one in each row.
struct integers {
  std::int64_t rows, cols;
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<int> values;

  explicit integers(const pattern& p) : rows(p.rows), cols(p.cols) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const bool heavy = p.heavy_rows > 0 && i % (rows / p.heavy_rows) == 5;
      const std::int64_t length = heavy ? p.heavy_length : 1 + i * 7 % (2 * p.mean - 1);
      // Columns all over, each once: the first somewhere, the others at equal distances.
      const std::int64_t step = cols / length, first = i * 2654435761 % cols;
      std::vector<std::int32_t> some;
      for (std::int64_t k = 0; k < length; ++k) some.push_back(static_cast<std::int32_t>((first + k * step) % cols));
      std::ranges::sort(some);
      for (const std::int32_t j : some) {
        col_ind.push_back(j);
        values.push_back(1 + static_cast<int>((i + j) % 3));
      }
      row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
    }
  }

  template <class T>
  csr_matrix<T> csr() const {
    std::vector<T> converted(values.size());
    std::ranges::transform(values, converted.begin(), [](int x) { return static_cast<T>(static_cast<float>(x)); });
    return {rows, cols, row_ptr, col_ind, std::move(converted)};
  }

  /// A, or A', times the base of each member's B, row-major, and its row sums.
  void multiply(bool transposed, std::int64_t n, std::int64_t count, std::vector<int>& product,
                std::vector<int>& row_sum) const {
    const std::int64_t rows_of_c = transposed ? cols : rows;
    product.assign(static_cast<std::size_t>(count * rows_of_c * n), 0);
    row_sum.assign(static_cast<std::size_t>(rows_of_c), 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int32_t e = row_ptr[static_cast<std::size_t>(i)]; e < row_ptr[static_cast<std::size_t>(i) + 1]; ++e) {
        const std::int64_t j = col_ind[static_cast<std::size_t>(e)];
        const int value = values[static_cast<std::size_t>(e)];
        const std::int64_t row = transposed ? j : i, of_b = transposed ? i : j;
        row_sum[static_cast<std::size_t>(row)] += value;
        for (std::int64_t member = 0; member < count; ++member) {
          int* const to = product.data() + (member * rows_of_c + row) * n;
          for (std::int64_t k = 0; k < n; ++k) to[k] += value * base_value(member, of_b, k);
        }
      }
    }
  }
};

/// What the foreign kernels do in a round: each combination for some rounds that follow each other.
manners writer_of(std::uint64_t round, bool may_begin_early, bool is_large) {
  manners how;
  how.begins_early = may_begin_early && round / 16 % 2 != 0;
  how.lets_next_begin = round / 32 % 4 != 0;
  // Long enough for the product's thread blocks to be placed and wait; a large B takes that long by itself.
  if (how.lets_next_begin && !is_large) how.delay = 3000;
  return how;
}
manners reader_of(std::uint64_t round, bool may_begin_early) {
  return {.begins_early = may_begin_early && round / 8 % 2 != 0, .lets_next_begin = round / 64 % 2 != 0};
}

/// A stream that is destroyed at the end.
class own_stream {
 public:
  own_stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~own_stream() { cudaStreamDestroy(stream_); }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The kernels that `run` starts on the stream; nothing runs.
template <class Run>
std::size_t num_kernels(cudaStream_t stream, const Run& run) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_NO_THROW(run());
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  cudaGraphDestroy(graph);
  return count;
}

/// Runs `rounds` rounds; the reader expects `amiss` more to be added to B than is.
template <class T>
chained_counts run_chain(const context& ctx, const chain& c, std::uint64_t rounds, bool is_large, int amiss = 0) {
  using S = scalar_of<T>;
  const integers a(c.a);
  const bool transposed = c.algorithm == "scatter";
  const std::int64_t rows_of_b = transposed ? a.rows : a.cols, rows_of_c = transposed ? a.cols : a.rows;
  const plan_options options{.cols = c.n,
                             .b_layout = c.b_layout,
                             .transposable = transposed,
                             .batch = c.batch,
                             .expert = {.kernel = transposed ? "rowwise" : c.algorithm, .reading = c.reading}};
  spmm_plan<T> made(ctx, a.csr<T>(), options);
  std::optional<spmm_plan<T>> other;
  if (transposed) other = made.transposed();
  const spmm_plan<T>& plan = transposed ? other.value() : made;
  if (!c.algorithm.empty()) {
    EXPECT_EQ(plan.facts().kernel.algorithm, c.algorithm);
  }

  std::vector<int> product, row_sum;
  a.multiply(transposed, c.n, c.batch, product, row_sum);
  const int device = ctx.device().device;
  const core::device_buffer<int> on_product(device, product), on_row_sum(device, row_sum);
  // Before the first round there is nothing to read; with factors::kept C begins at 0.
  const T nothing = std::numeric_limits<T>::quiet_NaN();
  const std::int64_t b_size = rows_of_b * c.n, c_size = rows_of_c * c.n;
  const core::device_buffer<T> on_b(device, std::vector<T>(static_cast<std::size_t>(c.batch * b_size), nothing));
  const core::device_buffer<T> on_c(
      device, std::vector<T>(static_cast<std::size_t>(c.batch * c_size), c.by == factors::kept ? T(0.0f) : nothing));
  const core::device_buffer<S> on_scalars(device, std::vector<S>(2, std::numeric_limits<S>::quiet_NaN()));
  const std::vector<chained_counts> none(1);
  const core::device_buffer<chained_counts> on_counts(device, none);

  const dense_view<const T> b(on_b.data(), rows_of_b, c.n, c.b_layout);
  const dense_view<T> to(on_c.data(), rows_of_c, c.n, c.c_layout);
  const auto foreign = [&](T* data, const auto& view, std::int64_t stride) {
    return chained_matrix{data,  value_type_of<T>, view.rows, view.cols, view.row_stride(), view.col_stride(), c.batch,
                          stride};
  };
  const chained_matrix foreign_b = foreign(on_b.data(), b, b_size), foreign_c = foreign(on_c.data(), to, c_size);
  const own_stream stream;
  const run_options how{.stream = stream, .batch = {c.batch, b_size, c_size}};
  const bool on_device = c.by == factors::on_device;
  S* const alpha_at = on_scalars.data();
  const auto multiply = [&] {
    if (on_device) {
      plan.run(scalar<S>::at(alpha_at), b, scalar<S>::at(alpha_at + 1), to, how);
    } else {
      plan.run(S(1), b, c.by == factors::kept ? S(-1) : S(0), to, how);
    }
  };
  EXPECT_GE(num_kernels(stream, multiply), c.min_kernels) << plan.explain();
  if (c.reading == col_major_b::in_place) {
    EXPECT_NE(plan.explain().find("read where it lies"), std::string::npos) << plan.explain();
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  const bool may = may_begin_early();
  int by_product = 0, by_row_sum = 0;  // of C, so far
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const int added = static_cast<int>(round % 13);
    const int alpha = on_device ? 1 + static_cast<int>(round % 3) : 1;
    const int beta = on_device ? -static_cast<int>(round % 2) : c.by == factors::kept ? -1 : 0;
    by_product = alpha + beta * by_product;
    by_row_sum = alpha * (added + amiss) + beta * by_row_sum;
    const device_scalars scalars = on_device ? device_scalars{alpha_at, alpha_at + 1, alpha, beta} : device_scalars{};
    int status = write_round(foreign_b, added, scalars, writer_of(round, may, is_large), stream);
    if (status == cudaSuccess) {
      multiply();
      status = read_round(foreign_c, {on_product.data(), on_row_sum.data(), by_product, by_row_sum}, on_counts.data(),
                          round, reader_of(round, may), stream);
    }
    if (status != cudaSuccess) {
      ADD_FAILURE() << "round " << round << ": " << cudaGetErrorString(static_cast<cudaError_t>(status));
      break;
    }
  }
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  return on_counts.download().front();
}

class chained : public ::testing::TestWithParam<chain> {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }
  void check(std::uint64_t rounds, bool is_large) const {
    with_value_type(GetParam().type, [&]<class T>() {
      const chained_counts counts = run_chain<T>(*ctx_, GetParam(), rounds, is_large);
      EXPECT_EQ(counts.rounds, rounds);
      EXPECT_EQ(counts.mismatches, 0u) << "the first in round " << counts.first_round;
    });
  }

 private:
  std::optional<context> ctx_;
};

class small_chain : public chained {};
class large_chain : public chained {};

// Together 10^5 rounds.
TEST_P(small_chain, has_no_mismatch) {
  const std::uint64_t of_each = 100000 / small_chains().size() + 1;
  check(of_each, false);
}

TEST_P(large_chain, has_no_mismatch) { check(2000, true); }

std::string name_of_chain(const ::testing::TestParamInfo<chain>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(rounds, small_chain, ::testing::ValuesIn(small_chains()), name_of_chain);
INSTANTIATE_TEST_SUITE_P(rounds, large_chain, ::testing::ValuesIn(large_chains()), name_of_chain);

// The reader itself: if B were of another round, every element of C would be counted.
TEST(chains, count_every_element_that_differs) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const chain c{"amiss", "rowwise", value_type::fp32, small, 8};
  const chained_counts counts = run_chain<float>(*ctx, c, 20, false, 1);
  EXPECT_EQ(counts.rounds, 20u);
  EXPECT_EQ(counts.first_round, 0u);
  EXPECT_EQ(counts.mismatches, static_cast<std::uint64_t>(20 * small.rows * 8));
}

}  // namespace
}  // namespace bcsc::test
