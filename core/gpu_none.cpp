#include "core/fail.hpp"
#include "core/gpu.hpp"

namespace bcsc::core::gpu {

namespace {

[[noreturn]] void no_cuda() {
  std::string why;
  const errc code = assess_absence({}, why);
  throw error(code, why);
}

}  // namespace

platform this_platform() { return {}; }
std::vector<device_info> list_devices() { return {}; }

device_guard::device_guard(int) { no_cuda(); }
device_guard::~device_guard() = default;

memory_pool::memory_pool(int device) : device_(device) { no_cuda(); }
memory_pool::~memory_pool() = default;
void memory_pool::trim() const noexcept {}
pool_guard::pool_guard(std::shared_ptr<const memory_pool>, cuda_stream) {}
pool_guard::~pool_guard() = default;
outside_pools::outside_pools() noexcept = default;
outside_pools::~outside_pools() = default;
side_stream::side_stream() { no_cuda(); }
side_stream::~side_stream() = default;
void side_stream::join() { no_cuda(); }
graph::graph(cuda_stream, core::function_ref<void()>) { no_cuda(); }
graph::~graph() = default;
void graph::launch(cuda_stream) const { no_cuda(); }
allocation allocate(std::size_t) { no_cuda(); }
void release(const allocation&) noexcept {}
std::int64_t free_bytes() { no_cuda(); }
void copy_to_device(void*, const void*, std::size_t, cuda_stream) { no_cuda(); }
void copy_to_host(void*, const void*, std::size_t, cuda_stream) { no_cuda(); }
void copy_on_device(void*, const void*, std::size_t, cuda_stream) { no_cuda(); }
void fill_zero(void*, std::size_t, cuda_stream) { no_cuda(); }
void synchronize(cuda_stream) { no_cuda(); }
bool is_idle(cuda_stream) noexcept { return false; }
locked_memory::locked_memory(std::size_t) { no_cuda(); }
locked_memory::~locked_memory() = default;
void locked_memory::fetch(std::size_t, const void*, std::size_t, cuda_stream) { no_cuda(); }
void locked_memory::wait() const { no_cuda(); }
replayer::replayer(int device) : device_(device) { no_cuda(); }
replayer::~replayer() = default;
void replayer::run(const work&) const { no_cuda(); }
std::size_t replayer::record(const work&) { no_cuda(); }
double replayer::seconds(std::size_t, bool) const { no_cuda(); }
bool is_device_pointer(const void*, int) { return false; }
bool is_device_only(const void*) { return false; }
void check_launch(int, const char*) { no_cuda(); }
std::int64_t num_allocations() noexcept { return 0; }

}  // namespace bcsc::core::gpu
