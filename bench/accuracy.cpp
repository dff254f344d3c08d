#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/registry.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/stage.hpp"

/// How far products are from a reference in higher precision (fp64; long double for fp64), and how close to the
/// promised bound (bench/harness/bound.hpp): the plan's choice in every precision, and all configs of every algorithm.
/// Nothing is timed. B is uniform in [-1, 1).
namespace {

using namespace bcsc;
using bench::json;

constexpr std::string_view schema = "bcsc-accuracy-1";
constexpr std::uint64_t seed = 1;

struct options {
  std::string device = "cuda", out = "accuracy.json";
  std::vector<std::string> matrices, types;  ///< no types: all there are
  std::int64_t cols = 32;
  double max_seconds = 1e9;
};

/// What computed it: the plan in a precision, or the configs of an algorithm that promise the same.
struct group {
  std::string name;  ///< "plan", or the algorithm
  compute_class compute = compute_class::full;
  error_bound bound;
};

/// What the configs of one group do on one matrix.
struct group_accuracy {
  group who;
  std::int64_t num_configs = 0, violations = 0, compared = 0;
  double max_error = 0, max_share = 0;
  double sum_error = 0, sum_share = 0;  ///< of the configs' means
  std::string worst;                    ///< the config with the greatest share of its bound
  std::vector<std::string> failures;

  void add(const std::string& config, const bench::accuracy& found) {
    ++num_configs;
    violations += found.violations;
    compared += found.compared;
    max_error = std::max(max_error, found.max_error);
    sum_error += found.mean_error;
    sum_share += found.mean_bound_share;
    if (worst.empty() || found.max_bound_share > max_share) {
      max_share = found.max_bound_share;
      worst = config;
    }
  }
  double mean_error() const { return num_configs > 0 ? sum_error / static_cast<double>(num_configs) : 0; }
  double mean_share() const { return num_configs > 0 ? sum_share / static_cast<double>(num_configs) : 0; }
};

/// The unit of errors: 2^-24 where sums are fp32, 2^-53 where they are fp64.
double unit_roundoff_of(value_type type) { return std::ldexp(1.0, type == value_type::fp64 ? -53 : -24); }

bool same_promise(const group& a, const kernel_info& config) {
  return a.name == config.algorithm && a.bound.more_terms == config.bound.more_terms &&
         a.bound.rounding == config.bound.rounding;
}

/// TF32 is a class of its own: the plan may then choose configs that round.
compute_class class_of(const kernel_info& config) {
  return config.rounds_values ? compute_class::tf32 : compute_class::full;
}

/// One matrix in one type.
template <class T>
class matrix_accuracy {
 public:
  matrix_accuracy(bench::place& here, const csr_matrix<T>& a, std::int64_t cols)
      : here_(here),
        where_(*here.where),
        a_(a.view()),
        placed_(where_, a_),
        b_(where_, a_.cols * cols),
        c_(where_, a_.rows * cols),
        b_view_(b_.data(), a_.cols, cols),
        c_view_(c_.data(), a_.rows, cols),
        host_b_(a_.cols, cols),
        expected_(a_, filled()) {
    where_.upload(b_.data(), host_b_.data(), b_.bytes());
  }

  std::vector<group_accuracy> run() {
    std::vector<group_accuracy> groups;
    bench::own_kernels<T> own(here_.ctx, where_, a_, placed_.view());
    const auto algorithms = own.configs_by_algorithm(false);
    std::vector<compute_class> classes{compute_class::full};
    for (const auto& configs : algorithms) {
      if (std::ranges::any_of(configs, &kernel_info::rounds_values)) {
        classes = {compute_class::full, compute_class::tf32};
      }
    }
    for (const compute_class compute : classes) {
      const bench::own_kernels<T> of_class(here_.ctx, where_, a_, placed_.view(), compute);
      groups.push_back({.who = {.name = "plan", .compute = compute}});
      add(groups.back(), "plan", [&] { return of_class.planned({}, b_view_, c_view_); });
    }
    for (const auto& configs : algorithms) {
      for (const kernel_info& config : configs) {
        auto to = std::ranges::find_if(groups, [&](const auto& g) { return same_promise(g.who, config); });
        if (to == groups.end()) {
          groups.push_back({.who = {config.algorithm, class_of(config), config.bound}});
          to = std::prev(groups.end());
        }
        add(*to, config.name, [&] { return own.config_prepared(config.name, b_view_, c_view_); });
      }
    }
    return groups;
  }

 private:
  /// All digits of T are used: with those of fp32, many sums in fp64 would be exact.
  dense_view<const T> filled() {
    std::mt19937_64 bits(seed);
    std::generate_n(host_b_.data(), host_b_.rows() * host_b_.cols(),
                    [&] { return static_cast<T>(std::ldexp(static_cast<double>(bits() >> 11), -52) - 1); });
    return std::as_const(host_b_).view();
  }

  template <class Prepare>
  void add(group_accuracy& to, const std::string& name, Prepare prepare) {
    try {
      const bench::prepared product = prepare();
      where_.poison(c_.data(), c_.bytes());
      product.start();
      const void* data = where_.fetch(c_.data(), c_.bytes());
      const bench::accuracy found =
          expected_.compare({static_cast<const T*>(data), c_view_.rows, c_view_.cols}, product.bound);
      if (to.who.name == "plan") to.who.bound = product.bound;
      to.add(product.kernel.empty() ? name : product.kernel, found);
    } catch (const error& e) {
      if (bench::is_fatal(e)) throw;
      to.failures.push_back(fmt::format("{}: {}", name, e.what()));
    }
  }

  bench::place& here_;
  bench::stage& where_;
  csr_view<T, std::int32_t> a_;
  bench::placed_csr<T> placed_;
  bench::stage_array<T> b_, c_;
  dense_view<const T> b_view_;
  dense_view<T> c_view_;
  dense_matrix<T> host_b_;
  bench::expectation<T> expected_;
};

json to_json(const std::string& matrix, value_type type, const group_accuracy& g) {
  return {{"matrix", matrix},
          {"type", to_string(type)},
          {"compute", to_string(g.who.compute)},
          {"group", g.who.name},
          {"more_terms", g.who.bound.more_terms},
          {"rounding", g.who.bound.rounding},
          {"configs", g.num_configs},
          {"unit_roundoff", unit_roundoff_of(type)},
          {"max_error", bench::finite_or_null(g.max_error)},
          {"mean_error", bench::finite_or_null(g.mean_error())},
          {"max_bound_share", bench::finite_or_null(g.max_share)},
          {"mean_bound_share", bench::finite_or_null(g.mean_share())},
          {"worst_config", g.worst},
          {"compared", g.compared},
          {"violations", g.violations},
          {"failures", g.failures}};
}

void print(const std::string& matrix, value_type type, const group_accuracy& g) {
  const double u = unit_roundoff_of(type);
  fmt::print("{:<34.34} {:<5} {:<5} {:<9} {:>3} {:>8.0e} {:>7} | {:>10.3g} {:>10.3g} | {:>9.3g} {:>9.3g}  {}{}\n",
             matrix, to_string(type), to_string(g.who.compute), g.who.name, g.who.bound.more_terms,
             g.who.bound.rounding, g.num_configs, g.max_error / u, g.mean_error() / u, g.max_share, g.mean_share(),
             g.worst, g.violations > 0 ? "  BEYOND THE BOUND" : "");
  for (const std::string& failure : g.failures) fmt::print("  FAILED: {}\n", failure);
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  const auto types = wanted.types.empty() ? bench::multiplied_types(here.ctx.kind()) : wanted.types;
  bench::results_file results(schema, here.machine, wanted.out);
  json& document = results.document;
  document["seed"] = seed;
  document["cols"] = wanted.cols;
  document["matrices"] = document["results"] = json::array();
  fmt::print("{}; {}; N = {}; errors in u |A||B|, u = 2^-24 (fp64: 2^-53)\n", here.machine.context,
             here.machine.git_hash, wanted.cols);
  fmt::print("{:<34} {:<5} {:<5} {:<9} {:>3} {:>8} {:>7} | {:>10} {:>10} | {:>9} {:>9}  {}\n", "matrix", "type",
             "class", "who", "c", "rounding", "configs", "max error", "mean", "of bound", "mean", "worst config");

  bool all_well = true;
  results.for_each_matrix(wanted.matrices, seed, wanted.max_seconds, [&](const bench::loaded_matrix& m) {
    document["matrices"].push_back(bench::to_json(bench::facts_of(m)));
    results.for_each_type(m, types, [&]<class T>(const csr_matrix<T>& a) {
      const auto fits = [](T v) { return std::isfinite(static_cast<double>(v)); };
      if (!std::ranges::all_of(a.view().values, fits)) {
        results.leave_out(fmt::format("{} {}: values do not fit", m.from.name, to_string(value_type_of<T>)));
        return;
      }
      for (const group_accuracy& g : matrix_accuracy<T>(here, a, wanted.cols).run()) {
        print(m.from.name, value_type_of<T>, g);
        document["results"].push_back(to_json(m.from.name, value_type_of<T>, g));
        all_well = all_well && g.violations == 0 && g.failures.empty();
      }
    });
    std::fflush(stdout);
  });
  fmt::print("written: {} ({:.0f} s); {}\n", results.write().string(), results.seconds(),
             all_well ? "all within their bounds" : "NOT all within their bounds");
  return all_well ? bench::exit_done : bench::exit_not_met;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"How far products are from a reference in higher precision, by precision and algorithm"};
  options wanted;
  bench::add_matrices(app, wanted.matrices);
  bench::add_device(app, wanted.device);
  app.add_option("--type", wanted.types, "Value types (all that are multiplied)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}));
  app.add_option("--cols", wanted.cols, "N")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--limit", wanted.max_seconds,
                 "Starts no further matrix after this many seconds, and says which are left out")
      ->capture_default_str();
  app.add_option("--out", wanted.out, "JSON, written anew after each matrix")->capture_default_str();
  app.footer(
      "Exit status: 0 all within their bounds, 3 not, 77 no GPU here.\nExamples:\n"
      "  accuracy folder/of/matrices elasticity:30,30,30 --out accuracy-gpu.json\n"
      "  accuracy wave.mtx.gz --device cpu --type fp64\n"
      "  bench/report/accuracy.py accuracy-gpu.json accuracy-cpu.json");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("accuracy", [&] { return run(wanted); });
}
