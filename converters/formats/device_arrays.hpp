#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bcsc/device.hpp"
#include "bcsc_config.h"
#include "converters/formats/no_cuda.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"

/// What the device matrices are made with: the way to the device, the owner of arrays, and what arrays a format has.
namespace bcsc::converters {

/// Throws if the context has no GPU, or an earlier error has left it unusable.
core::context_state& state_of_gpu(const context& ctx);

/// body(device number) on the context's GPU, which is current meanwhile; complete on return. In a build without CUDA
/// `body`, a generic lambda, is never instantiated, nor are the steps it calls.
template <class Result, class Body>
Result on_device(const context& ctx, const char* what, [[maybe_unused]] const Body& body) {
  if constexpr (BCSC_WITH_CUDA != 0) {
    core::context_state& state = state_of_gpu(ctx);
    return core::guarded(state, what, [&]() -> Result {
      const core::gpu::device_guard guard(state.device.device);
      const core::gpu::pool_guard pool(state.pool);
      Result result = body(state.device.device);
      core::gpu::synchronize();
      return result;
    });
  } else {
    no_cuda();
  }
}

/// The arrays of a device matrix in the making.
class device_arrays {
 public:
  explicit device_arrays(int device) : device_(device) {}
  int device() const { return device_; }

  /// Takes over a buffer.
  template <class X>
  std::span<X> add_taken(core::device_buffer<X> buffer) {
    const auto kept = std::make_shared<core::device_buffer<X>>(std::move(buffer));
    kept_->push_back(kept);
    return {kept->data(), static_cast<std::size_t>(kept->size())};
  }
  template <class X>
  std::span<X> add(std::int64_t size) {
    (void)core::checked_product(size, sizeof(X), "bytes of a device array");
    return add_taken(core::device_buffer<X>(device_, size));
  }
  template <element T>
  element_values<T> add_values(std::int64_t size) {
    if constexpr (number<T>) {
      return add<T>(size);
    } else {
      return pattern_span(static_cast<std::size_t>(size));
    }
  }
  template <class X>
  std::span<X> add_copy_of_device(std::span<const X> from) {
    const std::span<X> to = add<X>(static_cast<std::int64_t>(from.size()));
    if (!from.empty()) core::gpu::copy_on_device(to.data(), from.data(), from.size_bytes());
    return to;
  }
  pattern_span add_copy_of_device(pattern_span from) { return from; }
  template <class X>
  std::span<X> add_copy_of_host(std::span<const X> from) {
    const std::span<X> to = add<X>(static_cast<std::int64_t>(from.size()));
    if (!from.empty()) core::gpu::copy_to_device(to.data(), from.data(), from.size_bytes());
    return to;
  }
  pattern_span add_copy_of_host(pattern_span from) { return from; }

  /// The matrix that these arrays make up; no more can be added afterwards.
  template <class View>
  device_matrix<View> as(const View& view) {
    return {view, std::move(kept_)};
  }

 private:
  int device_;
  std::shared_ptr<std::vector<std::shared_ptr<void>>> kept_ = std::make_shared<std::vector<std::shared_ptr<void>>>();
};

/// One array of a format, and what a message calls it.
template <class View, class Array>
struct named_array {
  const char* name;
  Array View::*array;
};
template <class View, class Array>
named_array(const char*, Array View::*) -> named_array<View, Array>;

/// What a format consists of: `arrays`, in the order of the view's and the owning matrix's constructors, and the
/// `sizes` that precede them there.
template <class View>
struct parts_of;

template <element T, index I>
struct parts_of<coo_view<T, I>> {
  using view = coo_view<T, I>;
  static constexpr const char* name = "coo";
  static constexpr std::tuple arrays{named_array{"row_ind", &view::row_ind}, named_array{"col_ind", &view::col_ind},
                                     named_array{"values", &view::values}};
  static auto sizes(const view& a) { return std::tuple(a.rows, a.cols); }
};

template <element T, index I>
struct parts_of<csr_view<T, I>> {
  using view = csr_view<T, I>;
  static constexpr const char* name = "csr";
  static constexpr std::tuple arrays{named_array{"row_ptr", &view::row_ptr}, named_array{"col_ind", &view::col_ind},
                                     named_array{"values", &view::values}};
  static auto sizes(const view& a) { return std::tuple(a.rows, a.cols); }
};

template <element T, index I>
struct parts_of<csc_view<T, I>> {
  using view = csc_view<T, I>;
  static constexpr const char* name = "csc";
  static constexpr std::tuple arrays{named_array{"col_ptr", &view::col_ptr}, named_array{"row_ind", &view::row_ind},
                                     named_array{"values", &view::values}};
  static auto sizes(const view& a) { return std::tuple(a.rows, a.cols); }
};

template <number T, index I>
struct parts_of<bsr_view<T, I>> {
  using view = bsr_view<T, I>;
  static constexpr const char* name = "bsr";
  static constexpr std::tuple arrays{named_array{"brow_ptr", &view::brow_ptr}, named_array{"bcol_ind", &view::bcol_ind},
                                     named_array{"values", &view::values}};
  static auto sizes(const view& a) { return std::tuple(a.rows, a.cols, a.row_block, a.col_block); }
};

template <number T, index I>
struct parts_of<ell_view<T, I>> {
  using view = ell_view<T, I>;
  static constexpr const char* name = "ell";
  static constexpr std::tuple arrays{named_array{"bcol_ind", &view::bcol_ind}, named_array{"values", &view::values}};
  static auto sizes(const view& a) { return std::tuple(a.rows, a.cols, a.block, a.blocks_per_row); }
};

template <element T, index I>
struct parts_of<bcsc_view<T, I>> {
  using view = bcsc_view<T, I>;
  static constexpr const char* name = "bcsc";
  static constexpr std::tuple arrays{named_array{"brow_ptr", &view::brow_ptr}, named_array{"col_ind", &view::col_ind},
                                     named_array{"col_ptr", &view::col_ptr}, named_array{"row_ind", &view::row_ind},
                                     named_array{"values", &view::values}};
  static auto sizes(const view& a) { return std::tuple(a.rows, a.cols, a.m_block); }
};

/// use(name, array) for each array of a view, in order.
template <class View, class Use>
void for_arrays(View& a, Use use) {
  std::apply([&](const auto&... part) { (use(part.name, a.*part.array), ...); },
             parts_of<std::remove_const_t<View>>::arrays);
}

inline void require_on_device(int device, const void* data, std::size_t bytes, const char* name) {
  if (bytes == 0 || core::gpu::is_device_pointer(data, device)) return;
  core::fail(errc::wrong_memory_space, "{} does not lie in the memory of GPU {}", name, device);
}

/// Requires all arrays of `a` to lie in the memory of `device`.
template <class View>
void require_on_device(int device, const View& a) {
  if (a.space != memory_space::device) {
    core::fail(errc::wrong_memory_space, "{} lies in {} memory: must lie on the device", parts_of<View>::name,
               to_string(a.space));
  }
  for_arrays(a, [&](const char* name, const auto& array) {
    require_on_device(device, array.data(), array.size_bytes(), name);
  });
}

/// The values that a dense view spans, its padding included; checks the view.
/// Throws error{invalid_argument | bad_leading_dimension | size_overflow}.
template <class T>
std::int64_t dense_extent(const dense_view<const T>& a) {
  if (a.rows < 0) core::fail(errc::invalid_argument, "rows = {}: must be at least 0", a.rows);
  if (a.cols < 0) core::fail(errc::invalid_argument, "cols = {}: must be at least 0", a.cols);
  const bool by_rows = a.order == layout::row_major;
  const std::int64_t lines = by_rows ? a.rows : a.cols, length = by_rows ? a.cols : a.rows;
  if (a.ld < std::max<std::int64_t>(1, length)) {
    core::fail(errc::bad_leading_dimension, "ld = {}: must be at least {}", a.ld, std::max<std::int64_t>(1, length));
  }
  (void)core::checked_product(core::checked_product(lines, a.ld, "lines x ld"), sizeof(T), "bytes of a dense matrix");
  return lines == 0 || length == 0 ? 0 : (lines - 1) * a.ld + length;
}

}  // namespace bcsc::converters
