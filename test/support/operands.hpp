#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/registry.hpp"
#include "lib/core/buffer.hpp"
#include "test/support/oracle.hpp"

/// Dense operands for a run on either backend: placed with any layout, leading dimension and misalignment.
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

/// A dense matrix where a context computes. Everything that is not an element is NaN, and must stay so.
template <class T>
class operand {
 public:
  operand(const context& ctx, std::int64_t rows, std::int64_t cols, const placement& p)
      : ctx_(ctx), placement_(p), rows_(rows), cols_(cols) {
    const bool by_rows = p.order == layout::row_major;
    ld_ = std::max<std::int64_t>(1, by_rows ? cols : rows) + p.padding;
    host_.assign(static_cast<std::size_t>(p.offset + (by_rows ? rows : cols) * ld_ + 8),
                 std::numeric_limits<T>::quiet_NaN());
  }
  operand(const context& ctx, const dense_table<T>& from, const placement& p) : operand(ctx, from.rows, from.cols, p) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < cols_; ++j) host_[index(i, j)] = from(i, j);
    }
  }

  /// Sends the data where the context computes, and says where.
  dense_view<T> view() {
    T* base = host_.data();
    if (ctx_.kind() == backend::cuda) {
      if (device_.size() == 0)
        device_ = core::device_buffer<T>(ctx_.device().device, static_cast<std::int64_t>(host_.size()));
      device_.upload(host_);
      base = device_.data();
    }
    return {base + placement_.offset, rows_, cols_, ld_, placement_.order};
  }

  /// The matrix as it is now; fails the test if anything outside it was written.
  dense_table<T> read() {
    if (ctx_.kind() == backend::cuda) host_ = device_.download();
    dense_table<T> table(rows_, cols_);
    std::vector<bool> inside(host_.size(), false);
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < cols_; ++j) {
        table(i, j) = host_[index(i, j)];
        inside[index(i, j)] = true;
      }
    }
    for (std::size_t k = 0; k < host_.size(); ++k) {
      if (!inside[k] && host_[k] == host_[k]) {
        ADD_FAILURE() << "wrote outside the matrix, at element " << k;
        break;
      }
    }
    return table;
  }

 private:
  std::size_t index(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(placement_.offset +
                                    (placement_.order == layout::row_major ? i * ld_ + j : i + j * ld_));
  }

  context ctx_;
  placement placement_;
  std::int64_t rows_, cols_, ld_ = 1;
  std::vector<T> host_;
  core::device_buffer<T> device_;
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
