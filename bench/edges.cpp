#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/fail.hpp"

/// Where a product might suddenly take longer: N just past a round number, operands that do not begin or continue on a
/// 16-byte boundary, a deterministic plan. For each matrix, type and layout the warm median of the plan's own choice,
/// made for that N, checked before it is timed.
namespace {

using namespace bcsc;
using bench::json;

constexpr std::string_view schema = "bcsc-edges-1";
constexpr std::uint64_t seed = 1;

// What the library promises.
constexpr double max_step = 1.3;         ///< t(N + 1) / t(N)
constexpr double max_misaligned = 1.15;  ///< over the aligned product

struct options {
  std::string device = "cuda", out = "edges.json";
  std::vector<std::string> matrices, types = {"fp32"}, layouts = {"row", "col"}, parts = {"odd", "misaligned", "same"};
  std::vector<std::int64_t> cols = {1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,  12,  13,  14, 15,
                                    16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257};
  std::vector<std::int64_t> other_cols = {8, 32, 128};  ///< of the other two parts
  double seconds = 0.006;
  double max_seconds = 1e9;
  bool does(std::string_view part) const { return std::ranges::count(parts, part) > 0; }
};

/// How B and C lie, if not packed on 256-byte boundaries.
struct placing {
  std::string_view name;
  std::int64_t b_offset = 0, c_offset = 0, more_ld = 0;  ///< in values
};
constexpr placing packed{"packed"};
constexpr placing misaligned[] = {
    {.name = "B + 1", .b_offset = 1},
    {.name = "C + 1", .c_offset = 1},
    {.name = "B + 1, C + 1", .b_offset = 1, .c_offset = 1},
    {.name = "ld + 1", .more_ld = 1},
    {.name = "ld + 3", .more_ld = 3},
};
constexpr std::int64_t max_offset = 1, max_more_ld = 3;

/// A ratio that is held against a promise.
struct judged {
  double ratio = 0;
  std::string what;
};
void keep_worse(std::optional<judged>& worst, double ratio, std::string what) {
  if (!worst || ratio > worst->ratio) worst = judged{ratio, std::move(what)};
}

/// Totals over everything measured, for the last lines.
struct tally {
  std::optional<judged> step, dip, misaligned, deterministic;
  std::int64_t num_steps = 0, broken_steps = 0, num_misaligned = 0, broken_misaligned = 0;
  std::int64_t failures = 0;
  bool kept() const { return failures + broken_steps + broken_misaligned == 0; }
};

json to_json(const std::optional<judged>& worst) {
  return worst ? json{{"ratio", worst->ratio}, {"what", worst->what}} : json(nullptr);
}
std::string in_words(const std::optional<judged>& worst) {
  return worst ? fmt::format("{:.2f} ({})", worst->ratio, worst->what) : "-";
}

/// A matrix with room for its operands, however they are to lie.
template <class T>
class edge_matrix {
 public:
  edge_matrix(bench::place& here, const csr_matrix<T>& a, const options& wanted)
      : where_(*here.where), a_(a.view()), placed_(where_, a_), own_(here.ctx, where_, a_, placed_.view()) {
    std::int64_t most = 0;
    for (const auto* list : {&wanted.cols, &wanted.other_cols}) {
      for (const std::int64_t n : *list) most = std::max(most, n);
    }
    const std::int64_t b_size = extent(a_.cols, most), c_size = extent(a_.rows, most);
    host_b_.resize(static_cast<std::size_t>(b_size));
    b_ = bench::stage_array<T>(where_, b_size);
    c_ = bench::stage_array<T>(where_, c_size);
    const dense_view<T> all(host_b_.data(), a_.cols, most);
    bench::fill_seeded<T>(all, seed);
    expected_.emplace(a_, all);  // fewer columns are its first ones
    timing_ = {.seconds = wanted.seconds, .min_samples = 5, .max_samples = 15, .settings = {bench::setting::warm}};
  }

  /// A product ready to be timed, or why not.
  struct ready {
    bench::timing_request request;
    json told;
    bool right = false;
  };

  ready prepare(std::int64_t n, layout order, const placing& as, const plan_options& how = {}) {
    const auto [b, c] = operands(n, order, as);
    ready r{.told = {{"cols", n}, {"layout", to_string(order)}, {"placing", as.name}}};
    try {
      const bench::prepared plan = own_.planned(how, b, c);
      r.told["kernel"] = plan.kernel;
      r.told["m_block"] = plan.m_block;
      where_.poison(c_.data(), c_bytes_);
      plan.start();
      const T* fetched = static_cast<const T*>(where_.fetch(c_.data(), c_bytes_));
      const bench::accuracy found =
          expected_->compare({fetched + as.c_offset, c.rows, c.cols, c.ld, c.order}, plan.bound);
      r.told["bound_share"] = bench::finite_or_null(found.max_bound_share);
      r.right = found.passed();
      if (!r.right) r.told["message"] = found.describe(c.rows * c.cols);
      r.request = {.name = fmt::format("N:{}/{}/{}/{}", n, to_string(order), as.name, how.deterministic),
                   .work = plan.start,
                   .estimate = bench::quick_seconds(where_, plan.start, std::numeric_limits<double>::infinity())};
    } catch (const error& e) {
      if (bench::is_fatal(e)) throw;
      r.told["message"] = e.what();
    }
    return r;
  }

  /// Times those that are right; the warm medians, 0 for the others.
  std::vector<double> time(std::vector<ready>& all) {
    // One placing's gap is another's value, and a product that meets a NaN is computed twice.
    const auto b_end = host_b_.begin() + std::exchange(b_used_, 0);
    std::replace_if(
        host_b_.begin(), b_end, [](T x) { return std::isnan(static_cast<float>(x)); }, static_cast<T>(1.0f));
    where_.upload(b_.data(), host_b_.data(), (b_end - host_b_.begin()) * std::int64_t{sizeof(T)});
    std::vector<bench::timing_request> requests;
    for (const ready& r : all) {
      if (r.right) requests.push_back(r.request);
    }
    const auto results = bench::measure(where_, requests, timing_);
    std::vector<double> medians;
    std::size_t next = 0;
    for (ready& r : all) {
      medians.push_back(0);
      if (!r.right) continue;
      const bench::timing_result& result = results[next++];
      const auto& warm = result.times[bench::setting::warm];
      if (!warm) {
        r.right = false;
        r.told["message"] = result.error;
        continue;
      }
      r.told["warm"] = bench::to_json(warm);
      medians.back() = warm->median;
    }
    return medians;
  }

  /// Whether `runs` products leave the same bits. Operands as the last prepare() left them.
  bool same_bits(const bench::launch& start, int runs) {
    std::vector<std::byte> first;
    for (int run = 0; run < runs; ++run) {
      where_.poison(c_.data(), c_bytes_);
      start();
      const auto* bytes = static_cast<const std::byte*>(where_.fetch(c_.data(), c_bytes_));
      if (run == 0) first.assign(bytes, bytes + c_bytes_);
      if (std::memcmp(first.data(), bytes, first.size()) != 0) return false;
    }
    return true;
  }

 private:
  static std::int64_t extent(std::int64_t rows, std::int64_t cols) {
    return (rows + max_more_ld) * (cols + max_more_ld) + max_offset;
  }

  /// B filled and on the stage, C beside it. What lies between B's elements is NaN, so that a kernel that multiplies it
  /// is caught.
  std::pair<dense_view<const T>, dense_view<T>> operands(std::int64_t n, layout order, const placing& as) {
    const bool by_row = order == layout::row_major;
    const auto ld_of = [&](std::int64_t rows) { return (by_row ? n : rows) + as.more_ld; };
    const std::int64_t b_ld = ld_of(a_.cols), b_end = as.b_offset + b_ld * (by_row ? a_.cols : n);
    if (as.b_offset + as.more_ld > 0) std::fill_n(host_b_.data(), b_end, static_cast<T>(std::nanf("")));
    bench::fill_seeded<T>({host_b_.data() + as.b_offset, a_.cols, n, b_ld, order}, seed);
    where_.upload(b_.data(), host_b_.data(), b_end * std::int64_t{sizeof(T)});
    b_used_ = std::max(b_used_, b_end);
    const std::int64_t c_ld = ld_of(a_.rows);
    c_bytes_ = (as.c_offset + c_ld * (by_row ? a_.rows : n)) * std::int64_t{sizeof(T)};
    return {{b_.data() + as.b_offset, a_.cols, n, b_ld, order}, {c_.data() + as.c_offset, a_.rows, n, c_ld, order}};
  }

  bench::stage& where_;
  csr_view<T, std::int32_t> a_;
  bench::placed_csr<T> placed_;
  bench::own_kernels<T> own_;
  std::vector<T> host_b_;
  bench::stage_array<T> b_, c_;
  std::int64_t b_used_ = 0;   ///< of B, since products were timed last
  std::int64_t c_bytes_ = 0;  ///< of C as it lies now
  std::optional<bench::expectation<T>> expected_;
  bench::timing_options timing_;
};

/// The three parts on one matrix in one type and layout.
template <class T>
class edge_report {
 public:
  edge_report(edge_matrix<T>& matrix, const options& wanted, tally& total, std::string name, layout order)
      : matrix_(matrix), wanted_(wanted), total_(total), name_(std::move(name)), order_(order) {}

  json run() {
    json told{{"type", to_string(value_type_of<T>)}, {"layout", to_string(order_)}};
    if (wanted_.does("odd")) odd(told);
    if (wanted_.does("misaligned")) misaligned_operands(told);
    if (wanted_.does("same")) determinism(told);
    fmt::print("{:<34.34} {} {} | step {:<18} dip {:<18} | misaligned {:<30} | deterministic {}\n", name_,
               to_string(value_type_of<T>), to_string(order_), in_words(step_), in_words(dip_), in_words(misaligned_),
               determinism_);
    std::fflush(stdout);
    return told;
  }

 private:
  using ready = typename edge_matrix<T>::ready;

  /// t(N + 1) / t(N) must stay below max_step. The worst of the reverse is reported, too: how much longer a product
  /// takes than the one with a column more.
  void odd(json& told) {
    json list = json::array(), steps = json::array();
    std::int64_t before = 0;
    double before_seconds = 0;
    std::string line;
    for (const std::int64_t n : wanted_.cols) {
      std::vector<ready> one;
      one.push_back(matrix_.prepare(n, order_, packed));
      const double seconds = matrix_.time(one).front();
      note_failure(one.front());
      list.push_back(one.front().told);
      line += seconds > 0 ? fmt::format(" {}:{:.1f}", n, 1e6 * seconds) : fmt::format(" {}:-", n);
      if (before == n - 1 && before_seconds > 0 && seconds > 0) {
        const double ratio = seconds / before_seconds;
        steps.push_back({{"from", before}, {"to", n}, {"ratio", ratio}});
        keep_worse(step_, ratio, fmt::format("{} to {}", before, n));
        keep_worse(dip_, 1 / ratio, fmt::format("{} over {}", before, n));
        keep_worse(total_.step, ratio, fmt::format("{}, {} to {}", case_name(), before, n));
        keep_worse(total_.dip, 1 / ratio, fmt::format("{}, {} over {}", case_name(), before, n));
        ++total_.num_steps;
        total_.broken_steps += ratio > max_step;
      }
      before = n;
      before_seconds = seconds;
    }
    fmt::print("  us{}\n", line);
    told["odd"] = {{"products", list}, {"steps", steps}, {"worst_step", to_json(step_)}, {"worst_dip", to_json(dip_)}};
  }

  void misaligned_operands(json& told) {
    json list = json::array();
    for (const std::int64_t n : wanted_.other_cols) {
      std::vector<ready> all;
      all.push_back(matrix_.prepare(n, order_, packed));
      for (const placing& as : misaligned) all.push_back(matrix_.prepare(n, order_, as));
      const std::vector<double> seconds = matrix_.time(all);
      for (std::size_t i = 0; i < all.size(); ++i) {
        note_failure(all[i]);
        if (i > 0 && seconds[0] > 0 && seconds[i] > 0) {
          const double ratio = seconds[i] / seconds[0];
          const std::string what = fmt::format("N = {}, {}", n, misaligned[i - 1].name);
          all[i].told["over_packed"] = ratio;
          keep_worse(misaligned_, ratio, what);
          keep_worse(total_.misaligned, ratio, fmt::format("{}, {}", case_name(), what));
          ++total_.num_misaligned;
          total_.broken_misaligned += ratio > max_misaligned;
        }
        list.push_back(all[i].told);
      }
    }
    told["misaligned"] = {{"products", list}, {"worst", to_json(misaligned_)}};
  }

  /// The deterministic plan against the free one, and whether it keeps its word.
  void determinism(json& told) {
    json list = json::array();
    std::optional<judged> worst;
    std::int64_t others = 0;
    bool same = true;
    for (const std::int64_t n : wanted_.other_cols) {
      std::vector<ready> both;
      both.push_back(matrix_.prepare(n, order_, packed));
      both.push_back(matrix_.prepare(n, order_, packed, {.deterministic = true}));
      const bool bits = both[1].right && matrix_.same_bits(both[1].request.work, 3);
      const std::vector<double> seconds = matrix_.time(both);
      for (const ready& r : both) note_failure(r);
      json one{{"cols", n}, {"free", both[0].told}, {"deterministic", both[1].told}, {"same_bits", bits}};
      if (both[1].right && !bits) {
        ++total_.failures;
        same = false;
      }
      if (seconds[0] > 0 && seconds[1] > 0) {
        const bool same_kernel = both[0].told["kernel"] == both[1].told["kernel"];
        const double ratio = seconds[1] / seconds[0];
        one["same_kernel"] = same_kernel;
        one["over_free"] = ratio;
        others += !same_kernel;
        // The same kernel twice costs nothing extra: the ratio is noise.
        if (!same_kernel) {
          keep_worse(worst, ratio, fmt::format("N = {}", n));
          keep_worse(total_.deterministic, ratio, fmt::format("{}, N = {}", case_name(), n));
        }
      }
      list.push_back(std::move(one));
    }
    determinism_ = !same ? "NOT THE SAME BITS" : others == 0 ? "the free choice is" : in_words(worst);
    told["deterministic"] = {{"products", list}, {"worst", to_json(worst)}};
  }

  void note_failure(const ready& r) {
    if (r.right) return;
    ++total_.failures;
    fmt::print("FAILED: {}: {}\n", case_name(), r.told.dump());
  }
  std::string case_name() const {
    return fmt::format("{} {} {}", name_, to_string(value_type_of<T>), to_string(order_));
  }

  edge_matrix<T>& matrix_;
  const options& wanted_;
  tally& total_;
  std::string name_, determinism_ = "-";
  layout order_;
  std::optional<judged> step_, dip_, misaligned_;
};

void print_summary(const tally& t) {
  if (t.num_steps > 0) {
    fmt::print("t(N + 1) / t(N): worst {}; above {} in {} of {}. t(N) / t(N + 1): worst {}\n", in_words(t.step),
               max_step, t.broken_steps, t.num_steps, in_words(t.dip));
  }
  if (t.num_misaligned > 0) {
    fmt::print("misaligned over packed: worst {}; above {} in {} of {}\n", in_words(t.misaligned), max_misaligned,
               t.broken_misaligned, t.num_misaligned);
  }
  fmt::print("deterministic over free, where the kernels differ: worst {}; wrong or failed: {}\n",
             in_words(t.deterministic), t.failures);
}

json to_json(const tally& t) {
  return {{"worst_step", to_json(t.step)},
          {"worst_dip", to_json(t.dip)},
          {"steps", t.num_steps},
          {"steps_above_promise", t.broken_steps},
          {"promised_step", max_step},
          {"worst_misaligned", to_json(t.misaligned)},
          {"misaligned", t.num_misaligned},
          {"misaligned_above_promise", t.broken_misaligned},
          {"promised_misaligned", max_misaligned},
          {"worst_deterministic", to_json(t.deterministic)},
          {"failures", t.failures}};
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  bench::results_file results(schema, here.machine, wanted.out);
  json& document = results.document;
  tally total;
  document["seed"] = seed;
  document["matrices"] = json::array();
  document["summary"] = to_json(total);
  fmt::print("{}; {}; warm medians\n", here.machine.context, here.machine.git_hash);
  results.for_each_matrix(wanted.matrices, seed, wanted.max_seconds, [&](const bench::loaded_matrix& m) {
    json found = bench::to_json(bench::facts_of(m));
    found["cases"] = json::array();
    fmt::print("{:.0f} s  {}: {} x {}, {} non-zeros\n", results.seconds(), m.from.name, m.a.rows(), m.a.cols(),
               m.a.nnz());
    results.for_each_type(m, wanted.types, [&]<class T>(const csr_matrix<T>& a) {
      edge_matrix<T> matrix(here, a, wanted);
      for (const std::string& order : wanted.layouts) {
        edge_report<T> report(matrix, wanted, total, m.from.name,
                              order == "row" ? layout::row_major : layout::col_major);
        found["cases"].push_back(report.run());
      }
    });
    document["matrices"].push_back(std::move(found));
    document["summary"] = to_json(total);
  });
  print_summary(total);
  fmt::print("written: {} ({:.0f} s)\n", results.write().string(), results.seconds());
  return total.kept() ? bench::exit_done : bench::exit_not_met;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Where a product might suddenly take longer: odd N, misaligned operands, deterministic plans"};
  options wanted;
  bench::add_matrices(app, wanted.matrices);
  bench::add_device(app, wanted.device);
  bench::add_list(app, "--part", wanted.parts, "odd: N one by one; misaligned; same: deterministic plans",
                  CLI::IsMember({"odd", "misaligned", "same"}));
  bench::add_list(app, "--type", wanted.types, "Value types", CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}));
  bench::add_list(app, "--layout", wanted.layouts, "Of B and C", CLI::IsMember({"row", "col"}));
  bench::add_list(app, "--cols", wanted.cols, "N, of the part odd: neighbours are compared", CLI::PositiveNumber);
  bench::add_list(app, "--other-cols", wanted.other_cols, "N, of the other parts", CLI::PositiveNumber);
  app.add_option("--seconds", wanted.seconds, "Aimed at for the samples of one product")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--limit", wanted.max_seconds,
                 "Starts no further matrix after this many seconds, and says which are left out")
      ->capture_default_str();
  app.add_option("--out", wanted.out, "JSON, written anew after each matrix")->capture_default_str();
  app.footer(
      "Exit status: 0 all promises kept, 3 one was not or a result was wrong, 77 no GPU here.\nExamples:\n"
      "  edges elasticity:30,30,30 stencil7:80,80,80 uniform:4096,4096,0.9,seed=1 rmat:17,16,seed=1\n"
      "  edges wave.mtx.gz --type fp32,fp64 --layout row --part odd --out wave-odd.json\n"
      "  edges stencil9:100,100 --device cpu --cols 7,8,9 --other-cols 8");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("edges", [&] { return run(wanted); });
}
