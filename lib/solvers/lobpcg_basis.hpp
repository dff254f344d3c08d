#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "bcsc/lobpcg.hpp"
#include "lib/solvers/block_algebra.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/rayleigh_ritz.hpp"

namespace bcsc::solvers {

/// x'Bx up to this is rounding, of a B of that norm and x'x = square.
template <value T>
constexpr double rounding_of_product(double norm, double square) {
  return 16 * static_cast<double>(std::numeric_limits<T>::epsilon()) * norm * square;
}

/// Vectors and what the operators make of them, where the context computes: S, A S and B S, of which any range of
/// columns is a view, for rows lie `ld` apart. Without B, B S is S. Beside them the constraints Y, which stay. The
/// pencil may be inverted: what is called A here is then B, and the inner product is that of A.
template <value T>
class vector_basis {
 public:
  /// `columns`: the maximum that S holds. A and B fit together.
  vector_basis(const linear_operator<T>& a, const std::optional<linear_operator<T>>& b, std::int64_t columns);

  dense_view<T> s(std::int64_t first, std::int64_t count) const { return view(s_, first, count); }
  dense_view<T> as(std::int64_t first, std::int64_t count) const { return view(as_, first, count); }
  dense_view<T> bs(std::int64_t first, std::int64_t count) const { return view(b_ ? bs_ : s_, first, count); }
  /// A block of the same shape that nothing lies in; rotations and orthonormalisation use it.
  dense_view<T> room(std::int64_t first, std::int64_t count) const { return view(room_, first, count); }
  dense_view<T> y() const { return {y_->data(), n_, num_y_}; }
  dense_view<T> by() const { return {b_ ? by_->data() : y_->data(), n_, num_y_}; }
  std::int64_t num_constraints() const { return num_y_; }
  std::int64_t rows() const { return n_; }
  const context& where() const { return a_->where(); }
  bool has_b() const { return b_ != nullptr; }
  block_algebra<T>& algebra() { return algebra_; }

  /// Scales each column of a packed block by a power of two to a size that can be squared. Returns what they were
  /// divided by.
  std::vector<double> take_sizes_out(const dense_view<T>& packed);
  /// Takes constraints, packed where the context computes ([n x count]), and makes them B-orthonormal. Returns their
  /// rank.
  std::int64_t constrain(const T* y, std::int64_t count);

  /// Estimates the norms of A and B, and looks whether they are symmetric.
  void estimate_norms(std::uint64_t seed);
  double norm_a() const { return norm_a_; }
  double norm_b() const { return norm_b_; }

  /// Whether B tells so many random vectors apart, in the complement of the constraints, or is none for a pencil, which
  /// is then the objection. S is overwritten.
  bool tells_apart(std::int64_t count, std::uint64_t seed);
  /// A x = lambda B x becomes B x = mu A x, mu = 1 / lambda; the constraints stay what they are. Needs B, and A
  /// positive definite.
  void invert();
  bool is_inverted() const { return is_inverted_; }

  void apply_a(std::int64_t first, std::int64_t count);
  void apply_b(std::int64_t first, std::int64_t count);
  /// Blocks that the A of the pencil as it was given has been multiplied with.
  std::int64_t num_products() const { return num_products_; }

  /// Makes `count` columns from `first` on B-orthonormal, and B-orthogonal to the constraints and to the columns before
  /// them, and sets their B S. Returns how many are left: dependent ones are dropped.
  std::int64_t orthonormalise(std::int64_t first, std::int64_t count);
  /// How many of them, not 0 themselves, were dropped the last time because B maps them to nothing but rounding.
  std::int64_t num_unseen() const { return num_unseen_; }
  /// S'AS and S'BS of the first columns, of which those among the very first may be known. Empty, with an objection, if
  /// they are not finite.
  std::optional<basis_products> products(std::int64_t count, const std::optional<basis_products>& known);
  /// S, A S and B S := (S, A S and B S) C for the first columns, as many as C has rows.
  void rotate(const small_matrix& c);

  /// A fault of A or B that the vectors have revealed; nothing more can be computed then.
  const std::optional<lobpcg_stop>& objection() const { return objection_; }
  void object(lobpcg_stop reason) {
    if (!objection_) objection_ = reason;
  }

 private:
  /// A pass of orthonormalisation over columns whose B S is set.
  struct pass_result {
    std::int64_t rank = 0;
    double loss = 0;  ///< bounds how far from orthonormal they are
  };
  pass_result orthonormalise_once(std::int64_t first, std::int64_t count, bool is_first);
  void subtract(const dense_view<T>& along, const dense_view<T>& b_along, small_matrix overlap, std::int64_t first,
                std::int64_t count);
  void apply(const linear_operator<T>& op, const dense_view<T>& x, const dense_view<T>& y);
  double estimate_norm(const linear_operator<T>& of, std::uint64_t seed);
  void confine(std::int64_t first, std::int64_t count);
  void rotate(context_array<T>& block, const small_matrix& c);

  dense_view<T> view(const context_array<T>& of, std::int64_t first, std::int64_t count) const {
    return {of.data() + first, n_, count, ld_};
  }

  const linear_operator<T>* a_;
  const linear_operator<T>* b_;  ///< null: the identity
  const linear_operator<T>* const given_a_;
  bool is_inverted_ = false;
  std::int64_t n_, ld_;
  block_algebra<T> algebra_;
  context_array<T> s_, as_, bs_, room_;
  std::int64_t num_y_ = 0, num_unseen_ = 0, num_products_ = 0;
  std::optional<context_array<T>> y_, by_;  ///< [n x num_y], packed; B is the one that was given
  double norm_a_ = 0, norm_b_ = 1;
  std::optional<lobpcg_stop> objection_;
};

}  // namespace bcsc::solvers
