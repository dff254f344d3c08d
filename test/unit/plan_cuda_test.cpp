// What only CUDA's own API can show: graph capture, streams, scalars and matrices on the device, memory left alone.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/plan.hpp"
#include "kernels/forms/stored_matrix.hpp"
#include "lib/choice/registry.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

class plan_cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
    a_ = case_named("power_law");
    b_ = random_table<float>(a_.cols, 24, values::real, 1);
  }
  const context& ctx() const { return *ctx_; }
  void expect_right(const spmm_plan<float>& by, operand<float>& c, double alpha = 1, double beta = 0,
                    const dense_table<float>& c0 = {}) {
    const kernel_info& kernel = by.facts().kernel;
    expect_within_bound<float>(multiply<float>(a_, false, alpha, b_, beta, c0, arithmetic_of(kernel)), c.read(),
                               "power_law, " + kernel.name);
  }

  sparse_case a_;
  dense_table<float> b_;

 private:
  std::optional<context> ctx_;
};

template <class T>
core::device_buffer<T> on_device(std::span<const T> host) {
  return {0, host};
}

TEST_F(plan_cuda, every_kernel_can_be_captured_in_a_graph) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    for (layout order : {layout::row_major, layout::col_major}) {
      const spmm_plan plan(ctx(), csr_of<float>(a_), {.cols = 24, .b_layout = order, .expert = {.kernel = k.name}});
      operand<float> on_b(ctx(), b_, {order}), on_c(ctx(), a_.rows, 24, {});
      const auto b = on_b.view();
      const auto c = on_c.view();
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t runnable = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
      ASSERT_NO_THROW(plan.run(1.0f, b, 0.0f, c, {.stream = stream})) << k.name;
      ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess) << k.name;
      ASSERT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
      ASSERT_EQ(cudaGraphLaunch(runnable, stream), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      expect_right(plan, on_c);
      cudaGraphExecDestroy(runnable);
      cudaGraphDestroy(graph);
      if (HasFailure()) break;
    }
  }
  cudaStreamDestroy(stream);
}

/// Every config of the kernels that read the transpose of what is stored, on a plan for n columns.
template <class Body>
void with_every_transposed(const context& ctx, const sparse_case& a, const plan_options& options, const Body& body) {
  plan_options wanted = options;
  wanted.transposable = true;
  const spmm_plan<float> forward(ctx, csr_of<float>(a), wanted);
  const auto some = forward.transposed();
  ASSERT_TRUE(some.has_value());
  for (const kernel_info& k : transposing_kernel_table()) {
    if (k.where != backend::cuda || k.type != value_type::fp32) continue;
    const auto plan = some->sharing(k.name);
    ASSERT_TRUE(plan.has_value()) << k.name;
    body(*plan);
  }
}

TEST_F(plan_cuda, products_with_the_stored_transpose_can_be_captured_and_read_scalars_from_the_device) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const auto b = random_table<float>(a_.rows, 24, values::small_integers, 3);
  auto c0 = random_table<float>(a_.cols, 24, values::small_integers, 4);
  sparse_case whole = a_;
  test_random random(5);
  for (triplet& e : whole.entries) e.value = random.small_integer();
  for (const layout order : {layout::row_major, layout::col_major}) {
    with_every_transposed(ctx(), whole, {.cols = 24, .b_layout = order}, [&](const spmm_plan<float>& plan) {
      for (const auto& [alpha, beta] : {std::pair{2.0f, -1.0f}, {1.0f, 0.0f}, {0.0f, 3.0f}, {1.0f, 1.0f}}) {
        const float host[] = {alpha, beta};
        const auto device = on_device<float>(host);
        auto start = c0;
        if (beta == 0) std::ranges::fill(start.at, std::numeric_limits<float>::quiet_NaN());
        operand<float> on_b(ctx(), b, {order}), on_c(ctx(), start, {});
        const auto b_view = on_b.view();
        const auto c_view = on_c.view();
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t runnable = nullptr;
        ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
        ASSERT_NO_THROW(plan.run(scalar<float>::at(device.data()), b_view, scalar<float>::at(device.data() + 1), c_view,
                                 {.stream = stream}));
        ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        ASSERT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(runnable, stream), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        expect_exact<float>(multiply<float>(whole, true, alpha, b, beta, c0), on_c.read(), plan.facts().kernel.name);
        cudaGraphExecDestroy(runnable);
        cudaGraphDestroy(graph);
      }
    });
    if (HasFailure()) break;
  }
  cudaStreamDestroy(stream);
}

TEST_F(plan_cuda, products_with_the_stored_transpose_wait_for_each_other) {
  // Integers that stay exact: no order of the atomic additions may change a bit, an early read would.
  sparse_case whole = a_;
  for (std::size_t k = 0; k < whole.entries.size(); ++k) whole.entries[k].value = k % 3 == 0 ? 1 : 0;
  for (const std::int64_t n : {7, 32}) {
    const auto start = random_table<float>(a_.rows, n, values::small_integers, 3);
    with_every_transposed(ctx(), whole, {.cols = n}, [&](const spmm_plan<float>& plan) {
      const auto chain = [&](bool waits) {
        operand<float> x(ctx(), start, {}), y(ctx(), start, {});
        auto from = x.view(), to = y.view();
        for (int step = 0; step < 3; ++step) {
          plan.run(1.0f, from, 2.0f, to);
          if (waits) {
            EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
          }
          std::swap(from, to);
        }
        return y.read().at;
      };
      EXPECT_EQ(chain(false), chain(true)) << plan.facts().kernel.name << ", N = " << n;
    });
    if (HasFailure()) return;
  }
}

/// What `run` starts on `stream`, captured and not run. The caller destroys it.
template <class Run>
cudaGraph_t captured(cudaStream_t stream, const Run& run) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_NO_THROW(run());
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  return graph;
}

std::size_t num_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    EXPECT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    return type == cudaGraphNodeTypeKernel;
  }));
}

TEST_F(plan_cuda, a_batch_can_be_captured_in_a_graph_and_is_one_launch_where_the_table_says_so) {
  constexpr std::int64_t count = 5;
  std::vector<dense_table<float>> bs, c0s;
  for (std::size_t k = 0; k < count; ++k) {
    bs.push_back(random_table<float>(a_.cols, 24, values::small_integers, 10 + k));
    c0s.push_back(random_table<float>(a_.rows, 24, values::small_integers, 20 + k));
  }
  for (triplet& e : a_.entries) e.value = std::round(4 * e.value);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::size_t num_batching = 0;
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    for (const layout order : {layout::row_major, layout::col_major}) {
      const spmm_plan plan(ctx(), csr_of<float>(a_),
                           {.cols = 24, .b_layout = order, .batch = count, .expert = {.kernel = k.name}});
      batch_operand<float> on_b(ctx(), bs, {order}, {3}), on_c(ctx(), c0s, {layout::row_major, 1}, {2});
      const auto b = on_b.view();
      const auto c = on_c.view();
      const auto product_of = [&](std::int64_t members) {
        return captured(stream, [&] {
          plan.run(2.0f, b, 1.0f, c, {.stream = stream, .batch = {members, on_b.stride(), on_c.stride()}});
        });
      };
      const cudaGraph_t one = product_of(1), all = product_of(count);
      if (k.batches) {
        EXPECT_EQ(num_kernels(all), num_kernels(one)) << k.name;
        ++num_batching;
      }
      cudaGraphExec_t runnable = nullptr;
      ASSERT_EQ(cudaGraphInstantiate(&runnable, all, 0), cudaSuccess);
      ASSERT_EQ(cudaGraphLaunch(runnable, stream), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      const auto got = on_c.read();
      for (std::size_t m = 0; m < count; ++m) {
        expect_exact<float>(multiply<float>(a_, false, 2, bs[m], 1, c0s[m]), got[m],
                            k.name + ", member " + std::to_string(m));
      }
      cudaGraphExecDestroy(runnable);
      cudaGraphDestroy(one);
      cudaGraphDestroy(all);
      if (HasFailure()) break;
    }
  }
  EXPECT_GT(num_batching, 0u);
  cudaStreamDestroy(stream);
}

TEST_F(plan_cuda, products_that_follow_each_other_read_what_the_last_has_written) {
  // Kernels begin while the one before them ends: nothing of B or C may be touched too early.
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    for (const std::int64_t n : {7, 32}) {
      const spmm_plan plan(ctx(), csr_of<float>(a_), {.cols = n, .expert = {.kernel = k.name}});
      const auto start = random_table<float>(a_.cols, n, values::real, 3);
      const auto chain = [&](bool waits) {
        operand<float> x(ctx(), start, {}), y(ctx(), start, {});
        auto from = x.view(), to = y.view();
        for (int step = 0; step < 24; ++step) {
          plan.run(0.125f, from, 0.5f, to);
          if (waits) EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
          std::swap(from, to);
        }
        return y.read().at;
      };
      ASSERT_EQ(a_.rows, a_.cols);
      if (k.deterministic) EXPECT_EQ(chain(false), chain(true)) << k.name << ", N = " << n;
    }
    if (HasFailure()) return;
  }
}

TEST_F(plan_cuda, scalars_may_lie_on_the_device) {
  const spmm_plan plan(ctx(), csr_of<float>(a_), {.cols = 24});
  const auto c0 = random_table<float>(a_.rows, 24, values::real, 2);
  for (const auto& [alpha, beta] : {std::pair{1.5f, 0.5f}, {0.0f, 2.0f}, {1.0f, 0.0f}}) {
    const float host[] = {alpha, beta};
    const auto device = on_device<float>(host);
    auto start = c0;
    if (beta == 0) std::ranges::fill(start.at, std::numeric_limits<float>::quiet_NaN());
    operand<float> on_b(ctx(), b_, {}), on_c(ctx(), start, {});
    plan.run(scalar<float>::at(device.data()), on_b.view(), scalar<float>::at(device.data() + 1), on_c.view());
    expect_right(plan, on_c, alpha, beta, c0);
  }
}

TEST_F(plan_cuda, every_kernel_reads_scalars_from_the_device) {
  const float host[] = {-2.0f, 3.0f};
  const auto device = on_device<float>(host);
  const auto c0 = random_table<float>(a_.rows, 24, values::real, 2);
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    const spmm_plan plan(ctx(), csr_of<float>(a_), {.cols = 24, .expert = {.kernel = k.name}});
    operand<float> on_b(ctx(), b_, {}), on_c(ctx(), c0, {});
    plan.run(scalar<float>::at(device.data()), on_b.view(), scalar<float>::at(device.data() + 1), on_c.view());
    expect_right(plan, on_c, -2, 3, c0);
    if (HasFailure()) return;
  }
}

TEST_F(plan_cuda, matrices_may_lie_on_the_device) {
  const auto csr = csr_of<float>(a_);
  const auto h = csr.view();
  const auto ptr = on_device(h.row_ptr), ind = on_device(h.col_ind);
  const auto v = on_device(h.values);
  const csr_view<float> there{h.rows,
                              h.cols,
                              {ptr.data(), h.row_ptr.size()},
                              {ind.data(), h.col_ind.size()},
                              {v.data(), h.values.size()},
                              memory_space::device};
  spmm_plan plan(ctx(), there, {.cols = 24});
  const spmm_plan same(ctx(), csr, {.cols = 24});
  EXPECT_EQ(plan.facts().kernel.name, same.facts().kernel.name);
  EXPECT_EQ(plan.facts().nnzc, same.facts().nnzc);
  operand<float> on_b(ctx(), b_, {}), on_c(ctx(), a_.rows, 24, {});
  plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
  expect_right(plan, on_c);

  std::vector<float> doubled(h.values.begin(), h.values.end());
  for (float& x : doubled) x *= 2;
  const auto v2 = on_device<float>(doubled);
  auto renewed = there;
  renewed.values = {v2.data(), doubled.size()};
  plan.update_values(renewed);
  plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
  expect_right(plan, on_c, 2);

  const spmm_plan transposed(ctx(), there, {.cols = 24, .transpose = op::transpose});
  operand<float> on_bt(ctx(), b_, {}), on_ct(ctx(), a_.cols, 24, {});
  transposed.run(1.0f, on_bt.view(), 0.0f, on_ct.view());
  expect_within_bound<float>(multiply<float>(a_, true, 1, b_, 0, {}, arithmetic_of(transposed.facts().kernel)),
                             on_ct.read(), "transposed");
}

// Whatever form of A an algorithm reads, it is the same from the host, from the device and after new values.
TEST_F(plan_cuda, every_form_is_made_from_wherever_a_lies) {
  struct csr_there {
    core::device_buffer<std::int32_t> ptr, ind;
    core::device_buffer<float> v;
    csr_view<float> view;
    explicit csr_there(const csr_view<float>& h)
        : ptr(on_device(h.row_ptr)),
          ind(on_device(h.col_ind)),
          v(on_device(h.values)),
          view{h.rows,
               h.cols,
               {ptr.data(), h.row_ptr.size()},
               {ind.data(), h.col_ind.size()},
               {v.data(), h.values.size()},
               memory_space::device} {}
  };
  const auto csr = csr_of<float>(a_);
  sparse_case twice = a_, other = a_;
  for (triplet& e : twice.entries) e.value *= 2;
  const auto doubled = csr_of<float>(twice);
  // A row of few entries gets one of them elsewhere, and so no length changes.
  const auto few = std::ranges::find_if(other.entries, [](const triplet& e) { return e.row == 3 && e.col == 31; });
  ASSERT_NE(few, other.entries.end());
  const auto taken = [&](std::int64_t col) {
    return std::ranges::any_of(other.entries, [&](const triplet& e) { return e.row == 3 && e.col == col; });
  };
  std::int64_t col = 0;
  while (taken(col)) ++col;
  few->col = col;
  std::ranges::sort(other.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
  const auto moved = csr_of<float>(other);
  const csr_there there(csr.view()), doubled_there(doubled.view()), moved_there(moved.view());

  operand<float> on_b(ctx(), b_, {}), on_c(ctx(), a_.rows, 24, {});
  const auto expect_product = [&](const spmm_plan<float>& plan, double alpha) {
    plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
    expect_right(plan, on_c, alpha);
  };
  std::set<std::string> algorithms;
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    if (!algorithms.insert(k.algorithm).second) continue;
    SCOPED_TRACE(k.name);
    const plan_options options{.cols = 24, .expert = {.kernel = k.name}};
    spmm_plan from_device(ctx(), there.view, options), from_host(ctx(), csr, options);
    EXPECT_EQ(from_device.facts().format_bytes, from_host.facts().format_bytes);
    EXPECT_EQ(from_device.facts().nnzc, from_host.facts().nnzc);
    EXPECT_EQ(from_device.facts().num_row_blocks, from_host.facts().num_row_blocks);
    expect_product(from_device, 1);
    expect_product(from_host, 1);
    for (spmm_plan<float>* plan : {&from_device, &from_host}) {
      for (const csr_view<float>& wrong : {moved.view(), moved_there.view}) {
        try {
          plan->update_values(wrong);
          FAIL() << "another pattern";
        } catch (const error& e) {
          EXPECT_EQ(e.code(), errc::pattern_mismatch);
        }
      }
      expect_product(*plan, 1);
      plan->update_values(doubled_there.view);
      expect_product(*plan, 2);
      plan->update_values(csr);
      expect_product(*plan, 1);
    }
    spmm_plan ordered(ctx(), csr, {.cols = 24, .expert = {.kernel = k.name, .reorder_rows = true}});
    expect_product(ordered, 1);
    ordered.update_values(doubled_there.view);
    expect_product(ordered, 2);
  }
  EXPECT_GE(algorithms.size(), 5u);
}

TEST_F(plan_cuda, bcsc_may_lie_on_the_device) {
  const auto given = to_bcsc(csr_of<float>(a_), 16);
  const auto h = given.view();
  const auto brow = on_device(h.brow_ptr), col = on_device(h.col_ind), ptr = on_device(h.col_ptr),
             row = on_device(h.row_ind);
  const auto v = on_device(h.values);
  const bcsc_view<float> there{h.rows,
                               h.cols,
                               16,
                               {brow.data(), h.brow_ptr.size()},
                               {col.data(), h.col_ind.size()},
                               {ptr.data(), h.col_ptr.size()},
                               {row.data(), h.row_ind.size()},
                               {v.data(), h.values.size()},
                               memory_space::device};
  for (std::int64_t m_block : {16, 8, 64, 0}) {
    const spmm_plan plan(ctx(), there, {.cols = 24, .expert = {.m_block = m_block}});
    EXPECT_EQ(plan.facts().reblocked, plan.facts().m_block != 16);
    operand<float> on_b(ctx(), b_, {}), on_c(ctx(), a_.rows, 24, {});
    plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
    expect_right(plan, on_c);
  }
  std::set<std::string> algorithms;
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    if (!algorithms.insert(k.algorithm).second) continue;
    SCOPED_TRACE(k.name);
    spmm_plan plan(ctx(), there, {.cols = 24, .expert = {.kernel = k.name}});
    plan.update_values(there);
    operand<float> on_b(ctx(), b_, {}), on_c(ctx(), a_.rows, 24, {});
    plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
    expect_right(plan, on_c);
  }
}

TEST_F(plan_cuda, broken_device_matrices_are_refused) {
  const std::vector<std::int32_t> ptr{0, 1, 2}, ind{0, 7};
  const std::vector<float> v{1, 2};
  const auto dp = on_device<std::int32_t>(ptr), di = on_device<std::int32_t>(ind);
  const auto dv = on_device<float>(v);
  const csr_view<float> there{2, 2, {dp.data(), 3}, {di.data(), 2}, {dv.data(), 2}, memory_space::device};
  EXPECT_THROW(spmm_plan(ctx(), there), error);
}

TEST_F(plan_cuda, streams_run_side_by_side_with_their_own_workspaces) {
  // A kernel for which B is packed into the workspace.
  const spmm_plan plan(ctx(), csr_of<float>(a_),
                       {.cols = 24, .b_layout = layout::col_major, .expert = {.kernel = "tiled"}});
  std::vector<cudaStream_t> streams(4);
  std::vector<core::device_buffer<std::byte>> workspaces;
  std::vector<std::unique_ptr<operand<float>>> bs, cs;
  std::vector<dense_view<float>> b_views, c_views;
  for (auto& s : streams) {
    ASSERT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    workspaces.emplace_back(0, static_cast<std::int64_t>(plan.workspace_bytes()));
    bs.push_back(std::make_unique<operand<float>>(ctx(), b_, placement{layout::col_major}));
    cs.push_back(std::make_unique<operand<float>>(ctx(), a_.rows, 24, placement{}));
    b_views.push_back(bs.back()->view());
    c_views.push_back(cs.back()->view());
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int round = 0; round < 5; ++round) {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      plan.run(1.0f, b_views[s], 0.0f, c_views[s],
               {.stream = streams[s], .workspace = {workspaces[s].data(), workspaces[s].bytes()}});
    }
  }
  for (auto& s : streams) ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  for (auto& c : cs) expect_right(plan, *c);
  for (auto& s : streams) cudaStreamDestroy(s);
}

/// Large enough for C, column-major, to be made row-major first and turned: exact, with nothing touched but C.
template <class T>
void turn_large_c(const context& ctx) {
  constexpr std::int64_t n = 300, cols = 200, members = 2;
  const std::int64_t rows = (std::int64_t{37} << 20) / (n * static_cast<std::int64_t>(sizeof(T)));
  // Rows of three lengths in turn: sorted by length, neighbours fill no sector of a column.
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t entries = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 9;
    for (std::int64_t k = 0; k < entries; ++k) positions.insert({i, (7 * i + 11 * k) % cols});
  }
  const sparse_case a = make_case("tall", rows, cols, positions, values::small_integers, 72);
  std::vector<dense_table<T>> b, c0;
  for (std::size_t k = 0; k < members; ++k) {
    b.push_back(random_table<T>(cols, n, values::small_integers, 73 + k));
    c0.push_back(random_table<T>(rows, n, values::small_integers, 75 + k));
  }
  struct run {
    std::string kernel;
    double beta;
    std::int64_t batch, max_mib;
  };
  const std::vector<kernel_info> table = kernel_table(backend::cuda, value_type_of<T>);
  const auto narrow_tile = std::ranges::find_if(
      table, [](const kernel_info& kernel) { return kernel.algorithm == "rowwise" && kernel.n_tile <= 64; });
  ASSERT_NE(narrow_tile, table.end());
  // Room for a batch and for single products; columns in slabs; none for C. Slices write C's columns as they lie.
  const run runs[] = {{"rowwise", 0, 2, 1024}, {"rowwise", 2, 1, 1024}, {narrow_tile->name, 1, 1, 20},
                      {"rowwise", 0, 1, 1},    {"fma", 1, 2, 1024},     {"sliced", 2, 2, 1024}};
  for (const run& each : runs) {
    const spmm_plan<T> plan(ctx, csr_of<T>(a),
                            {.cols = n,
                             .b_layout = layout::col_major,
                             .batch = each.batch,
                             .max_workspace_bytes = each.max_mib << 20,
                             .expert = {.kernel = each.kernel}});
    const bool turned = plan.explain().find("turned at the end") != std::string::npos;
    EXPECT_EQ(turned, each.max_mib >= 20 && each.kernel != "sliced") << plan.explain();
    EXPECT_EQ(plan.workspace_bytes() == 0, each.kernel == "sliced");
    std::vector<dense_table<T>> start = c0;
    for (auto& c : start) {
      if (each.beta == 0) std::ranges::fill(c.at, std::numeric_limits<T>::quiet_NaN());
    }
    batch_operand<T> on_b(ctx, b, {layout::col_major, 1}, {}), on_c(ctx, start, {layout::col_major, 3, 1}, {5});
    plan.run(2, on_b.view(), static_cast<scalar_of<T>>(each.beta), on_c.view(),
             {.batch = {members, on_b.stride(), on_c.stride()}});
    const auto got = on_c.read();
    for (std::size_t k = 0; k < members; ++k) {
      expect_exact<T>(multiply<T>(a, false, 2, b[k], each.beta, c0[k]), got[k], plan.facts().kernel.name);
    }
    // Planned for more columns than it is run with: too few for turning C.
    operand<T> few_b(ctx, random_table<T>(cols, 3, values::small_integers, 77), {layout::col_major}),
        few_c(ctx, rows, 3, {layout::col_major});
    plan.run(1, few_b.view(), 0, few_c.view());
    expect_exact<T>(multiply<T>(a, false, 1, few_b.read(), 0, {}), few_c.read(), "three columns");
  }
}

TEST_F(plan_cuda, a_large_column_major_c_is_turned) {
  turn_large_c<float>(ctx());
  turn_large_c<double>(ctx());
}

TEST_F(plan_cuda, unsorted_device_rows_are_sorted_and_summed) {
  const std::vector<std::int32_t> ptr{0, 3, 4}, ind{2, 0, 2, 1};
  const std::vector<float> v{1, 2, 4, 8};
  const auto dp = on_device<std::int32_t>(ptr), di = on_device<std::int32_t>(ind);
  const auto dv = on_device<float>(v);
  const csr_view<float> there{2, 3, {dp.data(), 3}, {di.data(), 4}, {dv.data(), 4}, memory_space::device};
  const spmm_plan plan(ctx(), there, {.cols = 2});
  EXPECT_EQ(plan.facts().nnz, 3);
  const sparse_case a{"unsorted", 2, 3, {{0, 0, 2}, {0, 2, 5}, {1, 1, 8}}};
  const auto b = random_table<float>(3, 2, values::real, 3);
  operand<float> on_b(ctx(), b, {}), on_c(ctx(), 2, 2, {});
  plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
  expect_within_bound<float>(multiply<float>(a, false, 1, b, 0, {}, arithmetic_of(plan.facts().kernel)), on_c.read(),
                             "unsorted");
}

TEST_F(plan_cuda, a_run_leaves_the_free_memory_as_it_was) {
  const spmm_plan plan(ctx(), csr_of<float>(a_), {.cols = 24});
  operand<float> on_b(ctx(), b_, {}), on_c(ctx(), a_.rows, 24, {});
  const auto b = on_b.view();
  const auto c = on_c.view();
  plan.run(1.0f, b, 0.0f, c);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  // Free memory is free to all processes: others, the suite's among them, may take some meanwhile. A run that took
  // memory would show it each time.
  std::size_t before = 0, after = 0, total = 0;
  for (int attempt = 0; attempt == 0 || (attempt < 20 && after < before); ++attempt) {
    ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
    for (int k = 0; k < 100; ++k) plan.run(1.0f, b, 0.0f, c);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  }
  EXPECT_GE(after, before);  // the driver may give back what it held, a run may take nothing
}

// As where there are too many non-zeros for the GPU to cut: the host cuts CSR with 64-bit indices, and the GPU
// multiplies.
TEST_F(plan_cuda, a_stream_of_rows_may_be_cut_on_the_host) {
  for (triplet& e : a_.entries) e.value = std::round(4 * e.value);
  const auto b = random_table<float>(a_.cols, 24, values::small_integers, 3);
  const auto csr = csr_of<float, std::int64_t>(a_);
  std::vector<std::int64_t> backwards(static_cast<std::size_t>(a_.rows));
  for (std::int64_t i = 0; i < a_.rows; ++i) backwards[static_cast<std::size_t>(i)] = a_.rows - 1 - i;
  const auto in_order = multiply<float>(a_, false, 1, b, 0, {});
  auto upside_down = in_order;
  for (std::int64_t i = 0; i < a_.rows; ++i) {
    for (std::int64_t j = 0; j < 24; ++j) upside_down.value(i, j) = in_order.value(a_.rows - 1 - i, j);
  }
  std::size_t num_rows_of_the_table = 0;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.algorithm != "rowwise" || k.info.type != value_type::fp32 || k.launch == nullptr) continue;
    ++num_rows_of_the_table;
    for (const bool reversed : {false, true}) {
      forms::storing how{.form = kernels::operand_form::row_stream,
                         .cols = 24,
                         .columns_at_once = k.info.columns_at_once,
                         .device = 0};
      if (reversed) how.order = backwards;
      const auto stored = forms::make_row_stream_on_host(csr.view(), how);
      EXPECT_EQ(stored.facts().nnzc, csr.nnz());
      const core::device_buffer<float> partials(0, std::max<std::int64_t>(1, stored.partials().values(24)));
      operand<float> on_b(ctx(), b, {}), on_c(ctx(), a_.rows, 24, {});
      const auto b_view = on_b.view();
      const auto c_view = on_c.view();
      const forms::dense_side<float> product{b_view.data, b_view.ld, 1,    24,      24,      c_view.data,    c_view.ld,
                                             1,           1.0f,      0.0f, nullptr, nullptr, partials.data()};
      EXPECT_EQ(stored.start(k.launch, product, {{}, nullptr, ctx().device().num_multiprocessors}), 0);
      expect_exact<float>(reversed ? upside_down : in_order, on_c.read(), k.info.name);
    }
    // The same stream as the GPU cuts of the same matrix.
    forms::storing how{
        .form = kernels::operand_form::row_stream, .cols = 24, .columns_at_once = k.info.columns_at_once, .device = 0};
    const forms::stored_matrix<float> there(csr.view(), how);
    EXPECT_EQ(there.facts().bytes, forms::make_row_stream_on_host(csr.view(), how).facts().bytes) << k.info.name;
    if (HasFailure()) return;
  }
  EXPECT_GT(num_rows_of_the_table, 0u);
}

TEST_F(plan_cuda, a_stream_that_does_not_fit_is_refused_before_it_is_cut) {
  const auto csr = csr_of<float, std::int64_t>(a_);
  // Views of more non-zeros than any GPU holds: nothing of them is read.
  auto large = csr.view();
  large.values = {large.values.data(), std::size_t{1} << 42};
  try {
    (void)forms::make_row_stream_on_host(large, {.form = kernels::operand_form::row_stream, .device = 0});
    FAIL() << "2^42 non-zeros were stored";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::out_of_memory);
    const std::string message = e.what();
    EXPECT_NE(message.find("32.0 TiB"), std::string::npos) << message;
    EXPECT_NE(message.find("are free"), std::string::npos) << message;
  }
}

TEST_F(plan_cuda, out_of_memory_is_an_error_that_leaves_everything_usable) {
  try {
    const core::device_buffer<double> too_much(0, std::int64_t{1} << 42);
    FAIL() << "32 TiB were given";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::out_of_memory);
    const std::string message = e.what();
    EXPECT_NE(message.find("32.0 TiB"), std::string::npos) << message;
    EXPECT_NE(message.find("are free"), std::string::npos) << message;
  }
  const spmm_plan plan(ctx(), csr_of<float>(a_), {.cols = 24});
  operand<float> on_b(ctx(), b_, {}), on_c(ctx(), a_.rows, 24, {});
  plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
  expect_right(plan, on_c);
}

TEST_F(plan_cuda, products_beyond_two_to_the_thirty_one_elements) {
  // C of 70000 x 32768 > 2^31 elements: offsets must be 64-bit. Each row of A holds one entry.
  const std::int64_t rows = 70000, n = 32768;
  std::vector<std::int32_t> ptr(static_cast<std::size_t>(rows) + 1), ind(static_cast<std::size_t>(rows));
  std::vector<float> v(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    ptr[static_cast<std::size_t>(i) + 1] = static_cast<std::int32_t>(i + 1);
    ind[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 3);
    v[static_cast<std::size_t>(i)] = static_cast<float>(i % 11);
  }
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  if (free_bytes < (std::size_t{12} << 30)) GTEST_SKIP() << "needs 12 GiB of device memory";
  const csr_matrix<float> a(rows, 3, ptr, ind, v);
  std::vector<float> b(static_cast<std::size_t>(3 * n));
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<float>(k % 13);
  const auto on_b = on_device<float>(b);
  const core::device_buffer<float> on_c(0, rows * n);
  for (const char* algorithm : {"naive", "warp", "tiled"}) {
    const spmm_plan plan(ctx(), a, {.cols = n, .expert = {.kernel = algorithm}});
    core::gpu::fill_zero(on_c.data(), on_c.bytes());
    plan.run(1.0f, {on_b.data(), 3, n}, 0.0f, {on_c.data(), rows, n});
    for (std::int64_t i : {std::int64_t{0}, std::int64_t{65535}, std::int64_t{65537}, rows - 1}) {
      std::vector<float> line(static_cast<std::size_t>(n));
      core::gpu::copy_to_host(line.data(), on_c.data() + i * n, line.size() * sizeof(float));
      for (std::int64_t j = 0; j < n; j += 1023) {
        ASSERT_EQ(line[static_cast<std::size_t>(j)],
                  static_cast<float>(i % 11) * b[static_cast<std::size_t>((i % 3) * n + j)])
            << algorithm << " (" << i << ", " << j << ")";
      }
    }
  }
}

}  // namespace
}  // namespace bcsc::test
