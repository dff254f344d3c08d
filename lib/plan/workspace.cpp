#include "lib/plan/workspace.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "lib/choice/column_major.hpp"

namespace bcsc::plan {

namespace {

constexpr std::int64_t max_to_pack = std::int64_t{256} << 20, max_to_turn = std::int64_t{1} << 30;  // bytes

}  // namespace

template <number T>
workspace_layout<T>::workspace_layout(const recipe& how, const forms::partial_sums& partials, bool turnable)
    : rows_(how.facts.rows),
      inner_(how.facts.cols),
      n_tile_(how.facts.kernel.n_tile),
      on_gpu_(how.on_gpu()),
      packs_(how.packs_b() && !how.always_reads_in_place()),
      partials_(partials) {
  const plan_options& options = how.options;
  const auto bound_or = [&](std::int64_t ours) {
    return options.max_workspace_bytes > 0 ? options.max_workspace_bytes : ours;
  };
  turns_ = turnable && !how.reads_in_place(options.cols) && choice::turns_c(how.described(), how.facts.kernel);
  if (turns_) turns_ = bytes_for(std::min(n_tile_, padded(options.cols))) <= bound_or(max_to_turn);
  if (bytes_for(1) == 0) return;
  const std::int64_t bound = bound_or(turns_ ? max_to_turn : max_to_pack);
  slab_cols_ = padded(options.cols);
  if (bytes_for(slab_cols_) > bound) {
    slab_cols_ = std::min(slab_cols_, std::max<std::int64_t>(1, bound / bytes_for(n_tile_)) * n_tile_);
  }
  const std::int64_t one_member = bytes_for(slab_cols_);
  const std::int64_t needed = one_member * std::clamp<std::int64_t>(bound / one_member, 1, options.batch);
  const std::int64_t aligned = core::ceil_div(needed, workspace_alignment) * workspace_alignment;
  const bool has_spare = partials.spare_bytes > 0 && aligned <= bound - partials.spare_bytes;
  spare_offset_ = has_spare ? aligned : needed;
  bytes_ = static_cast<std::size_t>(spare_offset_ + (has_spare ? partials.spare_bytes : 0));
}

template <number T>
typename workspace_layout<T>::slab workspace_layout<T>::largest(std::int64_t cols, std::int64_t count) const {
  const std::int64_t width = std::min(slab_cols_, padded(cols));
  const std::int64_t fit = spare_offset_ / bytes_for(width);
  return {width, std::clamp<std::int64_t>(fit, 1, std::min(count, kernels::max_members))};
}

/// Elements of a matrix made row-major: another may follow, aligned.
template <number T>
std::int64_t workspace_layout<T>::row_major(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t grain = workspace_alignment / sizeof(T);
  return core::ceil_div(core::checked_product(rows, width, "workspace"), grain) * grain;
}

template <number T>
std::int64_t workspace_layout<T>::bytes_for(std::int64_t width) const {
  return core::checked_product(packed_values(width) + turned_values(width), sizeof(T), "workspace") +
         core::checked_product(partial_values(width), sizeof(scalar_of<T>), "workspace");
}

/// Columns of a slab for n: on a GPU whole sectors of 32 bytes, so that N = 17 loads what N = 24 does and packs no
/// more; on the CPU whole tiles.
template <number T>
std::int64_t workspace_layout<T>::padded(std::int64_t n) const {
  constexpr std::int64_t vector = 16 / sizeof(T), sector = 32 / sizeof(T);
  const std::int64_t grain = !on_gpu_ ? n_tile_ : n <= vector ? vector : sector;
  return core::ceil_div(n, grain) * grain;
}

own_workspace::own_workspace(const recipe& how, std::size_t bytes) {
  if (bytes == 0) return;
  if (how.on_gpu()) {
    on_device_ = core::device_buffer<std::byte>(how.device(), static_cast<std::int64_t>(bytes));
  } else {
    on_host_.resize(bytes + workspace_alignment);
  }
}

std::byte* own_workspace::data() const {
  if (on_device_.size() > 0) return on_device_.data();
  const auto address = reinterpret_cast<std::uintptr_t>(on_host_.data());
  const auto aligned = (address + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
  return const_cast<std::byte*>(on_host_.data()) + (aligned - address);
}

workspace_lease::workspace_lease(own_workspace& own, std::size_t bytes, bool on_gpu, const run_options& run) {
  if (bytes == 0) return;
  if (!run.workspace.empty()) {
    if (run.workspace.size() < bytes) {
      core::fail(errc::workspace_too_small, "workspace of {} bytes, the plan needs {}", run.workspace.size(), bytes);
    }
    if (reinterpret_cast<std::uintptr_t>(run.workspace.data()) % workspace_alignment != 0) {
      core::fail(errc::invalid_argument, "workspace is not aligned to {} bytes", workspace_alignment);
    }
    data_ = run.workspace.data();
    return;
  }
  if (own.taken_.exchange(true, std::memory_order_acquire)) {
    throw error(errc::workspace_in_use,
                "the plan's own workspace serves another caller; give each its own in run_options::workspace");
  }
  // On a GPU the work outlives this call: work on another stream would overwrite the workspace.
  if (on_gpu && own.used_ && own.stream_ != run.stream && !(run.move_workspace && core::gpu::is_idle(own.stream_))) {
    own.taken_.store(false, std::memory_order_release);
    throw error(errc::workspace_in_use,
                run.move_workspace
                    ? "the plan's own workspace is in use by the stream it was last run on, which is not idle; "
                      "wait for that stream, or give this run its own in run_options::workspace"
                    : "the plan's own workspace belongs to the stream it was last run on; give this run its own in "
                      "run_options::workspace, or say run_options::move_workspace once that stream is idle");
  }
  own.used_ = true;
  own.stream_ = run.stream;
  own_ = &own;
  data_ = own.data();
}

workspace_lease::~workspace_lease() {
  if (own_ != nullptr) own_->taken_.store(false, std::memory_order_release);
}

template class workspace_layout<float>;
template class workspace_layout<double>;
template class workspace_layout<half>;
template class workspace_layout<bfloat16>;

}  // namespace bcsc::plan
