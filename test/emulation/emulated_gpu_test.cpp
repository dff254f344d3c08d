// The emulated GPU itself: it gives right kernels their results in every order, and finds what is wrong with others.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/dynamic_shared.cuh"
#include "core/launch.cuh"
#include "core/posted.cuh"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/mma_instructions.cuh"
#include "kernels/cuda/pack.cu"
#include "kernels/cuda/stage_barrier.cuh"
#include "test/support/oracle.hpp"

namespace bcsc::test {
namespace {

using core::dynamic_shared;
using core::start;
using emulation::run_order;

constexpr run_order every_order[] = {run_order::forward, run_order::backward, run_order::random};
constexpr unsigned whole_warp = 0xffffffffu;

/// Runs `run` once with each order. Without the watch, what is wrong has to show in the results.
template <class Run>
void in_every_order(const Run& run, bool watch = true) {
  for (const run_order order : every_order) {
    emulation::current_settings() = {.order = order, .seed = 5, .watch_memory = watch};
    SCOPED_TRACE("order " + std::to_string(static_cast<int>(order)));
    run();
  }
  emulation::current_settings() = {};
}

/// Whether `run` says that all is well, in every order, by its results alone.
template <class Run>
bool well_in_every_order(const Run& run) {
  bool well = true;
  in_every_order([&] { well = well && run(); }, false);
  return well;
}

/// Expects every order to end with a report that holds `words`.
template <class Run>
void expect_report(const std::string& words, const Run& run, bool watch = true) {
  in_every_order(
      [&] {
        EXPECT_EQ(run(), cudaErrorLaunchFailure);
        EXPECT_NE(emulation::report().find(words), std::string::npos) << emulation::report();
      },
      watch);
}

// --- Barriers, shared memory, the order of threads ------------------------------------------------------------------

template <bool Barrier>
__global__ void reverse_kernel(float* out) {
  float* all = dynamic_shared<float>();
  all[threadIdx.x] = static_cast<float>(threadIdx.x);
  if constexpr (Barrier) __syncthreads();
  out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

template <bool Barrier>
bool reverses() {
  std::vector<float> out(100);
  EXPECT_EQ(start(&reverse_kernel<Barrier>, 1, 100, 400, nullptr, out.data()), cudaSuccess) << emulation::report();
  for (int i = 0; i < 100; ++i) {
    if (out[static_cast<std::size_t>(i)] != static_cast<float>(99 - i)) return false;
  }
  return true;
}

TEST(emulated_gpu, finds_a_missing_barrier) {
  EXPECT_TRUE(well_in_every_order(reverses<true>));
  EXPECT_FALSE(well_in_every_order(reverses<false>));
}

/// Each thread reads its lower neighbour's element: forward, the neighbour has always written it.
template <bool Barrier>
__global__ void neighbour_kernel(float* out) {
  float* all = dynamic_shared<float>();
  all[threadIdx.x] = 1;
  if constexpr (Barrier) __syncwarp();
  out[threadIdx.x] = threadIdx.x > 0 ? all[threadIdx.x - 1] : 1;
}

template <bool Barrier>
bool reads_its_neighbour() {
  std::vector<float> out(32);
  EXPECT_EQ(start(&neighbour_kernel<Barrier>, 1, 32, 128, nullptr, out.data()), cudaSuccess) << emulation::report();
  return std::accumulate(out.begin(), out.end(), 0.0f) == 32;
}

TEST(emulated_gpu, finds_a_missing_barrier_of_a_warp_that_only_one_order_shows) {
  EXPECT_TRUE(well_in_every_order(reads_its_neighbour<true>));
  emulation::current_settings() = {.order = run_order::forward, .watch_memory = false};
  EXPECT_TRUE(reads_its_neighbour<false>());
  EXPECT_FALSE(well_in_every_order(reads_its_neighbour<false>));
}

__global__ void place_kernel(std::uint64_t* seen) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  ++seen[std::size_t{block} * (blockDim.x * blockDim.y * blockDim.z) + thread];
}

/// Warp 0 fills a stage that warp 1 reads, again and again.
template <bool Filled, bool Left>
__global__ void pass_on(int* to, int rounds) {
  int* const stage = dynamic_shared<int>();
  auto* const filled = reinterpret_cast<kernels::cuda::stage_barrier*>(stage + 32);
  auto* const left = filled + 1;
  if (threadIdx.x == 0) {
    filled->begin(1);
    left->begin(1);
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x % 32);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < 32) {
      if (Left) left->wait(round - 1);
      stage[lane] = round + lane;
      filled->arrive();
    } else {
      if (Filled) filled->wait(round);
      sum += stage[31 - lane];
      left->arrive();
    }
  }
  if (threadIdx.x >= 32) to[lane] = sum;
}

TEST(emulated_gpu, hands_on_by_barriers_in_shared_memory_what_was_written) {
  constexpr int rounds = 7;
  std::vector<int> sums(32);
  const auto run = [&](auto* kernel) {
    std::ranges::fill(sums, -1);
    return start(kernel, 1, 64, 256, nullptr, sums.data(), rounds);
  };
  const auto is_well = [&](auto* kernel) {
    bool well = run(kernel) == 0;
    for (int lane = 0; lane < 32; ++lane) {
      well &= sums[static_cast<std::size_t>(lane)] == rounds * (31 - lane) + rounds * (rounds - 1) / 2;
    }
    return well;
  };
  in_every_order([&] { EXPECT_TRUE(is_well(&pass_on<true, true>)) << emulation::report(); });
  EXPECT_FALSE(well_in_every_order([&] { return is_well(&pass_on<false, true>); }));
  EXPECT_FALSE(well_in_every_order([&] { return is_well(&pass_on<true, false>); }));
  // A race, or one of them laps the other and nobody can go on.
  expect_report("block (0, 0, 0)", [&] { return run(&pass_on<false, true>); });
}

__global__ void wait_for_nobody(bool begins) {
  auto* const barrier = dynamic_shared<kernels::cuda::stage_barrier>();
  if (begins && threadIdx.x == 0) barrier->begin(2);
  __syncthreads();
  barrier->arrive();
  barrier->wait(0);
}

TEST(emulated_gpu, finds_barriers_in_shared_memory_that_never_end_or_begin) {
  expect_report("deadlock: ", [] { return start(&wait_for_nobody, 1, 32, 64, nullptr, true); });
  expect_report("a barrier that has not begun", [] { return start(&wait_for_nobody, 1, 32, 64, nullptr, false); });
}

/// Warp 0 has 16 values at a time copied in bulk, for warp 1 to add up.
template <bool Expected, bool Left, bool Apart>
__global__ void pass_on_in_bulk(const int* from, int* to, int rounds) {
  int* const stage = dynamic_shared<int>();
  auto* const filled = reinterpret_cast<kernels::cuda::stage_barrier*>(stage + 32);
  auto* const left = filled + 1;
  if (threadIdx.x == 0) {
    filled->begin(1);
    left->begin(1);
    kernels::cuda::show_to_bulk_copies();
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x % 32);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < 32) {
      if (Left) left->wait(round - 1);
      kernels::cuda::arrive_expecting(*filled, Expected ? 128 : 192);
      __syncwarp();
      for (int half = 0; half < 2 && lane == 0; ++half) {
        kernels::cuda::copy_bulk(stage + (Apart ? 16 * half : 0), from + 32 * round + 16 * half, 64, *filled);
      }
    } else {
      filled->wait(round);
      sum += stage[lane];
      left->arrive();
    }
  }
  if (threadIdx.x >= 32) to[lane] = sum;
}

TEST(emulated_gpu, copies_in_bulk_for_the_phase_that_expects_it) {
  constexpr int rounds = 5;
  std::vector<int> from(32 * rounds), sums(32);
  std::iota(from.begin(), from.end(), 1);
  const auto run = [&](auto* kernel) {
    std::ranges::fill(sums, -1);
    return start(kernel, 1, 64, 256, nullptr, from.data(), sums.data(), rounds);
  };
  in_every_order([&] {
    EXPECT_EQ(run(&pass_on_in_bulk<true, true, true>), 0) << emulation::report();
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(sums[static_cast<std::size_t>(lane)], rounds * (lane + 1) + 32 * rounds * (rounds - 1) / 2) << lane;
    }
  });
  expect_report("deadlock: ", [&] { return run(&pass_on_in_bulk<false, true, true>); });
  expect_report("where another one is under way", [&] { return run(&pass_on_in_bulk<true, true, false>); });
  EXPECT_FALSE(well_in_every_order([&] { return run(&pass_on_in_bulk<true, false, true>) == 0; })) << "overwritten";
}

/// Where nobody waits for the copy.
__global__ void copy_for_nobody(const int* from, unsigned bytes) {
  int* const to = dynamic_shared<int>();
  auto* const barrier = reinterpret_cast<kernels::cuda::stage_barrier*>(to + 32);
  if (threadIdx.x == 0) barrier->begin(2);
  __syncthreads();
  kernels::cuda::arrive_expecting(*barrier, bytes);
  if (threadIdx.x == 0) kernels::cuda::copy_bulk(to, from, bytes, *barrier);
}

TEST(emulated_gpu, copies_in_bulk_multiples_of_16_bytes_that_are_waited_for) {
  alignas(16) const int from[32] = {};
  const auto copy = [&](const int* first, unsigned bytes) {
    return start(&copy_for_nobody, 1, 32, 256, nullptr, first, bytes);
  };
  expect_report("before a bulk copy has been waited for", [&] { return copy(from, 16); });
  expect_report("no multiple of 16", [&] { return copy(from, 8); });
  expect_report("no multiple of 16", [&] { return copy(from, 0); });
  expect_report("not aligned", [&] { return copy(from + 1, 16); });
}

__global__ void reduce(int* to) {
  const int lane = static_cast<int>(threadIdx.x), value = (lane * 7 + 3) % 32 - 16;
  to[3 * lane] = __reduce_min_sync(0xffffffffu, value);
  to[3 * lane + 1] = __reduce_max_sync(0xffffffffu, value);
  to[3 * lane + 2] = __reduce_add_sync(0xffffffffu, value);
}

TEST(emulated_gpu, reduces_over_a_warp) {
  std::vector<int> to(96);
  ASSERT_EQ(start(&reduce, 1, 32, 0, nullptr, to.data()), 0) << emulation::report();
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(to[3 * lane], -16);
    EXPECT_EQ(to[3 * lane + 1], 15);
    EXPECT_EQ(to[3 * lane + 2], -16);
  }
}

TEST(emulated_gpu, runs_every_thread_of_every_block_once) {
  in_every_order([] {
    std::vector<std::uint64_t> seen(2 * 3 * 4 * 5 * 6 * 2, 0);
    ASSERT_EQ(start(&place_kernel, dim3(2, 3, 4), dim3(5, 6, 2), 0, nullptr, seen.data()), cudaSuccess);
    for (const std::uint64_t times : seen) EXPECT_EQ(times, 1U);
  });
}

/// 1000 atomic additions, and blocks that add up what their threads left in a static array.
__global__ void sum_kernel(double* total, std::int64_t tiles) {
  __shared__ double left[40];
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    left[threadIdx.x] = static_cast<double>(tile);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (const double x : left) atomicAdd(total, x);
    }
    __syncthreads();
  }
}

TEST(emulated_gpu, cuts_grids_so_that_blocks_stride) {
  for (const unsigned grid : {1u, 3u, 100u}) {
    double total = 0;
    emulation::current_settings() = {.largest_grid = grid};
    ASSERT_EQ(start(&sum_kernel, 25, 40, 0, nullptr, &total, std::int64_t{25}), cudaSuccess) << emulation::report();
    EXPECT_EQ(total, 40 * 300);
  }
  emulation::current_settings() = {};
}

/// All threads add to the same neighbours at once.
__global__ void add_neighbours_kernel(float4* four, float2* two) {
  atomicAdd(four, make_float4(1, 2, 3, static_cast<float>(threadIdx.x)));
  atomicAdd(two, make_float2(1, -1));
}

TEST(emulated_gpu, adds_neighbours_at_once) {
  in_every_order([] {
    float4 four{1, 0, 0, 0};
    float2 two{0, 0};
    ASSERT_EQ(start(&add_neighbours_kernel, 3, 40, 0, nullptr, &four, &two), cudaSuccess) << emulation::report();
    EXPECT_EQ(four.x, 121);
    EXPECT_EQ(four.y, 240);
    EXPECT_EQ(four.z, 360);
    EXPECT_EQ(four.w, 3 * 780);
    EXPECT_EQ(two.x, 120);
    EXPECT_EQ(two.y, -120);
  });
}

__global__ void shared_kernel(int at, bool write, float* out) {
  float* all = dynamic_shared<float>();
  if (threadIdx.x == 7) {
    if (write) {
      all[at] = 1;
    } else {
      *out = all[at];
    }
  }
}

TEST(emulated_gpu, gives_shared_memory_that_is_not_zero) {
  float out = 0;
  ASSERT_EQ(start(&shared_kernel, 1, 8, 64, nullptr, 3, false, &out), cudaSuccess);
  EXPECT_TRUE(std::isnan(out));
}

TEST(emulated_gpu, finds_writes_outside_shared_memory) {
  const auto write = [](int at) {
    return [at] { return start(&shared_kernel, 2, 8, 64, nullptr, at, true, nullptr); };
  };
  in_every_order([&] { EXPECT_EQ(write(15)(), cudaSuccess) << emulation::report(); });
  expect_report("behind its 64 bytes of shared memory", write(16), false);
  expect_report("before its 64 bytes of shared memory", write(-1), false);
}

TEST(emulated_gpu, refuses_what_no_gpu_launches) {
  float out = 0;
  EXPECT_EQ(start(&shared_kernel, 0, 8, 64, nullptr, 0, true, &out), cudaErrorInvalidConfiguration);
  EXPECT_EQ(start(&shared_kernel, 1, 1025, 64, nullptr, 0, true, &out), cudaErrorInvalidConfiguration);
  EXPECT_EQ(start(&shared_kernel, 1, 8, 228 * 1024, nullptr, 0, true, &out), cudaErrorInvalidValue);
  EXPECT_EQ(start(&shared_kernel, 1, 8, 227 * 1024, nullptr, 0, true, &out), cudaSuccess);
  cudaLaunchConfig_t config{dim3(1), dim3(8), 49 * 1024, nullptr};
  EXPECT_EQ(cudaLaunchKernelEx(&config, &place_kernel, nullptr), cudaErrorInvalidValue);  // nobody asked for more
}

// --- The watch over shared memory -----------------------------------------------------------------------------------

/// The neighbour's element in the ways two threads can meet in it.
enum class meeting { read_write, write_write, add_without_lock, add, atomic_and_read, barrier_of_another_half, halves };

template <meeting How>
__global__ void meeting_kernel() {
  float* all = dynamic_shared<float>();
  const unsigned lane = threadIdx.x % 32, next = threadIdx.x + 1 < blockDim.x ? threadIdx.x + 1 : 0;
  all[threadIdx.x] = 0;
  __syncthreads();
  if constexpr (How == meeting::read_write) {
    if (threadIdx.x == 40) all[3] = 1;
    if (threadIdx.x == 3) all[4] = all[3];
  } else if constexpr (How == meeting::write_write) {
    if (threadIdx.x == 40 || threadIdx.x == 3) all[3] = 1;
  } else if constexpr (How == meeting::add_without_lock) {
    all[threadIdx.x % 5] += 1;
  } else if constexpr (How == meeting::add) {
    atomicAdd(all + threadIdx.x % 5, 1.0f);
  } else if constexpr (How == meeting::atomic_and_read) {
    atomicAdd(all + next, all[threadIdx.x]);
  } else if constexpr (How == meeting::barrier_of_another_half) {
    all[threadIdx.x] = 1;
    if (lane < 16) __syncwarp(0xffffu);
    if (lane == 3) all[threadIdx.x + 16] = 2;
  } else {
    all[threadIdx.x] = 1;
    __syncwarp(lane < 16 ? 0xffffu : 0xffff0000u);
    if (lane == 3) all[threadIdx.x + 9] = 2;
    __syncwarp();
    if (lane == 20) all[threadIdx.x - 20 + 3] = 3;
    __syncthreads();
    all[next] = 4;
    auto* bytes = reinterpret_cast<unsigned char*>(all + 64);
    bytes[threadIdx.x] = 1;  // neighbours in one word
  }
}

TEST(emulated_gpu, finds_races_in_whatever_order_threads_run) {
  if (!BCSC_ACCESSES_ARE_KNOWN) GTEST_SKIP() << "another sanitizer has the compiler's hooks";
  const auto run = [](auto kernel) { return [kernel] { return start(kernel, 2, 64, 64 * 4 + 64, nullptr); }; };
  for (const auto kernel : {&meeting_kernel<meeting::read_write>, &meeting_kernel<meeting::write_write>,
                            &meeting_kernel<meeting::add_without_lock>, &meeting_kernel<meeting::atomic_and_read>,
                            &meeting_kernel<meeting::barrier_of_another_half>}) {
    expect_report("race: ", run(kernel));
  }
  in_every_order([&] {
    EXPECT_EQ(run(&meeting_kernel<meeting::add>)(), cudaSuccess) << emulation::report();
    EXPECT_EQ(run(&meeting_kernel<meeting::halves>)(), cudaSuccess) << emulation::report();
  });
}

/// Every thread of every block writes the element at its number modulo `modulus`.
template <bool Atomic>
__global__ void write_kernel(float* out, unsigned modulus) {
  float* at = out + (blockIdx.x * blockDim.x + threadIdx.x) % modulus;
  if constexpr (Atomic) {
    atomicAdd(at, 1.0f);
  } else {
    *at = 1;
  }
}

/// All threads write the same element, in turn.
__global__ void turns_kernel(float* out) {
  for (unsigned turn = 0; turn < blockDim.x; ++turn) {
    if (turn == threadIdx.x) *out = static_cast<float>(turn);
    __syncthreads();
  }
}

TEST(emulated_gpu, finds_global_memory_that_two_threads_write) {
  if (!BCSC_ACCESSES_ARE_KNOWN) GTEST_SKIP() << "another sanitizer has the compiler's hooks";
  std::vector<float> out(128);
  for (const unsigned modulus : {64u, 127u}) {
    expect_report("bytes of global memory",
                  [&] { return start(&write_kernel<false>, 4, 32, 0, nullptr, out.data(), modulus); });
  }
  in_every_order([&] {
    EXPECT_EQ(start(&write_kernel<false>, 4, 32, 0, nullptr, out.data(), 128u), cudaSuccess) << emulation::report();
    EXPECT_EQ(start(&write_kernel<true>, 4, 32, 0, nullptr, out.data(), 7u), cudaSuccess) << emulation::report();
    EXPECT_EQ(start(&turns_kernel, 1, 40, 0, nullptr, out.data()), cudaSuccess) << emulation::report();
  });
}

__global__ void copy_kernel(const float* from, float* to, unsigned count) {
  if (threadIdx.x < count) to[threadIdx.x] = __ldg(from + threadIdx.x);
}

TEST(emulated_gpu, finds_global_memory_that_is_not_there) {
  if (!BCSC_ACCESSES_ARE_KNOWN) GTEST_SKIP() << "another sanitizer has the compiler's hooks";
  const std::vector<float> from(100);
  std::vector<float> to(100);
  const auto run = [&](std::size_t readable, std::size_t writable, bool for_writing = true) {
    emulation::current_settings() = {
        .global_memory = {{to.data(), writable * sizeof(float), for_writing}, {from.data(), readable * sizeof(float)}}};
    const int status = start(&copy_kernel, 1, 64, 0, nullptr, from.data(), to.data(), 50u);
    emulation::current_settings() = {};
    return status;
  };
  EXPECT_EQ(run(50, 50), cudaSuccess) << emulation::report();
  EXPECT_EQ(run(49, 50), cudaErrorLaunchFailure);
  EXPECT_NE(emulation::report().find("thread (49, 0, 0) reads 4 bytes of global memory that is not there"),
            std::string::npos)
      << emulation::report();
  EXPECT_EQ(run(50, 49), cudaErrorLaunchFailure);
  EXPECT_NE(emulation::report().find("thread (49, 0, 0) writes 4 bytes"), std::string::npos) << emulation::report();
  EXPECT_EQ(run(50, 50, false), cudaErrorLaunchFailure);
  EXPECT_NE(emulation::report().find("for writing"), std::string::npos) << emulation::report();
}

TEST(emulated_gpu, finds_reads_outside_shared_memory) {
  if (!BCSC_ACCESSES_ARE_KNOWN) GTEST_SKIP() << "another sanitizer has the compiler's hooks";
  float out = 0;
  for (const int at : {16, -1}) {
    for (const bool write : {false, true}) {
      expect_report("outside shared memory: a",
                    [&] { return start(&shared_kernel, 1, 8, 64, nullptr, at, write, &out); });
    }
  }
}

// --- While the kernel before ends -----------------------------------------------------------------------------------

using core::begins;
using core::wait_for_previous;

/// What a toy kernel does with A, which is settled, and with B and C, which the kernel before may have written.
enum class early {
  nothing,
  read_of_a,
  lasting_read_of_a,
  copy_of_a,
  read_of_b,
  read_of_b_by_some,
  copy_of_b,
  lasting_read_of_b,
  lasting_read_of_b_after_the_wait,
  write_of_c,
  no_wait,
};

template <early How>
__global__ void early_kernel(const float* a, const float* b, float* c) {
  using namespace kernels::cuda;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float* const copied = dynamic_shared<float>() + threadIdx.x;
  float factor = 1, from_b = 0;
  if constexpr (How == early::read_of_a) factor = a[i];
  if constexpr (How == early::lasting_read_of_a) factor = __ldg(a + i);
  if constexpr (How == early::copy_of_a) copy_async<4>(copied, a + i, 4);
  if constexpr (How == early::read_of_b) from_b = b[i];
  if constexpr (How == early::read_of_b_by_some) {
    if (i == 37) from_b = b[i];
  }
  if constexpr (How == early::copy_of_b) copy_async<4>(copied, b + i, 4);
  if constexpr (How == early::lasting_read_of_b) from_b = __ldg(b + i);
  if constexpr (How == early::write_of_c) c[i] = 0;
  if constexpr (How == early::no_wait) return;
  wait_for_previous();
  if constexpr (How == early::copy_of_a) {
    wait_for_copies();
    factor = *copied;
  }
  if constexpr (How == early::copy_of_b) wait_for_copies();
  if constexpr (How == early::lasting_read_of_b_after_the_wait) {
    from_b = __ldg(b + i);
  } else if (from_b == 0) {
    from_b = b[i];
  }
  c[i] = factor * from_b;
}

template <early How>
int run_early(begins when) {
  const std::vector<float> a(64, 2), b(64, 3);
  std::vector<float> c(64);
  emulation::current_settings().global_memory = {{a.data(), 64 * sizeof(float), false, true},
                                                 {b.data(), 64 * sizeof(float)},
                                                 {c.data(), 64 * sizeof(float), true}};
  return start(when, &early_kernel<How>, 2, 32, 128, nullptr, a.data(), b.data(), c.data());
}

TEST(emulated_gpu, finds_what_is_touched_before_the_kernel_before_has_ended) {
  if (!BCSC_ACCESSES_ARE_KNOWN) GTEST_SKIP() << "another sanitizer has the compiler's hooks";
  const auto early_in = [](auto kernel) { return [kernel] { return kernel(begins::while_previous_ends); }; };
  for (const auto kernel :
       {&run_early<early::read_of_b>, &run_early<early::read_of_b_by_some>, &run_early<early::copy_of_b>}) {
    expect_report("reads 4 bytes of global memory before it has waited", early_in(kernel));
  }
  expect_report("thread (5, 0, 0) reads", early_in(&run_early<early::read_of_b_by_some>));
  expect_report("writes 4 bytes of global memory before it has waited", early_in(&run_early<early::write_of_c>));
  in_every_order([&] {
    for (const auto kernel : {&run_early<early::nothing>, &run_early<early::read_of_a>,
                              &run_early<early::lasting_read_of_a>, &run_early<early::copy_of_a>}) {
      EXPECT_EQ(kernel(begins::while_previous_ends), cudaSuccess) << emulation::report();
    }
    // A kernel that begins only when all before it has ended may do all of this.
    for (const auto kernel : {&run_early<early::read_of_b>, &run_early<early::copy_of_b>,
                              &run_early<early::lasting_read_of_b>, &run_early<early::lasting_read_of_b_after_the_wait>,
                              &run_early<early::write_of_c>, &run_early<early::no_wait>}) {
      EXPECT_EQ(kernel(begins::after_previous), cudaSuccess) << emulation::report();
    }
  });
}

TEST(emulated_gpu, finds_loads_by_the_non_coherent_path_of_what_may_still_be_written) {
  if (!BCSC_ACCESSES_ARE_KNOWN) GTEST_SKIP() << "another sanitizer has the compiler's hooks";
  for (const auto kernel :
       {&run_early<early::lasting_read_of_b>, &run_early<early::lasting_read_of_b_after_the_wait>}) {
    expect_report("loads by the non-coherent path", [kernel] { return kernel(begins::while_previous_ends); });
  }
}

TEST(emulated_gpu, finds_kernels_that_begin_early_and_never_wait) {
  expect_report("never waits for it", [] { return run_early<early::no_wait>(begins::while_previous_ends); });
}

// --- Rules ----------------------------------------------------------------------------------------------------------

__global__ void deadlock_kernel() {
  if (threadIdx.x < 16) {
    (void)__shfl_sync(whole_warp, 1, 3);
  } else {
    __syncthreads();
  }
}

TEST(emulated_gpu, reports_a_deadlock_and_what_each_thread_waits_for) {
  const auto run = [] { return start(&deadlock_kernel, 2, 64, 0, nullptr); };
  expect_report("deadlock", run);
  expect_report("thread (0, 0, 0) and the 15 after it: waits in __shfl_sync(mask ffffffff) at emulated_gpu_test", run);
  expect_report("thread (16, 0, 0) and the 47 after it: waits in __syncthreads at emulated_gpu_test", run);
  in_every_order([] { EXPECT_TRUE(reverses<true>()); });  // and the GPU is as good as before
}

__global__ void two_barriers_kernel() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void two_operations_kernel() {
  if (threadIdx.x % 2 == 0) {
    (void)__any_sync(whole_warp, true);
  } else {
    (void)__all_sync(whole_warp, true);
  }
}

__global__ void two_widths_kernel() { (void)__shfl_sync(whole_warp, 1, 0, threadIdx.x < 5 ? 16 : 32); }
__global__ void not_in_mask_kernel() { __syncwarp(0xfffffffe); }
__global__ void shuffle_kernel(int from) {
  if (threadIdx.x < 8) (void)__shfl_sync(0xffu, 1, from);
}
__global__ void returned_kernel(int from) {
  if (threadIdx.x == 9) return;
  (void)__shfl_sync(whole_warp, 1, from);
}
__global__ void misaligned_kernel(const float* from) { (void)__ldg(reinterpret_cast<const float4*>(from + 1)); }
__global__ void misaligned_add_kernel(float* to) { atomicAdd(reinterpret_cast<float2*>(to + 1), make_float2(1, 2)); }
__global__ void misaligned_copy_kernel(const float* from) {
  kernels::cuda::copy_async<8>(dynamic_shared<float>() + 1, from, 8);
}
__global__ void mma_of_half_a_warp_kernel() {
  double c[2] = {};
  if (threadIdx.x < 16) return;
  kernels::cuda::mma_m8n8k4_f64(c, 1, 1);
}

TEST(emulated_gpu, reports_what_breaks_the_rules) {
  alignas(16) const float data[8] = {};
  alignas(16) float sums[8] = {};
  expect_report("different barriers", [] { return start(&two_barriers_kernel, 1, 64, 0, nullptr); });
  expect_report("disagree", [] { return start(&two_operations_kernel, 1, 32, 0, nullptr); });
  expect_report("disagree", [] { return start(&two_widths_kernel, 1, 32, 0, nullptr); });
  expect_report("does not name the calling lane", [] { return start(&not_in_mask_kernel, 1, 32, 0, nullptr); });
  expect_report("not in the mask", [] { return start(&shuffle_kernel, 1, 32, 0, nullptr, 8); });
  expect_report("has returned", [] { return start(&returned_kernel, 1, 32, 0, nullptr, 9); });
  expect_report("not aligned", [&] { return start(&misaligned_kernel, 1, 1, 0, nullptr, &data[0]); });
  expect_report("not aligned", [&] { return start(&misaligned_add_kernel, 1, 1, 0, nullptr, &sums[0]); });
  expect_report("not aligned", [&] { return start(&misaligned_copy_kernel, 1, 1, 64, nullptr, &data[0]); });
  expect_report("without all 32 lanes", [] { return start(&mma_of_half_a_warp_kernel, 1, 32, 0, nullptr); });
  in_every_order([] {
    EXPECT_EQ(start(&shuffle_kernel, 1, 32, 0, nullptr, 7), cudaSuccess) << emulation::report();
    EXPECT_EQ(start(&returned_kernel, 1, 32, 0, nullptr, 8), cudaSuccess) << emulation::report();
  });
}

// --- Warps ----------------------------------------------------------------------------------------------------------

constexpr int shuffles = 5;

/// All shuffles of one type within logical warps of `Width` lanes, which take their turns apart; out[lane][shuffle].
template <class T, int Width>
__global__ void shuffles_kernel(T* out) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned mask = Width == 32 ? whole_warp : ((1u << Width) - 1) << (lane / Width * Width);
  const T mine = static_cast<T>(100 + lane);
  for (unsigned turn = 0; turn <= lane / Width; ++turn) {  // each logical warp another number of times
    out[lane * shuffles + 0] = __shfl_sync(mask, mine, 3, Width);
    out[lane * shuffles + 1] = __shfl_up_sync(mask, mine, 2, Width);
    out[lane * shuffles + 2] = __shfl_down_sync(mask, mine, 2, Width);
    out[lane * shuffles + 3] = __shfl_xor_sync(mask, mine, Width / 2, Width);
    out[lane * shuffles + 4] = static_cast<T>(__ballot_sync(mask, lane % 3 == 0) % 1000) +
                               static_cast<T>(__any_sync(mask, lane == 5)) +
                               static_cast<T>(2 * __all_sync(mask, lane < 16));
  }
}

template <class T, int Width>
void check_shuffles() {
  in_every_order([] {
    std::vector<T> out(32 * shuffles);
    ASSERT_EQ(start(&shuffles_kernel<T, Width>, 1, 32, 0, nullptr, out.data()), cudaSuccess) << emulation::report();
    for (int lane = 0; lane < 32; ++lane) {
      const int first = lane / Width * Width, last = first + Width;
      unsigned thirds = 0;
      for (int other = first; other < last; ++other) thirds |= other % 3 == 0 ? 1u << other : 0u;
      const T* got = out.data() + lane * shuffles;
      EXPECT_EQ(got[0], static_cast<T>(100 + first + 3));
      EXPECT_EQ(got[1], static_cast<T>(100 + (lane - 2 < first ? lane : lane - 2)));
      EXPECT_EQ(got[2], static_cast<T>(100 + (lane + 2 >= last ? lane : lane + 2)));
      EXPECT_EQ(got[3], static_cast<T>(100 + first + (lane - first + Width / 2) % Width));
      EXPECT_EQ(got[4], static_cast<T>(thirds % 1000) + static_cast<T>(first <= 5 && 5 < last) +
                            static_cast<T>(last <= 16 ? 2 : 0));
    }
  });
}

TEST(emulated_gpu, shuffles_and_votes_in_logical_warps) {
  check_shuffles<int, 8>();
  check_shuffles<unsigned, 16>();
  check_shuffles<float, 32>();
  check_shuffles<double, 8>();
  check_shuffles<std::int64_t, 16>();
}

TEST(emulated_gpu, counts_bits_as_cuda_does) {
  EXPECT_EQ(__popc(0xf0f0u), 8);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__uint_as_float(__float_as_uint(1.5f)), 1.5f);
}

// --- Asynchronous copies --------------------------------------------------------------------------------------------

/// Copies stage by stage, two groups ahead; `Wait` says how the stage is waited for: 0 correctly, 1 a group too late, 2
/// not at all.
template <int Wait>
__global__ void pipeline_kernel(const float* from, float* out, int stages) {
  using namespace kernels::cuda;
  float* ring = dynamic_shared<float>();  // [3][32]
  const auto fetch = [&](int stage) {
    if (stage < stages) {
      copy_async<4>(ring + stage % 3 * 32 + threadIdx.x, from + stage * 32 + threadIdx.x, threadIdx.x == 31 ? 0 : 4);
    }
    commit_copies();
  };
  fetch(0);
  fetch(1);
  for (int stage = 0; stage < stages; ++stage) {
    fetch(stage + 2);
    if constexpr (Wait == 0) wait_for_all_but<2>();
    if constexpr (Wait == 1) wait_for_all_but<3>();
    __syncthreads();
    out[stage * 32 + threadIdx.x] = ring[stage % 3 * 32 + (threadIdx.x + 1) % 32];
    __syncthreads();
  }
}

template <int Wait>
bool pipelines() {
  std::vector<float> from(32 * 7), out(32 * 7);
  std::iota(from.begin(), from.end(), 1.0f);
  EXPECT_EQ(start(&pipeline_kernel<Wait>, 1, 32, 3 * 32 * 4, nullptr, from.data(), out.data(), 7), cudaSuccess);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t lane = (i + 1) % 32;
    if (out[i] != (lane == 31 ? 0 : from[i / 32 * 32 + lane])) return false;
  }
  return true;
}

TEST(emulated_gpu, finds_copies_that_are_not_waited_for) {
  EXPECT_TRUE(well_in_every_order(pipelines<0>));
  EXPECT_FALSE(well_in_every_order(pipelines<1>));
  EXPECT_FALSE(well_in_every_order(pipelines<2>));
}

/// The copy may land before a neighbour has read what it overwrites.
template <bool Barrier>
__global__ void overwrite_kernel(const float* from, float* out) {
  using namespace kernels::cuda;
  float* all = dynamic_shared<float>();
  all[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = all[(threadIdx.x + 1) % blockDim.x];
  if constexpr (Barrier) __syncthreads();
  copy_async<4>(all + threadIdx.x, from, 4);
  __syncwarp();
  wait_for_copies();
}

template <bool Barrier>
bool reads_before_it_is_overwritten() {
  const float from = 1;  // even by the same value: what lies there meanwhile is not defined
  std::vector<float> out(64);
  EXPECT_EQ(start(&overwrite_kernel<Barrier>, 1, 64, 256, nullptr, &from, out.data()), cudaSuccess);
  return std::accumulate(out.begin(), out.end(), 0.0f) == 64;
}

TEST(emulated_gpu, finds_copies_that_start_too_early) {
  EXPECT_TRUE(well_in_every_order(reads_before_it_is_overwritten<true>));
  EXPECT_FALSE(well_in_every_order(reads_before_it_is_overwritten<false>));
}

// --- tensor cores ---------------------------------------------------------------------------------------------------
// The kernels take whole row-major matrices apart by the layouts that kernels/cuda/mma_instructions.cuh writes down.

__global__ void tf32_kernel(const float* a, const float* b, float* c) {
  const int group = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  const auto a_at = [&](int row, int col) { return __float_as_uint(a[row * 8 + col]); };
  const auto b_at = [&](int row, int col) { return __float_as_uint(b[row * 8 + col]); };
  float* upper = c + group * 8 + 2 * t;
  float* lower = upper + 8 * 8;
  float sums[4] = {upper[0], upper[1], lower[0], lower[1]};
  const unsigned of_a[4] = {a_at(group, t), a_at(group + 8, t), a_at(group, t + 4), a_at(group + 8, t + 4)};
  const unsigned of_b[2] = {b_at(t, group), b_at(t + 4, group)};
  kernels::cuda::mma_m16n8k8_tf32(sums, of_a, of_b);
  upper[0] = sums[0];
  upper[1] = sums[1];
  lower[0] = sums[2];
  lower[1] = sums[3];
}

template <bool Bfloat16>
__global__ void half_kernel(const std::uint16_t* a, const std::uint16_t* b, float* c) {
  const int group = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  const auto a_at = [&](int row, int col) { return a[row * 16 + col] | unsigned{a[row * 16 + col + 1]} << 16; };
  const auto b_at = [&](int row, int col) { return b[row * 8 + col] | unsigned{b[(row + 1) * 8 + col]} << 16; };
  float* upper = c + group * 8 + 2 * t;
  float* lower = upper + 8 * 8;
  float sums[4] = {upper[0], upper[1], lower[0], lower[1]};
  const unsigned of_a[4] = {a_at(group, 2 * t), a_at(group + 8, 2 * t), a_at(group, 2 * t + 8),
                            a_at(group + 8, 2 * t + 8)};
  const unsigned of_b[2] = {b_at(2 * t, group), b_at(2 * t + 8, group)};
  if constexpr (Bfloat16) {
    kernels::cuda::mma_m16n8k16_bf16(sums, of_a, of_b);
  } else {
    kernels::cuda::mma_m16n8k16_f16(sums, of_a, of_b);
  }
  upper[0] = sums[0];
  upper[1] = sums[1];
  lower[0] = sums[2];
  lower[1] = sums[3];
}

__global__ void f64_kernel(const double* a, const double* b, double* c) {
  const int group = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  double sums[2] = {c[group * 8 + 2 * t], c[group * 8 + 2 * t + 1]};
  kernels::cuda::mma_m8n8k4_f64(sums, a[group * 4 + t], b[t * 8 + group]);
  c[group * 8 + 2 * t] = sums[0];
  c[group * 8 + 2 * t + 1] = sums[1];
}

template <class T>
std::vector<T> integers(int count, std::uint64_t seed) {
  test_random random(seed);
  std::vector<T> all(static_cast<std::size_t>(count));
  for (T& x : all) x = static_cast<T>(random.small_integer());
  return all;
}

/// a (m x k) times b (k x 8) added to c, all row-major.
template <class T, class A>
std::vector<T> multiplied(const std::vector<A>& a, const std::vector<A>& b, std::vector<T> c) {
  const std::size_t k = b.size() / 8, m = c.size() / 8;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t l = 0; l < k; ++l) c[i * 8 + j] += static_cast<T>(a[i * k + l]) * static_cast<T>(b[l * 8 + j]);
    }
  }
  return c;
}

TEST(emulated_gpu, multiplies_tf32_and_f64_as_three_loops_do) {
  in_every_order([] {
    const auto a = integers<float>(16 * 8, 1), b = integers<float>(8 * 8, 2);
    auto c = integers<float>(16 * 8, 3);
    const auto wanted = multiplied(a, b, c);
    ASSERT_EQ(start(&tf32_kernel, 1, 32, 0, nullptr, a.data(), b.data(), c.data()), cudaSuccess);
    EXPECT_EQ(c, wanted);
    const auto d = integers<double>(8 * 4, 4), e = integers<double>(4 * 8, 5);
    auto f = integers<double>(8 * 8, 6);
    const auto wanted_f = multiplied(d, e, f);
    ASSERT_EQ(start(&f64_kernel, 1, 32, 0, nullptr, d.data(), e.data(), f.data()), cudaSuccess);
    EXPECT_EQ(f, wanted_f);
  });
}

TEST(emulated_gpu, multiplies_halves_as_three_loops_do) {
  // 0 to 4 and their negatives, as IEEE half and as bfloat16.
  const auto bits = [](const std::vector<float>& values, bool bfloat16) {
    constexpr std::uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    std::vector<std::uint16_t> all;
    for (const float x : values) {
      const auto sign = static_cast<std::uint16_t>(x < 0 ? 0x8000 : 0);
      all.push_back(bfloat16 ? static_cast<std::uint16_t>(__float_as_uint(x) >> 16)
                             : static_cast<std::uint16_t>(halves[static_cast<int>(std::fabs(x))] | sign));
    }
    return all;
  };
  in_every_order([&] {
    const auto a = integers<float>(16 * 16, 1), b = integers<float>(16 * 8, 2);
    for (const bool bfloat16 : {false, true}) {
      auto c = integers<float>(16 * 8, 3);
      const auto wanted = multiplied(a, b, c);
      const auto kernel = bfloat16 ? &half_kernel<true> : &half_kernel<false>;
      ASSERT_EQ(start(kernel, 1, 32, 0, nullptr, bits(a, bfloat16).data(), bits(b, bfloat16).data(), c.data()),
                cudaSuccess);
      EXPECT_EQ(c, wanted);
    }
  });
}

TEST(emulated_gpu, reads_operands_as_tensor_cores_do) {
  using kernels::cuda::round_to_tf32;
  const float beyond = 1 + 0x1p-11f;
  EXPECT_EQ(__uint_as_float(round_to_tf32(beyond)), 1 + 0x1p-10f);
  EXPECT_EQ(__uint_as_float(round_to_tf32(-1 - 0x1p-12f)), -1.0f);
  EXPECT_TRUE(std::isinf(__uint_as_float(round_to_tf32(HUGE_VALF))));
  std::vector<float> a(16 * 8, 0), b(8 * 8, 0), c(16 * 8, 0);
  a[0] = b[0] = beyond;
  ASSERT_EQ(start(&tf32_kernel, 1, 32, 0, nullptr, a.data(), b.data(), c.data()), cudaSuccess);
  EXPECT_EQ(c[0], 1);  // truncated, both
  std::vector<std::uint16_t> ha(16 * 16, 0), hb(16 * 8, 0);
  ha[0] = 0x0001;  // the smallest half
  hb[0] = 0x7bff;  // the largest
  c[0] = 0;
  ASSERT_EQ(start(&half_kernel<false>, 1, 32, 0, nullptr, ha.data(), hb.data(), c.data()), cudaSuccess);
  EXPECT_EQ(c[0], 65504 * 0x1p-24f);
}

// --- Thread blocks that wait for each other -------------------------------------------------------------------------

/// Each block posts a number and adds up those of all; `with` is what is there before.
__global__ void exchange_kernel(core::two_words* posts, std::uint64_t with, unsigned* sums) {
  auto* const number = dynamic_shared<unsigned>();
  if (threadIdx.x == 0) *number = blockIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 31) core::post(&posts[blockIdx.x], {*number, with + 1});
  if (threadIdx.x == 7) {
    unsigned sum = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) {
      core::two_words seen = core::look_at(&posts[block]);
      for (; seen.second == with; seen = core::look_at(&posts[block])) core::look_again();
      sum += static_cast<unsigned>(core::look_at(&posts[block]).first);
    }
    sums[blockIdx.x] = sum;
  }
}

constexpr auto whenever = core::begins::after_previous;

TEST(emulated_gpu, lets_blocks_wait_for_each_other) {
  in_every_order([] {
    std::vector<core::two_words> posts(5);
    for (std::uint64_t round = 0; round < 3; ++round) {
      std::vector<unsigned> sums(5, 0);
      ASSERT_EQ(core::start_together(whenever, &exchange_kernel, dim3(5), dim3(64), 4, nullptr, posts.data(), round,
                                     sums.data()),
                cudaSuccess)
          << emulation::report();
      EXPECT_EQ(sums, std::vector<unsigned>(5, 15));
    }
  });
}

TEST(emulated_gpu, finds_blocks_that_wait_for_one_that_may_never_begin) {
  in_every_order([] {
    std::vector<core::two_words> posts(5);
    std::vector<unsigned> sums(5, 0);
    EXPECT_EQ(start(&exchange_kernel, 5, 64, 4, nullptr, posts.data(), std::uint64_t{0}, sums.data()),
              cudaErrorLaunchFailure);
    EXPECT_NE(emulation::report().find("deadlock"), std::string::npos) << emulation::report();
  });
}

/// Each block hands what it is to the next of its cluster, round after round.
template <bool Barrier, bool Stays>
__global__ void ring_kernel(int* out, int rounds) {
  using namespace kernels::cuda;
  constexpr int blocks = 4;
  int* const own = dynamic_shared<int>();
  const int rank = cluster_rank();
  arrive_at_cluster();  // all have begun
  wait_for_cluster();
  int seen = static_cast<int>(blockIdx.x);
  for (int round = 0; round < rounds; ++round) {
    of_cluster_rank(own, (rank + 1) % blocks)[round % 2 * 32 + static_cast<int>(threadIdx.x)] = seen;
    arrive_at_cluster();
    if (!Stays && rank == 0) return;
    if constexpr (Barrier) wait_for_cluster();
    seen = own[round % 2 * 32 + static_cast<int>(threadIdx.x)];
    if constexpr (!Barrier) wait_for_cluster();
  }
  out[blockIdx.x * 32 + threadIdx.x] = seen;
}

template <bool Barrier, bool Stays>
bool goes_round() {
  std::vector<int> out(12 * 32, -1);
  const int status = core::start_in_clusters(core::begins::after_previous, 4, &ring_kernel<Barrier, Stays>, dim3(14),
                                             dim3(32), 256, nullptr, out.data(), 5);
  EXPECT_TRUE(status == cudaSuccess || status == cudaErrorLaunchFailure) << status;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int block = static_cast<int>(i) / 32;
    if (out[i] != block / 4 * 4 + (block + 4 - 5 % 4) % 4) return false;
  }
  return true;
}

TEST(emulated_gpu, lets_blocks_of_a_cluster_write_to_each_other) {
  EXPECT_TRUE(well_in_every_order(goes_round<true, true>));
  EXPECT_FALSE(well_in_every_order(goes_round<false, true>));
  EXPECT_FALSE(well_in_every_order(goes_round<true, false>));
  const auto start_ring = [](auto kernel) {
    return [kernel] {
      std::vector<int> out(4 * 32);
      return core::start_in_clusters(core::begins::after_previous, 4, kernel, dim3(4), dim3(32), 256, nullptr,
                                     out.data(), 5);
    };
  };
  expect_report("race: ", start_ring(&ring_kernel<false, true>));
  expect_report("returns before its cluster's barrier has ended", start_ring(&ring_kernel<true, false>));
}

TEST(emulated_gpu, refuses_clusters_of_more_blocks_than_every_gpu_has_room_for) {
  std::vector<int> out(16 * 32);
  EXPECT_EQ(core::start_in_clusters(core::begins::after_previous, 16, &ring_kernel<true, true>, dim3(16), dim3(32), 256,
                                    nullptr, out.data(), 1),
            cudaErrorInvalidClusterSize);
}

TEST(emulated_gpu, refuses_more_blocks_than_fit_together) {
  std::vector<core::two_words> posts(17);
  std::vector<unsigned> sums(17, 0);
  const auto launch = [&](unsigned blocks) {
    return core::start_together(whenever, &exchange_kernel, dim3(blocks), dim3(64), 4, nullptr, posts.data(),
                                std::uint64_t{0}, sums.data());
  };
  EXPECT_EQ(launch(17), cudaErrorCooperativeLaunchTooLarge);
  EXPECT_TRUE(core::can_start_together());
  emulation::current_settings() = {.can_launch_together = false};
  EXPECT_FALSE(core::can_start_together());
  EXPECT_NE(launch(2), cudaSuccess);
  emulation::current_settings() = {};
}

// --- A kernel of the library that is in no table --------------------------------------------------------------------

template <class T>
void turn_there_and_back() {
  for (const std::int64_t rows : {1, 31, 64, 77, 130}) {
    for (const std::int64_t cols : {1, 4, 7, 16, 32, 45}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      constexpr std::int64_t members = 2;
      const std::int64_t ldb = rows + 3, ld_packed = (cols + 3) / 4 * 4;
      const std::int64_t b_stride = ldb * cols + 1, packed_stride = rows * ld_packed + 5;
      const kernels::cuda::pack_members batch{members, b_stride, packed_stride};
      const auto b = integers<T>(static_cast<int>(b_stride * members), 9);
      std::vector<T> packed(static_cast<std::size_t>(packed_stride * members), T(-1));
      ASSERT_EQ(kernels::cuda::pack_row_major(b.data(), ldb, rows, cols, packed.data(), ld_packed, nullptr, batch),
                cudaSuccess)
          << emulation::report();
      std::vector<T> c(b.size(), T(-1));
      ASSERT_EQ(kernels::cuda::unpack_row_major(packed.data(), ld_packed, rows, cols, c.data(), ldb, nullptr, batch),
                cudaSuccess)
          << emulation::report();
      for (std::int64_t k = 0; k < members; ++k) {
        const auto in_b = [&](std::int64_t i, std::int64_t j) {
          return static_cast<std::size_t>(k * b_stride + j * ldb + i);
        };
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < ld_packed; ++j) {
            const auto at = static_cast<std::size_t>(k * packed_stride + i * ld_packed + j);
            ASSERT_EQ(static_cast<double>(packed[at]), j < cols ? static_cast<double>(b[in_b(i, j)]) : 0.0);
          }
        }
        // What lies between the members and between the columns of C stays as it is.
        for (std::int64_t gap = rows * ld_packed; gap < packed_stride; ++gap) {
          ASSERT_EQ(static_cast<double>(packed[static_cast<std::size_t>(k * packed_stride + gap)]), -1.0);
        }
        for (std::int64_t j = 0; j < cols; ++j) {
          for (std::int64_t i = 0; i < ldb; ++i) {
            const auto at = in_b(i, j);
            ASSERT_EQ(static_cast<double>(c[at]), i < rows ? static_cast<double>(b[at]) : -1.0);
          }
        }
      }
    }
  }
}
TEST(emulated_gpu, turns_what_is_column_major_and_back) {
  in_every_order([] {
    turn_there_and_back<float>();
    turn_there_and_back<double>();
    turn_there_and_back<half>();
  });
  // Fewer thread blocks than tiles: each goes on to others.
  emulation::current_settings() = {.largest_grid = 2};
  turn_there_and_back<float>();
  emulation::current_settings() = {};
}

}  // namespace
}  // namespace bcsc::test
