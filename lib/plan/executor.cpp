#include "lib/plan/executor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/team.hpp"
#include "kernels/cpu/pack.hpp"
#include "kernels/cuda/pack.hpp"
#include "lib/choice/column_major.hpp"
#include "lib/plan/run_checks.hpp"

namespace bcsc::plan {

namespace {

constexpr std::int64_t max_strided_ld = (std::int64_t{1} << 31) / 8 - 1;  // that every kernel multiplies in 32 bits

template <class T>
dense_view<T> member(dense_view<T> c, std::int64_t k, std::int64_t stride) {
  c.data += k * stride;
  return c;
}

/// `width` columns of a column-major matrix, made row-major; for each member of a batch.
template <class T>
void pack(const recipe& how, const T* from, std::int64_t ld, std::int64_t rows, std::int64_t width, T* packed,
          std::int64_t ld_packed, const kernels::cuda::pack_members& members, cuda_stream stream) {
  if (!how.on_gpu()) {
    for (std::int64_t k = 0; k < members.count; ++k) {
      kernels::cpu::pack_row_major(from + k * members.col_major_stride, ld, rows, width,
                                   packed + k * members.row_major_stride, ld_packed, how.ctx.state().who());
    }
    return;
  }
#if BCSC_WITH_CUDA
  const int status = kernels::cuda::pack_row_major(from, ld, rows, width, packed, ld_packed, stream, members);
  core::check_launch(how.ctx.state(), status, "making an operand row-major");
#else
  (void)stream;
#endif
}

/// The way back, on a GPU.
template <class T>
void unpack([[maybe_unused]] const recipe& how, [[maybe_unused]] const T* packed,
            [[maybe_unused]] std::int64_t ld_packed, [[maybe_unused]] const dense_view<T>& c,
            [[maybe_unused]] const kernels::cuda::pack_members& members, [[maybe_unused]] cuda_stream stream) {
#if BCSC_WITH_CUDA
  const int status = kernels::cuda::unpack_row_major(packed, ld_packed, c.rows, c.cols, c.data, c.ld, stream, members);
  core::check_launch(how.ctx.state(), status, "turning C");
#endif
}

}  // namespace

template <number T>
std::shared_ptr<const forms::stored_matrix<T>> held_matrix<T>::owned(stored made) {
  const auto wait_and_free = [](const stored* old) {
    const core::gpu::outside_pools waits;
    delete old;
  };
  return {new stored(std::move(made)), wait_and_free};
}

/// From a row of B to the next, and from a column to the next; how much of a row may be read.
template <number T>
struct executor<T>::b_strides {
  std::int64_t row, col, readable_cols;
};

template <number T>
void executor<T>::run(const held_matrix<T>& held, factor alpha, dense_view<const T> b, factor beta, dense_view<T> c,
                      const run_options& run, const product_extras<T>& extras) const {
  core::context_state& state = how_.ctx.state();
  const plan_facts& facts = how_.facts;
  core::require_healthy(state);
  if (narrow_number<T> && extras.z != nullptr) {
    core::fail(errc::unsupported, "a product in 16 bits adds a multiple of C, and of no other block");
  }
  if (run.batch.count == 0) return;
  const bool reads_b = facts.cols > 0 && facts.nnz > 0 && (alpha.pointer() != nullptr || alpha.value() != 0);
  check_operands<T>(facts.rows, facts.cols, b, c, how_.options.b_layout, reads_b);
  check_batch<T>(b, c, run.batch);
  std::optional<core::gpu::device_guard> guard;
  if (how_.on_gpu()) guard.emplace(how_.device());
  core::guarded(state, "a run", [&] { check_spaces(b, c, alpha, beta, reads_b, run); });
  if (facts.rows == 0 || c.cols == 0) return;

  // A single column is row-major as it lies, whatever its layout is called.
  const bool any_ld = how_.always_reads_in_place();
  const bool in_place = (any_ld || b.ld <= max_strided_ld) && how_.reads_in_place(c.cols);
  const bool packs = how_.packs_b() && reads_b && c.cols > 1 && !in_place;
  const b_strides strides{b.row_stride(), in_place ? b.col_stride() : 1, c.cols};
  held.with([&](const stored& a) {
    if (!packs && layout_.partial_values(1) == 0) {
      multiply_whole(a, alpha, b.data, reads_b, strides, beta, c, run, extras);
    } else {
      multiply_in_slabs(a, alpha, b, reads_b, packs, strides, beta, c, run, extras);
    }
  });
}

template <number T>
void executor<T>::check_spaces(const dense_view<const T>& b, const dense_view<T>& c, factor alpha, factor beta,
                               bool reads_b, const run_options& run) const {
  const auto check = [&](const void* pointer, const char* name) {
    if (pointer == nullptr) return;
    if (how_.on_gpu() && !core::gpu::is_device_pointer(pointer, how_.device())) {
      core::fail(errc::wrong_memory_space, "{} does not lie on device {}; bcsc::spmm() stages host operands", name,
                 how_.device());
    }
    if (!how_.on_gpu() && core::gpu::is_device_only(pointer)) {
      core::fail(errc::wrong_memory_space, "{} lies on a device, the context is a CPU", name);
    }
  };
  if (reads_b && b.rows > 0 && b.cols > 0) check(b.data, "B");
  check(c.data, "C");
  check(alpha.pointer(), "alpha");
  check(beta.pointer(), "beta");
  if (!run.workspace.empty()) check(run.workspace.data(), "workspace");
}

template <number T>
void executor<T>::multiply_whole(const stored& a, factor alpha, const T* b, bool reads_b, const b_strides& strides,
                                 factor beta, const dense_view<T>& c, const run_options& run,
                                 const product_extras<T>& extras) const {
  const std::int64_t count = run.batch.count;
  const std::int64_t b_stride = reads_b && count > 1 ? run.batch.b_stride : 0;
  const std::int64_t c_stride = count > 1 ? run.batch.c_stride : 0;
  for (std::int64_t k = 0; k < count; k += kernels::max_members) {
    const std::int64_t members = std::min(count - k, kernels::max_members);
    multiply(a, alpha, b + k * b_stride, strides, beta, member(c, k, c_stride), nullptr, nullptr,
             {members, b_stride, c_stride}, run.stream, extras);
  }
}

template <number T>
void executor<T>::multiply_in_slabs(const stored& a, factor alpha, const dense_view<const T>& b, bool reads_b,
                                    bool packs, const b_strides& strides, factor beta, const dense_view<T>& c,
                                    const run_options& run, const product_extras<T>& extras) const {
  const std::int64_t count = run.batch.count;
  const std::int64_t b_stride = reads_b && count > 1 ? run.batch.b_stride : 0;
  const std::int64_t c_stride = count > 1 ? run.batch.c_stride : 0;
  choice::problem as_run = how_.described();
  as_run.cols = c.cols;
  const bool turns = layout_.turns() && c.order == layout::col_major && choice::turns_c(as_run, how_.facts.kernel);
  const bool reads_c = beta.pointer() != nullptr || beta.value() != 0;

  const workspace_lease workspace(workspace_, layout_.bytes(), how_.on_gpu(), run);
  const auto most = layout_.largest(c.cols, count);
  T* const packed = reinterpret_cast<T*>(workspace.data());
  T* const turned = packed + most.members * layout_.packed_values(most.cols);
  auto* const partials = reinterpret_cast<scalar_of<T>*>(turned + most.members * layout_.turned_values(most.cols));
  std::byte* const spare = workspace.data() + layout_.spare_offset();
  const std::int64_t packed_stride = b_stride != 0 ? layout_.packed_values(most.cols) : 0;  // one B is packed once
  const std::int64_t turned_stride = layout_.turned_values(most.cols);

  for (std::int64_t k = 0; k < count; k += most.members) {
    const std::int64_t members = std::min(most.members, count - k);
    const T* const b_first = b.data + k * b_stride;
    for (std::int64_t j = 0; j < c.cols; j += most.cols) {
      const std::int64_t width = std::min(most.cols, c.cols - j);
      if (packs) {
        pack(how_, b_first + j * b.ld, b.ld, how_.facts.cols, width, packed, most.cols,
             {b_stride != 0 ? members : 1, b_stride, packed_stride}, run.stream);
      }
      const T* const b_slab = packs ? packed : b_first + (reads_b ? j * b.col_stride() : 0);
      const dense_view<T> c_slab =
          member(dense_view<T>(c.data + j * c.col_stride(), c.rows, width, c.ld, c.order), k, c_stride);
      const kernels::cuda::pack_members each{members, c_stride, turned_stride};
      const T* const z_slab = extras.z != nullptr ? extras.z + j * c.col_stride() : nullptr;
      if (turns && reads_c) {
        pack(how_, z_slab != nullptr ? z_slab : c_slab.data, c.ld, c.rows, width, turned, most.cols, each, run.stream);
      }
      multiply(
          a, alpha, b_slab, packs ? b_strides{most.cols, 1, most.cols} : b_strides{strides.row, strides.col, width},
          beta, turns ? dense_view<T>(turned, c.rows, width, most.cols) : c_slab, partials, spare,
          {members, packs ? packed_stride : b_stride, turns ? turned_stride : c_stride, layout_.partial_values(width)},
          run.stream, {turns ? nullptr : z_slab, width == c.cols ? extras.dots : kernels::dots_with_b{}});
      if (turns) unpack(how_, turned, most.cols, c_slab, each, run.stream);
    }
  }
}

template <number T>
void executor<T>::multiply(const stored& a, factor alpha, const T* b, const b_strides& strides, factor beta,
                           const dense_view<T>& c, scalar_of<T>* partials, std::byte* spare,
                           const kernels::batch_strides& batch, cuda_stream stream,
                           const product_extras<T>& extras) const {
  const kernels::launch_env env{team_for(c), stream, how_.ctx.device().num_multiprocessors, core::has_fast_gather(),
                                how_.ctx.device().l2_bytes};
  forms::dense_side<T> product{b,
                               strides.row,
                               strides.col,
                               strides.readable_cols,
                               c.cols,
                               c.data,
                               c.row_stride(),
                               c.col_stride(),
                               alpha.value(),
                               beta.value(),
                               alpha.pointer(),
                               beta.pointer(),
                               partials,
                               batch,
                               spare,
                               spare != nullptr ? layout_.spare_bytes() : 0,
                               extras.dots,
                               extras.z != nullptr ? forms::elements_between<T>(c.data, extras.z) : 0};
  const kernel_info& kernel = how_.facts.kernel;
  const auto start = [&] {
    core::check_launch(how_.ctx.state(), a.start(how_.kernel->launch, product, env), kernel.name.c_str());
  };
  if (kernel.batches) return start();
  // One after the other, with the same partial sums.
  product.batch = {};
  for (std::int64_t k = 0; k < batch.count; ++k, product.b += batch.b, product.c += batch.c) start();
}

template <number T>
core::team executor<T>::team_for(const dense_view<T>& c) const {
  constexpr double seconds_an_entry = 0.4e-9, bytes_a_second = 100e9;
  const double bytes = static_cast<double>(c.cols) * sizeof(T);
  const double entries = static_cast<double>(how_.facts.nnz + how_.facts.rows);
  return core::team_for(entries * (seconds_an_entry + bytes / bytes_a_second), how_.ctx.state().who());
}

#define BCSC_INSTANTIATE(T)      \
  template class held_matrix<T>; \
  template class executor<T>;
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::plan
