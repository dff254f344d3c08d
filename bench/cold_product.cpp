#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/fail.hpp"
#include "lib/choice/cost_terms.hpp"

/// One product with a cold cache, the plan's own choice, fp32: its time beside what its bytes take at the copy
/// bandwidth of the machine, and the bytes that the models count (bench/report/roofline.py puts measured ones beside
/// them). With --profile exactly one such product, and a profiler sees nothing else.
namespace {

using namespace bcsc;
using bench::json;

constexpr std::string_view schema = "bcsc-cold-product-1";
constexpr std::uint64_t seed = 1;

struct options {
  std::string device = "cuda", out, kernel;
  std::vector<std::string> matrices;
  std::int64_t cols = 128;
  int samples = 15;  ///< 0: bytes are counted, nothing is timed
  bool profile = false;
  bool times() const { return samples > 0 && !profile; }
};

/// Reads as much as flush() writes and writes next to nothing: after it, the dirty lines that flush() left in the cache
/// have been written back, so that the product that follows does not pay for it. Itself a product, of a matrix with one
/// entry in each column: it reads B once.
class sweeper {
 public:
  sweeper(const context& ctx, bench::stage& where, std::int64_t bytes)
      : inner_(rows * std::max<std::int64_t>(1, bytes / (rows * cols * std::int64_t{sizeof(float)}))),
        b_(where, inner_ * cols),
        c_(where, rows * cols),
        plan_(ctx, matrix(), {.cols = cols}),
        stream_(where.stream()) {
    where.poison(b_.data(), b_.bytes());  // any values will do
  }
  void run() const {
    const dense_view<const float> b(b_.data(), inner_, cols);
    plan_.run(1.0f, b, 0.0f, dense_view<float>(c_.data(), rows, cols), {.stream = stream_});
  }

 private:
  static constexpr std::int64_t rows = 1024, cols = 128;

  csr_matrix<float> matrix() const {
    const std::int64_t in_a_row = inner_ / rows;
    std::vector<std::int32_t> row_ptr, col_ind;
    for (std::int64_t i = 0; i <= rows; ++i) row_ptr.push_back(static_cast<std::int32_t>(i * in_a_row));
    for (std::int64_t k = 0; k < inner_; ++k) col_ind.push_back(static_cast<std::int32_t>(k));
    return {rows, inner_, std::move(row_ptr), std::move(col_ind),
            std::vector<float>(static_cast<std::size_t>(inner_), 1.0f)};
  }

  std::int64_t inner_;
  bench::stage_array<float> b_, c_;
  spmm_plan<float> plan_;
  cuda_stream stream_;
};

/// Bytes of B that the row blocks of a plan read: the model by which plans choose, for the GPU's kernels.
double gathered_bytes(const csr_view<float, std::int32_t>& a, std::int64_t cols, const plan_facts& facts) {
  const std::int64_t heights[] = {facts.m_block};
  const block_statistics s = analyse_blocks(a, std::span(heights)).front();
  const choice::product_shape shape{.rows = a.rows, .inner = a.cols, .nnz = a.nnz(), .cols = cols};
  return 1e6 * choice::cost_terms_of(shape, facts.kernel, facts.kernel.n_tile,
                                     s)[static_cast<std::size_t>(choice::cost_term::gathered)];
}

json bytes_of(const csr_view<float, std::int32_t>& a, std::int64_t cols, const plan_facts& facts) {
  const auto moved = [&](std::int64_t format_bytes) {
    return model_spmm(a.rows, a.cols, cols, a.nnz(), format_bytes, value_type::fp32).bytes;
  };
  const double c = static_cast<double>(a.rows * cols * 4);
  const double gathered = gathered_bytes(a, cols, facts);
  return {{"least", moved(footprint::csr(a.rows, a.nnz(), value_type::fp32))},  // A as CSR
          {"stored", moved(facts.format_bytes)},                                // A as the plan holds it
          {"a", facts.format_bytes},
          {"b", static_cast<double>(a.cols * cols * 4)},
          {"c", c},
          {"gathered", gathered},
          {"l2", static_cast<double>(facts.format_bytes) + gathered + c}};
}

/// Seconds of one product, each after `prepare`.
template <class Prepare>
bench::time_statistics cold_seconds(bench::stage& where, const bench::launch& product, int samples, Prepare prepare) {
  std::vector<double> seconds;
  for (int i = 0; i < samples; ++i) {
    prepare();
    seconds.push_back(where.seconds(product, 1));
  }
  return bench::summarise(std::move(seconds), 1);
}

json measure(bench::place& here, const bench::loaded_matrix& m, const options& wanted) {
  bench::stage& where = *here.where;
  const csr_matrix<float> a = cast<float, std::int32_t>(m.a);
  const bench::placed_csr<float> placed(where, a.view());
  const spmm_plan<float> plan(here.ctx, placed.view(),
                              {.cols = wanted.cols, .check = trust::trusted, .expert = {.kernel = wanted.kernel}});
  const plan_facts& facts = plan.facts();

  dense_matrix<float> host_b(a.cols(), wanted.cols);
  bench::fill_seeded<float>(host_b.view(), seed);
  const bench::stage_array<float> b(where, a.cols() * wanted.cols), c(where, a.rows() * wanted.cols);
  where.upload(b.data(), host_b.data(), b.bytes());
  const dense_view<const float> b_view(b.data(), a.cols(), wanted.cols);
  const dense_view<float> c_view(c.data(), a.rows(), wanted.cols);
  const bench::launch product = [&] { plan.run(1.0f, b_view, 0.0f, c_view, {.stream = where.stream()}); };

  json told = bench::to_json(bench::facts_of(m));
  told["cols_of_b"] = wanted.cols;
  told["kernel"] = facts.kernel.name;
  told["m_block"] = facts.m_block;
  if (wanted.profile) {
    product();  // loads its code
    where.flush();
    const sweeper sweep(here.ctx, where, where.flush_bytes());  // making it touches the cache
    where.flush();
    sweep.run();
    where.profiled(product);
    return told;
  }

  where.poison(c.data(), c.bytes());
  product();
  const bench::expectation<float> expected(a.view(), std::as_const(host_b).view());
  const bench::accuracy found = expected.compare(
      {static_cast<const float*>(where.fetch(c.data(), c.bytes())), a.rows(), wanted.cols}, facts.kernel.bound);
  told["right"] = found.passed();
  told["bytes"] = bytes_of(a.view(), wanted.cols, facts);
  if (!wanted.times()) return told;

  where.flush();  // the first one allocates
  const sweeper sweep(here.ctx, where, where.flush_bytes());
  const auto flush_and_sweep = [&] {
    where.flush();
    sweep.run();
  };
  const auto timed = [&](const bench::time_statistics& t) { return bench::to_json(std::optional(t)); };
  where.seconds(product, 3);
  told["warm"] = timed(bench::summarise({where.repeated(product, 10)->seconds() / 10}, 10));
  told["cold"] = timed(cold_seconds(where, product, wanted.samples, [&] { where.flush(); }));
  told["cold_swept"] = timed(cold_seconds(where, product, wanted.samples, flush_and_sweep));
  const double roof = told["bytes"]["least"].get<double>() / here.machine.copy_bandwidth;
  told["roof_seconds"] = roof;
  told["roof_share"] = roof / told["cold_swept"]["median"].get<double>();
  return told;
}

void print(const json& p) {
  if (!p.contains("cold")) {
    fmt::print("{:<34.34} {:<30.30} least {:.3f} MB, L2 model {:.3f} MB{}\n", p["name"].get<std::string>(),
               p["kernel"].get<std::string>(), 1e-6 * p["bytes"]["least"].get<double>(),
               1e-6 * p["bytes"]["l2"].get<double>(), p["right"].get<bool>() ? "" : "  WRONG");
    return;
  }
  const auto us = [&](const char* what) { return 1e6 * p[what]["median"].get<double>(); };
  fmt::print("{:<34.34} {:<30.30} {:>8.1f} {:>8.1f} {:>10.1f} | {:>8.1f} {:>6.1f} % | {:>8.1f} {:>9.1f}{}\n",
             p["name"].get<std::string>(), p["kernel"].get<std::string>(), us("warm"), us("cold"), us("cold_swept"),
             1e6 * p["roof_seconds"].get<double>(), 100 * p["roof_share"].get<double>(),
             1e-6 * p["bytes"]["least"].get<double>(), 1e-6 * p["bytes"]["l2"].get<double>(),
             p["right"].get<bool>() ? "" : "  WRONG");
  std::fflush(stdout);
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  if (wanted.profile && here.ctx.kind() == backend::cpu) core::fail(errc::unsupported, "--profile: only on a GPU");
  if (wanted.times()) here.machine.copy_bandwidth = here.where->measure_copy_bandwidth();
  json document = bench::begin_document(schema, here.machine);
  document["seed"] = seed;
  document["points"] = json::array();
  bool all_right = true;
  if (wanted.times()) {
    fmt::print("{}; {}; copies {:.2f} TB/s (read and written); N = {}, fp32\n", here.machine.context,
               here.machine.git_hash, 1e-12 * here.machine.copy_bandwidth, wanted.cols);
    fmt::print("{:<34} {:<30} {:>8} {:>8} {:>10} | {:>8} {:>8} | {:>8} {:>9}\n", "matrix", "kernel", "warm us",
               "cold us", "swept us", "roof us", "share", "least MB", "L2 model");
  }
  for (const bench::input& from : bench::expand_inputs(wanted.matrices)) {
    json point = measure(here, bench::load(from, seed), wanted);
    if (!wanted.profile) {
      print(point);
      all_right = all_right && point["right"].get<bool>();
    }
    document["points"].push_back(std::move(point));
  }
  if (!wanted.out.empty()) bench::write_text(bench::text_of(document), wanted.out);
  return all_right ? bench::exit_done : bench::exit_not_met;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"One product with a cold cache, its time and its bytes by the models, beside the roof of memory"};
  options wanted;
  bench::add_matrices(app, wanted.matrices);
  bench::add_device(app, wanted.device);
  app.add_option("--cols", wanted.cols, "N")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--kernel", wanted.kernel, "A config or an algorithm instead of the plan's choice");
  app.add_option("--samples", wanted.samples, "Cold products timed; 0: bytes are counted, nothing is timed")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--profile", wanted.profile, "One product between the profiler's start and stop; nothing is timed");
  app.add_option("--out", wanted.out, "JSON");
  app.footer(
      "Exit status: 0, 3 a result was wrong, 77 no GPU here.\nExamples:\n"
      "  cold_product stencil7:80,80,80 elasticity:30,30,30 --out cold.json\n"
      "  ncu --profile-from-start off --metrics dram__bytes_read.sum cold_product --profile stencil7:80,80,80\n"
      "  bench/report/roofline.py --driver build/bench/cold_product");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("cold_product", [&] { return run(wanted); });
}
