#include <memory>

#include "bcsc/linear_operator.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"
#include "lib/capi/solver_arguments.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

/// Throws what a callback's code stands for.
void require_applied(int code) {
  if (code == BCSC_OK) return;
  const bool is_known = to_string(static_cast<errc>(code)) != "unknown";
  core::fail(is_known ? static_cast<errc>(code) : errc::invalid_argument, "the operator's callback returned {}{}", code,
             is_known ? "" : ", which is no code of enum bcsc_error");
}

template <value T>
bcsc_operator_s operator_of(const context& where, std::int64_t rows, std::int64_t cols, bcsc_apply apply, void* data) {
  const auto call = [apply, data](scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                                  const apply_options& options) {
    const bool in_place = alpha.pointer() != nullptr || beta.pointer() != nullptr;
    if (in_place && (alpha.pointer() == nullptr || beta.pointer() == nullptr)) {
      core::fail(errc::unsupported, "alpha and beta of a callback's operator lie on the host both, or neither does");
    }
    const T on_host[2] = {alpha.value(), beta.value()};
    require_applied(apply(data, x.cols, in_place ? alpha.pointer() : &on_host[0], x.data, x.ld,
                          in_place ? beta.pointer() : &on_host[1], y.data, y.ld, in_place ? 1 : 0, options.stream));
  };
  return {linear_operator<T>(where, rows, cols, call)};
}

}  // namespace

int bcsc_operator_plan(bcsc_plan plan, bcsc_operator* map) {
  return guarded([&] {
    require(plan, "plan");
    require(map, "map");
    with_solver_plan(*plan, [&]<class T>(const spmm_plan<T>& p) { *map = new bcsc_operator_s{linear_operator<T>(p)}; });
  });
}

int bcsc_operator_callback(bcsc_context context, int64_t rows, int64_t cols, int value_type, bcsc_apply apply,
                           void* data, bcsc_operator* map) {
  return guarded([&] {
    require(context, "context");
    require(apply, "apply");
    require(map, "map");
    const auto type = enumerator(value_type, bcsc::value_type::pattern, "value_type");
    if (type == bcsc::value_type::fp32) {
      *map = new bcsc_operator_s(operator_of<float>(context->context, rows, cols, apply, data));
    } else if (type == bcsc::value_type::fp64) {
      *map = new bcsc_operator_s(operator_of<double>(context->context, rows, cols, apply, data));
    } else {
      core::fail(errc::unsupported, "value_type is {}: operators are of fp32 and fp64", to_string(type));
    }
  });
}

int bcsc_operator_describe(bcsc_operator map, const char** text) {
  return guarded([&] {
    require(map, "map");
    require(text, "text");
    *text = map->description.c_str();
  });
}

void bcsc_operator_free(bcsc_operator map) { delete map; }
