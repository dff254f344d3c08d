#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bcsc/plan.hpp"
#include "core/buffer.hpp"
#include "core/by_all.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"

namespace bcsc::tuning {

/// B, C and a workspace where the context computes, for products that are timed and whose results are not read. B holds
/// seeded numbers in -0.5 .. 0.5 that repeat themselves, so that it is filled as fast as memory is written.
template <number T>
class trial_operands {
 public:
  /// For products of `rows` x `inner`, with plan_options::cols columns.
  trial_operands(const context& ctx, std::int64_t rows, std::int64_t inner, const plan_options& plan)
      : on_gpu_(ctx.kind() == backend::cuda), device_(ctx.device().device) {
    const std::int64_t num_b = core::checked_product(inner, plan.cols, "B");
    const std::int64_t num_c = core::checked_product(rows, plan.cols, "C");
    b_ = place(num_b, b_on_host_, b_on_device_);
    c_ = place(num_c, c_on_host_, c_on_device_);
    fill(num_b, ctx.state().who());
    b_view_ = {b_, inner, plan.cols, plan.b_layout};
    c_view_ = {c_, rows, plan.cols, plan.b_layout};
  }

  /// Room for what a plan needs; not while one is running.
  void reserve(std::size_t workspace_bytes) {
    const auto bytes = static_cast<std::int64_t>(workspace_bytes);
    if (on_gpu_ && bytes > workspace_.size()) workspace_ = core::device_buffer<std::byte>(device_, bytes);
  }

  void run(const spmm_plan<T>& plan, cuda_stream stream) const {
    run_options how{.stream = stream};
    if (on_gpu_) how.workspace = {workspace_.data(), plan.workspace_bytes()};
    plan.run(1, b_view_, 0, c_view_, how);
  }

 private:
  T* place(std::int64_t count, std::unique_ptr<T[]>& on_host, core::device_buffer<T>& on_device) {
    if (on_gpu_) {
      on_device = core::device_buffer<T>(device_, count);
      return on_device.data();
    }
    on_host = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
    return on_host.get();
  }

  void fill(std::int64_t count, const core::team& who) {
    constexpr std::int64_t max_seeded = std::int64_t{1} << 18;
    std::vector<T> seeded(static_cast<std::size_t>(std::min(count, max_seeded)));
    std::uint64_t state = 1;
    for (T& value : seeded) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
      value = static_cast<T>(static_cast<double>(state >> 40) * 0x1p-24 - 0.5);
    }
    const auto piece = static_cast<std::int64_t>(seeded.size());
    if (!on_gpu_) {
      const std::int64_t pieces = count == 0 ? 0 : (count + piece - 1) / piece;
      core::for_each(who, pieces, [&](std::int64_t k) {
        std::copy_n(seeded.begin(), std::min(piece, count - k * piece), b_ + k * piece);
      });
      return;
    }
    if (count == 0) return;
    const core::gpu::device_guard guard(device_);
    core::gpu::copy_to_device(b_, seeded.data(), seeded.size() * sizeof(T));
    for (std::int64_t have = piece; have < count; have *= 2) {
      const auto more = static_cast<std::size_t>(std::min(have, count - have));
      core::gpu::copy_on_device(b_ + have, b_, more * sizeof(T));
    }
    core::gpu::synchronize();
  }

  bool on_gpu_;
  int device_;
  std::unique_ptr<T[]> b_on_host_, c_on_host_;
  core::device_buffer<T> b_on_device_, c_on_device_;
  core::device_buffer<std::byte> workspace_;
  T* b_ = nullptr;
  T* c_ = nullptr;
  dense_view<const T> b_view_;
  dense_view<T> c_view_;
};

}  // namespace bcsc::tuning
