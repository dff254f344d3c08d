#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bcsc/amg.hpp"
#include "bcsc/cg.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/preconditioners.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/results.hpp"
#include "bench/harness/stage.hpp"

/// Time to solution of conjugate gradients: Jacobi's preconditioner in fp64 and with products or whole iterations in
/// fp32, several right-hand sides side by side and in one search space, smoothed aggregation in fp64 and in fp32,
/// incomplete Cholesky. Each solve runs several times in one process, with its operands where the context computes, and
/// the fastest run counts. Plans and hierarchies are timed separately, and the break-even number of solves is printed.
namespace {

using namespace bcsc;
using bench::json;

constexpr std::uint64_t seed = 1;
const std::vector<std::string> all_parts = {"fp64", "fp32", "block", "amg", "ic0"};

struct options {
  std::string device = "cuda", out;
  std::vector<std::string> matrices, parts = all_parts;
  std::int64_t rhs = 16;
  int repeats = 3;
  double tolerance = 1e-10;
  std::vector<double> shares = {1e-1, 1e-2, 1e-3};  ///< of reliable() and refine()
  double max_seconds = 1e9;

  bool has(const char* part) const { return std::ranges::find(parts, part) != parts.end(); }
};

double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }

/// A way to solve, and for how many right-hand sides.
struct recipe {
  std::string name;
  std::int64_t rhs = 1;
  std::function<cg_result(const dense_view<const double>& b, const dense_view<double>& x)> solve;
};

/// The solves of one matrix; right-hand sides and iterates lie on the stage.
class solves_of {
 public:
  solves_of(bench::place& here, const bench::loaded_matrix& m, const options& wanted, bench::results_file& results)
      : here_(here),
        wanted_(wanted),
        results_(results),
        a_(m.a),
        name_(m.from.name),
        b_(*here.where, a_.rows() * wanted.rhs),
        x_(*here.where, a_.rows() * wanted.rhs) {
    const dense_matrix<double> nodes = generate::node_coordinates(m.from.source);
    if (nodes.rows() * nodes.cols() == a_.rows()) {
      modes_ = rigid_body_modes(nodes.view());
      block_ = nodes.cols();
    }
    dense_matrix<double> host(a_.rows(), wanted.rhs);
    bench::fill_seeded<double>(host.view(), seed);
    here.where->upload(b_.data(), host.data(), b_.bytes());
    told_ = bench::to_json(bench::facts_of(m));
    told_["near_nullspace"] = modes_.cols() > 0 ? "rigid-body modes" : "constants";
  }

  json measure() && {
    by_jacobi();
    if (wanted_.has("amg")) by_amg();
    if (wanted_.has("ic0")) by_ic0();
    summarise();
    return std::move(told_);
  }

 private:
  cg_options how() const { return {.tolerance = wanted_.tolerance, .max_iterations = 100000}; }

  /// True, and told, if the time is over.
  bool is_too_late_for(const std::string& solve) {
    if (results_.seconds() <= wanted_.max_seconds) return false;
    results_.leave_out(fmt::format("{}, {}: the time is over", name_, solve));
    return true;
  }

  /// The fastest of the runs, as an object of the results; none where the time is over.
  void add(const recipe& one) {
    if (is_too_late_for(one.name)) return;
    const dense_view<const double> b(b_.data(), a_.rows(), one.rhs);
    const dense_view<double> x(x_.data(), a_.rows(), one.rhs);
    cg_result r;
    std::vector<double> seconds;
    for (int i = 0; i < wanted_.repeats; ++i) {
      r = one.solve(b, x);
      seconds.push_back(r.seconds);
    }
    const double fastest = *std::ranges::min_element(seconds);
    fmt::print("{:<26.26} {:<24} {:>3} {:>6} {:>5} {:>9} {:>10.2f} {:>9.1e}  {}\n", name_, one.name, one.rhs,
               r.iterations, r.num_replacements, r.num_products, 1e3 * fastest, largest(r.true_residual),
               to_string(r.reason));
    std::fflush(stdout);
    solves_.push_back({{"name", one.name},
                       {"rhs", one.rhs},
                       {"reason", to_string(r.reason)},
                       {"iterations", r.iterations},
                       {"products", r.num_products},
                       {"replacements", r.num_replacements},
                       {"seconds", fastest},
                       {"runs", seconds},
                       {"inner", r.inner},
                       {"true_residual", bench::finite_or_null(largest(r.true_residual))},
                       {"recurrence_residual", bench::finite_or_null(largest(r.recurrence_residual))}});
  }

  void by_jacobi() {
    // Each solve makes its plans from this host view again, and its seconds do not count that.
    const auto with = [this](cg_inner inner, cg_correction correction, cg_method method = cg_method::simultaneous) {
      return [this, inner, correction, method](const auto& b, const auto& x) {
        cg_options given = how();
        given.inner = inner;
        given.correction = correction;
        given.method = method;
        return solve_cg(here_.ctx, a_.view(), b, x, given);
      };
    };
    const auto in_fp32 = [&](const char* kind, cg_correction (*correction)(double)) {
      for (const double share : wanted_.shares) {
        add({fmt::format("jacobi, {}:{:g}", kind, share), 1, with(cg_inner::fp32, correction(share))});
      }
    };
    if (wanted_.has("fp64")) add({"jacobi", 1, with(cg_inner::as_given, {})});
    if (wanted_.has("fp32")) in_fp32("reliable", &cg_correction::reliable);
    if (wanted_.has("fp32")) in_fp32("refine", &cg_correction::refine);
    if (wanted_.has("block") && wanted_.rhs > 1) {
      add({"jacobi", wanted_.rhs, with(cg_inner::as_given, {})});
      add({"jacobi, block", wanted_.rhs, with(cg_inner::as_given, {}, cg_method::block)});
    }
  }

  void by_amg() {
    by_amg(1, false);
    by_amg(1, true);
    if (wanted_.rhs == 1) return;
    by_amg(wanted_.rhs, false);
    by_amg(wanted_.rhs, true);
  }

  void by_amg(std::int64_t rhs, bool single_precision) {
    const std::string name = single_precision ? "amg in fp32" : "amg";
    if (is_too_late_for(name)) return;
    const amg_preconditioner<double> amg(
        here_.ctx, a_,
        {.block = block_, .near_nullspace = modes_.view(), .single_precision = single_precision, .cols = rhs});
    const amg_facts& facts = amg.facts();
    setups_.push_back({{"name", name},
                       {"rhs", rhs},
                       {"seconds", facts.setup_seconds},
                       {"levels", facts.levels.size()},
                       {"operator_complexity", facts.operator_complexity}});
    fmt::print("{:<26.26} {}, {} levels, operator complexity {:.2f}: set up in {:.2f} s\n", name_, name,
               facts.levels.size(), facts.operator_complexity, facts.setup_seconds);
    const spmm_plan<double> plan(here_.ctx, a_.view(), {.cols = rhs, .check = trust::trusted});
    add({name, rhs,
         [&](const auto& b, const auto& x) { return solve_cg<double>(plan, amg.as_operator(), b, x, how()); }});
  }

  void by_ic0() {
    if (is_too_late_for("ic0")) return;
    try {
      const auto begin = std::chrono::steady_clock::now();
      const linear_operator<double> ic0 = ic0_preconditioner(here_.ctx, a_);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      setups_.push_back({{"name", "ic0"}, {"rhs", 1}, {"seconds", seconds}, {"description", ic0.describe()}});
      fmt::print("{:<26.26} {}: set up in {:.2f} s\n", name_, ic0.describe(), seconds);
      for (const std::int64_t rhs :
           wanted_.rhs > 1 ? std::vector{std::int64_t{1}, wanted_.rhs} : std::vector{std::int64_t{1}}) {
        const spmm_plan<double> plan(here_.ctx, a_.view(), {.cols = rhs, .check = trust::trusted});
        add({"ic0", rhs, [&](const auto& b, const auto& x) { return solve_cg<double>(plan, ic0, b, x, how()); }});
      }
    } catch (const error& e) {
      if (e.code() != errc::unsupported) throw;
      results_.leave_out(fmt::format("{}, ic0: {}", name_, e.what()));  // no cuSPARSE
    }
  }

  /// The seconds of the fastest of these solves that has converged, if one has.
  std::optional<double> fastest(std::int64_t rhs, const std::function<bool(std::string_view)>& is_one) const {
    std::optional<double> best;
    for (const json& one : solves_) {
      if (one["rhs"] != rhs || one["reason"] != "converged" || !is_one(one["name"].get<std::string>())) continue;
      best = std::min(best.value_or(HUGE_VAL), one["seconds"].get<double>());
    }
    return best;
  }
  std::optional<double> named(std::string_view name, std::int64_t rhs = 1) const {
    return fastest(rhs, [&](std::string_view is) { return is == name; });
  }
  std::optional<double> begun_with(std::string_view start) const {
    return fastest(1, [&](std::string_view is) { return is.starts_with(start); });
  }

  void summarise() {
    const auto jacobi = named("jacobi"), amg = named("amg"), amg32 = named("amg in fp32");
    const auto reliable = begun_with("jacobi, reliable"), refine = begun_with("jacobi, refine");
    json ratios;
    const auto ratio = [&](const char* what, std::optional<double> of, std::optional<double> over) {
      if (!of || !over) return;
      ratios[what] = *of / *over;
      fmt::print("{:<26.26} {}: {:.2f}\n", name_, what, *of / *over);
    };
    ratio("jacobi over its reliable in fp32", jacobi, reliable);
    ratio("jacobi over its refine in fp32", jacobi, refine);
    if (wanted_.rhs > 1) {
      const auto together = named("jacobi", wanted_.rhs);
      ratio("jacobi of all right-hand sides over one's", together, jacobi);
      ratio("jacobi of all right-hand sides over block", together, named("jacobi, block", wanted_.rhs));
    }
    ratio("jacobi over ic0", jacobi, named("ic0"));
    ratio("jacobi over amg", jacobi, amg);
    ratio("jacobi over amg in fp32", jacobi, amg32);
    ratio("amg over amg in fp32", amg, amg32);
    const auto of_all = [&](const char* name) { return wanted_.rhs > 1 ? named(name, wanted_.rhs) : std::nullopt; };
    ratio("amg of all right-hand sides over one's", of_all("amg"), amg);
    ratio("amg in fp32 of all right-hand sides over one's", of_all("amg in fp32"), amg32);
    if (jacobi && amg && *amg < *jacobi) {
      const double setup = setups_.front()["seconds"].get<double>();
      told_["break_even"] = std::ceil(setup / (*jacobi - *amg));
      fmt::print("{:<26.26} amg's set-up of {:.2f} s has paid after {:.0f} solves\n", name_, setup,
                 told_["break_even"].get<double>());
    }
    told_["ratios"] = std::move(ratios);
    told_["setups"] = std::move(setups_);
    told_["solves"] = std::move(solves_);
  }

  bench::place& here_;
  const options& wanted_;
  bench::results_file& results_;
  const csr_matrix<double>& a_;
  std::string name_;
  bench::stage_array<double> b_, x_;
  dense_matrix<double> modes_;
  std::int64_t block_ = 1;
  json told_, setups_ = json::array(), solves_ = json::array();
};

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  fmt::print("{}, commit {}; tolerance {:g}; the fastest of {}\n", here.machine.context, here.machine.git_hash,
             wanted.tolerance, wanted.repeats);
  fmt::print("{:<26} {:<24} {:>3} {:>6} {:>5} {:>9} {:>10} {:>9}\n", "matrix", "", "k", "steps", "anew", "products",
             "ms", "true");
  bench::results_file results("bcsc-solve-times-1", here.machine, wanted.out);
  results.document["tolerance"] = wanted.tolerance;
  results.document["points"] = json::array();
  bool all_converged = true;
  for (const bench::input& from : bench::expand_inputs(wanted.matrices)) {
    const bench::loaded_matrix m = bench::load(from, seed);
    try {
      if (m.a.rows() != m.a.cols()) core::fail(errc::unsupported, "{} x {}: not square", m.a.rows(), m.a.cols());
      json point = solves_of(here, m, wanted, results).measure();
      for (const json& one : point["solves"]) all_converged = all_converged && one["reason"] == "converged";
      results.document["points"].push_back(std::move(point));
    } catch (const error& e) {
      if (e.code() != errc::unsupported && e.code() != errc::out_of_memory && e.code() != errc::invalid_argument) throw;
      results.leave_out(fmt::format("{}: {}", from.name, e.what()));
    }
    if (!wanted.out.empty()) results.write();
  }
  return all_converged ? bench::exit_done : bench::exit_not_met;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Time to solution of conjugate gradients: Jacobi and smoothed aggregation, fp64 and fp32"};
  options wanted;
  bench::add_matrices(app, wanted.matrices);
  bench::add_device(app, wanted.device);
  bench::add_list(app, "--only", wanted.parts, "These parts, separated by commas", CLI::IsMember(all_parts));
  app.add_option("--rhs", wanted.rhs, "Right-hand sides, where they are several")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--repeats", wanted.repeats, "Runs, of which the fastest counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tolerance", wanted.tolerance, "On the true relative residual")->capture_default_str();
  bench::add_list(app, "--shares", wanted.shares, "Of reliable and refine, separated by commas",
                  CLI::Range(1e-7, 0.99));
  app.add_option("--seconds", wanted.max_seconds, "Begin no solve after this time");
  app.add_option("--out", wanted.out, "JSON");
  app.footer(
      "anew: true residuals from which the iteration went on. ms: without plan and set-up.\n"
      "Exit status: 0, 3 one has not converged, 77 no GPU here.\nExamples:\n"
      "  solve_times stencil7:128,128,128 elasticity:30,30,30 --out times.json\n"
      "  solve_times stencil7:40,40,40 --device cpu --only fp64,fp32 --shares 1e-2");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("solve_times", [&] { return run(wanted); });
}
