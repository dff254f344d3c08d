#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/reference.hpp"
#include "bcsc/registry.hpp"
#include "bcsc/values.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/check.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/operands.hpp"

/// Every product goes the same way: C is filled with what must not survive (NaN, where beta = 0), the kernel runs, its
/// result is compared with the reference entry by entry, and only then it is timed.
namespace bcsc::cli {
namespace {

struct spmm_options : output_options {
  matrix_source source;
  device_options where;
  std::int64_t cols = 32;
  std::string kernel;
  std::int64_t m_block = 0;
  value_type type = value_type::fp32;
  layout order = layout::row_major;
  compute_class compute = compute_class::full;
  bool transpose = false, no_copy = false;
  double alpha = 1, beta = 0;
  std::int64_t batch = 1;
  int repeat = 10;
  std::string b, c0, c;
  bool cols_given = false;
};

/// B and the C to begin with, where they are files.
struct operand_files {
  std::optional<dense_operand> b, c0;
};

/// A kernel is not run more often than fits in this.
constexpr double timing_budget_seconds = 2.0;

struct product_result {
  std::string kernel, algorithm, where;
  std::int64_t m_block = 0, format_bytes = 0;
  double convert_seconds = 0, seconds = 0, gflops = 0;
  verdict checked;
  std::string reason, explain;
  std::string error;  ///< why it could not run; empty if it did
  bool passed() const { return error.empty() && checked.passed(); }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median of up to `repeat` runs, each waited for.
double median_seconds(int repeat, const std::function<void()>& run) {
  std::vector<double> samples;
  const auto begin = std::chrono::steady_clock::now();
  while (static_cast<int>(samples.size()) < repeat &&
         (samples.empty() || seconds_since(begin) < timing_budget_seconds)) {
    const auto start = std::chrono::steady_clock::now();
    run();
    samples.push_back(seconds_since(start));
  }
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

/// Mean of `repeat` runs started one behind the other, so that a GPU's start-up latency is hidden as in real use.
double mean_seconds(int repeat, const std::function<void()>& run, const std::function<void()>& wait) {
  wait();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeat; ++i) run();
  wait();
  return seconds_since(start) / repeat;
}

/// One matrix, one B and one C or a batch of them, and every way to multiply them.
template <number T>
class product_bench {
 public:
  /// `a`: op(A), for who checks; `given`: A, for the plans.
  product_bench(const context& ctx, const csr_matrix<T>& a, const csr_matrix<T>& given, const spmm_options& options,
                const operand_files& files, const output& out)
      : options_(options),
        out_(out),
        ctx_(ctx),
        a_(a),
        given_(given),
        alpha_(static_cast<scalar_of<T>>(options.alpha)),
        beta_(static_cast<scalar_of<T>>(options.beta)),
        b_(files.b ? files.b->read<T>(options.order, out)
                   : random_dense<T>(a.cols(), options.cols, options.order, options.source.seed, options.batch)),
        c0_(files.c0 ? files.c0->read<T>(options.order, out) : start_of_c()),
        checks_(make_checks()),
        staged_(ctx, b_, c0_, options.batch) {}

  /// Through a plan: a kernel by name, an algorithm, or "" for the plan's own choice.
  product_result with_plan(const std::string& kernel) {
    const spmm_plan<T> plan = plan_by(kernel);
    const plan_facts& facts = plan.facts();
    product_result result{.kernel = facts.kernel.name,
                          .algorithm = facts.kernel.algorithm,
                          .where = std::string(to_string(ctx_.kind())),
                          .m_block = facts.m_block,
                          .format_bytes = facts.format_bytes,
                          .convert_seconds = facts.convert_seconds,
                          .reason = facts.reason,
                          .explain = plan.explain()};
    const auto run = [&] { staged_.run(plan, alpha_, beta_); };
    const auto wait = [&] { staged_.wait(); };
    staged_.reset();
    run();
    wait();
    result.checked = compare(staged_.result(), facts.kernel.bound);
    keep(result);
    result.seconds =
        ctx_.kind() == backend::cuda ? mean_seconds(options_.repeat, run, wait) : median_seconds(options_.repeat, run);
    return rated(std::move(result));
  }

  /// The serial reference of one format.
  product_result with_reference(const std::string& format) {
    if (format == "coo") return reference(format, 0, [&] { return to_coo(a_); });
    if (format == "csr") return reference(format, 0, [&] { return a_; });
    if (format == "csc") return reference(format, 0, [&] { return to_csc(a_); });
    if (format == "bsr") return reference(format, bsr_block, [&] { return to_bsr(a_, bsr_block, bsr_block); });
    const std::int64_t m_block = options_.m_block > 0 ? options_.m_block : 32;
    return reference(format, m_block, [&] { return to_bcsc(a_, m_block); });
  }

 private:
  static constexpr std::int64_t bsr_block = 3;

  spmm_plan<T> plan_by(const std::string& kernel) const {
    const bool stores_transpose = options_.transpose && !options_.no_copy;
    spmm_plan<T> plan(ctx_, given_.view(),
                      {.cols = options_.cols,
                       .transpose = stores_transpose ? op::transpose : op::none,
                       .b_layout = options_.order,
                       .compute = options_.compute,
                       .transposable = options_.no_copy,
                       .batch = options_.batch,
                       .expert = {.kernel = kernel, .m_block = options_.m_block}});
    return options_.no_copy ? std::move(plan.transposed().value()) : std::move(plan);
  }

  dense_matrix<T> start_of_c() const {
    if (beta_ != 0) {
      return random_dense<T>(a_.rows(), options_.cols, options_.order, options_.source.seed + 1, options_.batch);
    }
    dense_matrix<T> c = stacked<T>(options_.batch, a_.rows(), options_.cols, options_.order);
    std::fill_n(c.data(), c.rows() * c.cols(), std::numeric_limits<T>::quiet_NaN());
    return c;
  }

  template <class U>
  dense_view<U> member(const dense_view<U>& all, std::int64_t k) const {
    return member_of(all, options_.batch, k);
  }

  /// Writes the product, if it is right and wanted: the runs that are timed go on from it where beta is not 0.
  void keep(const product_result& result) {
    if (options_.c.empty() || !result.passed()) return;
    progress_bar bar = out_.progress("writing " + options_.c);
    write_dense<T>(
        options_.c, staged_.host_c(),
        {.comment = fmt::format("C = {} * A * B + {} * C, A = {}", options_.alpha, options_.beta, options_.source.name),
         .name = "C",
         .progress = bar.callback()});
  }

  /// The check walks along the rows of B; a column-major one is made row-major for it.
  std::vector<product_check<T>> make_checks() const {
    dense_matrix<T> in_rows;
    dense_view<const T> b = b_.view();
    if (options_.order != layout::row_major) {
      in_rows = stacked<T>(options_.batch, a_.cols(), options_.cols, layout::row_major);
      for (std::int64_t k = 0; k < options_.batch; ++k) {
        const dense_view<const T> from = member(b, k);
        const dense_view<T> to = member(in_rows.view(), k);
        for (std::int64_t i = 0; i < from.rows; ++i) {
          for (std::int64_t j = 0; j < from.cols; ++j) to(i, j) = from(i, j);
        }
      }
      b = in_rows.view();
    }
    std::vector<product_check<T>> checks;
    for (std::int64_t k = 0; k < options_.batch; ++k) {
      checks.emplace_back(alpha_, a_.view(), member(b, k), beta_, member<const T>(c0_.view(), k));
    }
    return checks;
  }

  /// Of all members; the worst entry's place is that in its member.
  verdict compare(const dense_view<const T>& c, const error_bound& allowed = {}) const {
    verdict all;
    for (std::int64_t k = 0; k < options_.batch; ++k) {
      const verdict one = checks_[static_cast<std::size_t>(k)].compare(member(c, k), allowed);
      if (one.bound_share > all.bound_share) all.row = one.row, all.col = one.col;
      all.bound_share = std::max(all.bound_share, one.bound_share);
      all.max_error = std::max(all.max_error, one.max_error);
      all.violations += one.violations;
      all.by_class += one.by_class;
    }
    return all;
  }

  template <class Convert>
  product_result reference(const std::string& format, std::int64_t block, Convert convert) {
    const auto start = std::chrono::steady_clock::now();
    const auto converted = convert();
    product_result result{.kernel = "reference-" + format,
                          .algorithm = "reference",
                          .where = "cpu",
                          .m_block = block,
                          .convert_seconds = seconds_since(start),
                          .reason = "one readable serial loop"};
    const auto run = [&] {
      for (std::int64_t k = 0; k < options_.batch; ++k) {
        reference::spmm<T>(alpha_, converted.view(), member<const T>(b_.view(), k), beta_, member(staged_.host_c(), k));
      }
    };
    staged_.reset();
    const auto begin = std::chrono::steady_clock::now();
    run();
    const double first = seconds_since(begin);
    result.checked = compare(staged_.host_c());
    keep(result);
    // Serial code is slow: its first run stands for itself if it has taken long.
    result.seconds = first > timing_budget_seconds / 8 ? first : median_seconds(options_.repeat, run);
    return rated(std::move(result));
  }

  product_result rated(product_result result) const {
    const double flops =
        2.0 * static_cast<double>(a_.nnz()) * static_cast<double>(options_.cols) * static_cast<double>(options_.batch);
    result.gflops = result.seconds > 0 ? flops / result.seconds * 1e-9 : 0;
    return result;
  }

  const spmm_options& options_;
  const output& out_;
  context ctx_;
  const csr_matrix<T>& a_;
  const csr_matrix<T>& given_;
  scalar_of<T> alpha_, beta_;
  dense_matrix<T> b_, c0_;
  std::vector<product_check<T>> checks_;
  staged_operands<T> staged_;
};

const std::vector<std::string> reference_formats{"coo", "csr", "csc", "bsr", "bcsc"};
const std::string reference_prefix = "reference-";

std::vector<std::string> references() {
  std::vector<std::string> names;
  for (const std::string& format : reference_formats) names.push_back(reference_prefix + format);
  return names;
}

/// The kernels that --kernel stands for. "each": the config a plan takes of every kernel, and the references;
/// "all": every config.
std::vector<std::string> chosen_kernels(const std::string& kernel, const context& ctx, value_type type) {
  if (kernel == "reference") return references();
  if (kernel != "each" && kernel != "all") return {kernel};
  std::vector<std::string> names;
  for (const kernel_info& row : kernel_table(ctx.kind(), type)) {
    if (!row.built) continue;
    const std::string& name = kernel == "all" ? row.name : row.algorithm;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const auto serial = references();
  names.insert(names.end(), serial.begin(), serial.end());
  return names;
}

/// A reference has no plan to say everything.
nlohmann::ordered_json known(std::int64_t number) {
  return number > 0 ? nlohmann::ordered_json(number) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json describe(const product_result& r) {
  nlohmann::ordered_json described{{"kernel", r.kernel}, {"passed", r.passed()}};
  if (!r.error.empty()) {
    described["error"] = r.error;
    return described;
  }
  described.update({{"algorithm", r.algorithm},
                    {"where", r.where},
                    {"m_block", known(r.m_block)},
                    {"format_bytes", known(r.format_bytes)},
                    {"convert_seconds", r.convert_seconds},
                    {"seconds", r.seconds},
                    {"gflops", r.gflops},
                    {"max_error", r.checked.max_error},
                    {"bound_share", r.checked.bound_share},
                    {"violations", r.checked.violations},
                    {"by_class", r.checked.by_class},
                    {"reason", r.reason},
                    {"explain", r.explain}});
  return described;
}

void report(const std::vector<product_result>& results, const spmm_options& options, output& out) {
  table shown({"kernel", "m_block", "convert", "time", "GFLOP/s", "error / bound", "check"});
  auto& described = out.json()["results"] = nlohmann::ordered_json::array();
  for (const product_result& r : results) {
    described.push_back(describe(r));
    if (!r.error.empty()) {
      shown.add({r.kernel, "-", "-", "-", "-", "-", "not run"});
      continue;
    }
    shown.add({r.kernel, r.m_block > 0 ? std::to_string(r.m_block) : "-", as_seconds(r.convert_seconds),
               as_seconds(r.seconds), fmt::format("{:.2f}", r.gflops), fmt::format("{:.3f}", r.checked.bound_share),
               r.passed() ? "ok" : "WRONG"});
  }
  shown.print(out);
  for (const product_result& r : results) {
    if (!r.error.empty()) out.line("  {}: {}", r.kernel, r.error);
    if (!r.checked.passed()) {
      out.line("  {}: {} entries beyond their bound, the worst at ({}, {})", r.kernel,
               core::count_text(r.checked.violations), r.checked.row, r.checked.col);
    }
  }
  if (results.size() == 1 && !results.front().explain.empty()) {
    out.line();
    out.line("{}", results.front().explain);
  }
  const bool passed = std::all_of(results.begin(), results.end(), [](const auto& r) { return r.passed(); });
  out.json()["passed"] = passed;
  out.line("{} of {} within the {} error bound",
           std::count_if(results.begin(), results.end(), [](const auto& r) { return r.passed(); }), results.size(),
           to_string(options.type));
}

/// Opens the files of the operands, and takes N from B's. What can be refused before A is read is refused here.
operand_files open_operands(spmm_options& options) {
  operand_files files;
  const auto only_by_itself = [&](std::string_view option, const std::string& path) {
    if (path.empty() || options.batch == 1) return;
    core::fail(errc::invalid_argument, "{} {}: --batch {} takes random operands only", option, path, options.batch);
  };
  only_by_itself("--b", options.b);
  only_by_itself("--c0", options.c0);
  only_by_itself("--c", options.c);
  if (!options.c.empty()) {
    if (options.kernel == "each" || options.kernel == "all" || options.kernel == "reference") {
      core::fail(errc::invalid_argument, "--c {}: --kernel {} makes many products; name one kernel", options.c,
                 options.kernel);
    }
    require_dense_output("--c", options.c);
  }
  if (!options.c0.empty() && options.beta == 0) {
    core::fail(errc::invalid_argument, "--c0 {}: --beta 0 does not read it", options.c0);
  }
  if (!options.b.empty()) {
    files.b.emplace("--b", options.b);
    const std::int64_t cols = files.b->cols();
    if (cols < 1) core::fail(errc::size_mismatch, "--b {}: has no columns", options.b);
    if (options.cols_given && cols != options.cols) {
      files.b->require_shape(files.b->rows(), options.cols, fmt::format("--cols {}", options.cols));
    }
    options.cols = cols;
  }
  if (!options.c0.empty()) files.c0.emplace("--c0", options.c0);
  return files;
}

/// That the operands fit A, and into memory.
template <number T>
void require_fitting(const spmm_options& options, const operand_files& files, std::int64_t rows, std::int64_t cols) {
  if (options.transpose) std::swap(rows, cols);
  const char* const op_a = options.transpose ? "A'" : "A";
  if (files.b) {
    files.b->require_shape(cols, options.cols, fmt::format("{} has {} columns", op_a, core::count_text(cols)));
  }
  if (files.c0) {
    files.c0->require_shape(
        rows, options.cols,
        fmt::format("{} has {} rows, B has {} columns", op_a, core::count_text(rows), core::count_text(options.cols)));
  }
  // B, C, the C to begin with, and two numbers for each entry of C that it is checked by.
  constexpr std::int64_t check_bytes = 16;
  const auto bytes_of = [&](std::int64_t lines, std::int64_t each) {
    return core::saturating_product(core::saturating_product(lines, options.cols), options.batch * each);
  };
  const std::int64_t bytes_b = bytes_of(cols, sizeof(T)), bytes_c = bytes_of(rows, 2 * sizeof(T) + check_bytes);
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(bytes_b, bytes_c, &bytes)) bytes = std::numeric_limits<std::int64_t>::max();
  require_host_memory(fmt::format("B, C and what C is checked by, for N = {},", core::count_text(options.cols)), bytes);
}

/// What of the operands is not finite, and that results are compared by class where C is not.
void report_not_finite(const any_view& a, const spmm_options& options, output& out) {
  const value_statistics values = analyse_values(a);
  if (values.finite() && std::isfinite(options.alpha) && std::isfinite(options.beta)) return;
  out.line(
      "not finite: {} NaN, {} +Inf, {} -Inf in A, alpha = {}, beta = {}; where C is not finite, its class is compared",
      core::count_text(values.nan), core::count_text(values.plus_infinity), core::count_text(values.minus_infinity),
      options.alpha, options.beta);
  out.json()["not_finite"] = {{"nan", values.nan},
                              {"plus_infinity", values.plus_infinity},
                              {"minus_infinity", values.minus_infinity},
                              {"alpha", !std::isfinite(options.alpha)},
                              {"beta", !std::isfinite(options.beta)}};
}

template <number T>
int multiply(spmm_options options, output& out) {
  const context ctx = make_context(options.where);
  const operand_files files = open_operands(options);
  // Narrow values are read as fp32, and rounded from there.
  loaded_matrix<scalar_of<T>> loaded = load<scalar_of<T>>(
      options.source, out, [&](auto rows, auto cols) { require_fitting<T>(options, files, rows, cols); });
  out.line("{}", describe_line(options.source, loaded));
  out.line("C = {} * A{} * B + {} * C, N = {}, {}{}, {}, on {}", options.alpha,
           options.no_copy     ? "' (as A is stored)"
           : options.transpose ? "'"
                               : "",
           options.beta, options.cols, options.batch > 1 ? fmt::format("batch of {}, ", options.batch) : "",
           to_string(options.type), to_string(options.order), ctx.describe());
  out.json() = {{"command", "spmm"},
                {"matrix", cli::describe(options.source, loaded)},
                {"device", ctx.describe()},
                {"backend", to_string(ctx.kind())},
                {"cols", options.cols},
                {"type", to_string(options.type)},
                {"layout", to_string(options.order)},
                {"transpose", options.transpose},
                {"no_copy", options.no_copy},
                {"batch", options.batch},
                {"alpha", options.alpha},
                {"beta", options.beta}};
  if (files.b) out.json()["b"] = options.b;
  if (files.c0) out.json()["c0"] = options.c0;

  const csr_matrix<T> a = multiplied_as<T>(std::move(loaded.a));
  report_not_finite(a.view(), options, out);
  progress_bar bar = out.progress("multiplying");
  bar.show(0, "reference");
  std::optional<csr_matrix<T>> transposed;
  if (options.transpose) transposed = transpose(a);
  product_bench<T> bench(ctx, transposed ? *transposed : a, a, options, files, out);
  const std::vector<std::string> kernels = chosen_kernels(options.kernel, ctx, options.type);
  std::vector<product_result> results;
  for (const std::string& kernel : kernels) {
    bar.show(static_cast<double>(results.size()) / static_cast<double>(kernels.size()), kernel);
    try {
      results.push_back(kernel.starts_with(reference_prefix)
                            ? bench.with_reference(kernel.substr(reference_prefix.size()))
                            : bench.with_plan(kernel));
    } catch (const error& problem) {
      // One kernel alone is an error of the command; among many it is one line of the table.
      if (kernels.size() == 1) throw;
      results.push_back({.kernel = kernel, .error = problem.what()});
    }
  }
  bar.clear();
  report(results, options, out);
  const bool passed = out.json()["passed"];
  if (passed && !options.c.empty()) {
    out.line("C written to {}", options.c);
    out.json()["c"] = options.c;
  }
  return passed ? exit_ok : exit_not_met;
}

int run_spmm(const spmm_options& options, output& out) {
  return with_number_type(options.type, [&](auto t) { return multiply<decltype(t)>(options, out); });
}

}  // namespace

command add_spmm(CLI::App& app) {
  auto [cmd, options] = make_command<spmm_options>(
      app, "spmm", "C = alpha * op(A) * B + beta * C: checked against a reference, then timed",
      "  bcsc spmm elasticity-30 --cols 128\n"
      "  bcsc spmm matrix.mtx.gz --cols 64 --kernel each --type fp64\n"
      "  bcsc spmm matrix.mtx --kernel tiled --m-block 32 --device cuda --layout col\n"
      "  bcsc spmm matrix.mtx --b features.npy --c product.npy\n"
      "  bcsc spmm matrix.mtx --transpose --b b.npz:x --alpha 2 --beta -1 --c0 c.mtx --c c.mtx\n"
      "A result beyond the error bound, or a kernel that cannot run, makes it exit with 3.",
      run_spmm);
  add_source(*cmd.parser, options->source);
  CLI::Option* const cols = cmd.parser->add_option("-n,--cols", options->cols, "Columns of B and C; of --b, its own")
                                ->check(at_least(1))
                                ->capture_default_str();
  cmd.parser->callback([given = options, cols] { given->cols_given = cols->count() > 0; });
  cmd.parser
      ->add_option("--b", options->b,
                   "B: a dense file (.npy, .npz, .mtx, .bcsc; FILE.npz:NAME names an array); else random")
      ->type_name("FILE");
  cmd.parser->add_option("--c0", options->c0, "With --beta: the C to begin with, such a file; else random")
      ->type_name("FILE");
  cmd.parser->add_option("--c", options->c, "Write the product there, if it passes the check")->type_name("FILE");
  cmd.parser
      ->add_option("--kernel", options->kernel,
                   "A kernel or an algorithm by name (see bcsc kernels), reference, reference-coo/csr/csc/bsr/bcsc; "
                   "each: the config a plan takes of every kernel, and the references; all: every config. Default: the "
                   "plan's choice")
      ->type_name("KERNEL");
  cmd.parser->add_option("--m-block", options->m_block, "Height of the row blocks; 0: the plan chooses")
      ->check(at_least(0))
      ->capture_default_str();
  CLI::Option* const transpose = cmd.parser->add_flag("--transpose", options->transpose, "Multiplies with A'");
  cmd.parser
      ->add_flag(
          "--no-copy", options->no_copy,
          "With --transpose: from A as a plan stores it for the product with A, not from a transpose of its own; "
          "--kernel then names what A is stored for")
      ->needs(transpose);
  add_number_type(*cmd.parser, options->type);
  add_device(*cmd.parser, options->where);
  add_choice<compute_class>(*cmd.parser, "--compute", options->compute,
                            {{"full", compute_class::full}, {"tf32", compute_class::tf32}},
                            "tf32: the plan may round fp32 values to TF32 before it multiplies");
  add_choice<layout>(*cmd.parser, "--layout", options->order, {{"row", layout::row_major}, {"col", layout::col_major}},
                     "Layout of B and C");
  cmd.parser->add_option("--alpha", options->alpha, "Factor of A * B")->capture_default_str();
  cmd.parser->add_option("--beta", options->beta, "Factor of C; 0 never reads it")->capture_default_str();
  cmd.parser->add_option("--batch", options->batch, "So many B's and C's, multiplied as one batch")
      ->check(at_least(1))
      ->capture_default_str();
  cmd.parser->add_option("--repeat", options->repeat, "Timed runs; 2 s of them at most on the CPU")
      ->check(at_least(1))
      ->capture_default_str();
  return cmd;
}

}  // namespace bcsc::cli
