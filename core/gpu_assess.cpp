#include <algorithm>

#include "core/format.hpp"
#include "core/gpu.hpp"

namespace bcsc::core::gpu {

namespace {

std::string version_name(int version) { return core::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

errc assess_absence(const platform& machine, std::string& why) {
  if (!machine.built_with_cuda) {
    why = "this build of bcsc has no CUDA; configure with -Dcuda=enabled where nvcc is installed";
    return errc::no_device;
  }
  if (machine.driver_version == 0) {
    why = "no NVIDIA driver answers on this machine";
    return errc::no_device;
  }
  // Minor versions of one major release are compatible with each other; an older major release is not.
  if (machine.driver_version / 1000 < machine.runtime_version / 1000) {
    why = core::format("the NVIDIA driver supports CUDA {}, this build needs CUDA {}.0 or later",
                       version_name(machine.driver_version), machine.runtime_version / 1000);
    return errc::driver_too_old;
  }
  why = "no GPU is visible (see CUDA_VISIBLE_DEVICES)";
  return errc::no_device;
}

errc assess(const platform& machine, device_info& device) {
  device.usable = false;
  if (!machine.built_with_cuda || machine.driver_version == 0 ||
      machine.driver_version / 1000 < machine.runtime_version / 1000) {
    return assess_absence(machine, device.why_not);
  }
  const int capability = device.compute_major * 10 + device.compute_minor;
  // Machine code of sm_XY runs on X.Y and later of the same major number; the PTX runs on everything later.
  const bool runs = std::any_of(machine.built_archs.begin(), machine.built_archs.end(),
                                [&](int arch) { return arch / 10 == device.compute_major && arch <= capability; }) ||
                    (!machine.built_archs.empty() && capability >= machine.built_archs.back());
  if (!runs) {
    device.why_not =
        core::format("{} has compute capability {}.{}, this build holds kernels for sm_{}", device.name,
                     device.compute_major, device.compute_minor, core::joined(machine.built_archs, ", sm_"));
    return errc::device_too_old;
  }
  device.usable = true;
  device.why_not.clear();
  return errc::ok;
}

bool is_sticky(int status) noexcept {
  // cudaError_t by number, which is stable across releases: calls that were refused and changed nothing.
  struct range {
    int first, last;
  };
  constexpr range harmless[] = {
      {0, 2},                            // success, invalid value, out of memory
      {5, 9},     {12, 13},   {16, 22},  // profiler, invalid configuration, pointers, textures
      {26, 27},   {31, 32},   {34, 37},  // not implemented, no driver or too old a one, surface
      {43, 46},   {52, 52},              // names given twice, device busy, configuration missing
      {98, 98},   {100, 101},            // no such kernel, no such device
      {200, 200}, {205, 213},            // no kernel image; graphics resources
      {215, 219}, {221, 225},            // limits, peer access, PTX and its compiler
      {300, 303},                        // source, file, symbol, shared object
      {400, 402}, {500, 500},            // invalid handle, illegal state, symbol not found
      {600, 600},                        // not ready
      {701, 701}, {703, 705},            // out of launch resources, texturing, peer access
      {708, 708}, {711, 713},            // set too late, too many peers, host memory registered or not
      {720, 720}, {800, 804},            // cooperative launch too large, not permitted, not supported, driver mismatch
      {811, 812},                        // dynamic parallelism
      {900, 908}, {910, 910},            // stream capture, graph update
      {912, 915},                        // cluster size, function not loaded, resources
  };
  return std::ranges::none_of(harmless, [&](const range& r) { return r.first <= status && status <= r.last; });
}

}  // namespace bcsc::core::gpu
