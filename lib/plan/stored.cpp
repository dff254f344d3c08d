#include "lib/plan/stored.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bcsc/convert.hpp"
#include "lib/core/fail.hpp"
#include "lib/plan/locality.hpp"

namespace bcsc::plan {

namespace {

/// The same for the same pattern, whatever the width of its indices.
template <class T, class I>
pattern_digest digest_of(const csr_view<T, I>& a) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::array<std::int64_t, 1024> wide;
  const auto take = [&](std::span<const I> array) {
    for (std::size_t first = 0; first < array.size(); first += wide.size()) {
      const std::size_t count = std::min(wide.size(), array.size() - first);
      std::ranges::copy(array.subspan(first, count), wide.begin());
      XXH3_128bits_update(&state, wide.data(), count * sizeof(wide[0]));
    }
  };
  const std::array<std::int64_t, 2> shape{a.rows, a.cols};
  XXH3_128bits_update(&state, shape.data(), sizeof shape);
  take(a.row_ptr);
  take(a.col_ind);
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return {hash.low64, hash.high64};
}

template <class T, class Operand>
kernels::product_args<T, Operand> with(const Operand& a, const dense_side<T>& p) {
  return {a,
          p.b,
          p.ldb,
          p.n,
          p.c,
          p.c_row_stride,
          p.c_col_stride,
          p.alpha,
          p.beta,
          p.alpha_at,
          p.beta_at,
          p.b_col_stride,
          p.b_readable_cols,
          p.batch};
}

/// Calls use(csr) with 32-bit indices and its arrays on `device`: those given, or copies for the time of the call.
template <number T, class I, class Use>
void use_on_device(int device, const csr_view<T, I>& csr, Use use) {
  if constexpr (sizeof(I) > sizeof(std::int32_t)) {
    use_on_device(device, cast<T, std::int32_t>(csr).view(), use);
  } else if (csr.space == memory_space::device) {
    use(csr);
  } else {
    const core::device_buffer<I> row_ptr(device, csr.row_ptr), col_ind(device, csr.col_ind);
    const core::device_buffer<T> values(device, csr.values);
    use(csr_view<T, I>{csr.rows,
                       csr.cols,
                       {row_ptr.data(), csr.row_ptr.size()},
                       {col_ind.data(), csr.col_ind.size()},
                       {values.data(), csr.values.size()},
                       memory_space::device});
  }
}

/// CSR takes no longer to upload than its stream does, and the GPU cuts it faster than the host; what it cannot count
/// in 32 bits is cut on the host.
template <number T, class I>
stored_rows<T> make_rows(const csr_view<T, I>& csr, const storing& how) {
  if (csr.nnz() >= std::numeric_limits<std::int32_t>::max()) return make_rows_on_host(csr, how);
  const auto cut = converters::cut_for(csr.rows, csr.nnz(), how.cols, how.columns_at_once);
  const int device = *how.device;
  stored_rows<T> made;
  made.device = device;
  use_on_device(device, csr, [&](const csr_view<T, std::int32_t>& there) {
    made.stream = converters::to_rows_stream_on_device(device, there, cut);
  });
  if (!how.order.empty()) converters::rename_rows(device, made.stream, how.order);
  return made;
}

template <value T, class I>
stored_cached<T> make_cached(const csr_view<T, I>& csr, const storing& how) {
  const std::int64_t row_bytes = how.slab_cols * static_cast<std::int64_t>(sizeof(T));
  converters::cached_stream<T> stream = converters::to_cached_stream(
      csr,
      {.rows = {.split = converters::cut_for(csr.rows, csr.nnz(), how.cols, how.columns_at_once).split, .grain = 2},
       .row_bytes = row_bytes,
       .slots = how.shared_bytes / row_bytes,
       .stages = how.stages});
  if (!how.order.empty()) {
    for (core::cached_piece& piece : stream.pieces) piece.row = static_cast<std::uint32_t>(how.order[piece.row]);
  }
  return {converters::upload(*how.device, stream), digest_of(csr)};
}

template <number T>
stored_fragments<T> make_fragments(const compact_bcsc_view<T, std::int32_t>& blocks, const storing& how) {
  return {.fragments = converters::to_fragments_on_device(*how.device, blocks,
                                                          {.most_groups = converters::most_groups_for(blocks.nnzc())}),
          .nnzc = blocks.nnzc(),
          .num_row_blocks = blocks.num_row_blocks(),
          .row_of = row_permutation<std::int32_t>(how),
          .pattern = converters::hash_pattern_on_device(*how.device, blocks)};
}

/// Row blocks of heights of their own are made on the host.
template <number T, class I>
stored_fragments<T> make_fragments(const csr_view<T, I>& csr, const storing& how) {
  const int device = *how.device;
  if (!how.boundaries.empty()) {
    if constexpr (sizeof(I) > sizeof(std::int32_t)) {
      return make_fragments(cast<T, std::int32_t>(csr).view(), how);
    } else {
      const auto blocks = to_compact(csr, {.m_block = how.m_block, .boundaries = how.boundaries});
      return make_fragments(converters::upload(device, blocks.view()).view(), how);
    }
  }
  std::optional<stored_fragments<T>> made;
  use_on_device(device, csr, [&](const csr_view<T, std::int32_t>& there) {
    made = make_fragments(converters::to_compact_on_device(device, there, how.m_block).view(), how);
  });
  return std::move(*made);
}

}  // namespace

template <number T, index I>
stored_rows<T> make_rows_on_host(const csr_view<T, I>& csr, const storing& how) {
  // Told before the minutes that a large A takes here. Rows of even length fill their pairs, others take more.
  const std::int64_t least_bytes = csr.nnz() / 2 * static_cast<std::int64_t>(sizeof(core::entry_pair<scalar_of<T>>));
  const core::gpu::device_guard guard(*how.device);
  if (const std::int64_t free = core::gpu::free_bytes(); free < least_bytes) {
    core::fail(errc::out_of_memory, "A with {} non-zeros takes {} bytes as a stream of rows: {} are free on device {}",
               csr.nnz(), least_bytes, free, *how.device);
  }
  converters::rows_stream<scalar_of<T>> stream =
      converters::to_rows_stream(csr, converters::cut_for(csr.rows, csr.nnz(), how.cols, how.columns_at_once));
  if (!how.order.empty()) {
    for (core::row_piece& piece : std::span(stream.pieces).first(stream.pieces.size() - 1)) {
      piece.row_and_odd = 2 * static_cast<std::uint32_t>(how.order[piece.row_and_odd / 2]) + piece.row_and_odd % 2;
    }
  }
  return {*how.device, converters::upload(*how.device, stream)};
}

template <class I>
row_permutation<I>::row_permutation(const storing& how) : on_host_(how.order.begin(), how.order.end()) {
  if (!how.device) return;
  on_device_ = {*how.device, std::span<const I>(on_host_)};
  on_host_ = {};
}

template <class T, class I, class Matrix>
stored_facts stored_compact<T, I, Matrix>::facts() const {
  const auto v = matrix.view();
  return {v.nnzc(), v.bytes() + row_of.bytes(), v.num_row_blocks()};
}

template <class T, class I, class Matrix>
bool stored_compact<T, I, Matrix>::same_pattern(const stored_compact& other) const {
  if constexpr (std::same_as<Matrix, converters::device_compact<T, I>>) {
    return converters::same_pattern(matrix, other.matrix);
  } else {
    const auto v = matrix.view(), w = other.matrix.view();
    const auto bytes = [](const small_indices& array) {
      return std::span(static_cast<const std::byte*>(array.data()), array.size_bytes());
    };
    const auto equal = [](const auto& x, const auto& y) { return std::ranges::equal(x, y); };
    return v.rows == w.rows && v.cols == w.cols && equal(v.block_row, w.block_row) && equal(v.brow_ptr, w.brow_ptr) &&
           equal(v.entry_ptr, w.entry_ptr) && equal(v.col_ind, w.col_ind) && equal(v.col_ind16, w.col_ind16) &&
           equal(bytes(v.col_count), bytes(w.col_count)) && equal(bytes(v.row_in_block), bytes(w.row_in_block));
  }
}

template <class T, class I, class Matrix>
int stored_compact<T, I, Matrix>::start(kernels::launch_fn launch, const dense_side<T>& product,
                                        const kernels::launch_env& env) const {
  const auto v = matrix.view();
  const auto small = [](const small_indices& array) { return kernels::small_array{array.data(), array.bytes()}; };
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  const kernels::bcsc_operand<T, I> a{v.rows,
                                      v.cols,
                                      v.m_block,
                                      v.num_row_blocks(),
                                      present(v.block_row),
                                      v.brow_ptr.data(),
                                      v.entry_ptr.data(),
                                      v.col_ind.data(),
                                      present(v.col_ind16),
                                      small(v.col_count),
                                      small(v.row_in_block),
                                      v.values.data(),
                                      row_of.data(),
                                      scattered};
  const auto args = with(a, product);
  return launch(&args, env);
}

template <class T>
stored_facts stored_rows<T>::facts() const {
  return {stream.nnz, stream.bytes(), stream.rows};
}

template <class T>
kernels::rows_operand<scalar_of<T>> stored_rows<T>::operand(scalar_of<T>* partials) const {
  return {stream.rows,
          stream.cols,
          stream.num_pieces(),
          stream.num_partials,
          stream.num_heavy(),
          stream.pieces.data(),
          stream.pairs.data(),
          stream.heavy_ptr.data(),
          partials};
}

template <class T>
std::int64_t stored_rows<T>::partial_values(std::int64_t n) const {
  return kernels::rows_workspace_bytes(operand(nullptr), n) / static_cast<std::int64_t>(sizeof(scalar_of<T>));
}

template <class T>
int stored_rows<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                          const kernels::launch_env& env) const {
  const auto args = with(operand(product.partials), product);
  return launch(&args, env);
}

template <class T>
stored_facts stored_cached<T>::facts() const {
  return {stream.nnz, stream.bytes(), stream.rows};
}

template <class T>
kernels::cached_operand<scalar_of<T>> stored_cached<T>::operand(scalar_of<T>* partials) const {
  return {stream.rows,
          stream.cols,
          stream.num_pieces(),
          stream.num_panels,
          stream.num_partials,
          stream.num_heavy(),
          static_cast<std::int64_t>(stream.hot_cols.size()),
          stream.nnz - stream.cold_entries,
          stream.cold_entries,
          static_cast<int>(stream.panel_slots),
          static_cast<int>(stream.stages),
          stream.pieces.data(),
          stream.pairs.data(),
          stream.hot_cols.data(),
          stream.heavy_ptr.data(),
          partials};
}

template <class T>
std::int64_t stored_cached<T>::partial_values(std::int64_t n) const {
  return kernels::cached_workspace_bytes(operand(nullptr), n) / static_cast<std::int64_t>(sizeof(scalar_of<T>));
}

template <class T>
int stored_cached<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                            const kernels::launch_env& env) const {
  const auto args = with(operand(product.partials), product);
  return launch(&args, env);
}

template <class T>
stored_facts stored_fragments<T>::facts() const {
  return {nnzc, fragments.bytes() + row_of.bytes(), num_row_blocks};
}

template <class T>
std::int64_t stored_fragments<T>::partial_values(std::int64_t n) const {
  return kernels::partial_values(fragments.num_slots, fragments.height, n);
}

template <class T>
int stored_fragments<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                               const kernels::launch_env& env) const {
  const auto& f = fragments;
  const kernels::fragments_operand<T> a{
      f.rows,         f.cols,         f.height,      f.items.size(), f.items.data(), f.groups.data(), f.col_ind.data(),
      f.tiles.data(), f.masks.data(), row_of.data(), f.sums.size(),  f.sums.data(),  product.partials};
  const auto args = with(a, product);
  return launch(&args, env);
}

template <number T>
template <index I>
stored_matrix<T>::stored_matrix(const csr_view<T, I>& csr, const storing& how) {
  switch (how.form) {
    case kernels::operand_form::rows:
      form_ = make_rows(csr, how);
      return;
    case kernels::operand_form::cached:
      if constexpr (narrow_number<T>) {
        core::fail(errc::internal, "no kernel reads the cached form of {}", to_string(value_type_of<T>));
      } else {
        form_ = make_cached(csr, how);
        return;
      }
    case kernels::operand_form::fragments:
      form_ = make_fragments(csr, how);
      return;
    case kernels::operand_form::compact:
      break;
  }
  if (how.device && how.index_bits == 32 && how.boundaries.empty()) {
    use_on_device(*how.device, csr, [&](const csr_view<T, std::int32_t>& there) {
      form_ = device_compact<T, std::int32_t>{converters::to_compact_on_device(*how.device, there, how.m_block, true),
                                              row_permutation<std::int32_t>(how)};
    });
    return;
  }
  const auto place = [&]<class I2>(const csr_view<T, I2>& a) {
    const bool on_gpu = how.device.has_value();
    auto made = to_compact(a, {.m_block = how.m_block, .boundaries = how.boundaries, .narrow_columns = on_gpu});
    if (on_gpu) {
      form_ = device_compact<T, I2>{converters::upload(*how.device, made.view()), row_permutation<I2>(how)};
    } else {
      form_ = host_compact<T, I2>{std::move(made), row_permutation<I2>(how), is_scattered(a)};
    }
  };
  if (how.index_bits == static_cast<int>(sizeof(I) * 8)) {
    place(csr);
  } else if constexpr (sizeof(I) == 8) {
    place(cast<T, std::int32_t>(csr).view());
  } else {
    place(cast<T, std::int64_t>(csr).view());
  }
}

#define BCSC_INSTANTIATE(T)                                                                     \
  template struct stored_compact<T, std::int32_t, compact_bcsc_matrix<T, std::int32_t>>;        \
  template struct stored_compact<T, std::int64_t, compact_bcsc_matrix<T, std::int64_t>>;        \
  template struct stored_compact<T, std::int32_t, converters::device_compact<T, std::int32_t>>; \
  template struct stored_compact<T, std::int64_t, converters::device_compact<T, std::int64_t>>; \
  template struct stored_rows<T>;                                                               \
  template struct stored_cached<T>;                                                             \
  template struct stored_fragments<T>;                                                          \
  template stored_rows<T> make_rows_on_host(const csr_view<T, std::int32_t>&, const storing&);  \
  template stored_rows<T> make_rows_on_host(const csr_view<T, std::int64_t>&, const storing&);  \
  template class stored_matrix<T>;                                                              \
  template stored_matrix<T>::stored_matrix(const csr_view<T, std::int32_t>&, const storing&);   \
  template stored_matrix<T>::stored_matrix(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::plan
