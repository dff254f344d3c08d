#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/registry.hpp"
#include "core/buffer.hpp"
#include "test/support/oracle.hpp"

/// Dense operands for a run on either backend, alone or in a batch: placed with any layout, leading dimension and
/// misalignment.
namespace bcsc::test {

inline bool have_gpu() {
  for (const device_info& d : devices()) {
    if (d.usable) return true;
  }
  return false;
}

/// body.template operator()<T>() for the type that a kernel's row names.
template <class Body>
void with_value_type(value_type type, const Body& body) {
  switch (type) {
    case value_type::fp32:
      return body.template operator()<float>();
    case value_type::fp64:
      return body.template operator()<double>();
    case value_type::fp16:
      return body.template operator()<half>();
    case value_type::bf16:
      return body.template operator()<bfloat16>();
    case value_type::pattern:
      break;
  }
  FAIL() << "no kernel multiplies a " << to_string(type);
}

/// The same where rows are of fp32 and fp64 alone.
template <class Body>
void with_fp32_or_fp64(value_type type, const Body& body) {
  if (type == value_type::fp32) {
    body.template operator()<float>();
  } else {
    ASSERT_EQ(type, value_type::fp64);
    body.template operator()<double>();
  }
}

/// The context of a backend, or nothing where it cannot run here.
inline std::optional<context> context_of(backend where, int threads = 2) {
  if (where == backend::cpu) return context::cpu(threads);
  if (!have_gpu()) return std::nullopt;
  return context::cuda();
}

#define BCSC_SKIP_WITHOUT_GPU(ctx) \
  if (!(ctx)) GTEST_SKIP() << "needs a GPU"

struct placement {
  layout order = layout::row_major;
  std::int64_t padding = 0;  ///< ld beyond the least
  std::int64_t offset = 0;   ///< elements the data starts behind an aligned address
};

/// How the members of a batch lie.
struct batch_placement {
  std::int64_t gap = 0;      ///< elements between the last of one member and the first of the next
  bool interleaved = false;  ///< members side by side in the lines of one array instead, `gap` elements apart
  bool shared = false;       ///< all members are the first one
};

/// The dense matrices of a batch where a context computes. Everything outside the members is NaN, and must stay so.
template <class T>
class batch_operand {
 public:
  batch_operand(const context& ctx, const std::vector<dense_table<T>>& members, const placement& each,
                const batch_placement& batch)
      : ctx_(ctx), each_(each), count_(std::ssize(members)), rows_(members.at(0).rows), cols_(members.at(0).cols) {
    const bool by_rows = each.order == layout::row_major;
    const std::int64_t lines = by_rows ? rows_ : cols_, length = by_rows ? cols_ : rows_;
    const std::int64_t line = std::max<std::int64_t>(1, length) + each.padding, apart = line + batch.gap;
    if (batch.interleaved) {
      stride_ = apart;
      ld_ = count_ * apart;
    } else {
      ld_ = line;
      stride_ = (lines > 0 ? (lines - 1) * ld_ + length : 0) + batch.gap;
    }
    if (batch.shared) stride_ = 0;
    extent_ = (count_ - 1) * stride_ + (lines > 0 ? (lines - 1) * ld_ + length : 0);
    // The last line's padding is watched like the others'.
    host_.assign(static_cast<std::size_t>(each.offset + extent_ + line - length + 8),
                 std::numeric_limits<T>::quiet_NaN());
    for (std::int64_t k = 0; k < (batch.shared ? 1 : count_); ++k) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        for (std::int64_t j = 0; j < cols_; ++j) host_[index(k, i, j)] = members[static_cast<std::size_t>(k)](i, j);
      }
    }
  }

  /// Sends the data where the context computes, and says where member k is.
  dense_view<T> view(std::int64_t k = 0) {
    T* base = host_.data();
    if (ctx_.kind() == backend::cuda) {
      if (device_.size() == 0)
        device_ = core::device_buffer<T>(ctx_.device().device, static_cast<std::int64_t>(host_.size()));
      device_.upload(host_);
      base = device_.data();
    }
    return {base + each_.offset + k * stride_, rows_, cols_, ld_, each_.order};
  }
  std::int64_t stride() const { return stride_; }
  /// Bytes from the first member's first element to the last one's last.
  std::size_t bytes() const { return static_cast<std::size_t>(extent_) * sizeof(T); }

  /// The members as they are now; fails the test if anything outside them was written.
  std::vector<dense_table<T>> read() {
    if (ctx_.kind() == backend::cuda) host_ = device_.download();
    std::vector<dense_table<T>> members(static_cast<std::size_t>(count_), dense_table<T>(rows_, cols_));
    std::vector<bool> inside(host_.size(), false);
    for (std::int64_t k = 0; k < count_; ++k) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        for (std::int64_t j = 0; j < cols_; ++j) {
          members[static_cast<std::size_t>(k)](i, j) = host_[index(k, i, j)];
          inside[index(k, i, j)] = true;
        }
      }
    }
    for (std::size_t at = 0; at < host_.size(); ++at) {
      if (!inside[at] && host_[at] == host_[at]) {
        ADD_FAILURE() << "wrote outside the members, at element " << at;
        break;
      }
    }
    return members;
  }

 private:
  std::size_t index(std::int64_t k, std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(each_.offset + k * stride_ +
                                    (each_.order == layout::row_major ? i * ld_ + j : i + j * ld_));
  }

  context ctx_;
  placement each_;
  std::int64_t count_, rows_, cols_, ld_ = 1, stride_ = 0, extent_ = 0;
  std::vector<T> host_;
  core::device_buffer<T> device_;
};

/// The same of one matrix.
template <class T>
class operand {
 public:
  operand(const context& ctx, const dense_table<T>& from, const placement& p) : alone_(ctx, {from}, p, {}) {}
  operand(const context& ctx, std::int64_t rows, std::int64_t cols, const placement& p)
      : operand(ctx, dense_table<T>(rows, cols, std::numeric_limits<T>::quiet_NaN()), p) {}

  /// Sends the data where the context computes, and says where.
  dense_view<T> view() { return alone_.view(); }
  /// The matrix as it is now; fails the test if anything outside it was written.
  dense_table<T> read() { return alone_.read().front(); }

 private:
  batch_operand<T> alone_;
};

inline arithmetic arithmetic_of(const kernel_info& kernel) { return {kernel.bound.more_terms, kernel.bound.rounding}; }

/// Fails unless every entry of `got` lies within its bound; NaN never passes.
template <class T>
void expect_within_bound(const product& wanted, const dense_table<T>& got, const std::string& what) {
  ASSERT_EQ(wanted.value.at.size(), got.at.size()) << what;
  for (std::size_t k = 0; k < got.at.size(); ++k) {
    const long double error = std::fabs(static_cast<long double>(got.at[k]) - wanted.value.at[k]);
    if (!(error <= wanted.bound.at[k])) {
      ADD_FAILURE() << what << ": entry (" << static_cast<std::int64_t>(k) / got.cols << ", "
                    << static_cast<std::int64_t>(k) % got.cols << ") is " << static_cast<double>(got.at[k])
                    << ", exact " << wanted.value.at[k] << ", error " << error << " beyond " << wanted.bound.at[k];
      return;
    }
  }
}

/// Fails unless `got` is the exact result, rounded once where T is narrow, bit for bit.
template <class T>
void expect_exact(const product& wanted, const dense_table<T>& got, const std::string& what) {
  ASSERT_EQ(wanted.value.at.size(), got.at.size()) << what;
  for (std::size_t k = 0; k < got.at.size(); ++k) {
    const long double exact = wanted.value.at[k];
    if (!(static_cast<long double>(got.at[k]) ==
          (value<T> ? exact : static_cast<long double>(static_cast<T>(static_cast<double>(exact)))))) {
      ADD_FAILURE() << what << ": entry (" << static_cast<std::int64_t>(k) / got.cols << ", "
                    << static_cast<std::int64_t>(k) % got.cols << ") is " << static_cast<double>(got.at[k])
                    << ", exact " << wanted.value.at[k];
      return;
    }
  }
}

}  // namespace bcsc::test
