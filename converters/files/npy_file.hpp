#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "converters/files/location.hpp"
#include "converters/files/source.hpp"

namespace bcsc::files {

/// A file that is one NumPy array, for what npy_array.hpp reads. Where the file is not compressed, errors say how far
/// it has been read.
class npy_file {
 public:
  explicit npy_file(source& in) : in_(in), as_stored_(!in.compressed() && in.member().empty()) {}

  std::size_t read(char* to, std::size_t capacity) {
    std::size_t filled = 0;
    while (filled < capacity) {
      const std::size_t some = in_.read(to + filled, capacity - filled);
      if (some == 0) break;
      filled += some;
    }
    read_ += static_cast<std::int64_t>(filled);
    return filled;
  }
  const std::string& name() const { return name_; }
  std::int64_t size() const { return as_stored_ && in_.stored_bytes() > 0 ? in_.stored_bytes() : -1; }
  file_location where() const { return {.path = in_.path(), .byte = as_stored_ ? read_ : -1}; }
  std::int64_t credible_bytes() const { return in_.credible_bytes(); }
  void require_memory(std::int64_t bytes) const { in_.require_memory(0, bytes, name_, where()); }
  /// The source itself enforces the limits of expansion.
  void require_permitted(std::int64_t) const {}

 private:
  source& in_;
  bool as_stored_;
  std::int64_t read_ = 0;
  std::string name_ = "the array";
};

}  // namespace bcsc::files
