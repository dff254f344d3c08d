#include "bcsc/error.hpp"

namespace bcsc {

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::ok:
      return "ok";
    case errc::invalid_argument:
      return "invalid_argument";
    case errc::size_mismatch:
      return "size_mismatch";
    case errc::bad_leading_dimension:
      return "bad_leading_dimension";
    case errc::wrong_memory_space:
      return "wrong_memory_space";
    case errc::overlapping_operands:
      return "overlapping_operands";
    case errc::layout_mismatch:
      return "layout_mismatch";
    case errc::workspace_too_small:
      return "workspace_too_small";
    case errc::workspace_in_use:
      return "workspace_in_use";
    case errc::pattern_mismatch:
      return "pattern_mismatch";
    case errc::no_such_kernel:
      return "no_such_kernel";
    case errc::size_overflow:
      return "size_overflow";
    case errc::invalid_format:
      return "invalid_format";
    case errc::io_error:
      return "io_error";
    case errc::bad_banner:
      return "bad_banner";
    case errc::unsupported:
      return "unsupported";
    case errc::parse_error:
      return "parse_error";
    case errc::truncated:
      return "truncated";
    case errc::trailing_data:
      return "trailing_data";
    case errc::index_out_of_range:
      return "index_out_of_range";
    case errc::value_out_of_range:
      return "value_out_of_range";
    case errc::corrupt_compression:
      return "corrupt_compression";
    case errc::decompression_limit:
      return "decompression_limit";
    case errc::structure_violation:
      return "structure_violation";
    case errc::checksum_mismatch:
      return "checksum_mismatch";
    case errc::network_error:
      return "network_error";
    case errc::out_of_memory:
      return "out_of_memory";
    case errc::no_device:
      return "no_device";
    case errc::driver_too_old:
      return "driver_too_old";
    case errc::device_too_old:
      return "device_too_old";
    case errc::cuda_error:
      return "cuda_error";
    case errc::context_poisoned:
      return "context_poisoned";
    case errc::cancelled:
      return "cancelled";
    case errc::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace bcsc
