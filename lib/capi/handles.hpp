#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "bcsc/any_matrix.hpp"
#include "bcsc/capi.h"
#include "bcsc/linear_operator.hpp"
#include "bcsc/plan.hpp"

/// What the handles point to. Texts are made on construction, so that threads only read them.

struct bcsc_context_s {
  bcsc::context context;
  std::string description = context.describe();
};

struct bcsc_sparse_s {
  std::optional<bcsc::any_matrix> owned;  ///< empty: `view` is of the caller's arrays
  bcsc::any_view view;
  bcsc::memory_space space = bcsc::memory_space::host;

  explicit bcsc_sparse_s(bcsc::any_matrix matrix) : owned(std::move(matrix)), view(owned->view()) {}
  bcsc_sparse_s(const bcsc::any_view& arrays, bcsc::memory_space where) : view(arrays), space(where) {}
};

struct bcsc_plan_s {
  std::variant<bcsc::spmm_plan<float>, bcsc::spmm_plan<double>, bcsc::spmm_plan<bcsc::half>,
               bcsc::spmm_plan<bcsc::bfloat16>>
      plan;
  bcsc::layout b_layout;
  std::string explanation = std::visit([](const auto& made) { return made.explain(); }, plan);
};

struct bcsc_operator_s {
  std::variant<bcsc::linear_operator<float>, bcsc::linear_operator<double>> map;
  std::string description = std::visit([](const auto& made) { return made.describe(); }, map);
};
