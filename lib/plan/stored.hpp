#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "bcsc/formats.hpp"
#include "converters/formats/cached_stream.hpp"
#include "converters/formats/device_compact.hpp"
#include "converters/formats/fragments.hpp"
#include "converters/formats/rows_stream.hpp"
#include "kernels/cached_operand.hpp"
#include "kernels/fragments_operand.hpp"
#include "kernels/rows_operand.hpp"
#include "kernels/spmm_args.hpp"
#include "lib/core/buffer.hpp"

/// A as a plan holds it: in the form that its kernel reads, where the context computes. Each form says the same four
/// things: what it is (facts), whether another has its pattern, what a product needs beside it, and how one is started.
namespace bcsc::plan {

/// What a plan tells of the stored matrix.
struct stored_facts {
  std::int64_t nnzc = 0;
  std::int64_t bytes = 0;
  std::int64_t num_row_blocks = 0;
};

/// 128 bits of a hash over CSR's pointers and columns: for forms from which the pattern cannot be read back.
struct pattern_digest {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const pattern_digest&, const pattern_digest&) = default;
};

/// How A is to be stored.
struct storing {
  kernels::operand_form form = kernels::operand_form::compact;
  int index_bits = 32;  ///< that the kernel reads
  std::int64_t m_block = 1;
  std::int64_t cols = 1;    ///< N that it is made for
  int columns_at_once = 1;  ///< entries that the kernel multiplies in one step
  int slab_cols = 1;        ///< columns of B that a thread block takes
  int stages = 1;           ///< and how much of B it holds in shared memory
  std::int64_t shared_bytes = 0;
  std::span<const std::int64_t> boundaries = {};  ///< of the row blocks; empty: uniform
  std::span<const std::int64_t> order = {};       ///< order[stored row] = row of C; empty: the same
  std::optional<int> device = {};                 ///< none: on the host
};

/// A product but for A: what product_args holds of it.
template <class T>
struct dense_side {
  const T* b;
  std::int64_t ldb, b_col_stride, b_readable_cols, n;
  T* c;
  std::int64_t c_row_stride, c_col_stride;
  scalar_of<T> alpha, beta;
  const scalar_of<T>*alpha_at, *beta_at;
  scalar_of<T>* partials;  ///< partial_values(n) of them, for each member
  kernels::batch_strides batch = {};
};

/// Which row of C each stored row is; null where rows keep their order.
template <class I>
class row_permutation {
 public:
  row_permutation() = default;
  explicit row_permutation(const storing& how);
  const I* data() const {
    return on_device_.size() > 0 ? on_device_.data() : on_host_.empty() ? nullptr : on_host_.data();
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(on_host_.size() * sizeof(I) + on_device_.bytes()); }

 private:
  std::vector<I> on_host_;
  core::device_buffer<I> on_device_;
};

/// Compact BCSC, on the host or on a GPU.
template <class T, class I, class Matrix>
struct stored_compact {
  Matrix matrix;
  row_permutation<I> row_of;
  bool scattered = false;  ///< is_scattered(); only known, and needed, on the CPU

  stored_facts facts() const;
  bool same_pattern(const stored_compact& other) const;
  std::int64_t partial_values(std::int64_t) const { return 0; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};
template <class T, class I>
using host_compact = stored_compact<T, I, compact_bcsc_matrix<T, I>>;
template <class T, class I>
using device_compact = stored_compact<T, I, converters::device_compact<T, I>>;

/// A stream of pieces of rows, on a GPU.
template <class T>
struct stored_rows {
  int device = 0;
  converters::device_rows_stream<scalar_of<T>> stream;

  stored_facts facts() const;
  bool same_pattern(const stored_rows& other) const { return converters::same_pattern(device, stream, other.stream); }
  std::int64_t partial_values(std::int64_t n) const;
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
  kernels::rows_operand<scalar_of<T>> operand(scalar_of<T>* partials) const;
};

/// Cut on the host and uploaded: for more non-zeros than the GPU's cutter can count. Throws
/// error{out_of_memory} that says how many bytes A takes and how many are free, before it begins.
template <number T, index I>
stored_rows<T> make_rows_on_host(const csr_view<T, I>& csr, const storing& how);

/// The same, parted by which rows of B lie in shared memory, on a GPU. For narrow values there is no such kernel.
template <class T>
struct stored_cached {
  converters::device_cached_stream<scalar_of<T>> stream;
  pattern_digest pattern;

  stored_facts facts() const;
  bool same_pattern(const stored_cached& other) const { return pattern == other.pattern; }
  std::int64_t partial_values(std::int64_t n) const;
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
  kernels::cached_operand<scalar_of<T>> operand(scalar_of<T>* partials) const;
};

/// Fragments for the matrix units, on a GPU.
template <class T>
struct stored_fragments {
  converters::device_fragments<T> fragments;
  std::int64_t nnzc = 0, num_row_blocks = 0;
  row_permutation<std::int32_t> row_of;
  converters::pattern_hash pattern;

  stored_facts facts() const;
  bool same_pattern(const stored_fragments& other) const { return pattern == other.pattern; }
  std::int64_t partial_values(std::int64_t n) const;
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};

template <number T>
class stored_matrix {
 public:
  stored_matrix() = default;
  /// From CSR, its rows in their final order: on the host, or, if how.index_bits is 32 and there are no boundaries, on
  /// the device, where its non-zeros can be counted in 32 bits. Throws what the converters throw.
  template <index I>
  stored_matrix(const csr_view<T, I>& csr, const storing& how);
  /// Made on the device, rows in A's order.
  template <index I>
  explicit stored_matrix(converters::device_compact<T, I> made) : form_(device_compact<T, I>{std::move(made), {}}) {}

  stored_facts facts() const {
    return std::visit([](const auto& form) { return form.facts(); }, form_);
  }
  bool same_pattern(const stored_matrix& other) const {
    const auto same = [&]<class Form>(const Form& form) {
      const auto* const its = std::get_if<Form>(&other.form_);
      return its != nullptr && form.same_pattern(*its);
    };
    return std::visit(same, form_);
  }
  /// Values (of scalar_of<T>) of workspace that a product with n columns needs.
  std::int64_t partial_values(std::int64_t n) const {
    return std::visit([&](const auto& form) { return form.partial_values(n); }, form_);
  }
  /// Starts a kernel of the form that this was stored for; returns what it returns.
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const {
    return std::visit([&](const auto& form) { return form.start(launch, product, env); }, form_);
  }

 private:
  std::variant<host_compact<T, std::int32_t>, host_compact<T, std::int64_t>, device_compact<T, std::int32_t>,
               device_compact<T, std::int64_t>, stored_rows<T>, stored_cached<T>, stored_fragments<T>>
      form_;
};

}  // namespace bcsc::plan
