#include "kernels/forms/dense/stored.hpp"

#include <limits>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "kernels/forms/dense/dense_steps.hpp"

namespace bcsc::forms {

namespace {

/// Values of the narrowest type in 16 bytes: rows are padded to that whatever the type, for the question whether a size
/// is held.
constexpr std::int64_t max_in_vector = 8;

/// For a product of few columns, whose tiles would not fill a GPU: its terms are split, and the sums added up.
constexpr std::int64_t spare_bytes = std::int64_t{16} << 20;

template <class T>
std::int64_t padded(std::int64_t cols) {
  constexpr std::int64_t vector = 16 / sizeof(T);
  return core::ceil_div(cols, vector) * vector;
}

/// A's fp16 parts, beside its values: these are multiplied where a sum is not good enough.
void add_halves(stored_dense<float>& a, int count, int device) {
  a.halves_count = count;
  a.halves_ld = padded<half>(a.cols);
  a.halves = core::device_buffer<half>(device, a.rows * count * a.halves_ld);
  a.back = core::device_buffer<float>(device, a.rows);
  a.num_lossy = core::device_buffer<std::int32_t>(device, a.rows);
  steps::split_dense({.count = count,
                      .rows = a.rows,
                      .cols = a.cols,
                      .ld = a.ld,
                      .halves_ld = a.halves_ld,
                      .values = a.values.data(),
                      .parts = a.halves.data(),
                      .back = a.back.data(),
                      .num_lossy = a.num_lossy.data()});
}

}  // namespace

bool dense_holds(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows > most || cols > most - max_in_vector) return false;
  return rows == 0 || core::ceil_div(cols, max_in_vector) * max_in_vector <= most / rows;
}

template <number T, index I>
stored_dense<T> make_dense(const csr_view<T, I>& csr, const storing& how) {
  if constexpr (sizeof(I) > sizeof(std::int32_t)) {
    core::fail(errc::internal, "a dense matrix from CSR with 64-bit indices");
  } else {
    if (csr.space != memory_space::device || !dense_holds(csr.rows, csr.cols)) {
      core::fail(errc::internal, "a dense matrix of {} x {} from CSR in {} memory", csr.rows, csr.cols,
                 to_string(csr.space));
    }
    const int device = *how.device;
    const core::gpu::device_guard guard(device);
    stored_dense<T> made{.rows = csr.rows,
                         .cols = csr.cols,
                         .nnz = csr.nnz(),
                         .ld = padded<T>(csr.cols),
                         .row_words = core::ceil_div(csr.cols, kernels::dense_mask_bits)};
    made.values = core::device_buffer<T>(device, made.rows * made.ld);
    made.mask = core::device_buffer<std::uint32_t>(device, made.rows * made.row_words);
    const row_permutation<std::int32_t> row_of(how);
    steps::fill_dense({.rows = made.rows,
                       .cols = made.cols,
                       .ld = made.ld,
                       .row_words = made.row_words,
                       .row_ptr = csr.row_ptr.data(),
                       .col_ind = csr.col_ind.data(),
                       .from = csr.values.data(),
                       .row_of = row_of.data(),
                       .values = made.values.data(),
                       .mask = made.mask.data()},
                      static_cast<int>(sizeof(T)));
    if constexpr (std::is_same_v<T, float>) {
      if (const int count = kernels::halves_in(how.form); count > 0) add_halves(made, count, device);
    }
    core::gpu::synchronize();
    return made;
  }
}

// As in a row stream: row blocks of one row, whose non-empty columns are the entries.
template <class T>
stored_facts stored_dense<T>::facts() const {
  const auto of_halves = halves.bytes() + back.bytes() + num_lossy.bytes();
  return {nnz, static_cast<std::int64_t>(values.bytes() + mask.bytes() + of_halves), rows};
}

template <class T>
partial_sums stored_dense<T>::partials() const {
  using kernels::halves_workspace;
  if (halves_count == 0) return {.rows = rows, .spare_bytes = spare_bytes};
  return {halves_workspace(rows, halves_count, halves_ld, 0).num_rows(), halves_workspace::grain, spare_bytes};
}

template <class T>
int stored_dense<T>::start(kernels::launch_fn launch, const dense_side<T>& product,
                           const kernels::launch_env& env) const {
  const kernels::halves_of_a parts{halves_count, halves.data(), halves_ld, back.data(), num_lossy.data()};
  const kernels::dense_operand<T> a{
      rows, cols, nnz, ld, values.data(), row_words, mask.data(), product.partials, product.spare, product.spare_bytes,
      parts};
  const auto args = with_operand(a, product);
  return launch(&args, env);
}

#define BCSC_INSTANTIATE(T)                                                              \
  template struct stored_dense<T>;                                                       \
  template stored_dense<T> make_dense(const csr_view<T, std::int32_t>&, const storing&); \
  template stored_dense<T> make_dense(const csr_view<T, std::int64_t>&, const storing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
