#pragma once

#include <cstdint>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/context.hpp"
#include "bcsc/plan.hpp"
#include "converters/formats/coalescing.hpp"
#include "converters/formats/grid.hpp"
#include "core/context_state.hpp"
#include "lib/choice/choice.hpp"

namespace bcsc::plan {

/// How the rows of A are stored.
enum class row_order {
  as_given,
  by_similarity,  ///< asked for, and found to share more columns
  by_length,      ///< on a CPU: those of equal length side by side
  in_bricks,      ///< on a GPU, in a row stream or in bricks: those of neighbouring nodes of a grid
};

/// What a plan was asked for and what it has decided. Written while the plan is made, constant afterwards.
struct recipe {
  context ctx;
  plan_options options;
  value_type type;
  plan_facts facts;
  const choice::registered_kernel* kernel = nullptr;  // of a table, which outlives all plans
  choice::columns_in_place in_place;                  // of a column-major B
  std::vector<block_statistics> statistics;           // that the kernel was chosen by
  converters::column_access access;                   // likewise, if looks_at_columns()

  std::vector<std::int64_t> order;       // order[stored row] = row of op(A); empty: the same
  std::vector<std::int64_t> boundaries;  // of the row blocks; empty: uniform
  row_order ordered = row_order::as_given;
  converters::grid grid;  // whose rows A's are, if a kernel may gain by that; the order in bricks follows from it
  bool looked_for_grid = false;
  bool unequal_rows = false;  // on a CPU: order_rows_by_length() has an order
  double refused_reuse = 0;   // of an order that was found and rejected

  /// Throws error{invalid_argument | context_poisoned}.
  recipe(const context& where, const plan_options& wanted, value_type of);

  /// How many thread blocks of a kernel its GPU holds at once.
  std::int64_t thread_blocks(const kernel_info& kernel) const {
    return choice::places_for(kernel, ctx.device().num_multiprocessors, ctx.device().shared_bytes_per_block);
  }
  /// The nodes of a brick in which `kernel`, which reads bricks, would have A for `cols` columns.
  converters::brick_shape bricks_for(const kernel_info& kernel, std::int64_t cols) const;
  int device() const { return ctx.device().device; }
  bool on_gpu() const { return ctx.kind() == backend::cuda; }
  /// The product that the choice is made for.
  choice::problem described(std::int64_t rows, std::int64_t inner, std::int64_t nnz) const;
  choice::problem described() const { return described(facts.rows, facts.cols, facts.nnz); }

  /// No row of op(A) has more entries: those of the longest, or all if the choice did not need to know.
  std::int64_t longest_row() const;

  /// Neither an order nor boundaries of the row blocks were asked for: both would be worked out on the host.
  bool leaves_rows_to_plan() const {
    return !options.expert.reorder_rows && options.expert.boundaries == row_blocks::uniform;
  }
  /// Whether the config's loop over a row of A is so short, for `cols` columns, that the row's length matters, and
  /// nothing else orders the rows.
  bool gains_by_equal_rows(const kernel_info& config, std::int64_t cols) const;
  /// Whether some kernel would gain if rows of neighbouring nodes of a grid were near each other (docs/history, 84 and
  /// 110), and nothing else orders the rows.
  bool may_gain_by_bricks(std::int64_t rows, std::int64_t inner, std::int64_t nnz) const;
  /// Whether the kernel chosen does.
  bool gains_by_bricks() const;
  /// Whether how near each other columns are decides anything: which config, or how slices read a column-major B.
  bool looks_at_columns() const {
    return on_gpu() && (options.expert.kernel.empty() || (options.b_layout == layout::col_major && options.cols > 1));
  }
  /// Slices read a column-major B where it lies, however many columns it has, unless it is to be packed.
  bool always_reads_in_place() const {
    return kernel->form == kernels::operand_form::block_slices && options.expert.reading != col_major_b::packed;
  }
  bool packs_b() const { return options.b_layout == layout::col_major && facts.cols > 0; }
  /// Whether a column-major B of n columns is read where it lies.
  bool reads_in_place(std::int64_t n) const;

  /// For which N a column-major B is read where it lies, if the options leave it open.
  void settle_reading();
  /// The same matrix multiplied by another config of the same form.
  void take(const choice::registered_kernel& other, std::int64_t cols);
};

}  // namespace bcsc::plan
