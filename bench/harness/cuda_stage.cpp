#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/foreign_work.hpp"
#include "bench/harness/stage.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  core::fail(status == cudaErrorMemoryAllocation ? errc::out_of_memory : errc::cuda_error, "bench: {}: {}", what,
             cudaGetErrorString(status));
}

double seconds_between(cudaEvent_t begin, cudaEvent_t end) {
  check(cudaEventSynchronize(end), "a kernel that is timed");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3;
}

/// Plain fp32 lanes of a multiprocessor; 0 where it is not known.
int fp32_lanes(int compute_capability) {
  switch (compute_capability) {
    case 70:
    case 75:
    case 80:
      return 64;
    case 86:
    case 87:
    case 89:
    case 90:
    case 100:
    case 103:
    case 120:
      return 128;
    default:
      return 0;
  }
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

std::string version_text(int number) {  // 13000 is 13.0
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// How long foreign work lasts: several times what the host needs to record an event and to start a product.
constexpr std::uint64_t foreign_nanoseconds = 50'000;

/// A recorded series, on the stream that it was recorded on.
class replayed_series final : public series {
 public:
  /// `begin` and `end` outlive this.
  replayed_series(cudaGraphExec_t graph, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end)
      : graph_(graph), stream_(stream), begin_(begin), end_(end) {}
  ~replayed_series() override { cudaGraphExecDestroy(graph_); }
  bool is_recorded() const override { return true; }

  double seconds() override {
    // Behind another replay, during which the host enqueues what is timed: a start takes it several microseconds.
    if (last_ < long_seconds) check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    return last_ = seconds_between(begin_, end_);
  }

 private:
  static constexpr double long_seconds = 1e-3;

  cudaGraphExec_t graph_;
  cudaStream_t stream_;
  cudaEvent_t begin_, end_;
  double last_ = 0;
};

class cuda_stage final : public stage {
 public:
  explicit cuda_stage(int device) : device_(device) {
    check(cudaSetDevice(device_), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~cuda_stage() override {
    cudaFree(flush_buffer_);
    cudaFree(foreign_buffer_);
    cudaFreeHost(pinned_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  memory_space space() const override { return memory_space::device; }
  cuda_stream stream() const override { return stream_; }

  void* allocate(std::int64_t bytes) override {
    void* pointer = nullptr;
    check(cudaMalloc(&pointer, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), "cudaMalloc");
    return pointer;
  }
  void release(void* pointer) noexcept override { cudaFree(pointer); }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream_), "upload");
    wait();
  }

  const void* fetch(const void* from, std::int64_t bytes) override {
    void* to = staging(bytes);
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream_), "fetch");
    wait();
    return to;
  }

  void poison(void* to, std::int64_t bytes) override {
    check(cudaMemsetAsync(to, 0xff, static_cast<std::size_t>(bytes), stream_), "poison");
  }

  void wait() override { check(cudaStreamSynchronize(stream_), "a kernel or a copy"); }

  double seconds(const launch& work, std::int64_t count) override {
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    for (std::int64_t i = 0; i < count; ++i) work();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
    return seconds_between(begin_, end_);
  }

  std::unique_ptr<series> repeated(launch work, std::int64_t count) override {
    if (const cudaGraphExec_t graph = recorded(work, count); graph != nullptr) {
      return std::make_unique<replayed_series>(graph, stream_, begin_, end_);
    }
    return stage::repeated(std::move(work), count);
  }

  std::optional<double> start_seconds(const launch& work) override {
    constexpr int calls = 20, runs = 5;
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs; ++run) {
      wait();
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) work();
      least = std::min(least, seconds_since(begin) / calls);
    }
    wait();
    return least;
  }

  void flush() override {
    if (flush_buffer_ == nullptr) {
      const std::int64_t l2 = attribute(cudaDevAttrL2CacheSize, device_);
      flush_bytes_ = std::max<std::int64_t>(2 * l2, std::int64_t{64} << 20);
      flush_buffer_ = allocate(flush_bytes_);
    }
    ++num_flushes_;
    check(cudaMemsetAsync(flush_buffer_, static_cast<int>(num_flushes_ & 0x7f), static_cast<std::size_t>(flush_bytes_),
                          stream_),
          "flush");
  }
  std::int64_t num_flushes() const override { return num_flushes_; }
  std::int64_t flush_bytes() const override { return flush_bytes_; }

  void foreign_work() override {
    if (foreign_buffer_ == nullptr) {
      foreign_bytes_ = foreign_bytes_beside(attribute(cudaDevAttrL2CacheSize, device_));
      foreign_buffer_ = static_cast<unsigned*>(allocate(foreign_bytes_));
      check(cudaMemsetAsync(foreign_buffer_, 0, static_cast<std::size_t>(foreign_bytes_), stream_), "cudaMemset");
    }
    const int blocks = 4 * attribute(cudaDevAttrMultiProcessorCount, device_);
    start_adding_ones(foreign_buffer_, foreign_bytes_ / std::int64_t{sizeof(unsigned)}, foreign_nanoseconds, blocks,
                      stream_);
    check(cudaGetLastError(), "foreign work");
  }
  std::int64_t foreign_bytes() const override { return foreign_bytes_; }

  double measure_copy_bandwidth() override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const auto bytes = std::min<std::int64_t>(std::int64_t{1} << 30, static_cast<std::int64_t>(free / 4));
    const stage_array<char> from(*this, bytes), to(*this, bytes);
    check(cudaMemsetAsync(from.data(), 0x5a, static_cast<std::size_t>(bytes), stream_), "cudaMemset");
    const launch copy = [&] {
      check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream_),
            "copy");
    };
    seconds(copy, 2);
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 10; ++run) best = std::min(best, seconds(copy, 1));
    return 2.0 * static_cast<double>(bytes) / best;
  }

  void profiled(const launch& work) override {
    wait();
    check(cudaProfilerStart(), "cudaProfilerStart");
    work();
    wait();
    check(cudaProfilerStop(), "cudaProfilerStop");
  }

  void describe(machine_facts& facts) const override {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device_), "cudaGetDeviceProperties");
    facts.gpu_name = properties.name;
    facts.compute_capability = properties.major * 10 + properties.minor;
    facts.gpu_memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    facts.gpu_l2_bytes = properties.l2CacheSize;
    const double clock_hz = 1e3 * attribute(cudaDevAttrClockRate, device_);
    facts.peak_fp32 = 2.0 * fp32_lanes(facts.compute_capability) * properties.multiProcessorCount * clock_hz;
    if (const int ratio = attribute(cudaDevAttrSingleToDoublePrecisionPerfRatio, device_); ratio > 0) {
      facts.peak_fp64 = facts.peak_fp32 / ratio;
    }
    int version = 0;
    if (cudaRuntimeGetVersion(&version) == cudaSuccess) facts.versions["cuda_runtime"] = version_text(version);
    if (cudaDriverGetVersion(&version) == cudaSuccess) facts.versions["cuda_driver"] = version_text(version);
    char bus[32] = {};
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device_) != cudaSuccess) return;
    const auto command = fmt::format(
        "nvidia-smi -i {} --query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem "
        "--format=csv,noheader 2>/dev/null",
        bus);
    facts.gpu_clocks = first_line_of(command.c_str());
  }

 private:
  /// Null if `work` cannot be recorded: some of cuSPARSE's allocates or waits.
  cudaGraphExec_t recorded(const launch& work, std::int64_t count) {
    wait();
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    bool started = true;
    try {
      for (std::int64_t i = 0; i < count; ++i) work();
    } catch (const std::exception&) {
      started = false;
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    if (started && ended == cudaSuccess && cudaGraphInstantiate(&made, graph, 0) != cudaSuccess) made = nullptr;
    if (made != nullptr) cudaGraphUpload(made, stream_);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return made;
  }

  /// Pinned, because pageable copies would take most of a run; pageable if it cannot be had.
  void* staging(std::int64_t bytes) {
    if (bytes <= staging_bytes_) return pinned_ != nullptr ? pinned_ : static_cast<void*>(pageable_.data());
    cudaFreeHost(pinned_);
    pinned_ = nullptr;
    staging_bytes_ = 0;
    if (cudaMallocHost(&pinned_, static_cast<std::size_t>(bytes)) != cudaSuccess) {
      cudaGetLastError();
      pinned_ = nullptr;
      pageable_.resize(static_cast<std::size_t>(bytes));
    }
    staging_bytes_ = bytes;
    return pinned_ != nullptr ? pinned_ : static_cast<void*>(pageable_.data());
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  void* flush_buffer_ = nullptr;
  std::int64_t flush_bytes_ = 0;
  std::int64_t num_flushes_ = 0;
  unsigned* foreign_buffer_ = nullptr;
  std::int64_t foreign_bytes_ = 0;
  void* pinned_ = nullptr;
  std::vector<char> pageable_;
  std::int64_t staging_bytes_ = 0;
};

}  // namespace

std::unique_ptr<stage> make_cuda_stage(int device) { return std::make_unique<cuda_stage>(device); }

}  // namespace bcsc::bench
