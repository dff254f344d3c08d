// New values while products are in flight: on one stream and on several, from one thread and from two, for every form
// in which A is stored. All values are small integers, so every product is exact, and each must be that of the values
// at its time.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bcsc/plan.hpp"
#include "core/buffer.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/held_stream.hpp"

namespace bcsc::test {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t cols = 16;
constexpr int num_streams = 3;

/// The matrix times 1, 2, ... as CSR on the host, and its product with one B, which scales with it.
struct scaled_matrix {
  sparse_case a;
  dense_table<float> b;
  std::vector<float> product;  ///< of the matrix times 1

  scaled_matrix() {
    // A few long rows, which are cut into pieces, and blocks that rows share.
    auto positions = scatter(1500, 900, 12000, 11);
    for (std::int64_t k = 0; k < 900; ++k) positions.insert({k % 3 * 700, k});
    for (std::int64_t k = 0; k < 64 * 32; ++k) positions.insert({256 + k / 32, 100 + k % 32});
    a = make_case("scaled", 1500, 900, positions, values::small_integers, 12);
    b = random_table<float>(900, cols, values::small_integers, 13);
    const auto exact = multiply<float>(a, false, 1, b, 0, {});
    for (const long double x : exact.value.at) product.push_back(static_cast<float>(x));
  }
  csr_matrix<float> times(int factor) const {
    sparse_case scaled = a;
    for (triplet& e : scaled.entries) e.value *= factor;
    return csr_of<float>(scaled);
  }
  /// The factor that `c` is the product of, or -1 if there is none.
  int factor_of(const std::vector<float>& c) const {
    const auto at = std::ranges::find_if(product, [](float x) { return x != 0; }) - product.begin();
    const float factor = c[static_cast<std::size_t>(at)] / product[static_cast<std::size_t>(at)];
    for (std::size_t k = 0; k < c.size(); ++k) {
      if (c[k] != factor * product[k]) return -1;
    }
    return static_cast<int>(factor);
  }
};

class update_values_cuda : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { matrix_ = std::make_unique<scaled_matrix>(); }
  static void TearDownTestSuite() { matrix_.reset(); }
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
    b_ = core::device_buffer<float>(0, std::span<const float>(a().b.at));
    for (auto& c : c_) c = core::device_buffer<float>(0, a().a.rows * cols);
  }

  const context& ctx() const { return *ctx_; }
  static const scaled_matrix& a() { return *matrix_; }
  /// Starts a product into C number `which`, with the plan's own workspace, moved to the stream, or another.
  void start(const spmm_plan<float>& plan, std::size_t which, cudaStream_t stream, std::span<std::byte> room = {}) {
    plan.run(1.0f, dense_view<const float>(b_.data(), a().a.cols, cols), 0.0f,
             dense_view<float>(c_[which].data(), a().a.rows, cols),
             {.stream = stream, .workspace = room, .move_workspace = true});
  }
  /// The factor of what lies in a C; its stream has ended.
  int factor_in(std::size_t which) const { return a().factor_of(c_[which].download()); }

  /// One plan of each algorithm, for A times `factor`.
  template <class Body>
  void for_every_form(int factor, const Body& body) {
    std::set<std::string> algorithms;
    for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
      if (k.rounds_values || !algorithms.insert(k.algorithm + std::to_string(k.index_bits)).second) continue;
      SCOPED_TRACE(k.name);
      spmm_plan<float> plan(ctx(), a().times(factor), {.cols = cols, .expert = {.kernel = k.name}});
      body(plan);
      if (HasFailure()) return;
    }
    EXPECT_GE(algorithms.size(), 6u);  // naive with indices of 64 bits, too
  }

 private:
  static std::unique_ptr<scaled_matrix> matrix_;
  std::optional<context> ctx_;
  core::device_buffer<float> b_;
  std::array<core::device_buffer<float>, num_streams> c_;
};
std::unique_ptr<scaled_matrix> update_values_cuda::matrix_;

TEST_F(update_values_cuda, a_run_that_has_not_begun_keeps_the_values_of_its_call) {
  const own_stream stream, other;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    plan.update_values(a().times(2));  // loads what it needs
    start(plan, 0, stream.get());
    stream.synchronize();
    ASSERT_EQ(factor_in(0), 2);
    ASSERT_NO_FATAL_FAILURE(delay(stream.get(), milliseconds(150)));
    start(plan, 0, stream.get());
    // Memory that an update freed too early is overwritten by the next ones.
    for (const int factor : {3, 4, 5}) plan.update_values(a().times(factor));
    start(plan, 1, other.get());
    stream.synchronize();
    other.synchronize();
    EXPECT_EQ(factor_in(0), 2);
    EXPECT_EQ(factor_in(1), 5);
  });
}

TEST_F(update_values_cuda, a_plan_that_goes_is_waited_for) {
  const own_stream stream;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    ASSERT_NO_FATAL_FAILURE(delay(stream.get(), milliseconds(100)));
    start(plan, 0, stream.get());
    plan = spmm_plan<float>(ctx(), a().times(7), {.cols = cols, .expert = {.kernel = plan.facts().kernel.name}});
    stream.synchronize();
    EXPECT_EQ(factor_in(0), 1);
  });
}

TEST_F(update_values_cuda, each_round_has_its_own_values_on_one_stream) {
  const own_stream stream;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    for (int round = 1; round <= 60; ++round) {
      start(plan, 0, stream.get());
      plan.update_values(a().times(round + 1));
      start(plan, 1, stream.get());
      stream.synchronize();
      ASSERT_EQ(factor_in(0), round);
      ASSERT_EQ(factor_in(1), round + 1);
    }
  });
}

TEST_F(update_values_cuda, each_round_has_its_own_values_on_several_streams) {
  const own_stream streams[num_streams];
  // Each stream needs a workspace, for heavy rows; and one of them is late.
  for_every_form(1, [&](spmm_plan<float>& plan) {
    std::vector<core::device_buffer<std::byte>> rooms;
    for (int k = 0; k < num_streams; ++k) {
      rooms.emplace_back(0, static_cast<std::int64_t>(plan.workspace_bytes()));
    }
    const auto run = [&](std::size_t k) { start(plan, k, streams[k].get(), {rooms[k].data(), rooms[k].bytes()}); };
    for (int round = 1; round <= 40; ++round) {
      if (round % 8 == 0) {
        ASSERT_NO_FATAL_FAILURE(delay(streams[0].get(), milliseconds(5)));
      }
      run(0);
      plan.update_values(a().times(round + 1));
      run(1);
      run(2);
      for (const own_stream& stream : streams) stream.synchronize();
      ASSERT_EQ(factor_in(0), round);
      ASSERT_EQ(factor_in(1), round + 1);
      ASSERT_EQ(factor_in(2), round + 1);
    }
  });
}

TEST_F(update_values_cuda, another_thread_may_update) {
  const own_stream stream;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    std::atomic<int> begun{1}, done{1};
    std::atomic<bool> over{false};
    std::thread updates([&] {
      for (int factor = 2; factor <= 40; ++factor) {
        begun = factor;
        EXPECT_NO_THROW(plan.update_values(a().times(factor)));
        done = factor;
      }
      over = true;
    });
    int num_runs = 0;
    for (bool last = false; !last; ++num_runs) {
      last = over;
      const int least = done;
      start(plan, 0, stream.get());
      const int most = begun;
      EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
      const int factor = factor_in(0);
      EXPECT_GE(factor, least);
      EXPECT_LE(factor, most);
      if (HasFailure()) break;
    }
    updates.join();
    EXPECT_GT(num_runs, 1);
  });
}

TEST_F(update_values_cuda, plans_that_share_keep_the_former_values) {
  const own_stream stream, other;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    auto shared = plan.sharing(plan.facts().kernel.name);
    ASSERT_TRUE(shared.has_value());
    plan.update_values(a().times(2));
    ASSERT_NO_FATAL_FAILURE(delay(stream.get(), milliseconds(50)));
    start(*shared, 0, stream.get());
    // The last plan with the former values now drops them, while they are in use.
    shared->update_values(a().times(3));
    plan.update_values(a().times(4));
    start(*shared, 1, other.get());
    other.synchronize();
    stream.synchronize();
    EXPECT_EQ(factor_in(0), 1);
    EXPECT_EQ(factor_in(1), 3);

    ASSERT_NO_FATAL_FAILURE(delay(stream.get(), milliseconds(50)));
    start(*shared, 0, stream.get());
    shared.reset();
    plan.update_values(a().times(5));
    start(plan, 1, other.get());
    other.synchronize();
    stream.synchronize();
    EXPECT_EQ(factor_in(0), 3);
    EXPECT_EQ(factor_in(1), 5);
  });
}

TEST_F(update_values_cuda, a_transposed_plan_has_values_of_its_own_time) {
  // For a square matrix that is its own transpose up to a factor, which tells the products apart.
  sparse_case square{"square", 600, 600, {}};
  const auto positions = scatter(600, 600, 4000, 21);
  std::set<std::pair<std::int64_t, std::int64_t>> both = positions;
  for (const auto& [i, j] : positions) both.insert({j, i});
  for (const auto& [i, j] : both) square.entries.push_back({i, j, static_cast<double>((i + j) % 5 + 1)});
  const auto times = [&](int factor) {
    sparse_case scaled = square;
    for (triplet& e : scaled.entries) e.value *= factor;
    return csr_of<float>(scaled);
  };
  const auto table = random_table<float>(600, cols, values::small_integers, 22);
  spmm_plan<float> plan(ctx(), times(1), {.cols = cols, .transposable = true});
  auto transposed = plan.transposed();
  ASSERT_TRUE(transposed.has_value());
  operand<float> on_b(ctx(), table, {}), on_c(ctx(), 600, cols, {}), on_d(ctx(), 600, cols, {});
  const auto b = on_b.view();
  const auto c = on_c.view(), d = on_d.view();
  const own_stream stream, other;
  const auto expect = [&](operand<float>& got, int factor, const char* what) {
    expect_exact<float>(multiply<float>(square, false, factor, table, 0, {}), got.read(), what);
  };
  for (int round = 0; round < 5; ++round) {
    const int factor = 3 * round + 1;
    plan.update_values(times(factor + 1));
    // The transposed plan still has `factor`.
    ASSERT_NO_FATAL_FAILURE(delay(stream.get(), milliseconds(30)));
    transposed->run(1.0f, b, 0.0f, c, {.stream = stream.get()});
    transposed->update_values(times(factor + 3));
    plan.run(1.0f, b, 0.0f, d, {.stream = other.get()});
    other.synchronize();
    stream.synchronize();
    expect(on_c, factor, "transposed, before its update");
    expect(on_d, factor + 1, "forward, of its own update");
    transposed->run(1.0f, b, 0.0f, d, {.stream = other.get()});
    other.synchronize();
    expect(on_d, factor + 3, "transposed, after its update");
  }
}

TEST_F(update_values_cuda, a_graph_captured_anew_has_the_new_values) {
  const own_stream stream;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    for (int factor = 1; factor <= 3; ++factor) {
      if (factor > 1) plan.update_values(a().times(factor));
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t runnable = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
      EXPECT_NO_THROW(start(plan, 0, stream.get()));
      ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
      for (int replay = 0; replay < 3; ++replay) {
        EXPECT_EQ(cudaGraphLaunch(runnable, stream.get()), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
        EXPECT_EQ(factor_in(0), factor);
      }
      cudaGraphExecDestroy(runnable);
      cudaGraphDestroy(graph);
    }
  });
}

TEST_F(update_values_cuda, values_on_the_device_may_be_written_on_the_default_stream_before) {
  const own_stream stream;
  const csr_matrix<float> host = a().times(1);
  const auto h = host.view();
  const core::device_buffer<std::int32_t> ptr(0, h.row_ptr), ind(0, h.col_ind);
  core::device_buffer<float> given(0, h.values);
  std::vector<core::device_buffer<float>> sources;
  for (int factor = 0; factor < 6; ++factor) sources.emplace_back(0, viewed(a().times(factor)).values);
  const csr_view<float> there{h.rows,
                              h.cols,
                              {ptr.data(), h.row_ptr.size()},
                              {ind.data(), h.col_ind.size()},
                              {given.data(), h.values.size()},
                              memory_space::device};
  for_every_form(1, [&](spmm_plan<float>& plan) {
    for (int factor = 1; factor < 6; ++factor) {
      core::gpu::copy_on_device(given.data(), sources[static_cast<std::size_t>(factor)].data(), given.bytes());
      plan.update_values(there);
      core::gpu::fill_zero(given.data(), given.bytes());  // it was read
      start(plan, 0, stream.get());
      stream.synchronize();
      ASSERT_EQ(factor_in(0), factor);
    }
  });
}

TEST_F(update_values_cuda, a_run_beside_updates_takes_no_memory) {
  const own_stream stream;
  for_every_form(1, [&](spmm_plan<float>& plan) {
    plan.update_values(a().times(2));
    start(plan, 0, stream.get());
    stream.synchronize();
    const std::int64_t before = core::gpu::num_allocations();
    for (int k = 0; k < 5; ++k) start(plan, 0, stream.get());
    EXPECT_EQ(core::gpu::num_allocations(), before);
    stream.synchronize();
  });
}

}  // namespace
}  // namespace bcsc::test
