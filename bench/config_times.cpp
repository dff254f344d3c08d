#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/contender.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/new_file.hpp"

/// What the plan's choice is fitted to: the time of every config on each matrix, taken quickly (the least of few runs,
/// warm), with the matrix's statistics at every height. Not for claims: nothing is checked here but that it runs; `bcsc
/// bench` checks, and times with care.
namespace {

using namespace bcsc;
using json = nlohmann::ordered_json;

constexpr std::string_view schema = "bcsc-config-times-1";
/// Those of every config, and what its costs may need besides.
std::vector<std::int64_t> all_heights() {
  std::set<std::int64_t> heights{1, 2, 3, 4, 6, 8, 16, 32, 64, 128};
  for (const kernel_info& config : kernel_table()) heights.insert(config.m_tile);
  return {heights.begin(), heights.end()};
}

struct options {
  std::string device = "cuda", out = "config-times.json.gz";
  std::vector<std::string> algorithms, configs, matrices, types = {"fp32"};
  std::vector<std::int64_t> cols = {1, 8, 32, 128, 512};
  std::int64_t min_nnz = 20000;
  double max_seconds = 1e9, max_products = 1e18;
  bool rivals = false;
  bool in_place = false;
};

bool holds_any_of(const std::string& name, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

/// How rows of a matrix are filled.
json statistics_of(const csr_view<float, std::int32_t>& a) {
  json list = json::array();
  const std::vector<std::int64_t> heights = all_heights();
  for (const block_statistics& s : analyse_blocks(a, std::span(heights))) {
    list.push_back({{"m_block", s.m_block},
                    {"num_row_blocks", s.num_row_blocks},
                    {"nnzc", s.nnzc},
                    {"max_block_nnz", s.max_block_nnz},
                    {"skew", s.skew}});
  }
  const pattern_statistics p = analyse_pattern(a);
  return {{"empty_rows", p.empty_rows},
          {"row_max", p.row_max},
          {"row_sd", p.row_sd},
          {"sectors_per_entry", p.sectors_per_entry},
          {"blocks", std::move(list)}};
}

template <number T>
class matrix_times {
 public:
  matrix_times(const context& ctx, bench::stage& where, bench::rivals* others, const csr_matrix<T>& a,
               const options& wanted)
      : where_(where), a_(a.view()), placed_(where, a_), own_(ctx, where, a_, placed_.view()), wanted_(wanted) {
    if (others != nullptr) rivals_ = others->on(bench::problem<T>{a_, placed_.view()});
  }

  json run(std::int64_t n) {
    const bench::stage_array<T> b(where_, a_.cols * n), c(where_, a_.rows * n);
    const layout order = wanted_.in_place ? layout::col_major : layout::row_major;
    dense_matrix<T> host_b(a_.cols, n, order);
    bench::fill_seeded<T>(host_b.view(), 1);
    where_.upload(b.data(), host_b.view().data, b.bytes());
    const dense_view<const T> b_view(b.data(), a_.cols, n, order);
    const dense_view<T> c_view(c.data(), a_.rows, n, order);

    json entries = json::object(), other = json::object();
    double best = 1e9;
    const auto note = [&](json& to, const std::string& name, auto prepare) {
      try {
        const bench::launch start = prepare();
        const double seconds = bench::quick_seconds(where_, start, best, 3.0);
        best = std::min(best, seconds);
        to[name] = std::round(seconds * 1e9) / 1e3;  // us
      } catch (const error& e) {
        if (wanted_.in_place && e.code() == errc::no_such_kernel) return;  // it cannot
        to[name] = e.what();
      }
    };
    const auto start_of = [&](const std::string& config) {
      if (!wanted_.in_place) return own_.config(config, b_view, c_view);
      return own_.planned({.expert = {.kernel = config, .reading = col_major_b::in_place}}, b_view, c_view).start;
    };
    for (const bench::rival<T>& r : rivals_) {
      if (r.bounded && r.computes(n)) note(other, r.name, [&] { return r.prepare(b_view, c_view).start; });
    }
    for (const auto& configs : own_.configs_by_algorithm(false)) {
      const bool wanted =
          wanted_.algorithms.empty() || std::ranges::count(wanted_.algorithms, configs.front().algorithm) > 0;
      if (!wanted) continue;
      for (const kernel_info& config : configs) {
        if (!wanted_.configs.empty() && !holds_any_of(config.name, wanted_.configs)) continue;
        note(entries, config.name, [&] { return start_of(config.name); });
      }
    }
    return {{"cols", n}, {"configs", std::move(entries)}, {"rivals", std::move(other)}};
  }

 private:
  bench::stage& where_;
  csr_view<T, std::int32_t> a_;
  bench::placed_csr<T> placed_;
  bench::own_kernels<T> own_;
  std::vector<bench::rival<T>> rivals_;
  const options& wanted_;
};

template <number T>
json times_of(const context& ctx, bench::stage& where, bench::rivals* others, const csr_matrix<T>& a,
              const options& wanted) {
  matrix_times<T> times(ctx, where, others, a, wanted);
  json cases = json::array();
  for (const std::int64_t n : wanted.cols) {
    if (static_cast<double>(a.nnz()) * static_cast<double>(n) > wanted.max_products) continue;
    try {
      json one = times.run(n);
      one["type"] = to_string(value_type_of<T>);
      cases.push_back(std::move(one));
    } catch (const error& e) {
      if (e.code() != errc::out_of_memory) throw;
      fmt::print("  N = {}: {}\n", n, e.what());
    }
  }
  return cases;
}

int run(const options& wanted) {
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const context ctx = wanted.device == "cuda" ? context::cuda() : context::cpu();
  const auto where = bench::make_stage(ctx);
  bench::machine_facts machine = bench::describe_machine(ctx);
  where->describe(machine);
  std::unique_ptr<bench::rivals> others;
#if BCSC_BENCH_WITH_CUSPARSE
  if (wanted.rivals && ctx.kind() == backend::cuda) others = bench::open_cuda_rivals(*where);
#endif
  json document{{"schema", schema},
                {"machine", machine.context},
                {"git_hash", machine.git_hash},
                {"clocks", machine.gpu_clocks},
                {"versions", machine.versions},
                {"date", machine.date},
                {"cpu_caches", {{"l1", machine.caches.l1}, {"l2", machine.caches.l2}, {"l3", machine.caches.l3}}},
                {"in_place", wanted.in_place},
                {"matrices", json::array()}};
  int status = 0;
  for (const bench::input& from : bench::expand_inputs(wanted.matrices)) {
    if (passed() > wanted.max_seconds) {
      fmt::print("out of time before {}\n", from.name);
      status = 3;
      break;
    }
    try {
      const bench::loaded_matrix m = bench::load(from, 1);
      if (from.is_file && m.a.nnz() < wanted.min_nnz) continue;
      const csr_matrix<float> a = cast<float, std::int32_t>(m.a);
      json found{{"name", from.name},
                 {"kind", from.kind},
                 {"rows", a.rows()},
                 {"cols", a.cols()},
                 {"nnz", a.nnz()},
                 {"checksum", fmt::format("{:016x}", m.checksum)},
                 {"statistics", statistics_of(a.view())},
                 {"cases", json::array()}};
      for (const std::string& type : wanted.types) {
        const auto as = [&]<class T>(T) {
          return times_of<T>(ctx, *where, others.get(), cast<T, std::int32_t>(m.a), wanted);
        };
        json cases = type == "fp64"   ? times_of<double>(ctx, *where, others.get(), m.a, wanted)
                     : type == "fp16" ? as(half{})
                     : type == "bf16" ? as(bfloat16{})
                                      : times_of<float>(ctx, *where, others.get(), a, wanted);
        for (json& one : cases) found["cases"].push_back(std::move(one));
      }
      document["matrices"].push_back(std::move(found));
      fmt::print("{:>6.1f} s  {}\n", passed(), from.name);
      std::fflush(stdout);
      if (!core::is_written_directly(wanted.out)) bench::write_text(document.dump(), wanted.out);
    } catch (const error& e) {
      fmt::print("{}: {}\n", from.name, e.what());
      if (e.code() == errc::context_poisoned || e.code() == errc::cuda_error) return 1;
    }
  }
  fmt::print("written: {}\n", bench::write_text(document.dump(), wanted.out).string());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The time of every config, quickly: what the plan's choice is fitted to"};
  options wanted;
  app.add_option("MATRIX", wanted.matrices, "Files, folders, names of the catalogue, specifications")->required();
  app.add_option("--device", wanted.device, "Where")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  app.add_option("--algorithm", wanted.algorithms, "Only the configs of these (all)")->delimiter(',');
  app.add_option("--config", wanted.configs, "Only those whose name holds one of these (all)")->delimiter(',');
  app.add_option("--cols", wanted.cols, "Values of N")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--type", wanted.types, "Value types")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}))
      ->capture_default_str();
  app.add_option("--min-nnz,--least-nnz", wanted.min_nnz, "Passes over files with fewer non-zeros")
      ->capture_default_str();
  app.add_option("--max-products", wanted.max_products, "Passes over an N of which non-zeros times N are more");
  app.add_option("--limit", wanted.max_seconds, "Starts no further matrix after this many seconds")
      ->capture_default_str();
  app.add_flag("--in-place", wanted.in_place, "B and C column-major, B read where it lies, by the configs that can");
  app.add_flag("--rivals", wanted.rivals, "cuSPARSE and cuBLAS too");
  app.add_option("--out", wanted.out, "JSON, written anew after each matrix")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(wanted);
  } catch (const std::exception& e) {
    fmt::print(stderr, "config_times: {}\n", e.what());
    return 1;
  }
}
