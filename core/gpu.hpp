#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/error.hpp"
#include "core/function_ref.hpp"

/// The GPU as the host code sees it, with no CUDA header. gpu_cuda.cpp implements it over the CUDA runtime,
/// gpu_none.cpp for a build without CUDA: there the list of devices is empty and everything else throws
/// error{no_device}.
namespace bcsc::core::gpu {

/// What decides whether a GPU can be used, apart from the GPU itself.
struct platform {
  bool built_with_cuda = false;
  int driver_version = 0;        ///< as cudaDriverGetVersion gives it (13000 for 13.0); 0: no driver
  int runtime_version = 0;       ///< the runtime this library is built with
  std::vector<int> built_archs;  ///< e.g. {90}; the last one is also built as PTX
};

/// Fills `usable` and `why_not` of `device`, and returns the error that requesting it raises. A pure function.
errc assess(const platform& machine, device_info& device);

/// The error of requesting a device where there is none at all, and its message. A pure function.
errc assess_absence(const platform& machine, std::string& why);

platform this_platform();
/// Every GPU with its verdict; never throws.
std::vector<device_info> list_devices();

/// Makes `device` current on this thread and restores the former one at the end.
class device_guard {
 public:
  explicit device_guard(int device);
  ~device_guard();
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int former_ = -1;
};

/// GPU memory that is kept on release and handed out again: an allocation takes microseconds rather than the hundreds
/// that the driver needs to map it. Belongs to a context and outlives all memory taken from it: destroying a pool
/// earlier can crash the driver later.
class memory_pool {
 public:
  explicit memory_pool(int device);
  ~memory_pool();
  memory_pool(const memory_pool&) = delete;
  memory_pool& operator=(const memory_pool&) = delete;
  int device() const { return device_; }
  void* handle() const { return handle_; }
  std::size_t device_bytes() const { return device_bytes_; }
  /// Returns released memory beyond the bound to the driver.
  void trim() const noexcept;

 private:
  friend class side_stream;
  int device_;
  std::size_t device_bytes_ = 0;  ///< of the whole GPU
  void* handle_ = nullptr;        ///< a cudaMemPool_t; null: the GPU has none
  /// Idle side streams: creating one takes tens of microseconds.
  struct idle_stream {
    cuda_stream stream;
    void* event;  ///< a cudaEvent_t
  };
  mutable std::mutex idle_lock_;
  mutable std::vector<idle_stream> idle_streams_;
};

/// While it lives, this thread allocates from `pool` (unless that is null), and may release memory that `stream` still
/// uses: all work in this scope is on that stream, and what is allocated there is for it alone until it has been waited
/// for.
class pool_guard {
 public:
  explicit pool_guard(std::shared_ptr<const memory_pool> pool, cuda_stream stream = nullptr);
  ~pool_guard();
  pool_guard(const pool_guard&) = delete;
  pool_guard& operator=(const pool_guard&) = delete;

 private:
  std::shared_ptr<const memory_pool> former_;
  cuda_stream former_stream_ = nullptr;
};

/// Suspends the pool_guards around it for this thread: a release waits for every stream.
class outside_pools {
 public:
  outside_pools() noexcept;
  ~outside_pools();
  outside_pools(const outside_pools&) = delete;
  outside_pools& operator=(const outside_pools&) = delete;

 private:
  std::shared_ptr<const memory_pool> former_;
};

/// A stream beside the default one, for work that may overlap with it: ordered after what has been submitted to the
/// default stream so far. Taken from the current pool, if there is one. Throws error{cuda_error}.
class side_stream {
 public:
  side_stream();
  ~side_stream();  ///< waits, if it was not joined
  side_stream(const side_stream&) = delete;
  side_stream& operator=(const side_stream&) = delete;
  cuda_stream get() const { return held_.stream; }
  /// Work submitted to the default stream from now on waits for this stream.
  void join();

 private:
  std::shared_ptr<const memory_pool> pool_;
  memory_pool::idle_stream held_{};
  bool joined_ = false;
};

/// Work that was recorded once and is submitted as often as wanted, in one call. Pointers and sizes are those of the
/// recording.
class graph {
 public:
  /// Records what `submit` submits to `stream`, any but the default one; nothing runs yet. What submit throws passes
  /// through, and the stream is as it was. Throws error{cuda_error}, also where a submission cannot be recorded.
  graph(cuda_stream stream, core::function_ref<void()> submit);
  ~graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  void launch(cuda_stream stream) const;

 private:
  void* handle_ = nullptr;  ///< a cudaGraphExec_t
};

/// Memory and the pool it came from (null: the driver's own).
struct allocation {
  void* pointer = nullptr;
  std::shared_ptr<const memory_pool> pool;
};

/// All of these throw error{out_of_memory | cuda_error}; `stream` null is the default stream.
allocation allocate(std::size_t bytes);
/// Outside a pool_guard of its pool, waits for the whole device first, so that work on any stream may still be using
/// the memory. Where it cannot wait (during a capture, after a sticky error) the memory is leaked: better that than two
/// users of the same memory.
void release(const allocation& memory) noexcept;
/// Bytes that can be allocated on the current device: the free ones and those that the current pool keeps.
std::int64_t free_bytes();
void copy_to_device(void* to, const void* from, std::size_t bytes, cuda_stream stream = nullptr);
void copy_to_host(void* to, const void* from, std::size_t bytes, cuda_stream stream = nullptr);  ///< waits
void copy_on_device(void* to, const void* from, std::size_t bytes, cuda_stream stream = nullptr);
void fill_zero(void* to, std::size_t bytes, cuda_stream stream = nullptr);
void synchronize(cuda_stream stream = nullptr);
/// Whether all work submitted to `stream`, which must exist, has finished. False where that cannot be determined:
/// during a capture. Disturbs no capture and leaves no error behind.
bool is_idle(cuda_stream stream) noexcept;

/// Page-locked host memory: copies between it and a GPU return at once. Throws error{out_of_memory | cuda_error}.
class locked_memory {
 public:
  explicit locked_memory(std::size_t bytes);
  ~locked_memory();  ///< waits for the last fetch
  locked_memory(const locked_memory&) = delete;
  locked_memory& operator=(const locked_memory&) = delete;
  void* data() const { return data_; }
  /// Copies bytes from the GPU to `offset`, behind the work submitted to `stream` so far.
  void fetch(std::size_t offset, const void* from, std::size_t bytes, cuda_stream stream);
  /// Until the last fetch is done.
  void wait() const;

 private:
  void* data_ = nullptr;
  void* fetched_ = nullptr;  ///< a cudaEvent_t
};

/// Times work on a GPU with events around replays of a captured graph, so that the host's launch overhead does not
/// count. Has its own stream. All of it throws error{cuda_error | out_of_memory | context_poisoned}.
class replayer {
 public:
  using work = std::function<void(cuda_stream)>;

  explicit replayer(int device);
  ~replayer();  ///< waits
  replayer(const replayer&) = delete;
  replayer& operator=(const replayer&) = delete;

  /// Runs it on the stream, and waits.
  void run(const work& once) const;
  /// Captures what it enqueues, to be replayed. What it launches must have run before, or loading it breaks the
  /// capture.
  std::size_t record(const work& recorded);
  /// One replay's time on the GPU. `warm`: behind another replay, during which the host enqueues what is timed.
  double seconds(std::size_t recording, bool warm) const;

 private:
  int device_;
  cuda_stream stream_ = nullptr;
  void* begin_ = nullptr;  ///< a cudaEvent_t, like the next
  void* end_ = nullptr;
  std::vector<void*> graphs_;  ///< cudaGraphExec_t
};

/// Whether `pointer` can be read by kernels on `device` (device or managed memory there).
bool is_device_pointer(const void* pointer, int device);
/// Whether `pointer` is memory of some GPU that the host cannot read.
bool is_device_only(const void* pointer);

/// Throws if the last launch failed or an earlier one left a sticky error. `status` is a cudaError_t.
void check_launch(int status, const char* what);
/// Whether a cudaError_t leaves the device context permanently unusable. Unknown codes, those of future releases
/// included, count as such. A pure function.
bool is_sticky(int status) noexcept;

/// Times the library has allocated device memory in this process (tests prove that run() does not).
std::int64_t num_allocations() noexcept;

}  // namespace bcsc::core::gpu
