#include "bcsc/context.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "bcsc/error.hpp"
#include "bcsc/tuning_cache.hpp"
#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "core/gpu.hpp"
#include "core/thread_limit.hpp"
#include "test/support/thread_counts.hpp"

#if BCSC_WITH_CUDA
#include <driver_types.h>
#endif

namespace bcsc {
namespace {

core::gpu::platform healthy() { return {true, 13000, 13000, {80, 90}}; }

device_info gpu_of(int major, int minor) {
  device_info d;
  d.name = "made-up GPU";
  d.compute_major = major;
  d.compute_minor = minor;
  return d;
}

struct verdict {
  const char* name;
  core::gpu::platform machine;
  device_info device;
  errc code;
  const char* says;
};

class assess : public ::testing::TestWithParam<verdict> {};

TEST_P(assess, gives_the_verdict) {
  device_info d = GetParam().device;
  EXPECT_EQ(core::gpu::assess(GetParam().machine, d), GetParam().code);
  EXPECT_EQ(d.usable, GetParam().code == errc::ok);
  EXPECT_NE(d.why_not.find(GetParam().says), std::string::npos) << d.why_not;
}

core::gpu::platform with(int driver, int runtime, std::vector<int> archs, bool built = true) {
  return {built, driver, runtime, std::move(archs)};
}

INSTANTIATE_TEST_SUITE_P(
    made_up, assess,
    ::testing::Values(
        verdict{"exact_match", healthy(), gpu_of(9, 0), errc::ok, ""},
        verdict{"same_major_later_minor", healthy(), gpu_of(8, 9), errc::ok, ""},
        verdict{"later_by_ptx", healthy(), gpu_of(12, 0), errc::ok, ""},
        verdict{"too_old", healthy(), gpu_of(7, 5), errc::device_too_old, "7.5"},
        verdict{"older_than_the_only_one", with(13000, 13000, {90}), gpu_of(8, 6), errc::device_too_old, "sm_90"},
        verdict{"minor_below_machine_code", with(13000, 13000, {86, 90}), gpu_of(8, 0), errc::device_too_old, "8.0"},
        verdict{"driver_of_an_older_major", with(12080, 13000, {90}), gpu_of(9, 0), errc::driver_too_old, "12.8"},
        verdict{"driver_of_an_older_minor", with(13000, 13020, {90}), gpu_of(9, 0), errc::ok, ""},
        verdict{"newer_driver", with(14010, 13000, {90}), gpu_of(9, 0), errc::ok, ""},
        verdict{"no_driver", with(0, 13000, {90}), gpu_of(9, 0), errc::no_device, "driver"},
        verdict{"no_cuda_in_the_build", with(13000, 0, {}, false), gpu_of(9, 0), errc::no_device, "no CUDA"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(context, absence_is_explained) {
  std::string why;
  EXPECT_EQ(core::gpu::assess_absence(healthy(), why), errc::no_device);
  EXPECT_NE(why.find("no GPU is visible"), std::string::npos);
  EXPECT_EQ(core::gpu::assess_absence(with(11080, 13000, {90}), why), errc::driver_too_old);
  EXPECT_NE(why.find("11.8"), std::string::npos);
}

TEST(context, cuda_is_the_gpu_or_a_clear_error) {
  bool usable = false;
  for (const device_info& d : devices()) usable = usable || d.usable;
  if (usable) {
    EXPECT_EQ(context::cuda().kind(), backend::cuda);
    return;
  }
  try {
    context::cuda();
    FAIL() << "context::cuda() succeeded";
  } catch (const error& e) {
    EXPECT_TRUE(e.code() == errc::no_device || e.code() == errc::driver_too_old || e.code() == errc::device_too_old);
    EXPECT_GT(std::string(e.what()).size(), 20u);
  }
  EXPECT_EQ(context::best().kind(), backend::cpu);
}

TEST(context, best_is_the_gpu_where_there_is_one) {
  bool usable = false;
  for (const device_info& d : devices()) usable = usable || d.usable;
  if (!usable) GTEST_SKIP() << "needs a GPU";
  EXPECT_EQ(context::best().kind(), backend::cuda);
  EXPECT_GT(context::best().device().num_multiprocessors, 0);
}

TEST(context, a_device_that_is_not_there_is_an_error) {
  for (int device : {-1, 1000}) {
    EXPECT_THROW(context::cuda(device), error) << device;
  }
}

TEST(context, cpu_threads_are_as_asked) {
  for (const workers whose : {workers::openmp, workers::own}) {
    EXPECT_GE(context::cpu(0, whose).threads(), 1);
    for (const int threads : test::thread_counts) EXPECT_EQ(context::cpu(threads, whose).threads(), threads);
    for (const int threads : {-3, 100000000, std::numeric_limits<int>::max()}) {
      try {
        context::cpu(threads, whose);
        FAIL();
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::invalid_argument);
        EXPECT_NE(std::string(e.what()).find(std::to_string(threads)), std::string::npos);
        EXPECT_NE(std::string(e.what()).find("to " + std::to_string(core::most_threads())), std::string::npos);
      }
    }
  }
}

TEST(context, takes_no_more_threads_of_openmp_than_may_be_asked_for) {
  const test::with_threads many(core::most_threads() + 1);
  EXPECT_EQ(context::cpu().threads(), BCSC_WITH_OPENMP ? core::most_threads() : 1);
}

TEST(context, describes_itself) {
  EXPECT_EQ(context::cpu(1).describe().substr(0, 14), "cpu: 1 thread,");
  EXPECT_EQ(context::cpu(1, workers::own).describe().substr(0, 14), "cpu: 1 thread,");  // the caller's
  EXPECT_EQ(context::cpu(3).describe().substr(0, 15), "cpu: 3 threads,");
  EXPECT_EQ(context::cpu(3, workers::own).describe().substr(0, 26), "cpu: 3 threads of its own,");
}

TEST(context, costs_of_a_machine_hold_for_all_its_threads) {
  EXPECT_EQ(machine_name(context::cpu(3)), machine_name(context::cpu(3, workers::own)));
  EXPECT_NE(machine_name(context::cpu(3)), machine_name(context::cpu(2)));
}

TEST(context, a_sticky_error_poisons_the_context_for_good) {
  const context ctx = context::cpu(1);
  const auto sticky = [] { throw error(errc::context_poisoned, "an illegal address"); };
  const auto passing = [] { throw error(errc::cuda_error, "something that passes"); };
  EXPECT_THROW(core::guarded(ctx.state(), "a test", passing), error);
  EXPECT_NO_THROW(core::require_healthy(ctx.state()));
  EXPECT_THROW(core::guarded(ctx.state(), "a test", sticky), error);
  try {
    core::require_healthy(ctx.state());
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::context_poisoned);
  }
}

/// The values of cudaError_t (CUDA 13) that mean a refused call and nothing worse, one by one.
const std::set<int> harmless_errors{
    0,   1,   2,   5,   6,   7,   8,   9,   12,  13,  16,  17,  18,  19,  20,  21,  22,  26,  27,  31,  32,  34,  35,
    36,  37,  43,  44,  45,  46,  52,  98,  100, 101, 200, 205, 206, 207, 208, 209, 210, 211, 212, 213, 215, 216, 217,
    218, 219, 221, 222, 223, 224, 225, 300, 301, 302, 303, 400, 401, 402, 500, 600, 701, 703, 704, 705, 708, 711, 712,
    713, 720, 800, 801, 802, 803, 804, 811, 812, 900, 901, 902, 903, 904, 905, 906, 907, 908, 910, 912, 913, 914, 915};

TEST(context, every_cuda_error_that_is_not_known_to_pass_is_sticky) {
  for (int status = -1; status <= 1100; ++status) {
    EXPECT_EQ(core::gpu::is_sticky(status), !harmless_errors.contains(status)) << status;
  }
  for (const int status : {10000, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    EXPECT_TRUE(core::gpu::is_sticky(status)) << status;
  }
}

#if BCSC_WITH_CUDA
TEST(context, cuda_errors_have_the_numbers_that_they_are_known_by) {
  for (const cudaError_t passing : {cudaSuccess,
                                    cudaErrorInvalidValue,
                                    cudaErrorMemoryAllocation,
                                    cudaErrorInvalidConfiguration,
                                    cudaErrorInsufficientDriver,
                                    cudaErrorInvalidDeviceFunction,
                                    cudaErrorNoDevice,
                                    cudaErrorInvalidDevice,
                                    cudaErrorInvalidKernelImage,
                                    cudaErrorNoKernelImageForDevice,
                                    cudaErrorPeerAccessUnsupported,
                                    cudaErrorInvalidPtx,
                                    cudaErrorUnsupportedPtxVersion,
                                    cudaErrorInvalidResourceHandle,
                                    cudaErrorIllegalState,
                                    cudaErrorSymbolNotFound,
                                    cudaErrorNotReady,
                                    cudaErrorLaunchOutOfResources,
                                    cudaErrorPeerAccessAlreadyEnabled,
                                    cudaErrorPeerAccessNotEnabled,
                                    cudaErrorHostMemoryAlreadyRegistered,
                                    cudaErrorHostMemoryNotRegistered,
                                    cudaErrorCooperativeLaunchTooLarge,
                                    cudaErrorNotPermitted,
                                    cudaErrorNotSupported,
                                    cudaErrorStreamCaptureUnsupported,
                                    cudaErrorStreamCaptureInvalidated,
                                    cudaErrorStreamCaptureMerge,
                                    cudaErrorStreamCaptureUnmatched,
                                    cudaErrorStreamCaptureUnjoined,
                                    cudaErrorStreamCaptureIsolation,
                                    cudaErrorStreamCaptureImplicit,
                                    cudaErrorCapturedEvent,
                                    cudaErrorStreamCaptureWrongThread,
                                    cudaErrorGraphExecUpdateFailure,
                                    cudaErrorInvalidClusterSize}) {
    EXPECT_FALSE(core::gpu::is_sticky(passing)) << passing;
  }
  for (const cudaError_t lasting :
       {cudaErrorInitializationError, cudaErrorCudartUnloading, cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable,
        cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorContextIsDestroyed, cudaErrorAssert,
        cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,
        cudaErrorInvalidAddressSpace, cudaErrorInvalidPc, cudaErrorLaunchFailure, cudaErrorMpsClientTerminated,
        cudaErrorExternalDevice, cudaErrorUnknown}) {
    EXPECT_TRUE(core::gpu::is_sticky(lasting)) << lasting;
  }
}
#endif

TEST(context, an_error_without_a_name_poisons_the_context) {
  const context ctx = context::cpu(1);
  EXPECT_THROW(core::check_launch(ctx.state(), 1, "a test"), error);  // invalid value
  EXPECT_NO_THROW(core::require_healthy(ctx.state()));
  EXPECT_THROW(core::check_launch(ctx.state(), 1042, "a test"), error);
  EXPECT_THROW(core::require_healthy(ctx.state()), error);
}

TEST(context, want_of_host_memory_is_a_typed_error) {
  const context ctx = context::cpu(1);
  try {
    core::guarded(ctx.state(), "a test", [] { throw std::bad_alloc(); });
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::out_of_memory);
    EXPECT_NE(std::string(e.what()).find("a test"), std::string::npos);
  }
  EXPECT_EQ(core::guarded(ctx.state(), "a test", [] { return 7; }), 7);
}

TEST(errors, every_code_has_a_name) {
  for (int code : {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 20, 21, 22,
                   23, 24, 25, 26, 27, 28, 29, 30, 40, 41, 42, 43, 44, 45, 60, 99}) {
    EXPECT_NE(to_string(static_cast<errc>(code)), "unknown") << code;
  }
}

}  // namespace
}  // namespace bcsc
