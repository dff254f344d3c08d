#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bcsc/plan.hpp"
#include "bcsc/types.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/timing.hpp"

/// What a run finds out, and what follows from it by arithmetic alone.
namespace bcsc::bench {

/// Inaccurate: a rival's, beyond the bound of its type, but not beyond coarse_bound().
enum class entry_status { ok, inaccurate, failed, unavailable };
std::string_view to_string(entry_status status);

/// One way to compute one product.
struct entry_result {
  std::string name;   ///< kernel's name, "plan", or a rival's name
  std::string group;  ///< algorithm, "plan", or the rival's group
  bool ours = false;
  layout order = layout::row_major;
  entry_status status = entry_status::ok;
  std::string message;  ///< why it failed or is unavailable
  std::string kernel, reason;
  std::int64_t m_block = 0;
  double convert_seconds = 0;
  bool bounded = true;
  accuracy error;
  per_setting<std::optional<time_statistics>> times;
  std::optional<double> start_seconds;  ///< that starting one takes the host, where times are the GPU's
  double gflops = 0;                    ///< 2 nnz N over the warm median
  per_setting<double> roofline_shares;  ///< least time possible over the median; 0 where that is not known
  /// Right and timed.
  bool timed(setting in = setting::warm) const { return status == entry_status::ok && times[in].has_value(); }
  /// Seconds, of an entry that is timed.
  double median(setting in = setting::warm) const { return times[in]->median; }
};

/// A config as a sweep over its algorithm's table has timed it: quickly, unchecked, back to back.
struct swept_config {
  std::string algorithm, config;
  double seconds = 0;
};

/// One matrix times one B.
struct case_result {
  std::size_t matrix = 0;  ///< position in run_result::matrices
  std::int64_t cols = 0;   ///< N
  value_type type = value_type::fp32;
  layout order = layout::row_major;
  double roofline_seconds = 0;
  std::vector<entry_result> entries;
  std::string skipped;              ///< why nothing was measured; empty otherwise
  std::vector<swept_config> sweep;  ///< tried to find the best of each algorithm
};

/// What is known of a matrix once it is no longer in memory.
struct matrix_facts {
  std::string name, source, kind, pattern_class;
  std::int64_t rows = 0, cols = 0, nnz = 0, max_row = 0;
  std::uint64_t checksum = 0;
  bool seeded_values = false;
  std::int64_t not_finite = 0;  ///< values that are NaN or infinite: where they make C so, its class is compared
  double load_seconds = 0;
};

matrix_facts facts_of(const loaded_matrix& m);

struct input_problem {
  std::string name;
  std::string message;
  bool fatal = true;  ///< false: in a folder, of a kind that cannot be multiplied here
};

struct run_result {
  machine_facts machine;
  std::string main_rival;               ///< group
  std::vector<std::string> algorithms;  ///< in the tables' order
  std::vector<matrix_facts> matrices;
  std::vector<case_result> cases;
  std::vector<input_problem> problems;
  timing_options timing;
  std::uint64_t seed = 0;
  compute_class compute = compute_class::full;  ///< that the plan might choose
  bool thorough = false;                        ///< every rival was measured
  double seconds = 0;
};

/// The fastest timed entry of `group` in `order`, or null.
const entry_result* fastest(const case_result& c, std::string_view group, layout order, setting in = setting::warm);
/// The same among those that are right or inaccurate.
const entry_result* fastest_of_any_accuracy(const case_result& c, std::string_view group, layout order,
                                            setting in = setting::warm);
/// The fastest of our configs, whatever the algorithm, or null.
const entry_result* fastest_config(const case_result& c);

/// The least time of C = A*B: A as CSR, B and C moved once at `bandwidth`, and the flops at `peak` (0: unknown, no
/// bound).
double roofline_seconds(std::int64_t rows, std::int64_t inner, std::int64_t cols, std::int64_t nnz, value_type type,
                        double bandwidth, double peak);

/// The number of products after which a conversion is paid back: the least n with n * (rival - ours) >= convert.
/// Nothing if ours is not faster: never.
std::optional<std::int64_t> payback(double convert_seconds, double ours, double rival);

/// Our plan against the best of the main rival in the same layout.
struct verdict {
  const entry_result* plan = nullptr;
  const entry_result* config = nullptr;  ///< our fastest config, warm
  const entry_result* rival = nullptr;   ///< the fastest, warm
  /// Rival's time over the plan's, above 1 we are faster; in each setting against the fastest there.
  per_setting<std::optional<double>> ratios;
  per_setting<std::optional<double>> any_ratios;  ///< where inaccurate rivals count, too
  std::optional<double> config_ratio;             ///< rival's time / our fastest config's, warm
  std::optional<std::int64_t> payback;            ///< of the plan, warm; see payback()
};
verdict judge(const case_result& c, std::string_view main_rival);

/// Over cases: empty for none.
struct ratio_summary {
  std::int64_t num_cases = 0;
  double geometric_mean = 0;
  double worst = 0;
  std::string worst_case;
  double share_of_losses = 0;  ///< ratio < 1
};
struct named_ratio {
  double ratio = 0;
  std::string name;
};
ratio_summary summarise_ratios(std::span<const named_ratio> ratios);

/// "matrix N=128 fp32", which names a case in summaries.
std::string name_of(const run_result& run, const case_result& c);

/// The ratios of all cases, or of those with `cols` columns.
struct run_ratios {
  per_setting<std::vector<named_ratio>> plan, plan_any;
  std::vector<named_ratio> config;
};
run_ratios collect_ratios(const run_result& run, std::optional<std::int64_t> cols = std::nullopt);

/// Results that are wrong, or that ours could not give, and inputs that could not be read.
std::int64_t count_failures(const run_result& run);

}  // namespace bcsc::bench
