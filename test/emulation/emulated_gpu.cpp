#include "test/emulation/include/emulated_gpu.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Fibers switch by a few instructions where those are written below, else by ucontext, which enters the kernel.
#if defined(__x86_64__) && !defined(BCSC_EMULATION_BY_UCONTEXT)
#define BCSC_EMULATION_SWITCH 1

/// Leaves one flow of control, whose stack pointer it stores, for another.
extern "C" void bcsc_emulation_switch(void** from, void* to);
asm(R"(
.pushsection .text
.globl bcsc_emulation_switch
.hidden bcsc_emulation_switch
.type bcsc_emulation_switch, @function
bcsc_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size bcsc_emulation_switch, .-bcsc_emulation_switch
.popsection
)");

#else
#define BCSC_EMULATION_SWITCH 0
#include <ucontext.h>
#endif

// Where the linker begins and ends the program with its static objects.
extern "C" char __executable_start, _end;

namespace bcsc::emulation {

thread_place running;

namespace {

// --- Fibers ---------------------------------------------------------------------------------------------------------

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::size_t page_bytes = 4096;

/// A flow of control that was left, and the stack it lies on.
struct context {
#if BCSC_EMULATION_SWITCH
  void* stack_pointer = nullptr;  ///< the registers that a call preserves lie there
#else
  ucontext_t machine{};
#endif
  const void* stack = nullptr;
  std::size_t stack_size = 0;
};

void prepare(context& fiber, std::byte* stack, void (*entry)()) {
  fiber.stack = stack;
  fiber.stack_size = stack_bytes;
#if BCSC_EMULATION_SWITCH
  // As if `entry` had been called: the return address lies 8 bytes off a multiple of 16.
  auto* top = reinterpret_cast<void**>(stack + stack_bytes) - 1;
  top[0] = nullptr;                          // entry never returns
  top[-1] = reinterpret_cast<void*>(entry);  // where the switch returns to
  for (int i = 2; i <= 7; ++i) top[-i] = nullptr;
  fiber.stack_pointer = top - 7;
#else
  getcontext(&fiber.machine);
  fiber.machine.uc_stack.ss_sp = stack;
  fiber.machine.uc_stack.ss_size = stack_bytes;
  fiber.machine.uc_link = nullptr;
  makecontext(&fiber.machine, entry, 0);
#endif
}

/// The address sanitizer wants to know on which stack the program runs.
#if defined(__SANITIZE_ADDRESS__)
void announce(void** kept, const context& to) { __sanitizer_start_switch_fiber(kept, to.stack, to.stack_size); }
void arrive(void* kept, context* from) {
  __sanitizer_finish_switch_fiber(kept, from != nullptr ? &from->stack : nullptr,
                                  from != nullptr ? &from->stack_size : nullptr);
}
#else
void announce(void**, const context&) {}
void arrive(void*, context*) {}
#endif

void switch_to(context& from, context& to) {
  void* kept = nullptr;
  announce(&kept, to);
#if BCSC_EMULATION_SWITCH
  bcsc_emulation_switch(&from.stack_pointer, to.stack_pointer);
#else
  swapcontext(&from.machine, &to.machine);
#endif
  arrive(kept, nullptr);
}

/// The stacks of a block's fibers, each with a guard page below it. Memory is committed as it is used.
class stack_memory {
 public:
  stack_memory() {
    void* mapped = mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(mapped);
    for (std::size_t i = 0; i < max_threads; ++i) {
      if (mprotect(base_ + i * each_bytes, page_bytes, PROT_NONE) != 0) throw std::bad_alloc();
    }
  }
  ~stack_memory() { munmap(base_, all_bytes); }
  stack_memory(const stack_memory&) = delete;
  stack_memory& operator=(const stack_memory&) = delete;

  std::byte* of(std::size_t thread) const { return base_ + thread * each_bytes + page_bytes; }
  bool holds(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_) < all_bytes;
  }
  /// What the address sanitizer guards in frames that never returned: of a fiber that ended, the last few.
  void forget_frames(std::size_t thread) const {
    constexpr std::size_t last_frames = 16 * 1024;
    unguard(of(thread) + stack_bytes - last_frames, last_frames);
  }
  /// After a block that was given up, any.
  void forget_all_frames() const { unguard(base_, all_bytes); }

 private:
  static void unguard([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(begin, bytes);
#endif
  }

  static constexpr std::size_t max_threads = 1024;
  static constexpr std::size_t each_bytes = stack_bytes + page_bytes;
  static constexpr std::size_t all_bytes = max_threads * each_bytes;
  std::byte* base_;
};

// --- A block --------------------------------------------------------------------------------------------------------

enum class state { ready, in_barrier, in_warp, awaiting_change, done };

struct thread_block;

struct pending_copy {
  void* to;
  const void* from;
  int bytes, present;
  int group;  ///< how many were committed before
};

struct thread {
  context flow;
  thread_place place{};
  thread_block* block = nullptr;
  state now = state::ready;
  // What it waits for.
  unsigned mask = 0;
  warp_operation operation = nullptr;
  void* operand = nullptr;
  const char* name = nullptr;
  int detail = 0;
  bool orders_memory = false;
  source_line where;
  std::uint64_t changes_seen = 0;   ///< by then, where it waits for one
  bool has_waited = false;          ///< for the kernel before
  bool is_at_cluster = false;       ///< has arrived at the cluster's barrier, and not yet waited
  std::uint64_t cluster_phase = 0;  ///< in which it has
  // Its asynchronous copies.
  std::vector<pending_copy> copies;  ///< in the order of their start
  int groups = 0;
};

constexpr unsigned warp_lanes = 32;

/// Its lanes, a bit each.
struct warp {
  std::uint32_t ready = 0, waiting = 0, done = 0;  ///< waiting: for other lanes
};

constexpr std::size_t guard_bytes = 1024;

/// Canaries before and behind shared memory: nearby bytes all differ, so that a copy of them does not go unseen.
std::byte canary(std::size_t at) { return static_cast<std::byte>(at * 37 + 91); }

std::string at_line(const source_line& where) {
  const std::string file = where.file;
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line);
}

std::string place_name(const thread_place& at) {
  char text[160];
  std::snprintf(text, sizeof(text), "block (%u, %u, %u), thread (%u, %u, %u)", at.block.x, at.block.y, at.block.z,
                at.thread.x, at.thread.y, at.thread.z);
  return text;
}

/// Who touched dynamic shared memory last, in cells of 4 bytes: finds accesses that no barrier separates.
///
/// Each lane has a clock that advances when a barrier of its warp ends, and knows how far it has seen the clocks of the
/// other lanes (vector clocks); __syncthreads begins a new epoch, in which all that came before is seen. Where barriers
/// in shared memory are used each thread has turns as well, which they hand on: offer() and take(). A cell remembers
/// its last write and two of its readers: what it forgets may hide a race, but every race reported is one.
class shared_watch {
 public:
  struct hazard {
    enum { none, outside, race } kind = none;
    std::ptrdiff_t offset = 0;
    std::size_t other = 0;
    bool with_write = false;
  };

  void begin(const std::byte* shared, std::size_t bytes, std::size_t num_threads) {
    shared_ = shared;
    bytes_ = bytes;
    begin_ = shared - guard_bytes;
    watched_ = bytes + 2 * guard_bytes;
    if (cells_.size() < bytes / 4 + 1) cells_.resize(bytes / 4 + 1);
    clocks_.resize((num_threads + warp_lanes - 1) / warp_lanes);
    num_threads_ = num_threads;
    turns_.clear();
    join_block();
  }
  void end() { watched_ = 0; }

  std::uint32_t epoch() const { return epoch_; }

  bool watches(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_) < watched_;
  }

  void join_block() { ++epoch_; }

  void join_lanes(std::size_t warp, unsigned lanes) {
    if (watched_ == 0) return;
    warp_clocks& w = of_this_epoch(warp);
    std::array<std::uint32_t, warp_lanes> joined{};
    for_each_lane(lanes, [&](unsigned lane) {
      for (unsigned i = 0; i < warp_lanes; ++i) joined[i] = std::max(joined[i], w.seen[lane][i]);
    });
    for_each_lane(lanes, [&](unsigned lane) {
      w.seen[lane] = joined;
      ++w.seen[lane][lane];
    });
    if (!turns_.empty()) join_turns(warp * warp_lanes, lanes);
  }

  /// Which turn of each thread a barrier's waiters have seen.
  using turns = std::vector<std::uint32_t>;

  void begin_turns() {
    if (!turns_.empty()) return;
    turns_.assign(num_threads_, turns(num_threads_));
    for (std::size_t t = 0; t < num_threads_; ++t) turns_[t][t] = 1;
  }
  /// What `thread` did and saw until now.
  void offer(std::size_t thread, turns& to) {
    if (turns_.empty()) return;
    join(to, turns_[thread]);
    ++turns_[thread][thread];
  }
  void take(std::size_t thread, const turns& from) {
    if (!turns_.empty()) join(turns_[thread], from);
  }

  hazard note(std::size_t thread, const std::byte* address, std::size_t bytes, access kind) {
    const std::ptrdiff_t first = address - shared_;
    if (first < 0 || static_cast<std::size_t>(first) + bytes > bytes_) return {hazard::outside, first};
    const warp_clocks& w = of_this_epoch(thread / warp_lanes);
    const touch mine{epoch_,
                     w.seen[thread % warp_lanes][thread % warp_lanes],
                     turns_.empty() ? 0 : turns_[thread][thread],
                     static_cast<std::uint16_t>(thread),
                     0,
                     kind == access::atomic};
    for (std::size_t at = static_cast<std::size_t>(first); at < static_cast<std::size_t>(first) + bytes;) {
      const std::size_t next = std::min((at / 4 + 1) * 4, static_cast<std::size_t>(first) + bytes);
      touch here = mine;
      here.bytes = static_cast<std::uint8_t>(((1u << (next - at)) - 1) << at % 4);
      cell& c = cells_[at / 4];
      const auto meets = [&](const touch& other) {
        return other.epoch == epoch_ && other.thread != here.thread && (other.bytes & here.bytes) != 0 &&
               !(other.atomic && here.atomic) && !before(other, thread);
      };
      if (meets(c.write)) return {hazard::race, static_cast<std::ptrdiff_t>(at), c.write.thread, true};
      if (kind == access::read) {
        if (c.reads[0].epoch == epoch_ && c.reads[0].thread != here.thread) c.reads[1] = c.reads[0];
        c.reads[0] = here;
      } else {
        for (const touch& read : c.reads) {
          if (meets(read)) return {hazard::race, static_cast<std::ptrdiff_t>(at), read.thread, false};
        }
        c.write = here;
      }
      at = next;
    }
    return {};
  }

 private:
  struct touch {
    std::uint32_t epoch = 0;
    std::uint32_t clock = 0;
    std::uint32_t turn = 0;
    std::uint16_t thread = 0;
    std::uint8_t bytes = 0;  ///< of the cell, a bit each
    bool atomic = false;
  };
  struct cell {
    touch write;
    std::array<touch, 2> reads;
  };
  struct warp_clocks {
    std::uint32_t epoch = 0;
    std::array<std::array<std::uint32_t, warp_lanes>, warp_lanes> seen{};  ///< [lane][whose]
  };

  template <class Visit>
  static void for_each_lane(unsigned lanes, const Visit& visit) {
    for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
  }

  /// What one lane hands on from here holds what the others did until now.
  void join_turns(std::size_t first_thread, unsigned lanes) {
    turns all;
    for_each_lane(lanes, [&](unsigned lane) { join(all, turns_[first_thread + lane]); });
    for_each_lane(lanes, [&](unsigned lane) {
      turns_[first_thread + lane] = all;
      ++turns_[first_thread + lane][first_thread + lane];
    });
  }

  warp_clocks& of_this_epoch(std::size_t warp) {
    warp_clocks& w = clocks_[warp];
    if (w.epoch != epoch_) {
      w.epoch = epoch_;
      w.seen = {};
      for (unsigned lane = 0; lane < warp_lanes; ++lane) w.seen[lane][lane] = 1;
    }
    return w;
  }

  static void join(turns& to, const turns& from) {
    to.resize(std::max(to.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
  }

  bool before(const touch& other, std::size_t thread) {
    if (other.turn != 0 && other.turn <= turns_[thread][other.thread]) return true;
    if (other.thread / warp_lanes != thread / warp_lanes) return false;
    return other.clock <= of_this_epoch(thread / warp_lanes).seen[thread % warp_lanes][other.thread % warp_lanes];
  }

  const std::byte* shared_ = nullptr;
  const std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0, watched_ = 0;
  std::uint32_t epoch_ = 0;  ///< never the same twice, so that old touches need not be wiped out
  std::vector<cell> cells_;
  std::vector<warp_clocks> clocks_;
  std::size_t num_threads_ = 0;
  std::vector<turns> turns_;  ///< [thread]; empty without barriers in shared memory
};

/// A barrier in shared memory.
struct shared_barrier {
  struct bulk_copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  unsigned arrivals = 0, missing = 0;  ///< of a phase
  std::uint64_t ended = 0;             ///< phases
  shared_watch::turns offered, handed_on;
  std::size_t expected_bytes = 0, started_bytes = 0;  ///< of bulk copies, in this phase
  std::vector<bulk_copy> copies;
};

/// The last write to a word of global memory.
struct written {
  std::uint64_t block;
  std::uint32_t epoch;
  std::size_t thread;
  bool atomic;
};

/// A block that runs: alone, with the others of its cluster, or with all of a grid that is launched together.
struct thread_block {
  stack_memory stacks;
  std::vector<thread> threads;
  std::vector<warp> warps;
  std::size_t live = 0, in_barrier = 0;  ///< threads
  std::uint64_t number = 0;              ///< in the grid
  std::size_t rank = 0;                  ///< in its cluster
  std::vector<std::byte> shared;
  std::size_t shared_bytes = 0;
  shared_watch watch;
  std::map<const void*, shared_barrier> barriers;

  std::byte* shared_begin() {
    const auto address = reinterpret_cast<std::uintptr_t>(shared.data()) + guard_bytes;
    return reinterpret_cast<std::byte*>((address + 15) / 16 * 16);
  }
  std::size_t index_of(const thread& t) const { return static_cast<std::size_t>(&t - threads.data()); }
  /// The first thread's among those of the cluster, of which each block's memory is watched.
  std::size_t first_in_cluster() const { return rank * threads.size(); }
};

/// Whether it lies among the program's static objects, as constants and the emulation's static shared arrays do.
bool is_static(const void* address) {
  const auto* at = static_cast<const char*>(address);
  return at >= &__executable_start && at < &_end;
}

class machine {
 public:
  settings now;
  std::string report;
  /// Whether the kernel's own code runs. The emulation shares inline functions of the standard library with it, which
  /// make their accesses known too.
  bool in_kernel = false;

  bool run(const launch_shape& shape, const std::function<void()>& kernel) {
    if (!report.empty()) {
      for (const auto& each : blocks_) each->stacks.forget_all_frames();
    }
    report.clear();
    ranges_ = now.global_memory;
    std::ranges::sort(ranges_, std::less<>{}, &memory_range::begin);
    host_frame_ = __builtin_frame_address(0);
    watching_ = now.watch_memory;
    begins_early_ = shape.begins_early;
    someone_waited_ = false;
    kernel_ = &kernel;
    random_ = now.seed * 0x9e3779b97f4a7c15u | 1;

    const std::uint64_t num_blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
    const std::vector<std::uint64_t> order = block_order(num_blocks / shape.cluster);  // clusters stay together
    const std::uint64_t at_once = shape.together ? num_blocks : shape.cluster;
    for (std::uint64_t i = 0; i < num_blocks && report.empty(); i += at_once) {
      alive_ = 0;
      in_cluster_ = shape.cluster > 1;
      arrived_at_cluster_ = 0;
      for (; alive_ < at_once; ++alive_) {
        if (blocks_.size() <= alive_) blocks_.push_back(std::make_unique<thread_block>());
        const std::uint64_t place = i + alive_, cluster = place / shape.cluster;
        begin_block(*blocks_[alive_], order.empty() ? place : order[cluster] * shape.cluster + place % shape.cluster,
                    shape);
      }
      run_blocks();
    }
    if (begins_early_ && !someone_waited_)
      record("a kernel that begins while the one before it ends never waits for it");
    writes_.clear();
    for (const auto& each : blocks_) each->watch.end();
    watching_ = false;
    return report.empty();
  }

  thread& current() { return *current_; }

  void note(const void* address, std::size_t bytes, access kind, const void* code) {
    code_ = static_cast<const char*>(code);
    if (block().watch.watches(address)) return note_shared(block(), address, bytes, kind);
    for (std::size_t b = 0; in_cluster_ && b < alive_; ++b) {
      if (blocks_[b]->watch.watches(address)) return note_shared(*blocks_[b], address, bytes, kind);
    }
    if (!watching_) return;
    if (block().stacks.holds(address) || is_static(address)) return;
    if (!ranges_.empty()) check_range(address, bytes, kind);
    check_early(address, bytes, kind);
    if (kind != access::read) note_global(address, bytes, kind);
  }

  /// Until the running thread has waited, it may touch nothing that the kernel before may write, or read.
  void check_early(const void* address, std::size_t bytes, access kind) {
    if (!watching_ || !begins_early_ || current_->has_waited) return;
    if (kind == access::read && is_settled(address, bytes)) return;
    record(place_name(current_->place) + (kind == access::read ? " reads " : " writes ") + std::to_string(bytes) +
           " bytes of global memory before it has waited for the kernel before" + code_place());
    give_up();
  }

  void wait_for_previous() {
    current_->has_waited = true;
    someone_waited_ = true;
  }

  void note_lasting_load(const void* address, std::size_t bytes, source_line where) {
    if (!watching_ || !begins_early_ || is_settled(address, bytes)) return;
    record(place_name(current_->place) + " at " + at_line(where) +
           ": loads by the non-coherent path what the kernel before may still write");
    give_up();
  }

  unsigned char* shared() { return reinterpret_cast<unsigned char*>(block().shared_begin()); }

  void record(std::string what) {
    if (report.empty()) report = std::move(what);
  }

  /// Ends the block; its fibers are never resumed, so nothing that owns memory may stand in their frames.
  [[noreturn]] void give_up() {
    switch_to(current_->flow, scheduler_);
    std::abort();
  }

  void wait_for_block(source_line where) {
    current_->where = where;
    current_->name = "__syncthreads";
    stop(state::in_barrier);
    complete_barrier();
    leave();
  }

  void meet(unsigned mask, warp_operation operation, void* operand, const char* name, int detail, bool orders_memory,
            source_line where) {
    thread& me = *current_;
    me.mask = mask;
    me.operation = operation;
    me.operand = operand;
    me.name = name;
    me.detail = detail;
    me.orders_memory = orders_memory;
    me.where = where;
    if ((mask >> me.place.lane & 1u) == 0) {
      record(describe(me) + ": the mask does not name the calling lane");
      give_up();
    }
    stop(state::in_warp);
    complete_warp(me);
    leave();
  }

  void give_way() {
    if (now.order == run_order::random && draw() % 16 == 0) leave();
  }

  void note_change() { ++changes_; }

  void begin_barrier(const void* at, unsigned arrivals) {
    block().watch.begin_turns();
    shared_barrier& b = block().barriers[at] = {};
    b.arrivals = b.missing = arrivals;
  }
  shared_barrier& barrier(const void* at) {
    const auto found = block().barriers.find(at);
    if (found != block().barriers.end()) return found->second;
    record(place_name(current_->place) + " uses a barrier that has not begun");
    give_up();
  }
  void arrive_at_barrier(const void* at) {
    shared_barrier& b = barrier(at);
    block().watch.offer(index_in_cluster(*current_), b.offered);
    if (b.missing == 0) {
      record(place_name(current_->place) + " arrives at a barrier whose bytes are still awaited");
      give_up();
    }
    --b.missing;
    end_phase(b);
  }
  void expect_bytes(const void* at, std::size_t bytes) { barrier(at).expected_bytes += bytes; }
  /// Noted as written by the running thread now: whoever waits for the phase comes after.
  void start_bulk_copy(const shared_barrier::bulk_copy& copy, const void* at) {
    shared_barrier& b = barrier(at);
    const auto* const to = static_cast<const std::byte*>(copy.to);
    for (const auto& [_, other] : block().barriers) {
      for (const auto& under_way : other.copies) {
        const auto* const there = static_cast<const std::byte*>(under_way.to);
        if (to < there + under_way.bytes && there < to + copy.bytes) {
          record(place_name(current_->place) + " starts a bulk copy to where another one is under way");
          give_up();
        }
      }
    }
    b.copies.push_back(copy);
    b.started_bytes += copy.bytes;
    block().watch.offer(index_in_cluster(*current_), b.offered);
    end_phase(b);
  }
  /// If all have arrived and all bytes are on their way; these land now.
  void end_phase(shared_barrier& b) {
    if (b.missing > 0 || b.started_bytes != b.expected_bytes) return;
    for (const auto& copy : b.copies) {
      note(copy.from, copy.bytes, access::read, nullptr);
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
    b.copies.clear();
    b.expected_bytes = b.started_bytes = 0;
    b.missing = b.arrivals;
    b.handed_on = b.offered;
    ++b.ended;
    note_change();
  }
  bool barrier_has_ended(const void* at, unsigned parity) {
    const shared_barrier& b = barrier(at);
    if (b.ended % 2 == parity) return false;
    block().watch.take(index_in_cluster(*current_), b.handed_on);
    return true;
  }

  unsigned cluster_rank() { return static_cast<unsigned>(block().rank); }

  std::byte* shared_of_rank(const void* shared, unsigned rank, source_line where) {
    if (!in_cluster_ && rank == 0) return static_cast<std::byte*>(const_cast<void*>(shared));
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(shared) - block().shared_begin());
    if (rank >= alive_ || offset > block().shared_bytes) {
      record(place_name(current_->place) + " at " + at_line(where) + ": there is no such memory in the cluster");
      give_up();
    }
    return blocks_[rank]->shared_begin() + offset;
  }

  void arrive_at_cluster(source_line where) {
    thread& me = *current_;
    if (me.is_at_cluster) {
      record(place_name(me.place) + " at " + at_line(where) + ": has arrived at the cluster's barrier already");
      give_up();
    }
    me.is_at_cluster = true;
    me.cluster_phase = cluster_phase_;
    ++arrived_at_cluster_;
    complete_cluster();
  }
  void wait_for_cluster(source_line where) {
    thread& me = *current_;
    if (!me.is_at_cluster) {
      record(place_name(me.place) + " at " + at_line(where) + ": waits for its cluster without having arrived");
      give_up();
    }
    while (cluster_phase_ == me.cluster_phase) wait_for_change(where);
    me.is_at_cluster = false;
  }

  void wait_for_change(source_line where) {
    current_->where = where;
    current_->name = "a wait for what others write";
    current_->changes_seen = changes_;
    stop(state::awaiting_change);
    leave();
  }

  /// The running thread's last act.
  [[noreturn]] void finish() {
    stop(state::done);
    --block().live;
    if (current_->is_at_cluster)
      record(place_name(current_->place) + " returns before its cluster's barrier has ended");
    const auto awaits_bytes = [](const auto& b) { return b.second.started_bytes + b.second.expected_bytes > 0; };
    if (block().live == 0 && std::ranges::any_of(block().barriers, awaits_bytes)) {
      record(place_name(current_->place) + " is the last to return, before a bulk copy has been waited for");
    }
    // Those that waited for this thread may be complete without it.
    complete_barrier();
    complete_cluster();
    std::vector<thread>& threads = block().threads;
    const std::size_t first = index_of(*current_) / warp_lanes * warp_lanes;
    for (std::size_t i = first; i < std::min(threads.size(), first + warp_lanes); ++i) {
      if (threads[i].now == state::in_warp) complete_warp(threads[i]);
    }
    leave();
    std::abort();
  }

  std::string describe(const thread& t) const {
    std::string text = place_name(t.place) + " in " + t.name;
    if (t.now == state::in_warp || t.mask != 0) {
      char mask[32];
      std::snprintf(mask, sizeof(mask), "(mask %08x)", t.mask);
      text += mask;
    }
    return text + " at " + at_line(t.where);
  }

 private:
  static void enter();

  /// Where in the program the access is.
  std::string code_place() const {
    if (code_ == nullptr) return "";
    char text[96];
    std::snprintf(text, sizeof(text), " (in the program at %#tx: addr2line says the line)",
                  code_ - &__executable_start);
    return text;
  }

  /// An access to the shared memory of `of`: the running thread's block, or another of its cluster.
  void note_shared(thread_block& of, const void* address, std::size_t bytes, access kind) {
    if (of.live == 0) {
      record(place_name(current_->place) + " touches the shared memory of a block that has ended" + code_place());
      give_up();
    }
    const shared_watch::hazard found =
        of.watch.note(index_in_cluster(*current_), static_cast<const std::byte*>(address), bytes, kind);
    if (found.kind == shared_watch::hazard::none) return;
    record(describe(of, found, kind));
    give_up();
  }

  std::string describe(const thread_block& of, const shared_watch::hazard& found, access kind) const {
    const auto since = [](const thread& t) {
      return place_name(t.place) +
             (t.name == nullptr ? " since its start" : std::string(" since ") + t.name + " at " + at_line(t.where));
    };
    std::string what = kind == access::read ? "a read" : kind == access::write ? "a write" : "an atomic operation";
    what += " at byte " + std::to_string(found.offset) + " of " + std::to_string(of.shared_bytes) + " of " +
            (&of == current_->block ? "" : place_name(of.threads.front().place) + "'s ") + "shared memory, by " +
            since(*current_);
    if (found.kind == shared_watch::hazard::outside) return "outside shared memory: " + what + code_place();
    return "race: " + what + ", meets a " + (found.with_write ? "write" : "read") + " by " +
           since(thread_of_cluster(found.other)) + code_place();
  }

  /// The last range that begins at `address` or before it.
  const memory_range* range_before(const void* address) const {
    const auto behind = std::ranges::upper_bound(ranges_, address, std::less<>{}, &memory_range::begin);
    return behind == ranges_.begin() ? nullptr : &*std::prev(behind);
  }

  static std::size_t offset_in(const memory_range* range, const void* address) {
    if (range == nullptr) return 0;
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                    static_cast<const std::byte*>(range->begin));
  }

  static bool holds(const memory_range* range, const void* address, std::size_t bytes) {
    return range != nullptr && offset_in(range, address) + bytes <= range->bytes;
  }

  /// The host's stack holds the launch's arguments, and scalars of tests; it lies above the frame of run().
  bool is_on_host_stack(const void* address) const {
    const auto* frame = static_cast<const std::byte*>(host_frame_);
    return address >= frame && address < frame + host_stack_bytes;
  }

  bool is_settled(const void* address, std::size_t bytes) const {
    const memory_range* range = range_before(address);
    return holds(range, address, bytes) ? range->settled : is_on_host_stack(address) || is_static(address);
  }

  void check_range(const void* address, std::size_t bytes, access kind) {
    const memory_range* range = range_before(address);
    if (holds(range, address, bytes) && (kind == access::read || range->writable)) return;
    if (is_on_host_stack(address)) return;
    record(describe(range, offset_in(range, address), bytes, kind));
    give_up();
  }

  std::string describe(const memory_range* nearest, std::size_t offset, std::size_t bytes, access kind) const {
    std::string what = place_name(current_->place) + (kind == access::read ? " reads " : " writes ") +
                       std::to_string(bytes) + " bytes of global memory that is not there";
    if (nearest != nullptr) {
      what += offset + bytes <= nearest->bytes
                  ? " for writing"
                  : ", " + std::to_string(offset) + " bytes into one of " + std::to_string(nearest->bytes);
      what += " (range " + std::to_string(nearest - ranges_.data()) + " by address)";
    }
    return what + code_place();
  }

  /// A word of global memory may be written by one thread, atomically, or by threads of one block that a barrier
  /// separates.
  void note_global(const void* address, std::size_t bytes, access kind) {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const written mine{block().number, block().watch.epoch(), index_of(*current_), kind == access::atomic};
    for (std::uintptr_t at = first; at < first + bytes; at = (at / 4 + 1) * 4) {
      const auto [found, is_new] = writes_.try_emplace(at / 4, mine);
      if (is_new) continue;
      written& other = found->second;
      const bool same_thread = other.block == mine.block && other.thread == mine.thread;
      const bool parted = other.block == mine.block && other.epoch != mine.epoch;
      if (bytes >= 4 && !same_thread && !parted && !(other.atomic && mine.atomic)) {
        record("race: " + place_name(current_->place) + " writes " + std::to_string(bytes) +
               " bytes of global memory that thread number " + std::to_string(other.thread) + " of block number " +
               std::to_string(other.block) + " has written" + code_place());
        give_up();
      }
      other = mine;
    }
  }

  /// The running thread's.
  thread_block& block() { return *current_->block; }
  static std::size_t index_of(const thread& t) { return t.block->index_of(t); }
  static std::size_t index_in_cluster(const thread& t) { return t.block->first_in_cluster() + index_of(t); }
  const thread& thread_of_cluster(std::size_t index) const {
    const std::size_t each = current_->block->threads.size();
    return in_cluster_ ? blocks_[index / each]->threads[index % each] : current_->block->threads[index];
  }

  void stop(state why) {
    current_->now = why;
    const std::size_t i = index_of(*current_);
    warp& mine = block().warps[i / warp_lanes];
    const std::uint32_t lane = 1u << i % warp_lanes;
    mine.ready &= ~lane;
    if (why == state::in_warp) mine.waiting |= lane;
    if (why == state::done) mine.done |= lane;
    if (why == state::in_barrier) ++block().in_barrier;
  }

  void resume(thread& t) {
    const std::size_t i = index_of(t);
    warp& its = t.block->warps[i / warp_lanes];
    const std::uint32_t lane = 1u << i % warp_lanes;
    its.ready |= lane;
    its.waiting &= ~lane;
    if (t.now == state::in_barrier) --t.block->in_barrier;
    t.now = state::ready;
    t.mask = 0;
  }

  /// xorshift64.
  std::uint64_t draw() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ >> 8;
  }

  void let_run(thread& next) {
    current_ = &next;
    running = next.place;
  }

  /// Hands over to the next thread; to run_blocks() if there is none or a rule was broken.
  void leave() {
    thread& me = *current_;
    thread* next = report.empty() ? choose() : nullptr;
    if (next == &me) return;
    if (next != nullptr) let_run(*next);
    switch_to(me.flow, next != nullptr ? next->flow : scheduler_);
  }

  /// The blocks' numbers in the order in which they run; empty: as they are.
  std::vector<std::uint64_t> block_order(std::uint64_t num_blocks) {
    if (now.order == run_order::forward) return {};
    std::vector<std::uint64_t> order(num_blocks);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    if (now.order == run_order::backward) {
      std::ranges::reverse(order);
    } else {
      for (std::uint64_t i = num_blocks - 1; i > 0; --i) std::swap(order[i], order[draw() % (i + 1)]);
    }
    return order;
  }

  void begin_block(thread_block& b, std::uint64_t number, const launch_shape& shape) {
    const index3 grid = shape.grid, block = shape.block;
    const index3 where{static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
                       static_cast<unsigned>(number / grid.x / grid.y)};
    b.number = number;
    b.rank = number % shape.cluster;
    b.threads.resize(std::size_t{block.x} * block.y * block.z);
    b.warps.resize((b.threads.size() + warp_lanes - 1) / warp_lanes);
    b.shared_bytes = shape.shared_bytes;
    b.shared.resize(shape.shared_bytes + 2 * guard_bytes + 16);
    std::byte* const begin = b.shared_begin();
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      begin[b.shared_bytes + i] = canary(i);
      *(begin - 1 - i) = canary(i);
    }
    std::memset(begin, 0xff, b.shared_bytes);  // NaN in every type

    if (now.watch_memory) b.watch.begin(begin, b.shared_bytes, b.threads.size() * shape.cluster);
    b.live = b.threads.size();
    b.in_barrier = 0;
    b.barriers.clear();
    for (warp& w : b.warps) w = {};
    if (b.live % warp_lanes != 0) b.warps.back().done = ~0u << b.live % warp_lanes;  // no such lanes
    for (std::size_t i = 0; i < b.threads.size(); ++i) {
      thread& t = b.threads[i];
      const auto n = static_cast<unsigned>(i);
      t.place = {{n % block.x, n / block.x % block.y, n / block.x / block.y}, where, block, grid, n % warp_lanes};
      t.block = &b;
      t.has_waited = false;
      t.is_at_cluster = false;
      t.copies.clear();
      t.groups = 0;
      t.name = nullptr;
      t.now = state::done;
      resume(t);
      b.stacks.forget_frames(i);
      prepare(t.flow, b.stacks.of(i), &machine::enter);
    }
  }

  /// Runs the blocks that are alive to their end.
  void run_blocks() {
    while (std::any_of(blocks_.begin(), blocks_.begin() + std::ptrdiff_t(alive_),
                       [](const auto& each) { return each->live > 0; })) {
      thread* next = choose();
      if (next == nullptr) {
        report = deadlock();
        return;
      }
      let_run(*next);
      switch_to(scheduler_, next->flow);
      if (!report.empty()) return;
    }
    for (std::size_t i = 0; i < alive_ && report.empty(); ++i) check_guards(*blocks_[i]);
  }

  thread* choose() {
    thread* const next = choose_ready();
    if (next != nullptr || !let_changes_be_seen()) return next;
    return choose_ready();
  }

  /// Whether somebody has written since others began to wait for it; these look again.
  bool let_changes_be_seen() {
    bool any = false;
    for (std::size_t b = 0; b < alive_; ++b) {
      for (thread& t : blocks_[b]->threads) {
        if (t.now != state::awaiting_change || t.changes_seen == changes_) continue;
        resume(t);
        any = true;
      }
    }
    return any;
  }

  /// Of the blocks in the order in which they were begun, beginning with any if the order is random.
  thread* choose_ready() {
    const std::size_t first = now.order == run_order::random && alive_ > 1 ? draw() % alive_ : 0;
    for (std::size_t i = 0; i < alive_; ++i) {
      if (thread* next = choose_ready(*blocks_[(first + i) % alive_])) return next;
    }
    return nullptr;
  }

  thread* choose_ready(thread_block& in) {
    const std::vector<warp>& warps = in.warps;
    std::vector<thread>& threads = in.threads;
    const std::size_t num_warps = warps.size();
    if (now.order == run_order::backward) {
      for (std::size_t w = num_warps; w-- > 0;) {
        const std::uint32_t ready = warps[w].ready;
        if (ready != 0) return &threads[w * warp_lanes + (warp_lanes - 1 - unsigned(std::countl_zero(ready)))];
      }
      return nullptr;
    }
    // Random: any warp, and then those behind it; any lane, and then those behind it.
    const bool any = now.order == run_order::random;
    const std::size_t first = any ? draw() % num_warps : 0;
    for (std::size_t i = 0; i < num_warps; ++i) {
      const std::size_t w = first + i < num_warps ? first + i : first + i - num_warps;
      const std::uint32_t ready = warps[w].ready;
      if (ready == 0) continue;
      const unsigned turn = any ? static_cast<unsigned>(draw() % warp_lanes) : 0;
      const unsigned behind = static_cast<unsigned>(std::countr_zero(std::rotr(ready, static_cast<int>(turn))));
      return &threads[w * warp_lanes + (behind + turn) % warp_lanes];
    }
    return nullptr;
  }

  void complete_barrier() {
    thread_block& b = block();
    if (b.in_barrier == 0 || b.in_barrier != b.live) return;
    const thread* first = nullptr;
    for (thread& t : b.threads) {
      if (t.now != state::in_barrier) continue;
      if (first == nullptr) first = &t;
      if (!(t.where == first->where)) {
        record("threads meet in different barriers: " + describe(*first) + ", " + describe(t));
        return;
      }
    }
    b.watch.join_block();
    for (thread& t : b.threads) {
      if (t.now == state::in_barrier) resume(t);
    }
  }

  /// Ends a phase of the cluster's barrier, if all that have not returned have arrived.
  void complete_cluster() {
    std::size_t live = 0;
    for (std::size_t b = 0; b < alive_; ++b) live += blocks_[b]->live;
    if (arrived_at_cluster_ == 0 || arrived_at_cluster_ < live) return;
    arrived_at_cluster_ = 0;
    ++cluster_phase_;
    for (std::size_t b = 0; b < alive_; ++b) blocks_[b]->watch.join_block();
    note_change();
  }

  /// Performs the operation that `one` waits for, if all have come.
  void complete_warp(thread& one) {
    const std::size_t base = index_of(one) / warp_lanes * warp_lanes;
    const warp& its = block().warps[base / warp_lanes];
    std::vector<thread>& threads = block().threads;
    const unsigned lanes = one.mask & ~its.done;
    if ((lanes & ~its.waiting) != 0) return;
    std::array<void*, warp_lanes> operands{};
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      if ((lanes >> lane & 1u) == 0) continue;
      const thread& other = threads[base + lane];
      if (other.mask != one.mask) return;  // waits for others
      operands[lane] = other.operand;
    }
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      if ((lanes >> lane & 1u) == 0) continue;
      const thread& other = threads[base + lane];
      const bool same_name = other.name == one.name || std::strcmp(other.name, one.name) == 0;
      if (other.operation != one.operation || !same_name || other.detail != one.detail) {
        return record("lanes of one mask disagree on what they do: " + describe(one) + ", " + describe(other));
      }
    }
    if (const char* broken = one.operation(operands.data(), lanes)) return record(describe(one) + ": " + broken);
    const std::size_t in_cluster = (block().first_in_cluster() + base) / warp_lanes;
    if (one.orders_memory) block().watch.join_lanes(in_cluster, lanes);
    for (std::size_t b = 0; in_cluster_ && one.orders_memory && b < alive_; ++b) {
      if (b != block().rank) blocks_[b]->watch.join_lanes(in_cluster, lanes);
    }
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      if ((lanes >> lane & 1u) != 0) resume(threads[base + lane]);
    }
  }

  std::string deadlock() const {
    std::string text = "deadlock: nobody can go on";
    for (std::size_t b = 0; b < alive_; ++b) text += who_waits(blocks_[b]->threads);
    return text;
  }

  std::string who_waits(const std::vector<thread>& threads) const {
    std::string text;
    for (std::size_t i = 0; i < threads.size();) {
      const auto waits_for = [&](const thread& t) {
        if (t.now == state::done) return std::string("has returned");
        const std::string whole = describe(t);
        return "waits" + whole.substr(whole.find(" in ", place_name(t.place).size()));
      };
      const std::string what = waits_for(threads[i]);
      std::size_t last = i;
      while (last + 1 < threads.size() && waits_for(threads[last + 1]) == what) ++last;
      text += "\n  " + place_name(threads[i].place);
      if (last > i) text += " and the " + std::to_string(last - i) + " after it";
      text += ": " + what;
      i = last + 1;
    }
    return text;
  }

  void check_guards(thread_block& of) {
    const std::byte* const begin = of.shared_begin();
    const index3 where = of.threads.front().place.block;
    const auto broken = [&](const char* side, std::size_t distance) {
      char text[160];
      std::snprintf(text, sizeof(text), "block (%u, %u, %u) wrote %s its %zu bytes of shared memory, %zu bytes off",
                    where.x, where.y, where.z, side, of.shared_bytes, distance);
      report = text;
    };
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      if (begin[of.shared_bytes + i] != canary(i)) return broken("behind", i);
    }
    for (std::size_t i = 0; i < guard_bytes; ++i) {
      if (*(begin - 1 - i) != canary(i)) return broken("before", i);
    }
  }

  const std::function<void()>* kernel_ = nullptr;
  std::uint64_t random_ = 1;
  std::vector<std::unique_ptr<thread_block>> blocks_;  ///< the first `alive_` of them run
  std::size_t alive_ = 0;
  bool in_cluster_ = false;             ///< those that are alive are one
  std::size_t arrived_at_cluster_ = 0;  ///< threads, in the phase of its barrier that is
  std::uint64_t cluster_phase_ = 0;
  std::uint64_t changes_ = 0;  ///< that threads have made for others to see
  thread* current_ = nullptr;
  context scheduler_;
  bool watching_ = false;
  bool begins_early_ = false, someone_waited_ = false;
  const char* code_ = nullptr;        ///< that makes the access
  std::vector<memory_range> ranges_;  ///< of global memory, by address
  const void* host_frame_ = nullptr;
  static constexpr std::size_t host_stack_bytes = 1 << 20;  ///< beyond that frame, for the callers of run()
  std::unordered_map<std::uintptr_t, written> writes_;      ///< to global memory, by the number of the word

  friend machine& gpu();
};

machine one;
machine& gpu() { return one; }

void machine::enter() {
  // The first one comes from run_blocks(), and so says which stack that is on.
  arrive(nullptr, gpu().scheduler_.stack == nullptr ? &gpu().scheduler_ : nullptr);
  gpu().in_kernel = true;
  (*gpu().kernel_)();
  gpu().in_kernel = false;
  gpu().finish();
}

}  // namespace

settings& current_settings() { return gpu().now; }
const std::string& report() { return gpu().report; }

bool run_grid(const launch_shape& shape, const std::function<void()>& kernel) { return gpu().run(shape, kernel); }

unsigned char* shared_memory() { return gpu().shared(); }

namespace {

/// Lives while the emulation itself works for the running thread.
class outside_kernel {
 public:
  outside_kernel() { gpu().in_kernel = false; }
  ~outside_kernel() { gpu().in_kernel = true; }
  outside_kernel(const outside_kernel&) = delete;
  outside_kernel& operator=(const outside_kernel&) = delete;
};

}  // namespace

void break_rule(const char* what, source_line where) {
  gpu().in_kernel = false;
  gpu().record(place_name(running) + " at " + at_line(where) + ": " + what);
  gpu().give_up();
}

void wait_for_block(source_line where) {
  const outside_kernel here;
  gpu().wait_for_block(where);
}

void meet_in_warp(unsigned mask, warp_operation operation, void* operand, const char* name, int detail,
                  bool orders_memory, source_line where) {
  const outside_kernel here;
  gpu().meet(mask, operation, operand, name, detail, orders_memory, where);
}

void give_way() {
  const outside_kernel here;
  gpu().give_way();
}

void note_change() { gpu().note_change(); }

void begin_barrier(const void* at, unsigned arrivals) { gpu().begin_barrier(at, arrivals); }
void arrive_at_barrier(const void* at) { gpu().arrive_at_barrier(at); }
bool barrier_has_ended(const void* at, unsigned parity) { return gpu().barrier_has_ended(at, parity); }
void expect_bytes(const void* at, std::size_t bytes) { gpu().expect_bytes(at, bytes); }

void wait_for_change(source_line where) {
  const outside_kernel here;
  gpu().wait_for_change(where);
}

unsigned cluster_rank() { return gpu().cluster_rank(); }
void* shared_memory_of_rank(void* shared, unsigned rank, source_line where) {
  const outside_kernel here;
  return gpu().shared_of_rank(shared, rank, where);
}
void arrive_at_cluster(source_line where) {
  const outside_kernel here;
  gpu().arrive_at_cluster(where);
}
void wait_for_cluster(source_line where) {
  const outside_kernel here;
  gpu().wait_for_cluster(where);
}

void note_access(const void* address, std::size_t bytes, access kind, const void* code) {
  if (!gpu().in_kernel) return;
  const outside_kernel here;
  gpu().note(address, bytes, kind, code);
}

void wait_for_previous() {
  const outside_kernel here;
  gpu().wait_for_previous();
}

void note_lasting_load(const void* address, std::size_t bytes, source_line where) {
  const outside_kernel here;
  gpu().note_lasting_load(address, bytes, where);
}

std::size_t& allowed_shared_bytes(const void* kernel) {
  constexpr std::size_t without_asking = 48 * 1024;
  static std::map<const void*, std::size_t> allowed;
  return allowed.try_emplace(kernel, without_asking).first->second;
}

void start_copy(void* to_shared, const void* from, int bytes, int present, source_line where) {
  const outside_kernel here;
  const auto aligned = [&](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % unsigned(bytes) == 0; };
  auto* const to = static_cast<unsigned char*>(to_shared);
  if (!aligned(to) || !aligned(from)) break_rule("a copy from or to an address that is not aligned to it", where);
  if (present < 0 || present > bytes) break_rule("a copy of fewer bytes than none, or of more than fit", where);
  thread& me = gpu().current();
  // The source may be read at once.
  if (present > 0) gpu().check_early(from, static_cast<std::size_t>(present), access::read);
  // Until it is waited for, the destination holds neither what was there nor what will be.
  gpu().note(to, static_cast<std::size_t>(bytes), access::write, nullptr);
  std::memset(to, 0xff, static_cast<std::size_t>(bytes));
  me.copies.push_back({to, from, bytes, present, me.groups});
}

void start_bulk_copy(void* to_shared, const void* from, std::size_t bytes, const void* barrier, source_line where) {
  const outside_kernel here;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (!aligned(to_shared) || !aligned(from)) break_rule("a bulk copy from or to an address that is not aligned", where);
  if (bytes == 0 || bytes % 16 != 0) break_rule("a bulk copy of a number of bytes that is no multiple of 16", where);
  gpu().check_early(from, bytes, access::read);
  gpu().note(to_shared, bytes, access::write, nullptr);
  std::memset(to_shared, 0xff, bytes);
  gpu().start_bulk_copy({to_shared, from, bytes}, barrier);
}

namespace {

void finish_groups_before(int group) {
  const outside_kernel here;
  auto& copies = gpu().current().copies;
  auto next = copies.begin();
  for (; next != copies.end() && next->group < group; ++next) {
    gpu().note(next->to, static_cast<std::size_t>(next->bytes), access::write, nullptr);
    if (next->present > 0) {
      gpu().note(next->from, static_cast<std::size_t>(next->present), access::read, nullptr);
    }
    if (next->present > 0) std::memcpy(next->to, next->from, static_cast<std::size_t>(next->present));
    std::memset(static_cast<char*>(next->to) + next->present, 0, static_cast<std::size_t>(next->bytes - next->present));
  }
  copies.erase(copies.begin(), next);
}

}  // namespace

void finish_copies() { finish_groups_before(gpu().current().groups + 1); }
void commit_copies() { ++gpu().current().groups; }
void finish_copies_but(int newest_groups) { finish_groups_before(gpu().current().groups - newest_groups); }

}  // namespace bcsc::emulation
