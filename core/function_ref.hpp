#pragma once

#include <memory>
#include <type_traits>

namespace bcsc::core {

template <class Body, class Reference, class Result, class... Args>
concept callable_other_than =
    !std::is_same_v<std::remove_cvref_t<Body>, Reference> && std::is_invocable_r_v<Result, Body&, Args...>;

/// Refers to a callable owned elsewhere, for the duration of a call. A function that takes one is compiled once, not
/// once per callable.
template <class Signature>
class function_ref;

template <class Result, class... Args>
class function_ref<Result(Args...)> {
 public:
  template <callable_other_than<function_ref, Result, Args...> Body>
  function_ref(Body&& body) noexcept
      : body_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_(&call<std::remove_reference_t<Body>>) {}

  Result operator()(Args... args) const { return call_(body_, args...); }

 private:
  template <class Body>
  static Result call(void* body, Args... args) {
    return static_cast<Result>((*static_cast<Body*>(body))(args...));
  }

  void* body_;
  Result (*call_)(void*, Args...);
};

}  // namespace bcsc::core
