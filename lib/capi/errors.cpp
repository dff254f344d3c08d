#include <new>
#include <string>

#include "bcsc/version.hpp"
#include "lib/capi/guard.hpp"

namespace bcsc::capi {

namespace {

thread_local std::string last_error;

int keep(errc code, const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();  // no memory for the message: only the code is reported
  }
  return static_cast<int>(code);
}

/// No default, so that the compiler warns of a new code without a text.
const char* text_of(errc code) noexcept {
  switch (code) {
    case errc::ok:
      return "success";
    case errc::invalid_argument:
      return "a parameter lies outside its range";
    case errc::size_mismatch:
      return "the shapes of A, B and C do not fit together";
    case errc::bad_leading_dimension:
      return "a leading dimension is smaller than the row or column it spans";
    case errc::wrong_memory_space:
      return "a host pointer where device memory is needed, or the reverse";
    case errc::overlapping_operands:
      return "B and C share memory";
    case errc::layout_mismatch:
      return "B's layout is not the one the plan was made for";
    case errc::workspace_too_small:
      return "the workspace is smaller than the plan needs";
    case errc::workspace_in_use:
      return "the plan's own workspace serves another caller at this moment";
    case errc::pattern_mismatch:
      return "new values come with another sparsity pattern";
    case errc::no_such_kernel:
      return "no kernel of that name, or for that purpose, on this backend and for this value type";
    case errc::size_overflow:
      return "a product of sizes, or an index, does not fit its type";
    case errc::invalid_format:
      return "the arrays break the format's invariants";
    case errc::io_error:
      return "a file cannot be opened, read or written";
    case errc::bad_banner:
      return "a file's first line is not the format's banner";
    case errc::unsupported:
      return "well-formed, but of a kind that this library does not take";
    case errc::parse_error:
      return "a token of a file is not what the grammar asks for";
    case errc::truncated:
      return "a file ends before the announced entries";
    case errc::trailing_data:
      return "a file has more entries or tokens than announced";
    case errc::index_out_of_range:
      return "an index lies outside the matrix";
    case errc::value_out_of_range:
      return "a number does not fit its type";
    case errc::corrupt_compression:
      return "a compressed stream is damaged";
    case errc::decompression_limit:
      return "a compressed stream expands beyond the permitted size";
    case errc::structure_violation:
      return "the entries contradict the declared symmetry";
    case errc::checksum_mismatch:
      return "the content is not what its checksum says";
    case errc::network_error:
      return "a server cannot be reached, refuses, or does not answer as it should";
    case errc::out_of_memory:
      return "there is not enough memory";
    case errc::no_device:
      return "there is no usable GPU, or the library was built without CUDA";
    case errc::driver_too_old:
      return "the GPU's driver is too old";
    case errc::device_too_old:
      return "no kernel of this build runs on that GPU";
    case errc::cuda_error:
      return "CUDA reported an error";
    case errc::context_poisoned:
      return "an earlier CUDA error has left the device context unusable";
    case errc::cancelled:
      return "a callback asked to stop";
    case errc::internal:
      return "an internal error of the library";
  }
  return "no code of this library";
}

}  // namespace

void forget_error() noexcept { last_error.clear(); }

int keep_error() noexcept {
  try {
    throw;
  } catch (const error& e) {
    return keep(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return keep(errc::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    return keep(errc::internal, e.what());
  } catch (...) {
    return keep(errc::internal, "an exception of an unknown type");
  }
}

namespace {

/// Before 1.0 a minor version may change anything; from then on only a major one does.
bool is_compatible(int header, int library) {
  const int series = library >= 10000 ? 10000 : 100;
  return header / series == library / series && header <= library;
}

}  // namespace

}  // namespace bcsc::capi

using namespace bcsc;

const char* bcsc_error_name(int code) { return to_string(static_cast<errc>(code)).data(); }
const char* bcsc_error_text(int code) { return capi::text_of(static_cast<errc>(code)); }
const char* bcsc_last_error(void) { return capi::last_error.c_str(); }

const char* bcsc_version(void) { return bcsc::version; }
int bcsc_version_number(void) { return BCSC_VERSION_NUMBER; }
int bcsc_require_version(int number) {
  return capi::guarded([&] {
    if (capi::is_compatible(number, BCSC_VERSION_NUMBER)) return;
    core::fail(errc::unsupported,
               "number = {}: this library is {} ({}), which does not serve a program of that version", number,
               bcsc::version, BCSC_VERSION_NUMBER);
  });
}
