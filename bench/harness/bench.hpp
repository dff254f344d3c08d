#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/files.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/types.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/results.hpp"

namespace bcsc::bench {

/// What is measured, where, and what becomes of it.
struct bench_options {
  std::vector<std::string> matrices;  ///< see expand_inputs()
  std::vector<input> inputs;          ///< measured before those, such as a suite's
  std::vector<std::int64_t> cols = {8, 32, 128, 512};
  std::vector<value_type> types = {value_type::fp32};
  layout order = layout::row_major;             ///< of B and C
  compute_class compute = compute_class::full;  ///< that the plan may choose
  /// Each algorithm's best config and every rival in both layouts; otherwise the plan alone, and the rivals that are
  /// the fastest nearly everywhere, in the layout that is asked for.
  bool thorough = false;
  bool full = false;  ///< thorough, and every config of every kernel
  bool is_thorough() const { return thorough || full; }
  /// Configs, or algorithms with all their configs: only these of the library's own, besides the plan ("plan" names it
  /// alone). Conversion times are not measured, since configs that read A in the same form share it. Empty: as
  /// `thorough` and `full` say.
  std::vector<std::string> kernels;
  timing_options timing;
  /// Time budget for all N of a matrix in one type: an N that would exceed it, extrapolated from the N before, is
  /// skipped.
  double seconds_per_matrix = std::numeric_limits<double>::infinity();
  std::uint64_t seed = 1;  ///< of B, and of the values of pattern files
  read_options reading;    ///< what the files are, where they do not say so themselves

  bool json_to_stdout = false;  ///< JSON instead of the table
  std::filesystem::path out;    ///< JSON file; empty: none
  /// Called with the share done, in [0, 1], and what comes next.
  std::function<void(double done, std::string_view next)> progress;
};

/// Measures. Throws error{invalid_argument} for bad options; whatever goes wrong with one matrix or one kernel is in
/// the result. `on_case` is called after each case, with everything so far.
run_result measure_all(const context& ctx, const bench_options& options,
                       const std::function<void(const run_result&)>& on_case = {});

/// Measures, prints the table (or the JSON) to `out`, writes the JSON file. Returns 0, or 1 if a result was wrong, a
/// kernel of ours could not run, or an input could not be read.
int run_bench(const context& ctx, const bench_options& options, std::ostream& out);
/// The same on context::best().
int run_bench(const bench_options& options, std::ostream& out);

}  // namespace bcsc::bench
