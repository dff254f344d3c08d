#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/stage.hpp"
#include "core/fail.hpp"

/// What the small programs of the benchmark share: where they measure, which types they measure, how they end.
namespace bcsc::bench {

/// A program's exit status.
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

/// A program's results: collected matrix by matrix and written anew after each, with what was left out and why.
class results_file {
 public:
  results_file(std::string_view schema, const machine_facts& machine, std::string path);

  json document;  ///< {"schema", "machine", "left_out", ...}; written with "seconds"

  /// Since the start.
  double seconds() const;
  /// Says so on stdout, too.
  void leave_out(std::string what);
  std::filesystem::path write();

  /// Calls body(matrix) for each of `matrices` (what expand_inputs takes) that is read and begun within the time, and
  /// writes after it. The others are left out.
  void for_each_matrix(const std::vector<std::string>& matrices, std::uint64_t seed, double max_seconds,
                       const std::function<void(const loaded_matrix&)>& body);

  /// Calls body(a) with `m` as csr_matrix<T> for each of `types`; one that does not fit the memory is left out.
  /// Throws error{invalid_argument} for a type that plans do not multiply.
  template <class Body>
  void for_each_type(const loaded_matrix& m, const std::vector<std::string>& types, Body body) {
    for (const std::string& type : types) {
      try {
        if (!with_multiplied(type, [&]<class T>(T) { body(cast<T, std::int32_t>(m.a)); })) {
          core::fail(errc::invalid_argument, "--type {}: not multiplied here", type);
        }
      } catch (const error& e) {
        if (e.code() != errc::out_of_memory) throw;
        leave_out(fmt::format("{} {}: {}", m.from.name, type, e.what()));
      }
    }
  }

 private:
  std::string path_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace bcsc::bench
