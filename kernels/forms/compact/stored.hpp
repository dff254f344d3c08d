#pragma once

#include <cstdint>
#include <variant>

#include "converters/formats/device_compact.hpp"
#include "kernels/forms/compact/operand.hpp"
#include "kernels/forms/storing.hpp"

namespace bcsc::forms {

/// Compact BCSC, on the host or on a GPU.
template <class T, class I, class Matrix>
struct compact_form {
  Matrix matrix;
  row_permutation<I> row_of;
  bool scattered = false;  ///< is_scattered(); only known, and needed, on the CPU

  stored_facts facts() const;
  partial_sums partials() const { return {}; }
  int start(kernels::launch_fn launch, const dense_side<T>& product, const kernels::launch_env& env) const;
};
template <class T, class I>
using host_compact = compact_form<T, I, compact_bcsc_matrix<T, I>>;
template <class T, class I>
using device_compact = compact_form<T, I, converters::device_compact<T, I>>;

template <class T>
using stored_compact = std::variant<host_compact<T, std::int32_t>, host_compact<T, std::int64_t>,
                                    device_compact<T, std::int32_t>, device_compact<T, std::int64_t>>;

/// Made where A lies.
template <number T, index I>
stored_compact<T> make_compact(const csr_view<T, I>& csr, const storing& how);

}  // namespace bcsc::forms
