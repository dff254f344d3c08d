#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "bcsc/convert.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/types.hpp"
#include "bcsc/values.hpp"

#pragma GCC visibility push(default)
/// Matrices whose format, element and index types are known only at run time: what a file holds, or the command line
/// asks for.
namespace bcsc {

enum class matrix_format : std::uint8_t { coo, csr, csc, bsr, ell, dense, bcsc, compact_bcsc };
inline constexpr matrix_format all_matrix_formats[] = {
    matrix_format::coo, matrix_format::csr,   matrix_format::csc,  matrix_format::bsr,
    matrix_format::ell, matrix_format::dense, matrix_format::bcsc, matrix_format::compact_bcsc};

/// The enumerator's name.
constexpr std::string_view to_string(matrix_format format) noexcept {
  constexpr std::string_view names[] = {"coo", "csr", "csc", "bsr", "ell", "dense", "bcsc", "compact_bcsc"};
  return names[static_cast<std::size_t>(format)];
}

/// BSR, Blocked-ELL and dense pad with zeros, which a pattern does not have. The others keep each entry as it is.
constexpr bool is_padded(matrix_format format) noexcept {
  return format == matrix_format::bsr || format == matrix_format::ell || format == matrix_format::dense;
}
constexpr bool can_hold(matrix_format format, value_type element) noexcept {
  return element != value_type::pattern || !is_padded(format);
}

namespace detail {

template <matrix_format Format, class Matrix>
struct format_entry {
  static constexpr matrix_format format = Format;
  using matrix = Matrix;
};

/// The table of formats: what each view is called, and which type owns such a matrix.
template <class View>
struct format_table;
template <element T, index I>
struct format_table<coo_view<T, I>> : format_entry<matrix_format::coo, coo_matrix<T, I>> {};
template <element T, index I>
struct format_table<csr_view<T, I>> : format_entry<matrix_format::csr, csr_matrix<T, I>> {};
template <element T, index I>
struct format_table<csc_view<T, I>> : format_entry<matrix_format::csc, csc_matrix<T, I>> {};
template <number T, index I>
struct format_table<bsr_view<T, I>> : format_entry<matrix_format::bsr, bsr_matrix<T, I>> {};
template <number T, index I>
struct format_table<ell_view<T, I>> : format_entry<matrix_format::ell, ell_matrix<T, I>> {};
template <number T>
struct format_table<dense_view<const T>> : format_entry<matrix_format::dense, dense_matrix<T>> {};
template <element T, index I>
struct format_table<bcsc_view<T, I>> : format_entry<matrix_format::bcsc, bcsc_matrix<T, I>> {};
template <element T, index I>
struct format_table<compact_bcsc_view<T, I>> : format_entry<matrix_format::compact_bcsc, compact_bcsc_matrix<T, I>> {};

/// Every view of an element type.
template <element T, index... I>
struct views_of {
  using type = std::variant<coo_view<T, I>..., csr_view<T, I>..., csc_view<T, I>..., bsr_view<T, I>...,
                            ell_view<T, I>..., bcsc_view<T, I>..., compact_bcsc_view<T, I>..., dense_view<const T>>;
};
template <index... I>
struct views_of<pattern, I...> {
  using type = std::variant<coo_view<pattern, I>..., csr_view<pattern, I>..., csc_view<pattern, I>...,
                            bcsc_view<pattern, I>..., compact_bcsc_view<pattern, I>...>;
};
template <element T>
using view_variant = typename views_of<T, std::int32_t, std::int64_t>::type;

template <class Views>
struct owners_of;
template <class... View>
struct owners_of<std::variant<View...>> {
  using type = std::variant<typename format_table<View>::matrix...>;
};
template <element T>
using matrix_variant = typename owners_of<view_variant<T>>::type;

// By element first: five small variants compile faster than one of seventy.
template <template <class> class Variant>
using by_element = std::variant<Variant<float>, Variant<double>, Variant<half>, Variant<bfloat16>, Variant<pattern>>;
template <class T>
using view_variant_of = view_variant<T>;
template <class T>
using matrix_variant_of = matrix_variant<T>;

}  // namespace detail

/// Which format a view is of.
template <class View>
inline constexpr matrix_format format_of = detail::format_table<View>::format;

template <class View>
concept matrix_view = requires {
  typename detail::format_table<View>::matrix;
};
template <class Matrix>
concept owning_matrix = requires(const Matrix& a) {
  requires std::same_as<typename detail::format_table<decltype(a.view())>::matrix, Matrix>;
};

/// A view of any format, element and index type.
class any_view {
 public:
  /// 0 x 0.
  any_view() = default;
  template <matrix_view View>
  any_view(const View& a) : views_(detail::view_variant<typename View::value_t>(a)) {}
  template <owning_matrix Matrix>
  any_view(const Matrix& a) : any_view(a.view()) {}

  matrix_format format() const;
  value_type element() const;
  /// The type of its indices. A dense matrix has none: the narrowest type that holds rows, columns and rows * columns.
  index_type indices() const;
  std::int64_t rows() const;
  std::int64_t cols() const;
  /// How many values it stores, padding included in BSR, Blocked-ELL and dense.
  std::int64_t num_values() const;
  /// The bytes of all its arrays. Throws error{size_overflow}.
  std::int64_t bytes() const;

  /// f(view), with the view in its own type: a csr_view<float, std::int32_t>, say. Its types are View::value_t,
  /// View::index_t (dense has none) and format_of<View>. f returns the same type for each.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit([&](const auto& views) -> decltype(auto) { return std::visit(f, views); }, views_);
  }

 private:
  detail::by_element<detail::view_variant_of> views_;
};

/// Checks the invariants of the view's format.
void validate(const any_view& a);

/// An owning matrix of any format, element and index type, on the host.
class any_matrix {
 public:
  /// 0 x 0.
  any_matrix() = default;
  template <owning_matrix Matrix>
  any_matrix(Matrix a) : matrices_(detail::matrix_variant<typename Matrix::value_t>(std::move(a))) {}

  /// f(matrix), with the matrix in its own type: a csr_matrix<float, std::int32_t>, say.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit([&](const auto& matrices) -> decltype(auto) { return std::visit(f, matrices); }, matrices_);
  }
  any_view view() const& {
    return visit([](const auto& a) { return any_view(a.view()); });
  }
  void view() const&& = delete;  // it would outlive a temporary
  operator any_view() const { return view(); }
  matrix_format format() const { return view().format(); }
  value_type element() const { return view().element(); }
  index_type indices() const { return view().indices(); }
  std::int64_t rows() const { return view().rows(); }
  std::int64_t cols() const { return view().cols(); }

  /// The matrix, if it is of that type, to read or to move from.
  template <owning_matrix Matrix>
  Matrix* get_if() {
    auto* const matrices = std::get_if<detail::matrix_variant<typename Matrix::value_t>>(&matrices_);
    return matrices == nullptr ? nullptr : std::get_if<Matrix>(matrices);
  }
  template <owning_matrix Matrix>
  const Matrix* get_if() const {
    return const_cast<any_matrix*>(this)->get_if<Matrix>();
  }

 private:
  detail::by_element<detail::matrix_variant_of> matrices_;
};

/// Options of a conversion, besides the format. Each format takes those that concern it.
struct conversion_options {
  /// Empty: the source's. Values are rounded to nearest; a pattern becomes ones, and what becomes a pattern loses its
  /// values.
  std::optional<value_type> element = {};
  /// What happens to values beyond the range of `element`. Those too small for it become 0; analyse_narrowing() counts
  /// both.
  overflow_policy overflow = overflow_policy::refuse;
  /// Empty: int32 if rows, columns and entries fit it, else int64. What does not fit the type asked for is
  /// error{size_overflow}.
  std::optional<index_type> indices = {};
  bool transposed = false;
  std::int64_t row_block = 4, col_block = 4;  ///< of BSR
  std::int64_t ell_block = 16;                ///< of Blocked-ELL
  layout order = layout::row_major;           ///< of dense
  compact_options blocks = {};                ///< of compact BCSC; BCSC takes its m_block
};

/// Converts any matrix to any other format, through CSR; each intermediate matrix is freed as soon as it is used up. A
/// matrix that is already what is asked for is returned as it is. Explicit zeros as in convert.hpp. Throws what the
/// conversions throw, error{value_out_of_range} where options.overflow refuses a value, and error{unsupported} for a
/// pattern that is to become BSR, Blocked-ELL or dense.
any_matrix convert(any_matrix a, matrix_format to, const conversion_options& options = {});
/// The same from a host view, whose arrays are left as they are; always through CSR.
any_matrix convert(const any_view& a, matrix_format to, const conversion_options& options = {});

}  // namespace bcsc
#pragma GCC visibility pop
