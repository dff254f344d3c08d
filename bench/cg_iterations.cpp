#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/cg.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/fail.hpp"

#if BCSC_BENCH_WITH_EIGEN
#include "bench/baselines/eigen_product.hpp"
#endif
#if BCSC_BENCH_WITH_CUSPARSE
#include "bench/baselines/cublas_cg.hpp"
#endif

/// What an iteration of conjugate gradients takes, fp64, no preconditioner: solve_cg() with one and with several
/// right-hand sides, beside cuSPARSE and cuBLAS in CUDA graphs, or Eigen. Iterations are counted, not solves: the time
/// of a longer run less that of a shorter one, over the iterations between them, so that set-up counts for neither.
namespace {

using namespace bcsc;
using bench::json;

constexpr std::string_view schema = "bcsc-cg-iterations-2";
constexpr std::uint64_t seed = 1;

struct options {
  std::string device = "cuda", out;
  std::vector<std::string> matrices;
  std::int64_t rhs = 16;
  std::int64_t first = 40, second = 240;  ///< iterations of the two runs
  int samples = 11;
};

/// Vectors' bytes that an iteration has to move for a right-hand side: p, q, r and x are read, p, r and x written. That
/// is all where a GPU keeps its rows in registers; where it cannot, seven and a half to ten are moved, eleven on a CPU.
constexpr double vector_bytes_a_row = 7.0 * sizeof(double);

/// Seconds of an iteration from runs of two lengths; `run(n)` returns seconds and the iterations that they were.
struct counted_run {
  double seconds = 0;
  std::int64_t iterations = 0;
};
bench::time_statistics seconds_an_iteration(const options& wanted,
                                            const std::function<counted_run(std::int64_t)>& run) {
  run(wanted.first);  // loads, allocates, warms up
  std::vector<double> seconds;
  for (int i = 0; i < wanted.samples; ++i) {
    const counted_run shorter = run(wanted.first), longer = run(wanted.second);
    if (longer.iterations <= shorter.iterations) {
      core::fail(errc::unsupported, "the solve ended after {} iterations: too few to time", longer.iterations);
    }
    seconds.push_back((longer.seconds - shorter.seconds) / static_cast<double>(longer.iterations - shorter.iterations));
  }
  return bench::summarise(std::move(seconds), wanted.second - wanted.first);
}

/// Ours: plan, right-hand sides and iterates on the stage.
class own_solver {
 public:
  own_solver(bench::place& here, const bench::placed_csr<double>& a, std::int64_t rhs)
      : where_(*here.where),
        rows_(a.view().rows),
        rhs_(rhs),
        plan_(here.ctx, a.view(), {.cols = rhs, .check = trust::trusted}),
        b_(where_, rows_ * rhs),
        x_(where_, rows_ * rhs) {
    dense_matrix<double> host(rows_, rhs);
    bench::fill_seeded<double>(host.view(), seed);
    where_.upload(b_.data(), host.data(), b_.bytes());
  }

  counted_run run(std::int64_t iterations) {
    const dense_view<const double> b(b_.data(), rows_, rhs_);
    const dense_view<double> x(x_.data(), rows_, rhs_);
    // No residual is small enough, so that none ends the iteration.
    const cg_result result = solve_cg<double>(plan_, {}, b, x,
                                              {.tolerance = 1e-140,
                                               .max_iterations = iterations,
                                               .precondition = preconditioner::none,
                                               .check_every = where_.space() == memory_space::device ? 40 : 0});
    return {result.seconds, result.iterations};
  }

  bench::time_statistics product_seconds(int samples) {
    const dense_view<const double> b(b_.data(), rows_, rhs_);
    const dense_view<double> x(x_.data(), rows_, rhs_);
    const bench::launch product = [&] { plan_.run(1.0, b, 0.0, x, {.stream = where_.stream()}); };
    where_.seconds(product, 3);
    const auto twenty = where_.repeated(product, 20);  // a graph, as CG's iterations are
    std::vector<double> seconds;
    for (int i = 0; i < samples; ++i) seconds.push_back(twenty->seconds() / 20);
    return bench::summarise(std::move(seconds), 20);
  }

  const double* b() const { return b_.data(); }
  double* x() const { return x_.data(); }
  const plan_facts& facts() const { return plan_.facts(); }

 private:
  bench::stage& where_;
  std::int64_t rows_, rhs_;
  spmm_plan<double> plan_;
  bench::stage_array<double> b_, x_;
};

struct rival {
  std::string name;
  bench::time_statistics seconds;
};

#if BCSC_BENCH_WITH_CUSPARSE
rival on_gpu(bench::place& here, const bench::placed_csr<double>& a, const own_solver& ours, const options& wanted) {
  bench::cublas_cg solver(*here.where, a.view(), ours.b(), ours.x());
  const auto run = [&](std::int64_t iterations) -> counted_run {
    solver.restart();
    const std::int64_t graphs = iterations / bench::cublas_cg::iterations_a_graph;
    const double seconds = here.where->seconds([&] { solver.start_graph(); }, graphs);
    return {seconds, graphs * bench::cublas_cg::iterations_a_graph};
  };
  return {"cusparse-" + solver.algorithm() + " + cublas", seconds_an_iteration(wanted, run)};
}
#endif

#if BCSC_BENCH_WITH_EIGEN
rival on_cpu(bench::place& here, const csr_view<double, std::int32_t>& a, const own_solver& ours,
             const options& wanted) {
  const auto iterate = bench::best_eigen().iterate;
  const bench::eigen_system system{a.rows,          a.nnz(),  a.row_ptr.data(), a.col_ind.data(),
                                   a.values.data(), ours.b(), ours.x(),         here.ctx.threads()};
  const auto run = [&](std::int64_t iterations) -> counted_run {
    return {here.where->seconds([&] { iterate(system, static_cast<int>(iterations)); }, 1), iterations};
  };
  return {"eigen", seconds_an_iteration(wanted, run)};
}
#endif

/// None where the library is not in this build.
std::optional<rival> rival_on(bench::place& here, const bench::placed_csr<double>& a, const own_solver& ours,
                              const options& wanted) {
#if BCSC_BENCH_WITH_CUSPARSE
  if (here.ctx.kind() == backend::cuda) return on_gpu(here, a, ours, wanted);
#endif
#if BCSC_BENCH_WITH_EIGEN
  if (here.ctx.kind() == backend::cpu) return on_cpu(here, a.view(), ours, wanted);
#endif
  (void)here, (void)a, (void)ours, (void)wanted;
  return std::nullopt;
}

json measure(bench::place& here, const bench::loaded_matrix& m, const options& wanted) {
  json told = bench::to_json(bench::facts_of(m));
  const csr_matrix<double> a = cast<double, std::int32_t>(m.a);
  if (a.rows() != a.cols()) core::fail(errc::unsupported, "{} x {}: not square", a.rows(), a.cols());
  const bench::placed_csr<double> placed(*here.where, a.view());
  const auto timed = [](const bench::time_statistics& t) { return bench::to_json(std::optional(t)); };

  own_solver one(here, placed, 1);
  const bench::time_statistics alone =
      seconds_an_iteration(wanted, [&](std::int64_t iterations) { return one.run(iterations); });
  const bench::time_statistics product = one.product_seconds(wanted.samples);
  told["ours"] = timed(alone);
  told["kernel"] = one.facts().kernel.name;
  told["product"] = timed(product);
  const auto vector_bandwidth = [&](const bench::time_statistics& iteration, const bench::time_statistics& of_it,
                                    std::int64_t rhs) {
    return vector_bytes_a_row * static_cast<double>(a.rows() * rhs) / (iteration.median - of_it.median);
  };
  told["vector_bandwidth"] = vector_bandwidth(alone, product, 1);
  if (const auto other = rival_on(here, placed, one, wanted)) {
    told["rival"] = other->name;
    told["rival_seconds"] = timed(other->seconds);
    told["ratio"] = other->seconds.median / alone.median;
  }
  own_solver several(here, placed, wanted.rhs);
  const bench::time_statistics together =
      seconds_an_iteration(wanted, [&](std::int64_t iterations) { return several.run(iterations); });
  told["rhs"] = wanted.rhs;
  const bench::time_statistics their_product = several.product_seconds(wanted.samples);
  told["together"] = timed(together);
  told["together_product"] = timed(their_product);
  told["together_vector_bandwidth"] = vector_bandwidth(together, their_product, wanted.rhs);
  told["share"] = together.median / static_cast<double>(wanted.rhs) / alone.median;
  return told;
}

void print(const json& p, double copy_bandwidth) {
  const auto us = [&](const char* what) { return 1e6 * p[what]["median"].get<double>(); };
  fmt::print("{:<30.30} {:>9} {:>9.1f} {:>9.1f} {:>6.0f} % | {:>9} {:>6} | {:>10.1f} {:>9.1f} {:>6.0f} % {:>6.2f}\n",
             p["name"].get<std::string>(), p["rows"].get<std::int64_t>(), us("ours"), us("product"),
             100 * p["vector_bandwidth"].get<double>() / copy_bandwidth,
             p.contains("rival") ? fmt::format("{:.1f}", us("rival_seconds")) : "-",
             p.contains("rival") ? fmt::format("{:.2f}", p["ratio"].get<double>()) : "-", us("together"),
             us("together_product"), 100 * p["together_vector_bandwidth"].get<double>() / copy_bandwidth,
             p["share"].get<double>());
  std::fflush(stdout);
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  here.machine.copy_bandwidth = here.where->measure_copy_bandwidth();
  json document = bench::begin_document(schema, here.machine);
  document["points"] = json::array();
  fmt::print("{}; {}; copies {:.2f} TB/s (read and written); fp64, no preconditioner; us an iteration\n",
             here.machine.context, here.machine.git_hash, 1e-12 * here.machine.copy_bandwidth);
  fmt::print("{:<30} {:>9} {:>9} {:>9} {:>8} | {:>9} {:>6} | {:>10} {:>9} {:>8} {:>6}\n", "matrix", "rows", "ours",
             "product", "vectors", "rival", "ratio", fmt::format("k = {}", wanted.rhs), "product", "vectors", "share");
  double log_sum = 0;
  int num_compared = 0;
  for (const bench::input& from : bench::expand_inputs(wanted.matrices)) {
    try {
      json point = measure(here, bench::load(from, seed), wanted);
      print(point, here.machine.copy_bandwidth);
      if (point.contains("ratio")) {
        log_sum += std::log(point["ratio"].get<double>());
        ++num_compared;
      }
      document["points"].push_back(std::move(point));
    } catch (const error& e) {
      if (e.code() != errc::unsupported && e.code() != errc::out_of_memory) throw;
      fmt::print("{:<30.30} left out: {}\n", from.name, e.what());
      document["left_out"].push_back(fmt::format("{}: {}", from.name, e.what()));
    }
  }
  if (num_compared > 0) {
    document["geometric_mean"] = std::exp(log_sum / num_compared);
    fmt::print("geometric mean of {} ratios: {:.2f}\n", num_compared, std::exp(log_sum / num_compared));
  }
  if (!wanted.out.empty()) bench::write_text(bench::text_of(document), wanted.out);
  return bench::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What an iteration of conjugate gradients takes, beside cuSPARSE with cuBLAS, or Eigen"};
  options wanted;
  bench::add_matrices(app, wanted.matrices);
  bench::add_device(app, wanted.device);
  app.add_option("--rhs", wanted.rhs, "Right-hand sides that are solved at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--first", wanted.first, "Iterations of the shorter run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--second", wanted.second, "Iterations of the longer run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--samples", wanted.samples, "Pairs of runs")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--out", wanted.out, "JSON");
  app.footer(
      "vectors: of the bandwidth of copies, what vectors reach if each is read and written once. share: of k\n"
      "right-hand sides, the time of one beside that of one by itself. Exit status: 0, 77 no GPU here.\nExamples:\n"
      "  cg_iterations stencil7:80,80,80 elasticity:30,30,30 banded:200000,60 --out cg.json\n"
      "  cg_iterations stencil7:80,80,80 --device cpu");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("cg_iterations", [&] { return run(wanted); });
}
