#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace bcsc {

/// What went wrong. The numbers are part of the C ABI: new codes go to the end.
enum class errc : int {
  ok = 0,

  // Arguments.
  invalid_argument = 1,       ///< a parameter lies outside its range
  size_mismatch = 2,          ///< the shapes of A, B and C do not fit together
  bad_leading_dimension = 3,  ///< a leading dimension is smaller than the row or column it spans
  wrong_memory_space = 4,     ///< a host pointer where device memory is needed, or the reverse
  overlapping_operands = 5,   ///< B and C share memory
  layout_mismatch = 6,        ///< B's layout is not the one the plan was made for
  workspace_too_small = 7,    ///< the workspace given is smaller than plan.workspace_bytes()
  workspace_in_use = 8,       ///< the plan's own workspace serves another caller at this moment
  pattern_mismatch = 9,       ///< update_values with another sparsity pattern
  no_such_kernel = 10,        ///< no kernel of that name for this backend and value type
  size_overflow = 11,         ///< a product of sizes, or an index, does not fit its type
  invalid_format = 12,        ///< the arrays break the format's invariants

  // Files.
  io_error = 20,             ///< cannot be opened, read or written
  bad_banner = 21,           ///< the first line is not the format's banner
  unsupported = 22,          ///< well-formed, but of a kind this library does not hold (complex, say)
  parse_error = 23,          ///< a token is not what the grammar requires
  truncated = 24,            ///< the data ends before the announced entries
  trailing_data = 25,        ///< more entries or tokens than announced
  index_out_of_range = 26,   ///< an index is below 1 or beyond the matrix
  value_out_of_range = 27,   ///< a number does not fit its type
  corrupt_compression = 28,  ///< the compressed stream is damaged
  decompression_limit = 29,  ///< the stream expands beyond the permitted ratio or size
  structure_violation = 30,  ///< the entries contradict the declared symmetry
  checksum_mismatch = 31,    ///< the content is not what its checksum says
  network_error = 32,        ///< a server cannot be reached, refuses, or does not answer as it should

  // Machine.
  out_of_memory = 40,
  no_device = 41,  ///< no usable GPU, or a build without CUDA
  driver_too_old = 42,
  device_too_old = 43,  ///< no kernel of this build runs on that GPU's compute capability
  cuda_error = 44,
  context_poisoned = 45,  ///< an earlier CUDA error has left the device context unusable

  cancelled = 60,  ///< a progress callback asked to stop
  internal = 99,   ///< a fault of the library itself
};

/// The name of a code, e.g. "size_mismatch".
std::string_view to_string(errc code) noexcept;

/// Where in a file an error lies. Unknown parts are empty, 0 and -1.
struct file_location {
  std::string path;
  std::int64_t line = 0;   ///< 1-based
  std::int64_t byte = -1;  ///< 0-based offset into the file as stored
};

/// The only exception the library throws by itself. `what()` names the parameter and its value, or the file and line.
class error : public std::runtime_error {
 public:
  error(errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  error(errc code, const std::string& message, file_location where)
      : std::runtime_error(message), code_(code), where_(std::move(where)) {}

  errc code() const noexcept { return code_; }
  const file_location& where() const noexcept { return where_; }

 private:
  errc code_;
  file_location where_;
};

}  // namespace bcsc
#pragma GCC visibility pop
