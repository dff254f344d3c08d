#include "kernels/forms/mma_tiles/stored.hpp"

#include "core/checked.hpp"
#include "kernels/forms/blocks_on_device.hpp"

namespace bcsc::forms {

namespace {

/// How row blocks are cut for the warps, or the thread blocks, that multiply them.
template <number T>
mma_tiles_options options_for(const compact_bcsc_view<T, std::int32_t>& blocks, const storing& how) {
  if (how.form == kernels::operand_form::mma_tiles) return mma_cut_for(blocks.nnzc());
  // Where columns reach most parts, an order by parts saves next to no tiles, and opens gaps in many groups.
  return {.max_groups = max_staged_groups_for(blocks.nnzc(), blocks.num_row_blocks(),
                                              core::ceil_div(how.cols, std::int64_t{how.tile_cols})),
          .by_parts = blocks.nnz() < blocks.nnzc() * (how.m_block / mma_tile_rows)};
}

/// Whether it pays to ask L2 for tiles before it is known which are next: where it does not hold A anyway, and where
/// tiles are not so full that A comes as fast as memory gives it (docs/history, 144).
bool gains_by_prefetches(std::int64_t nnz, std::int64_t num_tiles, std::int64_t tiles_bytes, std::int64_t l2_bytes) {
  return 3 * tiles_bytes > l2_bytes && 10 * nnz < 7 * mma_tile_values * num_tiles;
}

}  // namespace

template <number T, index I>
stored_mma_tiles<T> make_mma_tiles(const csr_view<T, I>& csr, const storing& how) {
  const auto blocks = blocks_on_device(csr, how);
  const auto view = blocks.view();
  return {.tiles = to_mma_tiles_on_device(*how.device, view, options_for(view, how)),
          .nnz = view.nnz(),
          .nnzc = view.nnzc(),
          .num_row_blocks = view.num_row_blocks(),
          .row_of = row_permutation<std::int32_t>(how)};
}

template <class T>
stored_facts stored_mma_tiles<T>::facts() const {
  return {nnzc, tiles.bytes() + row_of.bytes(), num_row_blocks};
}

template <class T>
int stored_mma_tiles<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                               const kernels::launch_env& env) const {
  const auto& f = tiles;
  kernels::mma_tiles_operand<T> a{f.rows,          f.cols,           f.height,        f.items.size(), f.items.data(),
                                  f.groups.data(), f.col_ind.data(), f.tiles.data(),  f.masks.data(), row_of.data(),
                                  f.sums.size(),   f.sums.data(),    product.partials};
  // With wider rows of B nothing is gained (64 columns of fp32 lose up to 5 %), and a second slab reads A again.
  const bool is_narrow = product.n * static_cast<std::int64_t>(sizeof(T)) <= 128;
  if (is_narrow && product.batch.count == 1) a.in_l2 = policy_for(env, f.bytes(), product.bytes(f.rows, f.cols));
  if (gains_by_prefetches(nnz, f.masks.size(), f.tiles.bytes(), env.l2_bytes)) {
    a.prefetched_tiles = static_cast<std::int32_t>(f.masks.size());
  }
  const auto args = with_operand(a, product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                                      \
  template struct stored_mma_tiles<T>;                                                           \
  template stored_mma_tiles<T> make_mma_tiles(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_mma_tiles<T> make_mma_tiles(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
