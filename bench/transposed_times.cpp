#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/registry.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/contender.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"

/// C = A' * B in three ways: by a plan that stores A', by one that reads A as another plan stores it (every config of
/// its table), and by cuSPARSE from CSR of A. Times are those of config_times: the least of few runs, warm, not for
/// claims. The first two results are compared, and their difference is reported.
namespace {

using namespace bcsc;
using bench::json;

struct options {
  std::string device = "cuda", out = "transposed-times.json";
  std::vector<std::string> matrices, types = {"fp32"};
  std::vector<std::int64_t> cols = {1, 8, 32, 128, 512};
  double max_seconds = 1e9;
};

constexpr std::uint64_t seed = 1;

double as_us(double seconds) { return std::round(seconds * 1e9) / 1e3; }

/// The greatest difference, as a share of the greatest value.
template <value T>
double difference(const std::vector<T>& x, const std::vector<T>& y) {
  double most = 0, greatest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double by = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (!(by <= most)) most = by;  // a NaN stays
    greatest = std::max(greatest, std::fabs(static_cast<double>(x[i])));
  }
  return greatest > 0 ? most / greatest : most;
}

template <value T>
json one_case(const context& ctx, bench::stage& where, bench::rivals* others, const bench::problem<T>& a,
              std::int64_t n) {
  const std::int64_t rows = a.host.rows, cols = a.host.cols;
  const bench::stage_array<T> b(where, rows * n), c(where, cols * n);
  dense_matrix<T> host_b(rows, n);
  bench::fill_seeded<T>(host_b.view(), 1);
  where.upload(b.data(), host_b.view().data, b.bytes());
  const dense_view<const T> b_view(b.data(), rows, n);
  const dense_view<T> c_view(c.data(), cols, n);
  constexpr double none = 1e9;
  const auto seconds_of = [&](const spmm_plan<T>& plan) {
    const auto run = [&] { plan.run(T{1}, b_view, T{0}, c_view, {.stream = where.stream()}); };
    return bench::quick_seconds(where, run, none);
  };
  const auto result_of = [&](const spmm_plan<T>& plan) {
    where.poison(c.data(), c.bytes());
    plan.run(T{1}, b_view, T{0}, c_view, {.stream = where.stream()});
    const T* const values = static_cast<const T*>(where.fetch(c.data(), c.bytes()));
    return std::vector<T>(values, values + cols * n);
  };

  const spmm_plan<T> stored(ctx, a.placed, {.cols = n, .transpose = op::transpose, .check = trust::trusted});
  const spmm_plan<T> forward(ctx, a.placed, {.cols = n, .transposable = true, .check = trust::trusted});
  const spmm_plan<T> shared = std::move(forward.transposed().value());
  const double stored_seconds = seconds_of(stored), shared_seconds = seconds_of(shared);
  json scatter = json::object(), other = json::object();
  std::string best_config = shared.facts().kernel.name, best_rival = "none";
  double best_seconds = shared_seconds, rival_seconds = none;
  for (const kernel_info& config : transposing_kernel_table()) {
    if (config.where != ctx.kind() || config.type != value_type_of<T> || !config.built) continue;
    const auto plan = shared.sharing(config.name);
    if (!plan) continue;
    const double seconds = seconds_of(*plan);
    scatter[config.name] = as_us(seconds);
    if (seconds < best_seconds) best_seconds = seconds, best_config = config.name;
  }
  if (others != nullptr) {
    for (const bench::rival<T>& r : others->on(a)) {
      try {
        const double seconds = bench::quick_seconds(where, r.prepare(b_view, c_view).start, none);
        other[r.name] = as_us(seconds);
        if (seconds < rival_seconds) rival_seconds = seconds, best_rival = r.name;
      } catch (const error& e) {
        if (e.code() == errc::context_poisoned || e.code() == errc::cuda_error) throw;
        other[r.name] = e.what();
      }
    }
  }
  const double apart = difference(result_of(stored), result_of(shared));
  const bool has_rival = rival_seconds < none;
  fmt::print(
      "  N = {:>4} {}: stored {:>9.1f} us ({}), scatter {:>9.1f} us ({}), best {:>9.1f} us ({}), cuSPARSE {} us ({}); "
      "scatter/stored {:.2f}, cuSPARSE/scatter {}, apart {:.1e}\n",
      n, to_string(value_type_of<T>), stored_seconds * 1e6, stored.facts().kernel.name, shared_seconds * 1e6,
      shared.facts().kernel.name, best_seconds * 1e6, best_config,
      has_rival ? fmt::format("{:.1f}", rival_seconds * 1e6) : "-", best_rival, shared_seconds / stored_seconds,
      has_rival ? fmt::format("{:.2f}", rival_seconds / shared_seconds) : "-", apart);
  std::fflush(stdout);
  return {{"cols", n},
          {"type", to_string(value_type_of<T>)},
          {"stored", {{"kernel", stored.facts().kernel.name}, {"us", as_us(stored_seconds)}}},
          {"stored_bytes", stored.facts().format_bytes},
          {"forward", forward.facts().kernel.name},
          {"chosen", {{"kernel", shared.facts().kernel.name}, {"us", as_us(shared_seconds)}}},
          {"scatter", std::move(scatter)},
          {"rivals", std::move(other)},
          {"apart", apart}};
}

template <value T>
void all_cases(const context& ctx, bench::stage& where, bench::rivals* others, const csr_matrix<T>& a,
               const options& wanted, json& cases) {
  const bench::placed_csr<T> placed(where, a.view());
  for (const std::int64_t n : wanted.cols) {
    try {
      cases.push_back(one_case<T>(ctx, where, others, {a.view(), placed.view(), op::transpose}, n));
    } catch (const error& e) {
      if (e.code() != errc::out_of_memory) throw;
      fmt::print("  N = {}: {}\n", n, e.what());
    }
  }
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  std::unique_ptr<bench::rivals> others;
#if BCSC_BENCH_WITH_CUSPARSE
  if (here.ctx.kind() == backend::cuda) others = bench::open_cuda_rivals(*here.where);
#endif
  if (others) others->describe(here.machine);
  bench::results_file results("bcsc-transposed-times-2", here.machine, wanted.out);
  results.document["matrices"] = json::array();
  results.for_each_matrix(wanted.matrices, seed, wanted.max_seconds, [&](const bench::loaded_matrix& m) {
    fmt::print("{}: {} x {}, {} non-zeros\n", m.from.name, m.a.rows(), m.a.cols(), m.a.nnz());
    json found = bench::to_json(bench::facts_of(m));
    found["cases"] = json::array();
    results.for_each_type(m, wanted.types, [&]<class T>(const csr_matrix<T>& a) {
      if constexpr (std::is_floating_point_v<T>)
        all_cases<T>(here.ctx, *here.where, others.get(), a, wanted, found["cases"]);
    });
    results.document["matrices"].push_back(std::move(found));
  });
  fmt::print("written: {} ({:.0f} s)\n", results.write().string(), results.seconds());
  return bench::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The product with the transpose: of a stored transpose, of A as it is stored, and cuSPARSE's"};
  options wanted;
  app.add_option("MATRIX", wanted.matrices, "Files, folders, names of the catalogue, specifications")->required();
  app.add_option("--device", wanted.device, "Where")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  app.add_option("--cols", wanted.cols, "Values of N")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--type", wanted.types, "Value types")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp64"}))
      ->capture_default_str();
  app.add_option("--limit", wanted.max_seconds, "Seconds after which no matrix is begun")->capture_default_str();
  app.add_option("--out", wanted.out, "JSON, written anew after each matrix")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("transposed_times", [&] { return run(wanted); });
}
