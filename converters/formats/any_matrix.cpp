#include "bcsc/any_matrix.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "converters/formats/narrowing.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc {

namespace {

using core::fail;

bool fits_int32(std::int64_t size) { return size <= std::numeric_limits<std::int32_t>::max(); }

template <matrix_view View>
std::int64_t num_values_of(const View& a) {
  if constexpr (format_of<View> == matrix_format::dense) {
    return static_cast<std::int64_t>(detail::dense_size(a.rows, a.cols, sizeof(typename View::value_t)));
  } else {
    return static_cast<std::int64_t>(a.values.size());
  }
}

template <matrix_view View>
index_type indices_of(const View& a) {
  if constexpr (format_of<View> == matrix_format::dense) {
    return fits_int32(a.rows) && fits_int32(a.cols) && fits_int32(num_values_of(a)) ? index_type::int32
                                                                                    : index_type::int64;
  } else {
    return index_type_of<typename View::index_t>;
  }
}

template <matrix_view View>
std::int64_t bytes_of(const View& a) {
  constexpr value_type type = value_type_of<typename View::value_t>;
  constexpr matrix_format format = format_of<View>;
  const std::int64_t index_bytes = size_of(indices_of(a));
  if constexpr (format == matrix_format::coo)
    return footprint::coo(a.nnz(), type, index_bytes);
  else if constexpr (format == matrix_format::csr)
    return footprint::csr(a.rows, a.nnz(), type, index_bytes);
  else if constexpr (format == matrix_format::csc)
    return footprint::csc(a.cols, a.nnz(), type, index_bytes);
  else if constexpr (format == matrix_format::bsr)
    return footprint::bsr(a.rows, a.row_block, a.col_block, a.num_blocks(), type, index_bytes);
  else if constexpr (format == matrix_format::ell)
    return footprint::ell(a.rows, a.block, a.blocks_per_row, type, index_bytes);
  else if constexpr (format == matrix_format::dense)
    return footprint::dense(a.rows, a.cols, type);
  else if constexpr (format == matrix_format::bcsc)
    return footprint::bcsc(a.rows, a.m_block, a.nnzc(), a.nnz(), type, index_bytes);
  else
    return a.bytes();
}

// --- The way through CSR --------------------------------------------------------------------------------------------

template <element... T>
using csr_views = std::variant<csr_view<T, std::int32_t>..., csr_view<T, std::int64_t>...>;

/// The CSR between one format and another: borrowed from the source, or made.
struct csr_between {
  csr_views<float, double, half, bfloat16, pattern> a;
  bool owned;
  any_matrix owner;  ///< of a's arrays, if owned

  template <element T, index I>
  explicit csr_between(const csr_view<T, I>& borrowed) : a(borrowed), owned(false) {}
  // The arrays do not move with their matrix, so the view stays good.
  template <element T, index I>
  explicit csr_between(csr_matrix<T, I>&& made) : a(made.view()), owned(true), owner(std::move(made)) {}
};

std::vector<std::int64_t> widened(std::span<const std::int32_t> indices) {
  auto wide = converters::storage<std::int64_t>(static_cast<std::int64_t>(indices.size()), "64-bit indices");
  std::copy(indices.begin(), indices.end(), wide.begin());
  return wide;
}

/// COO, BSR and Blocked-ELL do not count their entries by index: with 32-bit indices they may hold more than a 32-bit
/// CSR can. Their index arrays are then widened first.
template <matrix_view View>
csr_between by_rows(const View& a) {
  constexpr matrix_format format = format_of<View>;
  if constexpr (format == matrix_format::csr) {
    return csr_between(a);
  } else if constexpr (format == matrix_format::dense) {
    return indices_of(a) == index_type::int32 ? csr_between(to_csr<std::int32_t>(a))
                                              : csr_between(to_csr<std::int64_t>(a));
  } else {
    if constexpr (std::same_as<typename View::index_t, std::int32_t>) {
      using T = typename View::value_t;
      if (!fits_int32(num_values_of(a)) && a.space == memory_space::host) {
        if constexpr (format == matrix_format::coo) {
          const auto row_ind = widened(a.row_ind), col_ind = widened(a.col_ind);
          return csr_between(to_csr(coo_view<T, std::int64_t>{a.rows, a.cols, row_ind, col_ind, a.values}));
        } else if constexpr (format == matrix_format::bsr) {
          const auto brow_ptr = widened(a.brow_ptr), bcol_ind = widened(a.bcol_ind);
          return csr_between(to_csr(
              bsr_view<T, std::int64_t>{a.rows, a.cols, a.row_block, a.col_block, brow_ptr, bcol_ind, a.values}));
        } else if constexpr (format == matrix_format::ell) {
          const auto bcol_ind = widened(a.bcol_ind);
          return csr_between(
              to_csr(ell_view<T, std::int64_t>{a.rows, a.cols, a.block, a.blocks_per_row, bcol_ind, a.values}));
        }
      }
    }
    return csr_between(to_csr(a));
  }
}

/// CSC's own arrays are the rows of the transpose.
template <matrix_view View>
csr_between start(const View& a, bool by_columns) {
  if constexpr (format_of<View> == matrix_format::csc) {
    if (by_columns) return csr_between(transposed(a));
  }
  return by_rows(a);
}

template <class T2>
csr_between with_element(const csr_between& from, index_type indices, overflow_policy overflow) {
  return std::visit(
      [&](const auto& a) {
        return indices == index_type::int32 ? csr_between(converters::cast_by<T2, std::int32_t>(overflow, a))
                                            : csr_between(converters::cast_by<T2, std::int64_t>(overflow, a));
      },
      from.a);
}

csr_between with_types(const csr_between& from, value_type element, index_type indices, overflow_policy overflow) {
  switch (element) {
    case value_type::fp32:
      return with_element<float>(from, indices, overflow);
    case value_type::fp64:
      return with_element<double>(from, indices, overflow);
    case value_type::fp16:
      return with_element<half>(from, indices, overflow);
    case value_type::bf16:
      return with_element<bfloat16>(from, indices, overflow);
    case value_type::pattern:
      return with_element<pattern>(from, indices, overflow);
  }
  fail(errc::internal, "element {}: unknown", static_cast<int>(element));
}

template <element T, index I>
any_matrix to_format(const csr_view<T, I>& a, matrix_format to, const conversion_options& options) {
  switch (to) {
    case matrix_format::coo:
      return to_coo(a);
    case matrix_format::csr:
      return cast<T, I>(a);  // a copy; what is owned is moved instead
    case matrix_format::csc:
      return to_csc(a);
    case matrix_format::bcsc:
      return to_bcsc(a, options.blocks.m_block);
    case matrix_format::compact_bcsc:
      return to_compact(a, options.blocks);
    case matrix_format::bsr:
    case matrix_format::ell:
    case matrix_format::dense:
      if constexpr (number<T>) {
        if (to == matrix_format::bsr) return to_bsr(a, options.row_block, options.col_block);
        if (to == matrix_format::ell) return to_ell(a, options.ell_block);
        return to_dense(a, options.order);
      }
  }
  fail(errc::internal, "{} of {}: unknown", to_string(to), to_string(value_type_of<T>));
}

// --- What is asked for ----------------------------------------------------------------------------------------------

void require_holdable(matrix_format to, value_type element) {
  if (can_hold(to, element)) return;
  fail(errc::unsupported, "format = {}: cannot hold a {}, whose entries have no values to pad with zeros",
       to_string(to), to_string(element));
}

index_type narrowest(std::int64_t rows, std::int64_t cols, std::int64_t count) {
  return fits_int32(rows) && fits_int32(cols) && fits_int32(count) ? index_type::int32 : index_type::int64;
}

csr_between with_types_of(csr_between between, value_type element, const conversion_options& options) {
  const auto [has_element, has_indices, fitting] = std::visit(
      []<class View>(const View& a) {
        return std::tuple(value_type_of<typename View::value_t>, index_type_of<typename View::index_t>,
                          narrowest(a.rows, a.cols, a.nnz()));
      },
      between.a);
  const index_type indices = options.indices.value_or(fitting);
  if (has_element == element && has_indices == indices) return between;
  return with_types(between, element, indices, options.overflow);
}

/// Whether a matrix that keeps its format keeps its types. Padding is not an entry: how many there are is known in
/// CSR only.
bool keeps_types(const any_view& a, const conversion_options& options) {
  if (a.element() != options.element.value_or(a.element())) return false;
  if (a.format() == matrix_format::dense) return true;
  if (options.indices) return a.indices() == *options.indices;
  if (is_padded(a.format()) && !fits_int32(a.num_values())) return false;
  return a.indices() == narrowest(a.rows(), a.cols(), a.num_values());
}

template <matrix_view View>
bool keeps_blocks(const View& a, const conversion_options& options) {
  constexpr matrix_format format = format_of<View>;
  if constexpr (format == matrix_format::bsr) {
    return a.row_block == options.row_block && a.col_block == options.col_block;
  } else if constexpr (format == matrix_format::ell) {
    return a.block == options.ell_block;
  } else if constexpr (format == matrix_format::dense) {
    return a.order == options.order;
  } else if constexpr (format == matrix_format::bcsc) {
    return a.m_block == options.blocks.m_block;
  } else if constexpr (format == matrix_format::compact_bcsc) {
    const bool narrow = options.blocks.narrow_columns && a.cols <= max_narrow_columns;
    return a.m_block == options.blocks.m_block && a.block_row.empty() && options.blocks.boundaries.empty() &&
           a.dense_end.empty() && options.blocks.dense_from == 0 && (a.nnzc() == 0 || narrow == a.col_ind.empty());
  } else {
    return true;
  }
}

bool is_already(const any_view& a, matrix_format to, const conversion_options& options) {
  return a.format() == to && !options.transposed && keeps_types(a, options) &&
         a.visit([&](const auto& view) { return keeps_blocks(view, options); });
}

/// Calls used_up() as soon as the source is no longer needed.
template <class UsedUp>
any_matrix convert_through_csr(const any_view& source, matrix_format to, const conversion_options& options,
                               UsedUp used_up) {
  const value_type element = options.element.value_or(source.element());
  const bool by_columns = options.transposed && source.format() == matrix_format::csc;
  csr_between between = source.visit([&](const auto& a) { return start(a, by_columns); });
  if (between.owned) used_up();
  between = with_types_of(std::move(between), element, options);
  if (between.owned) used_up();
  if (options.transposed && !by_columns) {
    between = std::visit([](const auto& a) { return csr_between(transpose(a)); }, between.a);
    used_up();
  }
  if (to == matrix_format::csr && between.owned) return std::move(between.owner);
  return std::visit([&](const auto& a) { return to_format(a, to, options); }, between.a);
}

}  // namespace

matrix_format any_view::format() const {
  return visit([]<class View>(const View&) { return format_of<View>; });
}
value_type any_view::element() const {
  return visit([]<class View>(const View&) { return value_type_of<typename View::value_t>; });
}
index_type any_view::indices() const {
  return visit([](const auto& a) { return indices_of(a); });
}
std::int64_t any_view::rows() const {
  return visit([](const auto& a) { return a.rows; });
}
std::int64_t any_view::cols() const {
  return visit([](const auto& a) { return a.cols; });
}
std::int64_t any_view::num_values() const {
  return visit([](const auto& a) { return num_values_of(a); });
}
std::int64_t any_view::bytes() const {
  return visit([](const auto& a) { return bytes_of(a); });
}

void validate(const any_view& a) {
  a.visit([](const auto& view) { validate(view); });
}

any_matrix convert(any_matrix a, matrix_format to, const conversion_options& options) {
  require_holdable(to, options.element.value_or(a.element()));
  if (is_already(a, to, options)) return a;
  return convert_through_csr(a.view(), to, options, [&] { a = any_matrix(); });
}

any_matrix convert(const any_view& a, matrix_format to, const conversion_options& options) {
  require_holdable(to, options.element.value_or(a.element()));
  return convert_through_csr(a, to, options, [] {});
}

}  // namespace bcsc
