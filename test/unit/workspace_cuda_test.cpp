// A plan's own workspace and the streams it serves: when told to, it moves to another one once the former's work has
// ended, and not before.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "bcsc/plan.hpp"
#include "core/context_state.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/unit/held_stream.hpp"

namespace bcsc::test {
namespace {

class workspace_cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
    a_ = case_named("power_law", values::small_integers);
    for (std::uint64_t k = 0; k < 2; ++k) {
      b_tables_.push_back(random_table<float>(a_.cols, n, values::small_integers, 1 + k));
      b_.emplace_back(*ctx_, b_tables_.back(), placement{layout::col_major});
      c_.emplace_back(*ctx_, a_.rows, n, placement{});
    }
    for (std::size_t k = 0; k < 2; ++k) {
      b_views_.push_back(b_[k].view());
      c_views_.push_back(c_[k].view());
    }
    // A kernel for which B is packed into the workspace.
    plan_.emplace(*ctx_, csr_of<float>(a_),
                  plan_options{.cols = n, .b_layout = layout::col_major, .expert = {.kernel = "tiled"}});
    ASSERT_GT(plan_->workspace_bytes(), 0u);
    // The first run loads what it needs, by a plan whose workspace does not matter here.
    const spmm_plan<float> first(*ctx_, csr_of<float>(a_),
                                 {.cols = n, .b_layout = layout::col_major, .expert = {.kernel = "tiled"}});
    first.run(1.0f, b_views_[0], 0.0f, c_views_[0]);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  /// Runs with the k-th B and C in the plan's own workspace.
  errc run(std::size_t k, cudaStream_t stream, bool move_workspace = true) {
    const run_options options{.stream = stream, .move_workspace = move_workspace};
    return code_of([&] { plan_->run(1.0f, b_views_[k], 0.0f, c_views_[k], options); });
  }
  void expect_right(std::size_t k) {
    expect_exact<float>(multiply<float>(a_, false, 1, b_tables_[k], 0, {}), c_[k].read(), "power_law");
  }
  /// No error is left behind, and the context is as it was.
  void expect_healthy() {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_NO_THROW(core::require_healthy(ctx_->state()));
  }

  static constexpr std::int64_t n = 24;
  std::optional<context> ctx_;
  sparse_case a_;
  std::vector<dense_table<float>> b_tables_;
  std::vector<operand<float>> b_, c_;
  std::vector<dense_view<float>> b_views_, c_views_;
  std::optional<spmm_plan<float>> plan_;
};

TEST_F(workspace_cuda, goes_to_another_stream_when_its_work_has_ended) {
  const own_stream first, second;
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(run(0, first.get()), errc::ok);
    EXPECT_EQ(run(0, first.get()), errc::ok);
    first.synchronize();
    EXPECT_EQ(run(1, second.get()), errc::ok);
    second.synchronize();
    expect_right(0);
    expect_right(1);
    if (HasFailure()) return;
  }
  expect_healthy();
}

/// A workspace that others have used up ends behind the memory that the device knows.
TEST_F(workspace_cuda, that_is_empty_is_the_plans_own_wherever_it_points) {
  std::byte on_host{};
  const run_options options{.workspace = {&on_host, 0}};
  EXPECT_EQ(code_of([&] { plan_->run(1.0f, b_views_[0], 0.0f, c_views_[0], options); }), errc::ok);
  expect_right(0);
  expect_healthy();
}

TEST_F(workspace_cuda, stays_with_a_stream_that_is_busy) {
  const own_stream first, second;
  {
    held_stream busy(first.get());
    EXPECT_EQ(run(0, first.get()), errc::ok);
    EXPECT_EQ(run(1, second.get()), errc::workspace_in_use);
    EXPECT_EQ(run(0, first.get()), errc::ok) << "its own stream it still serves";
    expect_healthy();
    EXPECT_EQ(run(1, nullptr), errc::workspace_in_use);
    busy.finish();
  }
  expect_right(0);
  EXPECT_EQ(run(1, second.get()), errc::ok);
  second.synchronize();
  expect_right(1);
  // And vice versa.
  {
    held_stream busy(second.get());
    EXPECT_EQ(run(1, second.get()), errc::ok);
    EXPECT_EQ(run(0, first.get()), errc::workspace_in_use);
  }
  EXPECT_EQ(run(0, first.get()), errc::ok);
  first.synchronize();
  expect_right(0);
  expect_right(1);
  expect_healthy();
}

TEST_F(workspace_cuda, stays_with_a_stream_whose_later_work_goes_on) {
  // What follows the run on its stream cannot be distinguished from it.
  const own_stream first, second;
  EXPECT_EQ(run(0, first.get()), errc::ok);
  held_stream busy(first.get());
  EXPECT_EQ(run(1, second.get()), errc::workspace_in_use);
  busy.finish();
  EXPECT_EQ(run(1, second.get()), errc::ok);
  second.synchronize();
  expect_right(0);
  expect_right(1);
}

TEST_F(workspace_cuda, comes_from_and_goes_to_the_default_stream) {
  const own_stream other;
  EXPECT_EQ(run(0, nullptr), errc::ok);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(run(1, other.get()), errc::ok);
  other.synchronize();
  expect_right(0);
  expect_right(1);
  EXPECT_EQ(run(0, nullptr), errc::ok);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  expect_right(0);
  expect_healthy();
}

class workspace_capture : public workspace_cuda, public ::testing::WithParamInterface<cudaStreamCaptureMode> {
 protected:
  /// Ends the capture of `stream` and runs what it was given.
  void replay(cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "the capture was disturbed";
    ASSERT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(runnable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(runnable), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
};

TEST_P(workspace_capture, stays_with_a_stream_that_is_captured_and_leaves_the_capture_alone) {
  const own_stream first, second;
  ASSERT_EQ(cudaStreamBeginCapture(first.get(), GetParam()), cudaSuccess);
  EXPECT_EQ(run(0, first.get()), errc::ok);
  EXPECT_EQ(run(1, second.get()), errc::workspace_in_use);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_NO_FATAL_FAILURE(replay(first.get()));
  expect_right(0);
  EXPECT_EQ(run(1, second.get()), errc::ok);
  second.synchronize();
  expect_right(1);
  expect_healthy();
}

TEST_P(workspace_capture, goes_to_a_stream_that_is_captured) {
  const own_stream first, second;
  EXPECT_EQ(run(0, first.get()), errc::ok);
  first.synchronize();
  ASSERT_EQ(cudaStreamBeginCapture(second.get(), GetParam()), cudaSuccess);
  EXPECT_EQ(run(1, second.get()), errc::ok);
  ASSERT_NO_FATAL_FAILURE(replay(second.get()));
  expect_right(0);
  expect_right(1);
  expect_healthy();
}

TEST_P(workspace_capture, is_refused_to_a_captured_stream_while_another_is_busy) {
  const own_stream first, second;
  {
    held_stream busy(first.get());
    EXPECT_EQ(run(0, first.get()), errc::ok);
    ASSERT_EQ(cudaStreamBeginCapture(second.get(), GetParam()), cudaSuccess);
    EXPECT_EQ(run(1, second.get()), errc::workspace_in_use);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(second.get(), &graph), cudaSuccess) << "the capture was disturbed";
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  expect_right(0);
  expect_healthy();
}

INSTANTIATE_TEST_SUITE_P(modes, workspace_capture,
                         ::testing::Values(cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                                           cudaStreamCaptureModeRelaxed));

TEST_F(workspace_cuda, stays_where_it_is_if_nobody_says_otherwise) {
  const own_stream first, second;
  EXPECT_EQ(run(0, first.get()), errc::ok);
  first.synchronize();
  EXPECT_EQ(run(1, second.get(), false), errc::workspace_in_use);
  EXPECT_EQ(run(1, second.get()), errc::ok);
  EXPECT_EQ(run(0, second.get(), false), errc::ok);
  second.synchronize();
  expect_right(0);
  expect_right(1);
  expect_healthy();
}

// Then a stream that may no longer exist is not queried.
TEST_F(workspace_cuda, is_refused_when_its_stream_is_no_more) {
  own_stream first;
  const own_stream second;
  EXPECT_EQ(run(0, first.get()), errc::ok);
  first.synchronize();
  (void)first.destroy();
  EXPECT_EQ(run(1, second.get(), false), errc::workspace_in_use);
  expect_healthy();
  const core::device_buffer<std::byte> room(0, static_cast<std::int64_t>(plan_->workspace_bytes()));
  plan_->run(1.0f, b_views_[1], 0.0f, c_views_[1], {.stream = second.get(), .workspace = {room.data(), room.bytes()}});
  second.synchronize();
  expect_right(0);
  expect_right(1);
}

}  // namespace
}  // namespace bcsc::test
