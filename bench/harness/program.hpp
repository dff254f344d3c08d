#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/error.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/stage.hpp"

/// What the small programs of the benchmark share: where they measure, which types they measure, how they end.
namespace bcsc::bench {

/// What a program answers.
enum exit_status : int {
  exit_done = 0,
  exit_error = 1,     ///< said on stderr
  exit_not_met = 3,   ///< it ran, but a result was wrong or a promise was not kept
  exit_skipped = 77,  ///< there is no GPU here; said on stdout
};

/// A context, its stage, and what is known of both but the copy bandwidth, which takes a while to measure.
struct place {
  context ctx;
  std::unique_ptr<stage> where;
  machine_facts machine;
};
/// `device`: "cpu" or "cuda". Throws what the contexts throw.
place open_place(const std::string& device);

/// Calls `body`; an exception becomes a message and exit_error, no_device exit_skipped.
int run_program(const std::string& name, const std::function<int()>& body);

/// After an error of these codes nothing that follows would mean anything.
bool is_fatal(const error& e);

/// The types that plans multiply.
template <class T>
concept multiplied = requires {
  sizeof(own_kernels<T>);
};

/// "fp32", "fp64", ...: those that products are computed in here, from the registry.
std::vector<std::string> multiplied_types(backend where);

/// Calls `body` with a T{} of `type`, if plans multiply it; returns whether they do.
template <class Body>
bool with_multiplied(std::string_view type, Body body) {
  bool found = false;
  const auto offer = [&]<class T>(T zero) {
    if constexpr (multiplied<T>) {
      if (type != to_string(value_type_of<T>)) return;
      found = true;
      body(zero);
    }
  };
  offer(float{});
  offer(double{});
  offer(half{});
  offer(bfloat16{});
  return found;
}

}  // namespace bcsc::bench
