#pragma once

#include "test/support/operands.hpp"

/// The dense operands of a batch, on either backend.
namespace bcsc::test {

/// How the members lie.
struct batch_placement {
  std::int64_t gap = 0;      ///< elements between the last of one member and the first of the next
  bool interleaved = false;  ///< members side by side in the lines of one array instead, `gap` elements apart
  bool shared = false;       ///< all members are the first one
};

/// Everything that is no member's element is NaN, and must stay so.
template <class T>
class batch_operand {
 public:
  batch_operand(const context& ctx, const std::vector<dense_table<T>>& members, const placement& each,
                const batch_placement& batch)
      : ctx_(ctx), each_(each), count_(std::ssize(members)), rows_(members.at(0).rows), cols_(members.at(0).cols) {
    const bool by_rows = each.order == layout::row_major;
    const std::int64_t lines = by_rows ? rows_ : cols_, length = by_rows ? cols_ : rows_;
    const std::int64_t apart = std::max<std::int64_t>(1, length) + each.padding + batch.gap;
    if (batch.interleaved) {
      stride_ = apart;
      ld_ = count_ * apart;
    } else {
      ld_ = apart - batch.gap;
      stride_ = (lines > 0 ? (lines - 1) * ld_ + length : 0) + batch.gap;
    }
    if (batch.shared) stride_ = 0;
    extent_ = (count_ - 1) * stride_ + (lines > 0 ? (lines - 1) * ld_ + length : 0);
    host_.assign(static_cast<std::size_t>(each.offset + extent_ + 8), std::numeric_limits<T>::quiet_NaN());
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

}  // namespace bcsc::test
