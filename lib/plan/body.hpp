#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lib/plan/builder.hpp"
#include "lib/plan/executor.hpp"
#include "lib/plan/explain.hpp"
#include "lib/plan/recipe.hpp"

namespace bcsc::plan {

/// What a spmm_plan owns: a stored matrix, the recipe it was stored by, and a product with it.
template <number T>
class body {
 public:
  using stored = forms::stored_matrix<T>;

  virtual ~body() = default;
  body(const body&) = delete;
  body& operator=(const body&) = delete;

  /// Of the product.
  const recipe& how() const { return *how_; }
  const executor<T>& product() const { return product_; }
  const held_matrix<T>& matrix() const { return a_; }
  std::string explain() const { return plan::explain(*how_, product_.layout().turns()); }

  /// New values on the same pattern. Throws error{pattern_mismatch}.
  void update(const source<T>& given);

  /// The same product by another kernel that reads the same form; none if `name` does not.
  virtual std::unique_ptr<body> sharing(const std::string& name, std::int64_t cols) const = 0;
  /// The product with the transpose; none if no kernel computes it from this form.
  virtual std::unique_ptr<body> transposed(std::int64_t cols) const = 0;

 protected:
  body(std::shared_ptr<const recipe> how, std::shared_ptr<const recipe> stored_by, std::shared_ptr<const stored> a,
       const forms::partial_sums& partials, bool turnable)
      : how_(std::move(how)), stored_by_(std::move(stored_by)), a_(std::move(a)), product_(*how_, partials, turnable) {}

  const std::shared_ptr<const recipe> how_;        // of the product
  const std::shared_ptr<const recipe> stored_by_;  // of the matrix; the same, unless the product is the transpose's
  held_matrix<T> a_;
  executor<T> product_;
};

template <number T>
std::unique_ptr<body<T>> make_body(const context& ctx, const plan_options& options, const source<T>& a);

/// The same product with the same stored matrix, described by other facts. Not of a transpose of what is stored.
template <number T>
std::unique_ptr<body<T>> restated(const body<T>& made, plan_facts facts);

}  // namespace bcsc::plan
