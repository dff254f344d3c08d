#pragma once

#include <filesystem>
#include <new>
#include <stdexcept>
#include <utility>

#include "converters/files/location.hpp"

namespace bcsc::files {

/// Runs `read`, and turns running out of memory into the library's own error.
template <class F>
auto within_memory(const std::filesystem::path& path, F&& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  fail_at({.path = path.string()}, errc::out_of_memory, "the matrix does not fit in memory");
}

}  // namespace bcsc::files
