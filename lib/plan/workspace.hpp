#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bcsc/plan.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/storing.hpp"
#include "lib/plan/recipe.hpp"

namespace bcsc::plan {

inline constexpr std::int64_t workspace_alignment = 256;

/// What lies in a product's workspace: B made row-major, C made row-major until it is turned, partial sums; each for
/// `members` members of a batch and `cols` columns. What does not fit is multiplied in slabs of columns and members.
///
///     [packed B of each member][turned C of each member][partial sums of each member][spare bytes]
template <number T>
class workspace_layout {
 public:
  /// `turnable`: whether the kernel's C may be turned at the end.
  workspace_layout(const recipe& how, const forms::partial_sums& partials, bool turnable);

  std::size_t bytes() const { return bytes_; }
  /// Whether there is room for a column-major C that is written row-major first.
  bool turns() const { return turns_; }

  /// The largest part of a product with `cols` columns of `count` members that the workspace holds at once.
  struct slab {
    std::int64_t cols, members;
  };
  slab largest(std::int64_t cols, std::int64_t count) const;

  /// Elements for one member and `width` columns.
  std::int64_t packed_values(std::int64_t width) const { return packs_ ? row_major(inner_, width) : 0; }
  std::int64_t turned_values(std::int64_t width) const { return turns_ ? row_major(rows_, width) : 0; }
  std::int64_t partial_values(std::int64_t width) const { return partials_.values(width); }
  /// The optional bytes of a product (partial_sums::spare_bytes), and where they begin: none where the bound leaves no
  /// room for them.
  std::int64_t spare_bytes() const { return static_cast<std::int64_t>(bytes_) - spare_offset_; }
  std::int64_t spare_offset() const { return spare_offset_; }

 private:
  static std::int64_t row_major(std::int64_t rows, std::int64_t width);
  std::int64_t bytes_for(std::int64_t width) const;
  std::int64_t padded(std::int64_t n) const;

  std::int64_t rows_, inner_, n_tile_;
  bool on_gpu_, packs_, turns_ = false;
  forms::partial_sums partials_;
  std::int64_t slab_cols_ = 0;
  std::int64_t spare_offset_ = 0;
  std::size_t bytes_ = 0;
};

/// A plan's own workspace: one caller at a time, and on a GPU one stream at a time.
class own_workspace {
 public:
  explicit own_workspace(const recipe& how, std::size_t bytes);

 private:
  friend class workspace_lease;
  std::byte* data() const;

  std::vector<std::byte> on_host_;
  core::device_buffer<std::byte> on_device_;
  std::atomic<bool> taken_{false};
  bool used_ = false;  // under taken_, as is the stream
  cuda_stream stream_ = nullptr;
};

/// The caller's workspace, or the plan's own for the duration of a call.
class workspace_lease {
 public:
  /// Throws error{workspace_too_small | invalid_argument | workspace_in_use}.
  workspace_lease(own_workspace& own, std::size_t bytes, bool on_gpu, const run_options& run);
  ~workspace_lease();
  workspace_lease(const workspace_lease&) = delete;
  workspace_lease& operator=(const workspace_lease&) = delete;
  std::byte* data() const { return data_; }

 private:
  own_workspace* own_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace bcsc::plan
