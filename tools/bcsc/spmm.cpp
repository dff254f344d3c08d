#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/registry.hpp"
#include "bcsc/values.hpp"
#include "core/fail.hpp"
#include "core/memory.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/dense_operand.hpp"
#include "tools/bcsc/effort.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/product_bench.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

const std::vector<std::string> reference_formats{"coo", "csr", "csc", "bsr", "bcsc"};
const std::string reference_prefix = "reference-";

std::vector<std::string> references() {
  std::vector<std::string> names;
  for (const std::string& format : reference_formats) names.push_back(reference_prefix + format);
  return names;
}

/// The kernels that --kernel stands for. "each": the config a plan takes of every kernel, and the references;
/// "all": every config.
std::vector<std::string> chosen_kernels(const std::string& kernel, const context& ctx, value_type type,
                                        bool is_nearly_dense) {
  if (kernel == "reference") return references();
  if (kernel != "each" && kernel != "all") return {kernel};
  std::vector<std::string> names;
  for (const kernel_info& config : kernel_table(ctx.kind(), type)) {
    // With its zeros a sparse matrix would not fit the memory.
    if (!runs_on(config, ctx) || (config.algorithm == "gemm" && !is_nearly_dense)) continue;
    const std::string& name = kernel == "all" ? config.name : config.algorithm;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const auto serial = references();
  names.insert(names.end(), serial.begin(), serial.end());
  return names;
}

/// Null where nothing is known: a reference has no plan to ask.
nlohmann::ordered_json known(std::int64_t number) {
  return number > 0 ? nlohmann::ordered_json(number) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json describe(const product_result& r) {
  nlohmann::ordered_json described{{"kernel", r.kernel}, {"passed", r.passed()}};
  if (!r.error.empty()) {
    described["error"] = r.error;
    described["applies"] = r.applies;
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
      shown.add({r.kernel, "-", "-", "-", "-", "-", r.applies ? "not run" : "not for this"});
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
  const auto num_passed = std::ranges::count_if(results, &product_result::passed);
  const auto num_applying = std::ranges::count_if(results, &product_result::applies);
  out.json()["passed"] = num_passed == num_applying;
  out.line("{} of {} within the {} error bound", num_passed, num_applying, to_string(options.type));
}

/// Opens the files of the operands, and takes N from B's. What can be refused before A is read is refused here.
operand_files open_operands(spmm_options& options) {
  operand_files files;
  require_separate_streams({{"FILE", options.source.name}, {"--b", options.b}, {"--c0", options.c0}});
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
  // B, C, the initial C, and two numbers for each entry of C to check it by.
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
  tell_of_cache(ctx, bar);
  bar.show(0, "reference");
  std::optional<csr_matrix<T>> transposed;
  if (options.transpose) transposed = transpose(a);
  product_bench<T> bench(ctx, transposed ? *transposed : a, a, options, files, out);
  const bool is_nearly_dense = static_cast<double>(a.rows()) * static_cast<double>(a.cols()) <=
                               static_cast<double>(max_dense_values_per_entry) * static_cast<double>(a.nnz());
  const std::vector<std::string> kernels = chosen_kernels(options.kernel, ctx, options.type, is_nearly_dense);
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
      results.push_back({.kernel = kernel, .error = problem.what(), .applies = problem.code() != errc::no_such_kernel});
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
      "  bcsc spmm matrix.mtx --cols 64 --effort check\n"
      "  bcsc spmm matrix.mtx --transpose --b b.npz:x --alpha 2 --beta -1 --c0 c.mtx --c c.mtx\n"
      "A result beyond the error bound, or a kernel that cannot run, makes it exit with 3; of --kernel each and all,\n"
      "one that is not made for this product is listed and does not count.",
      run_spmm);
  add_source(*cmd.parser, options->source);
  CLI::Option* const cols = cmd.parser->add_option("-n,--cols", options->cols, "Columns of B and C; of --b, its own")
                                ->check(at_least(1))
                                ->capture_default_str();
  cmd.parser->callback([given = options, cols] { given->cols_given = cols->count() > 0; });
  cmd.parser
      ->add_option(
          "--b", options->b,
          "B: a dense file (.npy, .npz, .mtx, .bcsc; FILE.npz:NAME names an array), - for standard input; else random")
      ->type_name("FILE");
  cmd.parser->add_option("--c0", options->c0, "With --beta: the C to begin with, such a file; else random")
      ->type_name("FILE");
  cmd.parser->add_option("--c", options->c, "Write the product to this file if it passes the check")->type_name("FILE");
  cmd.parser
      ->add_option("--kernel", options->kernel,
                   "A kernel or an algorithm by name (see bcsc kernels), reference, reference-coo/csr/csc/bsr/bcsc; "
                   "each: the config a plan takes of every kernel, and the references; all: every config. Default: the "
                   "plan's choice")
      ->type_name("KERNEL");
  cmd.parser->add_option("--m-block", options->m_block, "Height of the row blocks; 0: the plan chooses")
      ->check(at_least(0))
      ->capture_default_str();
  CLI::Option* const transpose = cmd.parser->add_flag("--transpose", options->transpose, "Multiply by A'");
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
  add_effort(*cmd.parser, options->effort, effort::predict);
  cmd.parser->add_option("--alpha", options->alpha, "Scales A * B")->capture_default_str();
  cmd.parser->add_option("--beta", options->beta, "Scales C; with 0, C is not read")->capture_default_str();
  cmd.parser->add_option("--batch", options->batch, "Number of B's and C's, multiplied as one batch")
      ->check(at_least(1))
      ->capture_default_str();
  cmd.parser->add_option("--repeat", options->repeat, "Timed runs; at most 2 s in all on the CPU")
      ->check(at_least(1))
      ->capture_default_str();
  return cmd;
}

}  // namespace bcsc::cli
