#include "bench/harness/bench_room.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "bcsc/error.hpp"
#include "bcsc/fetch.hpp"
#include "bench/harness/remembered.hpp"

namespace bcsc::bench {

namespace {

/// A GPU's is a constant of the device; a CPU's depends on what else is running.
double copy_bandwidth(const bench_room& room) {
  const auto measure = [&] { return room.where->measure_copy_bandwidth(); };
  std::filesystem::path folder;
  try {
    if (room.ctx.kind() == backend::cuda) folder = suitesparse::cache_folder();
  } catch (const error&) {
    // No cache folder to remember it in.
  }
  if (folder.empty()) return measure();
  const machine_facts& machine = room.machine;
  const auto driver = machine.versions.find("cuda_driver");
  return remembered(folder / "bench.json",
                    fmt::format("copy bandwidth of {}, driver {}, bcsc {}", machine.gpu_name,
                                driver != machine.versions.end() ? driver->second : "unknown", machine.library_version),
                    measure);
}

}  // namespace

bench_room::bench_room(const context& c, const bench_options& o) : ctx(c), options(o), where(make_stage(c)) {
  machine = describe_machine(ctx);
  where->describe(machine);
  say("measuring the copy bandwidth");
  machine.copy_bandwidth = copy_bandwidth(*this);
  machine.cache_bandwidth = where->measure_cache_bandwidth();
#if BCSC_BENCH_WITH_CUSPARSE
  if (ctx.kind() == backend::cuda) others = open_cuda_rivals(*where);
#endif
  if (!others && ctx.kind() == backend::cpu) others = open_found_cpu_rivals(ctx.threads());
  if (others) others->describe(machine);
}

void bench_room::say(std::string_view next, double of_case) const {
  if (options.progress) options.progress(done + of_case * case_share, next);
}

}  // namespace bcsc::bench
