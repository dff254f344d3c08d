#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "converters/formats/pattern_hash.hpp"
#include "kernels/forms/block_slices/stored.hpp"
#include "kernels/forms/bricks/stored.hpp"
#include "kernels/forms/compact/stored.hpp"
#include "kernels/forms/dense/stored.hpp"
#include "kernels/forms/fma_tiles/stored.hpp"
#include "kernels/forms/mma_tiles/stored.hpp"
#include "kernels/forms/row_slices/stored.hpp"
#include "kernels/forms/row_stream/stored.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

template <class T, class... More>
using stored_forms =
    std::variant<host_compact<T, std::int32_t>, host_compact<T, std::int64_t>, device_compact<T, std::int32_t>,
                 device_compact<T, std::int64_t>, stored_block_slices<T>, stored_row_stream<T>, stored_mma_tiles<T>,
                 stored_dense<T>, More...>;

/// A as a plan holds it: in the form that its kernel reads, where the context computes.
template <number T>
class stored_matrix {
 public:
  stored_matrix() = default;
  /// From CSR, its rows in their final order: on the host, or, if how.index_bits is 32 and there are no boundaries, on
  /// the device. Throws what the converters throw.
  template <index I>
  stored_matrix(const csr_view<T, I>& csr, const storing& how);

  stored_facts facts() const {
    return std::visit([](const auto& form) { return form.facts(); }, form_);
  }
  /// Whether both were made from equal patterns, whatever their forms.
  bool same_pattern(const stored_matrix& other) const { return pattern_ == other.pattern_; }
  /// What a product needs of workspace, in values of scalar_of<T>.
  partial_sums partials() const {
    return std::visit([](const auto& form) { return form.partials(); }, form_);
  }
  /// Starts a kernel of the form that this was stored for; returns its status.
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const {
    return std::visit([&](const auto& form) { return form.start(launch, product, env); }, form_);
  }

 private:
  template <index I>
  void take(const csr_view<T, I>& csr, const storing& how);

  converters::pattern_hash pattern_;
  std::conditional_t<value<T>, stored_forms<T, stored_row_slices<T>, stored_fma_tiles<T>, stored_bricks<T>>,
                     stored_forms<T>>
      form_;
};

}  // namespace bcsc::forms
