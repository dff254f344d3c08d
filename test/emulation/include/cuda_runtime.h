#pragma once

#include <math.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>

#include "emulated_gpu.hpp"

// What our kernels use of CUDA, by the names of CUDA, on the emulated GPU (emulated_gpu.hpp). Only what is used is
// here: a kernel that needs more does not compile until it is added.

#define BCSC_EMULATED_GPU 1
// The emulation's own accesses are not the kernel's: note_access() is not told of them.
#define BCSC_NOT_WATCHED __attribute__((noinline, no_sanitize("thread")))

// --- The language ---------------------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// One block runs at a time, so its arrays need to exist only once; in a cooperative launch, where that is not so, they
// are dynamic (core/dynamic_shared.cuh).
#define __shared__ static

inline const bcsc::emulation::index3& threadIdx = bcsc::emulation::running.thread;
inline const bcsc::emulation::index3& blockIdx = bcsc::emulation::running.block;
inline const bcsc::emulation::index3& blockDim = bcsc::emulation::running.block_size;
inline const bcsc::emulation::index3& gridDim = bcsc::emulation::running.grid_size;
inline constexpr int warpSize = 32;

// --- Vectors --------------------------------------------------------------------------------------------------------

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }
constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// --- Numbers --------------------------------------------------------------------------------------------------------

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
/// Byte i of the result is the byte of {y, x} that digit i of `which` names, x the lower four.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned which) {
  const std::uint64_t both = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(both >> (which >> 4 * i & 7u) * 8 & 0xffu) << 8 * i;
  return result;
}
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr std::common_type_t<A, B> min(A a, B b) {
  using common = std::common_type_t<A, B>;
  return static_cast<common>(b) < static_cast<common>(a) ? static_cast<common>(b) : static_cast<common>(a);
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr std::common_type_t<A, B> max(A a, B b) {
  using common = std::common_type_t<A, B>;
  return static_cast<common>(a) < static_cast<common>(b) ? static_cast<common>(b) : static_cast<common>(a);
}

// --- Memory ---------------------------------------------------------------------------------------------------------

/// A load that names its cache; here it only looks at the address.
template <class T>
T __ldcs(const T* from, bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(T) != 0) {
    bcsc::emulation::break_rule("a load from an address that is not aligned to it", where);
  }
  return *from;
}
template <class T>
T __ldcg(const T* from, bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  return __ldcs(from, where);
}
/// The same by the non-coherent path.
template <class T>
T __ldg(const T* from, bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  bcsc::emulation::note_lasting_load(from, sizeof(T), where);
  return __ldcs(from, where);
}
template <class T>
void __stcs(T* to, std::type_identity_t<T> value,
            bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(to) % alignof(T) != 0) {
    bcsc::emulation::break_rule("a store to an address that is not aligned to it", where);
  }
  *to = value;
}
template <class T>
void __stcg(T* to, std::type_identity_t<T> value,
            bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  __stcs(to, value, where);
}

inline void __threadfence() {}
inline void __threadfence_block() {}

namespace bcsc::emulation {

template <class T>
concept atomic_number = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, float> ||
    std::same_as<T, double> || std::same_as<T, unsigned long long>;

/// Replaces *at by change(*at) and returns what was there.
template <atomic_number T, class Change>
BCSC_NOT_WATCHED T change_atomically(T* at, const Change& change) {
  give_way();
  note_access(at, sizeof(T), access::atomic);
  const T old = *at;
  *at = change(old);
  note_change();
  return old;
}

}  // namespace bcsc::emulation

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T old) { return old + value; });
}
/// Neighbours at once (sm_90): each of them is added atomically, but not all together.
inline float2 atomicAdd(float2* at, float2 value,
                        bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(float2) != 0) {
    bcsc::emulation::break_rule("an atomic operation at an address that is not aligned to it", where);
  }
  return {atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y)};
}
inline float4 atomicAdd(float4* at, float4 value,
                        bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(float4) != 0) {
    bcsc::emulation::break_rule("an atomic operation at an address that is not aligned to it", where);
  }
  return {atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y), atomicAdd(&at->z, value.z),
          atomicAdd(&at->w, value.w)};
}
template <std::integral T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T old) { return max(old, value); });
}
template <std::integral T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T old) { return min(old, value); });
}
template <std::integral T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T old) { return old | value; });
}
template <std::integral T>
T atomicAnd(T* at, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T old) { return old & value; });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T) { return value; });
}
template <std::integral T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return bcsc::emulation::change_atomically(at, [=](T old) { return old == expected ? value : old; });
}

// --- Threads together -----------------------------------------------------------------------------------------------

inline void __syncthreads(bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  bcsc::emulation::wait_for_block(where);
}

namespace bcsc::emulation {

enum class shuffle { from_lane, up, down, across };

/// What a lane brings to a shuffle, and takes away.
template <class T>
struct shuffled {
  T value;
  unsigned by;
  unsigned width;
  T result;
};

/// The lane that `lane` reads, as the CUDA C++ programming guide says.
constexpr unsigned source_lane(shuffle kind, unsigned lane, unsigned by, unsigned width) {
  const unsigned first = lane / width * width;
  if (kind == shuffle::from_lane) return first + by % width;
  if (kind == shuffle::up) return lane - first >= by ? lane - by : lane;
  if (kind == shuffle::down) return by < width && lane + by < first + width ? lane + by : lane;
  return (lane ^ by) < first + width ? lane ^ by : lane;
}

template <class T, shuffle Kind>
BCSC_NOT_WATCHED const char* perform_shuffle(void* const* operands, unsigned lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    auto& mine = *static_cast<shuffled<T>*>(operands[lane]);
    const unsigned source = source_lane(Kind, lane, mine.by, mine.width);
    if (source >= 32 || (lanes >> source & 1u) == 0) {
      return "a lane reads another that is not in the mask or has returned";
    }
    mine.result = static_cast<const shuffled<T>*>(operands[source])->value;
  }
  return nullptr;
}

template <class T, shuffle Kind>
BCSC_NOT_WATCHED T shuffle_lanes(unsigned mask, T value, unsigned by, int width, const char* name,
                                 bcsc::emulation::source_line where) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "what CUDA shuffles");
  if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
    break_rule("a shuffle among a number of lanes that is no power of two up to 32", where);
  }
  shuffled<T> operand{value, by, static_cast<unsigned>(width), T{}};
  meet_in_warp(mask, &perform_shuffle<T, Kind>, &operand, name, width, false, where);
  return operand.result;
}

enum class vote { ballot, any, all };

struct voted {
  bool yes;
  unsigned result;
};

template <vote Kind>
BCSC_NOT_WATCHED const char* perform_vote(void* const* operands, unsigned lanes) {
  unsigned yes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1u) != 0 && static_cast<const voted*>(operands[lane])->yes) yes |= 1u << lane;
  }
  const unsigned result = Kind == vote::ballot ? yes : Kind == vote::any ? yes != 0 : yes == lanes;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1u) != 0) static_cast<voted*>(operands[lane])->result = result;
  }
  return nullptr;
}

template <vote Kind>
BCSC_NOT_WATCHED unsigned vote_of_lanes(unsigned mask, bool yes, const char* name, bcsc::emulation::source_line where) {
  voted operand{yes, 0};
  meet_in_warp(mask, &perform_vote<Kind>, &operand, name, 0, false, where);
  return operand.result;
}

inline const char* perform_nothing(void* const*, unsigned) { return nullptr; }

}  // namespace bcsc::emulation

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return shuffle_lanes<T, shuffle::from_lane>(mask, value, static_cast<unsigned>(lane), width, "__shfl_sync", where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                 bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return shuffle_lanes<T, shuffle::up>(mask, value, distance, width, "__shfl_up_sync", where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                   bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return shuffle_lanes<T, shuffle::down>(mask, value, distance, width, "__shfl_down_sync", where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32,
                  bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return shuffle_lanes<T, shuffle::across>(mask, value, static_cast<unsigned>(by), width, "__shfl_xor_sync", where);
}
inline void __syncwarp(unsigned mask = 0xffffffffu,
                       bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  bcsc::emulation::meet_in_warp(mask, &bcsc::emulation::perform_nothing, nullptr, "__syncwarp", 0, true, where);
}
inline unsigned __ballot_sync(unsigned mask, bool yes,
                              bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return vote_of_lanes<vote::ballot>(mask, yes, "__ballot_sync", where);
}
inline int __any_sync(unsigned mask, bool yes,
                      bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return static_cast<int>(vote_of_lanes<vote::any>(mask, yes, "__any_sync", where));
}
inline int __all_sync(unsigned mask, bool yes,
                      bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  using namespace bcsc::emulation;
  return static_cast<int>(vote_of_lanes<vote::all>(mask, yes, "__all_sync", where));
}
namespace bcsc::emulation {

/// What a lane contributes to a comparison, and the lanes that contributed the same.
template <class T>
struct matched {
  T value;
  unsigned alike;
};

template <class T>
BCSC_NOT_WATCHED const char* perform_match(void* const* operands, unsigned lanes) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    auto& mine = *static_cast<matched<T>*>(operands[lane]);
    mine.alike = 0;
    for (unsigned other = 0; other < 32; ++other) {
      if ((lanes >> other & 1u) != 0 && static_cast<const matched<T>*>(operands[other])->value == mine.value) {
        mine.alike |= 1u << other;
      }
    }
  }
  return nullptr;
}

}  // namespace bcsc::emulation

template <class T>
unsigned __match_any_sync(unsigned mask, T value,
                          bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "what CUDA compares");
  bcsc::emulation::matched<T> operand{value, 0};
  bcsc::emulation::meet_in_warp(mask, &bcsc::emulation::perform_match<T>, &operand, "__match_any_sync", 0, false,
                                where);
  return operand.alike;
}
namespace bcsc::emulation {

/// A number of each lane, and what becomes of all of them.
template <class Join>
BCSC_NOT_WATCHED const char* perform_reduction(void* const* operands, unsigned lanes) {
  int all = *static_cast<const int*>(operands[std::countr_zero(lanes)]);
  for (unsigned others = lanes & (lanes - 1); others != 0; others &= others - 1) {
    all = Join{}(all, *static_cast<const int*>(operands[std::countr_zero(others)]));
  }
  for (; lanes != 0; lanes &= lanes - 1) *static_cast<int*>(operands[std::countr_zero(lanes)]) = all;
  return nullptr;
}
struct lesser {
  int operator()(int a, int b) const { return a < b ? a : b; }
};
struct greater {
  int operator()(int a, int b) const { return a < b ? b : a; }
};
template <class Join>
int reduce_lanes(unsigned mask, int value, const char* name, source_line where) {
  meet_in_warp(mask, &perform_reduction<Join>, &value, name, 0, false, where);
  return value;
}

}  // namespace bcsc::emulation

inline int __reduce_min_sync(unsigned mask, int value,
                             bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  return bcsc::emulation::reduce_lanes<bcsc::emulation::lesser>(mask, value, "__reduce_min_sync", where);
}
inline int __reduce_max_sync(unsigned mask, int value,
                             bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  return bcsc::emulation::reduce_lanes<bcsc::emulation::greater>(mask, value, "__reduce_max_sync", where);
}
inline int __reduce_add_sync(unsigned mask, int value,
                             bcsc::emulation::source_line where = bcsc::emulation::source_line::current()) {
  return bcsc::emulation::reduce_lanes<std::plus<int>>(mask, value, "__reduce_add_sync", where);
}
/// CUDA promises no more than the calling lane.
inline unsigned __activemask() { return 1u << bcsc::emulation::running.lane; }

// --- Launching ------------------------------------------------------------------------------------------------------

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorInvalidClusterSize = 912,
};

struct CUstream_st;
using cudaStream_t = CUstream_st*;

enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  union {
    int cooperative;
    int programmaticStreamSerializationAllowed;
    struct {
      unsigned x, y, z;
    } clusterDim;
  } val;
};

enum cudaDeviceAttr { cudaDevAttrCooperativeLaunch = 95 };
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = bcsc::emulation::current_settings().can_launch_together ? 1 : 0;
  return cudaSuccess;
}

/// Kernels run one after the other here, whatever the attributes allow; those that might begin early have to keep the
/// rules for that.
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

inline cudaError_t cudaGetLastError() { return cudaSuccess; }  // launches return theirs

template <class... Params>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Params...), cudaFuncAttribute, int bytes) {
  constexpr int most = 227 * 1024;  // of sm_90
  if (bytes < 0 || bytes > most) return cudaErrorInvalidValue;
  bcsc::emulation::allowed_shared_bytes(reinterpret_cast<const void*>(kernel)) = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...), const Args&... args) {
  namespace emulation = bcsc::emulation;
  const dim3 grid = config->gridDim, block = config->blockDim;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 ||
      block.x == 0 || block.y == 0 || block.z == 0 || block.z > 64 ||
      std::uint64_t{block.x} * block.y * block.z > 1024) {
    return cudaErrorInvalidConfiguration;
  }
  if (config->dynamicSmemBytes >
      static_cast<std::size_t>(emulation::allowed_shared_bytes(reinterpret_cast<const void*>(kernel)))) {
    return cudaErrorInvalidValue;
  }
  const std::tuple<std::remove_cv_t<Params>...> copy(args...);
  const emulation::settings& now = emulation::current_settings();
  emulation::launch_shape shape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, config->dynamicSmemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) {
      shape.together = attribute.val.cooperative != 0;
    } else if (attribute.id == cudaLaunchAttributeClusterDimension) {
      shape.cluster = attribute.val.clusterDim.x;
      // Of more than eight not every GPU has room.
      if (shape.cluster == 0 || shape.cluster > 8 || attribute.val.clusterDim.y != 1 ||
          attribute.val.clusterDim.z != 1 || grid.x % shape.cluster != 0) {
        return cudaErrorInvalidClusterSize;
      }
    } else {
      shape.begins_early = attribute.val.programmaticStreamSerializationAllowed != 0;
    }
  }
  if (!shape.together) {  // together, as many as can be
    shape.grid.x = max(min(grid.x, now.largest_grid) / shape.cluster * shape.cluster, shape.cluster);
  }
  if (shape.together && !now.can_launch_together) return cudaErrorInvalidValue;
  if (shape.together && std::uint64_t{shape.grid.x} * grid.y * grid.z > now.largest_together) {
    return cudaErrorCooperativeLaunchTooLarge;
  }
  const bool good = emulation::run_grid(shape, [&] { std::apply(kernel, copy); });
  return good ? cudaSuccess : cudaErrorLaunchFailure;
}
