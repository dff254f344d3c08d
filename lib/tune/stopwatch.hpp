#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bcsc/context.hpp"

namespace bcsc::tuning {

/// Times products that compete with each other. Tests supply one with a scripted clock.
class stopwatch {
 public:
  virtual ~stopwatch() = default;
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

  /// Seconds of one product of `contestant`, the mean of `count` back to back.
  virtual double seconds(std::size_t contestant, std::int64_t count) = 0;
  /// Seconds since construction, without setup_seconds().
  virtual double elapsed() const = 0;
  /// Seconds spent before a contestant's products could be timed.
  virtual double setup_seconds() const { return 0; }

 protected:
  stopwatch() = default;
};

/// A contestant: a name, and a function that enqueues one product on a stream.
struct contestant {
  std::string name;
  std::function<void(cuda_stream)> product;
};

/// On a GPU by events around replays of a captured graph, so that the host's launches do not count; loading kernels and
/// capturing graphs is set-up. On the CPU by the steady clock, after one product that fills the caches with this
/// contestant's data. `contestants` outlives it.
using make_stopwatch_fn = std::function<std::unique_ptr<stopwatch>(std::span<const contestant>)>;
make_stopwatch_fn stopwatches_of(const context& ctx);

}  // namespace bcsc::tuning
