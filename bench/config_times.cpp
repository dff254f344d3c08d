#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/values.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/contender.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/read_results.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/fail.hpp"
#include "core/new_file.hpp"

/// What the plan's choice is fitted to: the time of every config on each matrix, taken quickly (the least of few runs,
/// warm; those near the fastest three times in turn, of which the middle counts), with the matrix's statistics at every
/// height. Not for claims: nothing is checked here but that it runs; `bcsc bench` checks, and times with care.
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
  std::vector<std::string> algorithms, configs, matrices, like, types = {"fp32"};
  std::vector<std::int64_t> cols = {1, 8, 32, 128, 512};
  std::int64_t min_nnz = 20000;
  double max_seconds = 1e9, max_products = 1e18, near = 0;
  bool rivals = false;
  bool in_place = false;
};

/// Configs (none: all) by type and N.
using cases_wanted = std::map<std::string, std::map<std::int64_t, std::set<std::string>>>;

/// Of earlier output's case: those within `near` of the fastest.
std::set<std::string> configs_near(const json& of_case, double near) {
  double least = std::numeric_limits<double>::infinity();
  for (const json& time : of_case.at("configs")) {
    if (time.is_number()) least = std::min(least, time.get<double>());
  }
  std::set<std::string> names;
  for (const auto& [name, time] : of_case.at("configs").items()) {
    if (time.is_number() && time.get<double>() <= near * least) names.insert(name);
  }
  return names;
}

/// The cases of earlier output, by matrix; of those with B as it is wanted.
std::map<std::string, cases_wanted> cases_like(const options& wanted) {
  std::map<std::string, cases_wanted> cases;
  for (const std::string& file : wanted.like) {
    const json document = json::parse(bench::read_text(file));
    if (document.value("in_place", false) != wanted.in_place) continue;
    for (const json& m : document.at("matrices")) {
      for (const json& c : m.at("cases")) {
        std::set<std::string>& configs = cases[m.at("name")][c.at("type")][c.at("cols").get<std::int64_t>()];
        if (wanted.near > 0) configs.merge(configs_near(c, wanted.near));
      }
    }
  }
  return cases;
}

/// What MATRIX names; with `cases` those of them only, and what else they name: specifications, and the catalogue's.
std::vector<bench::input> inputs_for(const options& wanted, const std::map<std::string, cases_wanted>& cases) {
  std::vector<bench::input> named = bench::expand_inputs(wanted.matrices);
  if (wanted.like.empty()) return named;
  std::vector<bench::input> inputs;
  for (const auto& [name, of_it] : cases) {
    const auto file = std::ranges::find(named, name, &bench::input::name);
    if (file != named.end()) {
      inputs.push_back(*file);
    } else {
      std::ranges::copy(bench::expand_inputs(std::span(&name, 1)), std::back_inserter(inputs));
    }
  }
  return inputs;
}

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
                    {"skew", s.skew},
                    {"max_block_nnzc", s.max_block_nnzc}});
  }
  const pattern_statistics p = analyse_pattern(a);
  return {{"empty_rows", p.empty_rows},
          {"row_max", p.row_max},
          {"row_sd", p.row_sd},
          {"sectors_per_entry", p.sectors_per_entry},
          {"blocks", std::move(list)}};
}

double in_us(double seconds) { return std::round(seconds * 1e9) / 1e3; }

/// The times of one case. What is near the fastest decides the choice, and is timed three times.
struct timings {
  static constexpr double near = 1.2;
  struct contender {
    std::string name;
    bench::launch start;
    std::vector<double> seconds;
  };

  bench::stage& where;
  double best = 1e9;
  json told = json::object();  ///< us, by config
  std::vector<contender> in_sight = {};

  double quickly(const bench::launch& start) {
    const double seconds = bench::quick_seconds(where, start, best, 3.0);
    best = std::min(best, seconds);
    return seconds;
  }
  void take(const std::string& name, bench::launch start) {
    const double seconds = quickly(start);
    told[name] = in_us(seconds);
    if (seconds <= near * best) in_sight.push_back({name, std::move(start), {seconds}});
    std::erase_if(in_sight, [&](const contender& c) { return c.seconds.front() > near * best; });
  }
  void repeat() {
    for (int round = 0; round < 2; ++round) {
      std::ranges::reverse(in_sight);
      for (contender& c : in_sight) c.seconds.push_back(bench::quick_seconds(where, c.start, best, 3.0));
    }
    for (contender& c : in_sight) {
      std::ranges::sort(c.seconds);
      told[c.name] = in_us(c.seconds[1]);
    }
  }
};

template <number T>
class matrix_times {
 public:
  matrix_times(const context& ctx, bench::stage& where, bench::rivals* others, const csr_matrix<T>& a,
               const options& wanted)
      : where_(where), a_(a.view()), placed_(where, a_), own_(ctx, where, a_, placed_.view()), wanted_(wanted) {
    if (others != nullptr) rivals_ = others->on(bench::problem<T>{a_, placed_.view()});
  }

  /// `only`: those configs; none: all that are wanted.
  json run(std::int64_t n, const std::set<std::string>& only) {
    const bench::stage_array<T> b(where_, a_.cols * n), c(where_, a_.rows * n);
    const layout order = wanted_.in_place ? layout::col_major : layout::row_major;
    dense_matrix<T> host_b(a_.cols, n, order);
    bench::fill_seeded<T>(host_b.view(), 1);
    where_.upload(b.data(), host_b.view().data, b.bytes());
    const dense_view<const T> b_view(b.data(), a_.cols, n, order);
    const dense_view<T> c_view(c.data(), a_.rows, n, order);

    json other = json::object();
    timings all{where_};
    const auto start_of = [&](const std::string& config) {
      if (!wanted_.in_place) return own_.config(config, b_view, c_view);
      return own_.planned({.expert = {.kernel = config, .reading = col_major_b::in_place}}, b_view, c_view).start;
    };
    for (const bench::rival<T>& r : rivals_) {
      if (!r.bounded || !r.computes(n)) continue;
      try {
        other[r.name] = in_us(all.quickly(r.prepare(b_view, c_view).start));
      } catch (const error& e) {
        other[r.name] = e.what();
      }
    }
    for (const auto& configs : own_.configs_by_algorithm(false)) {
      const bool wanted =
          wanted_.algorithms.empty() || std::ranges::count(wanted_.algorithms, configs.front().algorithm) > 0;
      if (!wanted) continue;
      for (const kernel_info& config : configs) {
        if (!wanted_.configs.empty() && !holds_any_of(config.name, wanted_.configs)) continue;
        if (!only.empty() && !only.contains(config.name)) continue;
        try {
          all.take(config.name, start_of(config.name));
        } catch (const error& e) {
          if (wanted_.in_place && e.code() == errc::no_such_kernel) continue;  // it cannot
          all.told[config.name] = e.what();
        }
      }
    }
    all.repeat();
    return {{"cols", n}, {"configs", std::move(all.told)}, {"rivals", std::move(other)}};
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
              const cases_wanted::mapped_type& cols, const options& wanted) {
  matrix_times<T> times(ctx, where, others, a, wanted);
  json cases = json::array();
  for (const auto& [n, only] : cols) {
    if (static_cast<double>(a.nnz()) * static_cast<double>(n) > wanted.max_products) continue;
    try {
      json one = times.run(n, only);
      one["type"] = to_string(value_type_of<T>);
      cases.push_back(std::move(one));
    } catch (const error& e) {
      if (e.code() != errc::out_of_memory) throw;
      fmt::print("  N = {}: {}\n", n, e.what());
    }
  }
  return cases;
}

/// A matrix with its statistics and the times of `cases`; nothing for a file that is too small.
json times_on(const bench::place& here, bench::rivals* others, const bench::input& from, const cases_wanted& cases,
              const options& wanted) {
  const bench::loaded_matrix m = bench::load(from, 1);
  if (wanted.like.empty() && from.is_file && m.a.nnz() < wanted.min_nnz) return {};
  const csr_matrix<float> a = cast<float, std::int32_t>(m.a);
  json found{{"name", from.name},
             {"kind", from.kind},
             {"rows", a.rows()},
             {"cols", a.cols()},
             {"nnz", a.nnz()},
             {"checksum", fmt::format("{:016x}", m.checksum)},
             {"statistics", statistics_of(a.view())},
             {"cases", json::array()}};
  for (const auto& [type, cols] : cases) {
    const auto as = [&]<class T>(T) {
      // A value that overflows is an infinity, and a row block with one is multiplied twice: not what a config takes.
      if (const std::int64_t beyond = analyse_narrowing(m.a.view(), value_type_of<T>).overflowed; beyond > 0) {
        fmt::print("{} {}: passed over, {} values do not fit\n", from.name, type, beyond);
        return json::array();
      }
      return times_of<T>(here.ctx, *here.where, others, cast<T, std::int32_t>(m.a), cols, wanted);
    };
    json times = type == "fp64"   ? times_of<double>(here.ctx, *here.where, others, m.a, cols, wanted)
                 : type == "fp16" ? as(half{})
                 : type == "bf16" ? as(bfloat16{})
                                  : times_of<float>(here.ctx, *here.where, others, a, cols, wanted);
    for (json& one : times) found["cases"].push_back(std::move(one));
  }
  return found;
}

int run(const options& wanted) {
  if (wanted.matrices.empty() && wanted.like.empty()) core::fail(errc::invalid_argument, "MATRIX or --like is needed");
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  const bench::place here = bench::open_place(wanted.device);
  const bench::machine_facts& machine = here.machine;
  std::unique_ptr<bench::rivals> others;
#if BCSC_BENCH_WITH_CUSPARSE
  if (wanted.rivals && here.ctx.kind() == backend::cuda) others = bench::open_cuda_rivals(*here.where);
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
  const std::map<std::string, cases_wanted> like = cases_like(wanted);
  cases_wanted of_all;
  for (const std::string& type : wanted.types) {
    for (const std::int64_t n : wanted.cols) of_all[type][n];
  }
  int status = bench::exit_done;
  for (const bench::input& from : inputs_for(wanted, like)) {
    if (passed() > wanted.max_seconds) {
      fmt::print("out of time before {}\n", from.name);
      status = bench::exit_not_met;
      break;
    }
    try {
      const cases_wanted& cases = wanted.like.empty() ? of_all : like.at(from.name);
      json found = times_on(here, others.get(), from, cases, wanted);
      if (found.is_null()) continue;
      document["matrices"].push_back(std::move(found));
      fmt::print("{:>6.1f} s  {}\n", passed(), from.name);
      std::fflush(stdout);
      if (!core::is_written_directly(wanted.out)) bench::write_text(document.dump(), wanted.out);
    } catch (const error& e) {
      fmt::print("{}: {}\n", from.name, e.what());
      if (bench::is_fatal(e)) return bench::exit_error;
    }
  }
  fmt::print("written: {}\n", bench::write_text(document.dump(), wanted.out).string());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The time of every config, quickly: what the plan's choice is fitted to"};
  options wanted;
  app.add_option("MATRIX", wanted.matrices, "Files, folders, names of the catalogue, specifications");
  app.add_option("--device", wanted.device, "Where")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  app.add_option("--algorithm", wanted.algorithms, "Only the configs of these (all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--config", wanted.configs, "Only those whose name holds one of these (all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  bench::add_list(app, "--cols", wanted.cols, "Values of N", CLI::PositiveNumber);
  bench::add_list(app, "--type", wanted.types, "Value types", CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}));
  app.add_option("--min-nnz,--least-nnz", wanted.min_nnz, "Passes over files with fewer non-zeros")
      ->capture_default_str();
  app.add_option("--max-products", wanted.max_products, "Passes over an N of which non-zeros times N are more");
  app.add_option("--limit", wanted.max_seconds, "Starts no further matrix after this many seconds")
      ->capture_default_str();
  app.add_option("--like", wanted.like,
                 "The matrices, types and N of earlier output, timed anew; MATRIX says where its files are")
      ->check(CLI::ExistingFile);
  app.add_option("--near", wanted.near, "Of --like's configs those that took at most so many times the fastest's time")
      ->check(CLI::Range(1.0, 1e6));
  app.add_flag("--in-place", wanted.in_place, "B and C column-major, B read where it lies, by the configs that can");
  app.add_flag("--rivals", wanted.rivals, "cuSPARSE and cuBLAS too");
  app.add_option("--out", wanted.out, "JSON, written anew after each matrix")->capture_default_str();
  app.footer(
      "Exit status: 0, 3 the time was over before the last matrix, 77 no GPU here.\nExamples:\n"
      "  config_times elasticity:30,30,30 folder/of/matrices --cols 1,32 --type fp32,fp64\n"
      "  config_times folder/of/matrices --like old.json.gz --near 1.35 --out new.json.gz");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("config_times", [&] {
    if (wanted.matrices.empty() && wanted.like.empty())
      core::fail(errc::invalid_argument, "MATRIX or --like is needed");
    return run(wanted);
  });
}
