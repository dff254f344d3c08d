#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "bcsc/capi.h"
#include "core/fail.hpp"

/// What every function of the C interface does with its arguments.
namespace bcsc::capi {

/// Forgets this thread's last error.
void forget_error() noexcept;
/// Keeps the message of the exception that is being handled; returns its code.
int keep_error() noexcept;

/// Runs `body`; no exception leaves it.
template <class Body>
int guarded(Body body) noexcept {
  try {
    forget_error();
    body();
    return BCSC_OK;
  } catch (...) {
    return keep_error();
  }
}

template <class Pointer>
void require(Pointer pointer, const char* name) {
  if (pointer == nullptr) core::fail(errc::invalid_argument, "{} is null", name);
}

/// An enumerator of E, whose last one is `last`.
template <class E>
E enumerator(int number, E last, const char* name) {
  if (number < 0 || number > static_cast<int>(last)) {
    core::fail(errc::invalid_argument, "{} = {}: must be 0 .. {}", name, number, static_cast<int>(last));
  }
  return static_cast<E>(number);
}

inline bool flag(int number, const char* name) {
  if (number != 0 && number != 1) core::fail(errc::invalid_argument, "{} = {}: must be 0 or 1", name, number);
  return number == 1;
}

inline void require_unused(int reserved, const char* name) {
  if (reserved != 0) core::fail(errc::invalid_argument, "{}.reserved = {}: must be 0", name, reserved);
}

/// A larger `size` is taken for one that was never set.
inline constexpr std::size_t max_struct = 4096;

/// Fields come in words of 8 bytes (test/headers/capi_test.py), so that a size which cuts one is an error, too.
template <class Struct>
void check_size(const Struct& given, const char* name) {
  if (given.size < sizeof(std::size_t) || given.size > max_struct || given.size % 8 != 0) {
    core::fail(errc::invalid_argument, "{}.size = {}: must be the struct's sizeof, {} in this library", name,
               given.size, sizeof(Struct));
  }
}

/// A struct of the caller's version of the header as one of ours: what it lacks is 0, what we lack has to be.
template <class Struct>
Struct taken(const Struct* given, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  Struct ours{};
  if (given == nullptr) return ours;
  check_size(*given, name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  std::memcpy(&ours, bytes, std::min(given->size, sizeof(Struct)));
  for (std::size_t at = sizeof(Struct); at < given->size; ++at) {
    if (bytes[at] != 0) {
      core::fail(errc::invalid_argument, "{}.size = {}: byte {} is not 0, and this library knows {} bytes", name,
                 given->size, at, sizeof(Struct));
    }
  }
  return ours;
}

/// Fills as much of the caller's struct as its header and ours have in common, and the rest with 0.
template <class Struct>
void give(Struct ours, Struct* to) {
  const std::size_t size = ours.size = to->size;
  auto* const bytes = reinterpret_cast<unsigned char*>(to);
  std::memset(bytes, 0, size);
  std::memcpy(bytes, &ours, std::min(size, sizeof(Struct)));
}

}  // namespace bcsc::capi
