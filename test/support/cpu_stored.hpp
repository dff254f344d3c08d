#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "bcsc/convert.hpp"
#include "kernels/forms/compact/operand.hpp"
#include "kernels/forms/row_slices/stored.hpp"
#include "kernels/forms/storing.hpp"

/// A in whichever form a CPU kernel's table names, to start the kernel on by hand.
namespace bcsc::test {

template <class T, class I>
class cpu_stored {
 public:
  /// `row_of`: the row of C that each row of `a` is; empty: the same.
  cpu_stored(kernels::operand_form form, const csr_matrix<T, I>& a, const compact_options& blocks,
             std::span<const std::int64_t> row_of = {})
      : row_of_(row_of.begin(), row_of.end()) {
    if constexpr (value<T>) {
      if (form == kernels::operand_form::row_slices) {
        slices_ = forms::make_row_slices(a.view(), {.form = form, .order = row_of});
        return;
      }
    }
    blocks_ = to_compact<T, I>(a, blocks);
  }

  int launch(kernels::launch_fn launch, const forms::dense_side<T>& dense, const kernels::launch_env& env,
             bool scattered = false) const {
    if constexpr (value<T>) {
      if (slices_) return slices_->start(launch, dense, env);
    }
    const auto v = blocks_->view();
    const kernels::bcsc_operand<T, I> a{v.rows,
                                        v.cols,
                                        v.m_block,
                                        v.num_row_blocks(),
                                        v.block_row.empty() ? nullptr : v.block_row.data(),
                                        v.brow_ptr.data(),
                                        v.entry_ptr.data(),
                                        v.col_ind.data(),
                                        nullptr,
                                        {v.col_count.data(), v.col_count.bytes()},
                                        {v.row_in_block.data(), v.row_in_block.bytes()},
                                        v.values.data(),
                                        row_of_.empty() ? nullptr : row_of_.data(),
                                        scattered};
    const auto args = forms::with_operand(a, dense);
    return launch(&args, env);
  }

 private:
  struct none {};
  std::vector<I> row_of_;
  std::optional<compact_bcsc_matrix<T, I>> blocks_;
  std::conditional_t<value<T>, std::optional<forms::stored_row_slices<T>>, none> slices_;
};

}  // namespace bcsc::test
