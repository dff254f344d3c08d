#include "lib/plan/recipe.hpp"

#include "bcsc_config.h"
#include "core/checked.hpp"
#include "core/cpu_caches.hpp"
#include "core/fail.hpp"
#include "kernels/cuda/dense_library.hpp"
#include "kernels/forms/bricks/bricks.hpp"
#include "lib/choice/known_costs.hpp"

namespace bcsc::plan {

recipe::recipe(const context& where, const plan_options& wanted, value_type of)
    : ctx(where), options(wanted), type(of) {
  if (options.cols < 1) {
    core::fail(errc::invalid_argument, "plan_options::cols = {}: must be at least 1", options.cols);
  }
  if (options.expert.m_block < 0 || options.expert.m_block > max_m_block) {
    core::fail(errc::invalid_argument, "plan_options::expert.m_block = {}: must be 0 (the plan chooses) or 1 .. {}",
               options.expert.m_block, std::int64_t{max_m_block});  // a copy: no reference makes it a symbol
  }
  if (options.batch < 1) {
    core::fail(errc::invalid_argument, "plan_options::batch = {}: must be at least 1", options.batch);
  }
  core::require_healthy(ctx.state());
}

std::int64_t recipe::longest_row() const {
  const std::int64_t longest = choice::with_statistics({}, statistics).longest_row;
  return longest > 0 ? longest : facts.nnz;
}

choice::problem recipe::described(std::int64_t rows, std::int64_t inner, std::int64_t nnz) const {
  static const core::cpu_caches caches = core::find_cpu_caches();
  choice::problem p{.where = ctx.kind(),
                    .type = type,
                    .rows = rows,
                    .inner = inner,
                    .nnz = nnz,
                    .cols = options.cols,
                    .index_bits = choice::index_bits_for(rows, inner, nnz),
                    .deterministic = options.deterministic,
                    .b_is_col_major = options.b_layout == layout::col_major,
                    .max_shared_bytes = ctx.device().shared_bytes_per_block,
                    .compute_capability = 10 * ctx.device().compute_major + ctx.device().compute_minor,
                    .num_multiprocessors = ctx.device().num_multiprocessors,
                    .caches = caches,
                    .sectors_per_entry = access.sectors_per_entry,
                    .sectors_per_row = access.sectors_per_row,
                    .farthest = access.farthest,
                    .grid = grid,
                    .costs = &choice::costs_on(ctx)};
#if BCSC_WITH_CUDA
  if (choice::considers_dense(p, options)) p.no_dense_library = kernels::cuda::ready_dense_library(device());
#endif
  return p;
}

converters::brick_shape recipe::bricks_for(const kernel_info& of, std::int64_t cols) const {
  return forms::brick_for(grid, thread_blocks(of), core::ceil_div(cols, std::int64_t{of.n_tile}));
}

bool recipe::reads_in_place(std::int64_t n) const {
  if (!packs_b() || n < 2) return false;
  if (always_reads_in_place()) return true;
  // A dense product reads either layout equally fast.
  if (kernels::is_dense(kernel->form)) return options.expert.reading != col_major_b::packed;
  return options.expert.reading == col_major_b::in_place ? kernel->info.strided_cols > 0 : in_place.contains(n);
}

bool recipe::gains_by_equal_rows(const kernel_info& config, std::int64_t cols) const {
  constexpr std::int64_t max_bytes = 256;  // of a row of C
  return !on_gpu() && leaves_rows_to_plan() && config.algorithm == "rows" && facts.m_block == 1 && cols > 1 &&
         cols <= max_bytes / static_cast<std::int64_t>(size_of(type));
}

bool recipe::may_gain_by_bricks(std::int64_t rows, std::int64_t inner, std::int64_t nnz) const {
  constexpr std::int64_t min_bytes = std::int64_t{4} << 20;  // of B: below, launching the kernel is
  const auto size = static_cast<std::int64_t>(size_of(type));
  const std::int64_t min_cols = choice::cols_of_brick_tile(type);  // below, reading A is what takes the time
  return on_gpu() && leaves_rows_to_plan() && options.b_layout == layout::row_major &&
         nnz <= choice::max_length_in_layers(type, options.cols) * rows && options.cols >= min_cols &&
         inner >= core::ceil_div(min_bytes / size, options.cols);
}

bool recipe::gains_by_bricks() const {
  if (kernel->form == kernels::operand_form::bricks) return leaves_rows_to_plan();
  return kernel->form == kernels::operand_form::row_stream && facts.nnz <= choice::max_length_in_bricks * facts.rows &&
         may_gain_by_bricks(facts.rows, facts.cols, facts.nnz);
}

void recipe::settle_reading() {
  in_place = {};
  if (options.expert.reading != col_major_b::as_predicted) return;
  in_place = choice::reads_in_place(described(), *kernel, statistics);
}

void recipe::take(const choice::registered_kernel& other, std::int64_t cols) {
  kernel = &other;
  options.cols = cols;
  facts.kernel = other.info;
  facts.convert_seconds = 0;
}

}  // namespace bcsc::plan
