#include "test/emulation/emulated_device.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "core/gpu.hpp"
#include "test/emulation/include/emulated_gpu.hpp"

namespace bcsc {

namespace {

struct free_aligned {
  void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{256}); }
};
std::map<const void*, std::unique_ptr<std::byte, free_aligned>>& allocated() {
  static std::map<const void*, std::unique_ptr<std::byte, free_aligned>> memory;
  return memory;
}

}  // namespace

std::size_t test::num_emulated_allocations() { return allocated().size(); }

void test::set_order(emulation::run_order order, std::uint64_t seed, unsigned largest_grid) {
  emulation::settings& now = emulation::current_settings();
  now.order = order;
  now.seed = seed;
  now.largest_grid = largest_grid;
}

namespace core::gpu {

device_guard::device_guard(int) {}
device_guard::~device_guard() = default;

allocation allocate(std::size_t bytes) {
  if (bytes == 0) throw error(errc::internal, "an allocation of no bytes");
  auto* const memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256}));
  std::memset(memory, 0xab, bytes);
  allocated()[memory].reset(memory);
  emulation::current_settings().global_memory.push_back({memory, bytes, true});
  return {memory, nullptr};
}

void release(const allocation& memory) noexcept {
  std::erase_if(emulation::current_settings().global_memory,
                [&](const emulation::memory_range& range) { return range.begin == memory.pointer; });
  allocated().erase(memory.pointer);
}

void copy_to_device(void* to, const void* from, std::size_t bytes, cuda_stream) { std::memcpy(to, from, bytes); }
void copy_to_host(void* to, const void* from, std::size_t bytes, cuda_stream) { std::memcpy(to, from, bytes); }
void copy_on_device(void* to, const void* from, std::size_t bytes, cuda_stream) { std::memcpy(to, from, bytes); }
void fill_zero(void* to, std::size_t bytes, cuda_stream) { std::memset(to, 0, bytes); }
void synchronize(cuda_stream) {}

// There is only one stream: what is started is done.
side_stream::side_stream() = default;
side_stream::~side_stream() = default;
void side_stream::join() {}

void check_launch(int status, const char* what) {
  if (status != 0) throw error(errc::cuda_error, std::string(what) + ": " + emulation::report());
}

}  // namespace core::gpu
}  // namespace bcsc
