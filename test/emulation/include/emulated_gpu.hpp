#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// A GPU on the CPU that runs our CUDA kernels to test their logic: every CUDA thread of a block is a fiber, the fibers
/// of a block run one at a time on this one thread, and so do the blocks. What a kernel must not rely on is as unkind
/// as the rules of CUDA allow: threads run in an order that a test chooses, shared memory holds NaN before a block
/// begins, asynchronous copies arrive only when they are waited for. Breaking the rules ends the launch with
/// cudaErrorLaunchFailure and a report().
///
/// cuda_runtime.h beside this header gives kernels the names of CUDA; this is what lies behind them, and the interface
/// for tests. A test puts test/emulation/include first on its include path, sets current_settings(), starts kernels
/// with core::start() or a table's launcher, and looks at results and report(). It is compiled with -fsanitize=thread
/// where races and stray accesses are to be found, but linked without, with emulated_gpu.cpp and access_hooks.cpp (see
/// test/emulation/meson.build).
/// The blocks of a cooperative launch are alive together: their threads may wait for each other by looking at memory
/// again and again, if they say wait_for_change() in between. So are those of a cluster. Both have dynamic
/// shared memory only: of a static array the emulation has one for all blocks.
namespace bcsc::emulation {

/// A line of a kernel; as a default argument, current() is the caller's. What is needed of source_line, which
/// clang before 16 does not have.
struct source_line {
  const char* file = "";
  int line = 0;

  static constexpr source_line current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  friend bool operator==(const source_line& a, const source_line& b) {
    return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
  }
};

/// Which thread of a block runs next among those that can. A thread runs until it waits for others.
enum class run_order {
  forward,   ///< the first: warp 0 runs as far ahead as it can
  backward,  ///< the last
  random,    ///< any, drawn anew each time; atomic operations let others in, too
};

/// Memory that a kernel may touch.
struct memory_range {
  const void* begin;
  std::size_t bytes;
  bool writable = false;
  bool settled = false;  ///< was written long before the launch, as A is: may be read while the kernel before ends
};

struct settings {
  run_order order = run_order::forward;  ///< of the threads of a block, and of the blocks
  std::uint64_t seed = 1;                ///< of the random order
  unsigned largest_grid = 2147483647;  ///< cuts the x dimension of grids, so that kernels stride; cooperative ones not
  bool can_launch_together = true;     ///< cudaDevAttrCooperativeLaunch
  unsigned largest_together = 16;      ///< blocks of a cooperative launch
  bool watch_memory = true;            ///< finds races, where accesses are made known: see note_access()
  /// The global memory that exists; a kernel that touches any other is in error. Empty: unknown, all may be touched.
  std::vector<memory_range> global_memory = {};
};

/// Settings of the next launches.
settings& current_settings();

/// What ended the last launch: which rule was broken, or what each thread waits for. Empty if it went well.
const std::string& report();

// --- What the CUDA names stand on -----------------------------------------------------------------------------------

struct index3 {
  unsigned x, y, z;
};

/// Where the running thread is.
struct thread_place {
  index3 thread, block, block_size, grid_size;
  unsigned lane = 0;  ///< in its warp of 32
};
extern thread_place running;

struct launch_shape {
  index3 grid, block;
  std::size_t shared_bytes = 0;
  bool begins_early = false;  ///< while the kernel before ends, and so must wait_for_previous()
  bool together = false;      ///< all blocks are alive at once
  unsigned cluster = 1;       ///< blocks of a cluster, along x
};

/// Runs `kernel` in every thread of every block. False if a rule was broken: see report().
bool run_grid(const launch_shape& shape, const std::function<void()>& kernel);

/// From here on the running thread may touch what the kernel before may have written. In a kernel that begins early a
/// thread that has not come here touches nothing in global memory but what is settled (memory_range; the launch's
/// arguments are), and some thread of the grid has to come here.
void wait_for_previous();

/// A load by the non-coherent path, which takes what nobody writes while the kernel runs: in one that begins early,
/// what is settled.
void note_lasting_load(const void* address, std::size_t bytes, source_line where);

/// The block's dynamic shared memory.
unsigned char* shared_memory();

/// Of the running thread's block in its cluster.
unsigned cluster_rank();
/// What `shared`, in the block's dynamic shared memory, is in the block of its cluster with that rank.
void* shared_memory_of_rank(void* shared, unsigned rank, source_line where);
/// A barrier of all threads of the cluster that have not returned, in two parts: what they did before the first comes
/// before what they do after the second.
void arrive_at_cluster(source_line where);
void wait_for_cluster(source_line where);

/// Ends the launch with a report by the running thread.
[[noreturn]] void break_rule(const char* what, source_line where = source_line::current());

void wait_for_block(source_line where);

/// What a warp does together, when all lanes in the mask have arrived: works on what each of them contributed
/// (operands[lane], null for those that take no part). Returns the rule that was broken, or null.
using warp_operation = const char* (*)(void* const* operands, unsigned lanes);

/// Waits for the lanes of `mask` and performs `operation` once for all. Lanes that have returned are not waited for.
/// `name` and `detail` (a width, say) must agree.
/// If `orders_memory`, what the lanes did before comes before what any of them does after.
void meet_in_warp(unsigned mask, warp_operation operation, void* operand, const char* name, int detail,
                  bool orders_memory, source_line where);

/// Lets others run, if the order is random.
void give_way();

/// The running thread has written what others may wait for.
void note_change();
/// The running thread has looked for what is not there yet. It looks again once all others wait as well and something
/// has changed; if nothing has, this is a deadlock.
void wait_for_change(source_line where);

/// A barrier in shared memory, known by its address, whose phase ends when `arrivals` have come.
void begin_barrier(const void* at, unsigned arrivals);
/// Hands on what the running thread did until now.
void arrive_at_barrier(const void* at);
/// Whether the last phase that has ended has this parity. Then what was handed on comes before what the running thread
/// does next. Otherwise wait_for_change().
bool barrier_has_ended(const void* at, unsigned parity);
/// The phase ends only when bulk copies of so many bytes have been started as well.
void expect_bytes(const void* at, std::size_t bytes);

/// An access to memory by the running thread, from the instruction at `code` if that is known. Sources compiled with
/// -fsanitize=thread report theirs by themselves (access_hooks.cpp). Two accesses to a byte of dynamic shared memory by
/// two threads, one of them a write, are a race unless both are atomic or a barrier lies between them: __syncthreads,
/// or a __syncwarp of both. In global memory only writes are watched for races, and all accesses for whether the memory
/// exists (settings::global_memory).
enum class access { read, write, atomic };
void note_access(const void* address, std::size_t bytes, access kind, const void* code = nullptr);

/// The dynamic shared memory that a kernel may have: what was asked for with cudaFuncSetAttribute.
std::size_t& allowed_shared_bytes(const void* kernel);

/// The copies of copy_async() of the running thread: from where, when they take effect.
void start_copy(void* to_shared, const void* from, int bytes, int present, source_line where);
void finish_copies();
void commit_copies();
void finish_copies_but(int newest_groups);
/// A copy that takes effect when the phase of `barrier` ends.
void start_bulk_copy(void* to_shared, const void* from, std::size_t bytes, const void* barrier, source_line where);

}  // namespace bcsc::emulation
