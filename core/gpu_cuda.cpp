#include <cuda_runtime_api.h>

#include <atomic>
#include <charconv>
#include <exception>
#include <utility>

#include "bcsc_config.h"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "core/memory.hpp"

namespace bcsc::core::gpu {

namespace {

std::atomic<std::int64_t> allocations{0};

/// The maximum of released memory that a pool keeps; the rest goes back to the driver.
constexpr std::uint64_t max_kept_bytes = std::uint64_t{1} << 30;
thread_local std::shared_ptr<const memory_pool> current_pool;
thread_local cuda_stream pool_stream = nullptr;  ///< on which memory is taken from it and given back

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  if (!is_sticky(status)) (void)cudaGetLastError();  // otherwise the next caller would see it
  const errc code = status == cudaErrorMemoryAllocation ? errc::out_of_memory
                    : is_sticky(status)                 ? errc::context_poisoned
                                                        : errc::cuda_error;
  fail(code, "{}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

/// The current pool's CUDA handle, or null unless it belongs to the current device.
cudaMemPool_t pool_here() {
  int device = -1;
  const bool here =
      current_pool != nullptr && cudaGetDevice(&device) == cudaSuccess && device == current_pool->device();
  return here ? static_cast<cudaMemPool_t>(current_pool->handle()) : nullptr;
}

}  // namespace

platform this_platform() {
  platform machine;
  machine.built_with_cuda = true;
  machine.runtime_version = CUDART_VERSION;
  if (cudaDriverGetVersion(&machine.driver_version) != cudaSuccess) machine.driver_version = 0;
  const std::string_view archs = BCSC_CUDA_ARCHS;
  for (const char *at = archs.data(), *end = at + archs.size(); at < end;) {
    int arch = 0;
    const auto [next, status] = std::from_chars(at, end, arch);
    if (status == std::errc{}) machine.built_archs.push_back(arch);
    at = next + 1;
  }
  return machine;
}

std::vector<device_info> list_devices() {
  const platform machine = this_platform();
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  std::vector<device_info> list;
  for (int d = 0; d < count; ++d) {
    device_info info;
    info.device = d;
    cudaDeviceProp facts{};
    if (cudaGetDeviceProperties(&facts, d) != cudaSuccess) {
      (void)cudaGetLastError();
      info.why_not = "its properties cannot be read";
      list.push_back(info);
      continue;
    }
    info.name = facts.name;
    info.compute_major = facts.major;
    info.compute_minor = facts.minor;
    info.num_multiprocessors = facts.multiProcessorCount;
    info.memory_bytes = static_cast<std::int64_t>(facts.totalGlobalMem);
    info.l2_bytes = facts.l2CacheSize;
    info.shared_bytes_per_block = static_cast<std::int64_t>(facts.sharedMemPerBlockOptin);
    int memory_khz = 0, bus_bits = 0;
    (void)cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, d);
    (void)cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, d);
    info.peak_bandwidth = 2.0 * memory_khz * 1e3 * bus_bits / 8;  // double data rate
    (void)assess(machine, info);
    list.push_back(info);
  }
  return list;
}

device_guard::device_guard(int device) {
  check(cudaGetDevice(&former_), "cudaGetDevice");
  if (former_ == device) {
    former_ = -1;
  } else {
    check(cudaSetDevice(device), "cudaSetDevice");
  }
}

device_guard::~device_guard() {
  if (former_ >= 0) (void)cudaSetDevice(former_);
}

memory_pool::memory_pool(int device) : device_(device) {
  int supported = 0;
  (void)cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
  if (supported == 0) return;
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device;
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &wanted), "cudaMemPoolCreate");
  handle_ = pool;
  // The release threshold counts memory in use as well: the pool keeps everything, and trim() bounds the idle part.
  std::uint64_t kept = ~std::uint64_t{0};
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "cudaMemPoolSetAttribute");
  std::size_t free = 0;
  check(cudaMemGetInfo(&free, &device_bytes_), "cudaMemGetInfo");
}

void memory_pool::trim() const noexcept {
  if (handle_ == nullptr) return;
  const auto pool = static_cast<cudaMemPool_t>(handle_);
  std::uint64_t reserved = 0, used = 0;
  const bool known = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
                     cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess;
  if (known && reserved > used + max_kept_bytes) (void)cudaMemPoolTrimTo(pool, used + max_kept_bytes);
}

memory_pool::~memory_pool() {
  for (const idle_stream& idle : idle_streams_) {
    (void)cudaEventDestroy(static_cast<cudaEvent_t>(idle.event));
    (void)cudaStreamDestroy(idle.stream);
  }
  if (handle_ == nullptr) return;
  int former = device_;
  (void)cudaGetDevice(&former);
  (void)cudaSetDevice(device_);
  (void)cudaDeviceSynchronize();  // waits for the releases still pending on any stream
  (void)cudaMemPoolDestroy(static_cast<cudaMemPool_t>(handle_));
  (void)cudaSetDevice(former);
}

pool_guard::pool_guard(std::shared_ptr<const memory_pool> pool, cuda_stream stream)
    : former_(current_pool), former_stream_(pool_stream) {
  if (pool == nullptr || pool->handle() == nullptr) return;
  current_pool = std::move(pool);
  pool_stream = stream;
}
pool_guard::~pool_guard() {
  if (former_ == nullptr && current_pool != nullptr) current_pool->trim();
  current_pool = std::move(former_);
  pool_stream = former_stream_;
}

outside_pools::outside_pools() noexcept : former_(std::move(current_pool)) { current_pool = nullptr; }
outside_pools::~outside_pools() { current_pool = std::move(former_); }

side_stream::side_stream() {
  int device = -1;
  if (current_pool != nullptr && cudaGetDevice(&device) == cudaSuccess && device == current_pool->device()) {
    pool_ = current_pool;
    const std::lock_guard lock(pool_->idle_lock_);
    if (!pool_->idle_streams_.empty()) {
      held_ = pool_->idle_streams_.back();
      pool_->idle_streams_.pop_back();
    }
  }
  if (held_.stream == nullptr) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    held_.event = event;
    const cudaError_t status = cudaStreamCreateWithFlags(&held_.stream, cudaStreamNonBlocking);
    if (status != cudaSuccess) (void)cudaEventDestroy(event);
    check(status, "cudaStreamCreate");
  }
  const auto event = static_cast<cudaEvent_t>(held_.event);
  cudaError_t status = cudaEventRecord(event, nullptr);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(held_.stream, event, 0);
  if (status == cudaSuccess) return;
  (void)cudaEventDestroy(event);
  (void)cudaStreamDestroy(held_.stream);
  check(status, "side stream");
}

side_stream::~side_stream() {
  // Not joined: an exception is unwinding, and memory in use here is about to be released.
  if (!joined_) (void)cudaStreamSynchronize(held_.stream);
  if (pool_ != nullptr) {
    try {
      const std::lock_guard lock(pool_->idle_lock_);
      pool_->idle_streams_.push_back(held_);
      return;
    } catch (const std::exception&) {
      // No memory to keep track of it: destroy it.
    }
  }
  (void)cudaEventDestroy(static_cast<cudaEvent_t>(held_.event));
  (void)cudaStreamDestroy(held_.stream);
}

void side_stream::join() {
  const auto event = static_cast<cudaEvent_t>(held_.event);
  check(cudaEventRecord(event, held_.stream), "side stream");
  check(cudaStreamWaitEvent(nullptr, event, 0), "side stream");
  joined_ = true;
}

graph::graph(cuda_stream stream, core::function_ref<void()> submit) {
  // Thread-local: what other threads do meanwhile does not affect the capture.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t recorded = nullptr;
  try {
    submit();
  } catch (...) {
    (void)cudaStreamEndCapture(stream, &recorded);
    (void)cudaGetLastError();
    if (recorded != nullptr) (void)cudaGraphDestroy(recorded);
    throw;
  }
  check(cudaStreamEndCapture(stream, &recorded), "recording a CUDA graph");
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&made, recorded, 0);
  (void)cudaGraphDestroy(recorded);
  check(status, "cudaGraphInstantiate");
  handle_ = made;
}

graph::~graph() {
  if (handle_ != nullptr) (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(handle_));
}

void graph::launch(cuda_stream stream) const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(handle_), stream), "cudaGraphLaunch");
}

allocation allocate(std::size_t bytes) {
  allocation memory;
  // A size beyond the GPU's memory goes to cudaMalloc, which reports it.
  const cudaMemPool_t pool = pool_here();
  const bool pooled = pool != nullptr && bytes <= current_pool->device_bytes();
  if (pooled) memory.pool = current_pool;
  const cudaError_t status =
      pooled ? cudaMallocFromPoolAsync(&memory.pointer, bytes, pool, pool_stream) : cudaMalloc(&memory.pointer, bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    fail(errc::out_of_memory, "the GPU has no {} left: {} are free", bytes_text(static_cast<std::int64_t>(bytes)),
         bytes_text(free_bytes()));
  }
  check(status, pooled ? "cudaMallocFromPoolAsync" : "cudaMalloc");
  ++allocations;
  return memory;
}

void release(const allocation& memory) noexcept {
  cudaError_t status = cudaSuccess;
  if (memory.pool == nullptr) {
    status = cudaFree(memory.pointer);  // waits by itself
  } else {
    const bool in_order = current_pool == memory.pool;
    if (!in_order) status = cudaDeviceSynchronize();
    if (status == cudaSuccess) status = cudaFreeAsync(memory.pointer, in_order ? pool_stream : nullptr);
  }
  if (status != cudaSuccess && !is_sticky(status)) (void)cudaGetLastError();
}

std::int64_t free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  std::uint64_t reserved = 0, used = 0;
  if (const cudaMemPool_t pool = pool_here(); pool != nullptr) {
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), "cudaMemPoolGetAttribute");
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "cudaMemPoolGetAttribute");
  }
  return static_cast<std::int64_t>(free + (reserved - used));
}

void copy_to_device(void* to, const void* from, std::size_t bytes, cuda_stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copy to the GPU");
}

void copy_to_host(void* to, const void* from, std::size_t bytes, cuda_stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "copy from the GPU");
  synchronize(stream);
}

void copy_on_device(void* to, const void* from, std::size_t bytes, cuda_stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copy on the GPU");
}

void fill_zero(void* to, std::size_t bytes, cuda_stream stream) {
  check(cudaMemsetAsync(to, 0, bytes, stream), "cudaMemset");
}

void synchronize(cuda_stream stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

bool is_idle(cuda_stream stream) noexcept {
  // A query would end the capture of `stream`; while another stream is captured, it is legal in relaxed mode only.
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaError_t status = cudaStreamIsCapturing(stream, &capture);
  bool idle = false;
  if (status == cudaSuccess && capture == cudaStreamCaptureStatusNone) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    status = cudaStreamQuery(stream);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    idle = status == cudaSuccess;
  }
  if (status != cudaSuccess) (void)cudaGetLastError();
  return idle;
}

locked_memory::locked_memory(std::size_t bytes) {
  check(cudaMallocHost(&data_, bytes), "page-locked memory");
  cudaEvent_t event = nullptr;
  const cudaError_t status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  fetched_ = event;
  if (status == cudaSuccess) return;
  (void)cudaFreeHost(data_);
  check(status, "cudaEventCreate");
}

locked_memory::~locked_memory() {
  const auto event = static_cast<cudaEvent_t>(fetched_);
  (void)cudaEventSynchronize(event);
  (void)cudaEventDestroy(event);
  (void)cudaFreeHost(data_);
}

void locked_memory::fetch(std::size_t offset, const void* from, std::size_t bytes, cuda_stream stream) {
  check(cudaMemcpyAsync(static_cast<std::byte*>(data_) + offset, from, bytes, cudaMemcpyDeviceToHost, stream),
        "copy from the GPU");
  check(cudaEventRecord(static_cast<cudaEvent_t>(fetched_), stream), "cudaEventRecord");
}

void locked_memory::wait() const { check(cudaEventSynchronize(static_cast<cudaEvent_t>(fetched_)), "work on the GPU"); }

replayer::replayer(int device) : device_(device) {
  const device_guard guard(device_);
  cudaEvent_t begin = nullptr, end = nullptr;
  cudaError_t status = cudaEventCreate(&begin);
  if (status == cudaSuccess) status = cudaEventCreate(&end);
  if (status == cudaSuccess) status = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  begin_ = begin;
  end_ = end;
  if (status == cudaSuccess) return;
  if (begin != nullptr) (void)cudaEventDestroy(begin);
  if (end != nullptr) (void)cudaEventDestroy(end);
  check(status, "a stream to time on");
}

replayer::~replayer() {
  try {
    const device_guard guard(device_);
    (void)cudaStreamSynchronize(stream_);
    for (void* const graph : graphs_) (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
    (void)cudaEventDestroy(static_cast<cudaEvent_t>(begin_));
    (void)cudaEventDestroy(static_cast<cudaEvent_t>(end_));
    (void)cudaStreamDestroy(stream_);
  } catch (const std::exception&) {
    // The device context is lost, and these objects with it.
  }
}

void replayer::run(const work& once) const {
  const device_guard guard(device_);
  once(stream_);
  synchronize(stream_);
}

std::size_t replayer::record(const work& recorded) {
  const device_guard guard(device_);
  graphs_.reserve(graphs_.size() + 1);
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    recorded(stream_);
  } catch (...) {
    (void)cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&made, graph, 0);
  (void)cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  graphs_.push_back(made);
  check(cudaGraphUpload(made, stream_), "cudaGraphUpload");
  synchronize(stream_);
  return graphs_.size() - 1;
}

double replayer::seconds(std::size_t recording, bool warm) const {
  const device_guard guard(device_);
  const auto graph = static_cast<cudaGraphExec_t>(graphs_.at(recording));
  const auto begin = static_cast<cudaEvent_t>(begin_), end = static_cast<cudaEvent_t>(end_);
  if (warm) check(cudaGraphLaunch(graph, stream_), "cudaGraphLaunch");
  check(cudaEventRecord(begin, stream_), "cudaEventRecord");
  check(cudaGraphLaunch(graph, stream_), "cudaGraphLaunch");
  check(cudaEventRecord(end, stream_), "cudaEventRecord");
  check(cudaEventSynchronize(end), "work that is timed");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

bool is_device_pointer(const void* pointer, int device) {
  cudaPointerAttributes facts{};
  const cudaError_t status = cudaPointerGetAttributes(&facts, pointer);
  if (is_sticky(status)) check(status, "cudaPointerGetAttributes");
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return facts.type == cudaMemoryTypeManaged || (facts.type == cudaMemoryTypeDevice && facts.device == device);
}

bool is_device_only(const void* pointer) {
  cudaPointerAttributes facts{};
  const cudaError_t status = cudaPointerGetAttributes(&facts, pointer);
  if (is_sticky(status)) check(status, "cudaPointerGetAttributes");
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return facts.type == cudaMemoryTypeDevice;
}

void check_launch(int status, const char* what) { check(static_cast<cudaError_t>(status), what); }

std::int64_t num_allocations() noexcept { return allocations.load(); }

}  // namespace bcsc::core::gpu
