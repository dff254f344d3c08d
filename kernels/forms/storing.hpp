#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/formats.hpp"
#include "converters/formats/grid.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/product_args.hpp"

/// What the stored forms of A have in common. A form is a folder here: its layout in memory, the operand that kernels
/// read, how it is made on the host and on a GPU, and `stored.hpp`, which reports its facts and the workspace that a
/// product needs, and starts a kernel on it.
namespace bcsc::forms {

struct stored_facts {
  std::int64_t nnzc = 0;
  std::int64_t bytes = 0;
  std::int64_t num_row_blocks = 0;
};

/// Partial sums that a product writes to the workspace and then reduces: for n columns `rows` rows of them, each padded
/// to a multiple of `grain` values.
struct partial_sums {
  std::int64_t rows = 0, grain = 1;
  std::int64_t spare_bytes = 0;  ///< in addition; used if there is room, not required
  std::int64_t values(std::int64_t n) const { return rows * ((n + grain - 1) / grain * grain); }
};

/// How A is to be stored.
struct storing {
  kernels::operand_form form = kernels::operand_form::compact;
  int index_bits = 32;  ///< that the kernel reads
  std::int64_t m_block = 1;
  std::int64_t cols = 1;           ///< N that it is made for
  int columns_at_once = 1;         ///< entries of a row block that the kernel multiplies in one step; bricks: slots
  int teams = 1;                   ///< of a thread block of the kernel, which share a long row
  int tile_cols = 1;               ///< columns of B and C in the kernel's tile
  std::int64_t thread_blocks = 1;  ///< of the kernel that the GPU holds at once
  std::span<const std::int64_t> boundaries = {};                  ///< of the row blocks; empty: uniform
  std::span<const std::int64_t> order = {};                       ///< order[stored row] = row of C; empty: the same
  converters::grid bricks = {};                                   ///< whose rows lie in bricks
  std::int64_t reach = std::numeric_limits<std::int64_t>::max();  ///< converters::column_access::reach
  std::optional<int> device = {};                                 ///< none: on the host
};

/// Everything of a product but A.
template <class T>
struct dense_side {
  const T* b;
  std::int64_t ldb, b_col_stride, b_readable_cols, n;
  T* c;
  std::int64_t c_row_stride, c_col_stride;
  scalar_of<T> alpha, beta;
  const scalar_of<T>*alpha_at, *beta_at;
  scalar_of<T>* partials;  ///< partial_sums::values(n) of them, for each member
  kernels::batch_strides batch = {};
  void* spare = nullptr;  ///< partial_sums::spare_bytes, aligned to 256 bytes, or none
  std::int64_t spare_bytes = 0;
  kernels::dots_with_b dots = {};
  std::int64_t z_offset = 0;  ///< product_args::z_offset

  /// Of B and C together, of one member, for an A of `rows` and `cols`.
  std::int64_t bytes(std::int64_t rows, std::int64_t cols) const {
    return (rows + cols) * n * static_cast<std::int64_t>(sizeof(T));
  }
};

/// Of any two arrays, for product_args::z_offset.
template <class T>
std::int64_t elements_between(const T* from, const T* to) {
  const auto bytes = reinterpret_cast<std::intptr_t>(to) - reinterpret_cast<std::intptr_t>(from);
  return bytes / static_cast<std::int64_t>(sizeof(T));
}

template <class T, class Operand>
kernels::product_args<T, Operand> with_operand(const Operand& a, const dense_side<T>& p) {
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
          p.batch,
          p.dots,
          p.z_offset};
}

/// Which row of C each stored row is; null where rows keep their order.
template <class I>
class row_permutation {
 public:
  row_permutation() = default;
  explicit row_permutation(const storing& how) : on_host_(how.order.begin(), how.order.end()) {
    if (!how.device) return;
    on_device_ = {*how.device, std::span<const I>(on_host_)};
    on_host_ = {};
  }
  const I* data() const {
    return on_device_.size() > 0 ? on_device_.data() : on_host_.empty() ? nullptr : on_host_.data();
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(on_host_.size() * sizeof(I) + on_device_.bytes()); }

 private:
  std::vector<I> on_host_;
  core::device_buffer<I> on_device_;
};

}  // namespace bcsc::forms
