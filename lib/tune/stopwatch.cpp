#include "lib/tune/stopwatch.hpp"

#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "core/gpu.hpp"

namespace bcsc::tuning {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

class cpu_stopwatch final : public stopwatch {
 public:
  explicit cpu_stopwatch(std::span<const contestant> all) : all_(all) {}

  double seconds(std::size_t which, std::int64_t count) override {
    // A single product is timed without a warm-up: that is the first, rough time.
    if (count > 1) all_[which].product(nullptr);
    const auto begin = clock::now();
    for (std::int64_t i = 0; i < count; ++i) all_[which].product(nullptr);
    return seconds_since(begin) / static_cast<double>(count);
  }
  double elapsed() const override { return seconds_since(begin_); }

 private:
  std::span<const contestant> all_;
  const clock::time_point begin_ = clock::now();
};

class gpu_stopwatch final : public stopwatch {
 public:
  gpu_stopwatch(int device, std::span<const contestant> all) : all_(all), replayer_(device) {}

  double seconds(std::size_t which, std::int64_t count) override {
    recording& recorded = recorded_as(which, count);
    // A long one is hardly affected by what ran before it, or by a late host.
    constexpr double long_seconds = 1e-3;
    recorded.seconds = replayer_.seconds(recorded.number, recorded.seconds < long_seconds);
    return recorded.seconds / static_cast<double>(count);
  }
  double elapsed() const override { return seconds_since(begin_) - setup_seconds_; }
  double setup_seconds() const override { return setup_seconds_; }

 private:
  struct recording {
    std::size_t number;
    double seconds = 0;  // when last replayed
  };

  recording& recorded_as(std::size_t which, std::int64_t count) {
    const auto found = recordings_.find({which, count});
    if (found != recordings_.end()) return found->second;
    const auto begin = clock::now();
    // The first run loads the kernel, which a capture does not allow.
    if (loaded_.insert(which).second) replayer_.run(all_[which].product);
    const std::size_t number = replayer_.record([&](cuda_stream stream) {
      for (std::int64_t i = 0; i < count; ++i) all_[which].product(stream);
    });
    setup_seconds_ += seconds_since(begin);
    return recordings_.emplace(std::pair(which, count), recording{number}).first->second;
  }

  std::span<const contestant> all_;
  core::gpu::replayer replayer_;
  std::set<std::size_t> loaded_;
  std::map<std::pair<std::size_t, std::int64_t>, recording> recordings_;
  double setup_seconds_ = 0;
  const clock::time_point begin_ = clock::now();
};

}  // namespace

make_stopwatch_fn stopwatches_of(const context& ctx) {
  if (ctx.kind() == backend::cpu) {
    return [](std::span<const contestant> all) { return std::make_unique<cpu_stopwatch>(all); };
  }
  return [device = ctx.device().device](std::span<const contestant> all) {
    return std::make_unique<gpu_stopwatch>(device, all);
  };
}

}  // namespace bcsc::tuning
