#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

#include "core/context_state.hpp"
#include "core/gpu.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

int make_context(bcsc_context* out, auto make) {
  return guarded([&] {
    require(out, "context");
    *out = new bcsc_context_s{make()};
  });
}

/// Runs `body` with the context's GPU current.
void on_gpu(const context& ctx, const char* what, auto body) {
  core::require_healthy(ctx.state());
  const core::gpu::device_guard current(ctx.device().device);
  core::guarded(ctx.state(), what, body);
}

/// Enough for vectors of any width, and what CUDA's allocations have.
constexpr std::align_val_t alignment{256};

}  // namespace

int bcsc_context_cpu(int threads, bcsc_context* out) {
  return make_context(out, [&] { return context::cpu(threads); });
}
int bcsc_context_cpu_own_threads(int threads, bcsc_context* out) {
  return make_context(out, [&] { return context::cpu(threads, workers::own); });
}
int bcsc_context_cuda(int device, bcsc_context* out) {
  return make_context(out, [&] { return context::cuda(device); });
}
int bcsc_context_best(bcsc_context* out) {
  return make_context(out, [] { return context::best(); });
}

int bcsc_context_backend(bcsc_context where, int* out) {
  return guarded([&] {
    require(where, "context");
    require(out, "backend");
    *out = static_cast<int>(where->context.kind());
  });
}

int bcsc_context_describe(bcsc_context where, const char** text) {
  return guarded([&] {
    require(where, "context");
    require(text, "text");
    *text = where->description.c_str();
  });
}

void bcsc_context_free(bcsc_context where) { delete where; }

int bcsc_memory_allocate(bcsc_context where, size_t bytes, void** out) {
  return guarded([&] {
    require(where, "context");
    require(out, "memory");
    if (bytes > static_cast<size_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
      core::fail(errc::out_of_memory, "bytes = {}: larger than any memory", bytes);
    }
    const context& ctx = where->context;
    if (ctx.kind() == backend::cpu) {
      *out = ::operator new(bytes, alignment);
    } else {
      on_gpu(ctx, "memory", [&] { *out = core::gpu::allocate(bytes).pointer; });
    }
  });
}

int bcsc_memory_copy(bcsc_context where, const void* from, void* to, size_t bytes) {
  return guarded([&] {
    require(where, "context");
    if (bytes == 0) return;
    require(from, "from");
    require(to, "to");
    const context& ctx = where->context;
    if (ctx.kind() == backend::cpu) {
      std::memmove(to, from, bytes);
      return;
    }
    on_gpu(ctx, "a copy", [&] {
      namespace gpu = core::gpu;
      const int device = ctx.device().device;
      const bool from_there = gpu::is_device_pointer(from, device), to_there = gpu::is_device_pointer(to, device);
      if (from_there && to_there) {
        gpu::copy_on_device(to, from, bytes);
      } else if (from_there) {
        gpu::copy_to_host(to, from, bytes);
      } else if (to_there) {
        gpu::copy_to_device(to, from, bytes);
      } else {
        core::fail(errc::wrong_memory_space, "from = {}, to = {}: neither is memory of \"{}\"", from,
                   static_cast<const void*>(to), ctx.describe());
      }
      gpu::synchronize();
    });
  });
}

int bcsc_memory_free(bcsc_context where, void* memory) {
  return guarded([&] {
    if (memory == nullptr) return;
    require(where, "context");
    const context& ctx = where->context;
    if (ctx.kind() == backend::cpu) {
      ::operator delete(memory, alignment);
    } else {
      const core::gpu::device_guard current(ctx.device().device);
      core::gpu::release({memory, nullptr});
    }
  });
}
